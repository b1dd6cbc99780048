"""A corrected data set is a new version; the old one can still be made and says what supersedes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER_PACKAGE = """
import numpy as np
from nsl_bench.generators.tasks.follow_suit import FollowSuit


class Tricks(FollowSuit):
    version = "2.0.0"

    def __init__(self):
        super().__init__()
        self.name = "tricks"


class OldTricks(Tricks):
    version = "1.0.0"
    superseded_by = "tricks 2.0.0"
"""


@pytest.fixture
def other_package(tmp_path: Path) -> Path:
    (tmp_path / "other.py").write_text(OTHER_PACKAGE)
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[nsl_bench.benchmarks]\ntricks = other:Tricks\ntricks@1.0.0 = other:OldTricks\n"
    )
    return tmp_path


CODE = """
from pathlib import Path
from nsl_bench.core import registry
from nsl_bench import UserError
from nsl_bench.data.generate import generate
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import Recipe

small = {"train": 2, "test": 2, "repeats": 1, "shifts": ("noir",), "images": "used"}
source = "drawn_decks:images_per_card=4,image_height=34,image_width=22"
for name in ("tricks", "tricks@1.0.0", "tricks@2.0.0"):
    made = generate(Recipe(name, source=source, **small), Path(name))
    print(made.tag, made.superseded_by)
card = Path("tricks@1.0.0/README.md").read_text()
assert "superseded by tricks 2.0.0" in card
again = generate(Recipe.read(Path("tricks@1.0.0/manifest.json")), Path("again"))
assert again == Manifest.read(Path("tricks@1.0.0")) and again.version == "1.0.0"
try:
    registry.create("benchmark", "tricks@3.0.0")
except UserError as error:
    print(error)
"""


def test_an_old_version_is_made_and_says_what_supersedes_it(other_package: Path) -> None:
    path = os.pathsep.join([str(other_package), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": path},
        cwd=other_package,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "v2.0.0 None",
        "v1.0.0 tricks 2.0.0",
        "v2.0.0 None",
        "The benchmark 'tricks' has no version 3.0.0; there is 1.0.0 and 2.0.0.",
    ]
