"""Enumeration of rule bodies against plain enumeration."""

import itertools

import numpy as np
import pytest
from las.plain_bodies import PlainBody, PlainSpace

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las import LasTask
from nsl_bench.logic.las.bits import pack, unpack
from nsl_bench.logic.las.enumeration.bodies import Bodies
from nsl_bench.logic.las.enumeration.building_blocks import Relevance
from nsl_bench.logic.las.enumeration.components import Body
from nsl_bench.logic.las.tables.dominance import Interest
from nsl_bench.logic.las.tables.evaluation import Columns
from nsl_bench.logic.las.tables.grounding import ground
from nsl_bench.logic.las.tables.literals import Vocabulary

COSTS = '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").\n'
VALUES = (1, 2, 3, 4)
GUARDED = frozenset({"g", "m", "k"})
"""Types with a predicate: `g` and `k` in the background, `m` in contexts; `u` has none."""
MODES = (
    *("a(var(g))", "not a(var(g))", "b(var(g),var(g))", "not b(var(g),var(g))", "b(const(u),var(g))"),
    *("c(var(m))", "d(var(m),var(m))", "not d(var(m),var(m))", "e(var(m),var(k))", "not e(var(m),var(k))"),
    *("f(var(k))", "v(var(u))", "not v(var(u))", "w(var(u),var(u))", "not w(var(u),var(u))"),
    *("x(var(u),var(k))", "not x(var(u),var(k))", "y(var(u),var(g))", "not y(var(u),var(g))", "r", "s"),
    *("not r", "var(g) != var(g)", "var(m) < var(m)", "var(u) != var(u)", "var(k) <= 2"),
)
ATOMS = {"a": 1, "b": 2, "c": 1, "d": 2, "e": 2, "f": 1, "v": 1, "w": 2, "x": 2, "y": 2, "r": 0, "s": 0}
HEADS = ((), (), ("g",), ("u",), ("g", "g"), ("u", "u"), ("g", "u"), ("m",), ("k",))
THEMES = {"all": "gmku", "unguarded": "uk", "apart": "gmk", "leaves": "mk", "words": "gk", "few": "gu"}
"""Types that the tasks of each theme have. In `apart`, literals are grounded without replacement; in `words`,
contexts are alike in each word."""


def random_modes(rng: np.random.Generator, theme: str) -> list[str]:
    """Mode declarations of one task."""
    types = THEMES[theme]
    menu = [mode for mode in MODES if all(f"({kind})" not in mode for kind in set("gmku") - set(types))]
    return [menu[i] for i in rng.choice(len(menu), int(rng.integers(1, 5)), replace=False)]


def random_facts(rng: np.random.Generator, density: dict[str, float], mirrored: str) -> set[str]:
    """Facts of one context."""
    facts = set()
    for name, arity in ATOMS.items():
        for values in itertools.product(VALUES, repeat=arity):
            if rng.random() < density[name]:
                for each in {values, values[::-1] if name in mirrored else values}:
                    facts.add(f"{name}({','.join(map(str, each))})" if each else name)
    return facts


def random_task(rng: np.random.Generator) -> tuple[str, tuple[str, ...]]:
    """A task, and the types of a head's variables."""
    theme = str(rng.choice(list(THEMES)))
    heads = [head for head in HEADS if set(head) <= set(THEMES[theme])]
    head = heads[rng.integers(len(heads))]
    modes = random_modes(rng, theme)
    ilasp = bool(rng.integers(2)) and theme != "apart"
    lines = [f"g({v})." for v in VALUES] + [f"k({v})." for v in VALUES[: rng.integers(1, 4)]]
    lines += [f"#constant(u, {v})." for v in VALUES] + ["m(X) :- member(X)."]
    lines.append(f"#modeh(h({','.join(f'var({kind})' for kind in head)}))." if head else "#modeh(h).")
    lines.append("#predicate(target, none/0)." if ilasp else COSTS)
    for mode in modes:
        atom = " " not in mode.removeprefix("not ")
        recall = f"{rng.integers(1, 3)}, " if ilasp and rng.integers(2) else ""
        options = ["positive"] if ilasp and atom and not mode.startswith("not") and rng.integers(2) else []
        options += ["anti_reflexive"] if atom and mode.count("(") == 3 and rng.integers(3) == 0 else []
        listed = f", ({', '.join(options)})" if options else ""
        lines.append(f"#modeb({recall}{mode}{listed}).")
    spare = int(rng.integers(0, 4 if len(modes) < 4 else 3))
    lines.append(f"#maxv({min(4, len(head) + spare)}).")
    lines.append(f"#max_body({rng.integers(1, 5 if len(modes) < 3 else 4 if len(modes) < 4 else 3)}).")
    if theme == "apart":
        lines.append("#ground_without_replacement.")
    density = {name: float(rng.choice([0.0, 0.15, 0.5, 0.9, 1.0])) for name in ATOMS}
    mirrored, members = "".join(name for name in "bdw" if rng.integers(2)), int(rng.integers(1, 5))
    contexts = int(rng.choice([128, 192] if theme == "words" else [1, 3, 70]))
    for i in range(contexts):
        if theme != "words" or i % 64 == 0:
            facts = random_facts(rng, density, mirrored)
            for value in rng.choice(VALUES, members, replace=False):
                facts |= {f"m({value})", f"member({value})"}
        listed = " ".join(f"{fact}." for fact in sorted(facts))
        lines.append(f"#pos(e{i}@1, {{}}, {{}}, {{{listed} id({i}).}}).")
    return "\n".join(lines), head


class Enumerated:
    """The bodies that `Bodies` finds, beside the plain space."""

    def __init__(self, text: str, head: tuple[str, ...], rng: np.random.Generator) -> None:
        task = LasTask.parse(text)
        self.plain = PlainSpace(task, VALUES, GUARDED)
        columns = Columns.of(task.examples)
        self.column = columns.of_example
        budget = Budget()
        sides = rng.random((2, columns.n)) < rng.choice([0.1, 0.4, 0.9], (2, 1))
        interest = Interest(*pack(sides), frozenset())
        vocabulary = Vocabulary(task, ground(task, columns, (), budget), budget, interest)
        self.head = head
        domains = [vocabulary.domain(kind) for kind in head]
        self.index = np.ix_(range(len(self.column)), *([v.number - 1 for v in d.values] for d in domains))
        shape = (*(len(domain.values) for domain in domains), columns.n)
        self.wanted, self.unwanted = (side & (rng.random(shape) < rng.choice([0.1, 0.6])) for side in sides)
        self.cells = self.wanted | self.unwanted
        self.bodies = Bodies(vocabulary, budget)
        self.relevance = Relevance(pack(self.cells), pack(self.unwanted))
        found = self.bodies.bodies(head, self.relevance, lambda positions, holds, cost: False)
        self.found = [(body, self._holds(body)) for body in found]

    def _holds(self, body: Body) -> np.ndarray:
        """bool [values of the head's variables..., columns]: where a found body says it holds."""
        words = np.zeros(self.relevance.cells.size, np.uint64)
        words[self.relevance.positions[body.positions]] = body.holds
        return unpack(words.reshape(self.relevance.cells.shape), self.cells.shape[-1]) & self.cells

    def plainly(self, holds: np.ndarray) -> np.ndarray:
        """What `PlainSpace.holds` gives, as `_holds` does."""
        picked = np.moveaxis(holds[self.index], 0, -1)
        return picked[..., np.unique(self.column, return_index=True)[1]] & self.cells

    def check_found(self, body: Body, holds: np.ndarray) -> None:
        """A found body is in the space, and holds where it says."""
        forms = {(form, constants): i for i, (form, constants) in enumerate(self.plain.forms)}
        literals = self.bodies.literals
        parts = tuple((forms[literals[i].mode, literals[i].constants], vs) for i, vs in body.parts)
        assert self.plain.allows(parts, body.types)
        assert body.used.cost == body.used.literals == len(parts)
        assert np.array_equal(self.plainly(self.plain.holds(parts, body.types, len(self.head))), holds)

    def check_space(self, body: PlainBody) -> None:
        """Some found body is no worse than a body of the space."""
        holds = self.plainly(body.holds)
        wanted = holds & self.wanted
        assert not wanted.any() or any(
            found.used.cost <= body.cost
            and not (wanted & ~other).any()
            and not (other & self.unwanted & ~holds).any()
            for found, other in self.found
        ), body


@pytest.mark.parametrize("seed", range(40))
def test_bodies_against_plain_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text, head = random_task(rng)
    enumerated = Enumerated(text, head, rng)
    for body, holds in enumerated.found:
        enumerated.check_found(body, holds)
    for plain in enumerated.plain.bodies(head):
        enumerated.check_space(plain)
