"""Every engine against enumeration of all worlds: hostile names, wide states, tiny probabilities."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import numpy.typing as npt
import pytest
from inference.enumeration import by_enumeration
from inference.forward_cases import SMALL, answers, counted_signals
from queries import random_query, tiny_vectors

from nsl_bench.core import registry
from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.inference import engines
from nsl_bench.logic.inference.engines import Auto, Exact, Sampling, compiled
from nsl_bench.logic.inference.exact.truth_table import TooLarge
from nsl_bench.logic.inference.problog.engine import answer
from nsl_bench.logic.inference.problog.translation import NONE, label_name, translate
from nsl_bench.logic.inference.query import NEGLIGIBLE, Answer, Query

Floats = npt.NDArray[np.float64]

PREDICATES = [
    *("_bad", "in", "n0", "query", "evidence", "slot_0", "choose", "pick", "given", "nsl_pick"),
    *("nsl_given", "nsl1_pick", "nsl_label", "nsl_none", "nsl_violated", "nsl_shows", "nsl_never"),
    *("nsl_true", "nsl_tuple", "a0", "a1", "a2", "w", "ww", "u_img", "u_", "is", "between", "true", "fail"),
    *("findall", "call", "var", "member", "nil", "t", "consult", "use_module", "__x", "mod", "div", "rdiv"),
    *("xor", "print", "halt"),
]
VARIABLES = ["NSL0", "NSL1", "NSL_PICK", "U_X", "U_Y", "_X", "_Y", "X", "Y", "Variable", "_NSL0", "A0", "W0"]
WORD = re.compile(r"(?<![#A-Za-z0-9_])_*[A-Za-z][A-Za-z0-9_]*")


def renamed(query: Query, seed: int) -> Query:
    """The query with names like those of the encodings and translations, each for one of its own."""
    rng = np.random.default_rng([seed, 3])
    predicates, variables = (rng.permutation(names).tolist() for names in (PREDICATES, VARIABLES))
    known: dict[str, str] = {"not": "not"}

    def name(match: re.Match[str]) -> str:
        word = match[0]
        if word not in known:
            known[word] = (variables if word[0].isupper() else predicates).pop()
        return known[word]

    def text(old: str) -> str:
        return WORD.sub(name, old)

    labels = tuple(None if atom is None else text(atom) for atom in query.labels.atoms)
    choices = tuple(tuple(tuple(text(fact) for fact in held) for held in values) for values in query.choices)
    rules = tuple(text(rule) for rule in query.rules)
    return Query(rules, text(query.background), LabelSpace(query.labels.names, labels), choices, query.strict)


def kept(vectors: Floats) -> Floats:
    """The convention of the specification: without negligible concepts, at most 1 in sum."""
    rows = np.where(vectors > NEGLIGIBLE, vectors, 0.0)
    return np.asarray(rows / np.maximum(rows.sum(axis=2, keepdims=True), 1.0))


def full(vectors: Floats) -> Floats:
    """The vectors as given, at most 1 in sum."""
    return np.asarray(vectors / np.maximum(vectors.sum(axis=2, keepdims=True), 1.0))


def masses(found: Answer) -> Floats:
    return np.column_stack([found.probabilities, found.undecided, found.ambiguous])


def by_problog(query: Query, vectors: Floats, grounded: bool) -> Floats:
    """float64 [n, labels + 1]: ProbLog's masses of the labels and of undecided."""
    translation = translate(query, grounded=grounded)
    rows = []
    for one in kept(vectors):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer(translation.example(one))
        rows.append(
            [*(found.get(label_name(k), 0.0) for k in range(len(query.labels))), found.get(NONE, 0.0)]
        )
    return np.array(rows)


def encloses(found: Answer, true: Floats, query: Query) -> None:
    """Low and high enclose the labels' masses under the vectors as they were given."""
    labels = true[:, : len(query.labels)]
    assert (found.low <= labels + 1e-9).all() and (labels <= found.high + 1e-9).all(), str(query)
    assert (found.low >= 0).all() and (found.high <= 1 + 1e-9).all()


@contextmanager
def without_diagrams() -> Iterator[None]:
    """Has all programs answered by the forward dynamic programme."""

    def too_large(domains: object) -> None:
        raise TooLarge

    engines.clear()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engines, "outcome_table", too_large)
        yield
    engines.clear()


def check(query: Query, vectors: Floats, *, problog: bool) -> None:
    """All engines against enumeration.

    Args:
        query: the program.
        vectors: float64 [n, slots, concepts].
        problog: whether ProbLog is asked as well, with the rules as written and ground.
    """
    short, true = (by_enumeration(query, rows) for rows in (kept(vectors), full(vectors)))
    k = len(query.labels)

    def same(found: Floats, expected: Floats) -> None:
        np.testing.assert_allclose(found, expected, atol=1e-9, rtol=0, err_msg=str(query))

    def near(found: Answer) -> None:
        off = np.abs(found.probabilities - short[:, :k])
        assert (off <= 5.5 * found.std_err + 1e-9)[found.std_err > 0].all(), str(query)

    found = Exact()(query, vectors)
    same(masses(found), short)
    encloses(found, true, query)
    near(Sampling(1000, seed=1)(query, vectors))
    if problog:
        for grounded in (False, True):
            same(by_problog(query, vectors, grounded), short[:, : k + 1])
    with without_diagrams():
        for engine in (Exact(width=0.0), Auto(width=0.0, work=1e7)):
            found = engine(query, vectors)
            same(masses(found), short)
            encloses(found, true, query)
        for hasty in (Exact(width=0.5, work=1.0), Auto(width=0.0, work=1.0, samples=300, std_err=1e-9)):
            found = hasty(query, vectors)
            near(found)
            encloses(found, true, query)


def check_seed(seed: int, *, problog: bool) -> None:
    """A random program with hostile names."""
    query = renamed(random_query(seed, slots=1 + seed % 4, counting=seed % 3 == 0), seed)
    check(query, tiny_vectors(query, 3, seed), problog=problog)


def test_random_programs() -> None:
    for seed in range(1_000, 1_060):
        check_seed(seed, problog=seed % 3 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(30))
def test_many_random_programs(block: int) -> None:
    """3,000 programs, every fifth with ProbLog, in some eight minutes of one processor."""
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        check_seed(seed, problog=seed % 5 == 0)


def test_states_of_many_words() -> None:
    """Programs whose states have more than 64 words, and so few worlds that all can be looked at."""
    query, vectors = counted_signals(8, 480, 0)
    program = compiled(query).forward.program
    # What a signal's terms ask for behind the first slot that is read has a bit each.
    owner = np.repeat(program.term_signal, np.diff(program.term_start))
    assert len(set(zip(owner.tolist(), program.term_literal.tolist(), strict=True))) - 2 * 480 > 64 * 64
    check(query, vectors, problog=False)
    true = by_enumeration(query, kept(vectors))
    for space in SMALL:
        found = answers(query, vectors, space)
        high = found.low + found.dropped[:, None]
        assert (found.low <= true + 1e-9).all() and (true <= high + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_programs_with_wide_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, vectors = counted_signals(int(rng.integers(4, 12)), int(rng.integers(60, 400)), seed)
    check(query, vectors, problog=False)


@pytest.mark.parametrize("engine", ["exact", "forward", "auto", "hasty", "problog", "problog:grounded=true"])
def test_what_is_negligible_is_part_of_the_interval(engine: str) -> None:
    """81 slots, each with eight concepts of 1e-5: 0.65 % of the mass, in the interval's width."""
    choices = tuple(tuple((f"at({s},{v})",) for v in range(9)) for s in range(81))
    labels = LabelSpace(("fine", "bad"), (None, "bad"))
    query = Query(("bad :- at(S,V), V > 0.",), "", labels, choices)
    vectors = np.full((1, 81, 9), 1e-5)
    vectors[:, :, 0] = 1 - 8e-5
    true = (1 - 8e-5) ** 81
    context = without_diagrams() if engine in ("forward", "hasty") else nullcontext()
    with context:
        if engine == "hasty":
            found = Exact(work=1.0)(query, vectors)
        else:
            found = registry.create("engine", "exact" if engine == "forward" else engine)(query, vectors)
    assert found.probabilities[0, 0] == pytest.approx(1.0, abs=1e-9)  # the convention
    assert 1 - true > 6e-3
    low, high = found.low[0], found.high[0]
    assert low[0] <= true + 1e-12 and true <= high[0] + 1e-12
    assert low[1] <= 1 - true + 1e-12 and 1 - true <= high[1] + 1e-12
    assert 1 - true <= found.width[0] + 1e-12 and found.width[0] < 0.014


def test_what_is_negligible_but_cannot_matter_is_none_of_the_interval() -> None:
    """Concepts that the rules cannot tell from nothing make no interval wider."""
    choices = tuple(tuple((f"at({s},{v})",) for v in range(9)) for s in range(81))
    query = Query(("bad :- at(S,0), S < 2.",), "", LabelSpace(("fine", "bad"), (None, "bad")), choices)
    vectors = np.full((1, 81, 9), 1e-5)
    vectors[:, :, 3] = 0.5
    found = Exact()(query, vectors)
    true = 1 - (1 - 1e-5) ** 2
    assert found.low[0, 1] <= true <= found.high[0, 1]
    assert found.width[0] < 5e-5
