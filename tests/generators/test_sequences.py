"""The tasks `addition` and `hanoi`, whose examples are sequences."""

from __future__ import annotations

import numpy as np
import pytest
from nsl_bench.generators.tasks.addition import sums
from nsl_bench.generators.tasks.hanoi import MOVES, optimal_moves

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.data.splits import make_source, make_split, symbolic_split


def test_tests_show_images_of_train_sequences_where_they_are_asked_to() -> None:
    for images, pool in (("test", "b"), ("train", "a")):
        task = registry.create("benchmark", f"addition:digits=5,images={images},test=20")
        source = make_source(task)
        test = make_split(task, source, "test")
        assert test.pool == pool
        assert np.array_equal(source.labels(test.pool)[test.images], test.concepts)


def test_sums_are_those_of_whole_numbers() -> None:
    digits = np.random.default_rng(0).integers(0, 10, (50, 6, 2))
    numbers = (digits * (10 ** np.arange(6))[:, None]).sum(axis=1)
    total = numbers.sum(axis=1) % 10**6
    assert np.array_equal((sums(digits).astype(np.int64) * 10 ** np.arange(6)).sum(axis=1), total)


def test_the_optimal_moves_are_legal_and_reach_the_goal() -> None:
    for disks in (3, 5, 7, 9):
        moves = optimal_moves(disks)
        assert len(moves) == 2**disks - 1
        pegs = [list(range(disks, 0, -1)), [], []]
        for start, goal in moves:
            assert not pegs[goal] or pegs[goal][-1] > pegs[start][-1]
            pegs[goal].append(pegs[start].pop())
        assert pegs == [[], [], list(range(disks, 0, -1))]


def test_three_comparisons_and_the_move_before_decide_the_move() -> None:
    """12 pairs, all of them with 5 disks, as the comparisons' share of right moves: 0.742, 0.669, 0.667."""
    shares = {5: 0.742, 7: 0.669, 9: 0.667}
    pairs = {}
    for disks, share in shares.items():
        task = registry.create("benchmark", f"hanoi:disks={disks},window=1")
        order = np.argsort(task._states, axis=1)
        assert order.shape[0] == 2**disks - 1
        seen: dict[tuple[bool, ...], list[int]] = {}
        found = set()
        for state, before, move in zip(task._states, task._before, task._moves, strict=True):
            pegs = state.reshape(3, disks)
            tops = [row[row != BLANK][-1] if (row != BLANK).any() else 99 for row in pegs]
            key = tuple(bool(tops[p] < tops[q]) for p, q in ((0, 1), (0, 2), (1, 2)))
            seen.setdefault(key, [0] * 6)[MOVES.index(move)] += 1
            found.add((key, before, move))
        assert sum(map(max, seen.values())) / (2**disks - 1) == pytest.approx(share, abs=5e-4)
        assert len(found) == len({pair[:2] for pair in found}) == 12
        pairs[disks] = found
    assert pairs[5] == pairs[7] == pairs[9]


@pytest.mark.parametrize(("disks", "window", "count"), [(5, 3, 29), (7, 3, 125), (9, 3, 509)])
def test_windows_are_few(disks: int, window: int, count: int) -> None:
    task = registry.create("benchmark", f"hanoi:disks={disks},window={window}")
    assert f"window(0..{count - 1})" in task.inputs


def test_only_the_first_step_is_told_the_move_before() -> None:
    task = registry.create("benchmark", "hanoi")
    split = symbolic_split(task, "train", "20")
    told = split.metadata["previous"]
    assert ((told >= 0) == (split.steps == 1)).all()
    follows = np.flatnonzero(split.steps == 2)
    assert not np.array_equal(split.labels[follows], split.labels[follows - 1])


def test_digits_of_a_state_stand_for_the_sizes_of_its_disks() -> None:
    split = symbolic_split(registry.create("benchmark", "hanoi"), "train", "50")
    for state in split.concepts.reshape(-1, 3, 5):
        shown = state[state != BLANK]
        assert len(set(shown.tolist())) == 5
        for peg in state:
            disks = peg[peg != BLANK]
            assert (np.diff(disks) < 0).all() and (peg[len(disks) :] == BLANK).all()


def test_a_test_set_of_all_numbers_leaves_none_for_training() -> None:
    task = registry.create("benchmark", "addition:digits=2,test=200000")
    with pytest.raises(UserError, match="uses every pair of numbers"):
        symbolic_split(task, "train", "5")
