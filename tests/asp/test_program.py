"""Programs as the project reads them: kinds of rules, predicates, cycles, slices, errors."""

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsl_bench.core.declared import read_toml
from nsl_bench.core.errors import UserError
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import Recipe
from nsl_bench.logic.asp.atoms import Names, read_atom, read_literal
from nsl_bench.logic.asp.dependencies import dependents, strong_components
from nsl_bench.logic.asp.program import parse, signatures_in, statement
from nsl_bench.logic.asp.replicas import replicate
from nsl_bench.logic.asp.text import code_of, read_text
from nsl_bench.logic.las.bias.space import SpaceRule
from nsl_bench.logic.las.syntax.reader import parse_task


@pytest.mark.parametrize(
    ("text", "head", "derives", "positive", "negative"),
    [
        ("a.", "atom", {("a", 0)}, set(), set()),
        ("a(X) :- b(X), not c(X).", "atom", {("a", 1)}, {("b", 1)}, {("c", 1)}),
        (":- a, not not b.", "constraint", set(), {("a", 0)}, {("b", 0)}),
        ("{ a(X) : b(X), not c } 2 :- d.", "choice", {("a", 1)}, {("b", 1), ("d", 0)}, {("c", 0)}),
        ("a ; b :- c.", "disjunction", {("a", 0), ("b", 0)}, {("c", 0)}, set()),
        ("a(1;2,3) :- b.", "atom", {("a", 1), ("a", 2)}, {("b", 0)}, set()),
        ("a :- #count { X : b(X) } > 1, c.", "atom", {("a", 0)}, {("c", 0)}, {("b", 1)}),
        ("a :- b(X) : c(X).", "atom", {("a", 0)}, set(), {("b", 1), ("c", 1)}),
        ("-a(X) :- -b(X).", "atom", {("a", 1)}, {("b", 1)}, set()),
        ("#sum { X : a(X) : b(X) } > 3.", "choice", {("a", 1)}, {("b", 1)}, set()),
    ],
)
def test_rules_say_what_they_derive_and_depend_on(
    text: str, head: str, derives: set[object], positive: set[object], negative: set[object]
) -> None:
    (rule,) = parse(text, "a test").rules
    assert rule.head == head
    assert (rule.derives, rule.positive, rule.negative) == (derives, positive, negative)


def test_classical_negation_is_noted() -> None:
    assert parse("-a(X) :- b(X), not -c.", "a test").classical == {("a", 1), ("c", 0)}


@pytest.mark.parametrize(
    "text", ["not a :- b.", "not not a :- b.", "1 < 2 :- b.", "2 < 1 :- b.", "X < 2 :- c(X).", "#false :- b."]
)
def test_heads_that_only_forbid_are_constraints(text: str) -> None:
    rest = "{ a }. { b }. { c(1..3) }."
    (rule,) = parse(text, "a test").rules
    assert rule.head == "constraint"
    assert answer_sets(f"{rest} {rule.text}") == answer_sets(f"{rest} {text}")


def test_a_rule_that_is_always_satisfied_is_none() -> None:
    assert parse("#true :- b. not #false :- b.", "a test").rules == ()


def answer_sets(text: str) -> set[frozenset[str]]:
    control = clingo.Control(["0", "--warn=none"])
    control.add(text)
    control.ground()
    with control.solve(yield_=True) as handle:
        return {frozenset(map(str, model.symbols(atoms=True))) for model in handle}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a :- b", "The rules, line 1, column 7: syntax error"),
        ("a.\n b c.", "The rules, line 2, column 4: syntax error"),
        ("a.\n:~ b. [1]", "The rules, line 2, column 1: .*weak constraints"),
        ("#minimize { 1 : a }.", "weak constraints"),
        ("#external a.", "#external is not supported"),
        ("#program p(x).", "#program parts"),
        ("#script (lua) #end.", "#script is not supported"),
        ('#include "x".', "#include is not supported"),
        ("a :- &sum { x } > 1.", "Theory atoms|syntax error"),
        ("a(@f(1)).", "External functions"),
        ("#edge (a,b).", "not supported"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        parse(text, "the rules")


def test_places_are_those_of_the_file() -> None:
    with pytest.raises(UserError, match=r"t\.las, line 7, column 13: syntax error"):
        parse("a :- b c.", "t.las", (7, 6))
    with pytest.raises(UserError, match=r"t\.las, line 8, column 3: syntax error"):
        parse("a.\nb c.", "t.las", (7, 6))


def test_cycles_through_negation() -> None:
    program = parse("a :- not b. b :- c. c :- a. d :- not a. e :- e, f.", "a test")
    assert program.cycles_through_negation == {("a", 0), ("b", 0), ("c", 0)} - {("b", 0), ("c", 0)}
    assert not program.stratified
    assert parse("a :- not b. c :- c, a.", "a test").stratified


def test_slices_keep_constraints_and_what_they_need() -> None:
    program = parse("a :- b. b :- c. d :- e. e. :- d. x :- y.", "a test")
    kept = [rule.text for rule in program.slice([("a", 0)]).rules]
    assert kept == ["a :- b.", "b :- c.", "d :- e.", "e.", "#false :- d."]
    assert program.dependents([("c", 0)]) == {("c", 0), ("b", 0), ("a", 0)}


def test_components_come_after_those_that_they_lead_to() -> None:
    found = strong_components({1: [2], 2: [3, 1], 3: [4], 5: [1]})
    assert found[1] == found[2]
    order = list(found)
    assert order.index(4) < order.index(3) < order.index(1) < order.index(5)
    assert dependents({1: [2], 2: [3]}, [2]) == {2, 3}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", ("a", "", 0, False)),
        ("-a(1, f(2,3))", ("a", "1, f(2,3)", 2, True)),
        ('a("x,(y", b)', ("a", '"x,(y", b', 2, False)),
        ('a("x\\"),(y")', ("a", '"x\\"),(y"', 1, False)),
        ("a(f(g(h(k(m(1),2)))))", ("a", "f(g(h(k(m(1),2))))", 1, False)),
        ("a((1,),(2,3))", ("a", "(1,),(2,3)", 2, False)),
        ("a(1..3)", ("a", "1..3", 1, False)),
        ("a(1) < 2", None),
        ("a(1", None),
        ("a(f(1;2))", None),
        ("_x'y(1)", ("_x'y", "1", 1, False)),
        ("not a", None),
        ("a(1;2)", None),
        ("X < 2", None),
        ("a :- b", None),
    ],
)
def test_atoms_are_read(text: str, found: tuple[str, str, int, bool] | None) -> None:
    atom = read_atom(text)
    assert (atom and (atom.name, atom.arguments, atom.arity, atom.classical)) == found


def test_literals_are_read() -> None:
    assert read_literal("not a(X)")[0]
    assert not read_literal("nota(X)")[0]
    assert read_literal("X != Y") == (False, None)


def test_names_occur_in_none_of_the_texts() -> None:
    assert Names.apart_from(["a(X)."])("in") == "nsl_in"
    names = Names.apart_from(["nsl_in(1).", "p(NSL1_X)."])
    assert names.prefix == "nsl2_"
    assert names.variable("x") == "NSL2_X"


def test_context_statements_are_read_once() -> None:
    assert statement("a(X) :- b(X)") is statement("a(X) :- b(X)")


def test_only_regular_files_are_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "latin").write_bytes(b"\xe9")
    for name, sentence in [
        ("pipe", "it is a pipe"),
        ("zero", "it is a device"),
        ("latin", "must be UTF-8"),
        ("none", "does not exist"),
        (".", "is a folder"),
    ]:
        with pytest.raises(UserError, match=sentence):
            read_text(tmp_path / name)


@pytest.mark.parametrize(
    "read", [lambda path: read_toml(path, "The plan"), Recipe.read, lambda path: Manifest.read(path.parent)]
)
def test_pipes_are_not_waited_for(read, tmp_path) -> None:  # type: ignore[no-untyped-def]
    import os

    pipe = tmp_path / "manifest.json"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match=r"manifest\.json must be a regular file; it is a pipe"):
        read(pipe)


@pytest.mark.parametrize("text", ['"' * 60_001, '\\"' * 60_000 + "x", "%*\n" * 60_000, '"%' * 60_000])
def test_text_without_an_end_is_read_in_linear_time(text: str) -> None:
    assert len(code_of(text)) == len(text)
    with pytest.raises(UserError):
        parse_task(f'#bias("{text}', "x.las")


def test_strings_and_comments_are_blanked() -> None:
    assert code_of('a("x%"). %* "\n *% b. % c').split() == ["a(", ").", "b."]
    assert code_of('a. "b \\" % c\n"d" e.').split() == ["a.", '"b', '\\"', "e."]


def test_parts_of_rules_with_the_same_text_are_told_apart() -> None:
    """In an aggregate ``p : q`` counts the term p, in a body it is a condition of the atom p."""
    (aggregate,) = parse(":- #count { p : q } > 1.", "a rule").rules[0].node.body
    (conditional,) = parse(":- p : q.", "a rule").rules[0].node.body
    (element,) = aggregate.atom.elements
    assert str(element) == str(conditional)
    for _ in range(2):
        assert signatures_in([element]) == {("q", 0)}
        assert signatures_in([conditional]) == {("p", 0), ("q", 0)}


STATEMENTS = [
    "n(1..2).",
    "p(X) :- a(X), not b(X).",
    "q :- p(X), X > 1.",
    "q :- r(1,_).",
    "{ w } :- s.",
    "1 { v(X) : n(X) } 1.",
    "u :- not o. o :- not u.",
    "z :- s, not z.",
    "-q :- b(1).",
    ":- p(1), q.",
    "not s :- a(2).",
    "X < 2 :- b(X).",
    "r(X,Y) :- a(X), b(Y). r(X,Z) :- r(X,Y), r(Y,Z).",
    "q :- 2 <= #count { X : a(X) }.",
    "p(X) ; k(X) :- b(X).",
    "#const c = 2. k(c) :- a(c).",
    "inclusion(q) :- a(1). exclusion(k(1)) :- b(1).",
    # names that an encoding might use itself
    "violated(1) :- a(1). covered(X) :- b(X). active(X) :- n(X).",
    "nsl_violated(0) :- s. nsl_example(1) :- s. q :- nsl_violated(X).",
    "q :- a(NSL_EXAMPLE), b(NSL_EXAMPLE). k(E__) :- a(E__).",
    "nsl_p_a(0,1) :- s. q :- nsl_p_a(X,Y).",
]
FACTS = [
    *('a("x\\"),(y")', "a(f(g(h(k(1)))))", "a(1)", "a(2)", "b(1)", "b(2)", "s", "-s", "s :- a(1)"),
    *("k(1) :- not a(1)", "nsl_e(1)"),
]
ATOMS = [
    *('p("x\\"),(y")', "p(f(g(h(k(1)))))", "q", "-q", "p(1)", "k(2)", "w", "v(1)", "u", "r(1,2)", "s"),
    *("covered(1)", "k(1)"),
]


def bravely(program: str, context: list[str], includes: list[str], excludes: list[str]) -> bool:
    """Whether some answer set holds what is included and nothing of what is excluded, by the definition."""
    control = clingo.Control(["0", "--warn=none"])
    control.add("\n".join([program, *(f"{text}." for text in context)]))
    control.ground()
    with control.solve(yield_=True) as handle:
        for model in handle:
            true = {str(symbol) for symbol in model.symbols(atoms=True)}
            asked = [s.arguments[0] for s in model.symbols(atoms=True) if s.match("inclusion", 1)]
            banned = [s.arguments[0] for s in model.symbols(atoms=True) if s.match("exclusion", 1)]
            wanted = {*includes, *map(str, asked)}
            if wanted <= true and true.isdisjoint({*excludes, *map(str, banned)}):
                return True
    return False


examples = st.lists(
    st.tuples(
        st.lists(st.sampled_from(FACTS), max_size=4, unique=True),
        st.lists(st.sampled_from(ATOMS), max_size=2, unique=True),
        st.lists(st.sampled_from(ATOMS), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=4,
)


@given(st.lists(st.sampled_from(STATEMENTS), max_size=5, unique=True), examples)
@settings(max_examples=300, deadline=None)
def test_replicas_answer_as_the_program_does_for_each_example(
    statements: list[str], asked: list[tuple[list[str], list[str], list[str]]]
) -> None:
    program = "\n".join(["n(1).", *statements])
    asked_atoms = [atom for _, one, other in asked for atom in (*one, *other)]
    found = replicate(
        parse(program, "a test"), [c for c, _, _ in asked], asked=asked_atoms, derived_sets=True
    )
    lines = [found.shared, found.common, found.frame(), *(f"{found.example(i)}." for i in range(len(asked)))]
    for i, (context, includes, excludes) in enumerate(asked):
        lines += [found.context(i, context), found.covered(i, includes, excludes)]
    control = clingo.Control(["0", "--warn=none", "--enum-mode=brave"])
    control.add("\n".join(lines))
    control.ground()
    covered: set[str] = set()
    consistent = False
    with control.solve(yield_=True) as handle:
        for model in handle:
            consistent = True
            covered |= {str(symbol) for symbol in model.symbols(atoms=True)}
    assert consistent
    for i, (context, includes, excludes) in enumerate(asked):
        assert (found.covers(i) in covered) is bravely(program, context, includes, excludes)


@pytest.mark.parametrize(
    ("program", "asked", "derived"),
    [
        ("v :- at(X,T), not p(X,T-1), T > 1.", [], 1),  # at(2,3) alone asks for something
        (":- at(X,T), p(X,T).", ["p(4,4)"], 3),
        ("v :- at(X,_), p(X,_).", [], 25),
        ("v :- not p(X,X), q(X). { q(X) } :- at(X,_).", [], 25),
        ("v :- 2 <= #count { X : p(X,X) }.", [], 25),
        ("v :- at(X,Y), -p(X,Y).", [], 25),
        ("{ p(X,Y) : at(X,Y) }. v :- at(X,Y), p(Y,X).", [], 25),
    ],
)
def test_learned_rules_derive_what_can_be_asked_for(program: str, asked: list[str], derived: int) -> None:
    rule = SpaceRule("p(V1,V2)", ("d(V1)", "d(V2)"), 1)
    context = ["at(2,3)", "at(5,1)"]
    found = replicate(parse(f"d(1..5). {program}", "a test"), [context], [rule], asked=asked, restricted=True)
    chosen = found.names("chosen")
    lines = [found.shared, found.common, found.frame(), f"{found.example(0)}.", found.context(0, context)]
    lines += [f"{{ {chosen} }}.", found.learned(rule, number=0, condition=chosen)]
    lines += found.asking("0", chosen)
    control = clingo.Control(["--warn=none"])
    control.add("\n".join(lines))
    control.ground()
    assert len(list(control.symbolic_atoms.by_signature(found.predicate("p"), 3))) == derived
