"""Runs as data: one script file an entry and contest, which the run page loads, also from ``file://``.

A file calls ``nslBench.runs([...])`` with the records and, for each run and evaluation, the predicted labels
(one character an example), and in base64, one byte each, the probability of every example's true label and
those of all labels of the sample that has images. `examples` names a few right and wrong ones of this
sample, each with the rules that fire on what the network sees in it.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import Array, Ints, Split
from nsl_bench.data.splits import symbolic_split
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Allowance
from nsl_bench.run.agreement import branches_that_apply, tree_columns
from nsl_bench.run.sampled import task_named

from ..contests import Cell, Contest
from ..entries import Entry
from ..likeness import Answers, answers_of
from ..predictions import LETTERS, read_accepted, text_of
from ..submission import PREDICTIONS
from .examples import Sample

_SHOWN = 400
"""Characters of a test example's description."""

_FEW = 3
"""Right examples, and wrong ones, of a run that are shown with images."""

_LONGEST = {"asp": 3000, "tree": 50_000}
_MOST, _SHOWN_RULES, _TEXT, _SECONDS = 8, 6, 300, 20.0
"""Of rules that fire: characters of a hypothesis by its language, ASP hypotheses of an entry and contest
(those of most runs), rules an example, characters of each, seconds for a hypothesis."""

Samples = Mapping[tuple[str, int], Sample | None]
"""By contest and number of the test set."""

_MEMORY_BYTES = 4 * 1024**3

_View = tuple[str, str]
"""Network and shift."""

_Asked = tuple[int, str, tuple[str, ...]]
"""Number of the test set, language, and rules."""

_FIRED: dict[tuple[Any, ...], list[list[int]]] = {}
"""What is known, since train splits and entries often have the same rules."""


def script(function: str, value: Any) -> str:
    """A script file that hands a value over; no ``</script>`` or comment can be in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"nslBench.{function}({text.replace('<', chr(92) + 'u003c')});\n"


def write_script(path: Path, function: str, value: Any) -> None:
    """Write a script file that hands a value over (`script`)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(function, value), encoding="utf-8")


def test_of(contest: Contest, number: int, sample: Sample | None = None) -> Split:
    """A test set, by its number from 1; it is not made again where its sample is known."""
    if sample is not None:
        return sample.split
    task = task_named(contest.tested)
    return symbolic_split(task, "test", next(iter(task.sizes)), number, seed=contest.seed)


def test_numbers(contest: Contest) -> list[int]:
    """The numbers of a contest's test sets; none of a sealed round, each share of which has its own."""
    repeats = () if contest.sealed_round else range(1, contest.repeats + 1)
    return sorted(set(map(task_named(contest.tested).test_number, repeats)))


def write_test(contest: Contest, path: Path, samples: Samples) -> None:
    """The test sets of a contest by number: labels, what each example shows, and the sample with images."""
    numbers = test_numbers(contest)
    names = task_named(contest.tested).labels.names
    sets = {}
    for number in numbers:
        sample = samples.get((contest.name, number))
        sets[str(number)] = _examples_of(test_of(contest, number, sample))
        if sample is not None:
            sets[str(number)]["sample"] = sample.value(contest)
    of_labels = [f"{name}_{label}" for name, one in METRICS.items() if one.per_label for label in names]
    told = {name: [METRICS[name].title, METRICS[name].digits] for name in (*METRICS, *of_labels)}
    value = {"contest": contest.name, "names": names, "sets": sets, "metrics": told}
    write_script(path, "test", value)


def _examples_of(split: Split) -> dict[str, Any]:
    names = split.concept_space.concepts
    texts = [" ".join("·" if c < 0 else names[c] for c in row) for row in split.concepts.tolist()]
    for name, column in split.metadata.items():
        texts = [f"{text}, {name} {value}" for text, value in zip(texts, column.tolist(), strict=True)]
    return {"labels": text_of(split.labels), "shown": [text[:_SHOWN] for text in texts]}


def write_runs(
    entry: Entry, records: Sequence[tuple[Contest, Sequence[dict[str, Any]]]], out: Path, samples: Samples
) -> Answers:
    """The runs of an entry, a file a contest; returns the labels that were predicted in each.

    Args:
        records: contests with their runs, as in the board's record.
        out: folder of the files, ``CONTEST.js``.
        samples: by contest and number of the test set.
    """
    places: dict[str, Ints] = {}
    for contest, runs in records:
        of = {n: _places(contest, n, samples.get((contest.name, n))) for n in test_numbers(contest)}
        number, none = task_named(contest.tested).test_number, np.empty(0, np.int64)
        places |= {run["run"]: of.get(number(run["repeat"]), none) for run in runs if run["looks"]}
    path = entry.folder / PREDICTIONS
    read = read_accepted(path, places) if places and path.is_file() else {}
    for contest, runs in records:
        value = []
        for record in runs:
            plain = {key: what for key, what in record.items() if key != "looks"}
            plain["test_set"] = task_named(contest.tested).test_number(record["repeat"])
            shown = {} if contest.sealed_round else read.get(record["run"], {})
            value.append({**plain, "predictions": shown})
        _add_examples(entry, contest, value, samples)
        write_script(out / f"{contest.name}.js", "runs", value)
    return answers_of(read)


def _places(contest: Contest, number: int, sample: Sample | None) -> Ints:
    """int64 [n]: where probabilities, example by example, have the true labels', and all of the sample."""
    labels, n = test_of(contest, number, sample).labels, len(task_named(contest.tested).labels)
    rows = np.empty(0, np.int64) if sample is None else sample.rows
    of_sample = rows[:, None] * n + np.arange(n)
    return np.concatenate([np.arange(len(labels)) * n + labels, of_sample.reshape(-1)])


def _add_examples(entry: Entry, contest: Contest, runs: Sequence[dict[str, Any]], samples: Samples) -> None:
    """Add to each run a few right and wrong examples of the sample, and the rules that fire on each."""
    asked: dict[_Asked, list[Any]] = {}
    for run in runs:
        sample = samples.get((contest.name, run["test_set"]))
        if sample is None or not run["predictions"]:
            continue
        said = (run["predictions"].get("framework") or next(iter(run["predictions"].values())))["labels"]
        right = [said[row] == LETTERS[sample.split.labels[row]] for row in sample.rows.tolist()]
        few = [k for k, one in enumerate(right) if one][:_FEW]
        few += [k for k, one in enumerate(right) if not one][-_FEW:]
        pair = contest.shift_pair(Cell(run["shift"], run["percent"], run["repeat"]))
        shifted = sample.shifted(pair.test_percent)
        run["examples"] = [[k, None] for k in few]
        rules = tuple(run["rules"])
        for example in run["examples"]:
            view = (entry.network, pair.test_shift if shifted[example[0]] else STANDARD)
            view = ("", STANDARD) if entry.track == "symbolic" else view
            known = view in sample.seen and (entry.network or entry.track == "symbolic")
            if known and 0 < sum(map(len, rules)) <= _LONGEST[run["language"]]:
                asked.setdefault((run["test_set"], run["language"], rules), []).append((view, example))
    often = sorted(asked, key=lambda key: -len(asked[key]))
    for key in [one for one in often if one[1] == "tree"] + [one for one in often if one[1] == "asp"][:_MOST]:
        sample = samples[contest.name, key[0]]
        if (
            sample is not None and not sample.split.is_sequential
        ):  # facts of a step are those of all before it
            _fire(contest, sample, key, asked[key])


def _fire(contest: Contest, sample: Sample, key: _Asked, examples: Sequence[tuple[_View, list[Any]]]) -> None:
    """Write the rules that fire into examples, each a place in the sample and a list."""
    number, language, rules = key
    for view in dict.fromkeys(view for view, _ in examples):
        known = (contest.name, number, view, rules)
        if known not in _FIRED:
            with suppress(UserError, RuntimeError, ValueError, OverflowError):  # clingo raises the latter
                _FIRED[known] = _firing(contest, sample, view, language, rules)
        for _, example in (one for one in examples if one[0] == view and known in _FIRED):
            example[1] = [rules[k][:_TEXT] for k in _FIRED[known][example[0]][:_SHOWN_RULES]]


def _firing(
    contest: Contest, sample: Sample, view: _View, language: str, rules: tuple[str, ...]
) -> list[list[int]]:
    """Which rules fire on each example of the sample."""
    if language == "tree":
        columns = _columns(contest.tested, sample, view)
        task = task_named(contest.tested)
        return [[k] if k >= 0 else [] for k in branches_that_apply(task, rules, columns).tolist()]
    background, facts = sample.facts(contest, view)
    found: list[list[int]] = guarded(
        "nsl_bench.logic.inference.explanation:rules_that_fire",
        *(rules, background, facts),
        doing="Finding the rules that fire",
        allowance=Allowance(_SECONDS, _MEMORY_BYTES),
    )
    return found


@cache
def _columns(benchmark: str, sample: Sample, view: _View) -> Mapping[str, Array]:
    return tree_columns(task_named(benchmark), sample.metadata, sample.seen[view][0])
