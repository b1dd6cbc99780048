"""``nsl-bench explain``: one example as a person wants to see it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nsl_bench.cli import Command
from nsl_bench.cli.grid import data_seed_option
from nsl_bench.cli.predict import quality
from nsl_bench.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.benchmark import Benchmark
    from nsl_bench.run.record import Record
    from nsl_bench.sealing import DataSeed
    from nsl_bench.types import Part, Predictions, Split

__all__ = ["command"]

_LIKELY = 0.01
_EVALUATIONS = {"framework": "from the images", "hypothesis": "from the true concepts"}


@dataclass(frozen=True)
class _Setting:
    """Where an example comes from, and whose rules answer for it.

    Attributes:
        benchmark: the task, or None where nobody said which.
        source: image source; None: the task's own.
        network: perception network.
        shift: name or spec.
        percent: share of shifted examples; None: all of them, if a shift is named.
        size: of the train set; None: the smallest.
        repeat: which train set.
        seed: of the data; a text is a secret one.
        splits: a folder of splits made elsewhere.
        rules: the hypothesis; None: the true rule, or a run that learned none.
        whose: whose rules these are.
        record: the run, if one was named.
        results: its results folder.
    """

    benchmark: str | None
    source: str | None
    network: str
    shift: str
    percent: float | None
    size: str | None
    repeat: int
    seed: int | str
    splits: Path | None = None
    rules: tuple[str, ...] | None = None
    whose: str = "the true rule"
    record: Record | None = None
    results: Path | None = None


@dataclass(frozen=True)
class _Example:
    """One example, with what is known of it.

    Attributes:
        name: e.g. ``"test-17"``.
        task: its benchmark.
        split: the example alone.
        seen: what the network sees in it.
        metadata: its meta-data by name.
    """

    name: str
    task: Benchmark
    split: Split
    seen: Predictions
    metadata: dict[str, Any]


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
@data_seed_option
@click.option("--engine", default="auto", show_default=True, help="auto, exact, sampling or problog.")
@click.option("--out", type=click.Path(path_type=Path), help="Draw the images into this file, too.")
def command(
    example: str,
    hypothesis: Path | None,
    results: Path | None,
    key: str | None,
    engine: str,
    out: Path | None,
    data_seed: DataSeed | None,
    **options: Any,
) -> None:
    """Show EXAMPLE (train-0, test-17 ...): images, concepts, the rules that fire, the labels' probability.

    With --run, the run's own answer is shown as it was stored, apart from what its rules say now.
    """
    from nsl_bench.asp.text import read_text
    from nsl_bench.guarded.call import prepare
    from nsl_bench.pictures import check_ending

    prepare()
    if re.fullmatch(r"(train|test)-\d+", example) is None:
        raise UserError(f"'{example}' is no example; they are called train-0, test-17 and so on.")
    if out is not None:
        check_ending(out)
    if (results is None) != (key is None):
        raise UserError("--results and --run go together: the folder, and the key of a run in it.")
    setting = _Setting(**options)
    if data_seed is not None:
        setting = replace(setting, seed=data_seed.secret)
    if hypothesis is not None:
        setting = replace(setting, rules=(read_text(hypothesis),), whose=str(hypothesis))
    if results is not None and key is not None:
        setting = _of_run(setting, results, key, data_seed)
    shown = _find(example, setting)
    _show_example(shown, setting)
    if setting.record is not None and setting.results is not None:
        _show_stored(shown, setting.record, setting.results)
    _show_rules(shown, setting, engine)
    if out is not None:
        _draw(shown, setting, out)


def _of_run(setting: _Setting, results: Path, key: str, data_seed: DataSeed | None) -> _Setting:
    """The setting of a run; rules that were given stay, else they are those that it learned."""
    from nsl_bench.sealing import seed_of

    record = _record(results, key)
    job = record.job
    learned = record.hypothesis
    setting = replace(
        setting,
        benchmark=job.task,
        source=job.source,
        network=job.network or setting.network,
        shift=job.shift,
        percent=job.percent,
        size=job.size,
        repeat=job.repeat,
        seed=seed_of(job.seed, job.sealed, data_seed),
        splits=None if job.splits is None else Path(job.splits),
        record=record,
        results=results,
    )
    if setting.rules is None and learned is not None and learned.language == "asp":
        return replace(setting, rules=learned.rules, whose=f"the rules that the run {record.key} learned")
    if setting.rules is None:
        return replace(setting, whose="")
    return setting


def _find(name: str, setting: _Setting) -> _Example:
    """The example of a name, as the network sees it."""
    import numpy as np

    from nsl_bench import registry
    from nsl_bench.data.splits import make_source, make_split
    from nsl_bench.perception.predict import predictions_of
    from nsl_bench.perception.trained_networks import trained
    from nsl_bench.shift import resolve

    if setting.benchmark is None:
        raise UserError("Name the task with --benchmark, or a run with --results and --run.")
    task = registry.create("benchmark", setting.benchmark)
    pool = make_source(task, setting.source)
    change = resolve(setting.shift, task, pool)
    share = setting.percent if setting.percent is not None else 100.0 if change else 0.0
    part: Part = "train" if name.startswith("train") else "test"
    size = setting.size or next(iter(task.sizes))
    complete = make_split(
        task, pool, part, size, setting.repeat, percent=share, seed=setting.seed, splits=setting.splits
    )
    number = int(name.partition("-")[2])
    if number >= len(complete):
        raise UserError(f"There is no example {name}: the {part} set has {len(complete)}, counted from 0.")
    split = complete.take(np.array([number]))
    seen = predictions_of(split, pool, change, trained(setting.network, task, pool))
    metadata = {column: values[0].item() for column, values in split.metadata.items()}
    return _Example(f"{part}-{number}", task, split, seen, metadata)


def _show_example(shown: _Example, setting: _Setting) -> None:
    """Print the example's label and what the network sees."""
    import numpy as np

    from nsl_bench.types import BLANK

    task, split = shown.task, shown.split
    names = task.concept_space.concepts
    state = f", shifted by {setting.shift}" if split.shifted[0] else ""
    click.echo(f"{task.name}, {shown.name}{state}; label: {task.labels.names[int(split.labels[0])]}")
    for name, value in shown.metadata.items():
        click.echo(f"  {name}: {value}")
    unused = setting.record is not None and setting.record.job.network is None
    click.echo(f"\nWhat the network sees{f' ({setting.network}; the run used none)' if unused else ''}:")
    for slot, concept in enumerate(split.concepts[0].tolist()):
        if concept == BLANK:
            continue
        vector = shown.seen.probabilities[0, slot]
        best = [k for k in np.argsort(-vector, kind="stable")[:3].tolist() if vector[k] >= _LIKELY]
        guesses = ", ".join(f"{names[k]} {vector[k]:.2f}" for k in best)
        wrong = "" if int(vector.argmax()) == concept else f"   (it is {names[concept]})"
        click.echo(f"  {task.slots[slot]}: {guesses or 'nothing'}{wrong}")


def _show_stored(shown: _Example, record: Record, results: Path) -> None:
    """Print what a run answered for the example, as it was stored."""
    click.echo(f"\nWhat the run {record.key} answered ({record.job.learner}, as stored):")
    rows = _stored(shown.name, record, results)
    if isinstance(rows, str):
        click.echo(f"  {rows}")
        return
    for _, row in rows.iterrows():
        how = _EVALUATIONS.get(row["evaluation"], row["evaluation"])
        click.echo(f"  {how}: {row['predicted']}")
        for k, name in enumerate(shown.task.labels.names):
            if f"p_{name}" in row:
                click.echo(f"    {name}: {row[f'p_{name}']:.4f}{_mark(shown, k)}")


def _stored(name: str, record: Record, results: Path) -> pd.DataFrame | str:
    """The stored predictions of an example; why there are none."""
    from nsl_bench.run.store import NoPredictions, Store

    if name.startswith("train"):
        return "nothing: a run answers for test examples only."
    if record.status != "ok":
        return f"nothing: it ended as {record.status}."
    try:
        found = Store(results, must_exist=True).predictions(record.key)
    except NoPredictions:
        return f"nothing that is kept: {results} holds no predictions of this run."
    except UserError as error:
        return f"nothing that can be read: {error}"
    rows = found[found["example"] == name]
    return rows if len(rows) else f"nothing: its predictions hold no example {name}."


def _mark(shown: _Example, label: int) -> str:
    return "  <- true label" if label == int(shown.split.labels[0]) else ""


def _show_rules(shown: _Example, setting: _Setting, engine: str) -> None:
    """Print what the rules say of the example, computed now."""
    from nsl_bench.guarded.rules import crisp, doubt, fired, inferred
    from nsl_bench.inference.query import Query

    task = shown.task
    if not setting.whose:
        click.echo("\nThe run learned no rules in ASP; --hypothesis names a file of rules to ask.")
        return
    rules = (task.true_rule,) if setting.rules is None else setting.rules
    query = Query.of(task, rules, strict=setting.record is None)
    if note := doubt(query):
        click.echo(f"Note: {note}", err=True)
    context = task.context(shown.seen.concepts[0], shown.metadata)
    answer = inferred(engine, query, shown.seen.probabilities, [task.metadata_facts(shown.metadata)])
    label = int(crisp(query.rules, task.background, [context], task.labels)[0])
    click.echo(f"\nWhat the rules say ({setting.whose}; computed now)")
    click.echo("Rules that fire on the most likely concepts:")
    for instance in fired(query.rules, task.background, context) or ["none"]:
        click.echo(f"  {instance}")
    words = {-1: "none", -2: "several", **dict(enumerate(task.labels.names))}
    click.echo(f"Derived label: {words[label]}")
    how = quality(answer.engines[0], float(answer.width[0]), float(answer.std_err.max(initial=0.0)))
    click.echo(f"Probabilities over all that the images may show ({how}):")
    for k, name in enumerate(task.labels.names):
        click.echo(f"  {name}: {answer.probabilities[0, k]:.4f}{_mark(shown, k)}")
    click.echo(f"  no label: {answer.undecided[0]:.4f}\n  several labels: {answer.ambiguous[0]:.4f}")


def _draw(shown: _Example, setting: _Setting, out: Path) -> None:
    """Draw the example's images into a file."""
    from nsl_bench.data.show import sheet
    from nsl_bench.data.splits import make_source
    from nsl_bench.pictures import save
    from nsl_bench.shift import resolve

    pool = make_source(shown.task, setting.source)
    save(sheet(shown.task, pool, resolve(setting.shift, shown.task, pool), shown.split), out)
    click.echo(f"\nImages: {out}")


def _record(results: Path, key: str) -> Record:
    from nsl_bench.run.store import Store

    found = [r for k, r in Store(results, must_exist=True).latest().items() if k.startswith(key)]
    if len(found) != 1:
        what = "is no run" if not found else f"are {len(found)} runs"
        raise UserError(f"There {what} in {results} whose key begins with '{key}'.")
    return found[0]
