"""The label of every world under rules, as decision diagrams: to train perception through rules.

Examples with the same blank slots and metadata share one. Rules may read many images, as those of Sudoku do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.types import BLANK, UNDECIDED, Bools, Ints
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.engines import compiled
from nsl_bench.logic.inference.exact.decision_diagram import Diagram
from nsl_bench.logic.inference.exact.truth_table import TooLarge, outcome_table
from nsl_bench.logic.inference.forward.dnf import Signals
from nsl_bench.logic.inference.program.domains import Domains
from nsl_bench.logic.inference.query import Query

_MOST_CELLS = 100_000
"""A larger table of outcomes is tried only if there is no short normal form."""


class Structure(NamedTuple):
    """What examples have besides concepts: shown slots, bool [slots], and facts; their rows and labels.

    `possible` has its possible worlds, int64 [n, slots], or is None where all are.
    """

    shown: Bools
    facts: tuple[str, ...]
    rows: Ints
    labels: tuple[int, ...]
    possible: Ints | None = None

    @property
    def settled(self) -> list[list[int]]:
        """Its possible worlds, if they are known and its examples have one label, that of all worlds then."""
        return [] if self.possible is None or len(self.labels) > 1 else self.possible.tolist()


class LabelTable:
    """The label of every world of a structure, as a diagram of the slots that rules read.

    `values`, int64 [slots, concepts], is the place of a concept on its axis, or -1 if it cannot be there.
    """

    def __init__(self, diagram: Diagram, values: Ints, structure: Structure) -> None:
        self._diagram, self._values = diagram, values
        self._shown, self._possible = structure.shown, structure.possible
        self._told = None if self._possible is None else self.labels(self._possible)

    def labels(self, worlds: Ints) -> Ints:
        """int64 [n]: the outcomes of worlds [n, slots]; -1 where a slot shows what it cannot."""
        slots = list(self._diagram.slots)
        values = self._values[slots, worlds[:, slots]]
        result: Ints = self._diagram.follow(values.clip(min=0)).astype(np.int64)
        result[(values < 0).any(axis=1)] = UNDECIDED
        return result

    def worlds(self, label: int, most: int, rng: np.random.Generator) -> Ints:
        """int64 [n, slots]: at most so many worlds with a label, drawn at random where there are more."""
        if self._possible is not None:
            fitting: Ints = self._possible[self._told == label]
            return np.asarray(fitting[rng.permutation(len(fitting))[:most]], np.int64)
        cells = self._diagram.rows(label, 2 * most, rng)
        if not len(cells):
            return np.zeros((0, len(self._shown)), np.int64)
        cells = cells[rng.permutation(np.arange(max(len(cells), 2 * most)) % len(cells))]
        result = np.full((len(cells), len(self._shown)), BLANK, np.int64)
        for slot in np.flatnonzero(self._shown).tolist():
            drawn = rng.random((len(cells), self._values.shape[1]))
            fits = np.tile(self._values[slot] >= 0, (len(cells), 1))
            if slot in self._diagram.slots:
                fits = self._values[slot][None] == cells[:, self._diagram.slots.index(slot), None]
            result[:, slot] = np.where(fits, drawn, -1.0).argmax(axis=1)
        return np.asarray(rng.permutation(np.unique(result, axis=0))[:most], np.int64)

    def probabilities(self, seen: Any, n_outcomes: int) -> Any:
        """Tensor [n, outcomes]: exact probabilities, from those of concepts [n, slots, concepts].

        They sum to the probability of the possible worlds.
        """
        import torch

        if self._possible is not None:
            weights = seen.new_ones(())
            for slot in np.flatnonzero(self._shown).tolist():
                weights = weights * seen[:, slot, torch.as_tensor(self._possible[:, slot])]
            return seen.new_zeros((len(seen), n_outcomes)).index_add(1, torch.as_tensor(self._told), weights)
        diagram, weights = self._diagram, seen.new_ones((len(seen), 1))
        widths = [*(len(level) for level in diagram.levels[1:]), len(diagram.leaves)]
        for slot, level, width in zip(diagram.slots, diagram.levels, widths, strict=False):
            is_value = torch.as_tensor(self._values[slot][:, None] == np.arange(level.shape[1]))
            own = seen[:, slot] @ is_value.to(seen.dtype)
            edges = (weights[:, :, None] * own[:, None, :]).flatten(1)
            onto = torch.as_tensor(level.ravel())
            weights = seen.new_zeros((len(seen), width)).index_add(1, onto, edges)
        leaves = torch.as_tensor(diagram.leaves.astype(np.int64))
        return seen.new_zeros((len(seen), n_outcomes)).index_add(1, leaves, weights)


def label_tables(rules: Sequence[str], view: View, structures: Sequence[Structure]) -> list[LabelTable]:
    """What the rules answer in every world of each structure."""
    names = view.concept_space.concepts
    choices = tuple(tuple(view.facts(slot, name) for name in names) for slot in range(len(view.slots)))
    can = np.array([[bool(facts) for facts in slot] for slot in choices])
    can |= ~can.any(axis=1, keepdims=True)
    query = Query(tuple(rules), view.background, view.label_space, choices, strict=False)
    everything = tuple(sorted({fact for structure in structures for fact in structure.facts}))
    result = []
    for one in structures:
        whole = compiled(query, one.facts, everything).domains
        domains = replace(
            whole,
            sizes=tuple(np.where(one.shown, whole.sizes, 1).tolist()),
            atoms={atom: at for atom, at in whole.atoms.items() if one.shown[at[0]]},
        )
        values, kept = np.where(can, 0, -1), dict[int, Ints]()
        for slot, own in enumerate(can):
            kept[slot], values[slot, own] = np.unique(whole.classes[slot, own], return_inverse=True)
        try:
            diagram = _diagram(domains, kept)
        except TooLarge:
            raise NotApplicable(
                f"The rules of {view.benchmark_name} read too many images at once for a diagram."
            ) from None
        unread = [slot not in diagram.slots for slot in range(len(can))]
        values[unread] = np.where(can[unread], 0, -1)
        result.append(LabelTable(diagram, values, one))
    return result


def _diagram(domains: Domains, kept: Mapping[int, Ints]) -> Diagram:
    """The outcomes of a program, on axes with these values: from a table if it is small, else from terms."""
    try:
        slots, table = outcome_table(domains, _MOST_CELLS)
    except TooLarge:
        signals = Signals.of(domains)
        try:
            if not signals.rules:
                raise
            slots, table = outcome_table(domains)
        except TooLarge:
            axes = {slot: own.tolist() for slot, own in kept.items()}
            return Diagram.of_terms(signals.terms, axes, signals.outcome)
    for axis, slot in enumerate(slots):
        table = table.take(kept[slot], axis=axis)
    return Diagram.of(slots, table)


def structures_of(view: View, shown: Bools, possible: Ints | None = None) -> list[Structure]:
    """The structures of a view's examples, with the possible worlds, int64 [n, slots], if they are known."""
    rows: dict[tuple[bytes, tuple[str, ...]], list[int]] = {}
    for row, facts in enumerate(view.metadata_facts):
        rows.setdefault((shown[row].tobytes(), facts), []).append(row)
    return [
        Structure(
            shown[own[0]],
            facts,
            np.array(own),
            tuple(np.unique(view.labels[own]).tolist()) if hasattr(view, "labels") else (),
            None if possible is None else possible[((possible != BLANK) == shown[own[0]]).all(axis=1)],
        )
        for (_, facts), own in rows.items()
    ]


class Diagrams(NamedTuple):
    """The structures of a view's examples, and the label of every world of each."""

    structures: Sequence[Structure]
    tables: Sequence[LabelTable]

    @property
    def rows(self) -> Ints:
        """int64 [n, 1]: the view's row of each example."""
        return np.sort(np.concatenate([one.rows for one in self.structures]))[:, None]

    def apart(self, rows: Ints) -> Iterator[tuple[LabelTable, Ints]]:
        """The tables of rows, int64 [m], each with the places of its rows among them."""
        for table, one in zip(self.tables, self.structures, strict=True):
            mine = np.flatnonzero(np.isin(rows, one.rows))
            if len(mine):
                yield table, mine
