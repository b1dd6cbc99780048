"""Nothing that was recorded is lost, and a folder that is none is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsl_bench.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.run.store import Record, Store
from nsl_bench.types import Hypothesis


def record(repeat: int = 1, status: str = "ok", **changes: object) -> Record:
    job = Job("b", "1", "s", "f", "standard", 0.0, "small", repeat, "l", "pretrained", "softmax")
    values = {"metrics": {"framework_accuracy": 0.5}, "hypothesis": Hypothesis(("a :- b.",), 2), **changes}
    return Record(job, status, **values)  # type: ignore[arg-type]


def test_records_come_back_as_they_went(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.add(record(1))
    store.add(record(2, "failed", hypothesis=None, message="ValueError: no"))
    assert list(Store(tmp_path / "results")) == [
        record(1),
        record(2, "failed", hypothesis=None, message="ValueError: no"),
    ]
    assert store.done() == {record(1).job.key()}
    store.add(record(2))
    assert len(store.latest()) == len(store.done()) == 2
    assert list(store.frame()["framework_accuracy"]) == [0.5, 0.5]


@given(cut=st.integers(1, 400))
@settings(max_examples=30)
def test_a_line_cut_short_costs_only_itself(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    store = Store(tmp_path_factory.mktemp("r") / "results")
    for repeat in (1, 2):
        store.add(record(repeat))
    content = store.records_file.read_bytes()
    store.records_file.write_bytes(content[: len(content) - min(cut, len(content) // 2 - 2)])
    store.add(record(3))
    found = {r.job.repeat for r in store}
    assert {1, 3} <= found <= {1, 2, 3}


WRITER = """
import sys
from pathlib import Path
from nsl_bench.run.job import Job
from nsl_bench.run.store import Record, Store
store = Store(Path(sys.argv[1]))
for repeat in range(int(sys.argv[2]), int(sys.argv[2]) + 50):
    job = Job("b", "1", "s", "f", "standard", 0.0, "small", repeat, "l", "pretrained", "softmax")
    store.add(Record(job, "ok", {"framework_accuracy": 0.5}))
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "results")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, folder, first]) for first in ("1", "101")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(Store(tmp_path / "results").done()) == 100


def test_a_key_is_the_job(tmp_path: Path) -> None:
    assert record(1).job.key() == record(1).job.key() != record(2).job.key()
    values = {**json.loads(record(1).to_json())["job"], "a_field_of_tomorrow": 1}
    assert Job.from_dict(values) == record(1).job


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not there"):
        Store(tmp_path / "none", must_exist=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(UserError, match="is no results folder"):
        Store(tmp_path / "other")
    Store(tmp_path / "results")
    (tmp_path / "results" / "store.json").write_text('{"schema": 99}')
    with pytest.raises(UserError, match=r"another version \(schema 99"):
        Store(tmp_path / "results")
    (tmp_path / "results" / "store.json").write_text("{")
    with pytest.raises(UserError, match=r"store\.json is broken"):
        Store(tmp_path / "results")
