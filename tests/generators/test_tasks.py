"""The tasks pass the tests that anybody's task passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nsl_bench.testing import LearnerTests, NetworkTests, ShiftTests, SourceTests, TaskTests


class TestFollowSuit(TaskTests):
    spec = "follow_suit"


TASKS: dict[str, dict[str, object]] = {
    "sudoku_4x4": {},
    "sudoku_4x4:folds=5": {"size": 320},
    "crop_yield": {"few": True},
    "indoor_scene": {"few": True},
    "addition": {},
    "addition:digits=10,test=60": {},
    "addition:images=train,test=60": {},
    "hanoi:test=60": {"few": True},
    "hanoi:disks=7,window=5,test=60": {"few": True},
    "eleusis:concept=hidden_modulo,ranks=7": {"few": True},
    "uci": {"few": True},
    "zoo": {"few": True, "size": 80},
    "zoo:features=16": {"few": True, "size": 80},
}
"""What each task's tests are told of it."""

for _spec, _told in TASKS.items():
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (TaskTests,), {"spec": _spec, **_told})


@pytest.mark.parametrize("case", [LearnerTests, NetworkTests, ShiftTests, SourceTests, TaskTests])
def test_only_derived_classes_are_collected(case: type) -> None:
    assert case.__test__ is False and TestFollowSuit.__test__ is True


WITHOUT_PYTEST = "import sys; sys.modules['pytest'] = None; import nsl_bench.testing"


def test_without_pytest_a_sentence_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST], capture_output=True, text=True, cwd=tmp_path
    )
    sentence = "nsl_bench.testing needs pytest; install it with `pip install nsl-bench[testing]`."
    assert done.stderr.endswith(f"{sentence}\n")
