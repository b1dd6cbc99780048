"""The script that makes the structural-shift curves, on few runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_is_not_applicable_and_where_ffnsl_is_behind(tmp_path: Path) -> None:
    words = ["follow_suit", "--repeats", "1", "--share", "0", "--jobs", "1", "--docs", tmp_path / "docs"]
    words += ["--results", tmp_path / "runs"]
    for learner in ("ffnsl", "random_forest", "majority"):
        words += ["--learner", learner]
    script = ROOT / "benchmarks" / "structure.py"
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "structure.md").read_text(encoding="utf-8")
    assert "Nowhere in these runs." in page
    accuracy = next(line for line in page.splitlines() if line.startswith("| ffnsl"))
    assert accuracy.count("1.000") == 4
    assert page.count("not applicable") >= 3
    assert list((tmp_path / "docs" / "structure").rglob("*.png"))
    again = subprocess.run([sys.executable, script, *words, "--page"], capture_output=True, text=True)
    assert again.returncode == 0 and "ok:" not in again.stdout
