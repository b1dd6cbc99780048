"""Reasoning shortcuts are counted from the true rule: against brute force, by hand, and as published."""

import itertools

import numpy as np
import pytest

import nsl_bench
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.types import BLANK, ConceptSpace, LabelSpace, Part, Split


class Table(Benchmark):
    """A task whose true rule is a table of labels."""

    name, version, description, background, bias = "table", "1", "A table.", "", ""
    sizes, test_size, sources = {"small": 4}, 4, ("none",)

    def __init__(self, concepts: tuple[str, ...], table: dict[tuple[int, ...], int]) -> None:
        self.concept_space = ConceptSpace("thing", concepts)
        self.slots = tuple(f"slot_{k}" for k in range(len(next(iter(table)))))
        labels = sorted(set(table.values()))
        self.labels = LabelSpace(tuple(map(str, labels)), tuple(f"label({label})" for label in labels))
        self.table = table
        self.true_rule = "\n".join(
            f"label({label}) :- {', '.join(f'shows({k},{c})' for k, c in enumerate(row))}."
            for row, label in table.items()
        )
        self.inputs = "\n".join(
            f"1 {{ shows({k},0..{len(concepts) - 1}) }} 1." for k in range(len(self.slots))
        )

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        raise NotImplementedError

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"shows({slot},{self.concept_space.ids[concept]})",)

    def rows(self, concepts: list[tuple[int, ...]]) -> Split:
        ids = {name: k for k, name in enumerate(self.labels.names)}
        labels = [ids[str(self.table[row])] for row in concepts]
        return Split("train", self.concept_space, np.array(concepts, np.int16), np.array(labels, np.int16))


def boolean(n: int, rule: object) -> Table:
    return Table(("0", "1"), {row: int(rule(row)) for row in itertools.product((0, 1), repeat=n)})  # type: ignore[operator]


@pytest.mark.parametrize(
    "n, perceivers, count", [(2, "shared", 2), (3, "shared", 1), (2, "separate", 2), (3, "separate", 4)]
)
def test_of_parity_by_hand(n: int, perceivers: str, count: int) -> None:
    """One perceiver may turn all bits round if they are even in number, several ones any even number."""
    found = nsl_bench.count_shortcuts(boolean(n, lambda row: sum(row) % 2), perceivers=perceivers)
    assert (found.count, found.exact, found.inputs) == (count, True, 2**n)
    assert len(found.maps) == count - 1
    if perceivers == "shared" and n == 2:
        assert found.maps == (({"0": "1", "1": "0"},),)


@pytest.mark.parametrize("digits, count", [(10, 36), (11, 49)])
def test_of_even_or_odd_sums_as_published(digits: int, count: int) -> None:
    """MNIST-EvenOdd: the published 49 include maps in which a digit becomes 10."""
    table = {(a, b): a + b for a in range(digits) for b in range(digits)}
    task = Table(tuple(map(str, range(digits))), table)
    pairs = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]
    found = nsl_bench.count_shortcuts(task, split=task.rows(pairs + [(b, a) for a, b in pairs]))
    assert (found.count, found.exact) == (count, True)
    if digits == 10:
        assert nsl_bench.count_shortcuts(task).count == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("separate", [False, True])
def test_of_random_tables_by_brute_force(seed: int, separate: bool) -> None:
    rng = np.random.default_rng(seed)
    k, n = (3, 2) if seed % 2 else (2, 3)
    every = list(itertools.product(range(k), repeat=n))
    task = Table(
        tuple(map(str, range(k))), {row: int(rng.integers(2)) for row in every} | {every[0]: 0, every[1]: 1}
    )
    shown = [every[i] for i in rng.permutation(len(every))[:5]]
    used = [
        sorted({row[s] for row in shown} if separate else {c for row in shown for c in row}) for s in range(n)
    ]
    maps = [
        {(s, c): v for s, one in enumerate(used) for c, v in zip(one, images[s * separate], strict=True)}
        for images in itertools.product(
            *(itertools.product(range(k), repeat=len(one)) for one in (used if separate else used[:1]))
        )
    ]
    same = sum(
        all(task.table[tuple(m[s, c] for s, c in enumerate(row))] == task.table[row] for row in shown)
        for m in maps
    )
    perceivers = "separate" if separate else "shared"
    found = nsl_bench.count_shortcuts(task, split=task.rows(shown), perceivers=perceivers)  # type: ignore[arg-type]
    assert (found.count, found.exact, found.inputs) == (same, True, 5)


def test_of_blank_slots_and_of_parts_that_no_input_connects() -> None:
    task = boolean(2, lambda row: row[0] | row[1])
    alone = Split("train", task.concept_space, np.array([[0, BLANK]], np.int16), np.zeros(1, np.int16))
    assert nsl_bench.count_shortcuts(task, split=alone).count == 1  # no label follows from one bit
    shown = nsl_bench.count_shortcuts("indoor_scene:scenes=bakery+bar+bedroom+casino")
    assert (shown.count, shown.exact, shown.maps) == (4, True, (({"bar": "casino"},), ({"casino": "bar"},)))


def test_a_search_that_runs_out_of_time_says_so() -> None:
    found = nsl_bench.count_shortcuts("sudoku_4x4", inputs="train", time_limit=0)
    assert (found.count, found.exact) == (1, False)
    assert str(found).startswith("At least 1 map of concepts")


@pytest.mark.parametrize(
    "task, inputs, said",
    [
        ("zoo", "all", "unknown"),
        ("addition", "all", "--inputs train"),
        ("follow_suit", "all", "more than 50 inputs"),
    ],
)
def test_what_cannot_be_counted_is_said(
    task: str, inputs: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nsl_bench.learners.queries.MOST_INPUTS", 50)
    with pytest.raises(nsl_bench.UserError, match=said):
        nsl_bench.count_shortcuts(task, inputs=inputs)  # type: ignore[arg-type]
