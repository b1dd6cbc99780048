"""Sudoku puzzles with exactly one solution, made fast and reproducibly.

Puzzle ``i`` of a seed is a pure function of the seed and ``i``, so any number of threads makes the same
ones. A random full grid loses clues for as long as the solution stays unique: singly, or in pairs that are
each other's mirror image, as in printed puzzles. Solving is backtracking over the cell with the fewest
candidates, on bit masks, compiled by numba.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.compiling import numba as nb
from nsl_bench.core.types import Array, Bools, Ints, UInts64

Grids = npt.NDArray[np.int8]

ROW, COLUMN, BLOCK = 0, 1, 2

_ONE: Any = np.int64(1)
_TWO: Any = np.int64(2)
_SYMMETRIES: Any = np.int64(5)
"""Not plain numbers: for each of these a function would be compiled once more."""


@nb.njit(cache=True, nogil=True)
def _next(state: Array) -> Any:
    """splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def _below(state: Array, n: int) -> Any:
    return np.int64(_next(state) % np.uint64(n))


@nb.njit(cache=True, nogil=True)
def _shuffled(state: Array, n: int) -> Array:
    """0..n-1 in random order."""
    items = np.empty(n, np.int64)
    for i in range(n):
        items[i] = i
    for i in range(n - 1, 0, -1):
        j = _below(state, i + 1)
        items[i], items[j] = items[j], items[i]
    return items


@nb.njit(cache=True, nogil=True)
def _lines(state: Array, n: int, width: int) -> Array:
    """0..n-1 with groups of `width` permuted, and the lines within each group."""
    lines = np.empty(n, np.int64)
    groups = _shuffled(state, n // width)
    at = 0
    for group in groups:
        for line in _shuffled(state, width):
            lines[at] = group * width + line
            at += 1
    return lines


@nb.njit(cache=True, nogil=True)
def _full_grid(state: Array, n: int, block_rows: int, block_columns: int) -> Array:
    """A full grid: the canonical one with digits, rows, columns, bands and stacks permuted."""
    digits = _shuffled(state, n)
    rows = _lines(state, n, block_rows)
    columns = _lines(state, n, block_columns)
    grid = np.empty(n * n, np.int8)
    for r in range(n):
        for c in range(n):
            base = (rows[r] % block_rows) * block_columns + rows[r] // block_rows + columns[c]
            grid[r * n + c] = digits[base % n] + 1
    return grid


@nb.njit(cache=True, nogil=True)
def _solutions(
    grid: Array, n: int, block_rows: int, block_columns: int, limit: int, state: Array, solution: Array
) -> int:
    """The number of solutions, at most `limit`; the first one found is left in `solution`.

    A state that is not zero makes the order of the digits tried random.
    """
    full = np.int64((1 << n) - 1)
    used_row = np.zeros(n, np.int64)
    used_column = np.zeros(n, np.int64)
    used_block = np.zeros(n, np.int64)
    per_row = n // block_columns
    empty = np.empty(n * n, np.int64)
    open_cells = 0
    for cell in range(n * n):
        r, c = cell // n, cell % n
        solution[cell] = grid[cell]
        if grid[cell] == 0:
            empty[open_cells] = cell
            open_cells += 1
            continue
        bit = np.int64(1) << (grid[cell] - 1)
        b = (r // block_rows) * per_row + c // block_columns
        if (used_row[r] | used_column[c] | used_block[b]) & bit:
            return 0
        used_row[r] |= bit
        used_column[c] |= bit
        used_block[b] |= bit
    if open_cells == 0:
        return 1
    work = solution.copy()
    candidates = np.zeros(open_cells, np.int64)
    chosen = np.zeros(open_cells, np.int64)
    result = 0
    depth = 0
    fresh = True
    while depth >= 0:
        if fresh:
            best, best_mask, best_count = depth, np.int64(0), n + 1
            for k in range(depth, open_cells):
                r, c = empty[k] // n, empty[k] % n
                b = (r // block_rows) * per_row + c // block_columns
                mask = full & ~(used_row[r] | used_column[c] | used_block[b])
                count = 0
                rest = mask
                while rest:
                    rest &= rest - 1
                    count += 1
                if count < best_count:
                    best, best_mask, best_count = k, mask, count
                    if count <= 1:
                        break
            empty[depth], empty[best] = empty[best], empty[depth]
            candidates[depth] = best_mask
        else:
            cell = empty[depth]
            r, c = cell // n, cell % n
            b = (r // block_rows) * per_row + c // block_columns
            used_row[r] &= ~chosen[depth]
            used_column[c] &= ~chosen[depth]
            used_block[b] &= ~chosen[depth]
        mask = candidates[depth]
        if mask == 0:
            depth -= 1
            fresh = False
            continue
        bit = mask & -mask
        if state[0] != 0:
            count = 0
            rest = mask
            while rest:
                rest &= rest - 1
                count += 1
            for _ in range(_below(state, count)):
                mask &= mask - 1
            bit = mask & -mask
        candidates[depth] &= ~bit
        cell = empty[depth]
        r, c = cell // n, cell % n
        b = (r // block_rows) * per_row + c // block_columns
        used_row[r] |= bit
        used_column[c] |= bit
        used_block[b] |= bit
        chosen[depth] = bit
        digit = 0
        rest = bit
        while rest:
            rest >>= 1
            digit += 1
        work[cell] = digit
        if depth == open_cells - 1:
            if result == 0:
                for i in range(n * n):
                    solution[i] = work[i]
            result += 1
            if result >= limit:
                return result
            fresh = False
        else:
            depth += 1
            fresh = True
    return result


@nb.njit(cache=True, nogil=True)
def _twin(cell: int, n: int, symmetry: int) -> int:
    """The cell that loses its clue together with `cell`: itself, or its image under a symmetry."""
    r, c = cell // n, cell % n
    if symmetry == 1:
        return n * n - 1 - cell
    if symmetry == 2:
        return (n - 1 - r) * n + c
    if symmetry == 3:
        return r * n + n - 1 - c
    if symmetry == 4:
        return c * n + r
    return cell


@nb.njit(cache=True, nogil=True)
def _puzzles(seeds: Array, n: int, block_rows: int, block_columns: int, least: int, out: Array) -> None:
    cells = n * n
    still = np.zeros(1, np.uint64)
    scratch = np.empty(cells, np.int8)
    for k in range(len(seeds)):
        state = np.array([seeds[k]], np.uint64)
        grid = _full_grid(state, n, block_rows, block_columns)
        if n <= 9:
            # Permutations of the canonical grid are few of all grids: keep one band, fill the rest anew.
            for cell in range(cells):
                scratch[cell] = grid[cell] if cell < n * block_rows else 0
            _solutions(scratch, n, block_rows, block_columns, _ONE, state, grid)
        symmetry = _below(state, _SYMMETRIES)
        order = _shuffled(state, cells)
        clues = cells
        for k_cell in range(cells):
            cell = order[k_cell]
            twin = _twin(cell, n, symmetry)
            gone = 1 if twin == cell else 2
            if grid[cell] == 0 or twin < cell or clues - gone < least:
                continue
            a, b = grid[cell], grid[twin]
            grid[cell] = 0
            grid[twin] = 0
            if _solutions(grid, n, block_rows, block_columns, _TWO, still, scratch) == 1:
                clues -= gone
            else:
                grid[cell] = a
                grid[twin] = b
        for cell in range(cells):
            out[k, cell] = grid[cell]


@nb.njit(cache=True, nogil=True)
def _violations(
    seeds: Array, grids: Array, n: int, block_rows: int, block_columns: int, kinds: Array, done: Array
) -> None:
    cells = n * n
    options = np.empty((cells * n, 2), np.int64)
    for k in range(len(grids)):
        grid = grids[k]
        count = 0
        for cell in range(cells):
            if grid[cell] == 0:
                continue
            r, c = cell // n, cell % n
            for digit in range(1, n + 1):
                if digit == grid[cell]:
                    continue
                clash = np.zeros(3, np.bool_)
                for other in range(cells):
                    if other == cell or grid[other] != digit:
                        continue
                    q, d = other // n, other % n
                    clash[ROW] |= q == r
                    clash[COLUMN] |= d == c
                    clash[BLOCK] |= (
                        q // block_rows == r // block_rows and d // block_columns == c // block_columns
                    )
                if clash[kinds[k]] and clash.sum() == 1:
                    options[count, 0] = cell
                    options[count, 1] = digit
                    count += 1
        done[k] = count > 0
        if count:
            state = np.array([seeds[k]], np.uint64)
            pick = _below(state, count)
            grid[options[pick, 0]] = options[pick, 1]


def make_puzzles(seeds: UInts64, block: tuple[int, int], least: int = 0, threads: int = 2) -> Grids:
    """int8 [len(seeds), n * n]: one puzzle a seed, each with exactly one solution.

    Args:
        seeds: one a puzzle, not 0.
        block: rows and columns of a block; the grid's side is their product.
        least: clues are taken away no further than this.
        threads: how many to use; the puzzles do not depend on it.
    """
    n = block[0] * block[1]
    out = np.zeros((len(seeds), n * n), np.int8)
    pieces = np.array_split(np.arange(len(seeds)), max(1, min(threads * 4, len(seeds) // 64)))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda rows: _fill(seeds, rows, n, block, least, out), pieces))
    return out


def _fill(seeds: UInts64, rows: Ints, n: int, block: tuple[int, int], least: int, out: Grids) -> None:
    if len(rows):
        _puzzles(seeds[rows], n, *block, least, out[rows[0] : rows[-1] + 1])


def violate(seeds: UInts64, grids: Grids, block: tuple[int, int], kinds: Ints) -> tuple[Grids, Bools]:
    """Change one digit of each valid grid so that it clashes in one way only.

    Args:
        grids: int8 [m, n * n], left as they are.
        kinds: [m], 0: a row holds a digit twice, 1: a column, 2: a block.

    Returns:
        The changed grids, and bool [m]: whether a grid could be changed in the wished way.
    """
    changed, done = grids.copy(), np.zeros(len(grids), np.bool_)
    _violations(seeds, changed, block[0] * block[1], *block, kinds, done)
    return changed, done
