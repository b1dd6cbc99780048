"""Concepts that learners see themselves, and true concepts that they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.learners.base import About
from nsl_bench.report.tables import interventions
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.concepts import concept_collapse, intervened
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import keep
from nsl_bench.sandbox.limits import Limits

LEARNER = """
import numpy as np

class Sees:
    track = "label_only"

    def fit(self, train):
        self.slots = len(train.slots)
        return self

    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)

    def predict_concepts(self, test):
        seen = np.zeros((len(test), self.slots, 4))
        seen[:, :, 2] = 1.0
        return seen

class Wrong(Sees):
    def predict_concepts(self, test):
        return np.zeros((len(test), 3))
"""


def run(tmp_path: Path, name: str, limits: Limits | None) -> Outcome:
    (tmp_path / "mine.py").write_text(LEARNER)
    (job,) = plan("sudoku_4x4", [f"{tmp_path}/mine.py:{name}"], describe=lambda _: About("label_only", "1"))
    return Bench("cpu", limits=limits).run(job)


@pytest.mark.parametrize("limits", [None, Limits(time=60.0)])
def test_the_concepts_that_a_learner_sees_are_measured(tmp_path: Path, limits: Limits | None) -> None:
    numbers = run(tmp_path, "Sees", limits).record.metrics
    assert 0.15 < numbers["learner_concept_accuracy"] < 0.35
    assert numbers["learner_concept_calibration_error"] == pytest.approx(
        1 - numbers["learner_concept_accuracy"]
    )
    assert numbers["concept_collapse"] == 0.75


@pytest.mark.parametrize("limits", [None, Limits(time=60.0)])
def test_concepts_of_a_wrong_shape(tmp_path: Path, limits: Limits | None) -> None:
    record = run(tmp_path, "Wrong", limits).record
    assert record.status == "invalid_output"
    assert "predict_concepts must return an array of shape (1000, 16, 4); got (1000, 3)" in record.message


def test_collapse_is_the_share_of_concepts_that_are_never_seen() -> None:
    assert concept_collapse(np.array([0, 0, 1]), np.array([0, 1, 2])) == pytest.approx(1 / 3)
    assert concept_collapse(np.array([2, 1, 0]), np.array([0, 1, 2])) == 0.0


def test_true_concepts_help_the_more_of_them_are_given(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["ffnsl"], shifts=["rotate90"], percents=[50])
    outcome = Bench("cpu", interventions=[4, 16]).run(job)
    numbers = outcome.record.metrics
    assert numbers["framework_accuracy"] <= numbers["accuracy_given_4"] <= numbers["accuracy_given_16"]
    assert numbers["accuracy_given_16"] == numbers["hypothesis_accuracy"]
    store = Store(tmp_path / "results")
    keep(store, outcome)
    (row,) = interventions(store.frame()).to_dict("records")
    assert row["16 given"] == numbers["accuracy_given_16"] and row["0 given"] == numbers["framework_accuracy"]


def test_given_slots_are_nested_and_never_blank() -> None:
    (job,) = plan("sudoku_4x4", ["majority"], shifts=["rotate90"], percents=[100])
    test = Bench("cpu").material(job).test
    assert test.predictions is not None
    given: list[Any] = []
    for k in (0, 2, 5):
        seen = intervened(test.split, test.predictions, k, np.random.default_rng(0))
        truth = (seen.concepts == test.split.concepts) & (seen.confidence == 1.0)
        given.append(truth & (test.split.concepts != BLANK))
        assert np.array_equal(seen.blank, test.predictions.blank)
    assert (given[0] <= given[1]).all() and (given[1] <= given[2]).all()
    assert (given[2].sum(axis=1) >= np.minimum(5, (test.split.concepts != BLANK).sum(axis=1))).all()


def test_no_run_was_asked() -> None:
    import pandas as pd

    with pytest.raises(UserError, match="run --interventions"):
        interventions(pd.DataFrame({"framework_accuracy": [1.0]}))
