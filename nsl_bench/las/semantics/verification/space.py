"""The hypothesis space written down: every set of body literals over every variable, without any pruning."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence

from nsl_bench.las.language_bias import Compound, ModeAtom, ModeComparison, ModeLiteral, ModeTerm
from nsl_bench.las.semantics.verification.costs import Pricing, normal_form
from nsl_bench.las.semantics.verification.solving import Unverifiable
from nsl_bench.las.task import LasTask

__all__ = ["rules_with_costs"]

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_ATOM = re.compile(r"((?:not )?\w+)\((.*)\)")
_MOST_SETS = 200_000
"""Sets of literals that are looked at, before equal rules are recognised."""


def rules_with_costs(task: LasTask, most: int, stop: Callable[[], None]) -> dict[str, int]:
    """Every rule of a task's hypothesis space with its cost; of equal rules, one.

    Args:
        task: the task.
        most: rules that the space may hold.
        stop: is called now and then, and may raise what ends the work.

    Raises:
        Unverifiable: the space is too large.
    """
    return _Space(task, most, stop).rules()


class _Space:
    def __init__(self, task: LasTask, most: int, stop: Callable[[], None]) -> None:
        self._bias = task.bias
        self._most = most
        self._stop = stop
        self._pricing = Pricing(task, stop)
        terms = [mode.atom for mode in self._bias.heads] + [mode.literal for mode in self._bias.bodies]
        self._types = sorted({place.type for term in terms for place in term.placeholders})

    def rules(self) -> dict[str, int]:
        """Every rule with its cost."""
        texts: dict[str, str] = {}
        given: dict[str, list[int]] = {}
        shapes: dict[str, list[tuple[str | None, tuple[str, ...]]]] = {}
        for each in (*self._bias.rules, *self._bias.instances):
            form = self._enter(texts, each.rule)
            given.setdefault(form, []).append(each.cost)
        seen: set[tuple[str, frozenset[str]]] = set()
        for types in itertools.product(self._types or [""], repeat=self._bias.max_variables):
            for head, body in self._shapes(types):
                literals = tuple(text for text, _ in body)
                shape = (head or "", frozenset(literals))
                if shape not in seen and (safe := self._safe(head, body, types)) is not None:
                    seen.add(shape)
                    shapes.setdefault(self._enter(texts, safe), []).append((head, literals))
        found: dict[str, int] = {}
        for form, text in texts.items():
            self._stop()
            priced = (self._pricing.of_shape(head, body) for head, body in shapes.get(form, ()))
            costs = [*given.get(form, ()), *(cost for cost in priced if cost is not None)]
            if costs:
                found[text] = min(costs)
        return found

    def _enter(self, texts: dict[str, str], text: str) -> str:
        """Take a rule in, unless one that is equal was before; what equal rules have in common."""
        form = normal_form(text)
        texts.setdefault(form, text)
        if len(texts) > self._most:
            raise Unverifiable(f"the hypothesis space has more than {self._most:,} rules")
        return form

    def _shapes(self, types: Sequence[str]) -> Iterator[tuple[str | None, list[tuple[str, ModeLiteral]]]]:
        """Heads with bodies over variables ``V1``, ``V2`` ... of the given types."""
        heads: list[str | None] = []
        for declared in self._bias.heads:
            heads += self._instances(declared.atom, types, False)
        if not self._bias.heads and not self._bias.meta_modes:
            heads = [None]
        literals: dict[str, list[ModeLiteral]] = {}
        for mode in self._bias.literals:
            for text in self._instances(mode.literal, types, mode.anti_reflexive):
                literals.setdefault(("not " if mode.negated else "") + text, []).append(mode)
        limit = self._bias.body_limit
        most = len(literals) if limit is None else min(limit, len(literals))
        sets = len(heads) * sum(math.comb(len(literals), size) for size in range(most + 1))
        if sets > _MOST_SETS:
            raise Unverifiable(f"the hypothesis space has more than {self._most:,} rules")
        for head in heads:
            for size in range(most + 1):
                for body in itertools.combinations(literals, size):
                    modes = self._within_recall([literals[text] for text in body])
                    if modes is not None and (head is not None or body):
                        yield head, list(zip(body, modes, strict=True))

    @staticmethod
    def _within_recall(options: Sequence[Sequence[ModeLiteral]]) -> Sequence[ModeLiteral] | None:
        """A declaration for each literal, none used more often than it may be."""
        for modes in itertools.product(*options):
            used = [mode.mode for mode in modes]
            if all(mode.recall is None or used.count(mode.mode) <= mode.recall for mode in modes):
                return modes
        return None

    def _safe(
        self, head: str | None, body: Sequence[tuple[str, ModeLiteral]], types: Sequence[str]
    ) -> str | None:
        """The rule with its guards and inequalities; None if a variable is bound by nothing."""
        texts = [text for text, _ in body]
        used = sorted(_own_variables(" ".join([head or "", *texts])))
        kinds = {name: types[int(name[1:]) - 1] for name in used}
        guards = [f"{kind}({name})" for name, kind in kinds.items() if self._pricing.is_guarded(kind)]
        bound = {name for name, kind in kinds.items() if self._pricing.is_guarded(kind)}
        for text, mode in body:
            if not mode.negated and isinstance(mode.literal, ModeAtom):
                bound |= _own_variables(text)
        if set(used) - bound:
            return None
        unequal = _inequalities(texts) if self._bias.ground_without_replacement else []
        parts = list(dict.fromkeys([*texts, *guards, *unequal]))
        return f"{head or ''} :- {', '.join(parts)}." if parts else f"{head}."

    def _instances(
        self, term: ModeAtom | ModeComparison, types: Sequence[str], distinct: bool
    ) -> Iterator[str]:
        choices = [
            [f"V{i + 1}" for i, kind in enumerate(types) if kind == place.type]
            if place.kind == "var"
            else self._pricing.constants(place.type)
            for place in term.placeholders
        ]
        for values in itertools.product(*choices):
            if distinct and len(set(values)) < len(values):
                continue
            filling = iter(values)
            if isinstance(term, ModeComparison):
                left = _filled(term.left, filling)
                yield f"{left} {term.operator} {_filled(term.right, filling)}"
            elif term.arguments:
                yield f"{term.predicate}({','.join(_filled(each, filling) for each in term.arguments)})"
            else:
                yield term.predicate


def _filled(term: ModeTerm, filling: Iterator[str]) -> str:
    if isinstance(term, str):
        return term
    if isinstance(term, Compound):
        inner = ",".join(_filled(each, filling) for each in term.arguments)
        return f"{term.name}({inner}{',' if not term.name and len(term.arguments) == 1 else ''})"
    return next(filling)


def _own_variables(text: str) -> set[str]:
    """The variables in a text, strings aside."""
    return set(re.findall(r"\bV\d+\b", _STRING.sub("", text)))


def _inequalities(body: Sequence[str]) -> list[str]:
    """What keeps two atoms of one predicate and sign from grounding to the same atom."""
    found = []
    for one, two in itertools.combinations(body, 2):
        first, second = _ATOM.fullmatch(one), _ATOM.fullmatch(two)
        if first and second and first[1] == second[1] and _commas(first[2]) == _commas(second[2]):
            found.append(f"f({first[2]}) != f({second[2]})")
    return found


def _commas(arguments: str) -> int:
    arguments = _STRING.sub("_", arguments)
    while (shorter := re.sub(r"\([^()]*\)", "_", arguments)) != arguments:
        arguments = shorter
    return arguments.count(",")
