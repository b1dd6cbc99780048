"""What networks that learn from images share: the images, an encoder of any size, and when training ends.

The module needs only numpy and torch, so adapters with an interpreter of their own can import it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from time import perf_counter  # as it is now: a learner here may replace it
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.types import Bools

if TYPE_CHECKING:
    from nsl_bench.learners.view import View

MOST = 128
"""Longest side of the images that networks look at, in pixels; longer ones are reduced."""

SHARE = 0.8
"""Of the time limit that training may use; the rest is for what comes after it."""

_LEAST, _STEPS = 12, 32
"""The least side of a map that is made smaller once more; about how many steps are made along a side."""


def pictures(view: View, size: Sequence[int] = ()) -> tuple[Any, Bools]:
    """The images of a view, uint8 tensor [n, slots, channels, height, width], and which slots are blank.

    Args:
        view: the examples.
        size: height and width; by default those of the first image, with `MOST` pixels at most.

    Returns:
        The images, blank slots black; bool [n, slots].
    """
    import torch

    result: Any = None
    blank = np.ones((len(view), len(view.slots)), np.bool_)
    for row, example in enumerate(view.images):
        for slot, image in enumerate(example):
            if image is None:
                continue
            longest = max(image.shape[:2])
            size = size or [max(1, round(side * min(1, MOST / longest))) for side in image.shape[:2]]
            picture = torch.as_tensor(np.moveaxis(image, 2, 0).copy())
            if picture.shape[1:] != tuple(size):
                resized = torch.nn.functional.interpolate(picture[None].float(), tuple(size), mode="area")
                picture = resized[0].round().to(torch.uint8)
            if result is None:
                result = torch.zeros((*blank.shape, *picture.shape), dtype=torch.uint8)
            if len(picture) != result.shape[2]:
                raise NotApplicable("All images of a task must have the same number of channels.")
            result[row, slot], blank[row, slot] = picture, False
    if result is None:
        result = torch.zeros((*blank.shape, 1, *(size or (28, 28))), dtype=torch.uint8)
    return result, blank


def floats(images: Any) -> Any:
    """Pixels from 0 to 1 in place of bytes."""
    return images.float() / 255


def encoder(images: Any, outputs: int, slots: int = 1) -> Any:
    """LeNet: as many convolutions with pooling as the size of images needs, and three linear layers.

    Args:
        images: those of `pictures`, for their size.
        outputs: numbers for each image.
        slots: networks beside each other, each for the image of a slot.

    Returns:
        A module from float tensors [m, slots * channels, height, width] to [m, slots * outputs].
    """
    from torch import nn

    wide, *sides = images.shape[2:]
    step, layers = max(1, min(sides) // _STEPS), list[Any]()
    for wider in itertools.chain((6, 16), itertools.repeat(32)):
        if min(sides) < _LEAST:
            break
        layers += [nn.Conv2d(slots * wide, slots * wider, 5, step, groups=slots), nn.MaxPool2d(2), nn.ReLU()]
        sides = [((side - 5) // step + 1) // 2 for side in sides]
        wide, step = wider, 1
    # A linear layer for each slot is a convolution over the whole of its map.
    return nn.Sequential(
        *layers,
        nn.Conv2d(slots * wide, slots * 120, tuple(sides), groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 120, slots * 84, 1, groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 84, slots * outputs, 1, groups=slots),
        nn.Flatten(),
    )


class Passes:
    """Passes over a train set, until a loss no longer falls or the time is up; then the best weights return::

        for _ in (passes := Passes(net, train, 1000, patience=20)):
            ...
            passes.loss = loss_on_validation_examples

    Args:
        net: the module that is trained.
        train: the train set, whose time limit counts.
        most: most passes.
        patience: passes without a smaller loss after which training ends; 0: all passes are made, whatever
            the time, and the last weights stay.
        share: of the time limit, by which they end.

    Attributes:
        made: passes that were made.
        loss: to be set in each pass.
    """

    def __init__(self, net: Any, train: View, most: int, patience: int, share: float = SHARE) -> None:
        self.made, self.loss = 0, float("inf")
        self._net, self._most, self._patience = net, most, patience
        self._end = float("inf") if train.time_limit is None else train.begun + share * train.time_limit

    def __iter__(self) -> Iterator[int]:
        best, since, longest, weights = float("inf"), 0, 0.0, None
        while self.made < self._most:
            clock, self.made = perf_counter(), self.made + 1
            yield self.made - 1
            if not self._patience:
                continue
            since += 1
            if self.loss < best:
                best, since = self.loss, 0
                weights = {name: weight.clone() for name, weight in self._net.state_dict().items()}
            longest = max(longest, perf_counter() - clock)
            if since >= self._patience or perf_counter() + longest > self._end:
                break
        if weights is not None:
            self._net.load_state_dict(weights)
