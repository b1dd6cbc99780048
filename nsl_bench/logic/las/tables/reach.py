"""Which values the variables of a type can have in a body that says anything of an example.

A variable may tell its values apart only in literals over it alone that hold the same in all contexts, such
as comparisons with constants. A body in which nothing else holds it is true or false of all examples alike.
In the others, the head or an atom that is not the same everywhere gives it its value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.las.bits import Bits
from nsl_bench.logic.las.language_bias import LanguageBias, ModeAtom, ModeComparison
from nsl_bench.logic.las.tables.grounding import Grounding

if TYPE_CHECKING:
    from clingo import Symbol

__all__ = ["Fillings", "reached"]

Fillings = Callable[[ModeAtom, Sequence["Symbol"]], tuple[list["Symbol"], list["Symbol"]] | None]
"""Says what stands at the variables and at the other placeholders of a declared atom with some arguments."""
_Reached = dict[str, dict["Symbol", Bits]]


def reached(bias: LanguageBias, grounding: Grounding, fillings: Fillings, asked: Collection[int]) -> _Reached:
    """The values of each such type, each with the columns (uint64 [words]) in which variables can have it.

    Args:
        bias: the mode declarations.
        grounding: what is true in which column.
        fillings: see `Fillings`.
        asked: the learned atoms (of the program) that some example asks about.
    """
    found: _Reached = {}
    others: set[str] = set()
    for mode in bias.literals:
        types = [place.type for place in mode.literal.placeholders if place.kind == "var"]
        if isinstance(mode.literal, ModeComparison) or _is_static(bias, grounding, mode.literal.signature):
            others |= set(types) if len(types) > 1 else set()
        elif mode.negated:
            others |= set(types)
        else:
            _reach(found, mode.literal, fillings, grounding.atoms(*mode.literal.signature))
    wanted = [
        ((symbol.name, len(symbol.arguments)), (symbol.arguments, grounding.full))
        for symbol, number in grounding.learned.items()
        if number in asked
    ]
    for head in bias.heads:
        own = [atom for signature, atom in wanted if signature == head.atom.signature]
        _reach(found, head.atom, fillings, own)
    return {
        kind: values
        for kind, values in found.items()
        if kind not in others and _is_static(bias, grounding, (kind, 1))
    }


def _is_static(bias: LanguageBias, grounding: Grounding, signature: Signature) -> bool:
    """Whether the atoms of a predicate hold the same in all contexts."""
    if signature in grounding.lookups:
        return True
    if signature in bias.learned or grounding.depends(*signature):
        return False
    full = grounding.full
    return all(bits is full or np.array_equal(bits, full) for _, bits in grounding.atoms(*signature))


def _reach(
    found: _Reached,
    atom: ModeAtom,
    fillings: Fillings,
    instances: Iterable[tuple[Sequence[Symbol], Bits]],
) -> None:
    """Note the values that an atom gives its variables."""
    types = [place.type for place in atom.placeholders if place.kind == "var"]
    for arguments, bits in instances:
        filling = fillings(atom, arguments)
        for kind, value in zip(types, filling[0] if filling else (), strict=False):
            values = found.setdefault(kind, {})
            values[value] = values[value] | bits if value in values else bits
