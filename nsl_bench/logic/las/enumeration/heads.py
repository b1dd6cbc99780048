"""Heads of rules, and which cells their instances are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.logic.las.enumeration.building_blocks import Part
from nsl_bench.logic.las.enumeration.cells import Cells
from nsl_bench.logic.las.language_bias import ModeAtom
from nsl_bench.logic.las.tables.literals import BodyLiteral, Vocabulary
from nsl_bench.logic.las.terms import pattern_text, patterns
from nsl_bench.logic.las.thresholds import priced, spelled

if TYPE_CHECKING:
    from nsl_bench.logic.las.bias.costs import RuleParts


class HeadForm(NamedTuple):
    """A head with constants filled in.

    Attributes:
        places: variable in each ``var(type)``, numbered by first occurrence.
        rows: intp [sizes...]: which row of `Cells` each instance is, -1 for none.
    """

    atom: ModeAtom
    constants: tuple[str, ...]
    places: tuple[int, ...]
    types: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    cost: int

    def text(self, variables: Sequence[str]) -> str:
        """The head with these names for its variables."""
        return pattern_text(self.atom, [variables[p] for p in self.places], self.constants)


_Form = tuple[tuple[str, ...], tuple[int, ...]]
"""Constants and places of a head."""


def head_forms(vocabulary: Vocabulary, cells: Cells) -> list[HeadForm]:
    """The heads that can fill a cell of interest, with costs."""
    result: list[HeadForm] = []
    most = vocabulary.bias.max_variables
    for head in vocabulary.bias.heads:
        slots = head.atom.placeholders
        kinds = head.atom.variable_types
        allowed = [list(each) for each in vocabulary.constants_at(slots)]
        order = patterns(kinds, most)
        instances = _instances(vocabulary, head.atom, kinds, allowed, cells)
        for constants, places in itertools.product(itertools.product(*allowed), order):
            filled = instances.get((constants, places))
            if filled is None:
                continue
            types = tuple(kinds[places.index(k)] for k in range(max(places, default=-1) + 1))
            shape = [len(vocabulary.domain(kind).values) for kind in types]
            vocabulary.budget.take(8 * math.prod(shape), "tables of heads")
            rows = np.full(shape, -1, np.intp)
            for where, row in filled:
                rows[where] = row
            result.append(HeadForm(head.atom, constants, places, types, rows, 0))
    names = [f"V{i + 1}" for i in range(most)]
    costs = vocabulary.head_costs([form.text(names) for form in result])
    return [form._replace(cost=cost) for form, cost in zip(result, costs, strict=True)]


def _instances(
    vocabulary: Vocabulary,
    atom: ModeAtom,
    kinds: tuple[str, ...],
    allowed: Sequence[Sequence[str]],
    cells: Cells,
) -> dict[_Form, list[tuple[tuple[int, ...], int]]]:
    """The cells' atoms that a head can be, by form: index of each variable's value, and the atom's row."""
    domains = [vocabulary.domain(kind) for kind in kinds]
    result: dict[_Form, list[tuple[tuple[int, ...], int]]] = {}
    own = (
        (symbol.arguments, cells.row[number])
        for symbol, number in vocabulary.grounding.learned.items()
        if number in cells.row and (symbol.name, len(symbol.arguments)) == atom.signature
    )
    for texts, variables, row in vocabulary.instances(atom, allowed, own):
        where = [domain.position.get(value, -1) for domain, value in zip(domains, variables, strict=True)]
        for places in patterns(kinds, vocabulary.bias.max_variables):
            chosen = [where[places.index(k)] for k in range(max(places, default=-1) + 1)]
            if -1 in chosen or any(where[i] != chosen[k] for i, k in enumerate(places)):
                continue
            result.setdefault((texts, places), []).append((tuple(chosen), row))
    return result


class Rule(NamedTuple):
    """A rule as a hypothesis may hold it.

    Attributes:
        parts: its body; variables are numbers, the head's first.
    """

    cost: int
    head: HeadForm | None = None
    parts: tuple[Part, ...] = ()
    types: tuple[str, ...] = ()
    given: str = ""


def rule_text(rule: Rule, literals: Sequence[BodyLiteral], vocabulary: Vocabulary) -> str:
    """The rule in ASP, with type guards and, without replacement, inequalities.

    Args:
        rule: a head and placed body literals, or a rule given whole.
    """
    if rule.given or rule.head is None:
        return rule.given
    head, texts, names = _written(rule, rule.head, literals)
    if vocabulary.without_replacement:
        from nsl_bench.logic.las.enumeration.without_replacement import inequalities

        texts += inequalities(rule.parts, names, literals)
    order = [v for v, name in sorted(enumerate(names), key=lambda each: int(each[1][1:] or 0)) if name]
    guards = [f"{rule.types[v]}({names[v]})" for v in order if vocabulary.domain(rule.types[v]).guarded]
    body = list(dict.fromkeys(spelled([*texts, *guards], head)))
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def priced_parts(rule: Rule, literals: Sequence[BodyLiteral]) -> RuleParts:
    """The head and the body literals of a rule from the modes, as `#bias` prices them."""
    assert rule.head is not None
    head, texts, _ = _written(rule, rule.head, literals)
    return head, tuple(priced(texts))


def _written(rule: Rule, form: HeadForm, literals: Sequence[BodyLiteral]) -> tuple[str, list[str], list[str]]:
    """Head, body literals, and the names of the variables by their numbers."""
    order = list(dict.fromkeys([*range(len(form.types)), *(v for _, vs in rule.parts for v in vs)]))
    names = [""] * (max(order, default=-1) + 1)
    for i, variable in enumerate(order):
        names[variable] = f"V{i + 1}"
    texts = [literals[i].text([names[v] for v in variables]) for i, variables in rule.parts]
    return form.text(names), texts, names
