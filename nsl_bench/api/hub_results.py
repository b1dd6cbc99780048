"""Scores of a learner as files that the Hugging Face Hub shows on its page and on the data set's leaderboard.

The format is that of the Hub's ``.eval_results/*.yaml``; the classes of `huggingface_hub` write it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nsl_bench.api.results import Results
from nsl_bench.core.errors import UserError, counted
from nsl_bench.data.card import task_id
from nsl_bench.report.tables import SETTING

if TYPE_CHECKING:
    import pandas as pd

_METRICS = {"framework_accuracy": "", "hypothesis_accuracy": "concepts of test images given"}
"""What is stated, and what is noted of it: accuracy on images, else on their true concepts."""


def evaluation_files(results: Results, learner: str | None, data: Mapping[str, str]) -> dict[str, bytes]:
    """The files for a learner's repository by their path in it: one for each way in which it was run.

    Args:
        learner: spec or display name; None: the only one that has runs.
        data: task to the data set's repository on the Hub, ``owner/name``.

    Raises:
        UserError: several learners or none, or a task that no run has.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    runs = results.where(benchmark=list(data), **({} if learner is None else {"learner": learner}))
    table = runs.summary(list(_METRICS))
    table = table[table["mean"].notna() & (table["test_task"] == "") & (table["annotation"] == "")]
    learners = sorted(set(table["learner"]))
    if len(learners) != 1:
        found = ", ".join(learners) or "none with an accuracy"
        raise UserError(f"--learner must name one learner with finished runs; there are: {found}.")
    by = [*SETTING, "track", "network"]
    files: dict[str, bytes] = {}
    for _, rows in table.groupby(by, dropna=False, sort=False):
        first = rows.iloc[0]
        entries: dict[str, Any] = {}
        for metric, note in _METRICS.items():
            for _, row in rows[rows["metric"] == metric].iterrows():
                entry = EvalResultEntry(
                    dataset_id=data[first["benchmark"]],
                    task_id=task_id(row["shift"], row["percent"]),
                    value=round(100 * float(row["mean"]), 2),
                    notes=_notes(row, note),
                )
                entries.setdefault(entry.task_id, entry)
        words = [first[name] for name in ("benchmark", "size", "track", "network")]
        stem = re.sub(r"[^\w.]+", "-", "-".join(str(word) for word in words if word)).strip("-")
        number = sum(path.startswith(f".eval_results/{stem}") for path in files)
        path = f".eval_results/{stem}{f'-{number + 1}' if number else ''}.yaml"
        listed = eval_result_entries_to_yaml(list(entries.values()))
        files[path] = yaml.safe_dump(listed, sort_keys=False, allow_unicode=True).encode()
    return files


def _notes(row: pd.Series[Any], note: str) -> str:
    splits = f"mean of {counted(row['n'], 'train split')}"
    parts = [row["learner"], row["track"], row["network"], note, splits]
    if row["failed"]:
        parts.append(f"{row['failed']} failed")
    return ", ".join(str(part) for part in parts if part)
