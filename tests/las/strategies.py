"""Small random learning tasks of every tier, as text."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

BACKGROUND = {
    "derived": "d(X) :- a(X), not b(X).",
    "arithmetic": "big(X) :- n(X), X * 2 > 3. next(X,Y) :- n(X), n(Y), Y = X + 1.",
    "feeding": "g(X) :- h(X), not b(X). ",
    "feeding_negated": "g(X) :- n(X), not h(X).",
    "constraint": ":- h(1), h(2).",
    "constraint_props": ":- p, q, r.",
    "context_constraint": ":- p, not a(1).",
    "choice": "{ w }.",
    "bounded_choice": "1 { w(X) : n(X) } 1.",
    "even_loop": "u :- not v. v :- not u.",
    "odd_loop": "o :- p, not o.",
    "loop_on_learned": "u :- not v, p. v :- not u.",
    "aggregate": "many :- 2 <= #count { X : h(X) }.",
    "classical": "-z :- p. z :- q.",
}
"""Pieces of background knowledge, by what they exercise."""

OPEN = {"choice", "bounded_choice", "even_loop", "loop_on_learned", "odd_loop"}
"""Pieces that give several answer sets, or none."""

BODIES = {
    None: [
        *("a(var(n))", "not a(var(n))", "b(var(n))", "not b(var(n))", "a(const(n))"),
        *("e(var(n),var(n))", "e(const(n),var(n))", "r", "not r", "s"),
        *("var(n) != var(n)", "var(n) < var(n)"),
    ],
    "derived": ["d(var(n))", "not d(var(n))"],
    "arithmetic": ["big(var(n))", "next(var(n),var(n))"],
    "choice": ["w", "not w"],
    "bounded_choice": ["w(var(n))", "w(const(n))"],
    "even_loop": ["u", "not v"],
    "loop_on_learned": ["u", "v"],
    "feeding": ["g(var(n))"],
    "feeding_negated": ["not g(var(n))"],
}

HEADS = ["p", "q", "h(var(n))", "h(const(n))"]
ATOMS = ["p", "q", "h(1)", "h(2)"]
META = [
    "#modeh(k(var(n))).",
    "#predicate(target, h/1).",
    "#predicate(invented, k/1).",
    "P(X) :- Q(X), identity(P, Q).",
    "P(X) :- n(X), not Q(X), inverse(P, Q).",
    "#modem(2, identity(target/1, invented/1)).",
    "#modem(1, inverse(target/1, invented/1)).",
]
LEARNED = ["p", "not p", "q", "not q", "h(var(n))", "not h(var(n))"]
BIASES = [
    '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").',
    '#bias("penalty(1, head(X)) :- in_head(X).").\n#bias("penalty(1, body(X)) :- in_body(X).").',
    '#bias("penalty(2, head). penalty(1, body(X)) :- in_body(X). penalty(2, neg(X)) :- in_body(neg(X)).").',
    '#bias("penalty(1, head). penalty(3, r) :- in_body(r). penalty(1, a(X)) :- in_body(a(X)).").',
    '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X). :- in_body(r), in_body(s).").',
    '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X). :- in_head(h(_)), not in_body(a(_)).").',
    "",
]

PRICED = [
    '#bias("u(1) :- not in_body(r). u(2) :- not in_body(a(_)). u(3).").\n'
    '#bias("penalty(12/N, seen) :- N = #count { X : u(X) }.").',
    '#bias("penalty(1, head). penalty(2, X) :- in_body(X). invert(12).").',
    '#bias("penalty(4, short) :- #count { X : in_body(X) } < 2. penalty(1, head).").',
    '#bias("penalty(1, X) :- in_body(X). :- not penalty(1, _).").',
    '#bias("penalty(2, head). penalty(1, X) :- in_body(X), not in_body(r). :- in_head(p), in_body(s).").',
]
"""Scores of whole rules, where a longer body may well be the cheaper one."""

GIVEN = [
    *("p :- r.", "p :- not r, s.", "q.", "q :- a(X), not b(X).", "h(X) :- n(X), a(X).", "h(1) :- not s."),
    *("h(2) :- b(2).", "q :- e(X,Y), X < Y.", ":- p, r.", "p :- h(1)."),
]
"""Rules given whole."""


@dataclass(frozen=True)
class Flavour:
    """What tasks may hold.

    Attributes:
        pieces: names of background pieces.
        recursive: whether bodies may use learned predicates.
        negative: whether there may be `#neg` examples.
        dialect: ``"fastlas"`` or ``"ilasp"``.
        biases: the `#bias` statements to choose from.
        least_variables: the least `#maxv`.
        given: rules that tasks may give whole.
    """

    pieces: tuple[str, ...]
    recursive: bool = False
    negative: bool = False
    dialect: str = "fastlas"
    biases: tuple[str, ...] = tuple(BIASES)
    least_variables: int = 1
    given: tuple[str, ...] = ()


CLOSED = tuple(sorted(set(BACKGROUND) - OPEN))
FLAVOURS = {
    "observational": Flavour(
        ("derived", "arithmetic", "constraint", "constraint_props", "context_constraint")
    ),
    "feeding": Flavour(("derived", "feeding", "feeding_negated", "constraint", "aggregate", "classical")),
    "ilasp": Flavour(("derived", "arithmetic", "constraint"), dialect="ilasp"),
    "priced": Flavour(("derived", "arithmetic", "constraint"), biases=tuple(PRICED), least_variables=0),
    "given": Flavour(
        ("derived", "feeding", "feeding_negated", "constraint", "aggregate"), given=tuple(GIVEN)
    ),
    "recursive": Flavour(CLOSED, recursive=True),
    "open": Flavour(tuple(sorted(BACKGROUND)), recursive=True),
    "cautious_closed": Flavour(CLOSED, negative=True),
    "cautious": Flavour(tuple(sorted(BACKGROUND)), recursive=True, negative=True),
}


@st.composite
def tasks(draw: st.DrawFn, flavour: Flavour) -> str:
    """The text of a task."""
    pieces = draw(st.lists(st.sampled_from(flavour.pieces), max_size=2, unique=True))
    size = draw(st.integers(1, 2)) if flavour.recursive else draw(st.integers(1, 3))
    lines = [f"n(1..{max(size, 2)})."]
    lines.append("known :- a(X), b(X), e(X,X).")
    lines += [BACKGROUND[piece] for piece in pieces]
    heads = draw(st.lists(st.sampled_from(HEADS), min_size=1, max_size=2, unique=True))
    menu = list(BODIES[None]) + [mode for piece in pieces for mode in BODIES.get(piece, [])]
    if flavour.recursive:
        learned = {head.partition("(")[0] for head in heads}
        menu += [mode for mode in LEARNED if mode.removeprefix("not ").partition("(")[0] in learned]
    most = 2 if flavour.negative else 3
    bodies = draw(st.lists(st.sampled_from(menu), min_size=1, max_size=most, unique=True))
    lines += [f"#modeh({head})." for head in heads]
    ilasp = flavour.dialect == "ilasp"
    for body in bodies:
        plain = body.removeprefix("not ")
        recall = f"{draw(st.integers(1, 2))}, " if ilasp and draw(st.booleans()) else ""
        positive = ", (positive)" if ilasp and plain == body and draw(st.booleans()) else ""
        if " " in plain:
            positive = ""
        lines.append(f"#modeb({recall}{body}{positive}).")
    if flavour.given:
        whole = draw(st.lists(st.sampled_from(flavour.given), max_size=5, unique=True))
        lines += [f"{draw(st.integers(0, 3))} ~ {rule}" for rule in whole]
    lines.append(f"#maxv({1 if flavour.negative else draw(st.integers(flavour.least_variables, 2))}).")
    lines.append(f"#max_body({draw(st.integers(1, 2))}).")
    if ilasp:
        lines += META
    else:
        lines.append(draw(st.sampled_from(flavour.biases)))
        if draw(st.integers(0, 5)) == 0:
            lines.append("#ground_without_replacement.")
    atoms = ATOMS + (["g(1)", "g(2)"] if {"feeding", "feeding_negated"} & set(pieces) else [])
    atoms += ["many"] if "aggregate" in pieces else []
    atoms += ["z", "-z"] if "classical" in pieces else []
    facts = [f"a({i})" for i in (1, 2)] + ["b(1)", "b(2)", "e(1,2)", "e(2,1)", "e(1,1)", "r", "s"]
    for i in range(draw(st.integers(1, 5))):
        context = draw(st.lists(st.sampled_from(facts), max_size=4, unique=True))
        if draw(st.integers(0, 6)) == 0:
            context.append(draw(st.sampled_from(["b(X) :- a(X)", "r :- not s", "s :- a(1), not b(1)"])))
        chosen = draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=3, unique=True))
        split = draw(st.integers(0, len(chosen)))
        penalty = draw(st.sampled_from(["", "", "@1", "@2", "@3", "@5", "@8", "@13"]))
        kind = "neg" if flavour.negative and draw(st.booleans()) else "pos"
        included, excluded = ", ".join(chosen[:split]), ", ".join(chosen[split:])
        body = " ".join(f"{fact}." for fact in context)
        lines.append(f"#{kind}(e{i}{penalty}, {{{included}}}, {{{excluded}}}, {{{body}}}).")
    return "\n".join(lines)
