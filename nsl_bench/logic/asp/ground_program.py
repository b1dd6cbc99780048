"""Ground programs as clingo makes them: the rules that it hands to an observer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from nsl_bench.logic.asp.dependencies import strong_components

if TYPE_CHECKING:
    from clingo import Control, Symbol

_EVERY = 512


class GroundRule(NamedTuple):
    """``heads :- positive, not negative``, over clingo's program atoms.

    Attributes:
        head: its head atom, the first of several; 0 in a constraint.
        positive: atoms of the body.
        negative: atoms under ``not``.
        others: the further head atoms of a disjunction or choice.
        choice: its head may be chosen.
    """

    head: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    others: tuple[int, ...] = ()
    choice: bool = False

    @property
    def heads(self) -> tuple[int, ...]:
        """All head atoms."""
        return (self.head, *self.others) if self.head else ()

    @property
    def literals(self) -> tuple[int, ...]:
        """Its body as clingo's literals: an atom under ``not`` is negative."""
        return self.positive + tuple(-atom for atom in self.negative)

    @property
    def atoms(self) -> tuple[int, ...]:
        """The atoms of its body."""
        return self.positive + self.negative


class WeightRule(NamedTuple):
    """``heads`` hold where the weights of true body literals reach `bound`.

    Attributes:
        head: as in `GroundRule`.
        bound: what the weights must reach.
        body: literals (an atom under ``not`` is negative) with their weights.
        others: as in `GroundRule`.
        choice: its head may be chosen.
    """

    head: int
    bound: int
    body: tuple[tuple[int, int], ...]
    others: tuple[int, ...] = ()
    choice: bool = False

    @property
    def heads(self) -> tuple[int, ...]:
        """All head atoms."""
        return (self.head, *self.others) if self.head else ()

    @property
    def atoms(self) -> tuple[int, ...]:
        """The atoms of its body."""
        return tuple(abs(literal) for literal, _ in self.body)


def _carry_on() -> None:
    """Sets no limit."""


@dataclass(eq=False, repr=False)
class GroundProgram:
    """Collects ground rules; register it by ``control.register_observer`` and ground by `ground`.

    Attributes:
        most: most rules; more are a `MemoryError`, which ends grounding.
        keep: whether rules are kept at all.
        rules: in the order in which clingo made them.
        seen: how many rules clingo has made.
    """

    most: int | None = None
    keep: bool = True
    rules: list[GroundRule | WeightRule] = field(default_factory=list)
    seen: int = 0
    _check: Callable[[], None] = _carry_on
    _raised: BaseException | None = None

    def ground(
        self,
        control: Control,
        check: Callable[[], None] = _carry_on,
        parts: Sequence[tuple[str, Sequence[Symbol]]] = (("base", ()),),
    ) -> None:
        """Ground parts of a control that this observes.

        Clingo hands over rules while it searches or takes in rules of its backend as well, and makes a
        RuntimeError of what an observer raises there. So nothing is checked outside of this method, and what
        ends it comes out as it was raised.

        Args:
            control: the control.
            check: is called now and then, and may raise what ends grounding.
            parts: what to ground.
        """
        self._check, self._raised = check, None
        try:
            control.ground(parts)
        except BaseException as error:
            if self._raised is None or error is self._raised:
                raise
            raise self._raised from None
        finally:
            self._check = _carry_on

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Takes a rule in."""
        self._count()
        if self.keep:
            positive = tuple([literal for literal in body if literal > 0])
            negative = tuple([-literal for literal in body if literal < 0])
            first, others = (head[0], tuple(head[1:])) if head else (0, ())
            self.rules.append(GroundRule(first, positive, negative, others, choice))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        """Takes a rule with a weight constraint in."""
        self._count()
        if self.keep:
            first, others = (head[0], tuple(head[1:])) if head else (0, ())
            literals = tuple((literal, weight) for literal, weight in body)
            self.rules.append(WeightRule(first, lower_bound, literals, others, choice))

    def _count(self) -> None:
        self.seen += 1
        try:
            if self.seen % _EVERY == 1:
                self._check()
            if self.most is not None and self.seen > self.most:
                raise MemoryError("too many ground rules")
        except BaseException as error:
            self._raised = error
            raise

    @property
    def open(self) -> str:
        """What gives the program several answer sets by itself: choice rules, disjunctions; or nothing."""
        if any(rule.choice for rule in self.rules):
            return "choice rules"
        return "disjunctions" if any(rule.others for rule in self.rules) else ""

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
        if len(group) == 1 and isinstance(group[0], GroundRule):
            return group[0].head in group[0].negative
        members = {rule.head for rule in group}
        return any(
            not members.isdisjoint(rule.atoms if isinstance(rule, WeightRule) else rule.negative)
            for rule in group
        )
