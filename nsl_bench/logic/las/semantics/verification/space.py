"""The hypothesis space written down: every set of body literals over every variable, without any pruning."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from nsl_bench.logic.las.semantics.verification.costs import Pricing, Shape, prices
from nsl_bench.logic.las.semantics.verification.plain import Mode, PlainTask, filled, places
from nsl_bench.logic.las.semantics.verification.reading import threshold
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_ATOM = re.compile(r"((?:not )?-?\w+)\((.*)\)", re.DOTALL)
_MOST_FILLINGS = 100_000
"""Ways to fill the places of rules that are looked at."""

Literal = tuple[str, Mode]
"""A literal and its form."""


def rules_with_costs(task: PlainTask, most: int, stop: Callable[[], None]) -> dict[str, int]:
    """Every rule of a task's hypothesis space with its cost.

    A rule may be there more than once, under other names of its variables.

    Args:
        most: rules that the space may hold.
    """
    return _Space(task, most, stop).rules()


class _Space:
    def __init__(self, task: PlainTask, most: int, stop: Callable[[], None]) -> None:
        self._task = task
        self._most = most
        self._stop = stop
        self._pricing = Pricing(task, stop)
        self._steps = 0
        self._known: dict[tuple[str, int], list[str]] = {}

    def rules(self) -> dict[str, int]:
        """Every rule with its cost."""
        texts: dict[str, set[Shape]] = {}
        for head, body, kinds in self._shapes():
            safe = self._safe(head, body, kinds)
            if safe is not None:
                counted = _spelled([text for text, _ in body], priced=True)
                texts.setdefault(safe, set()).add((head, tuple(sorted(counted))))
                if len(texts) > self._most:
                    raise self._too_large()
        distinct = list(dict.fromkeys(shape for shapes in texts.values() for shape in shapes))
        price_of = dict(zip(distinct, prices(self._task, distinct, self._stop), strict=True))
        result: dict[str, int] = {}
        for text, shapes in texts.items():
            costs = [cost for shape in shapes if (cost := price_of[shape]) is not None]
            if costs:
                result[text] = min(costs)
        for cost, rule in self._task.rules:
            result[rule] = min(cost, result.get(rule, cost))
        if len(result) > self._most:
            raise self._too_large()
        return result

    def _too_large(self) -> Unverifiable:
        return Unverifiable(f"the hypothesis space has more than {self._most:,} rules")

    def _shapes(self) -> Iterator[tuple[str | None, list[Literal], Sequence[str]]]:
        """Heads with bodies over ``V1``, ``V2`` ..., and the types of these variables."""
        task = self._task
        heads: list[Mode | None] = [*task.heads, *([None] if task.constraints else [])]
        for size in itertools.count():
            if not heads or (task.max_body is not None and size > task.max_body):
                return
            some = False
            for body in itertools.combinations_with_replacement(task.bodies, size):
                modes = [mode.declaration for mode in body]
                if any(m.recall is not None and modes.count(m.declaration) > m.recall for m in body):
                    continue
                for head in heads:
                    for first, literals, kinds in self._filled(head, body):
                        texts = [text for text, _ in literals]
                        if len(set(texts)) == size:
                            some = True
                            if task.max_body is not None and len(_spelled(texts)) > task.max_body:
                                continue
                            if first is not None or literals:
                                yield first, literals, kinds
            if not some:
                return

    def _filled(
        self, head: Mode | None, body: Sequence[Mode]
    ) -> Iterator[tuple[str | None, list[Literal], Sequence[str]]]:
        modes = [*([] if head is None else [head]), *body]
        sizes = [len(places(mode.literal)) for mode in modes]
        slots = [(mode, k) for mode in modes for k, _ in enumerate(places(mode.literal))]
        for values, kinds in self._values(slots, ()):
            self._steps += 1
            if self._steps % 512 == 0:
                self._stop()
            if self._steps > _MOST_FILLINGS:
                raise self._too_large()
            rest = iter(values)
            parts = [[next(rest) for _ in range(size)] for size in sizes]
            if any(m.distinct and len(set(p)) < len(p) for m, p in zip(modes, parts, strict=True)):
                continue
            literals = [
                (("not " if m.negated else "") + filled(m.literal, p), m)
                for m, p in zip(modes, parts, strict=True)
            ]
            yield (None if head is None else literals.pop(0)[0]), literals, kinds

    def _values(
        self, slots: Sequence[tuple[Mode, int]], kinds: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Each way to fill places: a variable is an earlier one of its type, or the next one."""
        if not slots:
            yield (), kinds
            return
        mode, place = slots[0]
        sort, kind = places(mode.literal)[place]
        options: list[tuple[str, tuple[str, ...]]]
        if sort == "num_var":
            options = [(text, kinds) for text in self._intervals(mode, place)]
        elif sort == "const":
            options = [(value, kinds) for value in self._pricing.constants(kind)]
        else:
            options = [(f"V{i + 1}", kinds) for i, other in enumerate(kinds) if other == kind]
            if len(kinds) < self._task.max_variables:
                options.append((f"V{len(kinds) + 1}", (*kinds, kind)))
        for value, after in options:
            for rest, last in self._values(slots[1:], after):
                yield (value, *rest), last

    def _intervals(self, mode: Mode, place: int) -> list[str]:
        """The intervals of a number; there is a threshold between each two neighbouring values."""
        result = self._known.get((mode.literal, place))
        if result is None:
            numbers = self._pricing.numbers(mode, place)
            pairs = itertools.product([None, *numbers[1:]], [None, *numbers[:-1]])
            result = self._known[mode.literal, place] = [
                f"\x1e[{'' if low is None else low}..{'' if high is None else high}]"
                for low, high in pairs
                if low is None or high is None or low <= high
            ]
        return result

    def _safe(self, head: str | None, body: Sequence[Literal], kinds: Sequence[str]) -> str | None:
        """The rule with its guards and inequalities; None if a variable is bound by nothing."""
        texts = [text for text, _ in body]
        guarded = {f"V{i + 1}": kind for i, kind in enumerate(kinds) if self._pricing.is_guarded(kind)}
        bound = set(guarded)
        for text, mode in body:
            if not mode.negated and not mode.is_comparison:
                bound |= set(re.findall(r"\bV\d+\b", _STRING.sub("", text)))
        if len(bound) < len(kinds):
            return None
        guards = [f"{kind}({name})" for name, kind in guarded.items()]
        unequal = _inequalities(texts) if self._task.without_replacement else []
        parts = list(dict.fromkeys([*_spelled(texts), *guards, *unequal]))
        return f"{head or ''} :- {', '.join(parts)}." if parts else f"{head}."


_INTERVAL = re.compile(r"\x1e\[(-?\d*)\.\.(-?\d*)\]")


def _spelled(body: Sequence[str], *, priced: bool = False) -> list[str]:
    """The literals with a variable of its own for each interval, and its thresholds."""
    number = itertools.count(1)
    result: list[str] = []
    for text in body:
        bounds: list[tuple[str, str, int]] = []

        def own(match: re.Match[str], bounds: list[tuple[str, str, int]] = bounds) -> str:
            name = f"N{next(number)}"
            bounds += [(name, sign, int(v)) for sign, v in ((">=", match[1]), ("<=", match[2])) if v]
            return name

        result.append(_INTERVAL.sub(own, text))
        result += [threshold(*b) if priced else f"{b[0]} {b[1]} {b[2]}" for b in bounds]
    return result


def _inequalities(body: Sequence[str]) -> list[str]:
    """What keeps two atoms of one predicate and sign from grounding to the same atom."""
    result = []
    for one, two in itertools.combinations(body, 2):
        first, second = _ATOM.fullmatch(one), _ATOM.fullmatch(two)
        if first and second and first[1] == second[1] and _commas(first[2]) == _commas(second[2]):
            result.append(f"f({first[2]}) != f({second[2]})")
    return result


def _commas(arguments: str) -> int:
    arguments = _STRING.sub("_", arguments)
    while (shorter := re.sub(r"\([^()]*\)", "_", arguments)) != arguments:
        arguments = shorter
    return arguments.count(",")
