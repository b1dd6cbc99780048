from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from nsl_bench import registry
from nsl_bench.cli import main
from nsl_bench.data.splits import make_source
from nsl_bench.errors import UserError
from nsl_bench.report.gallery import severities


@pytest.mark.parametrize(
    ("task", "source", "rows"),
    [
        ("crop_yield", "drawn_leaves:image_size=32,images_per_concept=4", 2 + 13),
        ("indoor_scene", "drawn_rooms:image_size=32,images_per_concept=4", 2 + 13),
        ("sudoku_4x4", "sklearn_digits", 2 + 12),
        ("follow_suit", "drawn_decks:image_height=48,image_width=32,images_per_card=4", 6 + 13),
    ],
)
def test_every_shift_and_severity(task: str, source: str, rows: int, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    words = ["gallery", task, "--source", source, "--out", str(out)]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 0 and str(out) in result.output
    page = np.asarray(Image.open(out))
    height = make_source(registry.create("benchmark", task), source).shape[0]
    assert page.shape[0] == -(-rows // 2) * (height + 16) + 4
    assert page.std() > 10


def test_every_concept(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    source = "drawn_leaves:image_size=32,images_per_concept=4"
    words = ["gallery", "crop_yield", "--source", source, "--concepts", "--images", "2", "--out", str(out)]
    assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 0
    assert Image.open(out).height == -(-39 // 6) * 48 + 4


def test_severities_are_those_that_change_something() -> None:
    digits = registry.create("benchmark", "sudoku_4x4")
    found = severities(digits, make_source(digits))
    assert "saturate" not in found and found["fog"] == tuple(f"fog:severity={k}" for k in range(1, 6))


@pytest.mark.parametrize(("out", "what"), [("x.jpg", "must end in .png"), ("no/x.png", "does not exist")])
def test_a_bad_place(out: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=what):
        CliRunner().invoke(
            main, ["gallery", "crop_yield", "--out", str(tmp_path / out)], catch_exceptions=False
        )
