"""A record is checked once, where it is read: what does not fit is named, left out, and costs only itself."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.run.exchange import jobs_in
from nsl_bench.run.record import SCHEMA_FILE, Record, published_schema
from nsl_bench.run.store import Store

FIXTURE = Path(__file__).parent / "fixtures" / "schema-1"
GOOD = json.loads((FIXTURE / "records.jsonl").read_text().splitlines()[0])
DEEP = '{"key": ' + "[" * 100_000 + "]" * 100_000 + "}"


def changed(**values: Any) -> str:
    return json.dumps({**GOOD, **values})


def job(**values: Any) -> str:
    return changed(job={**GOOD["job"], **values})


def lacking(name: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != name})


BROKEN = {
    "text": ("no record", "not valid JSON"),
    "cut": (json.dumps(GOOD)[:300], "not valid JSON"),
    "deep": (DEEP, "recursion limit"),
    "deep environment": (changed(environment="X").replace('"X"', "[" * 500 + "]" * 500), "recursion limit"),
    "deep metrics": (changed(metrics=[[[[]]]]), "metrics must be"),
    "null": ("null", "it must be an object"),
    "key list": (changed(key=["a"]), "key must be 20 hexadecimal digits"),
    "key elsewhere": (changed(key="../../../etc/passwd"), "key must be"),
    "no key": (lacking("key"), "key is missing; it must be 20 hexadecimal digits"),
    "status": (changed(status=["ok"]), "status must be 'ok'"),
    "status new": (changed(status="fine"), "status must be"),
    "job null": (changed(job=None), "job must be an object"),
    "job empty": (changed(job={}), "job.benchmark is missing"),
    "benchmark": (job(benchmark=5), "job.benchmark must be a string; got 5"),
    "percent": (job(train_percent=101), "job.train_percent must be a number between 0 and 100; got 101"),
    "percent true": (job(train_percent=True), "train_percent must be a number between 0 and 100; got true"),
    "repeat": (job(repeat=1.0), "job.repeat must be a whole number of 1 or more; got 1.0"),
    "repeat zero": (job(repeat=0), "job.repeat must be"),
    "seed": (job(seed=None), "job.seed must be a whole number; got null"),
    "network": (job(network={"a": 1}), "job.network must be"),
    "track": (job(track="mine"), "job.track must be 'symbolic'"),
    "metrics": (changed(metrics={"rules": "high"}), "metrics.rules must be a number"),
    "metrics null": (changed(metrics=None), "metrics must be"),
    "metrics inf": (changed(metrics={"x": 1}).replace('"x": 1', '"x": 1e999'), "metrics.x must be a finite"),
    "metrics nan": (changed(metrics={"x": 1}).replace('"x": 1', '"x": NaN'), "must be a finite number"),
    "rules": (changed(hypothesis=GOOD["hypothesis"] | {"rules": "a."}), "hypothesis.rules must be a list"),
    "rule": (changed(hypothesis=GOOD["hypothesis"] | {"rules": [1]}), "rules[0] must be a string"),
    "hypothesis": (changed(hypothesis=[]), "hypothesis must be an object"),
    "seconds": (changed(seconds=-1), "seconds must be a number of seconds, 0 or more"),
    "started": (changed(started=5), "started must be a string"),
    "timed out": (changed(timed_out="no"), "timed_out must be true or false"),
    "perception": (changed(perception={"train": {"confidence": [1]}}), "perception must be"),
    "schema": (changed(schema=True), "schema must be 1, the version of records; got true"),
    "schema float": (changed(schema=1.0), "schema must be 1, the version of records; got 1.0"),
    "schema of tomorrow": (changed(schema=2), "schema must be 1, the version of records; got 2"),
    "half a character": (changed(message="X").replace('"X"', r'"\ud800"'), "not valid JSON"),
    "no UTF-8": (changed(message="XY"), "not valid JSON"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "results"))


def spoil(folder: Path) -> int:
    """Put every broken line among the good ones; how many good ones there are."""
    path = folder / "records.jsonl"
    good = path.read_bytes().splitlines()
    lines = [good[0], *(line.encode().replace(b"XY", b"\xff\xfe") for line, _ in BROKEN.values()), *good[1:]]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return len(good)


def call(*words: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, UserError):
        raise result.exception
    return result


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_record_is_named_with_its_line(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line, words = BROKEN[name]
    good = (folder / "records.jsonl").read_bytes()
    count = len(good.splitlines())
    (folder / "records.jsonl").write_bytes(good + line.encode().replace(b"XY", b"\xff\xfe") + b"\n")
    store = Store(folder)
    assert len(list(store)) == len(store.frame()) == count
    (said,) = capsys.readouterr().err.splitlines()
    assert f"records.jsonl, line {count + 1} is left out" in said and words in said and len(said) < 500


def test_few_of_many_broken_lines_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = spoil(folder)
    store = Store(folder)
    assert len(list(store)) == len(store.latest()) == count
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 6 and f"{len(BROKEN) - 5} more are left out" in said[-1]


def test_commands_use_the_records_that_are_whole(folder: Path, tmp_path: Path) -> None:
    clean = call("report", folder, "--no-curves", "--format", "csv").stdout
    spoil(folder)
    for words in (("--no-curves",), ("--holds", "row", "--no-curves"), ()):
        done = call("report", folder, "--format", "csv", *words)
        assert done.exit_code == 0 and done.stdout.startswith(clean) and "line 2 is left out" in done.stderr
    about = ["--learner", "ffnsl", "--name", "x", "--licence", "MIT", "--out", tmp_path / "submission"]
    done = call("submit", folder, *about)
    assert isinstance(done.exception, UserError)  # the fixture has no predictions
    done = call("store", "compact", folder)
    assert "records compacted" in done.stdout and "line 2 is left out" in done.stderr
    assert call("report", folder, "--no-curves", "--format", "csv").stdout == clean
    # What is no record of this version may be one of the next: it stays where it is.
    assert len((folder / "records.jsonl").read_bytes().splitlines()) == len(BROKEN)
    words = ["--track", "symbolic", "--learner", "majority", "--repeats", "1", "--isolation", "none"]
    done = call("run", "sudoku_4x4", *words, "--jobs", "1", "--out", folder)
    assert "1 run done" in done.stdout, done.output


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:100], lambda data: b"", lambda data: data[:-4] + b"XXXX", bytes.swapcase]
)
def test_a_damaged_parquet_file_costs_only_itself(
    folder: Path, spoil: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    Store(folder).compact()
    (path,) = folder.glob("records-*.parquet")
    copy = path.with_name("records-000001-copy.parquet")
    copy.write_bytes(spoil(path.read_bytes()))
    assert len(list(Store(folder))) == len((FIXTURE / "records.jsonl").read_text().splitlines())
    assert "records-000001-copy.parquet is left out: it cannot be read" in capsys.readouterr().err


def test_rows_of_a_parquet_file_are_checked_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = [line for name, (line, _) in BROKEN.items() if name != "no UTF-8"]
    lines = [json.dumps(GOOD), *broken, None]
    pq.write_table(pa.table({"record": lines}), folder / "records-000000-x.parquet")
    pq.write_table(pa.table({"record": [1]}), folder / "records-000001-x.parquet")
    count = len((FIXTURE / "records.jsonl").read_text().splitlines())
    assert len(list(Store(folder))) == count
    said = capsys.readouterr().err
    assert "records-000000-x.parquet, row 2 is left out" in said


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"schema": true}', '{"schema": 1.0}', "5", "null", '{"schema": "1"}']
)
def test_a_broken_marker_gets_a_sentence(folder: Path, text: str) -> None:
    (folder / "store.json").write_text(text)
    with pytest.raises(UserError, match=r"store\.json is damaged"):
        Store(folder)


def predictions(**changes: Any) -> dict[str, Any]:
    good = {"evaluation": ["framework"], "example": ["test-0"], "predicted": ["valid"], "label": ["valid"]}
    good |= {"p_valid": [0.75], "p_invalid": [0.25]}
    return {name: values for name, values in {**good, **changes}.items() if values is not None}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluation": None}, "evaluation, example, label and predicted"),
        ({"predicted": [1]}, "evaluation, example, label and predicted"),
        ({"p_valid": ["a"]}, "a number p_LABEL"),
        ({"p_valid": [float("nan")]}, "a number p_LABEL"),
        ({"label": None}, "evaluation, example, label and predicted"),
        ({"p_valid": None, "p_invalid": None, "label": ["a\nb"]}, "is not a label"),
        ({"predicted": ["maybe"]}, "predicted must be one of valid, invalid, undecided, ambiguous"),
        ({"label": ["maybe"]}, "label must be one of valid, invalid"),
        ({"label": [None]}, "evaluation, example, label and predicted"),
    ],
)
def test_predictions_are_checked_too(folder: Path, changes: dict[str, Any], words: str) -> None:
    store = Store(folder)
    store.add_predictions(GOOD["key"], pd.DataFrame(predictions(**changes)))
    with pytest.raises(UserError, match=words):
        store.predictions(GOOD["key"])
    store.add_predictions("f" * 20, pd.DataFrame(predictions()))
    store.compact()
    assert len(store.predictions("f" * 20)) == 1
    assert [path.stem for path in (folder / "predictions").glob("*.parquet")] == [GOOD["key"]]


@pytest.mark.parametrize("about", ["[", '{"columns": 1}', '{"index_columns": [null], "columns": [{}]}'])
def test_what_a_file_of_predictions_says_of_pandas_is_not_heeded(folder: Path, about: str) -> None:
    store = Store(folder)
    (folder / "predictions").mkdir()
    table = pa.table(predictions()).replace_schema_metadata({"pandas": about, "huggingface": "{"})
    pq.write_table(table, folder / "predictions" / f"{GOOD['key']}.parquet")
    pq.write_table(pa.table(predictions()), folder / "predictions" / f"{'f' * 20}.parquet")
    assert store.predictions(GOOD["key"]).to_dict("list") == predictions()
    store.compact()
    assert store.predictions(GOOD["key"]).to_dict("list") == predictions()


def test_the_published_schema_is_the_one_of_the_class() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == published_schema()


def test_the_published_schema_refuses_what_is_refused_here() -> None:
    import jsonschema

    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    differing = []
    for name, (line, _) in BROKEN.items():
        try:
            valid = schema.is_valid(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if valid:
            differing.append(name)
    # What no schema says: 1.0 is a whole number to it, and NaN and infinity are no JSON.
    assert set(differing) <= {
        *("repeat", "schema float", "metrics inf", "metrics nan"),
        *("deep environment", "perception", "half a character", "no UTF-8"),
    }
    assert schema.is_valid(GOOD) and Record.from_json(json.dumps({**GOOD, "new": 1})).key == GOOD["key"]


@pytest.mark.parametrize(
    "task", ["[]", "{}", '{"job": null}', '{"job": [1]}', "[" * 100_000, '{"job": {"seed": 1}}']
)
def test_a_broken_exported_job_gets_a_sentence(tmp_path: Path, task: str) -> None:
    (tmp_path / "task.json").write_text(task)
    with pytest.raises(UserError, match=r"task\.json is damaged"):
        jobs_in(tmp_path)
