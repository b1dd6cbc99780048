"""The small convolutional networks of the FFNSL paper: their sizes and their torch module.

Cunnington et al. 2023, appendix, and the published code. ``digits``: two convolutions and a dense layer;
``cards``: four blocks of convolution and pooling, two dense layers; ``lenet``: the classifier of EDL-GEN
(Sensoy et al., AAAI 2020), two blocks of 5 x 5 convolution and pooling, two dense layers. ``linear`` is not
from the paper: a logistic regression on pixels, which shows how difficult a source's images are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nsl_bench.core.errors import UserError

Kind = Literal["digits", "cards", "lenet", "linear"]

_QUICK_PIXELS = 96 * 64

_SMALL = 32
"""Height and width, in pixels, up to which the layers for digits fit and those for cards do not."""


@dataclass(frozen=True)
class Architecture:
    """The sizes of a network.

    Attributes:
        kind: one of the four networks.
        height, width, channels: shape of the input images.
        dense: units of the hidden dense layer, if there is one.
        outputs: number of concepts.
    """

    kind: Kind
    height: int
    width: int
    channels: int
    dense: int
    outputs: int

    def build(self) -> Any:
        """Build a torch module that maps float images [m, channels, height, width] to logits [m, outputs]."""
        from torch import nn

        height, width = (self._left(side) for side in (self.height, self.width))
        if height < 1 or width < 1:
            raise UserError(
                f"Images of {self.height} x {self.width} are too small for the {self.kind} network; "
                "enlarge them with the option height or width."
            )
        if self.kind == "linear":
            return nn.Sequential(nn.Flatten(), nn.Linear(self.channels * height * width, self.outputs))
        layers: list[nn.Module] = []
        before = self.channels
        if self.kind == "digits":
            layers += [nn.Conv2d(before, 32, 3), nn.ReLU(inplace=True)]
            layers += [nn.Conv2d(32, 64, 3), *_pooled(), nn.Dropout(0.25), nn.Flatten()]
            last = [nn.Linear(64 * height * width, self.dense), nn.ReLU(inplace=True), nn.Dropout(0.5)]
        elif self.kind == "cards":
            for after in (64, 64, 128, 128):
                layers += [nn.Conv2d(before, after, 3), *_pooled()]
                before = after
            layers += [nn.Flatten(), nn.Dropout(0.5)]
            last = [nn.Linear(128 * height * width, self.dense)]
        else:
            for after in (20, 50):
                layers += [nn.Conv2d(before, after, 5), *_pooled()]
                before = after
            layers += [nn.Flatten()]
            last = [nn.Linear(50 * height * width, self.dense), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, *last, nn.Linear(self.dense, self.outputs))

    def _left(self, side: int) -> int:
        """The height or width, in pixels, that the layers leave of an image's."""
        for lost in {"digits": (4,), "cards": (2, 2, 2, 2), "lenet": (4, 4), "linear": ()}[self.kind]:
            side = (side - lost) // 2
        return side


def _pooled() -> tuple[Any, Any]:
    """ReLU and max-pooling of 2 x 2; in this order the same numbers, from a quarter of the ReLUs."""
    from torch import nn

    return nn.MaxPool2d(2), nn.ReLU(inplace=True)


def is_small(height: int, width: int) -> bool:
    """Whether images are of the size of MNIST's digits, grey or coloured."""
    return max(height, width) <= _SMALL


def card_shaped(height: int, width: int) -> bool:
    """Whether images have approximately the aspect ratio of playing cards."""
    return 1.4 < height / width < 1.7


def quick_size(height: int, width: int) -> tuple[int, int]:
    """Height and width of images in a quick preset: 96 x 64 for cards, as many pixels for other shapes."""
    if height * width <= _QUICK_PIXELS:
        return height, width
    tall = (_QUICK_PIXELS * (1.5 if card_shaped(height, width) else height / width)) ** 0.5
    return max(8, round(tall / 8) * 8), max(8, round(_QUICK_PIXELS / tall / 8) * 8)
