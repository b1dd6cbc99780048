"""The atoms by which two hypotheses are compared: ground atoms, and predicates as ``name/arity``."""

from __future__ import annotations

from dataclasses import dataclass

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.atoms import parse_atom, read_atom
from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.asp.text import check_text

__all__ = ["Compared", "compared"]


@dataclass(frozen=True)
class Compared:
    """An atom, or all atoms of a predicate.

    Attributes:
        text: as it was given.
        signature: its predicate.
        classical: it is negated classically.
        arguments: its arguments; variables for all atoms of a predicate.
        is_ground: it is one atom.
    """

    text: str
    signature: Signature
    classical: bool
    arguments: tuple[str, ...]
    is_ground: bool

    @property
    def term(self) -> str:
        """The atom as a term."""
        sign, inner = "-" if self.classical else "", ",".join(self.arguments)
        return f"{sign}{self.signature[0]}{f'({inner})' if inner else ''}"

    @property
    def predicate(self) -> str:
        """The predicate as people write it: ``winner/1``, and without a number if it has no arguments."""
        name, arity = self.signature
        return f"{name}/{arity}" if arity else name

    def includes(self, other: Compared) -> bool:
        """Whether what the other names is among what this one does."""
        same = (self.signature, self.classical) == (other.signature, other.classical)
        return same and (not self.is_ground or self.term == other.term)

    def matches(self, text: str) -> bool:
        """Whether a ground atom is one that is compared."""
        atom = read_atom(text)
        return atom is not None and (atom.signature, atom.classical) == (self.signature, self.classical)


def compared(text: str) -> Compared:
    """What `text` names.

    Raises:
        UserError: it is neither a ground atom nor ``name/arity``.
    """
    check_text(text, "a compared atom")
    name, slash, arity = (part.strip() for part in text.partition("/"))
    if slash and arity.isdecimal() and int(arity) < 100:
        bare = read_atom(name)
        if bare is not None and bare.arity == 0:
            variables = tuple(f"X{i}" for i in range(int(arity)))
            return Compared(text, (bare.name, int(arity)), bare.classical, variables, is_ground=False)
    symbol = parse_atom(text)
    if symbol is None:
        raise UserError(f"--atom must be an atom or a predicate such as 'winner/1'; got '{text}'.")
    arguments = tuple(map(str, symbol.arguments))
    return Compared(text, (symbol.name, len(arguments)), symbol.negative, arguments, is_ground=True)
