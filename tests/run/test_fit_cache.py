"""Runs that differ in their test set only share a fit, and give what they would give alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nsl_bench.run.bench import Bench
from nsl_bench.run.fit_cache import in_order
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, sweep
from nsl_bench.sandbox.limits import Limits

LEARNERS = ("nsl:time_limit=20", "random_forest:trees=5", "fcn:epochs=1", "tuned:random_forest,trials=2")
COSTS = ("_time", "peak_memory")


def jobs(learners: Sequence[str] = LEARNERS, train_percents: Sequence[float] = (50,)) -> list[Job]:
    shares = {"train_percents": train_percents, "test_percents": [0, 100]}
    return plan("sudoku_4x4", learners, shifts=["rotate90"], sizes=["40"], **shares)


def told(record: Record) -> dict[str, Any]:
    """What a run gives, without what it costs."""
    metrics = {name: value for name, value in record.metrics.items() if not name.endswith(COSTS)}
    kept = ("status", "hypothesis", "content_hash", "inference", "perception", "tuning", "message")
    return {"metrics": metrics, **{name: getattr(record, name) for name in kept}}


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
