"""The parquet files of a data set: which rows each holds, and how one is written.

Files are pieces of work of their own: any process can write any of them, and one that is there need not
be written again. What stands in which file depends on the plan alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import refusing
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Ints, PoolPart, Split
from nsl_bench.data.content import CHUNK, blank, chunks, encode, render
from nsl_bench.data.recipe import IMAGES
from nsl_bench.data.rows import examples_table, images_table

if TYPE_CHECKING:
    import pyarrow as pa

_FILE_BYTES = 2**27
_GROUP_BYTES = 2**25
_GROUP_ROWS = 8192
_CACHE_BYTES = 2**22
_PNG_SHARE = 0.4
"""Bytes of an image as a PNG file, as a share of its bytes as pixels: a rough guess."""

STATE = ".state"
"""Folder of what is kept only as long as a data set is not whole."""

BYTES_KEY = b"nsl_bench.bytes"
"""Key of the file's meta-data under which its rows' size in memory stands."""


def pool_split(config: str, part: PoolPart) -> str:
    """The split of the pool that holds a part's images, standard or shifted: ``"a"``, ``"noir_b"``."""
    return part if config == "standard" else f"{config}_{part}"


@dataclass(frozen=True, eq=False)
class Pool:
    """A split of the pool.

    Attributes:
        part: of the source's pool.
        shift: that its images have gone through.
        indices: int64 [m], ascending: the source's images that it holds.
        bounds: first row of each file, and the number of rows.
    """

    split: str
    part: PoolPart
    shift: Shift | None
    indices: Ints
    bounds: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Examples:
    """A split of a configuration of examples.

    Attributes:
        config: e.g. ``"noir"``.
        split: e.g. ``"train_2"``.
        pool: split of the pool that its images are from; None: no images.
        references: column to the split of the pool that it refers to.
        bounds: first row of each file, and the number of rows.
    """

    config: str
    split: str
    pool: str | None
    references: Mapping[str, str]
    schema: pa.Schema
    bounds: tuple[int, ...]


@dataclass(frozen=True)
class Shard:
    """One file.

    Attributes:
        config: ``"images"`` or a configuration of examples.
        number: which of the split's files, from 0.
        rows: first row, and the row after the last one.
    """

    config: str
    split: str
    number: int
    path: str
    rows: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Shared:
    """What every file is made from.

    Attributes:
        pool_schema: of the pool's rows.
        pools: by name of the split.
        splits: the examples by name of the split.
        tables: the configurations of examples by configuration and split.
        pooled: whether the data set has the pool as a configuration of its own; it is made in any case.
    """

    folder: Path
    source: ImageSource
    pool_schema: pa.Schema
    pools: Mapping[str, Pool]
    splits: Mapping[str, Split]
    tables: Mapping[tuple[str, str], Examples]
    pooled: bool

    def shards(self, config: str, split: str) -> list[Shard]:
        """The files of a split."""
        table = self.pools[split] if config == IMAGES else self.tables[config, split]
        pairs = list(zip(table.bounds, table.bounds[1:], strict=False))
        folder = config if self.pooled or config != IMAGES else f"{STATE}/{config}"
        return [
            Shard(config, split, k, f"{folder}/{split}-{k:05d}-of-{len(pairs):05d}.parquet", pair)
            for k, pair in enumerate(pairs)
        ]


def ranges(n: int, images_a_row: float, shape: Sequence[int]) -> tuple[int, ...]:
    """First row of each file of n rows, and n."""
    step = max(1, int(_FILE_BYTES / (images_a_row * _guess(shape) + 100)))
    pieces = max(1, -(-n // step))
    return tuple(n * k // pieces for k in range(pieces + 1))


def _guess(shape: Sequence[int]) -> float:
    return float(np.prod(np.asarray(shape, np.float64)) * _PNG_SHARE + 100)


def _group(images_a_row: float, shape: Sequence[int]) -> int:
    """Rows in a row group: readers decode one whole."""
    return max(1, min(_GROUP_ROWS, int(_GROUP_BYTES / (images_a_row * _guess(shape) + 100))))


def write(shared: Shared, shard: Shard) -> None:
    """Write a file, if it is not there."""
    path = shared.folder / shard.path
    if _rows(path) == shard.rows[1] - shard.rows[0]:
        return
    with refusing(f"The folder {path.parent} cannot be created"):
        path.parent.mkdir(parents=True, exist_ok=True)
    if shard.config == IMAGES:
        tables = list(_images(shared, shard))
        _save(path, tables, ["id", "digest", "image.path"])
    else:
        tables = list(_examples(shared, shard))
        _save(path, tables, True)


def _rows(path: Path) -> int | None:
    """Number of rows of a parquet file; None if there is no such file or it is not whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return None


def _save(path: Path, tables: list[pa.Table], dictionary: bool | list[str]) -> None:
    """A row group a table. Images that repeat in a group are stored once, in its dictionary."""
    import pyarrow.parquet as pq

    size = sum(table.nbytes for table in tables)
    schema = tables[0].schema
    schema = schema.with_metadata({**schema.metadata, BYTES_KEY: str(size).encode()})
    plain = [name for name in schema.names if name not in ("image", "images")]
    with (
        cache.replacing(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            compression="none",
            use_dictionary=dictionary,
            dictionary_pagesize_limit=2**30,
            write_statistics=plain,
            write_page_index=True,
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=len(table) or 1)


def _images(shared: Shared, shard: Shard) -> Iterator[pa.Table]:
    pool = shared.pools[shard.split]
    concepts = shared.source.labels(pool.part)
    mine = pool.indices[slice(*shard.rows)]
    for rows in chunks(mine, _group(1, shared.source.shape)):
        files, digests = [b""] * len(rows), [b""] * len(rows)
        at_a_time = max(1, min(CHUNK, _CACHE_BYTES // int(np.prod(shared.source.shape))))
        # Concept by concept and a few at a time: what they are made of stays in the processor's cache.
        for piece in chunks(np.argsort(concepts[rows], kind="stable"), at_a_time):
            images = render(shared.source, pool.shift, pool.part, rows[piece])
            for place, image in zip(piece.tolist(), images, strict=True):
                files[place], digests[place] = encode(image)
        yield images_table(shard.split, rows, concepts[rows], files, digests, shared.pool_schema)


def _examples(shared: Shared, shard: Shard) -> Iterator[pa.Table]:
    import pyarrow as pa

    table = shared.tables[shard.config, shard.split]
    examples = shared.splits[shard.split]
    start, stop = shard.rows
    numbers = examples.images[start:stop]
    images = None
    group = _GROUP_ROWS
    if table.pool is not None:
        distinct = np.unique(numbers[numbers != BLANK]).astype(np.int64)
        files = _files(shared, table.pool, distinct)
        images = distinct, pa.concat_arrays([files, pa.array([blank(shared.source.shape)], files.type)])
        group = _group(float((numbers != BLANK).sum() / max(1, len(numbers))), shared.source.shape)
    for first in range(start, stop, group):
        rows = range(first, min(first + group, stop))
        yield examples_table(examples, rows, table.schema, table.references, images)


def _files(shared: Shared, pool_split: str, wanted: Ints) -> pa.Array:
    """Image files [m] of the pool, binary, for ascending indices [m] of the source."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    pool = shared.pools[pool_split]
    places = np.searchsorted(pool.indices, wanted)
    pieces: list[Any] = []
    for shard in shared.shards(IMAGES, pool_split):
        mine = places[(places >= shard.rows[0]) & (places < shard.rows[1])] - shard.rows[0]
        if len(mine):
            table = pq.read_table(shared.folder / shard.path, columns=["image"])
            pieces += pc.struct_field(table["image"], "bytes").take(pa.array(mine)).chunks
    return pa.concat_arrays(pieces) if pieces else pa.array([], pa.binary())
