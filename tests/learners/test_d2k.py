from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsl_bench.core.types import BLANK, ConceptSpace, Predictions
from nsl_bench.learners.d2k import confidence, weighted_examples
from nsl_bench.learners.view import View
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.testing.toy import patches


def predictions(confidences: list[list[float | None]]) -> Predictions:
    """Predictions of the first of three concepts with these confidences; None is a blank slot."""
    blank = np.array([[c is None for c in row] for row in confidences])
    top = np.array([[c or 0.0 for c in row] for row in confidences], np.float32)
    rest = np.where(blank, 0, (1 - top) / 2)
    return Predictions(np.stack([top, rest, rest], axis=2).astype(np.float32), blank)


def test_t_norms() -> None:
    seen = predictions([[0.9, 0.5], [0.75, None], [None, None]]).confidence
    assert confidence(seen).tolist() == pytest.approx([0.5, 0.75, 1.0])
    assert confidence(seen, "product").tolist() == pytest.approx([0.45, 0.75, 1.0])
    assert confidence(seen, "lukasiewicz").tolist() == pytest.approx([0.4, 0.75, 1.0], abs=1e-6)
    assert confidence(predictions([[0.4, 0.4]]).confidence, "lukasiewicz").tolist() == pytest.approx([0.0])


@given(st.lists(st.floats(0.34, 1), min_size=1, max_size=6))
def test_t_norms_are_ordered(row: list[float]) -> None:
    seen = predictions([row]).confidence
    lukasiewicz, product, goedel = (
        confidence(seen, norm)[0] for norm in ("lukasiewicz", "product", "goedel")
    )
    assert lukasiewicz <= product + 1e-6 and product <= goedel + 1e-6


def test_examples_of_a_split() -> None:
    split = patches().take(np.arange(3))
    split.concepts[:] = [[0, BLANK], [0, 0], [0, 0]]
    split.labels[:] = [0, 1, 0]
    seen = predictions([[0.999, None], [0.5, 0.75], [1.0, 1.0]])
    view = View(split, Patches(), "pretrained", predictions=seen)
    examples = weighted_examples(view)
    assert [example.penalty for example in examples] == [100, 51, 101]
    assert [example.id for example in examples] == ["train-0", "train-1", "train-2"]
    assert examples[0].inclusions == () and examples[0].exclusions == ("differ",)
    assert examples[1].inclusions == ("differ",) and examples[1].exclusions == ()
    shelf = split.metadata["shelf"]
    assert examples[0].context == ("patch(left,dark)", f"shelf({shelf[0]})")
    assert examples[1].context == ("patch(left,dark)", "patch(right,dark)", f"shelf({shelf[1]})")
    assert {example.penalty for example in weighted_examples(view, "constant", 7)} == {7}
    assert view.weights.tolist() == [100, 51, 101]


def test_an_image_predicted_as_background_makes_no_example() -> None:
    class WithBackground(Patches):
        concept_space = ConceptSpace("shade", ("dark", "grey", "bright"), background="bright")

    split = patches()
    certain = Predictions.certain(split.concepts, 3)
    view = View(split, WithBackground(), "pretrained", predictions=certain)
    kept = ~(split.concepts == 2).any(axis=1)
    assert [example.id for example in weighted_examples(view)] == [f"train-{i}" for i in np.flatnonzero(kept)]
    assert view.weights.tolist() == np.where(kept, 101, 0).tolist()
