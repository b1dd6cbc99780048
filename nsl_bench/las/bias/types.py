"""Types of variables and constants: which have a predicate, and which constants a type has."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from functools import lru_cache

from clingo import Control

from nsl_bench.asp.replicas import replicate
from nsl_bench.las.checks import without_constant
from nsl_bench.las.language_bias import LanguageBias
from nsl_bench.las.task import LasTask

__all__ = ["Domains", "domains"]


@dataclass(frozen=True)
class Domains:
    """What the types of a task hold.

    Attributes:
        guarded: types with a predicate that some statement or learned rule derives: their variables are
            guarded by it.
        constants: ground terms of each type that ``const(type)`` stands for, in a fixed order.
    """

    guarded: frozenset[str]
    constants: dict[str, tuple[str, ...]]

    def check_constants(self, bias: LanguageBias) -> None:
        """Raise a UserError if a mode declaration has ``const(type)`` of a type without any constant."""
        for term in (*(mode.atom for mode in bias.heads), *(mode.literal for mode in bias.bodies)):
            for place in term.placeholders:
                if place.kind == "const" and not self.constants[place.type]:
                    raise without_constant(place.type)


@lru_cache(maxsize=8)
def domains(task: LasTask) -> Domains:
    """The types of a task: constants from ``#constant`` and from what background and contexts derive.

    A type that depends on a choice holds all constants that it may hold.
    """
    bias = task.bias
    terms = [mode.atom for mode in bias.heads] + [mode.literal for mode in bias.bodies]
    used = [placeholder for term in terms for placeholder in term.placeholders]
    types = {placeholder.type for placeholder in used}
    contexts = list(dict.fromkeys(example.context for example in task.examples))
    program = replicate(task.program, contexts)
    guarded = frozenset(
        name for name, arity in program.derived | bias.learned if arity == 1 and name in types
    )
    constants: dict[str, dict[str, None]] = {kind: {} for kind in sorted(types)}
    for kind, value in bias.constants:
        constants.setdefault(kind, {})[value] = None
    if any(placeholder.kind == "const" for placeholder in used):
        control = Control(["--warn=none"])
        lines = [
            program.shared,
            program.common,
            program.frame(),
            f"{program.example(f'0..{max(len(contexts) - 1, 0)}')}.",
        ]
        lines += [program.context(i, context) for i, context in enumerate(contexts)]
        control.add("\n".join(lines))
        control.ground()
        for kind in sorted({p.type for p in used if p.kind == "const"} & guarded):
            found = {a.symbol.arguments[-1] for a in control.symbolic_atoms.by_signature(kind, 1)}
            found |= {
                a.symbol.arguments[-1]
                for a in control.symbolic_atoms.by_signature(program.predicate(kind), 2)
            }
            for symbol in sorted(found):
                constants[kind][str(symbol)] = None
    return Domains(guarded, {kind: tuple(values) for kind, values in constants.items()})


atexit.register(domains.cache_clear)  # clingo cannot free its syntax trees once Python has forgotten it
