"""Deep ensembles: the mean of Softmax CNNs from several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.perception.network import Network, Option
from nsl_bench.perception.networks.of_softmax import OfSoftmaxCNNs
from nsl_bench.perception.training import Precision

__all__ = ["DeepEnsemble"]


class DeepEnsemble(OfSoftmaxCNNs):
    """Softmax CNNs trained from several seeds; their probabilities are averaged.

    Lakshminarayanan, Pritzel, Blundell: "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NeurIPS 2017, without its adversarial training.

    Args:
        size: number of Softmax CNNs.
        preset: preset of the Softmax CNNs.
        epochs: passes over the train images of each Softmax CNN.
        images_per_concept: maximum number of train images per concept.
        dense: units of the hidden dense layer of each Softmax CNN.
        height: height to which images are resized.
        width: width to which images are resized.
        seed: determines the seeds of the Softmax CNNs; the first one of seed 0 has seed 0.
        precision: what layers compute in during training; ``bfloat16`` is faster on processors that have it.
    """

    name = "ensemble"

    def __init__(
        self,
        size: int = 5,
        preset: Literal["quick", "paper"] = "quick",
        epochs: int | None = None,
        images_per_concept: int | None = None,
        dense: int | None = None,
        height: int | None = None,
        width: int | None = None,
        seed: int = 0,
        precision: Precision = "float32",
    ) -> None:
        super().__init__(preset, epochs, images_per_concept, dense, height, width, seed, precision, size=size)
        self.size = size

    @property
    def options(self) -> Mapping[str, Option]:
        return {**super().options, "size": self.size}

    def members(self) -> tuple[Network, ...]:
        first = self.seed * self.size
        return tuple(self._member(first + k) for k in range(self.size))

    def predict_proba(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        parts = self.trained_parts()
        total = sum(part.predict_proba(images).astype(np.float64) for part in parts)
        return np.asarray(total / len(parts), np.float32)
