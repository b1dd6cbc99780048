"""The effect of a rule, by joins over the one answer set, where no other rule reads what it derives.

A rule grows literal by literal, so its substitutions are kept, and a literal more is looked up in them. That
takes no grounding, and starts from the atoms that demands ask for, as a bottom clause does (Muggleton:
"Inverse entailment and Progol", 1995).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from nsl_bench.logic.asp.atoms import parse_atom
from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.las.bias.space import Argument, Conjunction, Instance, RuleMaker
from nsl_bench.logic.las.clingo_tiers.trial import Trial

_MOST = 50_000
"""Substitutions of one rule that are kept."""
_REPLICA = -1
"""Stands for the replica among the variables."""

Key = tuple[str, ...]


class Rows:
    """Substitutions under which a body holds.

    Args:
        places: where in a substitution each variable's value is.
        masks: the substitutions, each with the demands that its head changes, as bits.
    """

    def __init__(self, places: Mapping[int, int], masks: Mapping[Key, int]) -> None:
        self.places = places
        self.masks = masks
        self._by: dict[tuple[int, ...], dict[Key, int]] = {}

    def by(self, variables: tuple[int, ...]) -> Mapping[Key, int]:
        """The demands that are changed with each choice of values of some variables."""
        result = self._by.get(variables)
        if result is None:
            result = self._by[variables] = defaultdict(int)
            places = [self.places[each] for each in variables]
            for row, mask in self.masks.items():
                result[tuple([row[place] for place in places])] |= mask
        return result

    def only(self, variables: Sequence[int]) -> Rows:
        """The same without other variables."""
        return Rows({each: place for place, each in enumerate(variables)}, self.by(tuple(variables)))


class _Matches(NamedTuple):
    """The values that a literal allows for its new variables.

    Attributes:
        values: by the values of the known ones.
        known: the known variables.
        new: the new ones.
        negated: whether the literal is negated.
        mean: of how many values there are.
    """

    values: Mapping[Key, list[Key]]
    known: tuple[int, ...]
    new: tuple[int, ...]
    negated: bool
    mean: float


class Joins:
    """Evaluates rules on the demands of a trial.

    Args:
        trial: has the demands, and the answer set of the empty hypothesis.
        maker: knows what the literals of rules are.
        guarded: types whose variables are guarded by a predicate of that name.
        shared: the atoms that every trial has, by predicate, once they are known.
    """

    def __init__(
        self, trial: Trial, maker: RuleMaker, guarded: frozenset[str], shared: dict[Signature, list[Key]]
    ) -> None:
        self._maker = maker
        facts, self._alone = trial.facts(shared)
        self._facts = facts
        self._added: dict[int, frozenset[int]] = {}
        self._dependent = trial.dependent
        self._matches: dict[object, tuple[dict[Key, list[Key]], float]] = {}
        self._local = frozenset(kind for kind in guarded if (kind, 1) in trial.dependent)
        self._guards: dict[str, set[Key | str]] = {
            kind: {key if kind in self._local else key[0] for key in facts.get((kind, 1), ())}
            for kind in guarded
        }
        self._heads: dict[Signature, dict[Key, int]] = defaultdict(lambda: defaultdict(int))
        asked = list(enumerate(trial.literals))
        single = {parts[0]: number for number, parts in asked if len(parts) == 1}
        self._several = {
            number: [single[each] for each in parts] for number, parts in asked if len(parts) > 1
        }
        for number, parts in asked:
            replica, text, wanted = parts[0] if len(parts) == 1 else ("", "", True)
            symbol = parse_atom(text) if (number in self._alone) is not wanted else None
            if symbol is not None and symbol.positive:
                key = (replica, *map(str, symbol.arguments))
                self._heads[symbol.name, len(symbol.arguments)][key] |= 1 << number

    def added(self, changed: int) -> frozenset[int]:
        """The demands that hold once some, as bits, have changed."""
        result = self._added.get(changed)
        if result is None:
            holds = {number for number in range(changed.bit_length()) if changed >> number & 1} ^ self._alone
            whole = {number for number, parts in self._several.items() if holds.issuperset(parts)}
            result = self._added[changed] = frozenset((holds - self._several.keys()) | whole)
        return result

    def changes(self, form: Conjunction) -> int | None:
        """The demands that a rule changes, as bits; None if that is not for joins."""
        rows = self.rows(form, whole=False)
        return None if rows is None else rows.by(()).get((), 0)

    def rows(self, form: Conjunction, *, whole: bool = True) -> Rows | None:
        """The substitutions under which a rule's body holds; None if that is not for joins.

        Args:
            form: the rule.
            whole: of all variables, not only of those that the rest of the body needs.
        """
        head = None if form.head is None else self._maker.plain(form.head, head=True)
        if head is None:
            return None
        pattern = (_REPLICA, *head[1])
        masks: dict[Key, int] = defaultdict(int)
        for key, mask in self._heads[head[0], len(head[1])].items():
            values = self._values(pattern, key, form.types)
            if values is not None:
                masks[tuple(values.values())] |= mask
        variables = dict.fromkeys(each for each in pattern if isinstance(each, int))
        rows: Rows | None = Rows({each: place for place, each in enumerate(variables)}, masks)
        left = sorted(form.literals, key=str)
        while left and rows is not None:
            best = min(left, key=partial(self._priority, rows, form.types))
            left.remove(best)
            rows = self.step(rows, best, form.types)
            if rows is not None and not whole:
                needed = {_REPLICA, *(each for _, arguments in left for each in arguments)}
                rows = rows.only([each for each in rows.places if each in needed])
        return rows

    def _priority(self, rows: Rows, types: Sequence[str], literal: Instance) -> tuple[bool, float]:
        """Order of joins: literals with few matches first; those that only test wait for variables."""
        new = {each for each in literal[1] if isinstance(each, int)} - rows.places.keys()
        atom = self._maker.plain(literal)
        result = None if new and atom is not None and atom[2] else self._looked_up(rows, literal, types)
        return result is None, 0.0 if result is None else result.mean

    def step(self, rows: Rows | None, literal: Instance, types: Sequence[str]) -> Rows | None:
        """The substitutions after one more literal; None if that is not for joins."""
        join = None if rows is None else self._looked_up(rows, literal, types)
        if rows is None or join is None:
            return None
        matches, bound, new, negated, _ = join
        places = [rows.places[each] for each in bound]
        masks: dict[Key, int] = {}
        for row, mask in rows.masks.items():
            values = matches.get(tuple([row[place] for place in places]), ())
            for more in values if not negated else () if values else [()]:
                masks[row + more] = mask
            if len(masks) > _MOST:
                return None
        return Rows({each: place for place, each in enumerate([*rows.places, *new])}, masks)

    def reach(self, rows: Rows | None, literal: Instance, types: Sequence[str]) -> int | None:
        """The demands that a rule changes after one more literal, as bits; None if that is not for joins."""
        join = None if rows is None else self._looked_up(rows, literal, types)
        if rows is None or join is None:
            return None
        matches, bound, _, negated, _ = join
        changed = 0
        for key, mask in rows.by(bound).items():
            if (key in matches) is not negated:
                changed |= mask
        return changed

    def _looked_up(self, rows: Rows, literal: Instance, types: Sequence[str]) -> _Matches | None:
        """The values that a literal allows for its new variables; None if joins cannot tell."""
        atom = self._maker.plain(literal)
        if atom is None:
            return None
        name, arguments, negated = atom
        signature = name, len(arguments)
        pattern = (_REPLICA, *arguments) if signature in self._dependent else arguments
        variables = dict.fromkeys([each for each in pattern if isinstance(each, int)])
        bound = tuple([each for each in variables if each in rows.places])
        new = tuple([each for each in variables if each not in rows.places])
        local = signature not in self._dependent and not self._local.isdisjoint(types[each] for each in new)
        if (negated and new) or local:
            return None
        order = {each: number for number, each in enumerate(variables)}
        form = tuple([order[each] if isinstance(each, int) else each for each in pattern])
        kinds = tuple([types[each] if each in new else "" for each in variables])
        entry = signature, form, kinds
        result = self._matches.get(entry)
        if result is None:
            matches: dict[Key, list[Key]] = defaultdict(list)
            old = [number for each, number in order.items() if each not in new]
            more = [order[each] for each in new]
            facts = self._facts.get(signature, ())
            bindings: Iterable[Key | dict[int, str] | None] = facts
            if len(order) < len(form) or not self._guards.keys().isdisjoint(kinds):
                bindings = (self._values(form, key, kinds) for key in facts)
            for values in bindings:
                if values is not None:
                    known_values = tuple([values[each] for each in old])
                    matches[known_values].append(tuple([values[each] for each in more]))
            mean = sum(map(len, matches.values())) / max(1, len(matches)) if new else 0.0
            result = self._matches[entry] = matches, mean
        return _Matches(result[0], bound, new, negated, result[1])

    def _values(self, pattern: Sequence[Argument], key: Key, types: Sequence[str]) -> dict[int, str] | None:
        """What the variables of an atom stand for; None if it is another atom, or a guard forbids one."""
        values: dict[int, str] = {}
        for each, value in zip(pattern, key, strict=True):
            if (values.setdefault(each, value) if isinstance(each, int) else each) != value:
                return None
            if isinstance(each, int) and each != _REPLICA and types[each] in self._guards:
                allowed = self._guards[types[each]]
                if value not in allowed and (key[0], value) not in allowed:
                    return None
        return values
