"""MC dropout: a Softmax CNN that also drops units when it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import option
from nsl_bench.perception.network import Network
from nsl_bench.perception.networks.of_softmax import OfSoftmaxCNNs
from nsl_bench.perception.networks.softmax import SoftmaxCNN


class MCDropout(OfSoftmaxCNNs):
    """A Softmax CNN that also drops units when it predicts; probabilities are averaged over several samples.

    Gal and Ghahramani: "Dropout as a Bayesian Approximation", ICML 2016. The same units are dropped for every
    image, so the probabilities of an image do not depend on the other images of the batch. The seed is that
    of the Softmax CNN and of the dropped units.
    """

    name = "mc_dropout"
    samples: int = option(20, "number of predictions per image", least=1)

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
