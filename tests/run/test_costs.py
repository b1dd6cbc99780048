"""What learners cost is measured apart: learning and prediction, clock and processor, memory."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from nsl_bench.learners.base import About
from nsl_bench.learners.command import spec_of
from nsl_bench.learners.view import View
from nsl_bench.run import scoring
from nsl_bench.run.bench import Bench
from nsl_bench.run.fit_cache import in_order
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.scoring import _answers
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
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


LEARNERS = ("nsl:time_limit=20", "random_forest:trees=5", "fcn:epochs=1", "tuned:random_forest,trials=2")
COSTS = ("_time", "peak_memory")


def jobs(learners: Sequence[str] = LEARNERS, train_percents: Sequence[float] = (50,)) -> list[Job]:
    shares = {"train_percents": train_percents, "test_percents": [0, 100]}
    return plan("sudoku_4x4", learners, shifts=["rotate90"], sizes=["40"], **shares)


def told(record: Record) -> dict[str, Any]:
    """What a run gives, without what it costs."""
    metrics = {name: value for name, value in record.metrics.items() if not name.endswith(COSTS)}
    kept = ("status", "hypothesis", "content_hash", "inference", "perception", "message")
    tuning = dict(record.tuning or {})
    tuning["tried"] = [{**trial, "seconds": 0} for trial in tuning.get("tried", ())]
    return {"metrics": metrics, "tuning": tuning, **{name: getattr(record, name) for name in kept}}


@pytest.fixture(scope="module")
def alone() -> dict[str, dict[str, Any]]:
    bench = Bench("cpu")
    return {job.key(): told(bench.run(job).record) for job in jobs()}


def check(store: Store, alone: dict[str, dict[str, Any]], learners: Sequence[str] = LEARNERS) -> None:
    records = store.latest()
    assert {key: told(record) for key, record in records.items()}.items() <= alone.items()
    for learner in learners:
        first, second = (record for record in records.values() if record.job.learner == learner)
        assert (first.shares_fit_of, second.shares_fit_of) == ("", first.key)
        assert first.metrics["learning_time"] == second.metrics["learning_time"], "of the one fit"
        assert first.metrics["prediction_time"] != second.metrics["prediction_time"]


def test_runs_that_share_a_fit_give_what_they_give_alone(
    tmp_path: Path, alone: dict[str, dict[str, Any]]
) -> None:
    store = Store(tmp_path)
    assert sweep(jobs(), store, Bench("cpu")).failed == 0
    check(store, alone)


def test_learners_in_the_sandbox_share_fits(tmp_path: Path, alone: dict[str, dict[str, Any]]) -> None:
    store, bench = Store(tmp_path), Bench("cpu", limits=Limits())
    assert sweep(jobs(LEARNERS[:2]), store, bench).failed == 0
    check(store, alone, LEARNERS[:2])
    assert bench.fits._kept is None, "nothing is left open"


@pytest.mark.slow
def test_processes_side_by_side_share_fits(tmp_path: Path, alone: dict[str, dict[str, Any]]) -> None:
    store = Store(tmp_path)
    assert sweep(jobs(), store, Bench("cpu"), executor=Executor(2)).failed == 0
    records = store.latest()
    assert {key: told(record) for key, record in records.items()} == alone
    assert any(record.shares_fit_of for record in records.values())


STRANGER = """
class Remembers:
    answers_alike = True

    def fit(self, train):
        self.asked = 0

    def predict_proba(self, test):
        self.asked += 1
        return [[float(self.asked <= 2), float(self.asked > 2)]] * len(test)
"""


def test_other_peoples_learners_learn_for_every_run(tmp_path: Path) -> None:
    """Whatever they declare: one run must tell the next one nothing."""
    (tmp_path / "mine.py").write_text(STRANGER, encoding="utf-8")
    store = Store(tmp_path / "results")
    sweep(jobs([f"{tmp_path / 'mine.py'}:Remembers"]), store, Bench("cpu"))
    records = list(store.latest().values())
    assert len(records) == 2 and not any(record.shares_fit_of for record in records)
    assert {record.metrics["framework_accuracy"] for record in records} == {0.5}


def test_a_failed_run_keeps_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sweep(jobs(["ffnsl:rule_learner=fastlas"]), store, Bench("cpu"))
    assert {record.status for record in store.latest().values()} == {"crashed"}
    assert not any(record.shares_fit_of for record in store.latest().values())


def test_jobs_that_share_a_fit_follow_each_other() -> None:
    mixed = jobs(train_percents=(0, 50))
    ordered = in_order(mixed)
    keys = [job.fit_key() for job in ordered]
    assert sorted(map(str, map(asdict, ordered))) == sorted(map(str, map(asdict, mixed)))
    assert len(set(keys)) == 8 == sum(a != b for a, b in zip(keys, [*keys[1:], ""], strict=True))
    alike = plan("sudoku_4x4", LEARNERS, shifts=["rotate90"], percents=[0, 50, 100])
    assert in_order(alike) == alike, "train sets that differ keep their order"
    twice = plan("sudoku_4x4", LEARNERS, shifts=["rotate90"], percents=[0, 100], repeats=[1, 2])
    places = [(job.test_percent, job.repeat) for job in in_order(twice)]
    assert list(dict.fromkeys(places)) == [(0, 1), (0, 2), (100, 1), (100, 2)], "test sets stay together"
