"""Ground atoms and literals that are given as text: their names, arguments and signs."""

import itertools
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Self

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.text import check_text

_NAME = re.compile(r"(-?)\s*([_']*[a-z][\w']*)\s*(\()?")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(),;:|{}"%]', re.DOTALL)
_FLAT = re.compile(r"(-?)\s*([_']*[a-z][\w']*)\s*\(([^();:|{}\"%]*)\)")
"""An atom without brackets and strings among its arguments, as most are."""
_REMEMBERED = 1 << 16


class Atom(NamedTuple):
    """An atom as text.

    Attributes:
        name: its predicate.
        arguments: what stands between its brackets; empty if it has none.
        arity: how many arguments it has.
        classical: it is negated classically (``-p``).
    """

    name: str
    arguments: str
    arity: int
    classical: bool = False

    @property
    def signature(self) -> tuple[str, int]:
        """Name and arity."""
        return self.name, self.arity

    def __str__(self) -> str:
        sign = "-" if self.classical else ""
        return f"{sign}{self.name}({self.arguments})" if self.arity else f"{sign}{self.name}"


@lru_cache(maxsize=_REMEMBERED)
def read_atom(text: str) -> Atom | None:
    """The atom that `text` is; None for a comparison, a rule, a pool, an aggregate or a nested negation."""
    text = text.strip()
    flat = _FLAT.fullmatch(text)
    if flat is not None and flat[2] != "not":
        arguments = flat[3].strip()
        return Atom(flat[2], arguments, arguments.count(",") + 1 if arguments else 0, bool(flat[1]))
    result = _NAME.match(text)
    if result is None or result[2] == "not":
        return None
    if result[3] is None:
        return Atom(result[2], "", 0, bool(result[1])) if result.end() == len(text) else None
    depth, commas = 1, 0
    for token in _TOKEN.finditer(text, result.end()):
        mark = token.group()
        if mark in ";:|{}%" or mark == '"':
            return None
        depth += (mark == "(") - (mark == ")")
        commas += mark == "," and depth == 1
        if not depth:
            arguments = text[result.end() : token.start()].strip()
            whole = token.end() == len(text)
            arity = commas + 1 if arguments else 0
            return Atom(result[2], arguments, arity, bool(result[1])) if whole else None
    return None


def read_literal(text: str) -> tuple[bool, Atom | None]:
    """Whether a body literal is negated by default, and its atom; None for a comparison."""
    stripped = text.strip()
    positive = stripped.removeprefix("not ")
    return positive is not stripped and positive != stripped, read_atom(positive)


def parse_atom(text: str) -> Any | None:
    """The `clingo.Symbol` of a ground atom, classically negated or not; None if the text is none."""
    import clingo

    try:
        check_text(text, "an atom")
        symbol = clingo.parse_term(text, logger=lambda *_: None)
    except (RuntimeError, UserError):
        return None
    return symbol if symbol.type == clingo.SymbolType.Function and symbol.name else None


def goal_of(text: str) -> Any:
    """The `clingo.Symbol` by which a label is derived."""
    symbol = parse_atom(text)
    if symbol is None:
        raise UserError(f"A label's atom must be a ground atom such as winner(1); got '{text}'.")
    return symbol


class Names(NamedTuple):
    """A prefix that occurs nowhere in some texts, in lower or upper case.

    Attributes:
        prefix: begins every predicate, constant and function of our own, e.g. ``"nsl_"``.
    """

    prefix: str = "nsl_"

    @classmethod
    def apart_from(cls, texts: Iterable[str]) -> Self:
        """The first of ``nsl_``, ``nsl1_``, ``nsl2_`` ... that occurs in none of the texts.

        Args:
            texts: everything that will stand in one program with the names.
        """
        texts_with_nsl = [text for text in texts if "nsl" in text or "NSL" in text]
        for number in itertools.count():
            prefix = f"nsl{number or ''}_"
            if not any(prefix in text or prefix.upper() in text for text in texts_with_nsl):
                return cls(prefix)
        raise AssertionError("there are endlessly many numbers")

    def __call__(self, name: str) -> str:
        """The predicate, constant or function of this name."""
        return f"{self.prefix}{name}"

    def variable(self, name: str) -> str:
        """The variable of this name."""
        return f"{self.prefix}{name}".upper()
