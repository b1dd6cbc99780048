"""Held-out images that are copies of an image in an earlier part of a pool, or that look like one.

Copies have the same bytes or the same pixels, whatever their format and their tags. Images look alike if
their grey values on a grid of 8 x 8 do, in one of eight positions (turned and mirrored): a perceptual hash
with levels instead of bits.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.pictures import in_bytes, opaque, opened, upright

_VERSION = 1
"""Of what is found; other ones are not taken from the cache."""

_SIDE = 8
_DECODED = 128
"""Least side of the picture that is decoded for the grid; JPEG files can be decoded smaller than they are."""

_ALIKE = 0.12
"""Greatest difference of two grids that look alike, in standard deviations of the flatter one.

PlantVillage's images at a half or a third of their size, mirrored, turned, or compressed at quality 10 to 60
differ from the originals by up to 0.1. Of 1,380 different ones, no two differ by less than 0.25.
"""

_EQUAL = 0.5
"""Greatest difference, in levels of grey, of images without contrast whose pixels are compared."""

_NEAREST = 8
"""Images of earlier parts that are compared with one; the nearest ones."""

_ROWS = 512
"""Images compared at a time."""

Grids = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Copies:
    """Held-out files, each with the file of an earlier part that it repeats.

    Attributes:
        same: the pixels are the same.
        alike: the images look alike: resized, recompressed, turned or mirrored.
    """

    same: dict[Path, Path]
    alike: dict[Path, Path]


def content(file: Path) -> str:
    """A hash of a file's bytes."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise UserError(f"The image {file} cannot be read ({error.strerror}).") from error


def find_copies(parts: Sequence[Sequence[Path]]) -> Copies:
    """The copies in later parts of files in earlier ones; kept in the cache until a file changes.

    Args:
        parts: image files of each part, in order. Damaged ones, which are reported when they are used, are
            copies of nothing.
    """
    files = [file for part in parts for file in part]
    status = [file.stat() for file in files]
    stated = [
        (str(file), one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino)
        for file, one in zip(files, status, strict=True)
    ]
    lengths = [len(part) for part in parts]
    kept = cache.folder("copies") / f"{cache.key(_VERSION, PIL.__version__, lengths, stated)}.json"
    try:
        same, alike = json.loads(kept.read_text(encoding="ascii"))
    except (OSError, ValueError):
        part_of = np.repeat(np.arange(len(parts)), lengths)
        same, alike = _found(files, part_of, np.array([one.st_size for one in status]))
        with cache.replacing(kept) as temporary:
            temporary.write_text(json.dumps([list(same.items()), list(alike.items())]), encoding="ascii")
    pairs = [
        {files[later]: files[earlier] for later, earlier in dict(found).items()} for found in (same, alike)
    ]
    return Copies(*pairs)


def _found(
    files: Sequence[Path], part_of: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> tuple[dict[int, int], dict[int, int]]:
    """Numbers of files in later parts with those in earlier ones: the same, and alike."""
    same = _same_bytes(files, part_of, sizes)
    alike: dict[int, int] = {}
    grids = _grids(files)
    digest = lru_cache(maxsize=None)(lambda k: _pixels(files[k]))
    for later, earlier, near in _neighbours(grids, part_of):
        if later in same:
            continue
        if (found := digest(later)) and found == digest(earlier):
            same[later] = earlier
            alike.pop(later, None)
        elif near:
            alike.setdefault(later, earlier)
    return same, alike


def _same_bytes(
    files: Sequence[Path], part_of: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> dict[int, int]:
    """Files with the bytes of a file in an earlier part; only files of one size are read."""
    of_size: dict[int, list[int]] = {}
    for k, size in enumerate(sizes.tolist()):
        of_size.setdefault(size, []).append(k)
    same: dict[int, int] = {}
    for group in of_size.values():
        if len({part_of[k] for k in group}) < 2:
            continue
        first: dict[str, int] = {}
        for k in group:
            original = first.setdefault(content(files[k]), k)
            if part_of[original] < part_of[k]:
                same[k] = original
    return same


def _grids(files: Sequence[Path]) -> Grids:
    """float32 [n, 8, 8]: mean levels of grey of each image's cells; NaN for those that cannot be read."""
    from tqdm import tqdm

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        drawn = threads.map(_grid, files)
        shown = tqdm(drawn, "comparing images", len(files), unit="image", disable=None, leave=False)
        return np.array(list(shown), np.float32).reshape(-1, _SIDE, _SIDE)


def _grid(file: Path) -> Grids:
    """float32 [8, 8]: mean levels of grey of an image's cells."""
    try:
        with opened(file) as picture:
            picture.draft("RGB", (_DECODED, _DECODED))
            grey = opaque(in_bytes(upright(picture))).convert("L")
    except UserError:
        return np.full((_SIDE, _SIDE), np.nan, np.float32)
    return np.asarray(grey.resize((_SIDE, _SIDE), Image.Resampling.BOX), np.float32)


def _pixels(file: Path) -> bytes:
    """A hash of an image's size and pixels; nothing if it cannot be read."""
    try:
        with opened(file) as picture:
            colours = np.asarray(opaque(in_bytes(upright(picture))))
    except UserError:
        return b""
    return hashlib.blake2b(
        np.ascontiguousarray(colours).data, person=f"{colours.shape}".encode()[:16]
    ).digest()


def _positions(grids: Grids) -> Grids:
    """float32 [8, ...]: grids, turned by right angles and mirrored."""
    turned = [np.rot90(grids, k, axes=(-2, -1)) for k in range(4)]
    return np.stack([*turned, *(np.flip(one, -1) for one in turned)])


def _neighbours(grids: Grids, part_of: npt.NDArray[np.int64]) -> list[tuple[int, int, bool]]:
    """Pairs of a file and one of an earlier part, nearest first, and whether they look alike."""
    positions = _positions(grids)
    # The mean of all positions is the same for all of them, and never farther apart than the images.
    means = positions.mean(0).reshape(len(grids), -1)
    contrast = grids.reshape(len(grids), -1).std(1)
    reach = np.maximum(_ALIKE * contrast, _EQUAL)
    result = []
    for part in range(1, int(part_of.max(initial=0)) + 1):
        earlier = np.flatnonzero((part_of < part) & np.isfinite(contrast))
        later = np.flatnonzero((part_of == part) & np.isfinite(contrast))
        for rows in np.array_split(later, len(later) // _ROWS + 1):
            apart = _apart(means[rows], means[earlier])
            for row, distances in zip(rows.tolist(), apart, strict=True):
                near = np.flatnonzero(distances <= reach[row])
                for k in earlier[near[np.argsort(distances[near], kind="stable")[:_NEAREST]]].tolist():
                    difference = np.sqrt(((positions[:, row] - grids[k]) ** 2).mean((1, 2))).min()
                    alike = bool(difference <= _ALIKE * min(contrast[row], contrast[k]))
                    if alike or difference <= _EQUAL:
                        result.append((row, k, alike))
    return result


def _apart(one: Grids, other: Grids) -> Grids:
    """float32 [n, m]: root mean square differences of the rows of two arrays."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1)[None] - 2 * one @ other.T
    return np.asarray(np.sqrt(np.maximum(squares, 0) / one.shape[1]), np.float32)
