"""Imports point downwards: the order of layers is written in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_imports_point_downwards() -> None:
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    root = Path(__file__).parents[1]
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-3000:]
