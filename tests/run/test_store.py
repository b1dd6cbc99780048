"""Nothing that was recorded is lost, and a folder that is none is refused."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import duckdb
import jsonschema
import pandas as pd
import pytest
from click.testing import CliRunner
from guarded_calls import aborts
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis, Status
from nsl_bench.logic.guarded import call
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.report.tables import tables
from nsl_bench.report.typeset import written
from nsl_bench.run import parquet
from nsl_bench.run import store as store_module
from nsl_bench.run.concepts import read_concepts
from nsl_bench.run.job import Job
from nsl_bench.run.record import SCHEMA, SCHEMA_FILE, Record
from nsl_bench.run.store import NoPredictions, Store

FIXTURES = Path(__file__).parent / "fixtures"
ROW = {"example": ["test-0"], "label": ["a"], "predicted": ["a"], "p_a": [1.0]}


def record(repeat: int = 1, status: str = "ok", **changes: object) -> Record:
    job = Job("b", "1", "s", "f", *("standard", 0.0) * 2, "small", repeat, "l", "pretrained", "softmax")
    values = {"metrics": {"framework_accuracy": 0.5}, "hypothesis": Hypothesis(("a :- b.",), 2), **changes}
    return Record(job, status, **values)  # type: ignore[arg-type]


def test_records_come_back_as_they_went(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.add(record(1))
    failed = record(2, "failed", hypothesis=None, message="ValueError: no")
    store.add(failed)
    assert list(Store(tmp_path / "results")) == [record(1), failed]
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
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
store = Store(Path(sys.argv[1]))
for repeat in range(int(sys.argv[2]), int(sys.argv[2]) + 50):
    job = Job("b", "1", "s", "f", *("standard", 0.0) * 2, "small", repeat, "l", "pretrained", "softmax")
    store.add(Record(job, "ok", {"framework_accuracy": 0.5}))
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "results")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, folder, first]) for first in ("1", "101")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(Store(tmp_path / "results").done()) == 100


def test_compaction_keeps_everything_and_others_may_write_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    store = Store(folder)
    frame = pd.DataFrame({"evaluation": ["framework"], **ROW})
    for repeat in range(1, 21):
        store.add(record(repeat))
        store.add_predictions(record(repeat).key, frame)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder), "101"])
    moved = store.compact()
    while writer.poll() is None:
        moved += store.compact()
    moved += store.compact()
    assert moved == 70 and store.compact() == 0
    assert {r.job.repeat for r in store} == {*range(1, 21), *range(101, 151)}
    assert len(list(store)) == len(store.done()) == 70
    pd.testing.assert_frame_equal(store.predictions(record(7).key), frame)
    assert not list((folder / "predictions").glob("*.parquet"))
    store.add(record(200, "crashed"))
    assert len(store.frame()) == 71 and len(Store(folder).done()) == 70
    query = f"select count(*), avg(\"metric.framework_accuracy\") from '{folder}/records-*.parquet'"
    assert duckdb.sql(query).fetchall() == [(70, 0.5)]
    lines = duckdb.sql(f"select count(*) from read_json('{folder}/records.jsonl', format='nd')").fetchall()
    assert lines == [(1,)] == [(len(pd.read_json(folder / "records.jsonl", lines=True)),)]


def test_a_compaction_cut_short_doubles_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    for repeat in (1, 2, 3):
        store.add(record(repeat))
    before = store.records_file.read_bytes()
    store.compact()
    store.records_file.write_bytes(before)  # killed between the two files
    assert len(list(store)) == 3
    store.compact()
    assert len(list(store)) == 3 and not store.records_file.read_bytes()


def test_a_run_that_is_done_again_during_a_compaction_keeps_its_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "results")
    old = pd.DataFrame({"evaluation": ["framework"], **ROW})
    new = old.assign(p_a=0.5)
    key = record(1).key
    store.add(record(1))
    store.add_predictions(key, old)
    again = threading.Thread(target=Store(store.folder).add_predictions, args=(key, new))
    merge = store_module.merge_predictions

    def meanwhile(files: Sequence[Path], out: Path) -> None:
        merge(files, out)
        again.start()
        again.join(0.5)

    monkeypatch.setattr(store_module, "merge_predictions", meanwhile)
    store.compact()
    monkeypatch.undo()
    again.join()
    pd.testing.assert_frame_equal(store.predictions(key), new)
    store.compact()
    pd.testing.assert_frame_equal(store.predictions(key), new)


FULL = """
import resource, signal, sys
from pathlib import Path
from nsl_bench.core.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.run.store import Record, Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
store = Store(Path(sys.argv[1]))
for repeat in range(1, 1000):
    job = Job("b", "1", "s", "f", *("standard", 0) * 2, "small", repeat, "l", "pretrained", None)
    try:
        store.add(Record(job, "ok"))
    except UserError as error:
        raise SystemExit(print(repeat - 1, error))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of file sizes are POSIX")
def test_a_full_disk_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    line = [sys.executable, "-c", FULL, str(tmp_path / "results")]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    count, sentence = done.stdout.split(" ", 1)
    store = Store(tmp_path / "results")
    assert "cannot be written" in sentence
    assert len(list(store)) == int(count) > 5
    assert store.records_file.read_bytes().endswith(b"}\n")
    store.add(record(1))
    assert len(list(store)) == int(count) + 1


def test_records_of_every_version_load(tmp_path: Path) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    for version in sorted(FIXTURES.iterdir()):
        folder = tmp_path / version.name
        shutil.copytree(version, folder)
        store = Store(folder, must_exist=True)
        lines = store.records_file.read_text().splitlines()
        for line in lines:
            jsonschema.validate(json.loads(line), schema)
        assert len(list(store)) == len(lines) == len(store.frame()) > 3
        assert written(tables(store.frame()), "markdown").count("ffnsl") >= 2
        old = next(iter(store.done()))
        assert store.latest()[old].metrics["framework_accuracy"] > 0.5
        store.add(record(1))
        assert len(list(Store(folder))) == len(lines) + 1
        assert json.loads((folder / "store.json").read_text())["schema"] == SCHEMA


def test_a_rerun_with_other_versions_takes_the_place_in_reports(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    newer = replace(record(1).job, learner_version="2", network_version="9")
    store.add(record(1))
    store.add(Record(newer, "ok", {"framework_accuracy": 0.75}))
    assert len(store.done()) == 2
    assert store.frame()["framework_accuracy"].tolist() == [0.75]


@pytest.mark.parametrize("status", get_args(Status))
def test_records_follow_the_published_schema(status: str) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    made = json.loads(record(1, status, output="Killed", timed_out=True).to_json())
    jsonschema.validate(made, schema)
    of_job = schema["properties"]["job"]["properties"]
    named = schema["properties"].keys() | {f"job.{name}" for name in of_job}
    found = made.keys() | {f"job.{name}" for name in made["job"]}
    assert found == named
    assert set(schema["properties"]["status"]["enum"]) == set(get_args(Status))


def test_a_key_is_the_job(tmp_path: Path) -> None:
    assert record(1).job.key() == record(1).job.key() != record(2).job.key()
    values = {**json.loads(record(1).to_json())["job"], "a_field_of_tomorrow": 1}
    assert Job.from_dict(values) == record(1).job


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        Store(tmp_path / "none", must_exist=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(UserError, match="is not a results folder"):
        Store(tmp_path / "other")
    Store(tmp_path / "results")
    (tmp_path / "results" / "store.json").write_text('{"schema": 99}')
    with pytest.raises(UserError, match=r"another format \(schema 99"):
        Store(tmp_path / "results")
    (tmp_path / "results" / "store.json").write_text("{")
    with pytest.raises(UserError, match=r"store\.json is damaged"):
        Store(tmp_path / "results")


def test_concepts_survive_a_compaction_beside_runs_without(tmp_path: Path) -> None:
    plain = {"example": ["test-0", "test-1"], "label": ["a", "a"], "predicted": ["a", "a"], "p_a": [1.0, 1.0]}
    with_concepts = pd.concat(
        [
            pd.DataFrame({"evaluation": "hypothesis", **plain}),
            pd.DataFrame({"evaluation": "framework", **plain, "concepts": ["3 -1", "0 12"]}),
        ],
        ignore_index=True,
    )
    store = Store(tmp_path / "results")
    frames = {1: with_concepts, 2: pd.DataFrame({"evaluation": "framework", **plain})}
    for repeat, frame in frames.items():
        store.add(record(repeat))
        store.add_predictions(record(repeat).key, frame)
    for _ in range(2):
        found = store.predictions(record(1).key)
        assert found["concepts"].tolist() == ["", "", "3 -1", "0 12"]
        assert read_concepts(found["concepts"].tolist()[2:]).tolist() == [[3, -1], [0, 12]]
        assert "concepts" not in store.predictions(record(2).key)
        store.compact()
    long = frames[2].assign(concepts="1 " * 10_000)
    store.add(record(3))
    store.add_predictions(record(3).key, long)
    with pytest.raises(UserError, match="concepts must be one line of indices"):
        store.predictions(record(3).key)


FIXTURE = Path(__file__).parent / "fixtures" / "schema-1"
KEYS = [json.loads(line)["key"] for line in (FIXTURE / "records.jsonl").read_text().splitlines()]
FILES = 4000
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")


def predictions(n: int = 40) -> pd.DataFrame:
    sure = [0.5 + k / (2 * n) for k in range(n)]
    frame = pd.DataFrame({"evaluation": ["hypothesis"] * (n // 2) + ["framework"] * (n - n // 2)})
    frame = frame.assign(example=[f"test-{k}" for k in range(n)], predicted=["valid", "undecided"] * (n // 2))
    frame = frame.assign(label=["valid", "invalid"] * (n // 2))
    return frame.assign(p_valid=sure, p_invalid=[1 - p for p in sure])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(Path(shutil.copytree(FIXTURE, tmp_path / "results")))
    for key in KEYS:
        store.add_predictions(key, predictions())
    return store


def test_predictions_come_back_from_the_child_as_they_were(store: Store) -> None:
    pd.testing.assert_frame_equal(store.predictions(KEYS[0]), predictions())
    store.compact()
    pd.testing.assert_frame_equal(store.predictions(KEYS[1]), predictions())
    with pytest.raises(NoPredictions, match="has no predictions"):
        store.predictions("f" * 20)


def test_one_child_reads_a_whole_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.predictions(KEYS[0])
    monkeypatch.setattr(call, "Child", lambda: pytest.fail("a second child"))
    for key in KEYS:
        store.predictions(key)
    store.compact()
    assert len(list(store)) == len(KEYS)


def test_columns_that_no_run_writes_are_not_compacted(store: Store) -> None:
    wrong = {"key": ["x"] * 40, "p_valid": predictions()["p_valid"].astype("float32"), "other": [[1]] * 40}
    store.add_predictions(KEYS[0], predictions().assign(**wrong))
    store.add_predictions(KEYS[1], predictions().assign(other="text"))
    store.compact()
    assert not list((store.folder / "predictions").glob("*.parquet"))
    assert list(store.predictions(KEYS[0])) == list(predictions())


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file ends the process that reads it."""
    for name in ("_records", "_predictions", "_check"):
        monkeypatch.setattr(parquet, name, aborts)


@pytest.mark.usefixtures("deadly")
def test_a_file_that_ends_its_reader_costs_only_itself(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Ended, match=r"^Reading '.*\.parquet' crashed \(SIGABRT\): it is damaged\.$"):
        store.predictions(KEYS[0])
    store.compact()
    said = capsys.readouterr().err
    assert "is left out: Reading" in said and "crashed (SIGABRT): it is damaged." in said
    assert len(list((store.folder / "predictions").glob("*.parquet"))) == len(KEYS)
    assert not list(Store(store.folder))
    assert "records-000000" in capsys.readouterr().err


@pytest.mark.usefixtures("deadly")
def test_the_report_says_whose_predictions_are_damaged(store: Store) -> None:
    done = CliRunner().invoke(main, ["report", str(store.folder), "--curves"], standalone_mode=False)
    assert done.exception is None and "sudoku" in done.stdout
    assert "is left out of reliability diagrams: Reading" in done.stderr
    assert "crashed (SIGABRT)" in done.stderr


@pytest.mark.slow
def test_no_damaged_file_ends_the_process(store: Store, tmp_path: Path) -> None:
    """4,000 files; a minute."""
    loose = (store.folder / "predictions" / f"{KEYS[0]}.parquet").read_bytes()
    store.compact()
    (records,) = store.folder.glob("records-*.parquet")
    (merged,) = store.folder.glob("predictions-*.parquet")
    asked = [
        (loose, lambda path: parquet.read_predictions(path)),
        (merged.read_bytes(), lambda path: parquet.read_predictions(path, KEYS[1])),
        (merged.read_bytes(), lambda path: parquet.merge_predictions([path], tmp_path / "out.parquet")),
        (records.read_bytes(), lambda path: parquet.read_records(path)),
    ]
    ends: Counter[str] = Counter()
    path = tmp_path / "damaged.parquet"
    for seed in range(FILES):
        whole, ask = asked[seed % len(asked)]
        path.write_bytes(damaged(whole, seed))
        try:
            ask(path)
            ends["read"] += 1
        except Ended as error:
            ends[error.status] += 1
            assert error.status != "timeout", error
        except UserError as error:
            ends["refused"] += 1
            assert len(str(error).splitlines()) == 1 and not hasattr(error, "__notes__"), error
    print(f"\n{dict(ends)}")
    assert sum(ends.values()) == FILES and min(ends["read"], ends["refused"]) > FILES // 20
