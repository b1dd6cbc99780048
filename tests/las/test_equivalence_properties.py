"""Random small hypotheses: `equivalent` agrees with trying every input, and its counterexamples are true."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import clingo
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.semantics.equivalence import equivalent

FEW = 60
"""Pairs of hypotheses that every run compares."""
MANY = 5_000
"""Pairs that the nightly run compares."""
NAMES = ["says", "differ", "violated", "holds", "copy", "p_p", "n_p", "_says", "nsl__says", "e"]
"""What the comparison's own predicates might be called."""
INPUTS = [
    "{ {a}(1..2) }. { {b}(1..2) }. { {r} }.",
    "1 { {a}(1..2) } 1. { {b}(1..2) } 1. { {r} }.",
    "{ {a}(1..3) } 2. { {r} }. :- {a}(1), not {r}.",
    "{ {a}(X) : n(X) }. {b}(X) :- {a}(X), n(X). { {r} }.",
    "{r}. { {a}(1) ; {b}(2) }.",
    "1 { {a}(1) ; {b}(1) ; {r} }. { {a}(2) } :- {b}(1).",
]


@dataclass(frozen=True)
class Pair:
    """Two hypotheses, and by what they are compared."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    background: str
    inputs: str
    atoms: tuple[str, ...]


class _Maker:
    """Draws stratified programs: a predicate depends through negation on lower ones alone."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        roles = ["a", "b", "r", "d", "s", "p", "q"]
        self.names = dict(zip(roles, roles, strict=True))
        if rng.random() < 0.3:
            for role, name in zip(rng.sample(roles, 3), rng.sample(NAMES, 3), strict=True):
                self.names[role] = name

    def named(self, text: str) -> str:
        for role, name in self.names.items():
            text = text.replace(f"{{{role}}}", name)
        return text

    def pair(self) -> Pair:
        rng = self.rng
        background = ["n(1..2)."]
        background += [self.rule(rng.choice(["d", "s", "p", "q"])) for _ in range(rng.randint(0, 2))]
        first = [self.statement() for _ in range(rng.randint(0, 4))]
        way = rng.random()
        if way < 0.3:
            second = [self.statement() for _ in range(rng.randint(0, 4))]
        else:
            second = [rule for rule in first if rng.random() < 0.9]
            second += [self.statement()] if way < 0.6 else []
            rng.shuffle(second)
        p, q = self.names["p"], self.names["q"]
        atoms = rng.choice(
            [(f"{p}/1", q), (f"{p}(1)", q), (f"-{p}(1)", f"{p}/1"), (f"{p}(2)",), (q, f"-{p}/1")]
        )
        return Pair(tuple(first), tuple(second), "\n".join(background), self.named(rng.choice(INPUTS)), atoms)

    def statement(self) -> str:
        way = self.rng.random()
        if way < 0.1:
            return f":- {self.body(3)}."
        return self.rule(self.rng.choice(["d", "s", "p", "p", "q", "q"]))

    def rule(self, role: str) -> str:
        head = self.atom(role)
        if role == "p" and self.rng.random() < 0.2:
            head = f"-{head}"
        level = 1 if role in "ds" else 2
        if self.rng.random() < 0.1:
            return f"{head} :- n(X), n(Y)."
        return f"{head} :- {self.body(level)}, n(X), n(Y)."

    def atom(self, role: str) -> str:
        name = self.names[role]
        return name if role in "rsq" else f"{name}({self.rng.choice(['X', 'X', 'Y', '1', '2'])})"

    def body(self, level: int) -> str:
        """A body whose negated literals are of lower levels."""
        literals = [self.literal(level) for _ in range(self.rng.randint(1, 3))]
        return ", ".join([*literals, *(("n(X)", "n(Y)") if level == 3 else ())])

    def literal(self, level: int) -> str:
        rng = self.rng
        lower = ["a", "b", "r", *(["d", "s"] if level > 1 else []), *(["p", "q"] if level > 2 else [])]
        own = {1: ["d", "s"], 2: ["p", "q"], 3: []}[level]
        way = rng.random()
        if way < 0.1:
            return f"X {rng.choice(['<', '!=', '=', '<=', '>'])} {rng.choice(['Y', '1', '2'])}"
        if way < 0.2:
            name = self.names[rng.choice([role for role in lower if role in "abdp"])]
            return f"{rng.randint(0, 2)} {rng.choice(['<=', '=', '!='])} #count {{ Z : {name}(Z) }}"
        if way < 0.25:
            a, b, r = (self.names[role] for role in "abr")
            return f"{rng.randint(0, 2)} {{ {a}(1) ; {b}(2) ; not {r} }}"
        if way < 0.45:
            return f"not {self.atom(rng.choice(lower))}"
        if way < 0.5:
            return f"not not {self.atom(rng.choice(lower))}"
        return self.atom(rng.choice([*lower, *lower, *own]))


def answer_sets(program: str) -> list[frozenset[str]]:
    """All answer sets of a program."""
    control = clingo.Control(["--warn=none", "0"])
    control.add(program)
    control.ground()
    with control.solve(yield_=True) as handle:
        return [frozenset(map(str, model.symbols(atoms=True))) for model in handle]


def said(pair: Pair, hypothesis: Sequence[str], facts: Sequence[str]) -> frozenset[str]:
    """What a hypothesis says of the compared atoms; nothing where the facts contradict it."""
    program = "\n".join([pair.background, *hypothesis, *(f"{fact}." for fact in facts)])
    found = answer_sets(program)
    assert len(found) <= 1
    whole = {text.removesuffix("/1") for text in pair.atoms if text.endswith("/1")}
    return frozenset(
        atom for each in found for atom in each if atom in pair.atoms or atom.partition("(")[0] in whole
    )


def compare(number: int) -> bool:
    """Whether two random hypotheses differ; fails where `equivalent` says something else."""
    maker = _Maker(random.Random(number))
    pair = maker.pair()
    stated = {maker.names[role] for role in "abr"}
    possible = [
        frozenset(atom for atom in answer if atom.partition("(")[0] in stated)
        for answer in answer_sets(f"n(1..2).\n{pair.inputs}")
    ]
    want = any(said(pair, pair.first, sorted(x)) != said(pair, pair.second, sorted(x)) for x in possible)
    p, q = maker.names["p"], maker.names["q"]
    known = (f"{p}/1", f"-{p}/1", q, f"-{q}")
    try:
        found = equivalent(
            pair.first,
            pair.second,
            background=pair.background,
            inputs=pair.inputs,
            atoms=pair.atoms,
            known=known,
        )
    except UserError as reason:  # the background contradicts itself whatever the input is
        assert "no input is possible" in str(reason) and not want, f"{number}: {pair}"
        return want
    assert (found is not None) == want, f"{number}: {pair} {found}"
    if found is not None:
        sides = [said(pair, hypothesis, found.inputs) for hypothesis in (pair.first, pair.second)]
        assert frozenset(found.inputs) in possible, f"{number}: {pair} {found}"
        assert [frozenset(found.first), frozenset(found.second)] == sides, f"{number}: {pair} {found}"
        assert sides[0] != sides[1]
    return want


def test_says_equivalent_exactly_where_all_answers_agree() -> None:
    differ = sum(map(compare, range(FEW)))
    assert FEW // 10 < differ < FEW * 9 // 10


@pytest.mark.slow
def test_says_equivalent_exactly_where_all_answers_agree_on_thousands() -> None:
    for number in range(FEW, MANY):
        compare(number)
