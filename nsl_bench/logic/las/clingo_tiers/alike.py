"""Examples that no hypothesis tells apart, although their contexts differ.

What depends on no learned rule and on no choice has one model in each context. Everything else, learned rules
included, reads only some of its predicates (Lifschitz, Turner: "Splitting a logic program", 1994). Two
contexts are alike if these hold for the same values. Of images of digits, for example, only which one is
smaller may count. Tiers C and D then ground one example for all that are alike.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Self

from clingo import Control

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import Program, Signature
from nsl_bench.logic.asp.replicas import Replicas, closed, replicate
from nsl_bench.logic.las.language_bias import LanguageBias, ModeAtom
from nsl_bench.logic.las.semantics.coverage import Content, chunks, content
from nsl_bench.logic.las.task import LasTask

Context = tuple[str, ...]


def alike(task: LasTask, budget: Budget) -> dict[Content, Content]:
    """The contents that another one stands for, each with that one; empty if nothing is gained or known.

    A content is only replaced by one with the same inclusions and exclusions that every hypothesis of the
    task covers exactly if it covers the content itself.

    Args:
        budget: when to stop; without time or memory, nothing is known.
    """
    contents = list(dict.fromkeys(content(example) for example in task.examples))
    keys = _keys(task, list(dict.fromkeys(each[2] for each in contents)), budget)
    if not keys:
        return {}
    first: dict[object, Content] = {}
    result: dict[Content, Content] = {}
    for each in contents:
        stands = first.setdefault((each[0], each[1], keys[each[2]]), each)
        if stands is not each:
            result[each] = stands
    return result


def look_alike(task: LasTask, first: Context, second: Context, budget: Budget) -> bool:
    """Whether no hypothesis of a task tells two contexts apart; False if that is not known."""
    if first == second:
        return True
    keys = _keys(task, [first, second], budget)
    return bool(keys) and keys[first] == keys[second]


def _keys(task: LasTask, contexts: Sequence[Context], budget: Budget) -> dict[Context, object]:
    """What is equal for contexts that are alike; empty if that is not known."""
    split = _Split.of(task, contexts)
    try:
        return {} if split is None else dict(split.keys(contexts, budget))
    except (Expired, MemoryError, UserError, _NotFixed):
        return {}


class _NotFixed(Exception):
    """An atom that was taken for fixed is not decided by grounding."""


class _Split:
    """A program split into what no hypothesis changes, and the rest.

    Args:
        fixed: the rules whose atoms no hypothesis changes; they have one answer set in each context.
        open_: the predicates that a hypothesis may change.
        read: the fixed predicates that anything else may read.
    """

    def __init__(self, fixed: Program, open_: frozenset[Signature], read: frozenset[Signature]) -> None:
        self._fixed = fixed
        self._open = open_
        self._read = read

    @classmethod
    def of(cls, task: LasTask, contexts: Sequence[Context]) -> Self | None:
        """The split of a task's background; None where it is not looked for.

        That is: contexts with more than plain atoms, classical negation, predicate invention, complete
        rules, or examples that the program extends.
        """
        program, bias = task.program, task.bias
        atoms = [read_atom(text) for context in contexts for text in context]
        plain = [atom for atom in atoms if atom is not None]
        if len(contexts) < 2 or len(plain) < len(atoms) or any(atom.classical for atom in plain):
            return None
        classical = program.classical or any(atom.is_classical for atom in bias.atoms)
        if bias.meta_modes or bias.meta_rules or bias.rules or classical:
            return None
        stated = {atom.signature for atom in plain}
        if {"inclusion", "exclusion"} & {name for name, _ in program.derived | stated}:
            return None
        modes = _read_by_rules(bias)
        if modes is None:
            return None
        open_ = _open(program, bias.learned)
        fixed = tuple(rule for rule in program.rules if rule.derives and not rule.derives & open_)
        rest = [rule for rule in program.rules if not rule.derives or rule.derives & open_]
        asked = {atom.signature for text in task.asked if (atom := read_atom(text)) is not None}
        read = modes.union(asked, *(rule.signatures for rule in rest)) - open_
        return cls(Program(fixed, program.constants), open_, frozenset(read))

    def keys(self, contexts: Sequence[Context], budget: Budget) -> Iterator[tuple[Context, bytes]]:
        """Each context with a digest; contexts with the same one are alike."""
        replicas = replicate(self._fixed, contexts)  # of all: each key lists the same predicates
        for chunk in chunks(contexts, contexts):
            lines = [replicas.shared, replicas.common]
            for number, context in enumerate(chunk):
                lines += [f"{replicas.example(number)}.", replicas.context(number, context)]
            control = grounded("The program", text="\n".join(lines), check=budget.check)
            held = self._held(control, replicas)
            for number, context in enumerate(chunk):
                given = [text for text in context if _signature(text) in self._open]
                text = "\n".join([*sorted(held[number]), "", *sorted(given)])
                yield context, blake2b(text.encode(), digest_size=32).digest()
            budget.check()

    def _held(self, control: Control, replicas: Replicas) -> dict[int, list[str]]:
        """The atoms that are read and hold in each replica; what depends on no context is left out."""
        held: dict[int, list[str]] = defaultdict(list)
        for name, arity in sorted(self._read & replicas.dependent):
            for atom in control.symbolic_atoms.by_signature(replicas.predicate(name), arity + 1):
                if not atom.is_fact:
                    raise _NotFixed
                number, *arguments = atom.symbol.arguments
                held[number.number].append(f"{name}({','.join(map(str, arguments))})")
        return held


def _signature(text: str) -> Signature | None:
    atom = read_atom(text)
    return None if atom is None else atom.signature


def _read_by_rules(bias: LanguageBias) -> frozenset[Signature] | None:
    """The predicates that bodies of learned rules may name, guards of types among them; None: not known."""
    result: set[Signature] = set()
    for term in bias.patterns:
        result |= {(place.type, 1) for place in term.placeholders}
        if isinstance(term, ModeAtom):
            if term.predicate.startswith("-"):
                return None
            result.add(term.signature)
    return frozenset(result)


def _open(program: Program, learned: Iterable[Signature]) -> frozenset[Signature]:
    """The predicates that depend on learned ones, choices, or cycles through negation."""
    seeds = frozenset(learned) | program.cycles_through_negation
    return closed(program, seeds.union(*(rule.derives for rule in program.rules if rule.is_open)))
