"""Every benchmark's examples can be looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from nsl_bench.generators.tasks.follow_suit import FollowSuit
from nsl_bench.generators.tasks.sudoku import Sudoku
from PIL import Image

from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import named_shifts
from nsl_bench.data.show import sheet
from nsl_bench.data.splits import make_source, symbolic_split
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative, patches

from .conftest import BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_drawn_standard_and_shifted(name: str, tmp_path: Path) -> None:
    task = registry.create("benchmark", name)
    shift = next(iter(named_shifts(task, make_source(task))))
    pages = []
    for words in ([], ["--shift", shift]):
        out = tmp_path / f"{len(words)}.png"
        done = CliRunner().invoke(main, ["show", name, "--n", "3", "--out", str(out), *words])
        assert done.exit_code == 0, done.exception
        pages.append(np.asarray(Image.open(out)))
    assert pages[0].shape == pages[1].shape and pages[0].std() > 5
    assert (pages[0] != pages[1]).any(axis=2).mean() > 0.05


def test_the_images_of_an_example_are_on_the_page() -> None:
    source, split = PatchSource(3, 44), patches(percent=50).take(np.arange(7))
    page = np.asarray(sheet(Patches(), source, Negative(), split, columns=2))
    assert page.shape[2] == 3 and len(np.unique(page.reshape(-1, 3), axis=0)) > 50
    # Red frames mark nothing in a task that does not say what decides the label.
    assert not (page == (208, 60, 44)).all(axis=2).any()


def test_what_decides_the_label_is_marked() -> None:
    tricks = symbolic_split(FollowSuit(), "test").take(np.arange(30))
    assert all(FollowSuit().marked(c, k) == (k,) for c, k in zip(tricks.concepts, tricks.labels, strict=True))
    task = Sudoku(2, 3)
    grids = symbolic_split(task, "test").take(np.arange(100))
    for concepts, label in zip(grids.concepts, grids.labels.tolist(), strict=True):
        cells = task.marked(concepts, label)
        assert (len(cells) > 1) == bool(label)
        assert len({int(concepts[cell]) for cell in cells}) == bool(label)


def test_more_columns_than_examples(tmp_path: Path) -> None:
    line = ["show", "sudoku_4x4", "--n", "2", "--columns", "100000000", "--out", str(tmp_path / "page.png")]
    assert CliRunner().invoke(main, line).exit_code == 0
    assert Image.open(tmp_path / "page.png").width < 1500


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--percent", "50"], "name one with --shift"),
        (["--shift", "rotat90"], "Did you mean 'rotate90'"),
        (["--out", "page.text"], "ending of an image format"),
        (["--out", "page.psd"], "ending of an image format"),
        (["--n", "400", "--columns", "1"], "at most 65500 pixels per side"),
    ],
)
def test_wrong_words(words: list[str], sentence: str, tmp_path: Path) -> None:
    line = ["show", "sudoku_4x4", "--out", str(tmp_path / "page.png"), *words]
    done = CliRunner().invoke(main, line)
    assert isinstance(done.exception, UserError) and sentence in str(done.exception)
