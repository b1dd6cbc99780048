"""MC dropout: a Softmax CNN that also drops units when it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.perception.network import Network, Option
from nsl_bench.perception.networks.of_softmax import OfSoftmaxCNNs
from nsl_bench.perception.networks.softmax import SoftmaxCNN
from nsl_bench.perception.training import Precision

__all__ = ["MCDropout"]


class MCDropout(OfSoftmaxCNNs):
    """A Softmax CNN that also drops units when it predicts; probabilities are averaged over several samples.

    Gal and Ghahramani: "Dropout as a Bayesian Approximation", ICML 2016. The same units are dropped for every
    image, so the probabilities of an image do not depend on the other images of the batch.

    Args:
        samples: number of predictions per image.
        preset: preset of the Softmax CNN.
        epochs: passes over the train images.
        images_per_concept: maximum number of train images per concept.
        dense: units of the hidden dense layer.
        height: height to which images are resized.
        width: width to which images are resized.
        seed: random seed of the Softmax CNN and of the dropped units.
        precision: what layers compute in during training; ``bfloat16`` is faster on processors that have it.
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
        precision: Precision = "float32",
    ) -> None:
        super().__init__(
            preset, epochs, images_per_concept, dense, height, width, seed, precision, samples=samples
        )
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
            seen = batch.softmax(dim=1).split(m)
            # One after the other: how `mean` adds up depends on an image's place in the batch.
            return sum(seen[1:], start=seen[0]) / len(seen)

    return Sampled().eval()
