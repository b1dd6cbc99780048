"""Equivalence of hypotheses, and the inputs that a task suggests."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


# -- random hypotheses: `equivalent` agrees with trying every input, and its counterexamples are true

LOW = [
    *("a(X)", "a(Y)", "b(X)", "b(1)", "r", "not a(X)", "not b(Y)", "not r", "not not a(Y)", "X < Y"),
    *("X != 1", "1 <= #count { Z : a(Z) }", "2 != #count { Z : b(Z) }", "1 { a(1) ; b(2) ; not r }"),
]
MIDDLE = [*LOW, "d(X)", "d(2)", "s", "not d(Y)", "not s", "not not d(X)", "1 <= #count { Z : d(Z) }"]
HIGH = [*MIDDLE, "p(X)", "-p(Y)", "q", "not p(X)", "not q", "1 = #count { Z : p(Z) }"]
RANDOM_INPUTS = [
    "{ a(1..2) }. { b(1..2) }. { r }.",
    "1 { a(1..2) } 1. { b(1..2) } 1. { r }.",
    "{ a(1..3) } 2. { r }. :- a(1), not r.",
    "{ a(X) : n(X) }. b(X) :- a(X), n(X). { r }.",
    "r. { a(1) ; b(2) }.",
    "1 { a(1) ; b(1) ; r }. { a(2) } :- b(1).",
]


def rules_of(heads: list[str], literals: list[str]) -> st.SearchStrategy[str]:
    """Rules whose predicates depend through negation on lower ones alone."""
    bodies = st.lists(st.sampled_from(literals), min_size=1, max_size=3).map(", ".join)
    return st.builds("{} :- {}, n(X), n(Y).".format, st.sampled_from(heads), bodies)


RULES = st.one_of(
    rules_of(["d(X)", "d(1)", "s"], [*LOW, "d(Y)", "s"]),
    rules_of(["p(X)", "p(Y)", "-p(X)", "p(2)", "q"], [*MIDDLE, "p(Y)", "q"]),
    rules_of(["p(X)", "p(1)", "q", "q"], [*MIDDLE, "q"]),
    rules_of([""], HIGH),
)
HYPOTHESES = st.lists(RULES, max_size=4)
ASKED = st.sampled_from([("p/1", "q"), ("p(1)", "q"), ("-p(1)", "p/1"), ("p(2)",), ("q", "-p/1")])


def answer_sets(program: str) -> list[frozenset[str]]:
    """All answer sets of a program."""
    control = clingo.Control(["--warn=none", "0"])
    control.add(program)
    control.ground()
    with control.solve(yield_=True) as handle:
        return [frozenset(map(str, model.symbols(atoms=True))) for model in handle]


def said(rules: Sequence[str], facts: Iterable[str], atoms: Sequence[str]) -> frozenset[str]:
    """What rules say of the compared atoms; nothing where the facts contradict them."""
    found = answer_sets("\n".join(["n(1..2).", *rules, *(f"{fact}." for fact in facts)]))
    assert len(found) <= 1
    whole = {text.removesuffix("/1") for text in atoms if text.endswith("/1")}
    return frozenset(a for each in found for a in each if a in atoms or a.partition("(")[0] in whole)


@pytest.mark.parametrize("pairs", [100, pytest.param(5_000, marks=pytest.mark.slow)])
def test_says_equivalent_exactly_where_all_answers_agree(pairs: int) -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=pairs)
    @given(HYPOTHESES, HYPOTHESES, st.booleans(), HYPOTHESES, st.sampled_from(RANDOM_INPUTS), ASKED)
    def compare(first, more, alone, background, inputs, atoms) -> None:  # type: ignore[no-untyped-def]
        second, background = more if alone else [*first[1:], *more[:1]], background[:2]
        possible = [
            frozenset(atom for atom in each if atom[0] in "abr") for each in answer_sets(f"n(1..2). {inputs}")
        ]
        sides = [(*background, *first), (*background, *second)]
        want = any(said(sides[0], x, atoms) != said(sides[1], x, atoms) for x in possible)
        try:
            found = equivalent(
                first, second, background="\n".join(["n(1..2).", *background]), inputs=inputs, atoms=atoms,
                known=("p/1", "-p/1", "q", "-q"),
            )  # fmt: skip
        except UserError as reason:  # the background contradicts itself whatever the input is
            assert "no input is possible" in str(reason) and not want
            return
        seen[want] += 1
        assert (found is not None) == want
        if found is not None:
            assert frozenset(found.inputs) in possible and frozenset(found.first) != frozenset(found.second)
            told = [said(rules, found.inputs, atoms) for rules in sides]
            assert [frozenset(found.first), frozenset(found.second)] == told

    compare()
    assert min(seen[True], seen[False]) > pairs // 10
