"""The coverage check: the definition, case by case, and rules as text."""

from pathlib import Path

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.las.bias.hypothesis import (
    hypothesis_cost,
    normal_form,
    parse_rules,
    with_type_guards,
    without_type_guards,
)
from nsl_bench.logic.las.language_bias import Dialect
from nsl_bench.logic.las.semantics import coverage
from nsl_bench.logic.las.semantics.coverage import covered, score
from nsl_bench.logic.las.task import LasTask

CHOICE = """
1 { q; r } 1.
#modeh(p). #modeb(q). #modeb(not r). #maxv(0).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(brave@3, {p}, {}, {}).
#pos(other@5, {r}, {p}, {}).
#neg(cautious, {p, r}, {}, {}).
#neg(broken@7, {p}, {}, {s.}).
"""


def test_positive_examples_are_brave_and_negative_ones_cautious() -> None:
    task = LasTask.parse(CHOICE)
    assert covered(task, ["p :- q."]) == [True, True, True, False]
    assert covered(task, ["p."]) == [True, False, False, False]
    assert covered(task, []) == [False, True, True, True]


def test_a_score_is_cost_and_penalties_and_names_broken_examples() -> None:
    task = LasTask.parse(CHOICE)
    found = score(task, ["p."])
    assert (found.cost, found.penalties, found.total, found.broken) == (1, 12, 13, ("cautious",))


def test_an_inconsistent_copy_does_not_touch_the_others() -> None:
    task = LasTask.parse(
        """
        :- p, bad.
        o :- odd, not o.
        #modeh(p). #modeb(a). #maxv(0).
        #pos(fine, {p}, {}, {a.}).
        #pos(constraint@1, {}, {}, {a. bad.}).
        #pos(cycle@1, {}, {}, {odd.}).
        #neg(no_answer_set_satisfies, {}, {}, {odd.}).
        """,
        dialect="fastlas",
    )
    assert covered(task, ["p :- a."]) == [True, False, False, True]


def test_contexts_hold_rules_and_classical_negation() -> None:
    task = LasTask.parse(
        """
        #modeh(-p). #modeb(a). #modeh(p). #maxv(0).
        #pos(rule, {-p}, {}, {a :- not b.}).
        #pos(clash@1, {}, {}, {p. a.}).
        #pos(range, {c(3)}, {c(4)}, {c(1..3).}).
        """.replace("#modeh(-p). ", ""),
        dialect="fastlas",
    )
    assert covered(task, ["-p :- a."]) == [True, False, True]


def test_background_extends_an_example() -> None:
    task = LasTask.parse(
        """
        inclusion(h(X)) :- want(X).  exclusion(h(X)) :- n(X), not want(X).
        n(1..2).
        #modeh(h(var(n))). #modeb(a(var(n))).
        #pos(one@1, {}, {}, {want(1). a(1).}).
        #pos(two@1, {}, {}, {want(1). a(2).}).
        """
    )
    assert covered(task, ["h(X) :- a(X), n(X)."]) == [True, False]


def test_a_thousand_examples_share_one_grounding() -> None:
    examples = "\n".join(f"#pos(e{i}@1, {{p({i % 7})}}, {{}}, {{a({i % 5}).}})." for i in range(1000))
    task = LasTask.parse(f"#modeh(p(var(n))). #modeb(a(var(n))). n(0..6).\n{examples}", dialect="fastlas")
    assert sum(covered(task, ["p(X) :- a(X), n(X)."])) == sum(i % 7 == i % 5 for i in range(1000))


@pytest.mark.parametrize("rule", ["#script (lua) print(1) #end.", '#include "x.lp".', "p :-", "p :- q"])
def test_what_is_no_rule_is_refused_in_a_sentence(rule: str) -> None:
    with pytest.raises(UserError):
        score(LasTask.parse(CHOICE), [rule])


def test_the_coverage_check_gives_fastlas_scores(shared: Path) -> None:
    task = LasTask.read(shared / "oracles/las/sudoku4_p0.las")
    rules = [
        f"invalid :- value(A,N), value(B,N), neq(A,B), {k}(A,R), {k}(B,R)." for k in ("row", "col", "block")
    ]
    assert score(task, rules).total == 18


def test_type_guards_and_inequalities_are_free() -> None:
    task = LasTask.parse(
        """
        n(1..3).
        #modeh(h(var(n))). #modeb(a(var(n))). #modeb(n(var(n))). #ground_without_replacement.
        #bias("penalty(2, head). penalty(1, body(X)) :- in_body(X).").
        #pos(e, {h(1)}, {}, {a(1).}).
        """
    )
    assert hypothesis_cost(task, ["h(V1) :- a(V1), n(V1)."]) == 3
    assert hypothesis_cost(task, ["h(V1) :- a(V1), a(V2), V1 != V2, n(V1), n(V2)."]) == 4
    assert hypothesis_cost(task, ["h(V1) :- a(V2). h(V1) :- a(V1), n(V1).", "", "% none"]) == 6
    assert with_type_guards(task, "h(V1) :- a(V2).") == "h(V1) :- a(V2), n(V1), n(V2)."
    assert without_type_guards(task, "h(V1) :- a(V1), n(V1).") == "h(V1) :- a(V1)."
    assert without_type_guards(task, "h(V1) :- not a(V1), n(V1).") == "h(V1) :- not a(V1), n(V1)."
    assert without_type_guards(task, "h(1).") == "h(1)."


def test_what_only_grounding_finds_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    task = LasTask.parse("#const k = 1. q(k). #modeh(p). #pos(e, {p}, {}).")
    with pytest.raises(UserError, match=r"^The program cannot be grounded: .*redefinition of constant"):
        score(task, ["#const k = 2.", "p :- q(k)."])
    with pytest.raises(UserError, match=r"^The hypothesis, line 1, column 1: .*binds X \(unsafe\)"):
        score(task, ["p :- not r(X)."])
    assert capfd.readouterr() == ("", "")


def test_equal_rules_have_one_normal_form() -> None:
    assert normal_form("p(X) :- q(X,Y), not r(Y).") == normal_form("p(A) :- not r(B), q(A,B).")
    assert normal_form("p(X) :- q(X,Y).") != normal_form("p(X) :- q(Y,X).")
    assert parse_rules('p(X) :- q(X); r("a; b").') == ('p(X) :- q(X), r("a; b").',)


@pytest.mark.parametrize(
    ("dialect", "program", "rules", "kept"),
    [
        ("ilasp", "far(1..3). q(X) :- far(X). r(2). s :- not r(2).", ["p :- r(2)."], {"r(2)."}),
        ("ilasp", "a. far. :- far, x. x :- a, p.", ["p."], {"a.", "far.", "x :- a; p.", "#false :- far; x."}),
        ("ilasp", "a. b :- a. c.", ["-b :- c."], {"a.", "b :- a.", "c."}),
        ("ilasp", "far :- not p. a.", ["p :- q."], set()),
        ("fastlas", "a. exclusion(far).", ["p."], {"a.", "exclusion(far)."}),
        ("ilasp", "a. o :- a, not o.", ["p."], {"a.", "o :- a; not o."}),
        ("ilasp", "a. { far }.", ["p."], {"a.", "{ far }."}),
    ],
)
def test_scoring_leaves_out_only_what_nothing_asked_for_depends_on(
    dialect: Dialect, program: str, rules: list[str], kept: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = LasTask.parse(
        f"{program}\n#modeh(p). #modeb(q).\n#pos(one, {{p}}, {{}}, {{q.}}).\n#pos(two, {{}}, {{p}}, {{}}).",
        dialect=dialect,
    )
    found = covered(task, rules)
    asked = [coverage.content(example) for example in task.examples]
    own = coverage._read(task, parse("\n".join(rules), "rules"), asked)
    assert {rule.text for rule in own.rules} == kept
    monkeypatch.setattr(coverage, "_read", lambda task, rules, contents: task.program)
    assert found == covered(task, rules)
