"""Ground programs as clingo makes them: the rules that it hands to an observer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nsl_bench.asp.dependencies import strong_components

__all__ = ["GroundProgram", "GroundRule", "WeightRule"]

_EVERY = 512


@dataclass(frozen=True, slots=True)
class GroundRule:
    """``heads :- positive, not negative``, over clingo's program atoms.

    Attributes:
        heads: one atom; none in a constraint; several in a disjunction or choice.
        positive: atoms of the body.
        negative: atoms under ``not``.
        choice: its head may be chosen.
    """

    heads: tuple[int, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    choice: bool = False

    @property
    def head(self) -> int:
        """Its only head atom; 0 in a constraint."""
        return self.heads[0] if self.heads else 0

    @property
    def literals(self) -> tuple[int, ...]:
        """Its body as clingo's literals: an atom under ``not`` is negative."""
        return self.positive + tuple(-atom for atom in self.negative)

    @property
    def atoms(self) -> tuple[int, ...]:
        """The atoms of its body."""
        return self.positive + self.negative


@dataclass(frozen=True, slots=True)
class WeightRule:
    """``heads`` hold where the weights of true body literals reach `bound`.

    Attributes:
        heads: as in `GroundRule`.
        bound: what the weights must reach.
        body: literals (an atom under ``not`` is negative) with their weights.
        choice: its head may be chosen.
    """

    heads: tuple[int, ...]
    bound: int
    body: tuple[tuple[int, int], ...]
    choice: bool = False

    @property
    def head(self) -> int:
        """Its only head atom; 0 in a constraint."""
        return self.heads[0] if self.heads else 0

    @property
    def atoms(self) -> tuple[int, ...]:
        """The atoms of its body."""
        return tuple(abs(literal) for literal, _ in self.body)


def _carry_on() -> None:
    """Sets no limit."""


@dataclass
class GroundProgram:
    """Collects ground rules; register it by ``control.register_observer``.

    Attributes:
        most: most rules; more are a `MemoryError`, which ends grounding.
        check: is called now and then, and may raise what ends grounding.
        keep: whether rules are kept at all.
        rules: in the order in which clingo made them.
    """

    most: int | None = None
    check: Callable[[], None] = _carry_on
    keep: bool = True
    rules: list[GroundRule | WeightRule] = field(default_factory=list)
    _seen: int = 0

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Takes a rule in."""
        self._count()
        if self.keep:
            positive = tuple(literal for literal in body if literal > 0)
            negative = tuple(-literal for literal in body if literal < 0)
            self.rules.append(GroundRule(tuple(head), positive, negative, choice))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        """Takes a rule with a weight constraint in."""
        self._count()
        if self.keep:
            self.rules.append(WeightRule(tuple(head), lower_bound, tuple(map(tuple, body)), choice))  # type: ignore[arg-type]

    def _count(self) -> None:
        if self._seen % _EVERY == 0:
            self.check()
        self._seen += 1
        if self.most is not None and self._seen > self.most:
            raise MemoryError("too many ground rules")

    @property
    def open(self) -> str:
        """What gives the program several answer sets by itself: choice rules, disjunctions; or nothing."""
        if any(rule.choice for rule in self.rules):
            return "choice rules"
        return "disjunctions" if any(len(rule.heads) > 1 for rule in self.rules) else ""

    def ordered(self) -> list[list[GroundRule | WeightRule]]:
        """Rules in groups, each after the groups that it depends on; constraints come last.

        A group of several rules is recursive.
        """
        last: dict[int, int] = {}
        for i, rule in enumerate(self.rules):
            last[rule.head] = i
        last.pop(0, None)
        if all(last.get(atom, -1) < i for i, rule in enumerate(self.rules) for atom in rule.atoms):
            return [[rule] for rule in self.rules]
        by_head: dict[int, list[GroundRule | WeightRule]] = {}
        for rule in self.rules:
            by_head.setdefault(rule.head, []).append(rule)
        constraints = by_head.pop(0, [])
        graph = {
            head: [atom for rule in rules for atom in rule.atoms if atom in by_head]
            for head, rules in by_head.items()
        }
        components: dict[int, set[int]] = {}
        for atom, component in strong_components(graph).items():
            components.setdefault(component, set()).add(atom)
        groups: list[list[GroundRule | WeightRule]] = []
        for members in components.values():
            rules = [rule for member in sorted(members) for rule in by_head[member]]
            recursive = any(not members.isdisjoint(rule.atoms) for rule in rules)
            groups += [rules] if recursive else [[rule] for rule in rules]
        return groups + [[rule] for rule in constraints]

    def recursive_through_negation(self, group: Sequence[GroundRule | WeightRule]) -> bool:
        """Whether a recursive group of `ordered` goes through a negation or an aggregate."""
        members = {rule.head for rule in group}
        return any(
            not members.isdisjoint(rule.atoms if isinstance(rule, WeightRule) else rule.negative)
            for rule in group
        )
