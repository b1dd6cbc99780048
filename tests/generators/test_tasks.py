"""The tasks pass the tests that anybody's task passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nsl_bench.testing import LearnerTests, NetworkTests, ShiftTests, SourceTests, TaskTests


class TestFollowSuit(TaskTests):
    spec = "follow_suit"


class TestSudoku(TaskTests):
    spec = "sudoku_4x4"


class TestCropYield(TaskTests):
    spec = "crop_yield"
    few = True


class TestIndoorScene(TaskTests):
    spec = "indoor_scene"
    few = True


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
