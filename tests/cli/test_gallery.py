from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw

from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.source import ImageSource
from nsl_bench.data.splits import make_source
from nsl_bench.report import gallery
from nsl_bench.report.gallery import severities


@pytest.mark.parametrize(
    ("task", "source", "blocks"),
    [
        ("crop_yield", "drawn_leaves:image_size=32,images_per_concept=4", 2 + 13 + 4),
        ("indoor_scene", "drawn_rooms:image_size=32,images_per_concept=4", 2 + 13 + 4),
        ("sudoku_4x4", "sklearn_digits", 2 + 12 + 3),
        ("follow_suit", "drawn_decks:image_height=48,image_width=32,images_per_card=4", 6 + 13 + 4),
    ],
)
def test_every_shift_and_severity(task: str, source: str, blocks: int, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    words = ["gallery", task, "--source", source, "--out", str(out)]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 0 and str(out) in result.output
    page = np.asarray(Image.open(out))
    assert page.std() > 10
    pool = make_source(registry.create("benchmark", task), source)
    captions = shown(registry.create("benchmark", task), pool)
    assert len(captions) == blocks
    told = " ".join(captions)
    fitting = {*registry.names("shift")} - {"adversarial", "deck_swap"}
    fitting -= set() if pool.shape[2] == 3 else {"hue", "saturate"}
    assert [name for name in fitting if name not in told and name not in ("hue", "rotate")] == []


def shown(task: Benchmark, source: ImageSource) -> list[str]:
    """The captions of a sheet of shifts."""
    captions: list[str] = []

    def note(blocks: list[tuple[str, object]], width: int, columns: int) -> Image.Image:
        captions.extend(caption for caption, _ in blocks)
        return Image.new("RGB", (1, 1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "_captioned", note)
        gallery.shifts_sheet(task, source)
    return captions


@pytest.mark.parametrize("width", [1, 3, 12])
@pytest.mark.parametrize("columns", [1, 2, 7])
def test_captions_are_whole_and_keep_to_their_block(
    width: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "a",
        "Corn_(maize)___Cercospora_leaf_spot Gray_leaf_spot",
        "x" * 60,
        "hue 0.1, 0.2, 0.3, 0.4, 0.5",
    ]
    written: list[tuple[float, float, str]] = []
    text = ImageDraw.ImageDraw.text

    def note(pen: ImageDraw.ImageDraw, place: tuple[float, float], line: str, **more: Any) -> None:
        left, top, right, _ = pen.textbbox(place, line, font=more["font"])
        written.append((left, right, line))
        assert top >= 0
        text(pen, place, line, **more)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", note)
    images = np.zeros((width, 28, 28, 3), np.uint8)
    page = gallery._captioned([(name, images) for name in names], width, columns)
    squeezed = {"".join(line for _, _, line in written).replace(" ", "")}
    block = (page.width - 4) / columns
    assert all(left // block == (right - 1) // block or right <= left for left, right, _ in written)
    assert all(right <= page.width for _, right, _ in written)
    assert sorted(squeezed.pop()) == sorted("".join(names).replace(" ", ""))


def test_every_concept(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    source = "drawn_leaves:image_size=32,images_per_concept=4"
    words = ["gallery", "crop_yield", "--source", source, "--concepts", "--images", "2", "--out", str(out)]
    assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 0
    assert Image.open(out).height >= -(-39 // 6) * (32 + 4 + 18)


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
