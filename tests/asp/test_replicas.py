"""One program with a replica an example answers for each example as the program alone does."""

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.asp.replicas import replicate
from nsl_bench.logic.las.bias.space import SpaceRule

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
    'a("x\\"),(y")',
    "a(f(g(h(k(1)))))",
    "a(1)",
    "a(2)",
    "b(1)",
    "b(2)",
    "s",
    "-s",
    "s :- a(1)",
    "k(1) :- not a(1)",
    "nsl_e(1)",
]
ATOMS = [
    'p("x\\"),(y")',
    "p(f(g(h(k(1)))))",
    "q",
    "-q",
    "p(1)",
    "k(2)",
    "w",
    "v(1)",
    "u",
    "r(1,2)",
    "s",
    "covered(1)",
    "k(1)",
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
