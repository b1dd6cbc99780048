"""Perceivers that a learner trains itself: small networks from the images of a row to its symbols.

A symbol is the concept of a slot, seen in one image, or a property of all images of a row, such as which of
two pegs has the smaller disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsl_bench.core.types import LabelSpace
from nsl_bench.learners.images import SIDE, LabelledImages, Slots, different_images
from nsl_bench.learners.view import View
from nsl_bench.perception.training import Precision, computing_in

_CANVASES = 128
"""Whole rows of images that are seen at once where nothing is trained."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """The images of rows.

    Attributes:
        which: int64 tensor [n, slots], index of each image; -1 for a blank slot.
        images: float32 tensor [images, channels, SIDE, SIDE], 0 to 1.
    """

    which: Any
    images: Any

    def __len__(self) -> int:
        return len(self.which)

    def take(self, rows: Any) -> Pictures:
        """The pictures of these rows."""
        return Pictures(self.which[rows], self.images)


def read(view: View) -> Pictures:
    """The pictures of a view's rows."""
    return _pictures(view.images, len(view.slots))


def _pictures(rows: Sequence[Slots], slots: int) -> Pictures:
    import torch

    which, images = different_images(rows, slots)
    return Pictures(torch.as_tensor(which), torch.as_tensor(images).float() / 255)


def two_convolutions(channels: int, first: int, second: int) -> list[Any]:
    """Layers; of 28 by 28 pixels they leave 4 by 4 numbers a channel."""
    from torch import nn

    layers: list[Any] = []
    for before, after in ((channels, first), (first, second)):
        layers += [nn.Conv2d(before, after, 5), nn.MaxPool2d(2), nn.ReLU()]
    return layers


def convolved(layers: Any, images: Any, precision: Precision) -> Any:
    """float32: what convolutions, computed in a precision, make of images."""
    import torch

    with computing_in(precision, images.device.type):
        seen = layers(images.contiguous(memory_format=torch.channels_last))
    return seen.float()


@dataclass(frozen=True)
class Pretraining:
    """How a perceiver learns from a few labelled samples."""

    passes: int
    rate: float
    batch: int


class SlotPerceiver:
    """One network for the image of every slot; a symbol is what the slot shows.

    Args:
        width: channels of the first convolution; the second has twice as many.
    """

    pretraining = Pretraining(30, 1e-3, 16)
    _CONVOLUTIONS = 6

    def __init__(self, channels: int, values: int, width: int = 16, precision: Precision = "float32") -> None:
        import torch
        from torch import nn

        self.precision: Precision = precision
        self.net = nn.Sequential(
            *two_convolutions(channels, width, 2 * width),
            nn.Flatten(),
            nn.Linear(32 * width, 128),
            nn.ReLU(),
            nn.Linear(128, values),
        )
        self.net.to(memory_format=torch.channels_last)

    def logits(self, pictures: Pictures) -> list[Any]:
        """For each symbol, a tensor [n, values]; zeros for a blank slot."""
        import torch

        which = pictures.which
        distinct, back = torch.unique(which[which >= 0], return_inverse=True)
        last = self.net[-1].out_features
        result = pictures.images.new_zeros((*which.shape, last))
        if len(distinct):
            seen = convolved(self.net[: self._CONVOLUTIONS], pictures.images[distinct], self.precision)
            result[which >= 0] = self.net[self._CONVOLUTIONS :](seen)[back]
        return list(result.unbind(dim=1))


class StatePerceiver:
    """One network for all images of a row, laid out in rows of equal length: what it attends to decides.

    The network is that of NTOC's code for the Tower of Hanoi: three convolutions with pooling, a code of the
    position, attention by one learned query, and a network with one hidden layer. Any number of columns will
    do. As there, rows have a margin around them and one column more than images, pixels count from 0 to 255,
    and 200 passes are made over the few labelled samples, of which the canvas is as narrow as they are.
    """

    pretraining = Pretraining(200, 1e-4, 32)
    _WIDE, _HEAD, _HEADS, _HIDDEN, _MARGIN = 64, 32, 2, 64, 4

    def __init__(
        self, channels: int, values: tuple[int, ...], rows: int, precision: Precision = "float32"
    ) -> None:
        import torch
        from torch import nn

        self.values, self.rows = values, rows
        self.precision: Precision = precision
        self.net = nn.ModuleDict(
            {
                "see": nn.Sequential(
                    nn.Conv2d(channels, 32, 5),
                    nn.MaxPool2d(2),
                    nn.ReLU(),
                    nn.Conv2d(32, self._WIDE, 3),
                    nn.MaxPool2d(2),
                    nn.ReLU(),
                    nn.Conv2d(self._WIDE, self._WIDE, 3),
                    nn.ReLU(),
                    nn.AvgPool2d(5),
                ),
                "key": self._read_out(),
                "value": self._read_out(),
                "attend": nn.MultiheadAttention(self._HEAD, self._HEADS, batch_first=True),
                "say": nn.Sequential(
                    nn.Linear(self._HEAD, self._HIDDEN), nn.ReLU(), nn.Linear(self._HIDDEN, sum(values))
                ),
            }
        )
        self.net.register_parameter("query", nn.Parameter(torch.randn(self._HEAD)))
        self.net.to(memory_format=torch.channels_last)

    def _read_out(self) -> Any:
        from torch import nn

        return nn.Sequential(nn.Linear(self._WIDE, self._HEAD), nn.ReLU(), nn.Linear(self._HEAD, self._HEAD))

    def logits(self, pictures: Pictures) -> list[Any]:
        """For each symbol, a tensor [n, values]."""
        import torch

        if torch.is_grad_enabled():
            seen = self._seen(pictures)
        else:
            # A canvas is large, and what is not trained keeps no memory of earlier ones.
            parts = torch.split(torch.arange(len(pictures)), _CANVASES)
            seen = torch.cat([self._seen(pictures.take(rows)) for rows in parts])
        wide, height, width = seen.shape[1:]
        places = (seen + _position_code(wide, height, width)).flatten(2).transpose(1, 2)
        net: Any = self.net
        query = net.query.expand(len(places), 1, -1)
        result = net["attend"](query, net["key"](places), net["value"](places), need_weights=False)[0]
        return list(torch.split(self.net["say"](result[:, 0]), list(self.values), dim=1))

    def _seen(self, pictures: Pictures) -> Any:
        return convolved(self.net["see"], self._canvas(pictures), self.precision)

    def _canvas(self, pictures: Pictures) -> Any:
        """float32 tensor [n, channels, height, width]; black where nothing is shown."""
        which, gap = pictures.which, self._MARGIN
        n, columns = len(which), which.shape[1] // self.rows
        height, width = self.rows * (SIDE + gap) + gap, (columns + 1) * SIDE
        canvas = pictures.images.new_zeros((n, pictures.images.shape[1], height, width))
        rows, slots = (which >= 0).nonzero(as_tuple=True)
        images = pictures.images[which[rows, slots]] * 255
        for slot in slots.unique().tolist():
            here = slots == slot
            top, left = gap + slot // columns * (SIDE + gap), slot % columns * SIDE
            canvas[rows[here], :, top : top + SIDE, left : left + SIDE] = images[here]
        return canvas


def _position_code(wide: int, height: int, width: int) -> Any:
    """float32 tensor [wide, height, width]: sines and cosines of both coordinates (Vaswani et al. 2017)."""
    import torch

    from nsl_bench.learners.modules import sinusoids

    rows, columns = (sinusoids(count, wide // 2).T for count in (height, width))
    return torch.cat([rows[:, :, None].expand(-1, -1, width), columns[:, None, :].expand(-1, height, -1)])


def true_symbols(view: View) -> list[Any]:
    """For each symbol, float32 [n, values]: 1 for its value, which follows from a view's true concepts."""
    import torch

    from nsl_bench.logic.guarded.rules import crisp

    symbols = view.symbols
    values = list(itertools.product(*(range(len(one)) for one in symbols)))
    atoms = tuple(f"shows({','.join(map(str, one))})" for one in values)
    rules = [
        f"holds({k},{v}) :- now(T), {body}." for k, one in enumerate(symbols) for v, body in enumerate(one)
    ]
    for atom, one in zip(atoms, values, strict=True):
        rules.append(f"{atom} :- {', '.join(f'holds({k},{v})' for k, v in enumerate(one))}.")
    rows = crisp(rules, view.background, view.contexts, LabelSpace(atoms, atoms), what="the symbols")
    concepts = torch.as_tensor(np.array(values))[torch.as_tensor(rows).long()]
    return [
        torch.nn.functional.one_hot(column, len(one)).float()
        for column, one in zip(concepts.unbind(dim=1), symbols, strict=True)
    ]


def perceiver_for(few: LabelledImages, precision: Precision = "float32") -> SlotPerceiver | StatePerceiver:
    """The perceiver that labelled samples call for: of single images, or of whole rows."""
    places, channels = few.images.shape[1], few.images.shape[4]
    if places == 1 and len(few.values) == 1:
        return SlotPerceiver(channels, few.values[0], precision=precision)
    return StatePerceiver(channels, few.values, places, precision)


def pretrain(perceiver: SlotPerceiver | StatePerceiver, few: LabelledImages, passes: int = 0) -> None:
    """Train a perceiver on labelled samples by cross-entropy.

    Args:
        passes: over them; 0: as many as the perceiver's `pretraining` says.
    """
    import torch

    how = perceiver.pretraining
    blank = (few.images == 0).all(axis=(2, 3, 4))
    rows: list[Slots] = [
        [None if none else image for image, none in zip(images, empty.tolist(), strict=True)]
        for images, empty in zip(few.images, blank, strict=True)
    ]
    pictures = _pictures(rows, few.images.shape[1])
    targets = torch.as_tensor(few.targets)
    optimiser = torch.optim.Adam(perceiver.net.parameters(), lr=how.rate)
    perceiver.net.train()
    for _ in range(passes or how.passes):
        for rows_now in torch.split(torch.randperm(len(targets)), how.batch):
            logits = perceiver.logits(pictures.take(rows_now))
            losses = [
                torch.nn.functional.cross_entropy(one, targets[rows_now, k]) for k, one in enumerate(logits)
            ]
            optimiser.zero_grad()
            sum(losses).backward()  # type: ignore[union-attr]
            optimiser.step()
    perceiver.net.eval()
