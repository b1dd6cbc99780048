"""Whatever is asked for: shifted examples are their standard twins, and those shifted at p % nest."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.tasks.follow_suit import CARDS, RANK_VALUES, FollowSuit
from nsl_bench.generators.tasks.sudoku import Sudoku

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.logic.inference.crisp import crisp_labels

from .conftest import BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 40), percents=st.lists(st.floats(0, 100), min_size=2))
@settings(max_examples=3)
def test_every_example_of_every_benchmark(name: str, seed: int, n: int, percents: list[float]) -> None:
    task: Benchmark = copy.copy(registry.create("benchmark", name))
    task.test_size = 10
    source = make_source(task)
    split = make_split(task, source, "train", str(n), 1, seed=seed)
    before = np.zeros(len(split), np.bool_)
    for percent in sorted(percents):
        shifted = split.shift(percent)
        assert shifted.shifted[split.first_rows].sum() == int(np.floor(percent * n / 100 + 0.5))
        assert not (before & ~shifted.shifted).any()
        before = shifted.shifted
        for example, twin in zip(shifted, split, strict=True):
            assert replace(example, images=(), shifted=False) == replace(twin, images=())
            pairs = zip(example.images, twin.images, strict=True)
            assert all(a == b or (a and b and a.index == b.index) for a, b in pairs)
    assert split.n_sequences == n and sorted(split.ranks.tolist()) == list(range(len(split)))
    shown = split.images != BLANK
    assert np.array_equal(shown, split.concepts != BLANK)
    assert np.array_equal(source.labels(split.pool)[split.images[shown]], split.concepts[shown])
    if not task.true_rule:  # nobody knows it
        return
    contexts = task.contexts(split.concepts, split.metadata, split.steps)
    labels = crisp_labels([task.true_rule], task.background, contexts, task.labels)
    assert np.array_equal(labels, split.labels)


@given(seed=st.integers(0, 2**32), players=st.integers(2, 13), suits=st.integers(1, 4), n=st.integers(1, 80))
@settings(max_examples=15)
def test_every_trick(seed: int, players: int, suits: int, n: int) -> None:
    task = FollowSuit(players, suits)
    assert registry.create("benchmark", task.name).name == task.name
    split = symbolic_split(task, "train", str(n), 1, seed=seed)
    assert split.concepts.shape == (n, players)
    for example in split:
        cards = list(example.concepts)
        assert len(set(cards)) == players and set(cards) <= set(CARDS.concepts[: 13 * suits])
        following = [(RANK_VALUES[card[:-1]], p) for p, card in enumerate(cards) if card[-1] == cards[0][-1]]
        assert max(following)[1] == example.label


@given(
    seed=st.integers(0, 2**32),
    block=st.sampled_from([(2, 2), (2, 3), (3, 2), (3, 3)]),
    invalid=st.integers(0, 100),
    shares=st.tuples(*[st.integers(0, 3)] * 3).filter(any),
)
@settings(max_examples=4)
def test_every_grid(seed: int, block: tuple[int, int], invalid: int, shares: tuple[int, int, int]) -> None:
    task = Sudoku(*block, "grid", invalid, *shares)
    assert registry.create("benchmark", task.name).name == task.name
    split = symbolic_split(task, "train", "40", 1, seed=seed)
    told = task.knowledge_features(split.concepts, {}).astype(bool)
    assert np.array_equal(told.any(axis=1), split.labels == 1)
    assert split.labels.sum() == 40 * invalid // 100
    kinds = Counter(np.flatnonzero(row)[0] for row in told if row.any())
    assert all(row.sum() <= 1 for row in told)
    for kind, share in enumerate(shares):
        assert abs(kinds[kind] - split.labels.sum() * share / sum(shares)) < 1


@pytest.mark.slow
def test_a_grid_of_sixteen() -> None:
    task = registry.create("benchmark", "sudoku:block_rows=4,block_columns=4")
    split = make_split(task, make_source(task), "train", "6", 1)
    assert split.concepts.shape == (6, 256) and split.concepts.max() <= 15
    assert np.array_equal(task.knowledge_features(split.concepts, {}).any(axis=1), split.labels == 1)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("follow_suit:suits=5", "suits must be between 1 and 4; got 5"),
        ("sudoku:invalid=101", "invalid must be between 0 and 100"),
        ("sudoku:row_share=0,column_share=0,block_share=0", "must be above 0; got 0 for each"),
        ("sudoku:block_rows=5", "block_rows must be between 2 and 4; got 5"),
    ],
)
def test_parameters_out_of_range(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("benchmark", spec)
