"""Equivalence of hypotheses, and the inputs that a task suggests."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.semantics.equivalence import equivalent, input_space
from nsl_bench.logic.las.task import LasTask

INPUTS = "{ a(1..2) }. { b(1..2) }. { r }."
ATOMS = ("p/1", "q")


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
        '{ card(X0,X1,X2) : nsl_value("card/3",1,X1), nsl_value("card/3",2,X2) } = 1 :- nsl_key("card/3",X0).'
    ]
    grids = input_space(LasTask.read(shared / "oracles/las/sudoku4_p0.las")).splitlines()
    assert '{ value(X0,X1,X2) : nsl_value("value/3",2,X2) } 1 :- nsl_key("value/3",X0,X1).' in grids


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (["p(X) :- a(X), not q.", "q :- not p(1)."], "cycle through negation"),
        (["{ p(1) }."], "choice"),
        (["a(1)."], "inputs derive"),
        (["p(X) :- not a(X)."], "unsafe"),
        (["p(1) :- "], "syntax error"),
        (["#script (python) #end."], "not supported"),
        (['p("%"). #include "x.lp".'], "not supported"),
        (["#const r = q."], "must contain only rules"),
        (["p(1) :- a(1), 1 ≠ 2."], "U\\+2260"),
        ([f"p({'-' * 20_000}1)."], "too long"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(first: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        equivalent(first, [], inputs=INPUTS, atoms=ATOMS, known=ATOMS)


def test_statements_at_the_bounds_are_compared() -> None:
    deep = f"p(1) :- a(1), not h({'f(1+' * 55}{'+'.join('1' * 60)}{')' * 55})."
    assert equivalent([deep], [deep], inputs=INPUTS, atoms=["p/1"], known=["p/1"]) is None


def test_operators_that_are_not_inside_one_another_may_be_many() -> None:
    wide = f"p(1) :- a(1), #sum {{ {'; '.join(f'-{k},{k} : a({k % 3})' for k in range(3000))} }} < 0."
    assert equivalent([wide], ["p(1) :- a(1)."], inputs=INPUTS, atoms=["p/1"], known=["p/1"]) is None


@pytest.mark.parametrize(
    "text",
    [
        f"p(1) :- a({'+1' * 121}).",
        f"p(1) :- a({'(' * 50}1{'+1+1+1)' * 50}).",
        f"p(1) :- a({'(1+1+1+' * 50}1{')' * 50}).",
        f"p(1) :- #sum {{ 1,{'-' * 121}1 : a(1); 2 : a(1) }} > 0.",
        f"p(1) :- #sum {{ {'; '.join(f'{k} : a(1)' for k in range(50_001))} }} > 0.",
        f"p(1) :- #sum {{ 1 : {', '.join('a(1)' for k in range(10_002))} }} > 0.",
        f"p(1) :- {', '.join('a(1)' for k in range(10_002))}.",
    ],
)
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="too long"):
        equivalent([text], [], inputs=INPUTS, atoms=ATOMS, known=ATOMS)


def test_inputs_or_a_task_are_needed() -> None:
    with pytest.raises(UserError, match="Give a task"):
        equivalent([], [])


NAMES = ["says", "bad", "violated", "holds", "differ", "value", "key", "p_p", "c_p", "n_p", "example"]
"""What the comparison's own predicates are or were called, without what goes before."""


@pytest.mark.parametrize("prefix", ["_", "nsl_", "nsl1_", ""])
@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_refused_or_changes_an_answer(prefix: str, name: str) -> None:
    own = f"{prefix}{name}"
    background = f"{own}. {own}(0). {own}(1). {own}(0,p(1)). {own}(1,p(1)). {own}(1,1,1)."
    same, other = [f"p(X) :- a(X), {own}."], ["p(X) :- a(X)."]
    assert equivalent(same, other, background=background, inputs="{ a(1..2) }.", atoms=["p/1"]) is None
    for inputs in (f"{{ a(1..2) }}. {own}(2).", f"{{ a(1..2) }}. {{ {own}(1) }}."):
        found = equivalent(other, [f"p(X) :- a(X), {own}(X)."], inputs=inputs, atoms=["p/1"])
        assert found is not None
    found = equivalent([f"{own}(X) :- a(X)."], [], inputs="{ a(1..2) }.", atoms=[f"{own}/1"])
    assert found is not None
    assert found.first in ((f"{own}(1)",), (f"{own}(2)",))


def test_variables_of_any_name_are_compared() -> None:
    first = ["p(NSL_ATOM) :- a(NSL_ATOM), not b(NSL_ATOM)."]
    assert equivalent(first, ["p(X) :- a(X), not b(X)."], inputs=INPUTS, atoms=["p/1"]) is None


@pytest.mark.parametrize(
    ("atom", "sentence"),
    [
        ("invald", r"No rule derives 'invald'.*Did you mean 'invalid'\?"),
        ("win/1", r"No rule derives 'win/1'.*Did you mean 'win/2'\?"),
        ("win(3)", r"No rule derives 'win\(3\)'.*Did you mean 'win/2'\?"),
        ("win(3,x)", r"Neither hypothesis derives 'win\(3,x\)'.*Did you mean 'win\(\d,x\)'"),
        ("never", "Neither hypothesis derives 'never'"),
        ("never/0", "Neither hypothesis derives 'never/0'"),
        ("a(1)", r"The inputs fix 'a\(1\)'"),
        ("p(X", "must be an atom or a predicate"),
        ("Win/1", "must be an atom or a predicate"),
    ],
)
def test_an_atom_that_cannot_be_derived_is_refused(atom: str, sentence: str) -> None:
    first = ["invalid :- a(1).", "win(X,x) :- a(X).", "never :- nothing."]
    with pytest.raises(UserError, match=sentence):
        equivalent(first, first, inputs="{ a(1..2) }.", atoms=["invalid", atom])


def test_an_atom_that_only_one_side_derives_is_compared() -> None:
    found = equivalent(["p :- r."], ["q :- r."], inputs="{ r }.", atoms=["p"])
    assert found is not None
    assert (found.first, found.second) == (("p",), ())
    assert equivalent([], [], inputs="{ r }.", atoms=["p"], known=["p"]) is None


@pytest.mark.parametrize(
    ("inputs", "background", "sentence"),
    [
        ("", "", "must have facts or choices"),
        ("% { r }.", "", "must have facts or choices"),
        (":- r.", "", "must have facts or choices"),
        ("{ r }. :- r. :- not r.", "", "no answer set"),
        ("{ r }.", ":- r. :- not r.", "no answer set"),
    ],
)
def test_inputs_of_which_none_is_possible_are_refused(inputs: str, background: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        equivalent(["p :- r."], ["p :- r."], background=background, inputs=inputs, atoms=["p"])


def test_a_violated_constraint_counts_for_what_the_background_derives() -> None:
    background = "d(X) :- a(X)."
    found = equivalent([":- r."], [], inputs=INPUTS, background=background, atoms=["d/1"])
    assert found is not None
    assert ("r" in found.inputs, found.first, bool(found.second)) == (True, (), True)
    with pytest.raises(UserError, match="Neither hypothesis derives 'd/1'"):
        equivalent(["p(1)."], [], inputs=INPUTS, background=background, atoms=["d/1"])


def test_classical_negation_contradicts() -> None:
    first = ["p :- r.", "-p :- r, s."]
    found = equivalent(first, ["p :- r."], inputs="{ r ; s }.", atoms=["p"])
    assert found is not None
    assert (found.first, found.second) == ((), ("p",))
    assert equivalent(first, first, inputs="{ r ; s }.", atoms=["p", "-p"]) is None
    task = LasTask.parse(
        "#modeh(p). #modeb(q). #pos(x, {p}, {}, {-a(1).}). #pos(y, {}, {p}, {a(2).}).", dialect="fastlas"
    )
    assert input_space(task).splitlines()[0].startswith('nsl_value("-a/1"')


def test_the_true_rule_of_a_benchmark_is_itself() -> None:
    from nsl_bench.core import registry
    from nsl_bench.run.true_rule import is_true_rule

    for name in ("follow_suit", "sudoku_4x4", "crop_yield"):
        benchmark = registry.create("benchmark", name)
        assert is_true_rule((benchmark.true_rule,), benchmark)
        assert not is_true_rule((), benchmark)


def test_grounding_heeds_the_time_limit() -> None:
    rules = ["p :- q(A,B,C,D,E).", "q(A,B,C,D,E) :- a(A), a(B), a(C), a(D), a(E)."]
    with pytest.raises(UserError, match="comparison is undecided"):
        equivalent(rules, rules, inputs="{ a(1..60) }.", atoms=["p"], time_limit=0.5)
