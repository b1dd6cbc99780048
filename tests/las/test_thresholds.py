"""Thresholds on numbers: `num_var`, and comparisons with constants over a range."""

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clingo import Symbol
from las.agreement import compared as agreed
from las.strategies import task_text

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.las.bias.lookups import compared
from nsl_bench.logic.las.bias.sight import Sight
from nsl_bench.logic.las.language_bias import Dialect
from nsl_bench.logic.las.semantics.coverage import score
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.tables import comparisons
from nsl_bench.logic.las.task import LasTask, Tier

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
DEFINED = {"greater": "greater(X,Y) :- num(X), num(Y), X > Y.", "less": "less(X,Y) :- num(X), num(Y), X < Y."}
BETWEEN = "between(X,L,U) :- num(X), num(L), num(U), L <= X, X <= U."
MODES = {
    "defined": ("greater(var(num), const(num))", "less(var(num), const(num))"),
    "built in": ("var(num) > const(num)", "var(num) <= const(num)"),
}


def ranged(
    top: int,
    modes: str,
    dialect: Dialect,
    noise: int = 0,
    attributes: int = 1,
    n: int = 40,
    negated: bool = False,
) -> str:
    """A task whose examples are right between two thresholds on each of two attributes, but for some."""
    rng = random.Random(f"{top} {modes} {noise}")
    names = [f"a{k}" for k in range(attributes)]
    positive = ", (positive)" if dialect == "ilasp" and not negated else ""
    lines = [f"num(0..{top}). car(c).", *(DEFINED.values() if modes == "defined" else ())]
    lines += ["#modeh(ok(var(car))).", *(f"#modeb({a}(var(car), var(num)){positive})." for a in names)]
    lines += [f"#modeb({mode}{positive if modes == 'defined' else ''})." for mode in MODES[modes]]
    lines += [
        f"#maxv({1 + attributes}).",
        f"#max_body({2 + 2 * attributes}).",
        COSTS if dialect == "fastlas" else "",
    ]
    for i in range(n):
        values = [rng.randint(0, top) for _ in names]
        right = all(top * 3 // 10 < v < top * 7 // 10 for v in values[:2]) != (i < noise)
        sides = ("ok(c)", "") if right else ("", "ok(c)")
        context = " ".join(f"{a}(c,{value})." for a, value in zip(names, values, strict=True))
        lines.append(f"#pos(e{i}@10, {{{sides[0]}}}, {{{sides[1]}}}, {{{context}}}).")
    return "\n".join(lines)


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("kind", ["fastlas", "ilasp", "negated"])
@pytest.mark.parametrize(("top", "noise", "attributes"), [(1_000, 0, 1), (1_000, 3, 1), (200, 0, 2)])
def test_of_many_constants_few_are_tried(
    modes: str, kind: str, top: int, noise: int, attributes: int
) -> None:
    negated, dialect = kind == "negated", "fastlas" if kind == "fastlas" else "ilasp"
    text = ranged(top, modes, dialect, noise, attributes, n=30 if negated else 40, negated=negated)
    found = solve(LasTask.parse(text + negated * f"\n#constant(num, 0..{top}).", dialect=dialect))
    assert (found.status, found.tier) == ("optimal", "A")
    assert found.score is not None and found.score <= 7 + 10 * noise
    most = (3_000, 60_000) if negated else (500, 5_000)
    assert found.statistics["evaluated"] < most[attributes - 1]


CONSTRAINTS: dict[str, tuple[dict[str, Any], Callable[[Any, Any], bool], tuple[str, ...]]] = {
    "negated": (
        {"dialect": "ilasp", "noise": 2, "n": 20, "negated": True},
        operator.ge,
        (
            ":- body(greater(V,X)), body(less(V,Y)), X >= Y.",
            ":- body(naf(greater(V,X))), body(greater(V,Y)), X <= Y.",
            ":- body(naf(greater(_,_))).",
            ":- body(greater(V,_)), body(less(V,_)).",
            ":- body(naf(a0(_,V))), not body(greater(V,_)).",
        ),
    ),
    **{
        dialect: (
            {"dialect": dialect, "noise": 3},
            operator.eq,
            (
                ":- in_body(greater(V,_)), not in_body(a0(_,V)).",
                ":- in_body(greater(V,X)), in_body(greater(V,Y)), X != Y.",
                ":- in_body(greater(V,X)), in_body(less(V,Y)), X >= Y.",
                "t(V) :- in_body(a0(_,V)). :- in_body(greater(V,_)), not t(V)."
                " :- in_body(less(V,_)), not t(V).",
            ),
        )
        for dialect in ("fastlas", "ilasp")
    },
    "forbidding the best rule": (
        {"dialect": "fastlas", "attributes": 2},
        operator.gt,
        (
            ":- in_body(greater(V,_)), not in_body(a0(_,V)).",
            ":- in_body(greater(V,X)), in_body(greater(W,Y)), (V,X) != (W,Y).",
            ":- in_body(greater(V,_)), in_body(less(V,_)).",
            ":- #count{X : in_body(X)} > 4.",
        ),
    ),
}


@pytest.mark.parametrize(
    ("kind", "constraint"), [(kind, each) for kind, (*_, texts) in CONSTRAINTS.items() for each in texts]
)
def test_constraints_on_comparisons_keep_the_proof(kind: str, constraint: str) -> None:
    options, compare, _ = CONSTRAINTS[kind]
    text = ranged(100, "defined", **options)
    found, free = (
        solve(LasTask.parse(each, dialect=options["dialect"]))
        for each in (f'{text}\n#bias("{constraint}").', text)
    )
    assert (found.status, found.tier, free.status) == ("optimal", "A", "optimal")
    assert compare(found.score, free.score)


@pytest.mark.parametrize(
    "constraint",
    [
        ":- body(naf(greater(_,_))).",
        "t(V) :- body(a0(_,V)). :- body(greater(V,_)), not t(V). :- body(less(V,_)), not t(V).",
    ],
)
def test_a_forbidden_rule_is_written_with_other_comparisons_of_the_same_values(constraint: str) -> None:
    text = ranged(1_000, "defined", "ilasp", noise=2, attributes=2, n=20, negated=True)
    task = LasTask.parse(f'{text}\n#bias("{constraint}").', dialect="ilasp")
    found = solve(task)
    assert (found.status, found.tier) == ("optimal", "A")
    assert score(task, found.hypothesis).total == found.score


@pytest.mark.parametrize("noise", [0, 4])
def test_two_constants_over_a_wide_range_are_proven(noise: int) -> None:
    text = ranged(1_000, "defined", "ilasp", noise).replace(DEFINED["less"], BETWEEN)
    modes = (
        "#modeb(less(var(num), const(num)), (positive)).",
        "#modeb(between(var(num), const(num), const(num)), (positive)).",
    )
    found = solve(LasTask.parse(text.replace(*modes)))
    assert (found.status, found.tier) == ("optimal", "A")
    assert found.statistics["evaluated"] < 1_000


def test_two_constants_that_may_be_negated_are_proven_where_no_example_is_wrong() -> None:
    text = ranged(50, "defined", "ilasp", negated=True).replace(DEFINED["less"], BETWEEN)
    modes = "#modeb(less(var(num), const(num))).", "#modeb(between(var(num), const(num), const(num)))."
    found = solve(LasTask.parse(text.replace(*modes), dialect="ilasp"))
    assert (found.status, found.tier, found.score) == ("optimal", "A", 3)
    assert found.statistics["evaluated"] < 2_000


@pytest.mark.parametrize("flavour", ["thresholds_tied", "thresholds_negated"])
def test_small_types_narrowed_like_large_ones_agree(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "_FEW_VALUES", 0)
    kinds = {agreed(task_text(flavour, number)).kind for number in range(200, 206)}
    assert "decided" in kinds


def test_the_background_compares_as_clingo_does() -> None:
    """Comparisons that numpy works out, against the atoms that clingo grounds."""
    rules = """
    n(-3..3). n(a). n("s"). n(#inf). n(f(1)). t(1..3). t(a).
    p(X,Y) :- n(X), n(Y), X < Y. p(X,X) :- t(X). p(2,3). p(a,Y) :- n(Y), Y >= -2.
    q(X,L,U) :- n(X), n(L), n(U), L <= X < U, not X = 1, not t(L).
    r(X,Y) :- n(X), n(Y), X + 1 > Y * 2 - -1. r(X,Y) :- n(X), n(Y), not X + Y != 0, 1 < X.
    """
    program = parse(rules, "the background")
    control = grounded("The background", program.nodes)
    for signature in (("p", 2), ("q", 3), ("r", 2)):
        known = {tuple(each.symbol.arguments) for each in control.symbolic_atoms.by_signature(*signature)}
        values = [each.symbol.arguments[0] for each in control.symbolic_atoms.by_signature("n", 1)]

        def members(name: str) -> set[Symbol]:
            return {each.symbol.arguments[0] for each in control.symbolic_atoms.by_signature(name, 1)}

        flags = compared(program, signature, [values] * signature[1], members)
        found = {tuple(values[i] for i in where) for where in np.argwhere(flags).tolist()}
        assert found == known


@pytest.mark.parametrize(
    ("constraint", "alike"),
    [
        (":- in_body(greater(V,_)), not in_body(a0(_,V)).", True),
        (":- in_body(greater(V,X)), in_body(greater(W,Y)), (V,X) != (W,Y).", True),
        (":- in_body(greater(V,X)), in_body(greater(W,Y)), X != Y.", False),
        (":- in_body(greater(V,X)), in_body(less(V,Y)), X >= Y.", False),
        (":- in_body(less(_,7)).", True),
        (":- in_body(greater(_,7)).", False),
        (":- in_body(greater(_,7)), in_body(greater(_,8)).", False),
        (":- #count{X : in_body(X)} > 4.", True),
        (":- #count{X : in_body(X)} < 4.", False),
        (":- #count{X : in_body(greater(_,X))} > 1.", False),
        ("t(X) :- in_body(greater(_,X)). :- t(1).", False),
        ("t :- in_body(greater(_,_)). :- not t.", True),
        ("#const k = 7. :- in_body(greater(_,k)).", False),
        (":- in_body(X), X = greater(_,7).", False),
        (":- in_head(ok(X)), in_body(greater(_,X)).", False),
    ],
)
def test_constants_are_alike_where_no_constraint_looks_at_them(constraint: str, alike: bool) -> None:
    sight = Sight(parse(constraint, "#bias"))
    assert (sight.kind("greater(V1,7)") == sight.kind("greater(V1,8)")) == alike
    assert sight.kind("greater(V1,7)") != sight.kind("greater(V2,7)")
    assert sight.kind("not greater(V1,7)") != sight.kind("greater(V1,7)")


def test_two_attributes_with_wrong_examples_are_proven() -> None:
    found = solve(LasTask.parse(ranged(1_000, "built in", "fastlas", noise=4, attributes=2)))
    assert (found.status, found.tier) == ("optimal", "A")
    assert found.statistics["evaluated"] < 40_000


@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_num_var_is_a_variable_with_a_threshold(shared: Path, tier: Tier) -> None:
    task = LasTask.read(shared / "oracles/reading/numvar_min.las")
    found = solve(task, first_tier=tier, verify=True)
    assert found.hypothesis == ("ok(V1) :- obs(V1,V2), V2 >= 6, car(V1).",)
    assert (found.status, found.score, found.verified) == ("optimal", 3, "optimality")
    assert LasTask.parse(task.to_las(), task.name) == task


@pytest.mark.parametrize("ages", [(1, 3, 4), (4, 3, 1)])
@pytest.mark.parametrize(
    "modes",
    [
        "#modeb(age(var(person), num_var(num))). #maxv(1).",
        "#modeb(age(var(person), var(num))). #modeb(var(num) < const(num)). #maxv(2).",
    ],
)
def test_values_that_no_example_asks_about_hide_no_threshold(modes: str, ages: tuple[int, ...]) -> None:
    facts = "".join(f"age({name},{age})." for name, age in zip("abc", ages, strict=True))
    text = f"""person(a;b;c). num(1..4). {facts} #modeh(ok(var(person))). {modes} #max_body(2). {COSTS}
    #pos(e1@5, {{ok(a)}}, {{}}). #pos(e2@5, {{}}, {{ok(c)}}). """
    assert agreed(text).kind == "decided"


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("ok(X) :- obs(X,Y), Y > 3, car(X).", 3),
        ("ok(X) :- Y <= 8, obs(X,Y), Y >= 4, car(X).", 4),
        ("ok(X) :- obs(X,_), car(X).", 2),
    ],
)
def test_hypotheses_with_thresholds_are_priced(shared: Path, rule: str, cost: int) -> None:
    task = LasTask.read(shared / "oracles/reading/numvar_min.las")
    assert score(task, [rule]).cost == cost


def test_a_bias_sees_thresholds_as_fastlas_does() -> None:
    text = """
    #modeh(ok). #modeb(speed(num_var(kmh))). #modeb(weight(num_var(kg))).
    #bias("penalty(1, body(X)) :- in_body(X). penalty(5, V) :- in_body(binop(V,\\">=\\",_)).").
    #pos(a, {ok}, {}, {speed(50). weight(-3).}). #pos(b, {}, {ok}, {speed(30). weight(2).}).
    """
    found = solve(LasTask.parse(text))
    assert (found.score, found.hypothesis) == (2, ("ok :- weight(V1), V1 <= -3.",))
    assert agreed(text).kind == "decided"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("#modeh(p(num_var(t))).", "num_var(type) is allowed in '#modeb' only"),
        ("#modeb(not q(num_var(t))).", "needs an atom without 'not'"),
        ("#modeb(num_var(t) < 3).", "needs an atom without 'not'"),
        ("#modeb(q(num_var(t))). #ground_without_replacement.", "do not go together"),
    ],
)
def test_what_no_threshold_can_be_is_refused(statement: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("(", r"\(").replace(")", r"\)")):
        solve(LasTask.parse(f"t(1..3). q(1). #modeh(p). {statement} #pos(a, {{p}}, {{}})."))
