"""Whatever is changed in what the program reads, it is used, or gets one sentence and exit code 1 or 2.

No traceback, no signal, under 1 GB and 60 s a case: each is a process of its own (`forked`).
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import SECONDS, Calls
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import COMMANDS, Edit, change, edits, files_of, resign

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

FEW, MANY = 150, 10_000
"""Cases of `make test`, and of the nightly run, over all kinds."""

SHARES = dict.fromkeys(COMMANDS, 0.1) | {"submission": 0.3, "results": 0.2}
MOST_BYTES = 10**9


@pytest.fixture(scope="session")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("materials")


@pytest.fixture(scope="session")
def warm(top: Path, together: Path) -> Iterator[Calls]:
    warm = Calls(top, "mutations:prepare", str(top), str(together / "materials"))
    assert all(found["code"] == 0 for found in warm.prepared.values()), warm.prepared
    yield warm
    warm.close()


class Tally:
    """What became of the cases of a kind."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.seconds, self.peak = 0.0, 0

    def add(self, done: dict[str, Any]) -> None:
        died = any(" crashed " in said for said in done["given"]["said"])
        self.ends[f"exit code {done['given']['code']}" + (", a child died" if died else "")] += 1
        self.seconds, self.peak = max(self.seconds, done["wall"]), max(self.peak, done["peak"])

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {end}" for end, count in sorted(self.ends.items()))
        return f"{ends}; at most {self.seconds:.1f} s and {self.peak / 1e6:.0f} MB"


def check(
    kind: str, warm: Calls, top: Path, *, place: int, which: int, changes: list[Edit], signed: bool
) -> dict[str, Any]:
    """Change a file of a material, and see that what the program says to it is right."""
    with tempfile.TemporaryDirectory(dir=top) as beside:
        folder = Path(shutil.copytree(top / kind, Path(beside, kind)))
        files = files_of(folder)
        path = files[place % len(files)]
        # Columns first: this process must not read a file of which bytes were changed.
        for edit in sorted(changes, key=lambda edit: edit[0] != "column"):
            change(path, edit)
        if kind == "submission" and signed and path.name != "submission.json":
            resign(folder)
        untouched = len(_records(folder) & _records(top / kind))
        done = warm.call("mutations:answer", str(top), kind, str(folder), which)
    assert not done["signal"] and not done["trace"], done
    assert done["wall"] < SECONDS and done["peak"] < MOST_BYTES, done
    found = done["given"]
    told = "\n".join(found["said"])
    assert not found["trace"], found["trace"]
    assert found["code"] in (0, 1, 2), found
    assert "Traceback" not in told and "] failed:" not in told, told
    if kind == "submission":
        assert "memory allowed" not in told and "60 s allowed" not in told, told
        if found["code"] == 1:
            assert told.count("\n- ") >= 1
        elif found["code"] == 0 and not signed:
            assert found["scores"] == warm.prepared["submission"]["scores"]
        elif found["code"] == 0:
            for line in found["scores"].splitlines():
                metrics = json.loads(line).get("metrics", {}).values()
                assert all(isinstance(value, float) and abs(value) < 1e9 for value in metrics)
    if kind == "results" and found["code"] == 0:
        # The records that were not touched are used whatever the others hold.
        rows = [said for said in found["said"][0].splitlines() if said.startswith("sudoku_4x4")]
        assert rows or untouched < 2
    return done


def _records(folder: Path) -> set[bytes]:
    path = folder / "records.jsonl"
    return set(path.read_bytes().splitlines()) if path.is_file() else set()


def cases(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What a case of a kind is drawn from."""
    return given(
        place=st.integers(0, 50),
        which=st.integers(0, 11),
        changes=edits(),
        signed=st.booleans() if kind == "submission" else st.just(False),
    )


@pytest.mark.parametrize("kind", COMMANDS)
def test_changes_get_a_sentence(kind: str, warm: Calls, top: Path) -> None:
    @settings(max_examples=round(FEW * SHARES[kind]))
    @cases(kind)
    def run(**drawn: Any) -> None:
        check(kind, warm, top, **drawn)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMMANDS)
def test_many_changes_get_a_sentence(kind: str, warm: Calls, top: Path) -> None:
    """10,000 cases; half an hour of CPU time. What fails is collected, not the first of it made small."""
    tally, failures = Tally(), []

    @settings(max_examples=round(MANY * SHARES[kind]), derandomize=False, database=None)
    @cases(kind)
    def run(**drawn: Any) -> None:
        try:
            tally.add(check(kind, warm, top, **drawn))
        except AssertionError as error:
            failures.append(f"{drawn}: {str(error)[:3000]}")
            print(f"\n{kind}: {failures[-1]}", flush=True)

    run()
    print(f"\n{kind}: {tally}")
    assert not failures, f"{len(failures)} failures, the first ones:\n" + "\n\n".join(failures[:10])
