"""Literals: the Boolean inputs of propositional learners, each of which can be written as ASP.

A task's literals follow from the task alone, so train and test views have the same columns:

* one for each slot and concept, named ``SLOT=CONCEPT``;
* one for each ground atom of a context or of the background knowledge that differs between contexts, such
  as ``suit(1,h)`` or ``rank_higher(1,2)``;
* one for each two slots and each part of their facts: that the parts are equal, such as the same suit
  (``card(1,_,V), card(2,_,V)``), or in a relation of the background knowledge
  (``patch(left,V), patch(right,W), unlike(V,W)``).

Each literal has a *body*: atoms, ground or with the variables V and W, which hold exactly where it is true.
`nsl_bench.learners.asp_rules` writes rules over literals as ASP with these bodies.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.types import BLANK, Array, Bools, Ints16

_MOST_OF_PREDICATE = 1000
"""Predicates with more ground atoms, such as ``neq`` on the cells of a 9x9 Sudoku, have no columns."""

_GOAL = "nsl_bench_literal"
_WORD = re.compile(r"[a-z]\w*")

Body = tuple[str, ...]


@dataclass(frozen=True)
class _Pair:
    """A relation of two slots.

    Attributes:
        table: bool [concepts, concepts], where it holds.
    """

    slots: tuple[int, int]
    body: Body
    table: Bools


@dataclass(frozen=True, eq=False)
class Literals:
    """The literals of a task. Made by `literals_of`.

    Attributes:
        names: name of each literal, unique.
        bodies: atoms that hold together exactly where a literal is true.
    """

    names: tuple[str, ...]
    bodies: tuple[Body, ...]
    _benchmark: Benchmark
    _seen: tuple[tuple[int, int], ...]
    _atoms: tuple[str, ...]
    _pairs: tuple[_Pair, ...]

    def values(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Bools:
        """bool [n, literals] for concepts [n, slots]."""
        from nsl_bench.logic.inference.crisp import derived

        slots = [concepts[:, slot] == concept for slot, concept in self._seen]
        parts = [np.stack(slots, axis=1) if slots else np.zeros((len(concepts), 0), np.bool_)]
        if self._atoms and len(concepts):
            goals = [f"{_GOAL}({k})" for k in range(len(self._atoms))]
            rules = [f"{goal} :- {atom}." for goal, atom in zip(goals, self._atoms, strict=True)]
            contexts = self._benchmark.contexts(concepts, metadata)
            parts.append(derived(rules, self._benchmark.background, contexts, goals)[0])
        else:
            parts.append(np.zeros((len(concepts), len(self._atoms)), np.bool_))
        for pair in self._pairs:
            first, second = (concepts[:, slot] for slot in pair.slots)
            both = (first != BLANK) & (second != BLANK)
            parts.append((both & pair.table[first, second])[:, None])
        return np.hstack(parts)


def literals_of(benchmark: Benchmark) -> Literals:
    """The literals of a task."""
    return _literals_of(_Task(benchmark))


class _Task:
    """A benchmark, equal to others with the same knowledge."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self._key = (benchmark.name, benchmark.version, benchmark.background, benchmark.inputs)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and self._key == other._key


@lru_cache(maxsize=8)
def _literals_of(task: _Task) -> Literals:
    benchmark = task.benchmark
    concepts = benchmark.concept_space.concepts
    seen, names, bodies = [], [], []
    for slot, slot_name in enumerate(benchmark.slots):
        for k, concept in enumerate(concepts):
            if facts := benchmark.facts(slot, concept):
                seen.append((slot, k))
                names.append(f"{slot_name}={concept}")
                bodies.append(tuple(facts))
    in_bodies = set(bodies)
    fixed, varying = _ground_atoms(benchmark)
    atoms = [atom for atom in varying if (atom,) not in in_bodies]
    pairs = list(_pairs(benchmark, fixed))
    names += [*atoms, *(", ".join(pair.body) for pair in pairs)]
    bodies += [*((atom,) for atom in atoms), *(pair.body for pair in pairs)]
    return Literals(tuple(names), tuple(bodies), benchmark, tuple(seen), tuple(atoms), tuple(pairs))


def _ground_atoms(benchmark: Benchmark) -> tuple[list[Any], list[str]]:
    """The atoms that hold in every context, as clingo's symbols, and those that hold in some, as texts."""
    from nsl_bench.logic.asp.parsing import grounded
    from nsl_bench.logic.asp.program import parse

    facts_of_slots = [
        fact
        for slot in range(len(benchmark.slots))
        for concept in benchmark.concept_space.concepts
        for fact in benchmark.facts(slot, concept)
    ]
    background = parse(benchmark.background, "the background knowledge")
    stated = parse("".join(f"{fact}.\n" for fact in facts_of_slots), "the facts of a slot").derived
    inputs = benchmark.inputs or "".join(f"{{ {fact} }}.\n" for fact in facts_of_slots)
    possible = parse(inputs, "the inputs")
    named = set(_WORD.findall(benchmark.bias)) | {name for name, _ in background.signatures}
    given = stated | {signature for signature in possible.derived if signature[0] in named}
    wanted = background.dependents(given)
    what = f"The inputs of {benchmark.name}"
    control = grounded(what, [*background.nodes, *possible.nodes], arguments=["--enum-mode=brave", "0"])
    symbols: dict[tuple[str, int], list[Any]] = defaultdict(list)
    fixed = []
    for atom in control.symbolic_atoms:
        signature = (atom.symbol.name, len(atom.symbol.arguments))
        if atom.is_fact:
            fixed.append(atom.symbol)
        elif signature in wanted:
            symbols[signature].append(atom.symbol)
    result = {symbol for group in symbols.values() if len(group) <= _MOST_OF_PREDICATE for symbol in group}
    with control.solve(yield_=True) as models:
        for _ in models:
            pass
        last = models.last()
        brave = set() if last is None else set(last.symbols(atoms=True))
    return fixed, [str(symbol) for symbol in sorted(result & brave)]


def _pairs(benchmark: Benchmark, fixed: Sequence[Any]) -> Iterator[_Pair]:
    """Equal parts of two slots' facts, and relations between them that always hold."""
    parts = [part for slot in range(len(benchmark.slots)) for part in _parts(benchmark, slot)]
    relations: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for symbol in fixed:
        if len(symbol.arguments) == 2:
            relations[symbol.name].add((str(symbol.arguments[0]), str(symbol.arguments[1])))
    done = set()
    for one, other in itertools.combinations(parts, 2):
        if one.slot == other.slot or (one.kind != other.kind) or one.key == other.key:
            continue
        tables = [("", np.array([[v is not None and v == w for w in other.values] for v in one.values]))]
        both = {v for v in (*one.values, *other.values) if v is not None}
        for name, pairs in relations.items():
            if all(v in both and w in both for v, w in pairs):
                tables.append((name, np.array([[(v, w) in pairs for w in other.values] for v in one.values])))
        for name, table in tables:
            mark = (one.slot, other.slot, table.tobytes())
            if mark not in done and table.any() and not table.all():
                done.add(mark)
                second = other.atom("W" if name else "V")
                body = (one.atom("V"), second, *([f"{name}(V,W)"] if name else []))
                yield _Pair((one.slot, other.slot), body, table)


@dataclass(frozen=True)
class _Part:
    """An argument of a slot's facts that tells concepts apart.

    Attributes:
        kind: predicate, arity, and the argument's place.
        key: the arguments that are the same for all concepts, None elsewhere.
        values: the argument's value for each concept; None where there is no such fact.
    """

    slot: int
    kind: tuple[str, int, int]
    key: tuple[str | None, ...]
    values: tuple[str | None, ...]

    def atom(self, variable: str) -> str:
        """The atom with a variable at the argument's place."""
        name, _, place = self.kind
        words = [variable if k == place else "_" if key is None else key for k, key in enumerate(self.key)]
        return f"{name}({','.join(words)})"


def _parts(benchmark: Benchmark, slot: int) -> Iterator[_Part]:
    from clingo import parse_term

    by_predicate: dict[tuple[str, int], list[tuple[str, ...] | None]] = {}
    concepts = benchmark.concept_space.concepts
    for k, concept in enumerate(concepts):
        for fact in benchmark.facts(slot, concept):
            try:
                term = parse_term(fact)
            except RuntimeError:
                continue
            column = by_predicate.setdefault((term.name, len(term.arguments)), [None] * len(concepts))
            column[k] = tuple(map(str, term.arguments))
    for (name, arity), column in by_predicate.items():
        present = [arguments for arguments in column if arguments is not None]
        key = tuple(present[0][i] if len({a[i] for a in present}) == 1 else None for i in range(arity))
        if all(each is None for each in key):
            continue
        for place in (i for i, each in enumerate(key) if each is None):
            values = tuple(None if a is None else a[place] for a in column)
            yield _Part(slot, (name, arity, place), key, values)
