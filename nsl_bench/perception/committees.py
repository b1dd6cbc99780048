"""Three ways to better confidence from Softmax CNNs: temperature scaling, deep ensemble, MC dropout.

None of them is in the FFNSL paper; they are what EDL-GEN is worth comparing with. Each is made of Softmax
CNNs, shipped or cached ones where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.data.images import chunks
from nsl_bench.errors import UserError
from nsl_bench.perception.architecture import Architecture
from nsl_bench.perception.classifier import check_counts, softmax
from nsl_bench.perception.composite import Composite
from nsl_bench.perception.network import Network, Option, Renderer
from nsl_bench.perception.softmax import SoftmaxCNN

__all__ = ["DeepEnsemble", "MCDropout", "TemperatureScaling"]


class _OfSoftmax(Composite):
    """What the three share: the options of their Softmax CNNs."""

    def __init__(
        self,
        preset: Literal["quick", "paper"],
        epochs: int | None,
        images_per_concept: int | None,
        dense: int | None,
        height: int | None,
        width: int | None,
        seed: int,
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
        }

    @property
    def options(self) -> Mapping[str, Option]:
        return {**self._options, "seed": self.seed}

    def _member(self, seed: int, **extra: Any) -> SoftmaxCNN:
        options: dict[str, Any] = {**self._options, **extra}
        return SoftmaxCNN(**options, seed=seed)


class TemperatureScaling(_OfSoftmax):
    """A Softmax CNN whose logits are divided by one number, chosen on images that it was not trained on.

    Guo, Pleiss, Sun, Weinberger: "On Calibration of Modern Neural Networks", ICML 2017, section 4.2. The
    temperature minimises the negative log likelihood.

    Args:
        preset: of the Softmax CNN.
        epochs: of the Softmax CNN.
        images_per_concept: of the Softmax CNN.
        dense: of the Softmax CNN.
        height: of the Softmax CNN.
        width: of the Softmax CNN.
        held_out: share of the train images of each concept that choose the temperature.
        seed: of the Softmax CNN.
    """

    name = "temperature"

    def __init__(
        self,
        preset: Literal["quick", "paper"] = "quick",
        epochs: int | None = None,
        images_per_concept: int | None = None,
        dense: int | None = None,
        height: int | None = None,
        width: int | None = None,
        held_out: float = 0.1,
        seed: int = 0,
    ) -> None:
        super().__init__(preset, epochs, images_per_concept, dense, height, width, seed)
        if not 0 < held_out <= 0.5:
            raise UserError(
                f"The option held_out of the network {self.name} is {held_out}, but lies above 0, up to 0.5."
            )
        self._options["held_out"] = held_out
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
                f"The network {self.name} has no images to choose its temperature: held_out="
                f"{self._options['held_out']} of the train images of each concept is less than one image."
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
            raise ValueError("it has no temperature above 0")
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


class DeepEnsemble(_OfSoftmax):
    """Softmax CNNs from several seeds; the mean of their probabilities.

    Lakshminarayanan, Pritzel, Blundell: "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NeurIPS 2017, without its adversarial training.

    Args:
        size: how many networks.
        preset: of the Softmax CNNs.
        epochs: of the Softmax CNNs.
        images_per_concept: of the Softmax CNNs.
        dense: of the Softmax CNNs.
        height: of the Softmax CNNs.
        width: of the Softmax CNNs.
        seed: another seed gives other networks; the first network of seed 0 is the Softmax CNN of seed 0.
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
    ) -> None:
        super().__init__(preset, epochs, images_per_concept, dense, height, width, seed, size=size)
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


class MCDropout(_OfSoftmax):
    """A Softmax CNN that goes on dropping units when it predicts; the mean of its probabilities.

    Gal and Ghahramani: "Dropout as a Bayesian Approximation", ICML 2016. The units that are dropped are the
    same for every image, so that what an image gets does not depend on the images beside it.

    Args:
        samples: how often each image is predicted.
        preset: of the Softmax CNN.
        epochs: of the Softmax CNN.
        images_per_concept: of the Softmax CNN.
        dense: of the Softmax CNN.
        height: of the Softmax CNN.
        width: of the Softmax CNN.
        seed: of the Softmax CNN and of the units that are dropped.
    """

    name = "mc_dropout"

    def __init__(
        self,
        samples: int = 20,
        preset: Literal["quick", "paper"] = "quick",
        epochs: int | None = None,
        images_per_concept: int | None = None,
        dense: int | None = None,
        height: int | None = None,
        width: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(preset, epochs, images_per_concept, dense, height, width, seed, samples=samples)
        self.samples = samples

    @property
    def options(self) -> Mapping[str, Option]:
        return {**super().options, "samples": self.samples}

    def members(self) -> tuple[Network, ...]:
        return (self._member(self.seed),)

    def predict_proba(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        (inner,) = self.trained_parts()
        assert isinstance(inner, SoftmaxCNN)
        sampled = inner.logits(images, lambda module: _sampled(module, self.samples, self.seed))
        return np.asarray(sampled, np.float32)


def _sampled(module: Any, samples: int, seed: int) -> Any:
    """A module that gives the mean probabilities of a sequence of layers over masks of its dropout layers.

    The layers before the first dropout layer are applied once.
    """
    import torch
    from torch import nn

    class Sampled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = module

        def forward(self, batch: Any) -> Any:
            chance = torch.Generator().manual_seed(seed)
            m, apart = len(batch), False
            for layer in self.layers:
                if not isinstance(layer, nn.Dropout):
                    batch = layer(batch)
                    continue
                if not apart:
                    batch, apart = batch.repeat(samples, *[1] * (batch.dim() - 1)), True
                shape = batch.shape[1:]
                mask = (torch.rand((samples, 1, *shape), generator=chance) >= layer.p) / (1 - layer.p)
                batch = (batch.reshape(samples, m, *shape) * mask.to(batch.device)).reshape(batch.shape)
            times = samples if apart else 1
            return batch.softmax(dim=1).reshape(times, m, -1).mean(dim=0)

    return Sampled().eval()
