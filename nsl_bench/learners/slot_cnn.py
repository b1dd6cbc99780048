"""A network from images to labels: an encoder for each slot, and a decoder over all of them.

It is the neural baseline of "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762), section 6.2: each
encoder is a network for MNIST with three linear layers, and the decoder gives the labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nsl_bench.core.options import option
from nsl_bench.learners.image_network import ImageNetwork


class SlotCNN(ImageNetwork):
    """Encoders of each slot's image and a decoder, trained together on labels alone."""

    name = "slot_cnn"
    version = "1"
    _together = 512
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "hidden": (32, 64, 256), "outputs": (2, 8, 32)}
    )

    outputs: int = option(32, "outputs of each encoder", least=1)
    hidden: int = option(64, "units of the decoder's hidden layer", least=1)

    def _network(self, slots: int, channels: int, labels: int) -> Any:
        return _network(slots, channels, self.outputs, self.hidden, labels)

    @staticmethod
    def _scaled(images: Any) -> Any:
        """float32 tensor [m, slots * channels, 28, 28], 0 to 1."""
        import torch

        return (images.flatten(1, 2).float() / 255).contiguous(memory_format=torch.channels_last)


def _network(slots: int, channels: int, outputs: int, hidden: int, labels: int) -> Any:
    """A network from flat images to logits [m, labels]; layers in groups, one a slot."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(slots * channels, slots * 6, 5, groups=slots),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(slots * 6, slots * 16, 5, groups=slots),
        nn.MaxPool2d(2),
        nn.ReLU(),
        # A linear layer for each slot is a convolution over the whole of its image.
        nn.Conv2d(slots * 16, slots * 120, 4, groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 120, slots * 84, 1, groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 84, slots * outputs, 1, groups=slots),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(slots * outputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, labels),
    )
