"""Candidate rules: heads with bodies, and the examples' cells that each of them fills.

A cell is a learned atom in one context. Conditions of examples ask for filled and for empty cells;
a rule fills the cells whose atom it derives there. Rules that fill the same cells of interest are one
candidate, the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from nsl_bench.las.bias.batch import FORBIDDEN
from nsl_bench.las.enumeration.bodies import Bodies, Body, Places
from nsl_bench.las.enumeration.building_blocks import Part
from nsl_bench.las.enumeration.conjunctions import Interest
from nsl_bench.las.enumeration.literal_sets import whole_bodies
from nsl_bench.las.tables.columns import Bits, pack
from nsl_bench.las.tables.formulas import Target, choice_atom, literals_of
from nsl_bench.las.tables.literals import BodyLiteral, Vocabulary
from nsl_bench.las.task import ModeAtom, WeightedRule
from nsl_bench.las.terms import atom_text

__all__ = [
    "Candidate",
    "Cells",
    "HeadForm",
    "Rule",
    "candidates",
    "given_candidates",
    "head_forms",
    "rule_text",
]

HARD = 1 << 40
"""Weight of an example that must be covered, where weights are only compared."""


@dataclass(frozen=True, eq=False)
class HeadForm:
    """A head with constants filled in.

    Attributes:
        atom: its declaration.
        constants: values for ``const(type)``.
        places: variable in each ``var(type)``, numbered by first occurrence.
        types: type of each variable.
        leaves: intp [sizes...]: which row of `Cells` each instance is, -1 for none.
        cost: what it adds to a rule's cost.
    """

    atom: ModeAtom
    constants: tuple[str, ...]
    places: tuple[int, ...]
    types: tuple[str, ...]
    leaves: npt.NDArray[np.intp]
    cost: int

    def text(self, variables: Sequence[str]) -> str:
        """The head with these names for its variables."""
        return atom_text(self.atom, iter([variables[p] for p in self.places]), iter(self.constants))


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule as a hypothesis may hold it: built from the modes, or given whole."""

    cost: int
    head: HeadForm | None = None
    parts: tuple[Part, ...] = ()
    types: tuple[str, ...] = ()
    given: str = ""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule and the cells that it fills.

    Attributes:
        rule: the rule.
        leaves, words: intp [k]: rows of `Cells`, and which word of each.
        fills: uint64 [k]: that word: the cells of interest that the rule fills.
    """

    rule: Rule
    leaves: npt.NDArray[np.intp]
    words: npt.NDArray[np.intp]
    fills: Bits

    def cells(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Row and column of each cell that it fills."""
        word, bit = np.nonzero(_bits(self.fills))
        return self.leaves[word], 64 * self.words[word] + bit


def _bits(words: Bits) -> npt.NDArray[np.uint8]:
    """uint8 [k, 64]: the bits of uint64 [k]."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 64)


class Cells:
    """The cells that conditions speak about.

    Attributes:
        row: program atom to row.
        n: number of columns.
        wanted, unwanted: uint64 [rows, words]: cells that some condition asks to be filled, empty; only the
            rows of learned atoms.
        weight_words: int64 [rows, words, 64]: penalties of the examples that ask for a cell to be filled.
    """

    def __init__(self, problems: Sequence[Sequence[Target]], words: int, n: int) -> None:
        literals: dict[int, frozenset[tuple[int, bool]]] = {}
        atoms: set[int] = set()
        for problem in problems:
            for target in problem:
                if id(target.condition) not in literals:
                    literals[id(target.condition)] = frozenset(
                        (lit.atom, lit.positive) for lit in literals_of(target.condition)
                    )
                    atoms.update(atom for atom, _ in literals[id(target.condition)])
        # what stands for rules given whole comes last, and no rule to be found fills it
        self.row = {atom: i for i, atom in enumerate(sorted(atoms, key=lambda atom: (atom < 0, atom)))}
        rows = sum(atom >= 0 for atom in atoms)
        wanted = np.zeros((rows, n), np.bool_)
        unwanted = np.zeros((rows, n), np.bool_)
        weights = np.zeros((rows, 64 * words), np.int64)
        for problem in problems:
            weight = np.zeros_like(weights)
            for target in problem:
                for atom, positive in literals[id(target.condition)]:
                    if atom < 0:
                        continue
                    row = self.row[atom]
                    if positive:
                        wanted[row, target.column] = True
                        weight[row, target.column] += HARD if target.penalty is None else target.penalty
                    else:
                        unwanted[row, target.column] = True
            np.maximum(weights, weight, out=weights)
        self.weight_words = weights.reshape(rows, words, 64)
        self.n = n
        self.wanted = pack(wanted).reshape(rows, words)
        self.unwanted = pack(unwanted).reshape(rows, words)
        self.interesting = self.wanted | self.unwanted


def head_forms(vocabulary: Vocabulary, cells: Cells) -> list[HeadForm]:
    """The heads that can fill a cell of interest, with costs."""
    import itertools

    learned = vocabulary.grounding.learned
    forms: list[tuple[ModeAtom, tuple[str, ...], tuple[int, ...], tuple[str, ...], npt.NDArray[np.intp]]] = []
    for head in vocabulary.bias.heads:
        slots = head.atom.placeholders
        kinds = [p.type for p in slots if p.kind == "var"]
        allowed = [vocabulary.constants(p.type) for p in slots if p.kind == "const"]
        for constants in itertools.product(*allowed):
            for places in _sharings(kinds):
                types = tuple(kinds[places.index(k)] for k in range(max(places, default=-1) + 1))
                if len(types) > vocabulary.bias.max_variables:
                    continue
                values = [vocabulary.domain(kind).values for kind in types]
                leaves = np.full([len(v) for v in values], -1, np.intp)
                for where in itertools.product(*(range(len(v)) for v in values)):
                    names = [str(values[p][where[p]]) for p in places]
                    text = atom_text(head.atom, iter(names), iter(constants))
                    leaves[where] = cells.row.get(learned.get(text, 0), -1)
                if (leaves >= 0).any():
                    forms.append((head.atom, tuple(constants), places, types, leaves))
    names = [f"V{i + 1}" for i in range(16)]
    texts = [
        atom_text(atom, iter([names[p] for p in places]), iter(constants))
        for atom, constants, places, _, _ in forms
    ]
    costs = vocabulary.head_costs(texts)
    return [HeadForm(*form, cost) for form, cost in zip(forms, costs, strict=True)]


def _sharings(kinds: Sequence[str]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for i, kind in enumerate(kinds):
        found = [
            (*places, variable)
            for places in found
            for variable in range(max(places, default=-1) + 2)
            if variable > max(places, default=-1) or kinds[places.index(variable)] == kind
        ]
        del i
    return found


def candidates(bodies: Bodies, forms: Sequence[HeadForm], cells: Cells) -> list[Candidate]:
    """One candidate, the cheapest, for each set of cells that some rule fills and that may pay.

    Raises:
        Undecided: see `Bodies.bodies`.
    """
    by_types: dict[tuple[str, ...], list[HeadForm]] = {}
    for form in forms:
        by_types.setdefault(form.types, []).append(form)
    best: dict[tuple[bytes, bytes], Candidate] = {}
    for types, group in sorted(by_types.items()):
        interest = _interest(group, cells)
        gains = [_Gain(form, cells, interest) for form in group]
        for body, costs in _priced(bodies, types, interest, group, gains, cells):
            for form, gain, cost in zip(group, gains, costs, strict=True):
                if cost == FORBIDDEN or gain.hopeless(body.places, body.holds, cost):
                    continue
                slots, fills = gain.fills(body.places, body.holds)
                key = (gain.leaves[slots].tobytes() + gain.words[slots].tobytes(), fills.tobytes())
                known = best.get(key)
                if known is None or (cost, len(body.parts)) < (known.rule.cost, len(known.rule.parts)):
                    rule = Rule(cost, form, body.parts, body.types)
                    best[key] = Candidate(rule, gain.leaves[slots], gain.words[slots], fills)
    return list(best.values())


def given_candidates(given: Sequence[WeightedRule], cells: Cells) -> list[Candidate]:
    """Rules given whole: each fills one row of its own, in every column."""
    found = []
    words = np.arange(cells.wanted.shape[-1])
    full = pack(np.ones(cells.n, np.bool_))
    for i, rule in enumerate(given):
        row = cells.row.get(choice_atom(i))
        if row is not None:
            leaves = np.full(len(words), row, np.intp)
            found.append(Candidate(Rule(rule.cost, given=rule.rule), leaves, words, full))
    return found


def _priced(
    bodies: Bodies,
    types: tuple[str, ...],
    interest: Interest,
    forms: Sequence[HeadForm],
    gains: Sequence[_Gain],
    cells: Cells,
) -> Iterator[tuple[Body, list[int]]]:
    """Bodies for heads with variables of these types, with their rule's cost under each head."""
    if bodies.vocabulary.additive:
        for body in bodies.bodies(types, interest, partial(_all_hopeless, gains)):
            yield body, [body.used.cost + form.cost for form in forms]
        return
    wanted = np.zeros_like(interest.cells)
    for form in forms:
        where = form.leaves >= 0
        wanted[where] |= cells.wanted[form.leaves[where]]
    yield from whole_bodies(bodies, types, interest, wanted, forms)


def _interest(forms: Sequence[HeadForm], cells: Cells) -> Interest:
    """Where some head of the same variables fills a cell that matters, and where it should not."""
    shape = (*forms[0].leaves.shape, cells.wanted.shape[-1])
    matters, unwanted = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for form in forms:
        where = form.leaves >= 0
        matters[where] |= cells.interesting[form.leaves[where]]
        unwanted[where] |= cells.unwanted[form.leaves[where]]
    return Interest(matters, unwanted)


def _all_hopeless(gains: Sequence[_Gain], places: Places, holds: Bits, cost: int) -> bool:
    return all(gain.hopeless(places, holds, cost + gain.cost) for gain in gains)


class _Gain:
    """What filling the cells of one head can bring, by position of `Interest`.

    Attributes:
        leaves, words: intp [positions]: the row of `Cells`, -1 for none, and the word of each position.
        cost: what the head costs.
    """

    def __init__(self, form: HeadForm, cells: Cells, interest: Interest) -> None:
        instance, self.words = np.divmod(interest.places, cells.wanted.shape[-1])
        self.leaves = form.leaves.reshape(-1)[instance]
        none = np.uint64(0)
        self._interesting = np.where(self.leaves >= 0, cells.interesting[self.leaves, self.words], none)
        self._wanted = np.where(self.leaves >= 0, cells.wanted[self.leaves, self.words], none)
        useful = np.flatnonzero(self._wanted)
        self._slot = np.zeros(len(self.words), np.intp)
        self._slot[useful] = np.arange(len(useful))
        self._weight = cells.weight_words[self.leaves[useful], self.words[useful]]
        self.cost = form.cost

    def fills(self, places: Places, holds: Bits) -> tuple[Places, Bits]:
        """The positions and words of the cells of interest that a body fills."""
        filled = holds & self._interesting[places]
        some = np.flatnonzero(filled)
        return places[some], filled[some]

    def hopeless(self, places: Places, holds: Bits, cost: int) -> bool:
        """Whether all that could be gained is no more than the rule's cost."""
        useful = holds & self._wanted[places]
        some = np.flatnonzero(useful)
        if not len(some):
            return True
        weight = self._weight[self._slot[places[some]]]
        return int((_bits(useful[some]) * weight).sum()) <= cost


def rule_text(rule: Rule, literals: Sequence[BodyLiteral], vocabulary: Vocabulary) -> str:
    """The rule in ASP, with type guards and, without replacement, inequalities."""
    if rule.given or rule.head is None:
        return rule.given
    order = list(dict.fromkeys([*range(len(rule.head.types)), *(v for _, vs in rule.parts for v in vs)]))
    names = [""] * (max(order, default=-1) + 1)
    for i, variable in enumerate(order):
        names[variable] = f"V{i + 1}"
    texts = [literals[i].text([names[v] for v in variables]) for i, variables in rule.parts]
    if vocabulary.rigid:
        texts += _inequalities(rule.parts, names, literals)
    guards = [f"{rule.types[v]}({names[v]})" for v in order if vocabulary.domain(rule.types[v]).guarded]
    body = list(dict.fromkeys([*texts, *guards]))
    head = rule.head.text(names)
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def _inequalities(parts: Sequence[Part], names: Sequence[str], literals: Sequence[BodyLiteral]) -> list[str]:
    import itertools

    found = []
    for (i, a), (j, b) in itertools.combinations(parts, 2):
        if literals[i].family is None or literals[i].family != literals[j].family:
            continue
        left = literals[i].arguments([names[v] for v in a])
        right = literals[j].arguments([names[v] for v in b])
        pairs = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
        if any(not any(c.isupper() for c in x + y) for x, y in pairs):
            continue
        xs, ys = ",".join(x for x, _ in pairs), ",".join(y for _, y in pairs)
        found.append(f"{xs} != {ys}" if len(pairs) == 1 else f"({xs}) != ({ys})")
    return found
