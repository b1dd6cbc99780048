"""Learners that give labels without probabilities, in this process, in one of their own, and as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from nsl_bench.learners.base import About
from nsl_bench.run.bench import Bench, Outcome
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
"""


def run(tmp_path: Path, name: str, limits: Limits | None) -> Outcome:
    (tmp_path / "mine.py").write_text(LEARNER)
    spec = f"{tmp_path}/mine.py:{name}"
    (job,) = plan("sudoku_4x4", [spec], describe=lambda _: About("pretrained", "1"))
    return Bench("cpu", limits=limits).run(job)


@pytest.mark.parametrize("limits", [None, Limits(time=60.0)])
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


@pytest.mark.parametrize("limits", [None, Limits(time=60.0)])
def test_labels_that_there_are_not(tmp_path: Path, limits: Limits | None) -> None:
    outcome = run(tmp_path, "Wrong", limits)
    assert outcome.record.status == "invalid_output"
    assert "Wrong.predict must return labels between" in outcome.record.message


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
