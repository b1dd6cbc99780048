"""What needs no sandbox works without what Linux alone has."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock


@pytest.fixture(scope="module")
def told(together: Path) -> dict[str, Any]:
    """What a process says that lacks it (`tests/elsewhere.py`)."""
    folder = together / "elsewhere"
    with FileLock(together / "elsewhere.lock"):
        if not (folder / "told.json").is_file():
            folder.mkdir(exist_ok=True)
            script = Path(__file__).with_name("elsewhere.py")
            words = [sys.executable, "-P", str(script)]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    return found


def test_every_module_can_be_imported(told: dict[str, Any]) -> None:
    assert told["imports"] == {}


def test_every_command_has_help(told: dict[str, Any]) -> None:
    assert len(told["helps"]) > 20
    assert {name: end for name, end in told["helps"].items() if end["code"] != 0} == {}


@pytest.mark.parametrize("name", ["list", "doctor", "learn", "run", "report", "compact"])
def test_a_command_works(told: dict[str, Any], name: str) -> None:
    assert told["done"][name]["code"] == 0, told["done"][name]


def test_learning_needs_no_child_process(told: dict[str, Any]) -> None:
    answer = json.loads(told["done"]["learn"]["out"])
    assert (answer["status"], sorted(answer["hypothesis"])) == ("optimal", ["p :- r.", "q :- not r."])


def test_the_sandbox_says_what_it_needs(told: dict[str, Any]) -> None:
    ended = told["done"]["sandboxed run"]
    assert ended["code"] == 2
    assert ended["err"].splitlines()[-1] == (
        "nsl-bench: The sandbox needs Linux or macOS; use --isolation none to run learners without it."
    )
    assert "The sandbox needs Linux or macOS" in told["done"]["doctor"]["out"]


def test_examples_can_be_loaded(told: dict[str, Any]) -> None:
    assert [len(concepts) for concepts in told["rows"]] == [16, 16]
