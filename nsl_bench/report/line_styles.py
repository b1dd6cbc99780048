"""Which colour, marker and dashes a learner's lines have: the same in all figures and on the board.

A line's style is one number, its *slot*: its remainder by eight is the colour, what is left is the *cycle*,
which changes marker and dashes. Colours are Okabe and Ito's, which people with colour blindness tell apart.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Okabe and Ito's colours; olive in place of their yellow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

PUBLISHED = "--"
"""Dashes of other people's numbers."""

DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)))

_SHADES = ((255, 0.35), (0, 0.4), (255, 0.58), (0, 0.65))
"""Of later cycles: towards white or black, and how far."""

_KNOWN = {
    "ffnsl": 0,
    "random_forest": 1,
    "fcn": 2,
    "cnn_lstm": 3,
    "random_forest_knowledge": 4,
    "rules": 5,
    "majority": 6,
}
"""The colours of the learners that come with the package."""

_PLAIN = "softmax"
"""The default network, whose line has a learner's plain colour."""

_LIMIT = re.compile(r"(?<=[:,])time_limit=[^,]*,?")
_NEAR = 0.012
"""Two points that differ by less than this share of the axis look like one."""


def learner_slots(learners: Iterable[str]) -> dict[str, int]:
    """The slot of each learner.

    A learner of the package has the same slot everywhere. Another has a colour that its name decides, unless
    one before it has that colour: then the next free one.

    Args:
        learners: specs. A time limit makes no other learner.
    """
    names = {spec: _LIMIT.sub("", spec).rstrip(":,") for spec in learners}
    slots = {name: _KNOWN[name] for name in set(names.values()) if name in _KNOWN}
    for name in sorted(set(names.values()) - slots.keys()):
        first = hashlib.sha256(name.encode()).digest()[0] % len(COLOURS)
        taken, cycle = set(slots.values()), 0
        while (slot := _free(taken, first, cycle)) is None:
            cycle += 1
        slots[name] = slot
    return {spec: slots[name] for spec, name in names.items()}


def _free(taken: set[int], first: int, cycle: int) -> int | None:
    """The first slot of a cycle that nobody has, from a colour on."""
    count = len(COLOURS)
    slots = [cycle * count + (first + k) % count for k in range(count)]
    return next((slot for slot in slots if slot not in taken), None)


def line_slots(lines: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """The slot of each line; lines of one learner have one colour and differ in marker and dashes.

    Args:
        lines: a learner's spec, and what else tells its lines apart.
    """
    ordered = sorted(set(lines))
    learners = learner_slots(line[0] for line in ordered)
    slots: dict[tuple[str, ...], int] = {}
    for line in sorted(ordered, key=lambda line: (learners[line[0]], _PLAIN not in line, line)):
        slot = learners[line[0]]
        while slot in slots.values():
            slot += len(COLOURS)
        slots[line] = slot
    return slots


def colour_of(slot: int) -> str:
    """The colour of a slot, ``#RRGGBB``; the later cycles of a colour are lighter and darker."""
    colour, cycle = COLOURS[slot % len(COLOURS)], slot // len(COLOURS)
    if cycle == 0:
        return colour
    towards, share = _SHADES[(cycle - 1) % len(_SHADES)]
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(part + share * (towards - part)):02X}" for part in parts)


def marker_index(slot: int) -> int:
    """Which of `MARKERS` a slot has; no two cycles of a colour have the same, up to eight."""
    return (slot + 3 * (slot // len(COLOURS))) % len(MARKERS)


def marker_of(slot: int) -> str:
    """The marker of a slot, as matplotlib calls it."""
    return MARKERS[marker_index(slot)]


def dashes_of(slot: int) -> str | tuple[int, tuple[float, ...]]:
    """The line style of a slot, as matplotlib takes it; never that of published numbers."""
    return DASHES[slot // len(COLOURS) % len(DASHES)]


def coincidences(
    lines: Sequence[Mapping[float, float]], low: float, high: float, *, logarithmic: bool = False
) -> list[int]:
    """How many of the lines that are drawn after it hide each line, at more than half of its points.

    Draw a line the wider, and its markers the larger, the more lines come on top of it.

    Args:
        lines: values by share of shifted examples, in the order in which they are drawn.
        low, high: the ends of the vertical axis.
        logarithmic: whether that axis is.
    """

    def place(value: float) -> float:
        if not logarithmic:
            return (value - low) / (high - low or 1.0)
        least = max(low, 1e-300)
        return math.log(max(value, least) / least) / (math.log(max(high, least) / least) or 1.0)

    def hides(upper: Mapping[float, float], lower: Mapping[float, float]) -> bool:
        shared = upper.keys() & lower.keys()
        near = sum(abs(place(upper[x]) - place(lower[x])) < _NEAR for x in shared)
        return near > len(shared) // 2

    return [sum(hides(later, line) for later in lines[k + 1 :]) for k, line in enumerate(lines)]
