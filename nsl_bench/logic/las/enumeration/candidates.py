"""Candidate rules: heads with bodies; one, the cheapest, for each set of cells that some rule fills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.bias.program import FORBIDDEN
from nsl_bench.logic.las.bits import Bits, pack
from nsl_bench.logic.las.enumeration.bodies import Bodies
from nsl_bench.logic.las.enumeration.building_blocks import Positions, Relevance
from nsl_bench.logic.las.enumeration.cells import Cells, bits_of
from nsl_bench.logic.las.enumeration.components import Body
from nsl_bench.logic.las.enumeration.heads import HeadForm, Rule, priced_parts
from nsl_bench.logic.las.language_bias import LanguageBias, WeightedRule
from nsl_bench.logic.las.tables.conditions import choice_atom

_FEW = 8
"""Words that are looked at first for what a body gains."""
_SHARE = 0.5
"""Of the time that is left once there are bodies, which making them rules may take."""


class Candidate(NamedTuple):
    """A rule and the cells that it fills.

    Attributes:
        rows, words: intp [k]: rows of `Cells`, and which word of each.
        fills: uint64 [k]: that word: the cells of interest that the rule fills.
    """

    rule: Rule
    rows: npt.NDArray[np.intp]
    words: npt.NDArray[np.intp]
    fills: Bits

    def cells(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Row and column of each cell that it fills."""
        word, bit = np.nonzero(bits_of(self.fills))
        return self.rows[word], 64 * self.words[word] + bit


def candidates(
    bodies: Bodies, forms: Sequence[HeadForm], cells: Cells, strict: LanguageBias | None = None
) -> list[Candidate]:
    """One candidate, the cheapest, for each set of cells that some rule fills and that may pay.

    Args:
        strict: a bias that forbids some of the rules; the bodies have the shapes that it tells apart.
    """
    by_types: dict[tuple[str, ...], list[HeadForm]] = {}
    for form in forms:
        by_types.setdefault(form.types, []).append(form)
    best: dict[tuple[bytes, bytes], Candidate] = {}
    forbidden: dict[tuple[str, object], bool] = {}

    def is_forbidden(rule: Rule, shape: object) -> bool:
        head, body = priced_parts(rule, bodies.literals)
        verdict = forbidden.get((head or "", shape))
        if verdict is None:
            assert strict is not None
            from nsl_bench.logic.las.bias.costs import rule_costs

            verdict = rule_costs(strict, [(head, body)], bodies.budget) == [None]
            forbidden[head or "", shape] = verdict
        return verdict

    for types, group in sorted(by_types.items()):
        relevance = _relevance(group, cells)
        gains = [_Gain(form, cells, relevance) for form in group]
        late: Budget | None = None
        for body, costs in _priced(bodies, types, relevance, group, gains, cells):
            late = late or bodies.budget.before(_SHARE)
            if late.expired():
                bodies.complete = False
                break
            for form, gain, cost in zip(group, gains, costs, strict=True):
                if cost == FORBIDDEN or gain.is_unprofitable(body.positions, body.holds, cost):
                    continue
                at, fills = gain.fills(body.positions, body.holds)
                key = (gain.rows[at].tobytes() + gain.words[at].tobytes(), fills.tobytes())
                old = best.get(key)
                if old is None or (cost, len(body.parts)) < (old.rule.cost, len(old.rule.parts)):
                    rule = Rule(cost, form, body.parts, body.types)
                    if strict is not None and is_forbidden(rule, body.shape):
                        continue
                    best[key] = Candidate(rule, gain.rows[at], gain.words[at], fills)
    return list(best.values())


def given_candidates(given: Sequence[WeightedRule], cells: Cells) -> list[Candidate]:
    """Rules given whole: each fills one row of its own, in every column."""
    result = []
    words = np.arange(cells.wanted.shape[-1])
    full = pack(np.ones(cells.n, np.bool_))
    for i, rule in enumerate(given):
        row = cells.row.get(choice_atom(i))
        if row is not None:
            rows = np.full(len(words), row, np.intp)
            result.append(Candidate(Rule(rule.cost, given=rule.rule), rows, words, full))
    return result


def _priced(
    bodies: Bodies,
    types: tuple[str, ...],
    relevance: Relevance,
    forms: Sequence[HeadForm],
    gains: Sequence[_Gain],
    cells: Cells,
) -> Iterator[tuple[Body, list[int]]]:
    """Bodies for heads with variables of these types, with their rule's cost under each head."""
    if bodies.vocabulary.additive:
        for body in bodies.bodies(types, relevance, partial(_all_unprofitable, gains)):
            yield body, [body.used.cost + form.cost for form in forms]
        return
    from nsl_bench.logic.las.enumeration.literal_sets import true_sets

    wanted = np.zeros_like(relevance.cells)
    for form in forms:
        where = form.rows >= 0
        wanted[where] |= cells.wanted[form.rows[where]]
    yield from true_sets(bodies, types, relevance, wanted, forms)


def _relevance(forms: Sequence[HeadForm], cells: Cells) -> Relevance:
    """Where some head of the same variables fills a cell that matters, and where it should not."""
    shape = (*forms[0].rows.shape, cells.wanted.shape[-1])
    matters, unwanted = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for form in forms:
        where = form.rows >= 0
        matters[where] |= cells.interesting[form.rows[where]]
        unwanted[where] |= cells.unwanted[form.rows[where]]
    return Relevance(matters, unwanted)


def _all_unprofitable(gains: Sequence[_Gain], positions: Positions, holds: Bits, cost: int) -> bool:
    return all(gain.is_unprofitable(positions, holds, cost + gain.cost) for gain in gains)


class _Gain:
    """What filling the cells of one head can bring, by position of a `Relevance`.

    Attributes:
        rows, words: intp [positions]: the row of `Cells`, -1 for none, and the word of each position.
        cost: what the head costs.
    """

    def __init__(self, form: HeadForm, cells: Cells, relevance: Relevance) -> None:
        instance, self.words = np.divmod(relevance.positions, cells.wanted.shape[-1])
        self.rows = form.rows.reshape(-1)[instance]
        none = np.uint64(0)
        self._interesting, self._wanted, self._required = (
            np.where(self.rows >= 0, table[self.rows, self.words], none)
            for table in (cells.interesting, cells.wanted, cells.required)
        )
        useful = np.flatnonzero(self._wanted)
        self._slot = np.zeros(len(self.words), np.intp)
        self._slot[useful] = np.arange(len(useful))
        self._weights = cells.weights[self.rows[useful], self.words[useful]]
        self.cost = form.cost

    def fills(self, positions: Positions, holds: Bits) -> tuple[Positions, Bits]:
        """The positions and words of the cells of interest that a body fills."""
        filled = holds & self._interesting[positions]
        some = np.flatnonzero(filled)
        return positions[some], filled[some]

    def is_unprofitable(self, positions: Positions, holds: Bits, cost: int) -> bool:
        """Whether the greatest possible gain is no more than the rule's cost."""
        useful = holds & self._wanted[positions]
        (some,) = useful.nonzero()
        if not len(some):
            return True
        if (useful & self._required[positions]).any():
            return False
        gain = 0
        for part in (some[:_FEW], some[_FEW:]):
            weights = self._weights[self._slot[positions[part]]]
            gain += int((bits_of(useful[part]) * weights).sum())
            if gain > cost:
                return False
        return True
