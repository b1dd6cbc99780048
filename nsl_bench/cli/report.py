"""``nsl-bench report``: tables and curves of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench report results/",
        "nsl-bench report results/ --format csv > results.csv",
        "nsl-bench report results/ --metric hypothesis_accuracy --metric equivalent --no-curves",
    ],
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "csv", "latex"]),
    default="markdown",
    show_default=True,
    help="Tables for people, or numbers.",
)
@click.option("--metric", "metrics", multiple=True, help="Which columns; repeatable.")
@click.option("--curves/--no-curves", default=True, show_default=True, help="Draw RESULTS/curves/*.png.")
def command(
    results: Path, form: Literal["markdown", "csv", "latex"], metrics: tuple[str, ...], curves: bool
) -> None:
    """Print mean and standard error over repeats, and draw curves over the share of shift."""
    from nsl_bench.report.curves import draw
    from nsl_bench.report.tables import DEFAULT_METRICS, render
    from nsl_bench.run.store import Store

    store = Store(results, must_exist=True)
    runs = store.frame()
    shown = metrics or DEFAULT_METRICS
    if runs.empty or not (runs["status"] == "ok").any():
        click.echo(f"No finished runs in {results}.", err=True)
        return
    click.echo(render(runs, form, shown), nl=False)
    failed = runs.loc[runs["status"] != "ok", "status"].value_counts()
    if len(failed):
        kinds = ", ".join(f"{count} {status}" for status, count in failed.items())
        click.echo(f"{failed.sum()} runs are left out: {kinds}.", err=True)
    late = int(runs["timed_out"].sum())
    if late:
        click.echo(f"{late} runs reached the time limit: their best hypothesis so far counts.", err=True)
    if curves:
        for path in draw(runs, results / "curves", shown):
            click.echo(f"Curves: {path}", err=True)
