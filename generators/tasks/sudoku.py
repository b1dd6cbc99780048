"""Sudoku Grid Validity: a partly filled grid of handwritten digits that is valid or breaks the rules.

FFNSL paper (Cunnington et al. 2023), section 5 and appendix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Family, Layout
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import (
    BLANK,
    Array,
    Bools,
    ConceptSpace,
    Floats32,
    Ints8,
    Ints16,
    LabelSpace,
    Part,
    Split,
)

from . import programs
from .follow_suit import read_csv

_PROGRAMS = programs(__file__)

Knowledge = Literal["grid", "rows_columns", "rows", "cells", "reduced"]

_GROUPS = ("row", "col", "block")

VALID, INVALID = 0, 1

_MOST_SEEDS = 100_000
"""Seeds in a row that may bring no new grid."""


def digits(n: int) -> ConceptSpace:
    """The concepts of an n x n grid: the digits "1".."n"."""
    return ConceptSpace("digit", tuple(str(d) for d in range(1, n + 1)))


class Sudoku(Benchmark):
    """Predict whether a partly filled grid has no repeated digits in rows, columns and blocks."""

    name = "sudoku"
    version = "1.0.0"
    description = "A partly filled Sudoku grid of handwritten digits is valid or breaks a rule."
    sources: tuple[str, ...] = ("sklearn_digits", "mnist")
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})

    block_rows: int = option(
        2, "rows of a block; the side of the grid is the product with its columns", least=2, most=4
    )
    block_columns: int = option(2, "columns of a block", least=2, most=4)
    knowledge: Knowledge = option(
        "grid",
        "``grid``: cells are named, with known row, column and block; ``rows_columns``: rules cannot use "
        "blocks; ``rows``: nor columns; ``cells``: nor rows; ``reduced``: cells have coordinates, and only "
        "integer division is known",
    )
    invalid: int = option(50, "percentage of invalid examples", least=0, most=100)
    row_share: int = option(1, "proportion of invalid examples that repeat a digit in a row", least=0)
    column_share: int = option(1, "proportion of those that repeat one in a column", least=0)
    block_share: int = option(1, "proportion of those that repeat one in a block", least=0)

    def __post_init__(self) -> None:
        block_rows, block_columns, knowledge = self.block_rows, self.block_columns, self.knowledge
        n = block_rows * block_columns
        self.shares = (self.row_share, self.column_share, self.block_share)
        if not any(self.shares):
            raise UserError("sudoku: row_share, column_share or block_share must be above 0; got 0 for each.")
        self.n, self.block = n, (block_rows, block_columns)
        self.name = self._name()
        option = "" if knowledge == "grid" else f":knowledge={knowledge}"
        members = (f"sudoku_4x4{option}", f"sudoku_9x9{option}")
        self.family = Family(f"sudoku{option}", members, "side of the grid")
        self.labels = LabelSpace(("valid", "invalid"), (None, "invalid"))
        self.concept_space = self._concepts()
        self.slots = tuple(f"cell_{r}_{c}" for r in range(1, n + 1) for c in range(1, n + 1))
        self.sizes = {"small": 320, "large": 32_000}
        self.test_size = 1000
        self._least = 0 if n <= 9 else n * n // 2
        if knowledge == "reduced":
            self._reduced_knowledge()
        else:
            self._grid_knowledge()

    def _concepts(self) -> ConceptSpace:
        return digits(self.n)

    def _name(self) -> str:
        """The shortest spec that makes this task."""
        rows, columns = self.block
        name, options = f"sudoku_{self.n}x{self.n}", {}
        if self.block not in ((2, 2), (3, 3)):
            name, options = "sudoku", {"block_rows": rows, "block_columns": columns}
        elif self.invalid != 50 or self.shares != (1, 1, 1):
            name, options = "sudoku", {} if rows == 2 else {"block_rows": rows, "block_columns": columns}
        given: dict[str, object] = dict(options)
        if self.knowledge != "grid":
            given["knowledge"] = self.knowledge
        if self.invalid != 50:
            given["invalid"] = self.invalid
        for kind, share in zip(("row", "column", "block"), self.shares, strict=True):
            if share != 1:
                given[f"{kind}_share"] = share
        return str(Spec(name, (), {key: str(value) for key, value in given.items()}))

    def _grid_knowledge(self) -> None:
        n, cells = self.n, [(r, c) for r in range(1, self.n + 1) for c in range(1, self.n + 1)]
        high, wide = self.block
        facts = [
            *(f'row("{r}, {c}", {r}).' for r, c in cells),
            *(f'col("{r}, {c}", {c}).' for r, c in cells),
            *(f'block("{r}, {c}", {(r - 1) // high * high + (c - 1) // wide + 1}).' for r, c in cells),
            f"num({self.concept_space.concepts[0]}..{self.concept_space.concepts[-1]}).",
            *(f"{kind}(1..{n})." for kind in _GROUPS),
            "cell(C) :- digit(C, _).",
            "neq(X, Y) :- cell(X), cell(Y), X != Y.",
        ]
        self.background = "\n".join(facts) + "\n"
        known = {"rows_columns": 2, "rows": 1, "cells": 0}.get(self.knowledge, 3)
        groups = [
            f"#modeb({sign}{kind}(var(cell), var({kind}))).\n"
            for sign in ("", "not ")
            for kind in _GROUPS[:known]
        ]
        self.bias = _PROGRAMS["bias"].format(
            groups="".join(groups[:known]), negative="".join(groups[known:]) if n <= 4 else ""
        )
        self.true_rule = "".join(
            f"invalid :- digit(A, N), digit(B, N), neq(A, B), {kind}(A, G), {kind}(B, G).\n"
            for kind in _GROUPS
        )
        self.inputs = "{ digit(C, V) : num(V) } 1 :- row(C, _)."

    def _reduced_knowledge(self) -> None:
        n, (rows, columns) = self.n, self.block
        self.background = _PROGRAMS["reduced_background"].format(n=n, most=n - 1)
        self.bias = _PROGRAMS["reduced_bias"].format(
            quotients="\n".join(f"#constant(quotient, {c})." for c in range(1, n))
        )
        self.true_rule = (
            "invalid :- digit(R, C, V), digit(R, D, V), C != D.\n"
            "invalid :- digit(R, C, V), digit(S, C, V), R != S.\n"
            f"invalid :- digit(R, C, V), digit(S, D, V), (R, C) != (S, D), "
            f"(R-1)/{rows} = (S-1)/{rows}, (C-1)/{columns} = (D-1)/{columns}.\n"
        )
        self.inputs = "{ digit(R, C, V) : num(V) } 1 :- idx1(R), idx2(C)."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Generate valid puzzles and puzzles with one changed digit, by default half each.

        A third of the changed puzzles each repeat a digit in a row, a column and a block. A hash decides
        whether a puzzle may be valid or changed, so no changed puzzle also occurs as a valid one.
        """
        total = self.test_size if part == "test" else self.size(size)
        taken = () if exclude is None else (exclude.concepts + 1).astype(np.int8)
        forbidden = {row.tobytes() for row in taken}
        side = rng.integers(1, 2**63, dtype=np.uint64)
        distinct = part == "test"
        broken = total * self.invalid // 100
        grids = [self._collect(total - broken, None, side, rng, forbidden, distinct)]
        for kind, count in enumerate(_divide(broken, self.shares)):
            grids.append(self._collect(count, kind, side, rng, forbidden, distinct))
        labels = np.repeat(np.array([VALID, INVALID], np.int16), [total - broken, broken])
        concepts = np.concatenate(grids).astype(np.int16) - 1  # an empty cell, 0, becomes BLANK
        order = rng.permutation(total)
        return Split(part, self.concept_space, concepts[order], labels[order])

    def _collect(
        self,
        count: int,
        kind: int | None,
        side: np.uint64,
        rng: np.random.Generator,
        forbidden: set[bytes],
        distinct: bool,
    ) -> Ints8:
        """int8 [wanted, cells]: valid grids, or ones that break the rules in one kind of way."""
        from .sudoku_puzzles import make_puzzles, violate

        seen = set(forbidden)
        drawn: list[Ints8] = []
        vain = 0
        while len(drawn) < count:
            if vain > _MOST_SEEDS:
                raise UserError(
                    f"{self.name} has only {len(drawn)} different grids of one kind, but the split needs "
                    f"{count}; use fewer examples."
                )
            before = len(drawn)
            seeds = rng.integers(1, 2**63, max(256, int(2.2 * (count - len(drawn)))), dtype=np.uint64)
            grids = make_puzzles(seeds, self.block, self._least)
            chosen = _hash_bit(grids, side) == (kind is not None)
            grids, seeds = grids[chosen], seeds[chosen]
            if kind is not None:
                grids, done = violate(seeds, grids, self.block, np.full(len(grids), kind))
                grids = grids[done]
            for grid in grids:
                key = grid.tobytes()
                if key in seen:
                    continue
                drawn.append(grid)
                if distinct:
                    seen.add(key)
                if len(drawn) == count:
                    break
            vain = 0 if len(drawn) > before else vain + len(seeds)
        return np.array(drawn, np.int8).reshape(-1, self.n**2)

    def layout(self) -> Layout:
        return Layout(self.n, self.n, self.block)

    def marked(self, concepts: Ints16, label: int) -> tuple[int, ...]:
        """Cells whose digit is repeated in their row, column or block."""
        n, (rows, columns) = self.n, self.block
        r, c = np.divmod(np.arange(n * n), n)
        block = r // rows * n + c // columns
        together = (r[:, None] == r) | (c[:, None] == c) | (block[:, None] == block)
        clash = together & (concepts[:, None] == concepts) & (concepts != BLANK) & ~np.eye(n * n, dtype=bool)
        return tuple(np.flatnonzero(clash.any(axis=1)).tolist())

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        row, column = divmod(slot, self.n)
        if self.knowledge == "reduced":
            return (f"digit({row + 1},{column + 1},{concept})",)
        return (f'digit("{row + 1}, {column + 1}",{concept})',)

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, cells]: the digits row by row, 0 for an empty cell."""
        return (concepts + 1).astype(np.float32)

    def knowledge_features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, 3]: whether a digit repeats in a row, in a column, in a block."""
        n, (rows, columns) = self.n, self.block
        grids = np.asarray(concepts).reshape(-1, n, n)
        blocks = grids.reshape(-1, n // rows, rows, n // columns, columns).swapaxes(2, 3).reshape(-1, n, n)
        repeats = np.zeros((len(grids), 3), np.bool_)
        for digit in range(len(self.concept_space)):
            for k, view in enumerate((grids, grids.swapaxes(1, 2), blocks)):
                repeats[:, k] |= ((view == digit).sum(axis=2) > 1).any(axis=1)
        return repeats.astype(np.float32)

    def knowledge_bodies(self) -> tuple[str, ...]:
        """The bodies of the true rule: it is these three features together."""
        return tuple(rule.partition(" :- ")[2].rstrip(".") for rule in self.true_rule.splitlines())

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        return ("same_row", "same_column", "same_block") if knowledge else self.slots

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        path = folder / "test.csv" if part == "test" else folder / size / f"train_{repeat}.csv"
        grids, labels, images = [], [], []
        values = {"_": BLANK, "0": BLANK, **self.concept_space.ids}
        for line, row in read_csv(path, ["puzzle", "label"], ["images"]):
            cells = [values.get(cell) for cell in row["puzzle"].split()]
            if len(cells) != self.n**2 or None in cells:
                raise UserError(
                    f"{path}, line {line}: the grid must have {self.n**2} digits between 0 and {self.n}."
                )
            if row["label"] not in self.labels.names:
                raise UserError(f"{path}, line {line}: label must be valid or invalid; got '{row['label']}'.")
            grids.append(cells)
            labels.append(self.labels.names.index(row["label"]))
            shown = row["images"].split()
            if shown and [cell.isdecimal() for cell in shown] != [cell != BLANK for cell in cells]:
                raise UserError(
                    f"{path}, line {line}: images must have the number of an image for each digit, and _ for "
                    f"each empty cell; got '{row['images']}'."
                )
            images += [[BLANK if cell == "_" else int(cell) for cell in shown]] if shown else []
        split = Split(part, self.concept_space, np.array(grids, np.int16), np.array(labels, np.int16))
        return replace(split, images=np.array(images, np.int32))


def _divide(n: int, shares: Sequence[int]) -> list[int]:
    """n in parts of these shares; what rounding leaves over goes to the largest remainders."""
    parts = [n * share // sum(shares) for share in shares]
    rest = sorted(range(len(shares)), key=lambda k: -(n * shares[k] % sum(shares)))
    for k in rest[: n - sum(parts)]:
        parts[k] += 1
    return parts


def _hash_bit(grids: Ints8, side: np.uint64) -> Bools:
    """bool [m]: one pseudo-random bit of each grid, the same wherever the grid turns up."""
    state = np.full(len(grids), side, np.uint64)
    for column in grids.T:
        state = (state ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(29)
    bit: Bools = (state >> np.uint64(40)) & np.uint64(1) == 1
    return bit
