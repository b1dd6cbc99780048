"""``nsl-bench explain``: one example as a person wants to see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nsl_bench.cli import Command
from nsl_bench.cli.predict import quality
from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.run.record import Record
    from nsl_bench.types import Part

__all__ = ["command"]

_LIKELY = 0.01


@click.command(
    cls=Command,
    examples=[
        "nsl-bench explain test-17 --benchmark follow_suit --hypothesis learned.lp --shift noir --percent 50",
        "nsl-bench explain test-3 --results results/ --run 3f2a    # a run's key, or how it begins",
    ],
)
@click.argument("example")
@click.option("--benchmark", help="The task.")
@click.option("--hypothesis", type=click.Path(path_type=Path), help="Rules; the true rule by default.")
@click.option("--results", type=click.Path(path_type=Path), help="Results folder of the run.")
@click.option("--run", "key", help="Key of a run in it, or how it begins: all else comes from there.")
@click.option("--source", help="Image source; the embedded one by default.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option("--shift", default="standard", show_default=True, help="Short name or spec.")
@click.option("--percent", type=float, help="Share of shifted examples; 100 if a shift is named.")
@click.option("--size", help="Of the train set that a train example is from.")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Likewise.")
@click.option("--seed", default=0, show_default=True, help="Of the data.")
@click.option("--engine", default="auto", show_default=True, help="auto, exact, sampling or problog.")
@click.option("--out", type=click.Path(path_type=Path), help="Draw the images into this file, too.")
def command(
    example: str,
    benchmark: str | None,
    hypothesis: Path | None,
    results: Path | None,
    key: str | None,
    source: str | None,
    network: str,
    shift: str,
    percent: float | None,
    size: str | None,
    repeat: int,
    seed: int,
    engine: str,
    out: Path | None,
) -> None:
    """Show EXAMPLE (train-0, test-17 ...): images, concepts, the rules that fire, the labels' probability."""
    from nsl_bench.isolation.guard import prepare

    prepare()
    import numpy as np

    from nsl_bench import registry
    from nsl_bench.asp.text import read_text
    from nsl_bench.data.splits import make_source, make_split
    from nsl_bench.inference.query import Query
    from nsl_bench.isolation.rules import crisp, doubt, fired, inferred
    from nsl_bench.perception.library import trained
    from nsl_bench.perception.predict import predictions_of
    from nsl_bench.pictures import check_ending, save
    from nsl_bench.shift import resolve
    from nsl_bench.types import BLANK

    found = re.fullmatch(r"(train|test)-(\d+)", example)
    if found is None:
        raise UserError(f"'{example}' is no example; they are called train-0, test-17 and so on.")
    if out is not None:
        check_ending(out)
    rules: tuple[str, ...] | None = None if hypothesis is None else (read_text(hypothesis),)
    splits: Path | None = None
    if (results is None) != (key is None):
        raise UserError("--results and --run go together: the folder, and the key of a run in it.")
    if results is not None and key is not None:
        record = _record(results, key)
        job = record.job
        benchmark, source, network = job.benchmark, job.source, job.network or network
        shift, percent, size, repeat, seed = job.shift, job.percent, job.size, job.repeat, job.seed
        splits = None if job.splits is None else Path(job.splits)
        if rules is None and record.hypothesis is not None and record.hypothesis.language == "asp":
            rules = record.hypothesis.rules
        if rules is None:
            raise UserError(f"The run {record.key} of {job.learner} has learned no rules; give --hypothesis.")
    if benchmark is None:
        raise UserError("Name the task with --benchmark, or a run with --results and --run.")
    task = registry.create("benchmark", benchmark)
    pool = make_source(task, source)
    change = resolve(shift, task, pool)
    share = percent if percent is not None else 100.0 if change else 0.0
    part: Part = "train" if found[1] == "train" else "test"
    whole = make_split(
        task, pool, part, size or next(iter(task.sizes)), repeat, percent=share, seed=seed, splits=splits
    )
    if int(found[2]) >= len(whole):
        raise UserError(f"There is no example {example}: the {part} set has {len(whole)}, counted from 0.")
    split = whole.take(np.array([int(found[2])]))
    seen = predictions_of(split, pool, change, trained(network, task, pool))
    query = Query.of(task, rules or (task.true_rule,))
    if note := doubt(query):
        click.echo(f"Note: {note}", err=True)
    metadata = {name: column[0].item() for name, column in split.metadata.items()}
    context = task.context(seen.concepts[0], metadata)
    answer = inferred(engine, query, seen.probabilities, [task.metadata_facts(metadata)])
    label = int(crisp(query.rules, task.background, [context], task.labels)[0])

    names = task.concept_space.concepts
    state = f", shifted by {shift}" if split.shifted[0] else ""
    click.echo(f"{task.name}, {example}{state}; label: {task.labels.names[int(split.labels[0])]}")
    for name, value in metadata.items():
        click.echo(f"  {name}: {value}")
    click.echo("\nWhat the network sees:")
    for slot, concept in enumerate(split.concepts[0].tolist()):
        if concept == BLANK:
            continue
        vector = seen.probabilities[0, slot]
        best = [k for k in np.argsort(-vector, kind="stable")[:3].tolist() if vector[k] >= _LIKELY]
        guesses = ", ".join(f"{names[k]} {vector[k]:.2f}" for k in best)
        wrong = "" if int(vector.argmax()) == concept else f"   (it is {names[concept]})"
        click.echo(f"  {task.slots[slot]}: {guesses or 'nothing'}{wrong}")
    click.echo("\nRules that fire on the most likely concepts:")
    for instance in fired(query.rules, task.background, context) or ["none"]:
        click.echo(f"  {instance}")
    words = {-1: "none", -2: "several", **dict(enumerate(task.labels.names))}
    click.echo(f"\nDerived label: {words[label]}")
    how = quality(answer.engines[0], float(answer.width[0]), float(answer.std_err.max(initial=0.0)))
    click.echo(f"Probabilities over all that the images may show ({how}):")
    for k, name in enumerate(task.labels.names):
        mark = "  <- true label" if k == int(split.labels[0]) else ""
        click.echo(f"  {name}: {answer.probabilities[0, k]:.4f}{mark}")
    click.echo(f"  no label: {answer.undecided[0]:.4f}\n  several labels: {answer.ambiguous[0]:.4f}")
    if out is not None:
        from nsl_bench.data.show import sheet

        save(sheet(task, pool, change, split), out)
        click.echo(f"\nImages: {out}")


def _record(results: Path, key: str) -> Record:
    from nsl_bench.run.store import Store

    found = [r for k, r in Store(results, must_exist=True).latest().items() if k.startswith(key)]
    if len(found) != 1:
        what = "is no run" if not found else f"are {len(found)} runs"
        raise UserError(f"There {what} in {results} whose key begins with '{key}'.")
    return found[0]
