"""Evaluating a stratified ground program in 64 contexts at a time.

An atom is a row of bits, one for each context; a rule is an AND of rows. What depends on atoms that are yet
to be learned is left as residual rules, with the contexts in which the decided part of their bodies holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.dependencies import dependents
from nsl_bench.logic.asp.ground_program import GroundProgram, GroundRule, WeightRule
from nsl_bench.logic.las.bits import Bits, pack, unpack


class Columns(NamedTuple):
    """The distinct contexts of some examples, as columns of bit tables: one bit a context, 64 to a word.

    Attributes:
        of_example: intp [n_examples]: the column of each example.
        statements: the distinct statements of all contexts.
        rows, cols: intp [k]: statement ``rows[i]`` is in the context of column ``cols[i]``.
    """

    of_example: npt.NDArray[np.intp]
    statements: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    cols: npt.NDArray[np.intp]
    n: int

    @property
    def words(self) -> int:
        """Words of a packed row."""
        return -(-self.n // 64)

    @property
    def full(self) -> Bits:
        """uint64 [words]: all columns."""
        return pack(np.ones(self.n, np.bool_))

    @classmethod
    def of(cls, examples: Sequence[WeightedExample]) -> Self:
        """The columns of `examples`, in the order in which contexts first occur."""
        contexts: dict[frozenset[str], int] = {}
        statements: dict[str, int] = {}
        of_example: list[int] = []
        rows: list[int] = []
        cols: list[int] = []
        for example in examples:
            context = frozenset(example.context)
            column = contexts.get(context)
            if column is None:
                column = contexts[context] = len(contexts)
                for statement in dict.fromkeys(example.context):
                    rows.append(statements.setdefault(statement, len(statements)))
                    cols.append(column)
            of_example.append(column)
        return cls(
            np.array(of_example, np.intp),
            tuple(statements),
            np.array(rows, np.intp),
            np.array(cols, np.intp),
            len(contexts),
        )

    def membership(self) -> Bits:
        """uint64 [statements, words]: which contexts hold each statement."""
        bits = np.zeros((len(self.statements), self.words), np.uint64)
        one = np.uint64(1) << (self.cols % 64).astype(np.uint64)
        np.bitwise_or.at(bits, (self.rows, self.cols // 64), one)
        return bits


_BYTES_LIMIT = 1 << 31
_EVERY = 512


class ResidualRule(NamedTuple):
    """A ground rule that depends on learned atoms.

    Attributes:
        head: program atom, 0 for a constraint.
        positive, negative: the undecided atoms of its body.
        mask: uint64 [words]: the columns in which the decided part of its body holds.
        choice: index of the given rule that it is an instance of, -1 if it is background.
    """

    head: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    mask: Bits
    choice: int = -1


class Values(NamedTuple):
    """What is true in which column.

    Attributes:
        rows: decided program atom to row.
        undecided: program atoms that depend on what is learned.
        dead: uint64 [words]: columns in which a constraint is violated whatever is learned.
    """

    bits: Bits
    rows: Mapping[int, int]
    undecided: frozenset[int]
    residual: Sequence[ResidualRule]
    dead: Bits


def evaluate(
    program: GroundProgram,
    columns: Columns,
    learned: set[int],
    choices: Mapping[int, int],
    stated: Sequence[tuple[int, int]],
    budget: Budget,
) -> Values:
    """Evaluates a ground program without choices and disjunctions.

    Args:
        learned: program atoms that a hypothesis may derive.
        choices: program atoms that stand for rules given whole, and their indices.
        stated: (program atom, statement) of each atom that a context's statement makes true.
    """
    undecided = _dependent(program, learned | choices.keys())
    rows: dict[int, int] = {}
    for number, _ in stated:
        if number in undecided:
            raise Undecided("a context states an atom that is to be learned")
        rows.setdefault(number, len(rows))
    for number in {a for rule in program.rules for a in (rule.head, *rule.atoms)} - undecided - {0}:
        rows.setdefault(number, len(rows))
    if len(rows) * columns.words * 8 > _BYTES_LIMIT:
        raise Undecided("too many ground atoms for the number of contexts")
    budget.take(8 * len(rows) * columns.words, "the values of ground atoms")
    bits = np.zeros((len(rows), columns.words), np.uint64)
    membership = columns.membership()
    for number, stating in stated:
        bits[rows[number]] |= membership[stating]
    state = _State(columns, bits, rows, undecided, choices)
    for number, group in enumerate(program.ordered()):
        if number % _EVERY == 0:
            budget.check()
        if program.recursive_through_negation(group):
            raise Undecided("recursion through negation or an aggregate")
        state.run(group)
    return Values(bits, rows, undecided, state.residual, state.dead)


def _dependent(program: GroundProgram, given: set[int]) -> frozenset[int]:
    """The atoms in `given` and those that depend on one of them."""
    users: dict[int, list[int]] = {}
    for rule in program.rules:
        if rule.head:
            for atom in rule.atoms:
                users.setdefault(atom, []).append(rule.head)
    return dependents(users, given)


@dataclass(eq=False, repr=False)
class _State:
    """Evaluates groups of rules in order of dependency."""

    _columns: Columns
    _values: Bits
    _rows: Mapping[int, int]
    _undecided: frozenset[int]
    _choices: Mapping[int, int]

    def __post_init__(self) -> None:
        self.residual: list[ResidualRule] = []
        self._full = self._columns.full
        self.dead = np.zeros_like(self._full)

    def run(self, group: Sequence[GroundRule | WeightRule]) -> None:
        """Evaluates rules that depend on each other, or one; what they depend on has been evaluated."""
        if len(group) > 1:
            if any(rule.head in self._undecided for rule in group):
                raise Undecided("recursion through what is learned")
            self._fixpoint(group)
            return
        rule = group[0]
        if self._undecided.isdisjoint((rule.head, *rule.atoms)):
            result = self._body(rule)
            if rule.head:
                self._values[self._rows[rule.head]] |= result
            else:
                self.dead |= result
            return
        if isinstance(rule, WeightRule):
            raise Undecided("an aggregate over what is learned")
        self._residual(rule)

    def _fixpoint(self, group: Sequence[GroundRule | WeightRule]) -> None:
        changed = True
        while changed:
            changed = False
            for rule in group:
                row = self._rows[rule.head]
                new = self._values[row] | self._body(rule)
                if not np.array_equal(new, self._values[row]):
                    self._values[row] = new
                    changed = True

    def _body(self, rule: GroundRule | WeightRule) -> Bits:
        if isinstance(rule, WeightRule):
            return self._weighted(rule)
        result = self._full.copy()
        for atom in rule.positive:
            result &= self._values[self._rows[atom]]
        for atom in rule.negative:
            result &= ~self._values[self._rows[atom]]
        return result

    def _weighted(self, rule: WeightRule) -> Bits:
        total = np.zeros(self._columns.n, np.int64)
        for literal, weight in rule.body:
            holds = unpack(self._values[self._rows[abs(literal)]], self._columns.n)
            total += weight * (holds if literal > 0 else ~holds)
        return pack(total >= rule.bound)

    def _residual(self, rule: GroundRule) -> None:
        mask = self._full.copy()
        positive: list[int] = []
        choice = -1
        for atom in rule.positive:
            if atom in self._choices:
                choice = self._choices[atom]
            elif atom in self._undecided:
                positive.append(atom)
            else:
                mask &= self._values[self._rows[atom]]
        negative: list[int] = []
        for atom in rule.negative:
            if atom in self._undecided:
                negative.append(atom)
            else:
                mask &= ~self._values[self._rows[atom]]
        if mask.any():
            self.residual.append(ResidualRule(rule.head, tuple(positive), tuple(negative), mask, choice))
