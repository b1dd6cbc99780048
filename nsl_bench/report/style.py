"""How the figures of reports look: colours, markers, resolution. They are drawn without a window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "HATCHES", "MARKERS", "save", "subplots"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Okabe and Ito's colours, which people with colour blindness tell apart; olive in place of their yellow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "++", "--")

_DPI = 120
_SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none"}
"""Text in PDF and SVG files stays text."""


def subplots(rows: int, columns: int, *, figsize: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Make a figure that leaves the state of ``pyplot`` alone, and its axes.

    Args:
        rows: of panels.
        columns: of panels.
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


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's ending names."""
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(path, dpi=_DPI)
