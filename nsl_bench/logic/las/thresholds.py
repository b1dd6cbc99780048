"""Thresholds on numbers: what ``num_var(type)`` stands for in a mode declaration (FastLAS 2).

A body literal with ``num_var(type)`` has a variable of its own there, whose value may be bounded from below,
from above, or both. Two neighbouring values have one threshold between them: of 3 and 6, ``V >= 6`` and
``V <= 3``. While rules are made, literal and bounds are one text, with a token in the variable's place;
`spelled` writes them out, and `priced` writes them as `#bias` sees them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

_MARK = "\x1f"
_TOKEN = re.compile(f"{_MARK}([^{_MARK}]*),([^{_MARK}]*){_MARK}")
_VARIABLE = re.compile(r"\bV(\d{1,9})\b")


def tokens(values: Iterable[int]) -> Iterator[str]:
    """What may stand in a place that has these values: no bound, one or two, the fewest first.

    Args:
        values: the numbers that occur at the place.
    """
    ordered = sorted(set(values))
    yield token("", "")
    yield from (token(low, "") for low in ordered[1:])
    yield from (token("", high) for high in ordered[:-1])
    yield from (token(low, high) for i, low in enumerate(ordered[1:-1], 1) for high in ordered[i:-1])


def token(low: int | str, high: int | str) -> str:
    """What stands for a variable between two bounds; ``""`` is no bound."""
    return f"{_MARK}{low},{high}{_MARK}"


def bound_count(literal: str) -> int:
    """How many bounds the tokens in a literal set."""
    return sum(bool(low) + bool(high) for low, high in _TOKEN.findall(literal))


def spelled(literals: Sequence[str], head: str = "") -> list[str]:
    """The literals as ASP, each followed by the comparisons that its tokens stand for.

    Args:
        literals: body literals, their variables ``V1``, ``V2`` ...
        head: the rule's head, whose variables are taken too.
    """
    return [text for literal, bounds in _parted(literals, head) for text in (literal, *map(" ".join, bounds))]


def priced(literals: Sequence[str], head: str = "") -> list[str]:
    """The literals as `#bias` sees them: a bound is ``binop(V,">=",6)``, as in FastLAS.

    Args:
        literals: body literals, their variables ``V1``, ``V2`` ...
        head: the rule's head, whose variables are taken too.
    """
    return [text for literal, bounds in _parted(literals, head) for text in (literal, *map(_price, bounds))]


def price_text(variable: str, operator: str, value: int) -> str:
    """A bound as `#bias` sees it; ``V > 5`` is ``V >= 6``.

    Args:
        operator: ``">="``, ``"<="``, ``">"`` or ``"<"``.
        value: what the variable is compared with.
    """
    strict = {">": 1, "<": -1}.get(operator, 0)
    return f'binop({variable},"{operator[0]}=",{value + strict})'


_Bound = tuple[str, str, str]
"""Variable, operator and value."""


def _price(bound: _Bound) -> str:
    return price_text(bound[0], bound[1], int(bound[2]))


def _parted(literals: Sequence[str], head: str) -> Iterator[tuple[str, list[_Bound]]]:
    """Each literal with a variable for each of its tokens, and the bounds of these."""
    if not any(_MARK in literal for literal in literals):
        yield from ((literal, []) for literal in literals)
        return
    numbers = (int(number) for text in (head, *literals) for number in _VARIABLE.findall(text))
    last = max(numbers, default=0)
    for literal in literals:
        bounds: list[_Bound] = []

        def variable(match: re.Match[str], bounds: list[_Bound] = bounds) -> str:
            nonlocal last
            last += 1
            name = f"V{last}"
            pairs = ((">=", match[1]), ("<=", match[2]))
            bounds += [(name, operator, value) for operator, value in pairs if value]
            return name

        text = _TOKEN.sub(variable, literal)
        yield text, bounds
