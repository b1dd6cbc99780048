"""The board's runs: a learner that is too slow for a contest isn't started in all of its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nsl_bench.leaderboard.contests import BOARD, read_contests
from packed import COMMITTED

from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor


class Told(Bench):
    """Ends runs as it was told, by learner and share of shifted images."""

    def __init__(self, ends: dict[tuple[str, float], Any]) -> None:
        super().__init__()
        self.ends, self.started = ends, list[Job]()

    def run(self, job: Job, given: Any = None) -> Outcome:
        self.started.append(job)
        return Outcome(Record(job, status=self.ends[job.learner, job.percent], started="now"), None, "")


@pytest.mark.parametrize("status", ["timeout", "crashed", "not_applicable", "ok"])
def test_what_timed_out_at_0_is_not_started_again(
    script: Callable[[str], ModuleType], tmp_path: Path, status: str
) -> None:
    reference = script("reference")
    zoo = next(contest for contest in read_contests(BOARD) if contest.name == "zoo")
    contest = replace(zoo, shifts=zoo.shifts[:1], percents=(0.0, 50.0), repeats=2)
    entries = [one for one in reference.ENTRIES if one.learner in ("majority", "random_forest")]
    jobs = [job for entry in entries for job in reference.jobs_of(entry, contest)]
    assert len(jobs) == 8
    others = {("majority", 0.0): "ok", ("majority", 50.0): "timeout"}
    bench = Told({("random_forest", 0.0): status, ("random_forest", 50.0): "ok", **others})
    store = Store(tmp_path)
    tally = reference.run(contest, jobs, store, bench, Executor(1))
    late = [record for record in store.latest().values() if record.job.percent]
    given_up = [record for record in late if record.message == reference.GIVEN_UP]
    assert len(late) == (2 if status == "not_applicable" else 4)
    assert len(bench.started) == 4 + len(late) - len(given_up)
    assert len(given_up) == (2 if status == "timeout" else 0)
    for record in given_up:
        cell = contest.cell(record.job)
        assert cell and record.status == "timeout" and not record.started
        assert record.content_hash == reference.Truth(record.job, contest, cell).hashes
    assert tally.failed == 2 + (2 if status in ("timeout", "crashed") else 0)


def test_what_is_on_the_board_is_not_done_again(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does what was given up there start, now that other runs of the contest are missing."""
    monkeypatch.setattr("nsl_bench.run.plan.PROTOCOL", 2)  # the committed entry's
    reference = script("reference")
    zoo = next(contest for contest in read_contests(BOARD) if contest.name == "zoo")
    contest = replace(zoo, shifts=zoo.shifts[:1], percents=(0.0, 50.0), repeats=2)
    rules = next(one for one in reference.ENTRIES if one.track == "symbolic")  # needs no network
    told, versions = reference.on_the_board(COMMITTED / "ffnsl-on-true-concepts")
    assert {job.key() for job in reference.jobs_of(rules, contest)} <= told.keys() and len(versions) == 1
    majority = next(one for one in reference.ENTRIES if one.learner == "majority")
    jobs = list(reference.jobs_of(majority, contest))
    told = {job.key(): "ok" for job in jobs}
    bench, store = Told({("majority", 50.0): "ok"}), Store(tmp_path)
    assert reference.run(contest, jobs, store, bench, Executor(1), told).failed == 0
    assert not bench.started and not store.latest()
    first = {job.key(): "ok" for job in jobs if not job.percent}
    reference.run(contest, jobs, store, bench, Executor(1), first)
    assert [job.percent for job in bench.started] == [50.0, 50.0]
    reference.run(
        contest, jobs, Store(tmp_path / "late"), bench, Executor(1), dict.fromkeys(first, "timeout")
    )
    assert len(bench.started) == 2
    assert reference.on_the_board(tmp_path) == ({}, set())
