"""The commands `gallery` and `train`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw

from nsl_bench.cli import main
from nsl_bench.core import cache, registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.source import ImageSource
from nsl_bench.data.splits import make_source
from nsl_bench.perception import trained_networks
from nsl_bench.perception.network import header_of
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
    names = ["a", "Corn_(maize)___Cercospora_leaf_spot Gray_leaf_spot", "x" * 60]
    names.append("hue 0.1, 0.2, 0.3, 0.4, 0.5")
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
    words = ["gallery", "crop_yield", "--out", str(tmp_path / out)]
    with pytest.raises(UserError, match=what):
        CliRunner().invoke(main, words, catch_exceptions=False)


# Training.

QUICK = ["train", "sudoku_4x4", "--images-per-concept", "4", "--epochs", "1"]


def test_train_prints_accuracies_and_lists_the_file(tmp_path: Path) -> None:
    (tmp_path / trained_networks.INDEX).write_text("[]")
    out = tmp_path / "small.safetensors"
    result = CliRunner().invoke(main, [*QUICK, "--seed", "3", "--out", str(out)])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert [line[0] for line in lines[:2]] == ["standard", "rotate90"]
    assert all(0 <= float(line[1]) <= 1 for line in lines[:2])
    header = header_of(out)
    assert header["details"]["training"]["images"] == 16
    assert header["details"]["accuracy"]["standard"] == pytest.approx(float(lines[0][1]), abs=1e-4)
    assert "seed=3" in (tmp_path / trained_networks.INDEX).read_text()


def test_train_leaves_the_network_where_runs_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert CliRunner().invoke(main, QUICK).exit_code == 0
    benchmark = registry.create("benchmark", "sudoku_4x4")
    trained_networks.trained("softmax:images_per_concept=4,epochs=1", benchmark, make_source(benchmark))
    assert "Training" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sudoku_4"], "Unknown benchmark 'sudoku_4'"),
        (["sudoku_4x4", "--network", "softmx"], "Unknown network 'softmx'"),
        (["sudoku_4x4", "--network", "softmax:epoch=3"], "has no option 'epoch'"),
        (["sudoku_4x4", "--out", "nowhere/w.safetensors"], "the folder nowhere does not exist"),
        (["sudoku_4x4", "--device", "abacus", "--epochs", "1"], "device 'abacus' cannot be used"),
        (["sudoku_4x4", "--network", "softmax:seed=-1"], "softmax: seed must be between 0"),
    ],
)
def test_bad_training(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        CliRunner().invoke(main, ["train", *arguments], catch_exceptions=False)
