"""Records of long studies that the repository keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kept(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("kept")


def record(repeat: int) -> Record:
    job = Job("b", "1", "s", "f", "standard", 0.0, "standard", 0.0, "small", repeat, "l", "pretrained", "n")
    return Record(job, "ok", {"framework_accuracy": repeat / 10})


def test_what_is_kept_starts_the_next_study(kept: ModuleType, tmp_path: Path) -> None:
    first, folder = Store(tmp_path / "first"), tmp_path / "docs" / "runs" / "study"
    for repeat in (1, 2, 3):
        first.add(record(repeat))
    keys = {record(repeat).key for repeat in (1, 2)}
    assert kept.keep(first, keys, folder) == 2 and kept.keep(first, keys, folder) == 0
    assert kept.keep(first, {record(3).key}, folder) == 1
    assert {path.suffix for path in folder.iterdir()} == {".json", ".parquet"}
    second = Store(tmp_path / "second")
    second.add(record(2))
    for _ in range(2):
        kept.take(folder, second)
        assert sorted(one.job.repeat for one in second) == [1, 2, 3]
    kept.take(tmp_path / "nothing", second)


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "docs" / "results" / "runs").glob("*/")), ids=lambda path: path.name
)
def test_kept_records_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = Store(folder, must_exist=True).latest()
    assert records and not capsys.readouterr().err
