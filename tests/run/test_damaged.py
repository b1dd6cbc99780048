"""Damaged parquet files in a results folder cost a sentence, never the process that reads them."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from guarded_calls import aborts
from mutations import damaged

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded import call
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.run import parquet
from nsl_bench.run.store import NoPredictions, Store

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
    done = CliRunner().invoke(main, ["report", str(store.folder)], standalone_mode=False)
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
