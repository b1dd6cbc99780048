"""Types of variables and constants: which have a predicate, and which constants a type has."""

import atexit
import itertools
from dataclasses import dataclass, field
from functools import lru_cache

from clingo import Control, Symbol, SymbolType

from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.replicas import Replicas, replicate
from nsl_bench.logic.las.bias.lookups import lookups, without
from nsl_bench.logic.las.checks import without_constant
from nsl_bench.logic.las.language_bias import LanguageBias, ModeAtom, ModeComparison
from nsl_bench.logic.las.task import LasTask
from nsl_bench.logic.las.terms import match_term
from nsl_bench.logic.las.thresholds import tokens


@dataclass(frozen=True)
class Domains:
    """The values of each type of a task.

    Attributes:
        guarded: types with a predicate that some statement or learned rule derives: their variables are
            guarded by it.
        constants: ground terms of each type that ``const(type)`` stands for, in a fixed order.
        numbers: the numbers that may stand in each place of an atom that has ``num_var(type)`` there.
    """

    guarded: frozenset[str]
    constants: dict[str, tuple[str, ...]]
    numbers: dict[tuple[ModeAtom, int], tuple[int, ...]] = field(default_factory=dict)

    def fillings(self, literal: ModeAtom | ModeComparison) -> list[tuple[str, ...]]:
        """What may stand in each placeholder of a literal that is no variable of the rule's; () for those."""
        return [
            ()
            if place.kind == "var"
            else self.constants[place.type]
            if place.kind == "const"
            else self._tokens(literal, i)
            for i, place in enumerate(literal.placeholders)
        ]

    def _tokens(self, literal: ModeAtom | ModeComparison, place: int) -> tuple[str, ...]:
        return tuple(tokens(self.numbers[literal, place])) if isinstance(literal, ModeAtom) else ()

    def check_constants(self, bias: LanguageBias) -> None:
        """Raise a UserError if a mode declaration has ``const(type)`` of a type without any constant."""
        for pattern in bias.patterns:
            for place in pattern.placeholders:
                if place.kind == "const" and not self.constants[place.type]:
                    raise without_constant(place.type)


@lru_cache(maxsize=8)
def domains(task: LasTask) -> Domains:
    """The types of a task: constants from ``#constant`` and from what background and contexts derive.

    A type that depends on a choice holds all constants that it may hold.
    """
    bias = task.bias
    used = [p for pattern in bias.patterns for p in pattern.placeholders if p.kind != "num_var"]
    types = {placeholder.type for placeholder in used}
    contexts = task.contexts
    texts = dict.fromkeys(itertools.chain(*contexts, task.asked))
    program = replicate(without(task.program, lookups(task, texts)), contexts)
    guarded = frozenset(
        name for name, arity in program.derived | bias.learned if arity == 1 and name in types
    )
    constants: dict[str, dict[str, None]] = {kind: {} for kind in sorted(types)}
    for kind, value in bias.constants:
        constants.setdefault(kind, {})[value] = None
    bounded = [mode.literal for mode in bias.bodies if isinstance(mode.literal, ModeAtom)]
    bounded = [atom for atom in dict.fromkeys(bounded) if atom.has_thresholds]
    numbers: dict[tuple[ModeAtom, int], tuple[int, ...]] = {}
    if bounded or any(placeholder.kind == "const" for placeholder in used):
        some = f"{program.example(f'0..{max(len(contexts) - 1, 0)}')}."
        own = [program.context(i, context) for i, context in enumerate(contexts)]
        lines = [program.shared, program.common, program.frame(), some, *own]
        control = grounded("The program", text="\n".join(lines))
        for kind in sorted({p.type for p in used if p.kind == "const"} & guarded):
            copies = ((kind, 1), (program.predicate(kind), 2))
            atoms = (a for copy in copies for a in control.symbolic_atoms.by_signature(*copy))
            for symbol in sorted({a.symbol.arguments[-1] for a in atoms}):
                constants[kind][str(symbol)] = None
        for atom in bounded:
            numbers |= _numbers(task, program, control, atom)
    return Domains(guarded, {kind: tuple(values) for kind, values in constants.items()}, numbers)


def _numbers(
    task: LasTask, program: Replicas, control: Control, atom: ModeAtom
) -> dict[tuple[ModeAtom, int], tuple[int, ...]]:
    """The numbers in the places of a declared atom that have ``num_var(type)``.

    Where a hypothesis may change the predicate, the members of the type may stand there too.
    """
    name, arity = atom.signature
    atoms = [each.symbol.arguments for each in control.symbolic_atoms.by_signature(name, arity)]
    copies = control.symbolic_atoms.by_signature(program.predicate(name), arity + 1)
    atoms += [each.symbol.arguments[1:] for each in copies]
    open_ = atom.signature in task.program.dependents(task.bias.learned)
    result: dict[int, set[int]] = {}
    for arguments in atoms:
        values: list[Symbol] = []
        pairs = zip(atom.arguments, arguments, strict=True)
        if all(match_term(term, symbol, values, values) for term, symbol in pairs):
            for i, value in enumerate(values):
                result.setdefault(i, set()).update([value.number] if value.type == SymbolType.Number else [])
    numbers: dict[tuple[ModeAtom, int], tuple[int, ...]] = {}
    for i, place in enumerate(atom.placeholders):
        if place.kind == "num_var":
            values_at = result.get(i, set())
            if open_:
                members = (m.symbol.arguments[0] for m in control.symbolic_atoms.by_signature(place.type, 1))
                values_at |= {member.number for member in members if member.type == SymbolType.Number}
            numbers[atom, i] = tuple(sorted(values_at))
    return numbers


atexit.register(domains.cache_clear)  # clingo cannot free its syntax trees once Python has forgotten it
