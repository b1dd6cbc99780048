"""Train and test sets are shifted by pairs of shifts and shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import About
from nsl_bench.learners.trees import Majority
from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import Job, ShiftPair
from nsl_bench.run.plan import plan, shift_pairs

STANDARD = ShiftPair()


def pairs(**lists: Any) -> list[ShiftPair]:
    return shift_pairs(Grid("follow_suit", ("majority",), **{n: tuple(v) for n, v in lists.items()}))


def test_shares_of_both_parts_go_together() -> None:
    found = pairs(shifts=["noir", "comic"], percents=[0, 50])
    assert found == [STANDARD, ShiftPair("noir", 50.0, "noir", 50.0), ShiftPair("comic", 50.0, "comic", 50.0)]
    assert pairs(shifts=["standard", "noir"], percents=[50]) == [ShiftPair("noir", 50.0, "noir", 50.0)]


def test_shares_of_one_part_meet_all_of_the_other() -> None:
    found = pairs(shifts=["noir"], train_percents=[0, 100], test_percents=[0, 50])
    assert [str(one) for one in found] == [
        *("standard", "standard -> noir 50 %", "noir 100 % -> standard", "noir 100 % -> noir 50 %")
    ]
    assert [(one.curve, one.percent) for one in found] == [
        *(("standard", 0.0), ("test: noir", 50.0), ("train: noir", 100.0), ("noir 100 % -> noir", 50.0))
    ]


def test_shifts_of_their_own() -> None:
    (found,) = pairs(percents=[50], train_shifts=["noir"], test_shifts=["comic"])
    assert found == ShiftPair("noir", 50.0, "comic", 50.0) and found.curve == "noir -> comic"
    (clean,) = pairs(percents=[50], test_shifts=["comic"])
    assert clean == ShiftPair(test_shift="comic", test_percent=50.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"percents": [50]}, "name one with --shift"),
        ({"shifts": ["noir"], "percents": [50], "test_percents": [10]}, "cannot be combined with"),
        ({"test_percents": [10]}, "--test-shift"),
        ({"train_shifts": ["noir"], "train_percents": [101]}, "101"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        pairs(**given)


def test_each_part_of_a_run_is_shifted_as_told() -> None:
    bench = Bench("cpu")
    jobs = plan("sudoku_4x4", ["majority"], shifts=["rotate90"], train_percents=[0], test_percents=[0, 100])
    standard, shifted = (bench.run(job).record for job in jobs)
    assert standard.content_hash["train"] == shifted.content_hash["train"]
    assert standard.content_hash["test"] != shifted.content_hash["test"]
    seen = [record.metrics["concept_accuracy_test"] for record in (standard, shifted)]
    assert seen[0] > 0.9 > 0.5 > seen[1]
    assert shifted.metrics["concept_accuracy_train"] == standard.metrics["concept_accuracy_train"]


class Curious:
    """Takes a validation set, and remembers it."""

    track = "pretrained"

    def fit(self, train: Any, validation: Any) -> Curious:
        self.seen = len(train), len(validation), validation.part, validation.labels
        self.frequent = int(np.bincount(train.labels).argmax())
        self.shared = {row.tobytes() for row in train.concept_ids} & {
            row.tobytes() for row in validation.concept_ids
        }
        return self

    def predict_proba(self, test: Any) -> Any:
        return np.tile(np.eye(test.n_labels)[self.frequent], (len(test), 1))


def test_a_learner_that_takes_a_validation_set_gets_one() -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About("symbolic", ""))
    learner = Curious()
    record = Bench("cpu").run(job, learner).record
    assert record.status == "ok" and set(record.content_hash) == {"train", "validation", "test"}
    assert learner.seen[:3] == (320, 320, "validation") and len(learner.seen[3]) == 320
    assert not learner.shared
    assert set(Bench("cpu").run(job, Majority()).record.content_hash) == {"train", "test"}


class Failing(Curious):
    def predict_proba(self, test: Any) -> Any:
        raise RuntimeError("no answer")


def test_a_failed_run_has_the_majority_class(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About("symbolic", ""))
    good, bad = (Bench("cpu").run(job, learner) for learner in (Curious(), Failing()))
    assert (good.record.status, bad.record.status) == ("ok", "crashed")
    for metric in ("hypothesis_accuracy", "brier_score"):
        assert bad.record.metrics[metric] == good.record.metrics[metric]
    assert bad.predictions is not None and bad.predictions["predicted"].nunique() == 1
    assert not bad.record.metrics.keys() & {"atoms", "learning_time"}


def test_a_run_of_version_1_is_no_run_of_today(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["majority"], track="symbolic")
    old = Job.from_dict({**vars(job), "protocol": 1})
    assert old.key() != job.key()
    with pytest.raises(UserError, match="follows protocol 1"):
        Bench("cpu").run(old)
