"""A body literal as a bit table over the domains of its variables.

A table uint64 [d1, ..., dk, words] says in which columns a literal holds for which values of its variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.language_bias import ModeAtom, ModeLiteral
from nsl_bench.logic.las.terms import Pattern, literal_text, terms_text
from nsl_bench.logic.las.thresholds import bound_count


class BodyLiteral(NamedTuple):
    """A literal that a body may hold, with constants filled in and variables open.

    Attributes:
        mode: its declaration.
        constants: values for ``const(type)`` and bounds for ``num_var(type)``, from left to right.
        types: types of its variables, from left to right.
        table: uint64 [size of each type..., words].
        costs: what it adds to a rule's cost under each pattern.
        atom: its atom with ground terms as clingo writes them; None for a comparison.
        kind: equal for literals that the constraints of `#bias` do not tell apart.
    """

    mode: ModeLiteral
    constants: tuple[str, ...]
    types: tuple[str, ...]
    table: Bits
    costs: Mapping[Pattern, int]
    atom: ModeAtom | None = None
    kind: int = 0

    @property
    def binds(self) -> bool:
        """Whether it makes its variables safe."""
        return not self.mode.negated and self.atom is not None

    @property
    def size(self) -> int:
        """How many literals it is in a rule: itself and its thresholds."""
        return 1 + sum(map(bound_count, self.constants))

    @property
    def family(self) -> tuple[str, int, bool] | None:
        """Predicate, arity and sign; None for a comparison."""
        return None if self.atom is None else (*self.atom.signature, self.mode.negated)

    def text(self, variables: Sequence[str]) -> str:
        """The literal with these names for its variables."""
        return literal_text(self.mode, variables, self.constants)

    def arguments(self, variables: Sequence[str]) -> tuple[str, ...]:
        """The arguments of its atom as text, with these names for its variables."""
        return () if self.atom is None else terms_text(self.atom, variables, self.constants)
