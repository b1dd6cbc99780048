"""The language bias: what rules cost, what is proven of costs, and which rules the hypothesis space holds."""

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import clingo
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from las.agreement import form, plainly, steps, useless

from nsl_bench.cli.rules import learn
from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded import learning
from nsl_bench.logic.guarded.learning import list_space
from nsl_bench.logic.las import LasTask, hypothesis_space, solve
from nsl_bench.logic.las.bias.additive import additive_costs
from nsl_bench.logic.las.bias.batch import Pricing
from nsl_bench.logic.las.bias.costs import flat_costs, is_monotone, rule_costs
from nsl_bench.logic.las.bias.hypothesis import count_atoms, hypothesis_cost, normal_form
from nsl_bench.logic.las.bias.program import FORBIDDEN
from nsl_bench.logic.las.bias.space import growing_space, listed_space
from nsl_bench.logic.las.language_bias import LanguageBias
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs

FEW = 150

FILE = tomllib.loads(Path(__file__).with_name("bias.toml").read_text())
HEADS = [None, "p", "k", "h(V1)", "h(V2)"]
LITERALS = [
    *("p", "q", "not p", "a(V1)", "a(V2)", "not a(V1)", "a(blue)", "a(v1)"),
    *("e(V1,V2)", "e(V2,V1)", "e(V2,V3)", "e(V1,V1)", "V1 != V2", "V1 < V2"),
]

programs = st.lists(st.sampled_from(FILE["statements"]), min_size=1, max_size=4, unique=True)
bodies = st.lists(st.sampled_from(LITERALS), max_size=5, unique=True).map(tuple)
rules = st.tuples(st.sampled_from(HEADS), bodies)
dialects = st.sampled_from(["fastlas", "ilasp"])


def bias_of(*statements: str, dialect: str = "fastlas") -> LanguageBias:
    return LanguageBias(penalties=statements, dialect=dialect)  # type: ignore[arg-type]


def cost(bias: LanguageBias, head: str | None, body: Sequence[str]) -> int | None:
    """A rule's cost by one call of clingo, straight from the definition; None where the bias forbids it."""
    facts = [] if head is None else [f"in_head({reified(head)})."]
    facts += [f"in_body({reified(literal)})." for literal in body]
    control = clingo.Control(["--warn=none"])
    control.add("\n".join([*(bias.penalties or ()), *facts]))
    control.ground()
    with control.solve(yield_=True) as answers:
        for answer in answers:
            atoms = answer.symbols(atoms=True)
            total: int = sum(a.arguments[0].number for a in atoms if a.match("penalty", 2))
            if "penalty(" not in "".join(bias.penalties or ()):
                total = len(facts) if bias.dialect == "ilasp" else 0
            inverted = [a.arguments[0].number for a in atoms if a.match("invert", 1)]
            if len(inverted) > 1:
                assume(False)
            if inverted:
                return int(inverted[0]) // total if total else None
            return total
    return None


def reified(literal: str) -> str:
    text = re.sub(r"\bV(\d)", r"variable_\1", literal)
    if comparison := re.fullmatch(r"(\w+) (\S+) (\w+)", text):
        return f'binop("{comparison[2]}",{comparison[1]},{comparison[3]})'
    return f"neg({text.removeprefix('not ')})" if text.startswith("not ") else text


def check_costs(
    statements: list[str], dialect: str, chosen: list[tuple[str | None, tuple[str, ...]]]
) -> None:
    bias = bias_of(*statements, dialect=dialect)
    want = [cost(bias, *rule) for rule in chosen]
    assert rule_costs(bias, chosen) == want
    assert [rule_costs(bias, [rule])[0] for rule in chosen] == want


def check_additive(statements: list[str], dialect: str, chosen: list[tuple[str, tuple[str, ...]]]) -> None:
    bias = bias_of(*statements, dialect=dialect)
    heads = ["p", "k", "h(V1)"]
    forms = {literal: literal for literal in LITERALS}
    forms |= {"a(V2)": "a(V1)", "e(V2,V1)": "e(V1,V2)", "e(V2,V3)": "e(V1,V2)"}
    literals = list(dict.fromkeys(forms.values()))
    found = additive_costs(bias, heads, literals)
    if found is not None:
        of_head, of_literal = (
            dict(zip(*pair, strict=True)) for pair in zip((heads, literals), found, strict=True)
        )
        sums = [of_head[head] + sum(of_literal[forms[each]] for each in body) for head, body in chosen]
        assert sums == [cost(bias, *rule) for rule in chosen]


def check_monotone(statements: list[str], rule: tuple[str | None, tuple[str, ...]], more: str) -> None:
    bias = bias_of(*statements)
    head, body = rule
    if is_monotone(bias):
        shorter, longer = cost(bias, head, body), cost(bias, head, (*body, more))
        assert longer is None or (shorter is not None and shorter <= longer)


headed = st.tuples(st.sampled_from(["p", "k", "h(V1)"]), bodies)
ABOUT_COSTS = [
    (check_costs, (programs, dialects, st.lists(rules, min_size=4, max_size=8))),
    (check_additive, (programs, dialects, st.lists(headed, min_size=1, max_size=6))),
    (check_monotone, (programs, rules, st.sampled_from(LITERALS))),
]


@pytest.mark.parametrize("programs", [FEW, pytest.param(3_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("check", "drawn"), ABOUT_COSTS, ids=["cost", "additive", "monotone"])
def test_costs_are_those_of_the_definition(check, drawn, programs: int) -> None:  # type: ignore[no-untyped-def]
    settings(max_examples=programs)(given(*drawn)(check))()


@pytest.mark.parametrize(
    ("statements", "costs"),
    [
        ("penalty(1, head). penalty(1, body(X)) :- in_body(X).", (1, 1)),
        ("penalty(2, head(X)) :- in_head(X). penalty(3, X) :- in_body(X).", (2, 3)),
        ("penalty(5, head) :- in_head(accept). penalty(1, body(X)) :- in_body(X).", None),
        ("penalty(1, head). penalty(1, body(x)) :- in_body(X).", None),
        ("penalty(1, head) :- in_head(X), in_head(X). penalty(1, body(X)) :- in_body(X).", None),
        ("penalty(1, X) :- in_head(X). penalty(1, X) :- in_body(X).", None),
        ("penalty(1, head). penalty(1, body(X)) :- in_body(X). :- in_body(p).", None),
        ("penalty(1, head). % penalty(1, body(X)) :- in_body(X).", (1, 0)),
    ],
)
def test_costs_are_flat_only_where_the_syntax_tree_says_so(
    statements: str, costs: tuple[int, int] | None
) -> None:
    assert flat_costs(bias_of(statements)) == costs


@pytest.mark.parametrize(
    "statement",
    [
        "penalty(1, body(X)) :- in_body(X).",
        "penalty(5, head) :- in_head(accept). :- in_body(p), in_body(q).",
        "penalty(W, X) :- in_body(X), w(X,W). w(a,3). w(X,1) :- other(X), not a(X). other(b). a(c).",
        "penalty(|X|, (X,Y)) :- in_body(cost(Y,X)).",
        "penalty(k, X) :- in_body(X), X != p. #const k = 2.",
    ],
)
def test_positive_programs_are_monotone(statement: str) -> None:
    assert is_monotone(bias_of(statement))


@pytest.mark.parametrize(
    "statement",
    [
        ":- in_body(p) : in_body(q).",
        ":- in_body(q), not in_body(p).",
        "q :- in_body(q), not p. p :- in_body(p). :- q.",
        "penalty(3, few) :- #count { X : in_body(X) } < 2.",
        "penalty(3, X) :- in_body(X), 1 { in_body(Y) : in_body(neg(Y)) }.",
        "invert(9).",
        "penalty(0-3, x).",
        "penalty(W, X) :- in_body(X), w(X,W). w(a,-3).",
        "penalty(W, X) :- in_body(X), W = 1 - 2.",
        "penalty(1, (X,Y)) :- in_body(X), in_body(Y), X < Y.",
    ],
)
def test_what_is_not_proven_is_not_monotone(statement: str) -> None:
    assert not is_monotone(bias_of(statement))


def test_literals_that_share_a_penalty_do_not_add_up() -> None:
    once = bias_of("penalty(3, e) :- in_body(e(X,Y)).")
    assert additive_costs(once, ["p"], ["e(V1,V2)"]) is None
    assert rule_costs(once, [("p", ("e(V1,V2)", "e(V2,V3)"))]) == [3]
    turned = bias_of("penalty(1, (X,Y)) :- in_body(e(X,Y)). penalty(1, (Y,X)) :- in_body(e(X,Y)).")
    assert additive_costs(turned, ["p"], ["e(V1,V2)"]) is None
    with_head = bias_of("penalty(1, X) :- in_head(X). penalty(1, X) :- in_body(X).")
    assert additive_costs(with_head, ["h(V1)"], ["h(V1)"]) is None
    assert additive_costs(with_head, ["h(V1)"], ["a(V1)"]) == ([1], [1])
    assert rule_costs(with_head, [("h(V1)", ("h(V1)", "h(V2)"))]) == [2]


def test_weights_may_come_from_facts_and_from_constants() -> None:
    bias = bias_of("w(a,3). w(b,1). penalty(W,X) :- in_body(X), w(X,W). #const k = 4. penalty(k, head).")
    assert additive_costs(bias, ["p"], ["a", "b", "c"]) == ([4], [3, 1, 0])


def test_equal_variables_may_cost_something_else() -> None:
    bias = bias_of("penalty(5, X) :- in_body(e(X,X)).")
    assert additive_costs(bias, ["p"], ["e(V1,V2)", "e(V1,V1)"]) == ([0], [0, 5])


def test_a_variable_is_no_constant_of_anybody() -> None:
    bias = bias_of("penalty(9, X) :- in_body(a(X)), X = v_a_r_v1. penalty(9, X) :- in_body(a(X)), X = v1.")
    assert rule_costs(bias, [("p", ("a(V1)",)), ("p", ("a(v_a_r_v1)",))]) == [0, 9]


def test_an_atom_of_neg_is_the_term_of_a_negated_literal() -> None:
    bias = bias_of("penalty(1, head). penalty(1, body(X)) :- in_body(X).")
    assert rule_costs(bias, [("p", ("neg(q)", "not q"))]) == [2]
    assert additive_costs(bias, ["p"], ["neg(q)", "not q"]) is None


@pytest.mark.parametrize(
    "literal",
    [
        *("a(V1+1)", "V1 = V2-1", "1 < V1 < V2", "#count { X : q(X) } > 1", "a(1;2)", "a(1..1000000000)"),
        *("q(X) : r(X)", "not not q", "not a(V1) = 3", "a(-V1)", "#sum+ { 1 } = 1", "#true", "-q", "e(_,_)"),
    ],
)
def test_every_literal_is_one_fact(literal: str) -> None:
    bias = bias_of("penalty(1, body(X)) :- in_body(X). penalty(2, r) :- in_body(r).")
    assert rule_costs(bias, [("p", (literal,)), ("p", (literal, "q")), ("p", ())]) == [1, 2, 0]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("penalty(0-1, x).", r"derives penalty\(-1,x\).*at least 0"),
        ("penalty(a, x).", r"derives penalty\(a,x\)"),
        ("penalty(1-N, x) :- N = #count { X : in_body(X) }.", r"derives penalty\(-2,x\)"),
        ("{ penalty(1, x) }.", "choice or a disjunction"),
        ("penalty(1, x); penalty(2, x).", "choice or a disjunction"),
        ("a :- not b. b :- not a.", "cycle through negation.*a/0, b/0"),
        ("penalty(1, X).", "cannot be grounded.*unsafe"),
        ("penalty(1, x) :- in_body(.", "syntax error"),
        ("invert(3). invert(4). penalty(1, x).", "at most one invert"),
        ("invert(many). penalty(1, x).", r"got invert\(many\)"),
        ("penalty(99999999999, x).", "at most 2147483647; got 99999999999"),
        ("penalty(1, f(X)) :- X = 1..1000000000.", "at most 1,000,000 values"),
        ("p(X) :- in_body(X). p(f(X)) :- p(X). penalty(1, X) :- p(X).", "200,000 ground rules"),
        ("n(1..200). penalty(1, (X,Y)) :- n(X), n(Y).", "200,000 ground rules"),
        (
            "penalty(1, (X,Y)) :- in_body(a(X)), in_body(a(Y)), X < Y, in_body(b(Y)).",
            "compare variables only by",
        ),
    ],
)
def test_a_wrong_bias_is_refused_in_a_sentence(
    statement: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nsl_bench.logic.las.bias.batch.MOST_GROUND_RULES", 20_000)
    for chosen in (1, 4):
        with pytest.raises(UserError, match=sentence):
            rule_costs(bias_of(statement), [("p", ("a(V1)", "a(V2)", "b(V2)"))] * chosen)


def test_order_of_numbers_is_no_order_of_variables() -> None:
    bias = bias_of(
        "penalty(N, X) :- in_body(cost(X,N)), N > 2. penalty(1, X) :- in_body(X), X != Y, in_body(Y)."
    )
    assert rule_costs(bias, [("p", ("cost(V1,5)", "cost(V2,1)"))] * 3) == [7, 7, 7]


def test_an_undefined_operation_gives_no_penalty() -> None:
    assert rule_costs(
        bias_of("penalty(6/N, x) :- N = #count { X : in_body(X) }."), [("p", ()), ("p", ("q",))]
    ) == [0, 6]


def test_sums_over_many_literals_are_priced_one_by_one() -> None:
    statement = "penalty(S, x) :- S = #sum { W,X : in_body(X), w(X,W) }. w(a(N), 2**N) :- N = 0..29."
    literals = [f"a({i})" for i in range(30)]
    chosen = [("p", (literal,)) for literal in literals]
    assert rule_costs(bias_of(statement), chosen) == [2**i for i in range(30)]
    with pytest.raises(Undecided):
        Pricing(bias_of(statement), ["p"], literals)


@settings(max_examples=FEW)
@given(programs, st.lists(bodies, min_size=1, max_size=6))
def test_pricing_together_is_pricing_one_by_one(statements: list[str], chosen: list[tuple[str, ...]]) -> None:
    import numpy as np

    bias = bias_of(*statements)
    try:
        pricing = Pricing(bias, ["p", "h(V1)"], LITERALS)
    except Undecided:
        return
    held = np.array([[literal in body for body in chosen] for literal in LITERALS])
    for i, head in enumerate(("p", "h(V1)")):
        want = [cost(bias, head, body) for body in chosen]
        assert pricing.costs(i, held).tolist() == [FORBIDDEN if each is None else each for each in want]


def test_a_penalty_that_some_rule_may_get_below_zero_is_not_priced_together() -> None:
    with pytest.raises(Undecided, match="below 0"):
        Pricing(bias_of("penalty(1-N, x) :- N = #count { X : in_body(X) }."), ["p"], ["q", "r"])


# -- tasks ------------------------------------------------------------------------------------------------

BY_CONSTANT = """
#modeh(accept). #modeh(reject).
#bias("penalty(5,head) :- in_head(accept). penalty(1,body(X)) :- in_body(X).").
#pos(e1@9, {reject}, {}, {}).
"""
BY_CONDITION = """
#modeh(p). #modeb(q). #modeb(r).
#bias(":- in_body(r) : in_body(q).").
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(e1@9, {p}, {}, {q. r.}).
"""
GUARD_OR_LITERAL = """
n(1..3). m(2). #modeh(h(var(n))). #modeb(m(var(n))). #modeb(b(var(m))).
#bias("penalty(1, head). penalty(2, body(X)) :- in_body(X).").
#pos(e1@9, {h(2)}, {h(1)}, {b(2).}).
"""


def test_constraints_as_rules_cost_what_the_definition_says() -> None:
    bias = bias_of("penalty(1, head). penalty(1, body(X)) :- in_body(X).")
    assert rule_costs(bias, [(None, ("q",)), ("p", ("q",))]) == [2, 2]
    bias = bias_of("penalty(1, head(X)) :- in_head(X). penalty(1, body(X)) :- in_body(X).")
    assert rule_costs(bias, [(None, ("q",)), ("p", ("q",))]) == [1, 2]


def test_a_literal_that_is_also_a_guard_counts_by_the_type_of_its_variable() -> None:
    task = LasTask.parse(GUARD_OR_LITERAL)
    assert hypothesis_cost(task, ["h(V1) :- m(V1), n(V1)."]) == 3
    assert hypothesis_cost(task, ["h(V1) :- n(V1)."]) == 1
    assert hypothesis_cost(task, ["h(V1) :- b(V2), m(V2), n(V1)."]) == 3


def test_a_rule_given_whole_is_cheaper_by_the_modes_only_with_its_guards() -> None:
    task = LasTask.parse(
        """
        n(1..2). #modeh(h(var(n))). #modeb(a(var(n))).
        3 ~ h(X) :- a(X). 4 ~ h(X) :- a(X), n(X).
        #bias("penalty(1, head).").
        #pos(e, {h(1)}, {}, {a(1).}).
        """
    )
    assert hypothesis_cost(task, ["h(Y) :- a(Y)."]) == 3
    assert hypothesis_cost(task, ["h(Y) :- a(Y), n(Y)."]) == 1


def test_strings_are_not_renamed() -> None:
    assert normal_form('p :- q("A").') != normal_form('p :- q("B").')
    assert normal_form('p(X) :- q(X,"A").') == normal_form('p(Y) :- q(Y,"A").')


class _Toy:
    name = "toy"
    background = "n(1..2)."
    bias = '#modeh(p). #modeb(q). #bias("penalty(3, head). penalty(1, X) :- in_body(X). :- in_body(r).").'


def test_atoms_are_counted_literal_by_literal_only_where_the_bias_forbids_a_rule() -> None:
    assert count_atoms(_Toy(), ["p :- q."]) == 4  # type: ignore[arg-type]
    assert count_atoms(_Toy(), ["p :- q.", "p :- r, q."]) == 5  # type: ignore[arg-type]

    class Wrong(_Toy):
        bias = '#modeh(p). #bias("penalty(0-1, head).").'

    with pytest.raises(UserError, match="at least 0"):
        count_atoms(Wrong(), ["p."])  # type: ignore[arg-type]
    with pytest.raises(UserError, match="syntax error"):
        count_atoms(_Toy(), ["p :- q"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "literals"),
    [
        ("p :- q : s.", 2),
        ("p :- q : s, t; q.", 4),
        ("p :- #sum { 1,1 : q, s; -3,2 : not t; 4 } > 0.", 3),
        ("p :- 2 { q; s : t }.", 3),
        ("p :- not #count { X : h(X) } > 2, q.", 2),
        ("p :- h((1;2;3)).", 3),
        ("p :- h(X), 1 < X < 4.", 3),
        ("p :- q, not not s, 1 < 2.", 3),
    ],
)
def test_what_stands_for_several_literals_counts_as_many(rule: str, literals: int) -> None:
    """A model of hundreds of weights in one #sum counted as a few atoms."""
    assert count_atoms(_Toy(), [rule]) == 3 + literals  # type: ignore[arg-type]


def test_heads_with_several_atoms_count_each() -> None:
    for rule, atoms in {"{ p; s } 1 :- q.": 2, "p | s :- q.": 2, "p : s :- q.": 2, "h(1;2) :- q.": 2}.items():
        assert count_atoms(_Toy(), [rule]) == 3 + atoms, rule  # type: ignore[arg-type]


def test_a_cut_space_has_no_horizon_where_a_longer_body_may_mend_a_rule() -> None:
    for text, proven in ((BY_CONDITION, False), (BY_CONSTANT.replace("#pos", "#modeb(r). #pos"), True)):
        first = next(growing_space(LasTask.parse(text)))
        assert (first.horizon is not None and first.horizon > 0) == proven


def test_time_may_run_out_while_rules_are_priced() -> None:
    *_, last = growing_space(LasTask.parse(BY_CONDITION), budget=Budget(deadline=0.0))
    assert last.horizon == 0


COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").\n'
EXAMPLE = "#pos(e@1, {p}, {}, {q(1). r(1,2).}).\n"
NODES = "n(1..2). q(1). r(1,2).\n"
TASKS = {name: text.replace("COSTS", COSTS) for name, text in FILE["spaces"].items()}


@pytest.mark.parametrize("name", TASKS)
def test_the_space_is_that_of_the_definition(name: str) -> None:
    text = NODES + TASKS[name] + EXAMPLE
    task = LasTask.parse(text)
    expected: dict[object, int] = {}
    plain = plainly(task)
    given = {rule for _, rule in plain.rules}
    for rule, cost in rules_with_costs(plain, 2_000, steps()).items():
        key = form(rule)
        if rule in given or not useless(key):
            expected[key] = min(cost, expected.get(key, cost))
    listed: list[tuple[int, str]] = []
    assert list_space(text, listed=listed.extend) is None
    forms = [form(rule) for _, rule in listed]
    assert len(set(forms)) == len(forms)
    assert {form(rule): cost for cost, rule in listed} == expected
    assert sorted(f"{cost} ~ {rule}" for cost, rule in listed) == sorted(
        str(hypothesis_space(task)).split("\n")
    )
    for rule in hypothesis_space(task).rules:
        assert hypothesis_cost(task, [rule.text]) == rule.cost
    for part in growing_space(task, max_rules=8):
        left = expected.keys() - {form(rule.text) for rule in part.rules}
        assert part.horizon is None or all(expected[key] >= part.horizon for key in left)


def test_a_space_is_printed_as_ilasp_does(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text(NODES + TASKS["constants"])  # no examples are needed
    shown = CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False).stdout.splitlines()
    assert shown[:2] == ["1 ~ p.", "2 ~ p :- not q(1)."]
    assert shown[-1] == f"% {len(shown) - 1} rules"
    answer = CliRunner().invoke(learn, [str(path), "--space", "--json"], catch_exceptions=False).stdout
    read = json.loads(answer)
    assert [f"{each['cost']} ~ {each['rule']}" for each in read["rules"]] == shown[:-1]
    assert (read["complete"], read["missing_cost"]) == (True, None)


def test_a_large_space_says_where_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "task.las"
    path.write_text(NODES + TASKS["constants"])
    parts = list(listed_space(LasTask.read(path), max_rules=8))
    costs = [rule.cost for rules, _ in parts for rule in rules]
    assert costs == sorted(costs) and len(parts) > 1
    assert parts[-1][1] is not None and parts[-1][1] > max(costs)
    monkeypatch.setattr(learning, "list_space", lambda *_, listed, **__: listed([(1, "p.")]) or 3)
    shown = CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False)
    assert shown.stdout == "1 ~ p.\n% cut after 1 rule; each of the others costs at least 3\n"


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("heads", [True, False])
def test_a_space_that_is_cut_at_once_has_a_rule(name: str, heads: bool) -> None:
    text = NODES + TASKS[name]
    task = LasTask.parse(text if heads else re.sub(r"#modeh\([^#]*\)\.", "% dialect: ilasp\n", text))
    if task.bias.heads or task.bias.bodies:
        parts = list(listed_space(task, budget=Budget(deadline=0.0)))
        assert any(rules for rules, _ in parts) and parts[-1][1] is not None


def test_a_mode_that_no_rule_can_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text("% dialect: fastlas\n#modeh(p(var(n))).")
    with pytest.raises(UserError, match=r"line 2, column 1.*type 'n'"):
        CliRunner().invoke(learn, [str(path), "--space"], catch_exceptions=False)


def test_a_constraint_that_is_given_whole_is_verified() -> None:
    task = LasTask.parse("1 { a; b } 1 :- c. 1 ~ b. 1 ~ :- b. 1 ~ c. #pos({a}, {}). #neg({b}, {}).")
    solution = solve(task, verify=True)
    assert (solution.score, solution.verified) == (2, "optimality"), solution.message
    assert sorted(solution.hypothesis) == [":- b.", "c."]
