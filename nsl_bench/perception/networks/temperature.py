"""Temperature scaling: a Softmax CNN's logits divided by one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.data.images import chunks
from nsl_bench.perception.classifier import softmax
from nsl_bench.perception.network import Network, Renderer
from nsl_bench.perception.networks.of_softmax import OfSoftmaxCNNs
from nsl_bench.perception.networks.small_cnn import Architecture
from nsl_bench.perception.networks.softmax import SoftmaxCNN


class TemperatureScaling(OfSoftmaxCNNs):
    """A Softmax CNN whose logits are divided by a temperature, chosen on images not used for training.

    Guo, Pleiss, Sun, Weinberger: "On Calibration of Modern Neural Networks", ICML 2017, section 4.2. The
    temperature minimises the negative log likelihood.
    """

    name = "temperature"
    held_out: float = option(
        0.1,
        "share of the train images of each concept that is used to choose the temperature",
        above=0,
        most=0.5,
        after="width",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.temperature = 1.0

    def members(self) -> tuple[Network, ...]:
        return (self._member(self.seed),)

    def check(
        self, shape: tuple[int, int, int], labels: npt.NDArray[np.int16], concepts: tuple[str, ...]
    ) -> None:
        inner = self._member(self.seed)
        self._held_out(inner, labels, inner.design(shape, len(concepts)))

    def _held_out(
        self, inner: SoftmaxCNN, labels: npt.NDArray[np.int16], design: Architecture
    ) -> npt.NDArray[np.int64]:
        """int64: the train images that choose the temperature."""
        _, rows = inner.train_rows(labels, design)
        if not len(rows):
            raise UserError(
                f"{self.name}: held_out={self.held_out} of the train images of each concept "
                "is less than one image, and choosing the temperature needs one; increase held_out."
            )
        return rows

    def combine(
        self,
        parts: Sequence[Network],
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
    ) -> Self:
        super().combine(parts, render, labels, concepts)
        (inner,) = parts
        assert isinstance(inner, SoftmaxCNN) and isinstance(inner.architecture, Architecture)
        rows = self._held_out(inner, labels, inner.architecture)
        logits = np.concatenate([inner.logits(render(some)) for some in chunks(rows)])
        self.temperature = _best_temperature(logits, labels[rows].astype(np.int64))
        self.details["temperature"] = round(self.temperature, 4)
        return self

    def predict_proba(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        (inner,) = self.trained_parts()
        assert isinstance(inner, SoftmaxCNN)
        return np.asarray(softmax(inner.logits(images) / self.temperature), np.float32)

    def parameters(self) -> Mapping[str, npt.NDArray[Any]]:
        return {**super().parameters(), "temperature": np.array([self.temperature], np.float64)}

    def restore(self, parameters: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> None:
        found = parameters.get("temperature")
        if found is None or found.shape != (1,) or not found[0] > 0:
            raise ValueError("it must have a temperature above 0")
        super().restore(parameters, header)
        self.temperature = float(found[0])


def _best_temperature(logits: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> float:
    """The number in 0.05..20 by which to divide logits so that the labels are most likely.

    If every label is the greatest logit's, nothing speaks against ever more certainty; then it is at least 1.
    """
    from scipy.optimize import minimize_scalar

    own = np.arange(len(labels)), labels

    def surprise(log_temperature: float) -> float:
        scaled = logits / np.exp(log_temperature)
        scaled -= scaled.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(scaled).sum(axis=1)) - scaled[own]))

    least = 1.0 if (logits.argmax(axis=1) == labels).all() else 0.05
    bounds = (np.log(least), np.log(20.0))
    return float(np.exp(minimize_scalar(surprise, bounds=bounds, method="bounded").x))
