"""Programs for the forward dynamic programme: wide states, many candidates, little space.

Run as a program it answers all of them, so that the compiled code can be run with numba's bounds checks.
"""

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.inference.engines import Auto, Exact, Sampling, compiled
from nsl_bench.logic.inference.forward.compiled import Masses, Space
from nsl_bench.logic.inference.query import Query, checked_vectors

SMALL = (Space(), Space(3, 20, 200), Space(1, 2, 1), Space(6_000, 1 << 16, 1 << 10))
"""From the usual space to next to none."""

PLAYERS = LabelSpace(("one", "two"), ("win(1)", "win(2)"))
COINS = Query(
    ("win(X) :- shows(X,heads), not shows(3-X,heads).",),
    "",
    PLAYERS,
    tuple(((f"shows({p},heads)",), (f"shows({p},tails)",)) for p in (1, 2)),
)
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
    own = program.domains.probabilities(checked_vectors(query, vectors).kept)
    return program.forward.run(
        own, budget=0.2, work=50.0, widest=0.0, std_err=0.05, rollouts=60, seed=seed, workers=1, space=space
    )


def counted_signals(slots: int, signals: int, seed: int) -> tuple[Query, npt.NDArray[np.float64]]:
    """A program that counts many atoms over pairs of slots, and vectors with at most two concepts a slot.

    Its states have a bit for each slot, concept and atom, but there are no more than 2 ** slots worlds.
    """
    rng = np.random.default_rng(seed)
    choices = tuple(tuple((f"at({s},{v})",) for v in range(2)) for s in range(slots))
    a, b, c, d, e = rng.integers(1, 60, 5).tolist()
    pairs = f"p(({a}*X + {b}*V + {c}*Y + {d}*W + {e}*K) \\ 61, K) :- at(X,V), at(Y,W), X < Y, k(K)."
    rules = (
        pairs,
        "q(K) :- p(R,K), R < 6.",
        f"few :- #count {{ K : q(K) }} < {signals * 3 // 5}.",
        "bad :- not few, q(1).",
    )
    labels = LabelSpace(("few", "bad"), ("few", "bad"))
    query = Query(rules, f"k(1..{signals}).", labels, choices)
    first = rng.random((2, slots))
    vectors = np.stack([first, 1 - first], axis=2)
    vectors[1, :, 1] *= rng.choice([1.0, 1e-9, 1e-5, 0.0], slots, p=[0.7, 0.1, 0.1, 0.1])
    return query, vectors


def chain(seed: int, slots: int = 7) -> Query:
    """Memory passed from slot to slot: rules of each step ask for the step before, some by negation."""
    rng = np.random.default_rng(seed)
    choices = tuple(tuple((f"at({s},{v})",) for v in range(2 + s % 2)) for s in range(slots))
    negations = seed % 3
    rules = []
    for t in range(1, slots):
        for k in range(2):
            for _ in range(int(rng.integers(1, 3))):
                body = [f"at({t},{rng.integers(0, 2)})"] if rng.random() < 0.8 else []
                sign = "not " if negations and rng.random() < 0.3 * negations else ""
                before = f"m{t - 1}({rng.integers(0, 2)})" if t > 1 else f"at(0,{rng.integers(0, 2)})"
                rules.append(f"m{t}({k}) :- {', '.join([*body, sign + before])}.")
        if t > 1 and rng.random() < 0.2:
            rules.append(f"m{t}(0) :- 2 {{ at({t},1); m{t - 1}(0); m{t - 1}(1) }}.")
    if rng.random() < 0.3:
        rules.append(f":- m{slots - 2}(1), at({slots - 1},0).")
    early = int(rng.integers(2, slots))
    labels = LabelSpace(("a", "b", "c"), (f"m{slots - 1}(0)", f"m{early}(1)", None))
    return Query(tuple(rules), "", labels, choices, strict=False)


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
    query, vectors = counted_signals(8, 480, 0)
    for engine in (
        Exact(workers=1),
        Auto(width=0.0, work=1.0, samples=50, workers=1),
        Sampling(100, workers=1),
    ):
        engine(query, vectors)
        engine(*wide()[0])
    for space in SMALL:
        answers(query, vectors, space)
    for seed in range(20):
        query = random_query(seed, slots=4, counting=seed % 2 == 0)
        for space in SMALL:
            answers(query, random_vectors(query, 3, seed), space)
    print("within bounds")


if __name__ == "__main__":
    main()
