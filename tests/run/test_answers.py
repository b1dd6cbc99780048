"""What learners answer besides probabilities: labels alone, concepts that they see; in folders, too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK
from nsl_bench.learners.base import About
from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.report.tables import interventions
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.concepts import concept_collapse, intervened
from nsl_bench.run.exchange import export, score
from nsl_bench.run.plan import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import keep
from nsl_bench.sandbox.limits import Limits

LEARNER = """
import numpy as np

class Labels:
    track = "pretrained"
    answer = 1

    def fit(self, train):
        return self

    def predict(self, test):
        return np.full(len(test), self.answer)

    def rules(self):
        return ["invalid."]

class Wrong(Labels):
    answer = 7

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

class SeesWrongly(Sees):
    def predict_concepts(self, test):
        return np.zeros((len(test), 3))
"""
everywhere = pytest.mark.parametrize("limits", [None, Limits(time=60.0)])


def run(tmp_path: Path, name: str, limits: Limits | None) -> Outcome:
    (tmp_path / "mine.py").write_text(LEARNER)
    about = About("label_only" if name.startswith("Sees") else "pretrained", "1")
    (job,) = plan("sudoku_4x4", [f"{tmp_path}/mine.py:{name}"], describe=lambda _: about)
    return Bench("cpu", limits=limits).run(job)


@everywhere
def test_labels_alone_have_no_brier_score(tmp_path: Path, limits: Limits | None) -> None:
    outcome = run(tmp_path, "Labels", limits)
    numbers = outcome.record.metrics
    assert outcome.record.status == "ok" and numbers["framework_accuracy"] == 0.5
    assert numbers["agreement"] == 1.0 and numbers["atoms"] == 1.0
    assert not numbers.keys() & {"brier_score", "log_loss", "calibration_error", "aurc", "shift_auroc"}
    assert outcome.predictions is not None
    assert not [c for c in outcome.predictions.columns if c.startswith("p_")]
    store = Store(tmp_path / "results")
    keep(store, outcome)
    again = store.predictions(outcome.record.key)
    assert set(again["predicted"]) == {"invalid"} and set(again["label"]) == {"valid", "invalid"}
    store.compact()
    assert len(store.predictions(outcome.record.key)) == len(again)


@everywhere
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Wrong", "Wrong.predict must return labels between"),
        ("SeesWrongly", "predict_concepts must return an array of shape (1000, 16, 4); got (1000, 3)"),
    ],
)
def test_answers_that_cannot_be(tmp_path: Path, name: str, words: str, limits: Limits | None) -> None:
    record = run(tmp_path, name, limits).record
    assert record.status == "invalid_output" and words in record.message


def test_a_folder_of_labels_has_none_either(tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About("symbolic", ""))
    bench = Bench("cpu")
    (folder,) = export([job], tmp_path / "out", bench, images=False)
    assert (folder / "validation.parquet").is_file()
    n = len(pd.read_parquet(folder / "test.parquet"))
    answers: Any = {"example": [f"test-{i}" for i in range(n)], "label": ["valid"] * n}
    pd.DataFrame(answers).to_parquet(folder / "predictions.parquet")
    numbers = score(folder, job, bench, None).record.metrics
    assert numbers["hypothesis_accuracy"] == 0.5 and "brier_score" not in numbers
    probable = {**answers, "p_valid": [0.75] * n, "p_invalid": [0.25] * n}
    pd.DataFrame(probable).to_parquet(folder / "predictions.parquet")
    numbers = score(folder, job, bench, None).record.metrics
    assert numbers["brier_score"] == pytest.approx((0.125 + 1.125) / 2)


def test_uncertainty_of_learner_and_network_is_measured() -> None:
    (job,) = plan("sudoku_4x4", ["random_forest"], shifts=["rotate90"], percents=[50])
    bench = Bench("cpu")
    numbers = bench.run(job).record.metrics
    assert 0 < numbers["aurc"] < 1 and 0 < numbers["macro_f1"] < 1
    # The least sure image counts; this network is surer of digits that are turned than of others.
    test = bench.material(job).test
    assert test.predictions is not None
    unsure = 1 - test.predictions.confidence.min(axis=1).astype(float)
    area = roc_auc_score(test.split.shifted, unsure)
    assert numbers["network_shift_auroc"] == pytest.approx(area) and area < 0.2
    assert 0 < numbers["network_shift_fpr95"] <= 1
    assert 0 < numbers["shift_auroc"] < 1
    (clean,) = plan("sudoku_4x4", ["majority"])
    assert not Bench("cpu").run(clean).record.metrics.keys() & {"shift_auroc", "network_shift_auroc"}


# Concepts.


@everywhere
def test_the_concepts_that_a_learner_sees_are_measured(tmp_path: Path, limits: Limits | None) -> None:
    numbers = run(tmp_path, "Sees", limits).record.metrics
    accuracy = numbers["learner_concept_accuracy"]
    assert 0.15 < accuracy < 0.35 and numbers["concept_collapse"] == 0.75
    assert numbers["learner_concept_calibration_error"] == pytest.approx(1 - accuracy)


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
    with pytest.raises(UserError, match="run --interventions"):
        interventions(pd.DataFrame({"framework_accuracy": [1.0]}))


# Exported folders.


@pytest.mark.parametrize("task", ["zoo", "sudoku_4x4", "follow_suit"])
def test_an_exported_task_is_learned_from(task: str, tmp_path: Path) -> None:
    """`nsl-bench learn` finds in ``train.las`` what FFNSL learns in a run."""
    bench = Bench()
    (job,) = plan(task, ["mine"], track="symbolic", describe=lambda _: About("pretrained", ""))
    (folder,) = export([job], tmp_path, bench, images=False)
    told = CliRunner().invoke(main, ["learn", str(folder / "train.las"), "--json"])
    found = json.loads(told.output)
    train, _, _ = bench.views(job)
    rules = FFNSL().fit(train).rules()
    assert (found["status"], found["score"]) == ("optimal", rules.score)
    assert sorted(found["hypothesis"]) == sorted(rules.rules)


@pytest.mark.parametrize("track", ["label_only", "end_to_end"])
def test_tracks_without_concepts_get_no_learning_task(track: Track, tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About(track, ""))
    (folder,) = export([job], tmp_path, Bench(), images=False)
    assert not (folder / "train.las").exists()
