"""What learners cost is measured apart: learning and prediction, clock and processor, memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nsl_bench.isolation.limits import Limits
from nsl_bench.learners.base import About
from nsl_bench.learners.command import spec_of
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import plan

WORKER = """
import time
import numpy as np

def burn(seconds):
    clock = time.process_time()
    while time.process_time() < clock + seconds:
        pass

class Worker:
    track = "symbolic"
    def fit(self, train):
        self.held = np.ones(15 << 20)
        time.sleep(0.3)  # the harness looks now and then
        burn(0.5)
        return self
    def predict_proba(self, test):
        time.sleep(0.6)
        return np.full((len(test), test.n_labels), 1 / test.n_labels)
"""

COMMAND = """
import sys
from pathlib import Path
import pandas as pd
from worker import burn
folder = Path(sys.argv[-1])
test = pd.read_parquet(folder / "test.parquet")
burn(0.5)
pd.DataFrame({"example": test["example"], "label": "valid"}).to_parquet(folder / "predictions.parquet")
"""


def numbers(learner: str, limits: Limits | None) -> dict[str, float]:
    about = About("symbolic", "1")
    (job,) = plan("sudoku_4x4", [learner], describe=lambda _: about)
    record = Bench(limits=limits).run(job).record
    assert record.status == "ok", record.message + record.output
    return dict(record.metrics)


@pytest.mark.parametrize("limits", [Limits(time=120), Limits(time=120, memory=None), None])
def test_learning_and_prediction_are_measured_apart(tmp_path: Path, limits: Limits | None) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    found = numbers(f"{tmp_path}/worker.py:Worker", limits)
    assert found["learning_cpu_time"] >= 0.45 and found["learning_time"] >= 0.8
    assert found["prediction_time"] >= 0.6 and found["prediction_cpu_time"] < 0.4
    assert ("peak_memory" in found) == (limits is not None)
    assert found.get("peak_memory", 1000) > 120


def test_a_command_learns_and_answers_in_one_go(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "command.py").write_text(COMMAND)
    spec = spec_of(f"symbolic={sys.executable} {tmp_path}/command.py")
    found = numbers(spec, Limits(time=120))
    assert found["learning_cpu_time"] >= 0.45 and found["learning_time"] >= 0.5
    assert "prediction_time" not in found and found["peak_memory"] > 20
