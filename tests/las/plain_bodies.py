"""Rule bodies by plain enumeration: every set of literals over every choice of variables, nothing left out.

What `nsl_bench.logic.las.enumeration` finds is compared with this. It shares the parsed task with it and no
more: tables are bool arrays [columns, values...], filled from the facts of the contexts.
"""

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.logic.las.language_bias import ModeAtom, ModeLiteral, Placeholder
from nsl_bench.logic.las.task import LasTask

Flags = npt.NDArray[np.bool_]
Instance = tuple[int, tuple[int, ...]]
"""A literal form (its index) and its variables."""


@dataclass(frozen=True)
class PlainBody:
    literals: tuple[Instance, ...]
    types: tuple[str, ...]  # of its variables, the head's first
    holds: Flags  # bool [columns, values of each head variable...]
    cost: int  # one for each literal


class PlainSpace:
    """The bodies of a task whose background is facts, and whose types, some `guarded`, hold numbers."""

    def __init__(self, task: LasTask, values: Sequence[int], guarded: frozenset[str]) -> None:
        self.task = task
        self.values = values
        self.guarded = guarded
        background = {s.strip() for s in task.background.split(".") if s.strip()}
        self.contexts = [background | set(example.context) for example in task.examples]
        self.forms = [
            (mode, constants)
            for mode in task.bias.literals
            for constants in itertools.product(*(self._constants(p) for p in _slots(mode, "const")))
        ]
        self.tables = [self._table(*form) for form in self.forms]

    def _constants(self, slot: Placeholder) -> list[str]:
        return [value for kind, value in self.task.bias.constants if kind == slot.type]

    def types_of(self, form: int) -> list[str]:
        """The types of a form's variables."""
        return [slot.type for slot in _slots(self.forms[form][0], "var")]

    def _table(self, mode: ModeLiteral, constants: Sequence[str]) -> Flags:
        places = len(_slots(mode, "var"))
        table = np.zeros((len(self.contexts), *(len(self.values),) * places), np.bool_)
        for where in itertools.product(range(len(self.values)), repeat=places):
            terms = _filled(mode, constants, [self.values[i] for i in where])
            if isinstance(mode.literal, ModeAtom):
                name = mode.literal.predicate
                text = f"{name}({','.join(map(str, terms))})" if terms else name
                holds = [text in context for context in self.contexts]
            else:
                holds = [_COMPARE[mode.literal.operator](*terms)] * len(self.contexts)
            table[(slice(None), *where)] = np.array(holds) != mode.negated
        return table

    def guard(self, kind: str) -> Flags:
        """bool [columns, values]: the members of a type."""
        if kind not in self.guarded:
            return np.ones((len(self.contexts), len(self.values)), np.bool_)
        return np.array([[f"{kind}({v})" in context for v in self.values] for context in self.contexts])

    def holds(self, literals: Sequence[Instance], types: Sequence[str], n_head: int) -> Flags:
        """Where a body holds, for each choice of the head's variables."""
        n = len(types)
        result = np.ones((len(self.contexts), *(len(self.values),) * n), np.bool_)
        for variable, kind in enumerate(types):
            result &= self._spread(self.guard(kind), (variable,), n)
        for form, variables in literals:
            result &= self._spread(self.tables[form], variables, n)
        if self.task.bias.ground_without_replacement:
            for one, other in itertools.combinations(literals, 2):
                result &= self._differ(one, other, n)
        return result.any(axis=tuple(range(1 + n_head, 1 + n)))

    def _spread(self, table: Flags, variables: Sequence[int], n: int) -> Flags:
        """A literal's table over all variables; places that share one keep the diagonal."""
        letters = [0, *(v + 1 for v in variables)]
        distinct = sorted(set(variables))
        picked = np.einsum(table, letters, [0, *(v + 1 for v in distinct)])
        shape = [len(self.contexts)] + [len(self.values) if v in distinct else 1 for v in range(n)]
        return picked.reshape(shape)

    def _differ(self, one: Instance, other: Instance, n: int) -> Flags:
        """Where two literals of one predicate and sign are different atoms."""
        shape = (1,) + (len(self.values),) * n
        (first, _), (second, _) = self.forms[one[0]], self.forms[other[0]]
        if not isinstance(first.literal, ModeAtom) or not isinstance(second.literal, ModeAtom):
            return np.ones(shape, np.bool_)
        if (first.literal.signature, first.negated) != (second.literal.signature, second.negated):
            return np.ones(shape, np.bool_)
        grid = np.array(self.values)[np.indices(shape)[1:]]
        equal = np.ones(shape, np.bool_)
        sides = [_filled(*self.forms[form], [grid[v] for v in variables]) for form, variables in (one, other)]
        for left, right in zip(*sides, strict=True):
            equal &= np.equal(left, right)
        return ~equal

    def bodies(self, head_types: tuple[str, ...]) -> Iterator[PlainBody]:
        """Every safe body within the limits, for heads with variables of these types."""
        bias = self.task.bias
        kinds = sorted({kind for form in range(len(self.forms)) for kind in self.types_of(form)})
        for spare in range(bias.max_variables - len(head_types) + 1):
            for extra in itertools.combinations_with_replacement(kinds, spare):
                types = (*head_types, *extra)
                instances = [i for form in range(len(self.forms)) for i in self._instances(form, types)]
                most = len(instances) if bias.body_limit is None else bias.body_limit
                for size in range(most + 1):
                    for literals in itertools.combinations(instances, size):
                        used = {v for _, variables in literals for v in variables}
                        if used.issuperset(range(len(head_types), len(types))) and self.allows(
                            literals, types
                        ):
                            yield PlainBody(
                                literals, types, self.holds(literals, types, len(head_types)), size
                            )

    def allows(self, literals: Sequence[Instance], types: Sequence[str]) -> bool:
        """Whether a body keeps to the limits and is safe."""
        bias = self.task.bias
        if len(types) > bias.max_variables:
            return False
        if bias.body_limit is not None and len(literals) > bias.body_limit:
            return False
        return self.fits(literals) and self.is_safe(literals, types)

    def _instances(self, form: int, types: Sequence[str]) -> Iterator[Instance]:
        options = [[v for v, own in enumerate(types) if own == kind] for kind in self.types_of(form)]
        mode, constants = self.forms[form]
        for variables in itertools.product(*options):
            arguments = (*variables, *(f"const {constant}" for constant in constants))
            if not mode.anti_reflexive or len(set(arguments)) == len(arguments):
                yield form, variables

    def fits(self, literals: Sequence[Instance]) -> bool:
        """Whether no declaration is used more often than its recall says."""
        modes = [self.forms[form][0] for form, _ in literals]
        uses = [mode.mode for mode in modes]
        return all(mode.recall is None or uses.count(mode.mode) <= mode.recall for mode in modes)

    def is_safe(self, literals: Sequence[Instance], types: Sequence[str]) -> bool:
        """Whether a guard or a positive literal binds each variable."""
        bound = {v for v, kind in enumerate(types) if kind in self.guarded}
        for form, variables in literals:
            mode = self.forms[form][0]
            if not mode.negated and isinstance(mode.literal, ModeAtom):
                bound |= set(variables)
        return len(bound) == len(types)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "!=": operator.ne,
    "<": operator.lt,
    "=": operator.eq,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _slots(mode: ModeLiteral, kind: str) -> list[Placeholder]:
    return [slot for slot in mode.literal.placeholders if slot.kind == kind]


def _filled(mode: ModeLiteral, constants: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """The literal's terms: numbers, or whatever `values` has for its variables."""
    literal = mode.literal
    terms = literal.arguments if isinstance(literal, ModeAtom) else (literal.left, literal.right)
    variables, others = iter(values), iter(constants)
    found: list[Any] = []
    for term in terms:
        if isinstance(term, Placeholder):
            found.append(next(variables) if term.kind == "var" else int(next(others)))
        else:
            found.append(int(str(term)))
    return found
