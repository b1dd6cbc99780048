"""How figures look: colours, markers, dashes and resolution. They are drawn without a window.

A learner's lines look the same in all figures and on the board. A line's style is one number, its *slot*: its
remainder by eight is the colour, what is left is the *cycle*, which changes marker and dashes. Colours are
Okabe and Ito's, which people with colour blindness tell apart.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.report.escaping import in_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "++", "--")
_DPI = 120
_FEW = 48
"""Colours of a PNG file."""

_HANDLE = 11
"""Letters in whose place a handle of a legend is, with what is around it."""
_DEEPEST = 5
"""More lines on top of each other than this are not told apart by width."""
_SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none"}
"""Text in PDF and SVG files stays text."""
_SERIF = ["cmr10", "STIXGeneral"]
"""Computer Modern, and what has the characters that it lacks."""
_ESCAPED = {mark: f"\\{mark}" for mark in "_{}"}


def subplots(rows: int, columns: int, *, figsize: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Make a figure that leaves the state of ``pyplot`` alone, and its axes.

    Args:
        figsize: width and height in inches.
        options: of ``Figure.subplots``, e.g. ``sharey="row"``.

    Returns:
        The figure, and an array of axes [rows, columns].
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure

    cycle: dict[Any, Any] = {"axes.prop_cycle": cycler(color=COLOURS)}
    with matplotlib.rc_context(cycle):
        figure = Figure(figsize=figsize, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **options)


def emphasis(hidden_by: int) -> dict[str, float]:
    """Width of a line and size of its markers, so that it shows beside the lines on top of it."""
    depth = min(hidden_by, _DEEPEST)
    return {"linewidth": 1.4 + 2.0 * depth, "markersize": 4.0 + 2.4 * depth}


def heading(figure: Figure, text: str, size: float = 12.0) -> None:
    """Put a title above all panels, on as many lines as it needs."""
    figure.suptitle(wrapped(text, _room(figure, size)), fontsize=size)


def legend(figure: Figure, entries: Mapping[str, Any], size: float = 9.0) -> None:
    """Put a legend below all panels, in as many columns as the width of the figure has room for.

    The figure grows in height with the legend, so that the panels keep theirs.

    Args:
        figure: with a constrained layout.
        entries: a handle by label. Labels that are wider than the figure go on on a second line.
        size: of the text, in points.
    """
    if not entries:
        return
    texts = [wrapped(label, max(12, _room(figure, size) - _HANDLE)) for label in entries]
    widest = max(len(line) for label in texts for line in label.splitlines())
    columns = max(1, min(len(texts), _room(figure, size) // (widest + _HANDLE)))
    lines = sum(label.count("\n") + 1 for label in texts) / columns
    figure.set_figheight(figure.get_figheight() + max(0.0, lines - 2) * 1.55 * size / 72)
    legend_drawn = figure.legend(
        list(entries.values()), texts, loc="outside lower center", ncols=columns, fontsize=size, markerscale=1
    )
    for line in legend_drawn.get_lines():
        line.set(linewidth=1.4, markersize=5.0)


def panel_legend(axis: Axes, name: str, size: float = 7.0) -> None:
    """Put a legend above a panel, under its name, where it hides no data."""
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(
        handles,
        [in_picture(label) for label in labels],
        fontsize=size,
        title=name,
        title_fontsize=11,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        frameon=False,
    )


def _room(figure: Figure, size: float) -> int:
    """How many letters of a size in points are side by side in a figure."""
    return max(10, int(figure.get_figwidth() * 72 / (0.58 * size)))


def wrapped(text: str, letters: int) -> str:
    """A text on lines of at most so many letters."""
    safe = in_picture(text)
    return "\n".join(textwrap.wrap(safe, letters, break_on_hyphens=False)) or safe


@contextlib.contextmanager
def as_in_papers(size: float) -> Iterator[None]:
    """Figures that are made and saved in this block have LaTeX's own fonts, in a size in points."""
    import matplotlib

    wanted: dict[Any, Any] = {f"{name}.labelsize": size - 1 for name in ("xtick", "ytick")}
    wanted |= {"font.family": _SERIF, "mathtext.fontset": "cm", "axes.formatter.use_mathtext": True}
    wanted |= {"font.size": size, "axes.titlesize": size, "axes.labelsize": size}
    with matplotlib.rc_context(wanted):
        yield


def set_in_serif(figure: Figure) -> None:
    """Write in formulas what LaTeX's text fonts have other characters in place of."""
    from matplotlib.text import Text

    for one in figure.findobj(Text):
        words = one.get_text()
        one.set_text(re.sub(r"[_<>|{}]", lambda mark: f"${_ESCAPED.get(mark[0], mark[0])}$", words))


def save(figure: Figure, path: Path, dpi: int = _DPI) -> None:
    """Write a figure in the format that the file's ending names; a PNG file has few colours and is small."""
    import matplotlib
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    settings = dict(_SETTINGS)
    if matplotlib.rcParams["font.family"] == _SERIF:  # which readers' machines need not have
        settings["svg.fonttype"] = "path"
        logging.getLogger("fontTools").setLevel(logging.ERROR)  # it finds the font too old
    with matplotlib.rc_context(settings):
        figure.savefig(path, dpi=dpi)
    if path.suffix == ".png":
        with Image.open(path) as drawn:
            reduced = drawn.convert("RGB").quantize(_FEW, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        reduced.save(path, optimize=True)


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
        used, cycle = set(slots.values()), 0
        while (slot := _free(used, first, cycle)) is None:
            cycle += 1
        slots[name] = slot
    return {spec: slots[name] for spec, name in names.items()}


def _free(used: set[int], first: int, cycle: int) -> int | None:
    """The first slot of a cycle that nobody has, from a colour on."""
    count = len(COLOURS)
    slots = [cycle * count + (first + k) % count for k in range(count)]
    return next((slot for slot in slots if slot not in used), None)


def line_slots(lines: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """The slot of each line; lines of one learner have one colour and differ in marker and dashes."""
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


def marker_of(slot: int) -> str:
    """The marker of a slot, as matplotlib calls it; up to eight cycles of a colour have different ones."""
    return MARKERS[(slot + 3 * (slot // len(COLOURS))) % len(MARKERS)]


def dashes_of(slot: int) -> str | tuple[int, tuple[float, ...]]:
    """The line style of a slot, as matplotlib takes it; never that of published numbers."""
    return DASHES[slot // len(COLOURS) % len(DASHES)]


def coincidences(
    lines: Sequence[Mapping[float, float]], low: float, high: float, *, logarithmic: bool = False
) -> list[int]:
    """How many of the lines that are drawn after it hide each line, at more than half of its points.

    Draw a line the wider, and its markers the larger, the more lines come on top of it.

    Args:
        low, high: the ends of the vertical axis.
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
