"""The forward dynamic programme against enumeration of all worlds, with little space, and within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from inference.enumeration import by_enumeration
from inference.forward_cases import SMALL, answers, flat, neighbours, wide
from queries import random_query, random_vectors

from nsl_bench.inference.engines import compiled
from nsl_bench.inference.forward.arrays import Limits, Residual
from nsl_bench.inference.forward.compiled import Space
from nsl_bench.inference.query import Query, clean_probabilities

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def enumerated() -> list[tuple[Query, Floats, Floats]]:
    """Random small programs, vectors, and the outcomes' masses."""
    cases = []
    for seed in range(60):
        query = random_query(seed, slots=3 + seed % 2, counting=seed % 3 == 0)
        vectors = random_vectors(query, 2, seed)
        cases.append((query, vectors, by_enumeration(query, clean_probabilities(query, vectors))))
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
    given = clean_probabilities(query, vectors)
    bad = (given[:, 0] * given[:, 1]).sum(axis=1)
    assert (found.low[:, 1] <= bad + 1e-9).all() and (bad <= found.low[:, 1] + found.dropped + 1e-9).all()


def test_all_successors_have_a_place() -> None:
    """`capacity` bounds the successors: of all joint states, or of those that are kept."""
    from nsl_bench.inference.forward.residual import new_scratch
    from nsl_bench.inference.forward.states import new_states

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
