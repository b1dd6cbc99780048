from __future__ import annotations

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.types import BLANK, Split
from nsl_bench.data.card import distinct_images, reuse
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.run.mock_tasks import SHADES


def test_different_images_are_counted_once_and_blanks_never() -> None:
    images = np.array([[4, 2], [2, BLANK], [4, 4]], np.int32)
    concepts = np.where(images == BLANK, BLANK, 0).astype(np.int16)
    split = Split("test", SHADES, concepts, np.zeros(3, np.int16), images=images)
    assert distinct_images(split) == 2
    assert reuse(split) == "3 examples with 2 different images in 5 slots"


def test_a_thousand_grids_rest_on_89_digits() -> None:
    task = registry.create("benchmark", "sudoku_4x4")
    source = make_source(task)
    test = make_split(task, source, "test")
    assert distinct_images(test) == len(source.labels("b")) == 89
    assert reuse(test).startswith("1,000 examples with 89 different images in ")
