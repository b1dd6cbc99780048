"""``nsl-bench report``: tables and curves of a results folder."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError, did_you_mean

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench report results/",
        "nsl-bench report results/ --format csv > results.csv",
        "nsl-bench report results/ --metric hypothesis_accuracy --metric equivalent --no-curves",
        "nsl-bench report results/ --holds rank_higher --holds suit --perceived",
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
@click.option("--holds", "predicates", multiple=True, help="Repeats with a rule about this; repeatable.")
@click.option(
    "--intervals",
    is_flag=True,
    help="95 % intervals of accuracies over train splits, seeds, and test examples or images.",
)
@click.option("--interventions", is_flag=True, help="Accuracy given true concepts (run --interventions).")
@click.option("--perceived", is_flag=True, help="What the network takes the train images for.")
@click.option("--curves/--no-curves", default=True, show_default=True, help="Draw RESULTS/curves/*.png.")
def command(
    results: Path,
    form: Literal["markdown", "csv", "latex"],
    metrics: tuple[str, ...],
    predicates: tuple[str, ...],
    intervals: bool,
    interventions: bool,
    perceived: bool,
    curves: bool,
) -> None:
    """Print mean and standard error over repeats, and draw curves over the share of shift.

    The curves are those of the metrics, of the causes of errors, and reliability diagrams.
    """
    from nsl_bench.report import analysis
    from nsl_bench.report.curves import draw
    from nsl_bench.report.grids import draw_grids
    from nsl_bench.report.reliability import draw_reliability
    from nsl_bench.report.tables import DEFAULT_METRICS, as_text, render, superseded
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
        click.echo(f"{failed.sum()} runs failed and count as the majority class: {kinds}.", err=True)
    if others := superseded(runs):
        click.echo(f"{others} runs of other versions of their learner or network are left out.", err=True)
    late = int(runs["timed_out"].sum())
    if late:
        click.echo(f"{late} runs reached the time limit: their best hypothesis so far counts.", err=True)
    if intervals:
        from nsl_bench.report.intervals import intervals as of_accuracies

        title = "95 % intervals of accuracy, and what its standard error is made of"
        click.echo(f"\n## {title}\n\n{as_text(of_accuracies(store), form)}", nl=False)
    if interventions:
        from nsl_bench.report.tables import interventions as with_true_concepts

        told = as_text(with_true_concepts(runs), form)
        click.echo(f"\n## Accuracy given true concepts\n\n{told}", nl=False)
    folder = results / "curves"
    drawn: list[Path] = []
    if predicates:
        shares = analysis.rule_shares(store, predicates)
        known = analysis.subjects(store)
        for name in (name for name in predicates if name not in known):
            click.echo(f"Note: no hypothesis has a rule about {name}.{did_you_mean(name, known)}", err=True)
        click.echo(f"\n## Share of repeats with a rule about\n\n{as_text(shares, form)}", nl=False)
        drawn += analysis.draw_shares(shares, predicates, folder, "rules") if curves else []
    if perceived:
        seen = analysis.perceived_shares(store)
        click.echo(f"\n## What the train images are taken for\n\n{as_text(seen, form)}", nl=False)
        drawn += analysis.draw_perceived(analysis.frequent_shares(seen), folder) if curves else []
    if curves:
        drawn += [*draw(runs, folder, shown), *draw_grids(runs, folder, shown)]
        drawn += draw_reliability(store, folder)
        with contextlib.suppress(UserError):  # runs of older versions say nothing of their errors' causes
            drawn += analysis.draw_errors(analysis.error_shares(store), folder)
    for path in drawn:
        click.echo(f"Curves: {path}", err=True)
