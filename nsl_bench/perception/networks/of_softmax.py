"""Base class of networks that consist of Softmax CNNs: their shared options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from nsl_bench.perception.classifier import check_counts, chosen_precision
from nsl_bench.perception.network import Option
from nsl_bench.perception.networks.meta_network import MetaNetwork
from nsl_bench.perception.networks.softmax import SoftmaxCNN
from nsl_bench.perception.training import Precision

__all__ = ["OfSoftmaxCNNs"]


class OfSoftmaxCNNs(MetaNetwork):
    """A network that consists of Softmax CNNs, shipped or cached ones if available."""

    version = "2"

    def __init__(
        self,
        preset: Literal["quick", "paper"],
        epochs: int | None,
        images_per_concept: int | None,
        dense: int | None,
        height: int | None,
        width: int | None,
        seed: int,
        precision: Precision,
        **counts: int,
    ) -> None:
        check_counts(self.name, {**counts, "epochs": epochs, "images_per_concept": images_per_concept})
        super().__init__(seed)
        self._options: dict[str, Option] = {
            "preset": preset,
            "epochs": epochs,
            "images_per_concept": images_per_concept,
            "dense": dense,
            "height": height,
            "width": width,
            **chosen_precision(precision),
        }

    @property
    def options(self) -> Mapping[str, Option]:
        return {**self._options, "seed": self.seed}

    def _member(self, seed: int, **extra: Any) -> SoftmaxCNN:
        options: dict[str, Any] = {**self._options, **extra}
        return SoftmaxCNN(**options, seed=seed)
