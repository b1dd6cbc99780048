"""The symbolic examples obey the tasks' descriptions."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import clingo
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.tasks.addition import sums
from nsl_bench.generators.tasks.folds import stratified_folds
from nsl_bench.generators.tasks.follow_suit import CARDS, RANK_VALUES, FollowSuit
from nsl_bench.generators.tasks.hanoi import MOVES, optimal_moves
from nsl_bench.generators.tasks.sudoku import Sudoku
from nsl_bench.generators.tasks.sudoku_folds import sudoku_4x4
from nsl_bench.generators.tasks.sudoku_puzzles import make_puzzles

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Split
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.testing import LearnerTests, NetworkTests, ShiftTests, SourceTests, TaskTests

BENCHMARKS = ("follow_suit", "sudoku_4x4", "sudoku_9x9")


def violations(grid: np.ndarray, sudoku: Sudoku) -> set[str]:
    """The kinds of group in which a digit repeats, counted the slow way."""
    found = set()
    cells = [(k // sudoku.n, k % sudoku.n, int(digit)) for k, digit in enumerate(grid) if digit >= 0]
    rows, columns = sudoku.block
    for i, (r, c, digit) in enumerate(cells):
        for q, d, other in cells[:i]:
            if digit == other:
                same = {
                    "row": r == q,
                    "column": c == d,
                    "block": (r // rows, c // columns) == (q // rows, d // columns),
                }
                found |= {kind for kind, holds in same.items() if holds}
    return found


def solver_of(block: tuple[int, int]) -> Callable[[np.ndarray], int]:
    """A function that counts the solutions of a puzzle, up to two, with clingo."""
    control = clingo.Control(["2"])
    control.add(
        "base",
        ["n", "h", "w"],
        """
        1 { digit(R,C,1..n) } 1 :- R = 0..n-1, C = 0..n-1.
        :- R = 0..n-1, D = 1..n, not 1 { digit(R,C,D) : C = 0..n-1 } 1.
        :- C = 0..n-1, D = 1..n, not 1 { digit(R,C,D) : R = 0..n-1 } 1.
        :- R = 0..n-1, C = 0..n-1, R \\ h = 0, C \\ w = 0, D = 1..n,
           not 1 { digit(S,T,D) : S = R..R+h-1, T = C..C+w-1 } 1.
        """,
    )
    n = block[0] * block[1]
    control.ground([("base", [clingo.Number(number) for number in (n, *block)])])

    def count(puzzle: np.ndarray) -> int:
        places = [(k // n, k % n, d) for k, d in enumerate(puzzle.tolist()) if d]
        clues = [(clingo.Function("digit", list(map(clingo.Number, place))), True) for place in places]
        with control.solve(assumptions=clues, yield_=True) as models:
            return sum(1 for _ in models)

    return count


def rows_of(split: Split) -> set[bytes]:
    return {row.tobytes() for row in split.concepts}


@given(st.integers(0, 2**32), st.integers(2, 6))
@settings(max_examples=25)
def test_every_trick_obeys_the_game(seed: int, players: int) -> None:
    task = FollowSuit(players)
    split = task.generate("train", "small", 1, np.random.default_rng(seed))
    assert len(split) == task.sizes["small"] == 8 * (52 // players)
    for game in split.concepts.reshape(8, -1):
        assert len(set(game.tolist())) == len(game)
    for example in split:
        cards = [CARDS.concepts[CARDS.ids[c]] for c in example.concepts if c]
        led = [(RANK_VALUES[card[:-1]], p) for p, card in enumerate(cards) if card[-1] == cards[0][-1]]
        assert max(led)[1] == example.label


def test_follow_suit_sizes_and_share_of_player_1() -> None:
    task = FollowSuit()
    test = symbolic_split(task, "test")
    large = symbolic_split(task, "train", "large", 1)
    assert (len(test), len(large), len(symbolic_split(task, "train"))) == (1001, 10_400, 104)
    assert not rows_of(test) & rows_of(large)
    assert np.mean(large.labels == 0) == pytest.approx(0.386, abs=0.03)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3), (4, 4)])
def test_puzzles_have_one_solution_whatever_the_threads(shape: tuple[int, int]) -> None:
    seeds = np.random.default_rng(1).integers(1, 2**63, 200, dtype=np.uint64)
    least = 0 if shape != (4, 4) else 128
    puzzles = make_puzzles(seeds, shape, least, threads=1)
    assert np.array_equal(puzzles, make_puzzles(seeds, shape, least, threads=3))
    count = solver_of(shape)
    assert {count(puzzle) for puzzle in puzzles[:50]} == {1}
    assert count(np.zeros_like(puzzles[0])) == 2


@pytest.mark.parametrize("block", [(2, 2), (2, 3), (3, 3)])
def test_every_grid_obeys_the_task(block: tuple[int, int]) -> None:
    task = Sudoku(*block)
    test = symbolic_split(task, "test")
    train = symbolic_split(task, "train", "small", 2)
    assert len(test) == 1000 and len(train) == 320
    assert not rows_of(test) & rows_of(train)
    for split in (test, train):
        kinds = [violations(grid, task) for grid in split.concepts]
        assert all(
            (not kind) == (label == 0) for kind, label in zip(kinds, split.labels.tolist(), strict=True)
        )
        counts = Counter(next(iter(kind)) for kind in kinds if kind)
        assert all(len(kind) <= 1 for kind in kinds)
        assert counts.total() == len(split) // 2
        assert max(counts.values()) - min(counts.values()) <= 1
        told = task.knowledge_features(split.concepts, {})
        assert np.array_equal(told.any(axis=1), split.labels == 1)
    valid = test.concepts[test.labels == 0]
    count = solver_of(block)
    assert all(count(grid + 1) == 1 for grid in valid[:100])
    assert len(rows_of(test)) == 1000


def test_a_large_set_of_grids_has_its_balance() -> None:
    split = symbolic_split(Sudoku(2, 2), "train", "large", 1)
    assert len(split) == 32_000 and np.mean(split.labels) == 0.5


@pytest.mark.parametrize("name", [*BENCHMARKS, "crop_yield", "indoor_scene"])
def test_same_words_same_rows(name: str) -> None:
    first, again = (symbolic_split(registry.create("benchmark", name), "train", repeat=2) for _ in range(2))
    assert np.array_equal(first.concepts, again.concepts) and np.array_equal(first.labels, again.labels)
    other = symbolic_split(registry.create("benchmark", name), "train", repeat=3)
    assert not np.array_equal(first.concepts, other.concepts)
    seeded = symbolic_split(registry.create("benchmark", name), "train", repeat=2, seed=1)
    assert not np.array_equal(first.concepts, seeded.concepts)


@pytest.mark.parametrize(
    "name",
    [
        *(*BENCHMARKS, "sudoku_4x4:knowledge=reduced", "sudoku_4x4:knowledge=rows", "follow_suit:players=3"),
        *("crop_yield", "crop_yield:species=pepper+potato+tomato", "crop_yield:world=3"),
        *("indoor_scene", "indoor_scene:scenes=bakery+bar"),
    ],
)
def test_the_true_rule_labels_the_data(name: str) -> None:
    task = registry.create("benchmark", name)
    test = symbolic_split(task, "test")
    split = test.take(np.arange(min(200, len(test))))
    metadata = [example.metadata for example in split]
    contexts = [task.context(row, known) for row, known in zip(split.concepts, metadata, strict=True)]
    labels = crisp_labels([task.true_rule], task.background, contexts, task.labels)
    assert np.array_equal(labels, split.labels)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_papers_splits_can_be_read(name: str, shared) -> None:  # type: ignore[no-untyped-def]
    task = registry.create("benchmark", name)
    folder = shared / "data" / "ffnsl_splits" / name
    test = symbolic_split(task, "test", splits=folder)
    train = symbolic_split(task, "train", repeat=5, splits=folder)
    assert (len(test), len(train)) == (task.test_size, task.sizes["small"])
    for split in (test, train):
        contexts = [task.context(row, {}) for row in split.concepts]
        labels = crisp_labels([task.true_rule], task.background, contexts, task.labels)
        assert np.array_equal(labels, split.labels)


def test_a_train_set_that_a_folder_lacks(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    for k in (1, 2, 10):
        (tmp_path / "small" / f"train_{k}.csv").write_text("player_1\n", encoding="utf-8")
    task = registry.create("benchmark", "follow_suit")
    with pytest.raises(
        UserError, match=r"train_6\.csv does not exist\. The folder has train sets 1, 2, 10\.$"
    ):
        symbolic_split(task, "train", "small", 6, splits=tmp_path)
    for k in range(3, 10):
        (tmp_path / "small" / f"train_{k}.csv").write_text("player_1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"does not exist\. The folder has train sets 1 to 10\.$"):
        symbolic_split(task, "train", "small", 20, splits=tmp_path)
    with pytest.raises(UserError, match=r"The split file .*test\.csv does not exist\.$"):
        symbolic_split(task, "test", splits=tmp_path)


FIVE = "sudoku_4x4:folds=5"


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(2, 7), st.integers(0, 9))
def test_folds_are_stratified(labels: list[int], n_folds: int, seed: int) -> None:
    folds = stratified_folds(np.array(labels), n_folds, np.random.default_rng(seed))
    for chosen in (None, *range(5)):
        mine = folds if chosen is None else folds[np.array(labels) == chosen]
        counts = np.bincount(mine, minlength=n_folds)
        assert len(counts) == n_folds and counts.max() - counts.min() <= 1


@pytest.mark.parametrize("seed", [0, "secret"])
def test_the_folds_are_of_one_set(seed: int | str) -> None:
    task = registry.create("benchmark", FIVE)
    tests = [symbolic_split(task, "test", repeat=k, seed=seed) for k in range(1, 6)]
    grids = [{row.tobytes() for row in split.concepts} for split in tests]
    assert [len(split) for split in tests] == [80] * 5 and len(set.union(*grids)) == 400
    assert all(split.labels.sum() == 40 for split in tests)
    train = {row.tobytes() for row in symbolic_split(task, "train", repeat=2, seed=seed).concepts}
    assert train == set.union(*grids) - grids[1]
    validation = symbolic_split(task, "validation", repeat=2, seed=seed)
    assert not {row.tobytes() for row in validation.concepts} & set.union(*grids)


def test_specs_of_folds() -> None:
    task = sudoku_4x4("reduced", folds=3, grids=40)
    assert task.name == "sudoku_4x4:knowledge=reduced,folds=3,grids=40" and task.repeats == 3
    assert task.for_split(2).name == "sudoku_4x4:knowledge=reduced,folds=3,fold=2,grids=40"
    assert [task.for_split(k).test_size for k in (1, 2, 3)] == [14, 13, 13]
    fixed = registry.create("benchmark", f"{FIVE},fold=2")
    first = symbolic_split(registry.create("benchmark", FIVE), "test", repeat=2)
    assert np.array_equal(
        np.unique(symbolic_split(fixed, "test", repeat=1).concepts, axis=0), np.unique(first.concepts, axis=0)
    )


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("folds=1", r"^sudoku_4x4: folds must be between 2 and 20; got 1\.$"),
        ("folds=5,fold=6", r"^sudoku_4x4: fold must be between 1 and 5; got 6\.$"),
        ("fold=2", r"^sudoku_4x4: fold=2 requires folds; add folds=5\.$"),
        ("folds=5,grids=9", r"^sudoku_4x4: grids must be an even number of 10 or more; got 9\.$"),
    ],
)
def test_options_out_of_range(options: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        registry.create("benchmark", f"sudoku_4x4:{options}")


def test_more_than_there_is() -> None:
    task = registry.create("benchmark", FIVE)
    with pytest.raises(UserError, match=r"has 320 train grids in a split; got 321\.$"):
        symbolic_split(task, "train", "321")
    with pytest.raises(UserError, match=r"has 5 train splits; got train split 6\.$"):
        symbolic_split(task, "train", repeat=6)
    task = registry.create("benchmark", FIVE)
    task.test_size = 1000
    with pytest.raises(UserError, match="the size of a test set follows from folds; got 1000"):
        symbolic_split(task, "test")


class TestFollowSuit(TaskTests):
    spec = "follow_suit"


TASKS: dict[str, dict[str, object]] = {
    "sudoku_4x4": {},
    "sudoku_4x4:folds=5": {"size": 320},
    "crop_yield": {"few": True},
    "indoor_scene": {"few": True},
    "addition": {},
    "addition:digits=10,test=60": {},
    "addition:images=train,test=60": {},
    "addition_sum": {"few": True},
    "visudo_4x4:test=60": {"few": True},
    "visudo_4x4:classes=transfer,corrupt=90,test=60": {"few": True},
    "visudo_9x9:test=60": {},
    "hanoi:test=60": {"few": True},
    "hanoi:disks=7,window=5,test=60": {"few": True},
    "eleusis:concept=hidden_modulo,ranks=7": {"few": True},
    "uci": {"few": True},
    "zoo": {"few": True, "size": 80},
    "zoo:features=16,digits=10": {"few": True, "size": 80},
}
"""What each task's tests are told of it."""

for _spec, _told in TASKS.items():
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (TaskTests,), {"spec": _spec, **_told})


@pytest.mark.parametrize("case", [LearnerTests, NetworkTests, ShiftTests, SourceTests, TaskTests])
def test_only_derived_classes_are_collected(case: type) -> None:
    assert case.__test__ is False and TestFollowSuit.__test__ is True


WITHOUT_PYTEST = "import sys; sys.modules['pytest'] = None; import nsl_bench.testing"


def test_without_pytest_a_sentence_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST], capture_output=True, text=True, cwd=tmp_path
    )
    sentence = "nsl_bench.testing needs pytest; install it with `pip install nsl-bench[testing]`."
    assert done.stderr.endswith(f"{sentence}\n")


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
