"""Base class of networks that consist of Softmax CNNs: their shared options."""

from __future__ import annotations

from typing import Any, Literal

from nsl_bench.core.options import option, options_of
from nsl_bench.perception.networks.meta_network import MetaNetwork
from nsl_bench.perception.networks.softmax import SoftmaxCNN
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
