"""Crisp answers are those of each example's program alone; what a process knows it does not ask again."""

from typing import Any

import clingo
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import AMBIGUOUS, UNDECIDED, LabelSpace
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.guarded import rules as guarded_rules
from nsl_bench.logic.guarded.worker import function_of
from nsl_bench.logic.inference import answered, crisp
from nsl_bench.logic.inference.crisp import crisp_labels, derived

PLAYERS = LabelSpace(("one", "two"), ("win(1)", "win(2)"))
VALIDITY = LabelSpace(("valid", "invalid"), (None, "invalid"))


def one_by_one(rules, background, contexts, atoms):
    """From the definition: each example's program solved by itself, cautiously."""
    holds, consistent = [], []
    for context in contexts:
        control = clingo.Control(["0", "--warn=none", "--enum-mode=cautious"])
        control.add("base", [], "\n".join([*rules, background, *(f"{text}." for text in context)]))
        control.ground([("base", [])])
        found = None
        with control.solve(yield_=True) as handle:
            for model in handle:
                found = [model.contains(clingo.parse_term(atom)) for atom in atoms]
        consistent.append(found is not None)
        holds.append(found or [False] * len(atoms))
    return np.array(holds), np.array(consistent)


def test_one_none_and_several() -> None:
    contexts = [("high(1)",), ("high(2)",), (), ("high(1)", "high(2)"), ("high(1)",)]
    labels = crisp_labels(["win(X) :- high(X)."], "", contexts, PLAYERS)
    assert labels.dtype == np.int16
    assert labels.tolist() == [0, 1, UNDECIDED, AMBIGUOUS, 0]


def test_the_label_without_an_atom_holds_if_nothing_is_derived() -> None:
    contexts = [("bad",), ("good",), ()]
    assert crisp_labels(["invalid :- bad."], "", contexts, VALIDITY).tolist() == [1, 0, 0]
    assert crisp_labels([], "", contexts, VALIDITY).tolist() == [0, 0, 0]
    assert crisp_labels(["invalid."], "", contexts, VALIDITY).tolist() == [1, 1, 1]


def test_a_context_may_hold_the_goal_itself() -> None:
    assert crisp_labels([], "", [("win(2)",), ()], PLAYERS).tolist() == [1, UNDECIDED]


def test_no_examples() -> None:
    assert crisp_labels(["invalid :- bad."], "", [], VALIDITY).tolist() == []


@pytest.mark.parametrize(
    ("rules", "background"),
    [
        (["win(X) :- not p(X), player(X).", "p(X) :- card(Y,R), card(X,S), R > S."], "player(1..2)."),
        (["win(X) :- #count { Y : card(Y,R) } > 1, player(X)."], "player(1..2)."),
        (["win(X) :- R = #max { S,Y : card(Y,S) }, card(X,R)."], ""),
        (["win(X) :- card(X,R), R <= S : card(Y,S)."], ""),
        (["win(X) :- card(X,_), not card(X,3), X < 3."], ""),
        (["win(X) :- reach(1,X)."], "reach(X,Y) :- card(X,Y). reach(X,Z) :- reach(X,Y), card(Y,Z)."),
        (["win(1;2)."], ""),
        (["win(X) :- not not card(X,2), player(X)."], "player(1..2)."),
        (["win(X) :- best(X)."], "#const top = 3. best(X) :- card(X,top). card(2,1)."),
        # a constraint, which takes out its own example only
        (["win(X) :- card(X,3)."], ":- card(1,R), card(2,R). :- card(X,1), not card(X,2)."),
        # several answer sets, and none
        (["win(X) :- odd(X)."], "odd(X) :- card(X,_), not even(X). even(X) :- card(X,_), not odd(X)."),
        (["win(X) :- card(X,R), not win(X), R = 2.", "win(2) :- card(2,1)."], ""),
        (["win(X) :- pick(X)."], "1 { pick(X) : card(X,_) } 1."),
        (["win(1) :- a.", "win(2) :- b."], "a | b :- card(1,_). :- b, card(2,_)."),
        (["win(X) :- -bad(X)."], "-bad(X) :- card(X,2). bad(X) :- card(X,3)."),
        # predicates that no context has, and one with the same name but another arity
        (["win(X) :- card(X), card(X,1)."], "card(2)."),
        (['win(X) :- card(X,R), name(R,"a, (b").'], 'name(1,"a, (b"). name(2,f(g,1)).'),
        (
            ["win(X) :- twin(X,Y), card(Y,_)."],
            "twin(X,Y) :- other(X,Y). other(X,Y) :- seat(X), seat(Y), X != Y. seat(X) :- card(X,_).",
        ),
    ],
)
def test_agrees_with_the_definition(rules: list[str], background: str) -> None:
    contexts = [
        tuple(f"card({player},{rank})" for player, rank in cards)
        for cards in ([], [(1, 2)], [(2, 3)], [(1, 2), (2, 3)], [(1, 3), (2, 3)], [(1, 1), (2, 1)], [(2, 1)])
    ]
    atoms = [atom for atom in PLAYERS.atoms if atom]
    holds, consistent = derived(rules, background, contexts, atoms)
    expected_holds, expected_consistent = one_by_one(rules, background, contexts, atoms)
    assert np.array_equal(consistent, expected_consistent)
    assert np.array_equal(holds[consistent], expected_holds[consistent])


ATOMS = ["p(X)", "q(X)", "r(X)", "s(X,Y)", "s(Y,X)", "t(Y)", "d(X)", "d(Y)"]
LITERALS = st.sampled_from([*ATOMS, *(f"not {atom}" for atom in ATOMS), "X != Y"])
HEADS = st.sampled_from(["p(X)", "q(X)", "r(X)", "s(X,Y)", "s(Y,X)", "win(X)", "win(Y)", ""])
RULES = st.lists(
    st.builds(
        lambda head, body: f"{head} :- {', '.join([*body, 'd(X)', 'd(Y)'])}.",
        HEADS,
        st.lists(LITERALS, max_size=3),
    ),
    max_size=6,
)
FACTS = st.lists(st.sampled_from([f"{p}({i})" for p in "pqt" for i in (1, 2)]), max_size=4, unique=True)


@settings(max_examples=300)
@given(RULES, st.lists(FACTS, min_size=1, max_size=4))
def test_random_programs(rules: list[str], facts: list[list[str]]) -> None:
    contexts = [tuple(some) for some in facts]
    holds, consistent = derived(rules, "d(1..2).", contexts, ["win(1)", "win(2)"])
    expected_holds, expected_consistent = one_by_one(rules, "d(1..2).", contexts, ["win(1)", "win(2)"])
    assert np.array_equal(consistent, expected_consistent)
    assert np.array_equal(holds[consistent], expected_holds[consistent])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(crisp, "_FACTS_AT_ONCE", size)
    contexts = [tuple(f"card({p},{(i * p) % 5})" for p in (1, 2)) for i in range(40)]
    rules = ["win(X) :- card(X,R), card(Y,S), X != Y, R > S."]
    labels = crisp_labels(rules, "", contexts, PLAYERS)
    expected = [UNDECIDED if i % 5 == 2 * i % 5 else int(2 * i % 5 > i % 5) for i in range(40)]
    assert labels.tolist() == expected


def test_contexts_may_be_rules() -> None:
    contexts = [("card(1..2,3)",), ("card(2,1)", "high(X) :- card(X,_)"), ("card(1,1)", ":- card(1,1)")]
    labels = crisp_labels(["win(X) :- high(X).", "high(1) :- card(1,3)."], "", contexts, PLAYERS)
    assert labels.tolist() == [0, 1, UNDECIDED]


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (["win(X) :- card(X"], r"The hypothesis, line 1, column 17: syntax error"),
        (["win(X) :- not card(X,1)."], r"line 1, column 1: .* cannot be grounded: .*binds X \(unsafe\)"),
        (["#script (python) #end."], "#script is not supported in the hypothesis"),
        (["win(1) :- card(1,X), X ≠ 2."], r"'≠' \(U\+2260\) is not allowed"),
        (["a.", "% ö", "win(1) :-\u00a0a."], r"line 3, column 10: the character '.xa0'"),
        (['a :- b("\n ö").'], "line 2, column 2"),
        (["win(1).\0 #script (lua) #end."], r"line 1, column 8: the character '.x00'"),
        ([f"a({'f(' * 200_000}1{')' * 200_000})."], r"statement 'a\(f\(f.* is too long"),
        ([f"a :- {'1+' * 5000}1 < 2."], "is too long"),
    ],
)
def test_bad_hypotheses(rules: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        crisp_labels(rules, "", [("card(1,1)",)], PLAYERS)


def test_a_string_or_comment_is_no_directive() -> None:
    assert crisp_labels(
        ['win(1) :- n("#include").  % #script'], "", [('n("#include")',)], PLAYERS
    ).tolist() == [0]


def test_other_characters_stand_in_strings_and_comments() -> None:
    rules = ['win(1) :- n("ö≠\\" ö").  % ö', "%* ö\n ö *%"]
    assert crisp_labels(rules, "", [('n("ö≠\\" ö")',)], PLAYERS).tolist() == [0]


@pytest.mark.parametrize("atom", ["win(", "win(X)", "5", "wün(1)"])
def test_a_labels_atom_is_a_ground_atom(atom: str) -> None:
    with pytest.raises(UserError, match="must be a ground atom"):
        crisp_labels(["win(1)."], "", [()], LabelSpace(("one", "two"), ("win(1)", atom)))


def test_stratification() -> None:
    for text, expected in (
        ("a :- not b. b :- c.", True),
        ("a :- not b. b :- not a.", False),
        ("a :- b. b :- a.", True),
        ("a(X) :- b(X), #count { Y : a(Y) } > 1.", False),
        ("{ a }.", False),
        ("a | b.", False),
        ("-a :- b.", False),
        (":- a, not b.", True),
    ):
        assert parse(text, "a test").stratified is expected, text


KNOWN = ["invalid :- bad(X), X > 1."]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The contexts of each call of the child process."""
    monkeypatch.setattr(answered, "_known", {})
    found: list[Any] = []

    def guarded(function: Any, *given: Any, **named: Any) -> Any:
        found.append(given[2])
        return function_of(function)(*given)

    monkeypatch.setattr(guarded_rules, "guarded", guarded)
    return found


def test_only_unknown_contexts_are_asked_about(asked: list[Any]) -> None:
    contexts = [("bad(1)",), ("bad(2)",), ("bad(1)",)]
    assert guarded_rules.crisp(KNOWN, "", contexts, VALIDITY).tolist() == [0, 1, 0]
    more = [("bad(3)",), *contexts]
    assert guarded_rules.crisp(KNOWN, "", more, VALIDITY).tolist() == [1, 0, 1, 0]
    assert asked == [[("bad(1)",), ("bad(2)",)], [("bad(3)",)]]
    assert guarded_rules.crisp(KNOWN, "", more, VALIDITY).tolist() == [1, 0, 1, 0]
    assert len(asked) == 2


def test_what_this_process_computed_is_known(asked: list[Any]) -> None:
    crisp_labels(KNOWN, "", [("bad(2)",)], VALIDITY)
    assert guarded_rules.crisp(KNOWN, "", [("bad(2)",)], VALIDITY).tolist() == [1]
    assert asked == []


def test_other_rules_background_and_labels_are_other_questions(asked: list[Any]) -> None:
    crisp_labels(KNOWN, "", [("bad(2)",)], VALIDITY)
    other = LabelSpace(("good", "poor"), (None, "poor"))
    assert guarded_rules.crisp(["invalid :- bad(5)."], "", [("bad(2)",)], VALIDITY).tolist() == [0]
    assert guarded_rules.crisp(KNOWN, "bad(2).", [()], VALIDITY).tolist() == [1]
    assert guarded_rules.crisp(KNOWN, "", [("bad(2)",)], other).tolist() == [0]
    assert len(asked) == 3


def test_wrong_rules_are_refused_without_examples() -> None:
    with pytest.raises(UserError, match="The hypothesis, line 1"):
        guarded_rules.crisp(["invalid :-"], "", [], VALIDITY)
    assert guarded_rules.crisp(KNOWN, "", [], VALIDITY).tolist() == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answered, "_known", {})
    monkeypatch.setattr(answered, "_KEPT", 2)
    monkeypatch.setattr(answered, "_MOST", 1)
    for k in range(4):
        crisp_labels([f"invalid :- bad({k})."], "", [("bad(1)",)], VALIDITY)
    assert len(answered._known) == 2
    crisp_labels(KNOWN, "", [("bad(1)",), ("bad(2)",)], VALIDITY)
    assert answered.known_labels(KNOWN, "", VALIDITY) == {}, "too many were known"
