"""Tests: literals over one variable that hold the same in all contexts, such as comparisons with constants.

A body in which a variable has tests alone is true or false of all examples alike. In the others, the head or
an atom gives the variable its value, or a negated atom is true of it. That atom says the same of all values
that occur in none of its kind; a body that one of those makes true is no better than one without its tests.
So of 1,000 comparisons few are left, and of 1,000 values few differ in these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Undecided
from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.las.bias.lookups import compared, ordered
from nsl_bench.logic.las.bias.program import bias_program
from nsl_bench.logic.las.bits import Bits, pack
from nsl_bench.logic.las.language_bias import ModeAtom, ModeComparison, ModeLiteral, Placeholder
from nsl_bench.logic.las.tables.dominance import Interest, undominated

if TYPE_CHECKING:
    from clingo import Symbol

    from nsl_bench.logic.las.tables.literals import Vocabulary

_FEW_VALUES = 64
"""A type with so many members is not narrowed to some where constraints may ask for more literals."""
_MOST_CELLS = 1 << 28
"""Values and constants that are compared with one another."""

_Rows = npt.NDArray[np.bool_]

Test = tuple[tuple[str, ...], _Rows]
"""The constants of a test, and bool [values]: what it holds of."""


class Reach(NamedTuple):
    """The values that a type's variables can have where it matters.

    Attributes:
        named: the values in literals that are no tests, with the columns (uint64 [words]) in which an atom or
            a head gives a variable each of them.
        loose: negated atoms let a variable have any value in any column.
    """

    named: dict[Symbol, Bits]
    loose: bool


class Settled(NamedTuple):
    """The values of a type and the tests of it that are left.

    Attributes:
        tests: of each declaration, the constants and bool [values] of each test.
        complete: rules that only a constraint wants longer have tests, too.
        unnamed: bool [values]: those in no literal that is no test, where negated atoms can be true of them.
        witness: the place of a value that no literal names, where rules may need one.
    """

    values: tuple[Symbol, ...]
    tests: Mapping[ModeLiteral, Sequence[Test]]
    complete: bool
    unnamed: _Rows
    witness: int | None


def reached(vocabulary: Vocabulary) -> dict[str, Reach]:
    """The reachable values of each type that only tests compare."""
    bias, grounding = vocabulary.bias, vocabulary.grounding
    literals: list[tuple[ModeAtom, bool]] = []
    kinds = {kind for head in bias.heads for kind in head.atom.variable_types}
    others: set[str] = set()
    loose: set[str] = set()
    bounded: set[str] = set()
    for mode in bias.literals:
        types = mode.literal.variable_types
        if isinstance(mode.literal, ModeComparison) or _is_static(vocabulary, mode.literal.signature):
            others |= set(types) if len(types) > 1 else set()
            bounded |= set(types) if mode.literal.has_thresholds else set()
            continue
        literals.append((mode.literal, mode.negated))
        kinds |= set(types)
        loose |= set(types) if mode.negated else set()

    def matters(kind: str) -> bool:
        if vocabulary.sight is not None and 0 < len(grounding.atoms(kind, 1)) <= _FEW_VALUES:
            return False
        if kind in loose and ((kind, 1) not in grounding.derivable or kind in bounded):
            return False
        return _is_static(vocabulary, (kind, 1))

    result: dict[str, dict[Symbol, Bits]] = {kind: {} for kind in kinds - others if matters(kind)}
    if not result:
        return {}
    for atom, negated in literals:
        _reach(result, vocabulary, atom, grounding.atoms(*atom.signature), negated)
    for symbol, number in grounding.learned.items():
        if number in vocabulary.interest.asked:
            own = [(symbol.arguments, grounding.full)]
            for head in bias.heads:
                if head.atom.signature == (symbol.name, len(symbol.arguments)):
                    _reach(result, vocabulary, head.atom, own)
    return {kind: Reach(values, kind in loose) for kind, values in result.items()}


def _is_static(vocabulary: Vocabulary, signature: Signature) -> bool:
    """Whether the atoms of a predicate hold the same in all contexts."""
    grounding = vocabulary.grounding
    if signature in grounding.lookups:
        return True
    if signature in vocabulary.bias.learned or grounding.depends(*signature):
        return False
    full = grounding.full
    return all(bits is full or np.array_equal(bits, full) for _, bits in grounding.atoms(*signature))


def _reach(
    reached: dict[str, dict[Symbol, Bits]],
    vocabulary: Vocabulary,
    atom: ModeAtom,
    instances: Iterable[tuple[Sequence[Symbol], Bits]],
    negated: bool = False,
) -> None:
    """Note the values that an atom gives its variables, or that it denies them."""
    types = atom.variable_types
    nowhere = np.zeros_like(vocabulary.grounding.full)
    for arguments, bits in () if reached.keys().isdisjoint(types) else instances:
        filling = vocabulary.fillings(atom, arguments)
        for kind, value in zip(types, filling[0] if filling else (), strict=False):
            if (own := reached.get(kind)) is not None:
                own[value] = own.get(value, nowhere) | (nowhere if negated else bits)


def _tests(vocabulary: Vocabulary, kind: str) -> list[ModeLiteral]:
    """The declarations of tests of variables of a type."""
    return [
        mode
        for mode in vocabulary.bias.literals
        if mode.literal.variable_types == (kind,)
        and not mode.literal.has_thresholds
        and (isinstance(mode.literal, ModeComparison) or _is_static(vocabulary, mode.literal.signature))
    ]


def settled(vocabulary: Vocabulary, kind: str, reach: Reach, *, narrows: bool) -> Settled:
    """The values of a type that matter and the tests that are left."""
    values, witness = _values(vocabulary, kind, reach)
    masks = _masks(vocabulary, reach, values, witness)
    result: dict[ModeLiteral, list[Test]] = {}
    complete = True
    for mode in _tests(vocabulary, kind):
        allowed, rows = test_rows(vocabulary, mode, values)
        result[mode], seen = _narrowed(vocabulary, mode, allowed, rows, masks, witness, narrows)
        complete &= seen
    unnamed = np.array([reach.loose and value not in reach.named for value in values], np.bool_)
    if not reach.loose:
        return Settled(values, result, complete, unnamed, witness)
    places = _apart(values, result, ~unnamed, witness)
    result = {mode: [(constants, row[places]) for constants, row in each] for mode, each in result.items()}
    place = None if witness is None else places.index(witness)
    return Settled(tuple(values[i] for i in places), result, complete, unnamed[places], place)


def _values(vocabulary: Vocabulary, kind: str, reach: Reach) -> tuple[tuple[Symbol, ...], int | None]:
    """The values of a type, and the place of one that no example speaks of where rules may need one."""
    grounding = vocabulary.grounding
    named = set(reach.named)
    if (kind, 1) not in grounding.derivable:
        return tuple(sorted(named)), None
    members = sorted(arguments[0] for arguments, _ in grounding.atoms(kind, 1))
    values = members if reach.loose else sorted(named.intersection(members))
    unnamed = [value for value in members if value not in named]
    if vocabulary.sight is None or not unnamed:
        return tuple(values), None
    witness = unnamed[len(unnamed) // 2]
    values = sorted({*values, witness})
    return tuple(values), values.index(witness)


def _masks(
    vocabulary: Vocabulary, reach: Reach, values: Sequence[Symbol], witness: int | None
) -> tuple[_Rows, _Rows]:
    """bool [values]: where it helps that a test holds, and where it hurts."""
    interest, full = vocabulary.interest, vocabulary.grounding.full
    none = np.zeros_like(full)
    result = []
    for columns, unnamed in ((interest.wanted, none), (interest.unwanted, full)):
        where = [(full if reach.loose else reach.named[v]) if v in reach.named else unnamed for v in values]
        flags = np.array([bool((columns & each).any()) for each in where], np.bool_)
        if witness is not None:
            flags[witness] = True
        result.append(flags)
    if reach.loose:  # to hold of such a value makes the tests vain, whatever the examples want
        result[1] |= np.array([v not in reach.named for v in values], np.bool_)
    return result[0], result[1]


def test_rows(
    vocabulary: Vocabulary, mode: ModeLiteral, values: Sequence[Symbol]
) -> tuple[list[dict[str, Symbol]], _Rows]:
    """What may stand for each constant of a test, and bool [constants, values]: where it holds."""
    literal = mode.literal
    allowed = vocabulary.constants_at(literal.placeholders)
    cells = len(values) * math.prod(map(len, allowed))
    if cells > _MOST_CELLS:
        raise Undecided("too many constants")
    vocabulary.budget.take(3 * cells, "comparisons with constants")
    if isinstance(literal, ModeComparison):
        sides: list[Sequence[Symbol]] = []
        for side in (literal.left, literal.right):
            sides.append(_operand(vocabulary, side, values, allowed))
        rows = ordered(literal.operator, *sides)
        if isinstance(literal.left, Placeholder) and literal.left.kind == "var":
            rows = rows.T
    else:
        rows = _atom_rows(vocabulary, literal, values, allowed)
    rows = rows.reshape(math.prod(map(len, allowed)), len(values))
    return allowed, ~rows if mode.negated else rows


def _operand(
    vocabulary: Vocabulary, side: object, values: Sequence[Symbol], allowed: Sequence[dict[str, Symbol]]
) -> Sequence[Symbol]:
    """What one side of a comparison stands for."""
    if isinstance(side, Placeholder):
        return values if side.kind == "var" else list(allowed[0].values())
    if not isinstance(side, str):
        raise Undecided("a comparison of terms with variables inside")
    return [vocabulary.ground_term(side)]


def _atom_rows(
    vocabulary: Vocabulary, literal: ModeAtom, values: Sequence[Symbol], allowed: Sequence[dict[str, Symbol]]
) -> _Rows:
    """bool [each constant..., values]: where an atom holds."""
    grounding, atom = vocabulary.grounding, vocabulary.resolved(literal)
    if literal.signature not in grounding.lookups:
        rows = np.zeros([*map(len, allowed), len(values)], np.bool_)
        places = [{text: i for i, text in enumerate(each)} for each in allowed]
        position = {value: i for i, value in enumerate(values)}
        atoms = grounding.atoms(*literal.signature)
        for texts, (variable,), _ in vocabulary.instances(literal, allowed, atoms):
            if variable in position:
                where = (place[text] for place, text in zip(places, texts, strict=True))
                rows[(*where, position[variable])] = True
        return rows
    own = iter(allowed)
    terms: list[Sequence[Symbol]] = []
    axes: list[int] = []
    for axis, term in enumerate(atom.arguments):
        if isinstance(term, Placeholder):
            terms.append(values if term.kind == "var" else list(next(own).values()))
            axes.append(axis)
            if term.kind == "var":
                own_axis = axis
        else:
            terms.append([vocabulary.ground_term(str(term))])
    axes.remove(own_axis)

    def members(name: str) -> set[Symbol]:
        return {arguments[0] for arguments, _ in grounding.atoms(name, 1)}

    rows = compared(vocabulary.task.program, literal.signature, terms, members)
    return np.moveaxis(rows, own_axis, -1)


def _narrowed(
    vocabulary: Vocabulary,
    mode: ModeLiteral,
    allowed: Sequence[dict[str, Symbol]],
    rows: _Rows,
    masks: tuple[_Rows, _Rows],
    witness: int | None,
    narrows: bool,
) -> tuple[list[Test], bool]:
    """The tests of a declaration without those that others make superfluous, and whether none is amiss.

    None is amiss if among those that constraints do not tell apart, one of the cheapest holds of the witness.
    """
    texts = [list(each) for each in allowed]
    shape = [len(each) for each in texts]
    good, bad = masks

    indices = np.arange(len(rows))
    uniform = vocabulary.sight is None and bias_program(vocabulary.bias).uniform is not None
    if narrows and uniform and (not mode.anti_reflexive or len(shape) < 2):
        indices = _different(pack(rows[:, good | bad]))
    places = zip(*np.unravel_index(indices, shape), strict=True) if shape else [()]
    constants = [tuple(own[i] for own, i in zip(texts, each, strict=True)) for each in places]
    result = [(each, rows[i]) for each, i in zip(constants, indices.tolist(), strict=True)]
    if not narrows or (mode.anti_reflexive and len(shape) > 1) or len(result) < 2:
        return result, True
    literals = vocabulary.priced_tests(mode, [each for each, _ in result])
    if literals is None:
        return result, True
    prices = [(*literal.costs.values(), literal.size) for literal in literals]
    kinds = [literal.kind for literal in literals]
    interest = Interest(pack(good), pack(bad), frozenset())
    tests = undominated(kinds, [pack(row) for _, row in result], prices, interest)
    complete = True
    if witness is not None:
        for kind in set(kinds):
            own_prices = [prices[i] for i in tests if kinds[i] == kind]
            at = [prices[i] for i in tests if kinds[i] == kind and result[i][1][witness]]
            complete &= bool(at) and min(at) == min(own_prices)
    return [result[i] for i in tests], complete


def _different(rows: Bits) -> npt.NDArray[np.intp]:
    """The first of each different row of uint64 [rows, words], in order."""
    names = np.zeros(len(rows), np.intp)
    for column in rows.T:
        values, own = np.unique(column, return_inverse=True)
        names = np.unique(names * len(values) + own, return_inverse=True)[1]
    return np.sort(np.unique(names, return_index=True)[1])


def _apart(
    values: Sequence[Symbol], tests: Mapping[ModeLiteral, list[Test]], named: _Rows, witness: int | None
) -> list[int]:
    """The places of the values that matter: one stands for all unnamed ones of which the same tests hold."""
    rows = [row for each in tests.values() for _, row in each]
    seen = np.packbits(np.array(rows, np.bool_).reshape(len(rows), len(values)).T, axis=1)
    names: set[bytes] = set() if witness is None else {seen[witness].tobytes()}
    places: list[int] = []
    for i in range(len(values)):
        name = seen[i].tobytes()
        if named[i] or i == witness or name not in names:
            places.append(i)
            names |= set() if named[i] else {name}
    return places
