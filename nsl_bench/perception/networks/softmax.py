"""The Softmax CNN of the FFNSL paper, for digits and for colour images (cards, crops, scenes).

Cunnington et al. 2023, appendix, and the published code. Digits: Adadelta; cards: RMSprop with learning
rate 0.001.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.perception import training
from nsl_bench.perception.classifier import ImageClassifier, check_counts, chosen_precision
from nsl_bench.perception.images import collect
from nsl_bench.perception.network import Option, Renderer
from nsl_bench.perception.networks.small_cnn import Architecture, Kind, card_shaped, is_small, quick_size

__all__ = ["SoftmaxCNN"]


class SoftmaxCNN(ImageClassifier):
    """A convolutional network whose confidence is its softmax.

    Two presets. ``quick``, the default and what the shipped weights were trained with, is sized for two
    processor cores: images of cards at 96 x 64 and 120 of each card, other colour images at as many pixels
    and 280 of each concept, 96 units in the dense layer of the digits network, and so many epochs (5 to 40)
    that about 62,400 colour images or 320,000 digits are seen. Except for cards the learning rate falls to
    zero meanwhile, which makes up for the epochs that are missing; where there are fewer than 10,000 digits
    they are moved at random by up to two pixels.
    ``paper`` has the published sizes: all images in full, 512 and 128 units, 20 epochs.

    Args:
        preset: ``"quick"`` or ``"paper"``; what the options below leave open.
        kind: ``"digits"`` or ``"cards"``; by default digits for grey images of at most 32 x 32. ``"linear"``
            is a logistic regression on pixels, to compare with.
        epochs: passes over the train images.
        images_per_concept: at most so many train images of each concept, the first ones.
        dense: units of the hidden dense layer.
        anneal: whether the learning rate falls to zero, in a straight line, or stays.
        height: the network resizes images to this height.
        width: and to this width.
        held_out: share of the train images of each concept that are left out, for calibrating afterwards.
        seed: of the first weights, the order of the images and dropout.
        precision: what layers compute in during training; ``bfloat16`` is faster on processors that have it.
    """

    name = "softmax"
    version = "2"
    sizes: ClassVar[type[Architecture]] = Architecture

    def __init__(
        self,
        preset: Literal["quick", "paper"] = "quick",
        kind: Literal["auto", "digits", "cards", "linear"] = "auto",
        epochs: int | None = None,
        images_per_concept: int | None = None,
        dense: int | None = None,
        anneal: bool | None = None,
        height: int | None = None,
        width: int | None = None,
        held_out: float = 0.0,
        seed: int = 0,
        precision: training.Precision = "float32",
    ) -> None:
        super().__init__(seed)
        counts = {
            "epochs": epochs,
            "images_per_concept": images_per_concept,
            "dense": dense,
            "height": height,
            "width": width,
        }
        check_counts(self.name, counts)
        if not 0 <= held_out <= 0.5:
            raise UserError(f"softmax: held_out must be between 0 and 0.5; got {held_out}.")
        self.preset = preset
        self.kind = kind
        self.epochs = epochs
        self.images_per_concept = images_per_concept
        self.dense = dense
        self.anneal = anneal
        self.height = height
        self.width = width
        self.held_out = held_out
        self.precision = precision

    @property
    def options(self) -> Mapping[str, Option]:
        # An option at the value that it had before it existed is left out: weights keep their identity.
        later: dict[str, Option] = {"held_out": self.held_out} if self.held_out else {}
        return {
            "preset": self.preset,
            "kind": self.kind,
            "epochs": self.epochs,
            "images_per_concept": self.images_per_concept,
            "dense": self.dense,
            "anneal": self.anneal,
            "height": self.height,
            "width": self.width,
            "seed": self.seed,
            **later,
            **chosen_precision(self.precision),
        }

    def design(self, shape: tuple[int, int, int], outputs: int) -> Architecture:
        """The sizes of the network for images of a shape."""
        height, width, channels = shape
        kind: Kind = ("digits" if is_small(height, width) else "cards") if self.kind == "auto" else self.kind
        quick = self.preset == "quick"
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
        if self.preset == "quick" and design.kind != "digits":
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
        images = collect(
            lambda some: render(rows[some]), len(rows), (design.height, design.width), progress=progress
        )
        self._mean, self._deviation = training.statistics(images)
        quick = self.preset == "quick"
        anneal = quick and (design.kind == "digits" or not card_shaped(design.height, design.width))
        few = quick and design.kind == "digits" and len(rows) < 10_000
        settings = training.Settings(
            epochs=self.epochs or self._epochs(design.kind, len(rows)),
            batch=64 if design.kind == "digits" else 32,
            optimiser="adadelta" if design.kind == "digits" else "rmsprop",
            learning_rate=1.0 if design.kind == "digits" else 0.001,
            anneal=anneal if self.anneal is None else self.anneal,
            jitter=2 if few else 0,
            seed=self.seed,
            device=device,
            progress=progress,
            threads=training.threads_of(self.preset),
            precision=self.precision,
        )
        self._module = training.train(
            design.build,
            images,
            labels[rows].astype(np.int64),
            self._mean,
            self._deviation,
            settings,
            self.checkpoint,
        )
        self._finish(design, concepts, settings, images=len(rows))
        return self

    def _epochs(self, kind: Kind, images: int) -> int:
        if self.preset == "paper":
            return 20
        wanted = 320_000 if kind == "digits" else 62_400
        return min(max(round(wanted / images), 5), 40)
