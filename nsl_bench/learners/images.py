"""The images of a view: those of its examples, and the labelled samples of the track ``few_labels``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.seeding import generator, stable_hash
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Bools, FewLabels, Ints, Split, UInts8
from nsl_bench.data.splits import assign_images

if TYPE_CHECKING:
    from nsl_bench.learners.view import View

SIDE = 28
"""Width and height of the images that networks without slots of their own look at, in pixels."""

Slots = list[UInts8 | None]
"""The images of one example, one a slot: uint8 [height, width, channels], None for a blank slot."""


class Images(Sequence[Slots]):
    """Images of a split's examples, rendered on demand."""

    def __init__(self, split: Split, source: ImageSource, shift: Shift | None) -> None:
        if split.n_shifted and shift is None:
            raise ValueError("some examples are shifted, but no shift is given")
        self._split, self._source, self._shift = split, source, shift

    def __len__(self) -> int:
        return len(self._split)

    @property
    def blank(self) -> Bools:
        """bool [n, slots]: where no image is shown."""
        return np.asarray(self._split.images == BLANK)

    @overload
    def __getitem__(self, i: int) -> Slots: ...
    @overload
    def __getitem__(self, i: slice) -> list[Slots]: ...
    def __getitem__(self, i: int | slice) -> Slots | list[Slots]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"example {i} of {len(self)}")
        row = self._split.images[i]
        full = row != BLANK
        rendered = iter(self._render(row[full].astype(np.int64), shifted=bool(self._split.shifted[i])))
        return [next(rendered) if there else None for there in full.tolist()]

    def __iter__(self) -> Iterator[Slots]:
        return (self[i] for i in range(len(self)))

    def _render(self, indices: Ints, *, shifted: bool) -> UInts8:
        """uint8 [m, height, width, channels]: images of the split's part of the pool."""
        if shifted and self._shift is not None:
            return self._shift.render(self._source, self._split.pool, indices)
        return self._source.render(self._split.pool, indices, self._source.variants[0])


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """The labelled samples of the track ``few_labels``.

    Attributes:
        images: uint8 [m, places, height, width, channels]; zeros where nothing is shown.
        targets: int64 [m, symbols], the value of each symbol.
        values: number of values of each symbol.
    """

    images: UInts8
    targets: Ints
    values: tuple[int, ...]


def few_labels_of(split: Split, benchmark: Benchmark, source: ImageSource) -> FewLabels:
    """The labelled samples for a train set, which decides them; their images are the network's."""
    rng = generator("few_labels", benchmark.name, benchmark.version, stable_hash(split.images.tolist()))
    few = benchmark.few_labels(rng)
    empty = Split("train", benchmark.concept_space, few.concepts, np.zeros(len(few.concepts), np.int16))
    return replace(few, images=assign_images(empty, source.labels("network"), rng).images)


def different_images(rows: Sequence[Slots], slots: int) -> tuple[Ints, UInts8]:
    """Which image each slot shows, int64 [n, slots], -1 for a blank; the images, uint8 [m, channels, 28, 28].

    Equal images are one, because sources are small and examples many.
    """
    number_of: dict[bytes, int] = {}
    different: list[UInts8] = []
    which = np.full((len(rows), slots), -1, np.int64)
    for row, example in enumerate(rows):
        for slot, image in enumerate(example):
            if image is None:
                continue
            key = image.tobytes()
            if key not in number_of:
                number_of[key] = len(different)
                different.append(_sized(image))
            which[row, slot] = number_of[key]
    if len({image.shape for image in different}) > 1:
        raise NotApplicable("All images of a task must have the same number of channels.")
    stacked = np.stack(different) if different else np.zeros((0, SIDE, SIDE, 1), np.uint8)
    return which, np.ascontiguousarray(np.moveaxis(stacked, 3, 1))


def _sized(image: UInts8) -> UInts8:
    """uint8 [SIDE, SIDE, channels]."""
    if image.shape[:2] == (SIDE, SIDE):
        return image
    import cv2

    resized = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(resized, np.uint8).reshape(SIDE, SIDE, -1)


def thumbnails(view: View) -> Any:
    """uint8 tensor [n, slots, channels, 28, 28]: the images of a view, blank slots black."""
    import torch

    which, images = different_images(view.images, len(view.slots))
    black = np.zeros((1, *images.shape[1:]), np.uint8)
    return torch.as_tensor(np.concatenate([images, black])[which])
