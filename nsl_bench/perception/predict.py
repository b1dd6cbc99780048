"""Cached predictions of a network for the images of a split. Each image is rendered and predicted once.

The cache has one parquet file for each network, image source, part of the pool and shift. Digests of the
images, which a split's content hash needs, are cached in the same way, without the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD, Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Array, Bools, Floats32, Ints, PoolPart, Predictions, Split, UInts8
from nsl_bench.core.workers import spread
from nsl_bench.data.content import DIGEST_BYTES, chunks, image_digest, render
from nsl_bench.perception.network import Network
from nsl_bench.perception.training import kept_memory

_CHUNK = 128
_BLOCK = 512
"""Images that a process does before it looks what others have done."""

_BLOCKS = 64
"""Most blocks of a table that can be told apart; each has a lock file."""

_TRIES = 3
"""How often images are done again whose rows another process removed meanwhile."""

_WORTH_SECONDS = 6.0
"""More processes are started only to save more than this much rendering."""

_Images = tuple[ImageSource, PoolPart, Shift | None]
"""A part of a source's pool, shifted if there is a shift."""


def predict(
    network: Network,
    source: ImageSource,
    part: PoolPart,
    shift: Shift | None,
    indices: Ints,
    *,
    workers: int = 1,
) -> tuple[Floats32, UInts8]:
    """Predict the concepts of images of a pool.

    Args:
        indices: int64 [m], indices of the images.

    Returns:
        Concept probabilities, float32 [m, concepts], and digests of the images, uint8 [m, 16].
    """
    distinct, places = np.unique(indices, return_inverse=True)
    seen = _Table("predictions", "probabilities", np.dtype(np.float32), len(network.concepts))
    tables = {
        _path("predictions", source, part, shift, network.fingerprint()): seen,
        _path("digests", source, part, shift): _digests(),
    }

    def look(images: UInts8) -> tuple[Array, ...]:
        return _probabilities(network, images), _hash(images)

    with kept_memory():
        probabilities, digests = _rows(tables, distinct, look, (source, part, shift), workers)
    places = places.reshape(np.shape(indices))
    return probabilities[places], digests[places]


def predictions_of(
    split: Split, source: ImageSource, shift: Shift | None, network: Network, *, workers: int = 1
) -> Predictions:
    """A network's predictions for a split: of shifted images in shifted examples, else of standard images."""
    blank = split.images == BLANK
    probabilities = np.zeros((*split.images.shape, len(network.concepts)), np.float32)
    for rows, change in _renderings(split, shift):
        indices = split.images[rows].astype(np.int64)
        probabilities[rows] = predict(network, source, split.pool, change, indices, workers=workers)[0]
    return Predictions(probabilities, blank)


def image_digests(split: Split, source: ImageSource, shift: Shift | None, *, workers: int = 1) -> UInts8:
    """uint8 [n, slots, 16]: the digest of each image of a split; zeros for a blank slot."""
    result = np.zeros((*split.images.shape, DIGEST_BYTES), np.uint8)
    for rows, change in _renderings(split, shift):
        indices = split.images[rows].astype(np.int64)
        distinct, places = np.unique(indices, return_inverse=True)
        (digests,) = _rows(
            {_path("digests", source, split.pool, change): _digests()},
            distinct,
            lambda images: (_hash(images),),
            (source, split.pool, change),
            workers,
        )
        result[rows] = digests[places]
    return result


def _rows(
    tables: Mapping[Path, _Table],
    images_asked: Ints,
    look: Callable[[UInts8], tuple[Array, ...]],
    images: _Images,
    workers: int,
) -> list[Array]:
    """Rows of cached tables; those that one of them lacks are made for all.

    Args:
        images_asked: int64 [m], images, ascending.
        look: gives the rows of some images for each table.
    """

    def read() -> list[tuple[Ints, Array]]:
        return [table.read(path) for path, table in tables.items()]

    def missing() -> Ints:
        return _missing(images_asked, read())

    for _ in range(_TRIES):
        for todo in _in_turns(next(iter(tables)), missing, workers):
            rendered = [look(chunk) for chunk in _rendered(images, todo, workers)]
            for (path, table), rows in zip(tables.items(), zip(*rendered, strict=True), strict=True):
                table.merge(path, todo, np.concatenate(rows))
        result = read()
        if not len(_missing(images_asked, result)):
            return [rows[np.searchsorted(table_rows, images_asked)] for table_rows, rows in result]
    raise UserError(f"Files in the cache folder {cache.folder()} are removed during the run; try again.")


def _missing(images_asked: Ints, tables: Sequence[tuple[Ints, Array]]) -> Ints:
    """The images that one of the tables lacks."""
    lacking = [np.setdiff1d(images_asked, table_rows) for table_rows, _ in tables]
    return np.unique(np.concatenate(lacking))


def _in_turns(path: Path, missing: Callable[[], Ints], workers: int) -> Iterator[Ints]:
    """The images that a table lacks, in blocks, of which no other process does the same one meanwhile.

    Processes that need the same images begin with different blocks, and read what the others have done.

    Args:
        missing: reads which images it lacks, ascending.
        workers: rendering processes of this one; with several, everything is one block.
    """
    if workers > 1:
        if len(todo := missing()):
            yield todo
        return
    blocks = np.unique(missing() // _BLOCK).tolist()
    for wait in (False, True):
        for block in list(blocks):
            with cache.lock(path.with_name(f"{path.stem}-{block % _BLOCKS}"), wait=wait) as mine:
                if mine:
                    blocks.remove(block)
                    todo = missing()
                    todo = todo[todo // _BLOCK == block]
                    if len(todo):
                        yield todo


def _renderings(split: Split, shift: Shift | None) -> Iterator[tuple[Bools, Shift | None]]:
    """The slots [n, slots] with a standard image, then those with a shifted one, as far as there are any."""
    if split.n_shifted and shift is None:
        raise ValueError("some examples are shifted, but no shift is given")
    full = split.images != BLANK
    for shifted, change in ((False, None), (True, shift)):
        rows = full & (split.shifted == shifted)[:, None]
        if rows.any():
            yield rows, change


def _probabilities(network: Network, images: UInts8) -> Floats32:
    """float32 [m, concepts]: what a network says about images."""
    result = network.predict_proba(images)
    if not np.isfinite(result).all():
        raise UserError(f"The network {network.name} returned NaN or infinite probabilities; train it again.")
    return result


def _hash(images: UInts8) -> UInts8:
    joined = b"".join(image_digest(image) for image in images)
    return np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES)


def _digests() -> _Table:
    return _Table("digests", "digest", np.dtype(np.uint8), DIGEST_BYTES)


def _path(kind: str, source: ImageSource, part: PoolPart, shift: Shift | None, network: str = "") -> Path:
    change = STANDARD if shift is None else shift.spec
    if shift is not None and shift.version != "1":
        change = f"{change}@{shift.version}"
    name = cache.key(kind, network, source.name, source.fingerprint(), part, change)
    return cache.folder(kind) / f"{source.name}-{part}-{name}.parquet"


class _Table:
    """Rows of numbers by image, in a parquet file that several processes may add to.

    Args:
        kind: what the rows are, for messages.
        column: the name of their column.
    """

    def __init__(self, kind: str, column: str, dtype: np.dtype[Any], width: int) -> None:
        self.kind, self.column, self.dtype, self.width = kind, column, dtype, width

    def read(self, path: Path) -> tuple[Ints, Array]:
        """The images, ascending, and their rows [m, width]. A file that is not whole counts as none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        empty = np.empty(0, np.int64), np.empty((0, self.width), self.dtype)
        try:
            table = pq.read_table(pa.BufferReader(path.read_bytes()))  # by its path it would be opened twice
            images, lists = (table[name].combine_chunks() for name in ("image", self.column))
            flat = lists.flatten()
            if images.null_count or lists.null_count or flat.null_count:
                raise ValueError("a cell is empty")
            indices = images.to_numpy().astype(np.int64)
            rows = flat.to_numpy().astype(self.dtype).reshape(len(indices), self.width)
            if (np.diff(indices) <= 0).any() or not np.isfinite(rows).all():
                raise ValueError("the images are out of order, or a value is NaN")
            return indices, rows
        except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError):
            return empty

    def merge(self, path: Path, indices: Ints, rows: Array) -> None:
        """Add rows to the file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with cache.lock(path):
            old, old_rows = self.read(path)
            remaining = ~np.isin(old, indices)
            everything = np.concatenate([old[remaining], indices])
            order = np.argsort(everything)
            everything = everything[order]
            values = np.concatenate([old_rows[remaining], rows.astype(self.dtype)])[order]
            column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), self.width)
            table = pa.table({"image": pa.array(everything, pa.int32()), self.column: column})
            with cache.replacing(path) as temporary:
                pq.write_table(table, temporary, compression="zstd")


def _rendered(images: _Images, indices: Ints, workers: int) -> Iterator[UInts8]:
    """Images in chunks, in order; by several processes if what the first chunk took says that it pays."""
    first, *rest = chunks(indices, _CHUNK)
    started = time.perf_counter()
    chunk = _render(images, first)
    left = (time.perf_counter() - started) * len(rest)
    yield chunk
    yield from spread(_render, images, rest, workers if left > _WORTH_SECONDS else 1)


def _render(images: _Images, rows: Ints) -> UInts8:
    source, part, shift = images
    return render(source, shift, part, rows)
