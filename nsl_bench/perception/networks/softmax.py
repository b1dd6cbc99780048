"""The Softmax CNN of the FFNSL paper, for digits and for colour images (cards, crops, scenes).

Cunnington et al. 2023, appendix, and the published code. Digits: Adadelta; cards: RMSprop with learning
rate 0.001.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import option
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier
from nsl_bench.perception.network import Renderer
from nsl_bench.perception.networks.small_cnn import Architecture, Kind, card_shaped, is_small, quick_size


class SoftmaxCNN(PresetClassifier):
    """A convolutional network whose confidence is its softmax.

    Two presets. ``quick``, the default and what the shipped weights were trained with, is sized for two
    processor cores: images of cards at 96 x 64 and 120 of each card, other colour images at as many pixels
    and 280 of each concept, 96 units in the dense layer of the digits network, and so many epochs (5 to 40)
    that about 62,400 colour images or 320,000 digits are seen. Except for cards the learning rate falls to
    zero meanwhile, which makes up for the epochs that are missing; where there are fewer than 10,000 digits
    they are moved at random by up to two pixels.
    ``paper`` has the published sizes: all images in full, 512 and 128 units, 20 epochs.
    """

    name = "softmax"
    version = "2"
    sizes: ClassVar[type[Architecture]] = Architecture

    kind: Literal["auto", "digits", "cards", "linear"] = option(
        "auto",
        "``digits`` or ``cards``; by default digits for grey images of at most 32 x 32. ``linear`` is a "
        "logistic regression on pixels, to compare with",
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
        if quick and kind != "digits":
            height, width = quick_size(height, width)
        dense = (96 if quick else 128) if kind == "digits" else 512
        return Architecture(
            kind, self.height or height, self.width or width, channels, self.dense or dense, outputs
        )

    def train_rows(
        self, labels: npt.NDArray[np.int16], design: Architecture
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """int64: the rows to train on, and those that are left out for calibrating."""
        usual = None
        if self.quick and design.kind != "digits":
            usual = 120 if card_shaped(design.height, design.width) else 280
        limit = self.images_per_concept or usual
        rows = training.first_of_each(labels, limit)
        out = training.last_of_each(labels[rows], self.held_out)
        return rows[~out], rows[out]

    def fit(
        self,
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
        *,
        device: str = "auto",
        progress: bool = False,
    ) -> Self:
        design = self.design(render(np.zeros(1, np.int64)).shape[1:], len(concepts))
        rows, _ = self.train_rows(labels, design)
        images = self._collect(render, rows, design, progress=progress)
        self._mean, self._deviation = training.statistics(images)
        digits = design.kind == "digits"
        anneal = self.quick and (digits or not card_shaped(design.height, design.width))
        settings = self._settings(
            self._epochs(design.kind, len(rows)),
            batch=64 if digits else 32,
            optimiser="adadelta" if digits else "rmsprop",
            learning_rate=1.0 if digits else 0.001,
            anneal=anneal if self.anneal is None else self.anneal,
            jitter=2 if self.quick and digits and len(rows) < 10_000 else 0,
            device=device,
            progress=progress,
        )
        self._module = self._train_module(design.build, images, labels[rows], settings)
        self._finish(design, concepts, settings, images=len(rows))
        return self

    def _epochs(self, kind: Kind, images: int) -> int:
        if not self.quick:
            return 20
        wanted = 320_000 if kind == "digits" else 62_400
        return min(max(round(wanted / images), 5), 40)
