"""What learners cost is measured apart: learning and prediction, clock and processor, memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from nsl_bench.learners.base import About
from nsl_bench.learners.command import spec_of
from nsl_bench.learners.view import View
from nsl_bench.run import scoring
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.scoring import _answers
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

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
    def rules(self):
        time.sleep(0.5)  # the search for them, put off until somebody asks
        return None
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
    assert found["prediction_time"] >= 1.1 and found["prediction_cpu_time"] < 0.4
    assert ("peak_memory" in found) == (limits is not None)
    assert found.get("peak_memory", 1000) > 120


def test_a_command_learns_and_answers_in_one_go(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "command.py").write_text(COMMAND)
    spec = spec_of(f"symbolic={sys.executable} {tmp_path}/command.py")
    found = numbers(spec, Limits(time=120))
    assert found["learning_cpu_time"] >= 0.45 and found["learning_time"] >= 0.5
    assert "prediction_time" not in found and found["peak_memory"] > 20


class Procrastinates:
    """Learns when it is asked, in each evaluation, and stops the clocks that it finds."""

    def __init__(self, clock: list[float]) -> None:
        self._clock = clock

    def fit(self, train: View) -> None:
        self._clock[0] += 1
        vars(time).update(perf_counter=lambda: 0.0, process_time=lambda: 0.0)

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        self._clock[0] += 50
        return np.full((len(test), test.n_labels), 1 / test.n_labels)

    def effort(self) -> dict[str, float]:
        return {"learning_time": 0.0}

    usage = effort


def test_learning_that_is_put_off_counts_by_a_clock_that_the_learner_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(scoring, "perf_counter", lambda: clock[0])
    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(time, name, getattr(time, name))
    learner = Procrastinates(clock)
    measured, test = scoring.Costs(learner), view(patches("test"), labelled=False)
    with measured.of("learning", test):
        learner.fit(test)
    _answers(learner, {"framework": test, "hypothesis": test}, measured)
    assert measured.numbers["learning_time"] == 1 and measured.numbers["prediction_time"] == 100
    assert measured.numbers["prediction_cpu_time"] > 0


def test_work_between_the_calls_counts() -> None:
    measured, used = scoring.Costs(object.__new__(IsolatedLearner)), iter([1.0, 5.0, 20.0])
    measured._cpu = lambda: next(used)  # type: ignore[method-assign]
    for name in ("learning", "prediction"):
        with measured.of(name):
            pass
    assert (measured.numbers["learning_cpu_time"], measured.numbers["prediction_cpu_time"]) == (4.0, 15.0)
