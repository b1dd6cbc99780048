"""How the figures of reports look: colours, markers, resolution. They are drawn without a window."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.report.escaping import in_picture
from nsl_bench.report.line_styles import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "++", "--")

_DPI = 120
_HANDLE = 11
"""Letters in whose place a handle of a legend is, with what is around it."""

_DEEPEST = 5
"""More lines on top of each other than this are not told apart by width."""

_SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none"}
"""Text in PDF and SVG files stays text."""


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
    """Width of a line and size of its markers, so that it shows beside the lines on top of it.

    Args:
        hidden_by: how many lines hide a part of it (`line_styles.coincidences`).
    """
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
    made = figure.legend(
        list(entries.values()), texts, loc="outside lower center", ncols=columns, fontsize=size, markerscale=1
    )
    for line in made.get_lines():
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


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's ending names."""
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(path, dpi=_DPI)
