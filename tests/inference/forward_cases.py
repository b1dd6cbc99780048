"""Programs for the forward dynamic programme: wide states, many candidates, little space.

Run as a program it answers all of them, so that the compiled code can be run with numba's bounds checks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.inference.engines import compiled
from nsl_bench.inference.forward.compiled import Masses, Space
from nsl_bench.inference.query import Query, clean_probabilities
from nsl_bench.types import LabelSpace

SMALL = (Space(), Space(3, 20, 200), Space(1, 2, 1), Space(6_000, 1 << 16, 1 << 10))
"""From the usual space to next to none."""

PAIR = LabelSpace(("fine", "bad"), (None, "bad"))


def neighbours(slots: int, concepts: int, labels: int = 1) -> Query:
    """Each slot compared with all others: with many slots and concepts, states of hundreds of words."""
    choices = tuple(tuple((f"at({s},{v})",) for v in range(concepts)) for s in range(slots))
    if labels == 1:
        return Query(("bad :- at(X,V), at(Y,V), X < Y, (X+Y) \\ 3 != 0.",), "", PAIR, choices)
    space = LabelSpace(tuple(f"l{k}" for k in range(labels)), tuple(f"win({k})" for k in range(labels)))
    rules = (f"win((V+X) \\ {labels}) :- at(X,V), at(Y,W), X < Y, (V+W) \\ {labels} = (X*Y) \\ {labels}.",)
    return Query(rules, "", space, choices)


def flat(query: Query, n: int, seed: int, share: float = 1.0) -> npt.NDArray[np.float64]:
    """float64 [n, slots, concepts], of which no concept is certain."""
    rng = np.random.default_rng(seed)
    shape = (n, len(query.choices))
    noise = rng.dirichlet(np.full(query.width, 1.0), shape)
    certain = np.eye(query.width)[rng.integers(0, query.width, shape)]
    return np.asarray((1 - share) * certain + share * noise)


def answers(query: Query, vectors: npt.NDArray[np.float64], space: Space, seed: int = 0) -> Masses:
    """What the forward dynamic programme finds with little work, with samples of the rest."""
    program = compiled(query)
    own = program.domains.probabilities(clean_probabilities(query, vectors))
    return program.forward.run(
        own, budget=0.2, work=50.0, widest=0.0, std_err=0.05, rollouts=60, seed=seed, workers=1, space=space
    )


def wide() -> list[tuple[Query, npt.NDArray[np.float64]]]:
    """Queries whose states have more than 64 words, or whose slots have more than 64 candidates."""
    cases = [neighbours(40, 24), neighbours(14, 40, 5), neighbours(5, 90), neighbours(4, 130, 3)]
    return [(query, flat(query, 2, k, share)) for k, query in enumerate(cases) for share in (0.3, 1.0)]


def main() -> None:
    """Answer all."""
    from queries import random_query, random_vectors

    for query, vectors in wide():
        for space in SMALL:
            answers(query, vectors, space)
    for seed in range(40):
        query = random_query(seed, slots=4, counting=seed % 2 == 0)
        for space in SMALL:
            answers(query, random_vectors(query, 3, seed), space)
    print("within bounds")


if __name__ == "__main__":
    main()
