"""The known rule as truth tables: to train perception through the rule.

This needs numpy alone, so adapters with an interpreter of their own can import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.sequences import grid
from nsl_bench.core.types import BLANK, Bools, Floats, Ints

if TYPE_CHECKING:
    from nsl_bench.learners.view import View

_MOST_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Table:
    """The truth table of the examples (or sequences) with the same metadata and blank slots.

    Attributes:
        worlds: int64 [worlds, images], the concept of each image, step by step; -1 for a blank one.
        labels: int64 [worlds, steps], the label of each step; below 0: none.
        choices: for each image the concepts that it may show; -1 alone for a blank one.
    """

    worlds: Ints
    labels: Ints
    choices: tuple[Ints, ...]


@dataclass(frozen=True, eq=False)
class Tables:
    """The truth tables of a view.

    Attributes:
        rows: int64 [examples, steps], the view's rows of each example or sequence.
        which: int64 [examples], the table of each example.
    """

    rows: Ints
    tables: tuple[Table, ...]
    which: Ints

    def apart(self, chosen: Ints) -> list[tuple[Table, Ints]]:
        """The chosen examples by their table."""
        own = self.which[chosen]
        return [(self.tables[k], chosen[own == k]) for k in np.unique(own).tolist()]


def truth_tables(view: View, blank: Bools, most_worlds: int = 20_000) -> Tables:
    """The truth tables of the known rule for the examples of a view.

    Args:
        view: the examples, in the track ``known_rules``.
        blank: bool [n, slots], the slots without an image.
        most_worlds: most combinations of concepts of an example.
    """
    names, slots = view.concept_space.concepts, len(view.slots)
    possible = [
        np.array([k for k, name in enumerate(names) if view.facts(slot, name)] or [BLANK])
        for slot in range(slots)
    ]
    rows = grid(view.steps) if view.sequential else np.arange(len(view))[:, None]
    if (rows < 0).any():
        raise NotApplicable("Truth tables need sequences of one length.")
    columns = [np.asarray(column) for column in view.metadata.values()]
    keys: dict[tuple[Any, ...], int] = {}
    which, tables, total = np.zeros(len(rows), np.int64), list[Table](), 0
    for i, mine in enumerate(rows):
        key = (blank[mine].tobytes(), *(str(column[row]) for column in columns for row in mine))
        if key not in keys:
            nothing = np.array([BLANK])
            choices = [
                nothing if blank[row, slot] else possible[slot] for row in mine for slot in range(slots)
            ]
            size = float(np.prod([float(len(choice)) for choice in choices]))
            total += int(min(size, 1e12)) * len(mine)
            if size > most_worlds or total > _MOST_ROWS:
                raise NotApplicable(
                    f"The truth table of {view.benchmark_name} is too large: {size:.0f} combinations of "
                    f"concepts, at most {most_worlds}."
                )
            keys[key] = len(tables)
            tables.append(_table(view, mine, choices))
        which[i] = keys[key]
    return Tables(rows, tuple(tables), which)


def _table(view: View, rows: Ints, choices: Sequence[Ints]) -> Table:
    worlds = np.stack([axis.ravel() for axis in np.meshgrid(*choices, indexing="ij")], axis=1)
    steps = worlds.reshape(len(worlds) * len(rows), -1)
    labels = view.true_rule.labels(steps, np.tile(rows, len(worlds)))
    return Table(worlds, labels.reshape(len(worlds), -1), tuple(choices))


def likeliest(view: View, probabilities: Floats, blank: Bools) -> Ints:
    """int64 [n]: the labels of the likeliest world in which every step has a label.

    Args:
        view: the examples.
        probabilities: of the concepts, [n, slots, concepts].
        blank: bool [n, slots], the slots without an image.
    """
    tables, logs = truth_tables(view, blank), np.log(np.maximum(probabilities, 1e-12))
    result = np.full(len(view), -1, np.int64)
    for start in range(0, len(tables.rows), 64):
        for table, mine in tables.apart(np.arange(start, min(start + 64, len(tables.rows)))):
            rows = tables.rows[mine]
            seen = logs[rows].reshape(len(rows), -1, logs.shape[2])
            scores = np.where((table.labels >= 0).all(axis=1), 0.0, -np.inf)[None].repeat(len(rows), 0)
            for image, choice in enumerate(table.choices):
                if choice[0] != BLANK:
                    scores += seen[:, image, table.worlds[:, image]]
            result[rows] = table.labels[scores.argmax(axis=1)]
    return result
