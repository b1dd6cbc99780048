"""What learners answered, example by example: confusion matrices, and all predictions as one file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nsl_bench.core.cache import replacing
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.report.completed import Runs, task_named
from nsl_bench.report.escaping import escaped
from nsl_bench.report.ordering import natural, sorted_rows
from nsl_bench.report.tables import FAILED, LINE, SETTING, heading, listed, varying, with_standard
from nsl_bench.report.typeset import Cell, Laid, laid
from nsl_bench.run.material import Materials
from nsl_bench.run.record import Record
from nsl_bench.run.store import NoPredictions

_NO_LABELS = ("undecided", "ambiguous")
_COLUMNS = (
    *("run", "status", "benchmark", "test_task", "learner", "network", "track", "size", "repeat"),
    *("shift", "percent", "evaluation", "example", "label", "predicted"),
    *("shifted", "concepts", "concepts_seen"),
)


def confusion(results: Runs, runs: pd.DataFrame) -> pd.DataFrame:
    """How often each label was predicted for each true one, all train splits together.

    Args:
        results: where the predictions are. Those of framework evaluation count, if there are any.
        runs: the runs, with the learners' names as they are shown.

    Returns:
        One row a setting, learner, shift, share, ``label`` and ``predicted`` label: the number of
        ``examples``, and how many ``failed`` runs they are of.

    Raises:
        UserError: no run has predictions.
    """
    by, counts, pieces = [*SETTING, "shift", "percent", *LINE], dict[str, pd.DataFrame](), []
    done = with_standard(runs) if len(runs) else runs
    for row in done.to_dict("records"):
        key = row["key"]
        if key not in counts:
            try:
                frame = results.predictions(key)
            except NoPredictions:
                continue
            last = frame[frame["evaluation"] == frame["evaluation"].min()]  # framework before hypothesis
            counts[key] = last.groupby(["label", "predicted"]).size().rename("examples").reset_index()
        about = {name: row[name] for name in by}
        pieces.append(counts[key].assign(**about, failed=int(row["status"] != "ok")))
    if not pieces:
        raise UserError(f"{results.folder} contains no runs with predictions.")
    every = pd.concat(pieces, ignore_index=True)
    table = every.groupby([*by, "label", "predicted"], sort=False)[["examples", "failed"]].sum().reset_index()
    return sorted_rows(table, [*by, "label", "predicted"])


def confusion_tables(table: pd.DataFrame) -> list[Laid]:
    """The rows of `confusion` as a table for each task: a row a true label, a column a predicted one."""
    made = []
    for task, group in table.groupby("benchmark", sort=False):
        title, about = heading(group, str(task), ["confusion matrix"])
        blocks = ["learner", *varying(group)]
        names = sorted(group["predicted"].unique(), key=lambda name: (name in _NO_LABELS, natural(name)))
        counts = group.pivot_table("examples", [*blocks, "label"], "predicted", fill_value=0)[names]
        total = counts.sum(axis=1)
        failed = group.groupby([*blocks, "label"])["failed"].any()
        wide = counts.div(total, axis=0).reset_index()
        shown = pd.DataFrame({"true label": wide["label"]})
        for name in names:
            texts = zip(wide[name].map("{:.3f}".format), failed, strict=True)
            cells: list[Any] = [Cell(text, marked=bool(mark)) for text, mark in texts]
            shown[name] = cells
        shown["examples"] = total.astype(int).to_list()
        about += " Shares of the examples of each true label, by the label predicted for them."
        notes = [FAILED + "."] if group["failed"].any() else []
        made.append(laid(title, shown, about, notes, listed(wide, blocks, str(task))))
    return made


def write_predictions(results: Runs, runs: pd.DataFrame, path: Path) -> int:
    """Write every stored prediction of runs as CSV.

    What a network sees and which examples are shifted is not stored; both are made again from the run's job.
    Where that is not possible, these columns are empty, and standard error says why.

    Args:
        results: where the predictions are.
        runs: the runs, with the learners' names as they are shown.

    Returns:
        The number of predictions.

    Raises:
        UserError: no run has predictions, or the file cannot be written.
    """
    records, count = results.latest(), 0
    tasks = filter(None, {task_named(record.job.tested) for record in records.values()})
    labels = dict.fromkeys(f"p_{name}" for task in tasks for name in task.labels.names)
    columns = [*_COLUMNS, *labels]
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        for frame in _frames(results, records, runs):
            table = escaped(frame.reindex(columns=columns), "csv")
            table.to_csv(file, index=False, header=not count)
            count += len(table)
        if not count:
            raise UserError(f"{results.folder} contains no runs with predictions.")
    return count


def _frames(results: Runs, records: dict[str, Record], runs: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The predictions of each run with what they are about."""
    materials, told = Materials("auto", 1), set[str]()
    for row in runs.to_dict("records"):
        try:
            frame = results.predictions(row["key"])
        except NoPredictions:
            continue
        about = {name: row[name] for name in _COLUMNS if name in row}
        frame = frame.assign(**about, run=row["key"])
        try:
            seen = _seen(materials, records[row["key"]])
        except UserError as error:
            if str(error) not in told:
                told.add(str(error))
                print(f"Concepts of some runs are not known: {error}", file=sys.stderr)
            yield frame
            continue
        frame = frame.merge(seen, on="example", how="left")
        true = frame["evaluation"] == "hypothesis"
        frame["concepts_seen"] = frame["concepts"].where(true, frame["concepts_seen"])
        yield frame


def _seen(materials: Materials, record: Record) -> pd.DataFrame:
    """Of each test example of a run: whether it is shifted, its concepts, and those that the network saw."""
    resolved, data = materials.test(record.job)
    if record.content_hash.get("test", data.content_hash) != data.content_hash:
        raise UserError(f"the test set of the run {record.key} was made of other data than there are now.")
    split, names, slots = data.split, np.array(resolved.concept_space.concepts), resolved.test.task.slots

    def words(concepts: Any) -> list[str]:
        filled = split.concepts != BLANK
        return [
            " ".join(f"{slots[k]}={names[row[k]]}" for k in np.flatnonzero(there))
            for row, there in zip(concepts, filled, strict=True)
        ]

    seen: Any = "" if data.predictions is None else words(data.predictions.concepts)
    about = {"example": split.ids(), "shifted": split.shifted, "concepts": words(split.concepts)}
    return pd.DataFrame({**about, "concepts_seen": seen})
