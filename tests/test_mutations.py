"""Whatever is changed in what the program reads, it is used, or gets one sentence and exit code 1 or 2.

No traceback, no signal, under 1 GB and 60 s a case. Submissions and tasks are strangers' and go through the
command as it is, which has limits of its own; the rest is read in a child that may die, and must not.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import KINDS, Edit, answer, change, edits, files_of, materials, resign

from nsl_bench.isolation.guard import Allowance, guarded

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

FEW, MANY = 300, 10_000
"""Cases of `make test`, and of the nightly run, over all kinds."""

SHARES = {
    "submission": 0.3,
    "results": 0.2,
    "compacted": 0.1,
    "data": 0.1,
    "recipe": 0.1,
    "plan": 0.1,
    "task": 0.1,
}
OWN_LIMITS = ("submission", "task")
ALLOWANCE = Allowance(60.0, 1 << 30)


@pytest.fixture(scope="session")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("materials")
    materials(folder)
    return folder


@pytest.fixture(scope="session")
def plain(top: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the program says to each material as it is."""
    found = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp("plain") / kind
        shutil.copytree(top / kind, folder)
        found[kind] = asked(kind, folder, top)
        assert found[kind]["code"] == 0, found[kind]
    return found


def asked(kind: str, folder: Path, top: Path) -> dict[str, Any]:
    """The program's answer to a folder, and the scores that it writes."""
    words = kind, str(folder), str(top / "board.toml")
    if kind in OWN_LIMITS:
        found = answer(*words)
    else:
        found = guarded(answer, *words, doing=f"Reading the changed {kind}", allowance=ALLOWANCE)
    scores = folder.with_name(f"{folder.name}.scores")
    return {**found, "scores": scores.read_text() if scores.is_file() else ""}


def check(kind: str, place: int, changes: list[Edit], signed: bool, top: Path, plain: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(dir=top) as beside:
        folder = Path(shutil.copytree(top / kind, Path(beside, kind)))
        files = files_of(folder)
        path = files[place % len(files)]
        for edit in changes:
            change(path, edit)
        if kind == "submission" and signed and path.name != "submission.json":
            resign(folder)
        found = asked(kind, folder, top)
    told = "\n".join(found["said"])
    assert not found["trace"], found["trace"]
    assert found["code"] in (0, 1, 2), found
    assert "Traceback" not in told and "failed:" not in told, told
    if kind == "submission":
        assert "memory allowed" not in told and "60 s allowed" not in told, told
        if found["code"] == 1:
            assert told.count("\n- ") >= 1
        elif found["code"] == 0 and not signed:
            assert found["scores"] == plain["submission"]["scores"]
        elif found["code"] == 0:
            metrics = [
                value
                for line in found["scores"].splitlines()
                for value in json.loads(line)["metrics"].values()
            ]
            assert all(isinstance(value, float) and abs(value) < 1e9 for value in metrics)
    if kind in ("results", "compacted") and found["code"] == 0:
        # The records that were not touched are used whatever the others hold.
        rows = [said for said in found["said"][0].splitlines() if said.startswith("sudoku_4x4")]
        assert rows or len(changes) > 1 or path.name != "records.jsonl"


def drawn(kind: str) -> Any:
    return given(
        place=st.integers(0, 50),
        changes=edits(),
        signed=st.booleans() if kind == "submission" else st.just(False),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_changes_get_a_sentence(kind: str, top: Path, plain: dict[str, Any]) -> None:
    @settings(max_examples=round(FEW * SHARES[kind]))
    @drawn(kind)
    def run(place: int, changes: list[Edit], signed: bool) -> None:
        check(kind, place, changes, signed, top, plain)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_changes_get_a_sentence(kind: str, top: Path, plain: dict[str, Any]) -> None:
    @settings(max_examples=round(MANY * SHARES[kind]), derandomize=False)
    @drawn(kind)
    def run(place: int, changes: list[Edit], signed: bool) -> None:
        check(kind, place, changes, signed, top, plain)

    run()
