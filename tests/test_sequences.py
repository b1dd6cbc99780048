"""Sequences: whole ones are taken, shifted and sampled; what cuts one is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsl_bench.core.metrics import METRICS, Answers, compute
from nsl_bench.core.sequences import all_of, check_sequences, joined, mean_of, sequences_of
from nsl_bench.core.types import ConceptSpace, Split

SPACE = ConceptSpace("digit", ("0", "1"))


def sequential(lengths: list[int]) -> Split:
    steps = np.concatenate([np.arange(1, length + 1) for length in lengths]).astype(np.int32)
    rows, concepts = np.arange(len(steps)), (np.arange(len(steps)) % 2).astype(np.int16)[:, None]
    order = {"sequences": sequences_of(steps), "steps": steps}
    return Split("test", SPACE, concepts, np.zeros(len(steps), np.int16), {"row": rows}, **order)


def test_rows_are_sequences_of_their_own_by_default() -> None:
    split = Split("test", SPACE, np.zeros((3, 1), np.int16), np.zeros(3, np.int16))
    assert not split.is_sequential and split.n_sequences == 3
    assert split.sequences.tolist() == [0, 1, 2] and split.steps.tolist() == [1, 1, 1]
    assert (split[2].sequence, split[2].step) == (2, 1)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_whole_sequences_are_shifted_at_every_share(lengths: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(lengths))))
    split = sequential(lengths).ranked(np.array(order))
    percent = data.draw(st.floats(0, 100))
    shifted = split.shift(percent).shifted
    per_sequence = [shifted[split.sequences == k] for k in range(len(lengths))]
    assert all(rows.all() or not rows.any() for rows in per_sequence)
    assert sum(rows.all() for rows in per_sequence) == int(np.floor(percent * len(lengths) / 100 + 0.5))
    assert sorted(split.ranks.tolist()) == list(range(len(split)))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_sequences_are_taken_whole(lengths: list[int], data: st.DataObject) -> None:
    split = sequential(lengths).shift(50)
    which = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=10))
    taken = split.take_sequences(np.array(which, int))
    expected = [row for k in which for row in np.flatnonzero(split.sequences == k).tolist()]
    assert taken.metadata["row"].tolist() == expected
    assert taken.shifted.tolist() == split.shifted[expected].tolist()
    assert taken.n_sequences == len(which)


@pytest.mark.parametrize("rows", [[0], [1, 2], [0, 2], [0, 3, 4], [0, 1, 3], [1, 0, 2]])
def test_a_cut_sequence_is_refused(rows: list[int]) -> None:
    with pytest.raises(ValueError, match="take whole sequences"):
        sequential([3, 2]).take(np.array(rows))


@pytest.mark.parametrize(
    ("sequences", "steps", "said"),
    [
        ([0, 0, 1], [1, 3, 1], "row 1 is step 3 of sequence 0, but step 2 must come next"),
        ([0, 0], [2, 3], "row 0 is step 2 of sequence 0, but step 1 must come next"),
        ([0, 0, 0], [2, 1, 3], "row 0 is step 2"),
        ([0, 1, 0], [1, 1, 2], "row 2 is step 2 of sequence 0, but step 1 must come next"),
        ([0, 2], [1, 1], "row 1 begins sequence 2, but sequence 1 must come next"),
    ],
)
def test_steps_out_of_order_are_refused(sequences: list[int], steps: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_sequences(np.array(sequences), np.array(steps))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_scores_of_sequences_have_the_mean_of_the_rows(lengths: list[int], data: st.DataObject) -> None:
    split = sequential(lengths)
    right = np.array(data.draw(st.lists(st.booleans(), min_size=len(split), max_size=len(split))))
    assert np.isclose(mean_of(split.steps, right.astype(float)).mean(), right.mean())
    each = [right[split.sequences == k].all() for k in range(len(lengths))]
    assert all_of(split.steps, right).tolist() == each
    side_by_side = joined(split.steps, split.concepts, -1)
    assert side_by_side.shape == (len(lengths), max(lengths))
    assert side_by_side[side_by_side >= 0].tolist() == split.concepts[:, 0].tolist()


def test_metrics_of_sequences() -> None:
    split = sequential([2, 2, 2, 2])
    predicted = split.labels.copy()
    predicted[0] = 1
    labels, images = split.labels.astype(np.int64), np.full(8, 2)
    answers = Answers(labels, predicted, ("a", "b"), steps=split.steps, images=images)
    found = compute(METRICS, answers)
    assert found["framework_accuracy"] == 7 / 8 and found["sequence_accuracy"] == 3 / 4
    assert np.isclose(found["effective_image_accuracy"] ** 4, 3 / 4)
    assert "hypothesis_sequence_accuracy" not in found
    plain = compute(METRICS, replace(answers, steps=None))
    assert not {name for name in plain if "sequence" in name or "effective" in name}
