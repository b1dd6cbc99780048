"""``nsl-bench export`` and ``nsl-bench score``: predictions made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import click

from nsl_bench.cli.declared import OLD_FOLDER, declared
from nsl_bench.cli.grid import data_seed_option, grid_options, grids_of
from nsl_bench.core.tracks import Track

if TYPE_CHECKING:
    from nsl_bench.learners.folder_formats import Format
    from nsl_bench.sandbox.sealing import DataSeed


@declared(
    examples=[
        "nsl-bench export follow_suit --name mine --shift noir --percents 0,50,90 --out folders/",
        "nsl-bench export sudoku_4x4 --name mine --supervision label_only --repeats 1 --out folders/",
    ]
)
@grid_options
@data_seed_option
def export(
    *,
    data_seed: DataSeed | None,
    name: Annotated[str, "Name of the learner in the results."] = "mine",
    supervision: Annotated[
        Track, "Track of the learner. It decides what the folders contain.", click.Choice(get_args(Track))
    ] = "pretrained",
    images: Annotated[bool, "--images/--no-images", "Include images, if the track uses them."] = True,
    form: Annotated[
        Format, "--format", "Format of the examples.", click.Choice(["parquet", "csv", "json"])
    ] = "parquet",
    device: Annotated[str, "Device for networks: auto, cpu or cuda."] = "auto",
    out: Annotated[Path, "Folder to create; each run becomes a subfolder."],
    **options: Any,
) -> None:
    """Write one folder of train and test examples of BENCHMARK for each run.

    Put your predictions beside them as predictions.parquet, .csv or .json, and rules as hypothesis.lp.
    Then run `nsl-bench score`.
    """
    from nsl_bench.learners.base import About
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.exchange import export as write
    from nsl_bench.run.plan import jobs_of

    options["learners"] = (name,)
    sealed = "" if data_seed is None else data_seed.commitment
    jobs = jobs_of(grids_of(options), lambda _: About(supervision, ""), sealed)
    count = sum(1 for _ in write(jobs, out, Bench(device, data_seed=data_seed), images=images, form=form))
    click.echo(f"{count} folders written to {out}; {len(jobs) - count} already existed.")


@declared(
    examples=[
        "nsl-bench score folders/ --out results/",
        "nsl-bench score folders/ --name mine_2 --out results/",
    ]
)
@data_seed_option
def score(
    folder: Annotated[Path, OLD_FOLDER],
    *,
    data_seed: DataSeed | None,
    name: Annotated[str | None, "Name of the learner in the results. Default: the exported name."] = None,
    device: Annotated[str, "Device for networks: auto, cpu or cuda."] = "auto",
    out: Annotated[Path, "Results folder to write to."],
) -> int:
    """Score the predictions and the hypothesis.lp in exported folders.

    Scoring a folder again replaces its earlier record.
    """
    from nsl_bench.cli.running import say
    from nsl_bench.learners.folder_formats import ANSWERS
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.exchange import jobs_in
    from nsl_bench.run.exchange import score as scored
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import keep
    from nsl_bench.sandbox.limits import Limits

    jobs, store, limits = jobs_in(folder, name), Store(out), Limits()
    bench = Bench(device, data_seed=data_seed)
    done = failed = empty = 0
    for place, job in jobs.items():
        if not any((place / file).exists() for file in (*ANSWERS, "hypothesis.lp")):
            empty += 1
            continue
        outcome = scored(place, job, bench, limits)
        keep(store, outcome)
        if outcome.record.status == "ok":
            done += 1
        else:
            failed += 1
            say(outcome.record)
    click.echo(f"{done} folders scored, {failed} failed, {empty} without answers; results in {out}.")
    return 1 if failed or not done else 0
