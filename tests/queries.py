"""Random small queries: stratified rules over concepts of a few images, and probability vectors."""

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.inference.query import Query

BACKGROUND = """
n(1..3). next(X,X+1) :- n(X), X < 3. colour(red). colour(blue).
beats(red,blue). twice(X,Y) :- n(X), Y = 2*X. size(red,2). size(blue,5).
"""

# Predicates in layers: the negative literals of a rule are of lower layers than its head.
LAYERS = {"q": 1, "r": 1, "s": 2, "t": 2, "win": 3, "bad": 3}

IMAGES = ["img(X,V,C)", "img(X,V,_)", "img(X,_,C)", "img(X,_,_)", "img(Y,W,C)", "img(Y,V,_)", "img(Y,_,red)"]
TESTS = [
    *("X < Y", "X != Y", "X + 1 = Y", "Y = X - 1", "V > W", "V = W", "V + W = 4", "V * 2 > W", "X <= V"),
    *("next(X,Y)", "beats(C,_)", "C != red", "size(C,V)", "twice(X,V)", "(X + V) \\ 2 = 0", "V / 2 = W"),
    *("not img(X,V,C)", "not img(X,2,_)", "not img(Y,_,_)", "not beats(C,blue)", "V = 1..2", "X < Y <= V"),
]
COUNTED = [
    "#count { P : img(P,V,_) } > 1",
    "#sum { W,P : img(P,W,_) } >= X + 3",
    "not img(P,_,red) : next(X,P)",
]
GUARDS = {"X": "n(X)", "Y": "n(Y)", "V": "n(V)", "W": "n(W)", "C": "colour(C)"}
CONCEPTS = [(v, c) for v in (1, 2, 3) for c in ("red", "blue")]
LABELS = (
    LabelSpace(("one", "two", "three"), ("win(1)", "win(2)", "win(3)")),
    LabelSpace(("fine", "bad"), (None, "bad")),
    LabelSpace(("none", "one", "bad"), (None, "win(1)", "bad")),
)


def random_rules(rng: np.random.Generator, counting: bool) -> tuple[str, ...]:
    """A stratified hypothesis with recursion, negation and arithmetic, sometimes a constraint."""

    def some(options: list[str], most: int) -> list[str]:
        return list(rng.choice(options, min(len(options), rng.integers(0, most + 1)), replace=False))

    found = []
    for head in ["win", "win", "bad", *rng.choice([*LAYERS, "win"], rng.integers(1, 6))]:
        layer = LAYERS[head]
        # An atom of its own layer makes a rule recursive.
        atoms = [f"{p}({x})" for p, k in LAYERS.items() if k <= layer < 4 and k < 3 for x in "XY"]
        atoms += [f"not {p}({x})" for p, k in LAYERS.items() if k < min(layer, 3) for x in "XY"]
        body = list(dict.fromkeys([*some(IMAGES, 2), *some(atoms, 2), *some(TESTS, 2)]))
        if counting and rng.random() < 0.4:
            body.append(str(rng.choice(COUNTED)))
        found.append(_safe("bad" if head == "bad" else f"{head}({rng.choice(['X', 'X', 'Y', '2'])})", body))
    if rng.random() < 0.2:
        found.append(_safe("", ["img(1,V,C)", "img(2,V,C)", *some(TESTS, 1)]).strip())
    return tuple(found)


def _safe(head: str, body: list[str]) -> str:
    guards = [guard for name, guard in GUARDS.items() if name in " ".join([head, *body])]
    return f"{head} :- {'; '.join([*body, *guards])}." if body or guards else f"{head}."


def random_query(seed: int, slots: int | None = None, counting: bool = False) -> Query:
    """A query of 1 to 4 images with 2 to 6 concepts each; a concept may say several things, or nothing."""
    rng = np.random.default_rng([seed, 1])
    choices = []
    for slot in range(1, (slots or int(rng.integers(1, 5))) + 1):
        values: list[tuple[str, ...]] = [(f"img({slot},{v},{c})",) for v, c in CONCEPTS]
        if rng.random() < 0.3:
            values[0] = (f"img({slot},1,red)", f"q({slot})")
        if rng.random() < 0.3:
            values[1] = ()
        choices.append(tuple(values[: rng.integers(2, 7)]))
    labels = LABELS[int(rng.integers(len(LABELS)))]
    return Query(random_rules(rng, counting), BACKGROUND, labels, tuple(choices), strict=False)


def random_vectors(query: Query, n: int, seed: int) -> npt.NDArray[np.float64]:
    """[n, slots, concepts]: peaked and flat ones, some that sum to less than 1, some blank, some certain."""
    rng = np.random.default_rng([seed, 2])
    result = np.zeros((n, len(query.choices), query.width))
    for i in range(n):
        for slot, values in enumerate(query.choices):
            row = rng.dirichlet(np.full(len(values), rng.choice([0.1, 1.0, 10.0])))
            row *= rng.choice([1.0, 1.0, 0.7, 0.0], p=[0.45, 0.2, 0.3, 0.05])
            if rng.random() < 0.1:
                row = np.eye(len(values))[rng.integers(len(values))]
            result[i, slot, : len(values)] = row
    return result


def tiny_vectors(query: Query, n: int, seed: int) -> npt.NDArray[np.float64]:
    """[n, slots, concepts]: as `random_vectors`, with probabilities of 1e-9, of 1e-5, and just above it.

    Some rows sum to a little more than 1, as rounding makes them.
    """
    rng = np.random.default_rng([seed, 4])
    result = random_vectors(query, n, seed)
    for i in range(n):
        for slot, values in enumerate(query.choices):
            if rng.random() < 0.6:
                value = rng.integers(len(values))
                result[i, slot, value] = rng.choice([0.0, 1e-9, 1e-5, 1.000001e-5, 2e-5, 1e-4, 1 - 1e-5])
            total = result[i, slot].sum()
            if total > 1:
                result[i, slot] *= rng.choice([1.0, 1 + 5e-6]) / total
    return result
