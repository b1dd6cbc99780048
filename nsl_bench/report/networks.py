"""Networks beside each other: a table of their figures, and the histogram of confidence as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.perception.trained_networks import BINS, Figures
from nsl_bench.report.escaping import escaped, in_picture
from nsl_bench.report.style import COLOURS, HATCHES, panel_legend, save, subplots

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = 3
"""The most panels in a row of a picture."""


def frame(by_network: Mapping[tuple[str, str], Figures]) -> pd.DataFrame:
    """A row a network and shift, from figures by (network, shift)."""
    import pandas as pd

    rows = []
    for (network, shift), figures in by_network.items():
        row: dict[str, object] = {"network": network, "images": shift, "n": figures.images}
        row |= {
            "accuracy": figures.accuracy,
            "calibration error": figures.calibration_error,
            "mean confidence": figures.confidence,
        }
        rows.append(row | dict(zip(BINS, figures.histogram, strict=True)))
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    """The table for people: four digits for accuracies, shares in per cent."""
    cells = table.copy()
    for name in ("accuracy", "calibration error", "mean confidence"):
        cells[name] = [f"{value:.4f}" for value in table[name]]
    for name in BINS:
        cells[name] = [f"{value:.1%}" for value in table[name]]
    return str(escaped(cells, "markdown").to_markdown(index=False, tablefmt="github", disable_numparse=True))


def draw_histograms(by_network: Mapping[tuple[str, str], Figures], path: Path) -> None:
    """A PNG with the histogram of confidence of each network, a panel a shift.

    Networks differ in colour and in hatching; a panel's legend gives their accuracies.
    """
    networks = list(dict.fromkeys(network for network, _ in by_network))
    shifts = list(dict.fromkeys(shift for _, shift in by_network))
    width = 0.8 / len(networks)
    rows, columns = -(-len(shifts) // _COLUMNS), min(len(shifts), _COLUMNS)
    size = min(9.6, 1 + 3.6 * columns), rows * (3.4 + 0.16 * len(networks))
    figure, axes = subplots(rows, columns, figsize=size, sharey=True)
    for axis in axes.flat[len(shifts) :]:
        axis.remove()
    for axis, shift in zip(axes.flat, shifts, strict=False):
        for i, network in enumerate(networks):
            figures = by_network[network, shift]
            axis.bar(
                [k + (i - (len(networks) - 1) / 2) * width for k in range(len(BINS))],
                figures.histogram,
                width,
                color=COLOURS[i % len(COLOURS)],
                hatch=HATCHES[i % len(HATCHES)],
                edgecolor="white",
                label=f"{in_picture(network)} (accuracy {figures.accuracy:.3f})",
            )
        axis.set_xticks(range(len(BINS)), BINS, rotation=45, ha="right")
        axis.set_xlabel("confidence")
        axis.set_ylim(0, 1)
        axis.grid(axis="y", alpha=0.3)
        panel_legend(axis, shift)
    for row in axes:
        row[0].set_ylabel("share of predictions")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)
