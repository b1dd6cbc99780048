"""The small convolutional networks of the FFNSL paper, and its Softmax CNN.

Cunnington et al. 2023, appendix, and the published code. ``digits``: two convolutions and a dense layer,
Adadelta; ``cards``: four blocks of convolution and pooling, two dense layers, RMSprop with learning rate
0.001; ``lenet``: the classifier of EDL-GEN (Sensoy et al., AAAI 2020), two blocks of 5 x 5 convolution and
pooling, two dense layers; ``lenet5``: the same with dropout between the dense layers, the Softmax network of
NSL 2020 (Sensoy, Kaplan, Kandemir, NeurIPS 2018, published code). ``linear`` is not from the paper: a
logistic regression on pixels, which shows how difficult a source's images are.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints, Ints16
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier
from nsl_bench.perception.network import How, Renderer

Kind = Literal["digits", "cards", "lenet", "lenet5", "linear"]

_OF_DIGITS = ("digits", "lenet5")

_QUICK_PIXELS = 96 * 64

_SMALL = 32
"""Height and width, in pixels, up to which the layers for digits fit and those for cards do not."""


@dataclass(frozen=True)
class Architecture:
    """The sizes of a network.

    Attributes:
        height, width, channels: shape of the input images.
        dense: units of the hidden dense layer, if there is one.
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
            last += [nn.Dropout(0.5)] if self.kind == "lenet5" else []
        return nn.Sequential(*layers, *last, nn.Linear(self.dense, self.outputs))

    def _left(self, side: int) -> int:
        """The height or width, in pixels, that the layers leave of an image's."""
        lenet = (4, 4)
        layers = {"digits": (4,), "cards": (2, 2, 2, 2), "lenet": lenet, "lenet5": lenet, "linear": ()}
        for lost in layers[self.kind]:
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


class SoftmaxCNN(PresetClassifier):
    """A convolutional network whose confidence is its softmax.

    Two presets. ``quick``, the default and what the shipped weights were trained with, is sized for two
    processor cores: images of cards at 96 x 64 and 120 of each card, other colour images at as many pixels
    and 280 of each concept, 96 units in the dense layer of the digits network, and so many epochs (5 to 40)
    that about 62,400 colour images or 320,000 digits are seen. Except for cards the learning rate falls to
    zero meanwhile, which makes up for the epochs that are missing; where there are fewer than 10,000 digits
    they are moved at random by up to two pixels.
    ``paper`` has the published sizes: all images in full, 512 and 128 units, 20 epochs. ``kind=lenet5`` has
    500 units, batches of 1,000 images, Adam and a penalty on dense weights; in ``paper`` 50 epochs.
    """

    name = "softmax"
    version = "2"
    sizes: ClassVar[type[Architecture]] = Architecture

    kind: Literal["auto", "digits", "cards", "lenet5", "linear"] = option(
        "auto",
        "``digits`` or ``cards``; by default digits for grey images of at most 32 x 32. ``lenet5`` is the "
        "network of NSL 2020, ``linear`` a logistic regression on pixels, to compare with",
        after="preset",
    )
    dense: int | None = option(None, "units of the hidden dense layer", least=1, after="images_per_concept")
    anneal: bool | None = option(
        None, "whether the learning rate falls to zero, in a straight line, or stays"
    )
    held_out: float = option(
        0.0,
        "share of the train images of each concept that are left out, for calibrating afterwards",
        least=0,
        most=0.5,
        later=True,
        after="width",
    )

    def design(self, shape: tuple[int, int, int], outputs: int) -> Architecture:
        """The sizes of the network for images of a shape."""
        height, width, channels = shape
        kind: Kind = ("digits" if is_small(height, width) else "cards") if self.kind == "auto" else self.kind
        quick = self.quick
        if quick and kind not in _OF_DIGITS:
            height, width = quick_size(height, width)
        dense = {"digits": 96 if quick else 128, "lenet5": 500}.get(kind, 512)
        return Architecture(
            kind, self.height or height, self.width or width, channels, self.dense or dense, outputs
        )

    def train_rows(self, labels: Ints16, design: Architecture) -> tuple[Ints, Ints]:
        """int64: the rows to train on, and those that are left out for calibrating."""
        usual = None
        if self.quick and design.kind not in _OF_DIGITS:
            usual = 120 if card_shaped(design.height, design.width) else 280
        limit = self.images_per_concept or usual
        rows = training.first_of_each(labels, limit)
        out = training.last_of_each(labels[rows], self.held_out)
        return rows[~out], rows[out]

    def fit(self, render: Renderer, labels: Ints16, concepts: tuple[str, ...], **how: Unpack[How]) -> Self:
        design = self.design(render(np.zeros(1, np.int64)).shape[1:], len(concepts))
        rows, _ = self.train_rows(labels, design)
        images = self._collect(render, rows, design, how)
        self._mean, self._deviation = training.statistics(images)
        digits, lenet = design.kind == "digits", design.kind == "lenet5"
        anneal = self.quick and (digits or not card_shaped(design.height, design.width))
        seen = 320_000 if digits or lenet else 62_400
        settings = self._settings(
            min(max(round(seen / len(rows)), 5), 40) if self.quick else 50 if lenet else 20,
            batch=1000 if lenet else 64 if digits else 32,
            optimiser="adam" if lenet else "adadelta" if digits else "rmsprop",
            decay=0.005 if lenet else 0.0,
            learning_rate=1.0 if digits else 0.001,
            anneal=anneal if self.anneal is None else self.anneal,
            jitter=2 if self.quick and digits and len(rows) < 10_000 else 0,
            **how,
        )
        self._module = self._train_module(design.build, images, labels[rows], settings)
        self._finish(design, concepts, settings, images=len(rows))
        return self
