"""``nsl-bench run``: learners on a benchmark at several shares of shift."""

from __future__ import annotations

import os
from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]


def percentages(ctx: click.Context, parameter: click.Parameter, text: str | None) -> list[float]:
    """``0,50,90`` or ``0-100/10`` (from, to, step) as numbers."""
    found: list[float] = []
    for piece in text.split(",") if text else []:
        span, _, step = piece.partition("/")
        first, dash, last = span.partition("-")
        try:
            if dash and first:
                width = float(step or 1)
                count = int((float(last) - float(first)) / width + 1e-9)
                found += [float(first) + k * width for k in range(count + 1)]
            else:
                found.append(float(span))
        except (ValueError, ZeroDivisionError):
            raise UserError(
                f"--percents: found '{piece}', expected numbers such as 0,50,90 or 0-100/10."
            ) from None
    for percent in found:
        if not 0 <= percent <= 100:
            raise UserError(f"--percents: a share of examples lies between 0 and 100, found {percent:g}.")
    return found


@click.command(
    cls=Command,
    examples=[
        "nsl-bench run follow_suit --learner ffnsl --learner random_forest --shift noir "
        "--percents 0,50,90 --out results/",
        "nsl-bench run sudoku_9x9 --source mnist:data/ --learner ffnsl --shift rotate90 --percents 0-100/10 "
        "--out results/",
        "nsl-bench run sudoku_4x4 --track symbolic --learner ffnsl --repeats 2 --out results/",
    ],
)
@click.argument("benchmark")
@click.option(
    "--learner", "learners", multiple=True, required=True, help="Name, or module:Class; repeatable."
)
@click.option(
    "--shift", "shifts", multiple=True, default=["standard"], help="Short name or spec; repeatable."
)
@click.option(
    "--percents", default="0", callback=percentages, help="Shares of shifted examples: 0,50,90 or 0-100/10."
)
@click.option(
    "--size", "sizes", multiple=True, default=["small"], show_default=True, help="Train size; repeatable."
)
@click.option(
    "--repeats", default=5, show_default=True, type=click.IntRange(1), help="Independent train sets."
)
@click.option("--source", help="Image source, e.g. mnist:FOLDER or decks:FOLDER,standard=DECK.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option(
    "--track",
    type=click.Choice(["own", "symbolic"]),
    default="own",
    show_default=True,
    help="symbolic: learners see true concepts instead of a network's predictions.",
)
@click.option(
    "--splits",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of splits (test.csv, small/train_1.csv ...) to use in place of generated ones.",
)
@click.option("--seed", default=0, show_default=True, help="Of data and learners.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Results folder; resumed if it is there."
)
def command(
    benchmark: str,
    learners: tuple[str, ...],
    shifts: tuple[str, ...],
    percents: list[float],
    sizes: tuple[str, ...],
    repeats: int,
    source: str | None,
    network: str,
    track: str,
    splits: Path | None,
    seed: int,
    device: str,
    out: Path,
) -> int:
    """Run learners on BENCHMARK and keep a record a run.

    A record is written as soon as its run ends; the same command again does only what is missing.
    """
    from nsl_bench.run.evaluate import Bench
    from nsl_bench.run.job import plan
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import sweep

    jobs = plan(
        benchmark,
        learners,
        shifts=shifts,
        percents=percents,
        repeats=range(1, repeats + 1),
        sizes=sizes,
        source=source,
        network=network,
        symbolic=track == "symbolic",
        seed=seed,
        splits=splits,
    )
    store = Store(out)
    before = len(store.done())
    try:
        tally = sweep(
            jobs,
            store,
            Bench(device, workers=os.cpu_count() or 1),
            lambda record: click.echo(f"failed: {record.job}: {record.message}", err=True),
        )
    except KeyboardInterrupt:
        kept = len(store.done())
        click.echo(
            f"nsl-bench: Interrupted; {kept} runs are kept in {out} ({kept - before} new), "
            "the same command goes on from there.",
            err=True,
        )
        return 130
    click.echo(f"{tally.done} runs done, {tally.failed} failed, {tally.before} were there; results in {out}.")
    return 1 if tally.failed else 0
