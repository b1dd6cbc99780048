"""Equivalence of hypotheses, and the inputs that a task suggests."""

from __future__ import annotations

from pathlib import Path

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsl_bench.errors import UserError
from nsl_bench.las.semantics.equivalence import equivalent
from nsl_bench.las.semantics.input_space import input_space
from nsl_bench.las.task import LasTask

INPUTS = "{ a(1..2) }. { b(1..2) }. { r }."
ATOMS = ("p/1", "q")


def answers(hypothesis: list[str], facts: list[str]) -> set[str]:
    """What a hypothesis derives of the compared atoms."""
    control = clingo.Control(["--warn=none"])
    control.add("\n".join([*hypothesis, *(f"{fact}." for fact in facts), "#show p/1. #show q/0."]))
    control.ground()
    with control.solve(yield_=True) as handle:
        return {str(symbol) for model in handle for symbol in model.symbols(shown=True)}


def differs(first: list[str], second: list[str]) -> bool:
    """Whether two hypotheses differ, by trying all 32 inputs."""
    facts = ["a(1)", "a(2)", "b(1)", "b(2)", "r"]
    chosen = ([f for k, f in enumerate(facts) if i >> k & 1] for i in range(2 ** len(facts)))
    return any(answers(first, subset) != answers(second, subset) for subset in chosen)


RULES = [
    "p(X) :- a(X).",
    "p(X) :- a(X), b(X).",
    "p(X) :- a(X), not b(X).",
    "p(X) :- a(X), r.",
    "p(1) :- a(1).",
    "p(2) :- a(2), h.",
    "p(X) :- b(X), 1 <= #count { Y : a(Y) }.",
    "h :- not r.",
    "h :- a(1), not q.",
    "q :- a(X), b(X).",
    "q :- r, not h2.",
    "h2 :- a(X), not b(X).",
    "p(1) :- 2 { a(X) : X = 1..2; r }.",
]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(RULES), max_size=3, unique=True),
    st.lists(st.sampled_from(RULES), max_size=3, unique=True),
)
def test_agrees_with_trying_every_input(first: list[str], second: list[str]) -> None:
    found = equivalent(first, second, inputs=INPUTS, atoms=ATOMS)
    assert (found is not None) == differs(first, second)
    if found is not None:
        facts = list(found.inputs)
        assert answers(first, facts) == set(found.first) != set(found.second) == answers(second, facts)


def follow_suit(shared: Path) -> LasTask:
    return LasTask.read(shared / "oracles/las/follow_suit_n104_shift0_s0.las")


TRUE = [
    "winner(X) :- not p1(X), player(X).",
    "p1(V1) :- suit(1,V2), suit(V1,V3), V2 != V3.",
    "p1(V1) :- rank_higher(V2,V1), suit(1,V3), suit(V2,V3).",
]


def test_follow_suit_rules_written_differently_are_equivalent(shared: Path) -> None:
    other = [
        "winner(X) :- card(1,_,S), card(X,_,S), not beaten(X).",
        "beaten(X) :- card(1,_,S), card(Y,_,S), rank_higher(Y,X).",
    ]
    task = follow_suit(shared)
    assert equivalent(TRUE, other, task) is None
    found = equivalent(TRUE, TRUE[:2], task)
    assert found is not None
    assert len(found.inputs) == 4
    assert "not equivalent" not in str(found)
    inputs = "{ card(P,R,S) : rank(R), suit(S) } = 1 :- player(P)."
    assert equivalent(TRUE, other, background=task.background, inputs=inputs, atoms=("winner/1",)) is None


@pytest.mark.parametrize("size", [4, 9])
def test_sudoku_rules_in_another_order_are_equivalent(shared: Path, size: int) -> None:
    task = LasTask.read(shared / f"oracles/las/sudoku{size}_p0.las")
    ways = ("row", "col", "block")
    true = [f"invalid :- value(A,N), value(B,N), neq(A,B), {k}(A,R), {k}(B,R)." for k in ways]
    other = [f"invalid :- {k}(A,R), {k}(B,R), neq(B,A), value(B,N), value(A,N), cell(A)." for k in ways[::-1]]
    assert equivalent(true, other, task) is None
    found = equivalent(true, other[1:], task)
    assert found is not None
    assert (found.first, found.second) == (("invalid",), ())


def test_the_inputs_of_a_task_keep_its_functional_structure(shared: Path) -> None:
    tricks = [line for line in input_space(follow_suit(shared)).splitlines() if line.startswith("{")]
    assert tricks == [
        '{ card(X0,X1,X2) : _value("card/3",1,X1), _value("card/3",2,X2) } = 1 :- _key("card/3",X0).'
    ]
    grids = input_space(LasTask.read(shared / "oracles/las/sudoku4_p0.las")).splitlines()
    assert '{ value(X0,X1,X2) : _value("value/3",2,X2) } 1 :- _key("value/3",X0,X1).' in grids


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (["p(X) :- a(X), not q.", "q :- not p(1)."], "cycle through negation"),
        (["{ p(1) }."], "choice"),
        (["a(1)."], "inputs derive"),
        (["p(X) :- not a(X)."], "unsafe"),
        (["p(1) :- "], "syntax error"),
        (["#script (python) #end."], "refused"),
        (['p("%"). #include "x.lp".'], "refused"),
        (["p(X) :- _says(1,p(X))."], "_says in a hypothesis"),
        (["p(X) :- _c_p(1,X)."], "_c_p in a hypothesis"),
        (["#const r = q."], "rules only"),
        (["p(1) :- a(1), 1 ≠ 2."], "U\\+2260"),
        ([f"p({'-' * 20_000}1)."], "too long"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(first: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        equivalent(first, [], inputs=INPUTS, atoms=ATOMS)


def test_statements_at_the_bounds_are_compared() -> None:
    deep = f"p(1) :- a(1), not h({'f(1+' * 55}{'+'.join('1' * 60)}{')' * 55})."
    assert equivalent([deep], [deep], inputs=INPUTS, atoms=ATOMS) is None


def test_inputs_or_a_task_are_needed() -> None:
    with pytest.raises(UserError, match="give a task"):
        equivalent([], [])
