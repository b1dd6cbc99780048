"""The neural baseline of the NeuID3 paper in its size: the learner `benchmarks/wide_slots.py:WideSlotCNN`.

The paper's network has 44 million weights, `slot_cnn` 0.2 million; where they are, it does not say. Here the
linear layers of each encoder are 31 times as wide, which makes 44 million on Eleusis.
"""

from __future__ import annotations

from typing import Any

from nsl_bench.core.options import option
from nsl_bench.learners.image_networks import SlotCNN

_CHANNELS = 16
"""Of the last convolution, which leaves 4 by 4 numbers of an image of 28 by 28."""


class WideSlotCNN(SlotCNN):
    """Encoders of each slot's image, with wide linear layers that become narrower, and a decoder."""

    name = "wide_slot_cnn"
    version = "1"
    wide: int = option(31, "times as many units in the encoders' hidden linear layers", least=1)
    outputs = 128

    def _network(self, images: Any, labels: int) -> Any:
        import torch
        from torch import nn

        class Full(nn.Conv2d):
            """A convolution over whole images: a product of matrices each group, three times as fast."""

            def forward(self, seen: Any) -> Any:
                weights = self.weight.reshape(self.groups, -1, self.weight[0].numel())
                inputs = seen.reshape(len(seen), self.groups, -1).permute(1, 2, 0)
                units = torch.baddbmm(self.bias.reshape(self.groups, -1, 1), weights, inputs)
                return units.permute(2, 0, 1).reshape(len(seen), -1, 1, 1)

        slots, channels = images.shape[1:3]
        first, second = 120 * self.wide, 84 * self.wide
        layers: list[Any] = []
        for before, after in ((channels, 6), (6, _CHANNELS)):
            layers += [nn.Conv2d(slots * before, slots * after, 5, groups=slots), nn.MaxPool2d(2), nn.ReLU()]
        for before, after, side in ((_CHANNELS, first, 4), (first, second, 1), (second, self.outputs, 1)):
            layers += [Full(slots * before, slots * after, side, groups=slots), nn.ReLU()]
        decoder = [nn.Linear(slots * self.outputs, self.hidden), nn.ReLU(), nn.Linear(self.hidden, labels)]
        return nn.Sequential(nn.Flatten(1, 2), *layers, nn.Flatten(), *decoder)
