"""Networks that consist of Softmax CNNs: temperature scaling, deep ensembles, MC dropout."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option, options_of
from nsl_bench.core.types import Array, Floats, Floats32, Ints, Ints16, UInts8
from nsl_bench.data.content import chunks
from nsl_bench.perception.classifier import softmax
from nsl_bench.perception.network import MetaNetwork, Network, Renderer
from nsl_bench.perception.networks.softmax import Architecture, SoftmaxCNN
from nsl_bench.perception.training import PRECISION, Precision


class OfSoftmaxCNNs(MetaNetwork):
    """A network that consists of Softmax CNNs, shipped or cached ones if available."""

    version = "2"
    preset: Literal["quick", "paper"] = option("quick", "preset of the Softmax CNNs")
    epochs: int | None = option(None, "passes over the train images of each Softmax CNN", least=1)
    images_per_concept: int | None = option(None, "most train images of a concept, the first ones", least=1)
    dense: int | None = option(None, "units of the hidden dense layer", least=1)
    height: int | None = option(None, "height to which images are resized", least=1)
    width: int | None = option(None, "width to which images are resized", least=1)
    precision: Precision = option("float32", PRECISION, later=True, after="seed")

    def _member(self, seed: int) -> SoftmaxCNN:
        """A Softmax CNN with this network's options and a seed of its own."""
        of_members = options_of(SoftmaxCNN) or {}
        shared: dict[str, Any] = {n: value for n, value in self.option_values().items() if n in of_members}
        return SoftmaxCNN(**{**shared, "seed": seed})

    def members(self) -> tuple[Network, ...]:
        return (self._member(self.seed),)

    def _inner(self) -> SoftmaxCNN:
        """The only member, trained."""
        (inner,) = self.trained_parts()
        assert isinstance(inner, SoftmaxCNN)
        return inner


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

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        inner = self._member(self.seed)
        self._held_out(inner, labels, inner.design(shape, len(concepts)))

    def _held_out(self, inner: SoftmaxCNN, labels: Ints16, design: Architecture) -> Ints:
        """int64: the train images that choose the temperature."""
        _, rows = inner.train_rows(labels, design)
        if not len(rows):
            raise UserError(
                f"{self.name}: held_out={self.held_out} of the train images of each concept "
                "is less than one image, and choosing the temperature needs one; increase held_out."
            )
        return rows

    def combine(
        self, parts: Sequence[Network], render: Renderer, labels: Ints16, concepts: tuple[str, ...]
    ) -> Self:
        super().combine(parts, render, labels, concepts)
        inner = self._inner()
        assert isinstance(inner.architecture, Architecture)
        rows = self._held_out(inner, labels, inner.architecture)
        logits = np.concatenate([inner.logits(render(some)) for some in chunks(rows)])
        self.temperature = _best_temperature(logits, labels[rows].astype(np.int64))
        self.details["temperature"] = round(self.temperature, 4)
        return self

    def predict_proba(self, images: UInts8) -> Floats32:
        return np.asarray(softmax(self._inner().logits(images) / self.temperature), np.float32)

    def parameters(self) -> Mapping[str, Array]:
        return {**super().parameters(), "temperature": np.array([self.temperature], np.float64)}

    def restore(self, parameters: Mapping[str, Array], header: Mapping[str, Any]) -> None:
        temperature = parameters.get("temperature")
        if temperature is None or temperature.shape != (1,) or not temperature[0] > 0:
            raise ValueError("it must have a temperature above 0")
        super().restore(parameters, header)
        self.temperature = float(temperature[0])


def _best_temperature(logits: Floats, labels: Ints) -> float:
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


class DeepEnsemble(OfSoftmaxCNNs):
    """Softmax CNNs trained from several seeds; their probabilities are averaged.

    Lakshminarayanan, Pritzel, Blundell: "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NeurIPS 2017, without its adversarial training. The seed determines the seeds of the Softmax
    CNNs; the first one of seed 0 has seed 0.
    """

    name = "ensemble"
    size: int = option(5, "number of Softmax CNNs", least=1)

    def members(self) -> tuple[Network, ...]:
        first = self.seed * self.size
        return tuple(self._member(first + k) for k in range(self.size))

    def predict_proba(self, images: UInts8) -> Floats32:
        parts = self.trained_parts()
        total = sum(part.predict_proba(images).astype(np.float64) for part in parts)
        return np.asarray(total / len(parts), np.float32)


class MCDropout(OfSoftmaxCNNs):
    """A Softmax CNN that also drops units when it predicts; probabilities are averaged over several samples.

    Gal and Ghahramani: "Dropout as a Bayesian Approximation", ICML 2016. The same units are dropped for every
    image, so the probabilities of an image do not depend on the other images of the batch. The seed is that
    of the Softmax CNN and of the dropped units.
    """

    name = "mc_dropout"
    samples: int = option(20, "number of predictions per image", least=1)

    def predict_proba(self, images: UInts8) -> Floats32:
        sampled = self._inner().logits(images, lambda module: _sampled(module, self.samples, self.seed))
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
            seen = batch.softmax(dim=1).split(m)
            # One after the other: how `mean` adds up depends on an image's place in the batch.
            return sum(seen[1:], start=seen[0]) / len(seen)

    return Sampled().eval()
