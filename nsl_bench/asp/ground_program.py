"""A ground program: the rules that clingo hands to an observer, and where they stop being definite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["GroundProgram", "GroundRule", "Undecided", "WeightRule"]


_EVERY = 512


class Undecided(Exception):
    """The task is outside of what the fast path decides; its text says why, for the statistics."""


@dataclass(frozen=True, slots=True)
class GroundRule:
    """``head :- positive, not negative``; head 0 is a constraint. Atoms are clingo's program atoms."""

    head: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WeightRule:
    """``head`` holds where the weights of true body literals (negative: of false atoms) reach `bound`."""

    head: int
    bound: int
    body: tuple[tuple[int, int], ...]


@dataclass
class GroundProgram:
    """Collects ground rules as a `clingo.Observer` does.

    Attributes:
        rules: in the order in which clingo made them.
        limit: most rules; beyond it grounding is given up.
        check: is called now and then, and may raise what ends grounding.
        undecided: why the program is not definite, if so.
    """

    limit: int
    check: Callable[[], None] = lambda: None
    rules: list[GroundRule | WeightRule] = field(default_factory=list)
    undecided: str = ""

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Takes a rule in."""
        if choice or len(head) > 1:
            self.undecided = "choice rules" if choice else "disjunctions"
        if len(self.rules) >= self.limit:
            raise MemoryError("too many ground rules")
        if len(self.rules) % _EVERY == 0:
            self.check()
        positive = tuple(literal for literal in body if literal > 0)
        negative = tuple(-literal for literal in body if literal < 0)
        self.rules.append(GroundRule(head[0] if head else 0, positive, negative))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        """Takes a rule with a weight constraint in."""
        if choice or len(head) > 1:
            self.undecided = "choice rules" if choice else "disjunctions"
        self.rules.append(WeightRule(head[0] if head else 0, lower_bound, tuple(map(tuple, body))))  # type: ignore[arg-type]

    def ordered(self) -> list[list[GroundRule | WeightRule]]:
        """Rules in groups, each after the groups that it depends on; a group of several is recursive.

        Raises:
            Undecided: there is recursion through negation or an aggregate.
        """
        last: dict[int, int] = {}
        for i, rule in enumerate(self.rules):
            last[rule.head] = i
        last.pop(0, None)
        if all(last.get(atom, -1) < i for i, rule in enumerate(self.rules) for atom in _body(rule)):
            return [[rule] for rule in self.rules]
        return self._components()

    def _components(self) -> list[list[GroundRule | WeightRule]]:
        """Strongly connected components of atoms, by Tarjan's algorithm, without recursion."""
        by_head: dict[int, list[GroundRule | WeightRule]] = {}
        for rule in self.rules:
            by_head.setdefault(rule.head, []).append(rule)
        constraints = by_head.pop(0, [])
        number: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        groups: list[list[GroundRule | WeightRule]] = []
        for root in by_head:
            if root in number:
                continue
            work = [(root, iter(_successors(root, by_head)))]
            number[root] = low[root] = len(number)
            stack.append(root)
            on_stack.add(root)
            while work:
                atom, successors = work[-1]
                for successor in successors:
                    if successor not in by_head:
                        continue
                    if successor not in number:
                        number[successor] = low[successor] = len(number)
                        stack.append(successor)
                        on_stack.add(successor)
                        work.append((successor, iter(_successors(successor, by_head))))
                        break
                    if successor in on_stack:
                        low[atom] = min(low[atom], number[successor])
                else:
                    work.pop()
                    if work:
                        parent = work[-1][0]
                        low[parent] = min(low[parent], low[atom])
                    if low[atom] == number[atom]:
                        members: set[int] = set()
                        while atom not in members:
                            member = stack.pop()
                            on_stack.discard(member)
                            members.add(member)
                        groups += _group(members, by_head)
        return groups + [[rule] for rule in constraints]


def _body(rule: GroundRule | WeightRule) -> tuple[int, ...]:
    if isinstance(rule, WeightRule):
        return tuple(abs(literal) for literal, _ in rule.body)
    return rule.positive + rule.negative


def _successors(atom: int, by_head: dict[int, list[GroundRule | WeightRule]]) -> list[int]:
    return [other for rule in by_head[atom] for other in _body(rule)]


def _group(
    members: set[int], by_head: dict[int, list[GroundRule | WeightRule]]
) -> list[list[GroundRule | WeightRule]]:
    rules = [rule for member in sorted(members) for rule in by_head[member]]
    recursive = any(not members.isdisjoint(_body(rule)) for rule in rules)
    if not recursive:
        return [[rule] for rule in rules]
    for rule in rules:
        through = _body(rule) if isinstance(rule, WeightRule) else rule.negative
        if not members.isdisjoint(through):
            raise Undecided("recursion through negation or an aggregate")
    return [rules]
