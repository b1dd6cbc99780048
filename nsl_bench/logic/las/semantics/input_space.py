"""Derive the possible inputs from a task's examples, as a choice program over the facts of their contexts.

The facts of each predicate range over the constants seen at its arguments. If some arguments determine the
others in all contexts (the player determines the card, the cell determines the digit), an input also has at
most one fact for them, and exactly one if every context has one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from clingo import Symbol

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.atoms import parse_atom
from nsl_bench.logic.asp.grounding import grounded
from nsl_bench.logic.asp.names import Names
from nsl_bench.logic.asp.program import statement
from nsl_bench.logic.las.task import LasTask

_MOST_FACTS = 200_000


def input_space(task: LasTask, names: Names | None = None) -> str:
    """Make a choice program whose answer sets are the possible inputs, from the task's contexts.

    Args:
        names: names for auxiliary predicates; by default names that occur in no context.

    Raises:
        UserError: contexts have rules, or there are too many facts; the inputs must then be given.
    """
    names = names or Names.apart_from({text: None for context in task.contexts for text in context})
    contexts = [[fact for text in context for fact in _facts(text)] for context in task.contexts]
    tables: dict[tuple[str, int], list[list[tuple[Symbol, ...]]]] = {}
    for i, context in enumerate(contexts):
        for fact in context:
            predicate = f"{'-' if fact.negative else ''}{fact.name}"
            rows = tables.setdefault((predicate, len(fact.arguments)), [[] for _ in contexts])
            rows[i].append(tuple(fact.arguments))
    lines = []
    for name, arity in sorted(tables):
        lines += _choices(name, arity, tables[name, arity], names)
    return "\n".join(lines)


def _choices(
    name: str, arity: int, tables: Sequence[Sequence[tuple[Symbol, ...]]], names: Names
) -> list[str]:
    if arity == 0:
        return [f"{{ {name} }}."]
    values = [sorted({row[i] for table in tables for row in table}) for i in range(arity)]
    key = _key(arity, tables)
    rest = [i for i in range(arity) if key is None or i not in key]
    per_key = math.prod(len(values[i]) for i in rest)
    keys = {tuple(row[i] for i in key or ()) for table in tables for row in table}
    if per_key * len(keys) > _MOST_FACTS:
        raise UserError(
            f"The contexts suggest {per_key * len(keys)} possible facts {name}/{arity}, which is too "
            "many; describe the possible inputs with an inputs program (--inputs)."
        )
    value_of, key_of = names("value"), names("key")
    lines = [f"{value_of}({_quoted(name, arity)},{i},{value})." for i in range(arity) for value in values[i]]
    arguments = [f"X{i}" for i in range(arity)]
    atom = f"{name}({','.join(arguments)})"
    of_rest = ", ".join(f"{value_of}({_quoted(name, arity)},{i},X{i})" for i in rest)
    if key is None:
        return [*lines, f"{{ {atom} : {of_rest} }}."]
    always = all(len({tuple(row[i] for i in key) for row in table}) == len(keys) for table in tables)
    bound = "= 1" if always else "1"
    if not key:
        return [*lines, f"{{ {atom} : {of_rest} }} {bound}."]
    seen = f"{key_of}({_quoted(name, arity)},{','.join(arguments[i] for i in key)})"
    lines += [f"{key_of}({_quoted(name, arity)},{','.join(map(str, values))})." for values in sorted(keys)]
    elements = f"{atom} : {of_rest}" if of_rest else atom
    return [*lines, f"{{ {elements} }} {bound} :- {seen}."]


def _quoted(name: str, arity: int) -> str:
    return f'"{name}/{arity}"'


def _key(arity: int, tables: Sequence[Sequence[tuple[Symbol, ...]]]) -> tuple[int, ...] | None:
    """The fewest arguments that decide the others in every context; None if only all of them do."""
    for size in range(arity):
        for key in itertools.combinations(range(arity), size):
            if all(len({tuple(row[i] for i in key) for row in table}) == len(set(table)) for table in tables):
                return key
    return None


@lru_cache(maxsize=65536)
def _facts(text: str) -> tuple[Symbol, ...]:
    """The facts that a statement of a context says."""
    symbol = parse_atom(text)
    if symbol is not None:
        return (symbol,)
    statement(text)
    atoms = list(grounded("The program", text=f"{text}.").symbolic_atoms)
    if not atoms or not all(atom.is_fact for atom in atoms):
        raise UserError(
            f"The context statement '{text}' is not a fact; describe the possible inputs with an inputs "
            "program (--inputs)."
        )
    return tuple(atom.symbol for atom in atoms)
