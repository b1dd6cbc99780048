"""The forward dynamic programme against enumeration of all worlds, with little space, and within bounds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from inference.enumeration import by_enumeration
from inference.forward_cases import SMALL, answers, chain, flat, neighbours, wide
from queries import random_query, random_vectors

from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.inference.engines import compiled
from nsl_bench.logic.inference.forward import dnf
from nsl_bench.logic.inference.forward.arrays import Limits, Residual
from nsl_bench.logic.inference.forward.compiled import Space
from nsl_bench.logic.inference.query import Query, checked_vectors

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def enumerated() -> list[tuple[Query, Floats, Floats]]:
    """Random small programs, vectors, and the outcomes' masses."""
    cases = []
    for seed in range(60):
        query = random_query(seed, slots=3 + seed % 2, counting=seed % 3 == 0)
        vectors = random_vectors(query, 2, seed)
        cases.append((query, vectors, by_enumeration(query, checked_vectors(query, vectors).kept)))
    return cases


@pytest.mark.parametrize("space", SMALL, ids=str)
def test_intervals_hold_the_value_whatever_the_space(
    space: Space, enumerated: list[tuple[Query, Floats, Floats]]
) -> None:
    """With next to no work: low and what was dropped enclose each outcome's mass."""
    narrow = []
    for seed, (query, vectors, true) in enumerate(enumerated):
        found = answers(query, vectors, space, seed)
        high = found.low + found.dropped[:, None]
        assert (found.low <= true + 1e-9).all() and (true <= high + 1e-9).all(), str(query)
        np.testing.assert_allclose(found.low.sum(axis=1) + found.dropped, 1, atol=1e-9)
        sampled = found.sampled.sum(axis=1)
        np.testing.assert_allclose(sampled[sampled > 0], found.dropped[sampled > 0], atol=1e-9)
        narrow += (found.dropped < 1e-9).tolist()
    assert any(narrow)
    if space != Space():
        assert not all(narrow)


def test_what_is_forgotten_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory passed on from slot to slot, with its rules kept as rules: as by enumeration, in few states."""
    monkeypatch.setattr(dnf, "_FEW_SLOTS", 0)
    folded = 0
    for seed in range(40):
        query = chain(seed)
        vectors = random_vectors(query, 2, seed)
        true = by_enumeration(query, checked_vectors(query, vectors).kept)
        program = compiled(query)
        folded += bool(len(program.forward.outcomes.remembered))
        own = program.domains.probabilities(checked_vectors(query, vectors).kept)
        exact = program.forward.run(own, budget=0.0, work=1e9, workers=1)
        np.testing.assert_allclose(exact.low, true, atol=1e-9, err_msg=str(query))
        for space in SMALL:
            found = answers(query, vectors, space, seed)
            high = found.low + found.dropped[:, None]
            assert (found.low <= true + 1e-9).all() and (true <= high + 1e-9).all(), str(query)
    assert folded > 20


def test_a_sum_of_many_digits_has_few_states() -> None:
    """A carry is all that is remembered: exact, where all ways to it would be too many."""
    digits = tuple(tuple((f"at({s},{v})",) for v in range(10)) for s in range(24))
    rules = (
        "tens(T) :- at(2*T,A), at(2*T+1,B), A + B > 9.",
        "nine(T) :- at(2*T,A), at(2*T+1,9-A).",
        "carry(T+1) :- tens(T).",
        "carry(T+1) :- nine(T), carry(T).",
        "odd :- at(22,A), at(23,B), carry(11), (A + B) \\ 2 = 0.",
        "odd :- at(22,A), at(23,B), not carry(11), (A + B) \\ 2 = 1.",
    )
    query = Query(rules, "", LabelSpace(("odd", "even"), ("odd", None)), digits)
    vectors = np.full((1, 24, 10), 0.1)
    program = compiled(query)
    found = program.forward.run(program.domains.probabilities(vectors), budget=0.0, work=7e4, workers=1)
    np.testing.assert_allclose(found.low[0], [0.5, 0.5, 0, 0], atol=1e-9)
    assert found.dropped[0] < 1e-9


def test_what_follows_from_a_negation_has_few_states() -> None:
    """Of all steps before, it matters whether an odd number of them showed the first value or the second."""
    digits = tuple(tuple((f"at({s},{v})",) for v in range(3)) for s in range(30))
    steps = [
        f"odd{t} :- at({t},1), not odd{t - 1}. odd{t} :- at({t},(0;2)), odd{t - 1}." for t in range(1, 30)
    ]
    rules = ("odd0 :- at(0,1).", *steps, "even :- not odd29.")
    query = Query(rules, "", LabelSpace(("even", "odd"), ("even", None)), digits)
    vectors = np.random.default_rng(0).dirichlet(np.ones(3), (4, 30))
    program = compiled(query)
    found = program.forward.run(program.domains.probabilities(vectors), budget=0.0, work=7e4, workers=1)
    even = (1 + np.prod(1 - 2 * vectors[:, :, 1], axis=1)) / 2
    np.testing.assert_allclose(found.low[:, 0], even, atol=1e-9)
    assert (found.dropped < 1e-9).all()


def test_wide_states_lose_no_mass() -> None:
    for query, vectors in wide():
        for space in SMALL:
            found = answers(query, vectors, space)
            np.testing.assert_allclose(found.low.sum(axis=1) + found.dropped, 1, atol=1e-9)
            assert (found.low >= 0).all() and (found.dropped > 0).any()


def test_more_candidates_than_a_word_has_bits() -> None:
    query = neighbours(2, 90)
    vectors = flat(query, 3, 1)
    found = answers(query, vectors, Space())
    given = checked_vectors(query, vectors).kept
    bad = (given[:, 0] * given[:, 1]).sum(axis=1)
    assert (found.low[:, 1] <= bad + 1e-9).all() and (bad <= found.low[:, 1] + found.dropped + 1e-9).all()


def test_all_successors_have_a_place() -> None:
    """`capacity` bounds the successors: of all joint states, or of those that are kept."""
    from nsl_bench.logic.inference.forward.residual import new_scratch
    from nsl_bench.logic.inference.forward.states import new_states

    rng = np.random.default_rng(0)
    program = compiled(random_query(0)).forward.program
    for _ in range(300):
        slots, most = int(rng.integers(1, 12)), int(rng.choice([2, 5, 60, 300]))
        n_values = rng.integers(1, most + 1, slots)
        nothing = np.zeros((1, 1))
        residual = Residual(
            slots, np.arange(slots), nothing.astype(np.int64), nothing, n_values, np.zeros(1, np.uint64)
        )
        limits = Limits(
            np.zeros(1),
            float(rng.choice([1, 100, 1e6])),
            int(rng.choice([1, 100, 6_000])),
            int(rng.choice([2, 100, 1 << 16])),
            int(rng.choice([1, 1000, 1 << 21])),
            np.zeros(1),
            1.0,
            0,
        )
        width = int(rng.choice([1, 3, 70, 500]))
        states = new_states.py_func(residual, width, limits, new_scratch.py_func(program, 1, 1))
        joint = float(np.prod(n_values.astype(float)))
        assert states.top >= 1
        assert joint <= states.capacity or states.top * n_values.max() <= states.capacity
        assert len(states.new_words) == len(states.mass) == len(states.table) // 2 == states.capacity


@pytest.mark.slow  # compiling with bounds checks
def test_compiled_code_stays_within_its_arrays(tmp_path: Path) -> None:
    """Wide states, many candidates and little space, compiled anew with numba's bounds checks."""
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_OPT": "0",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(here.parent), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, str(here / "forward_cases.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "within bounds" in done.stdout, done.stderr[-2000:]
