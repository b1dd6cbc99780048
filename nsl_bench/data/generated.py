"""Examples that are generated here, as a Hugging Face `Dataset` in the cache folder or as a stream.

Their columns are those of a generated folder's parquet files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import STANDARD, Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Bools, Ints, PoolPart, Split, UInts8
from nsl_bench.core.workers import spread
from nsl_bench.data.arrow import COLUMNS, About, kept, said_steps, save, schema, streamed
from nsl_bench.data.content import DIGEST_BYTES, blank, chunks, content_hash, encode, render
from nsl_bench.data.recipe import config_name
from nsl_bench.data.rows import example_features, example_references, image_ids, known_columns, metadata_types
from nsl_bench.data.shards import pool_split

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset

_CHUNK = 64
"""Rows of a stream that are rendered at a time, and images that a process encodes at a time."""


@dataclass(frozen=True, eq=False)
class Generated:
    """Examples with images that a benchmark and an image source make.

    Attributes:
        shift: of the shifted ones; None: none is named.
    """

    task: Benchmark
    source: ImageSource
    shift: Shift | None
    examples: Split

    @cached_property
    def config(self) -> str | None:
        """What a generated folder calls the shift."""
        return None if self.shift is None else config_name(self.shift, self.task, self.source)

    @cached_property
    def features(self) -> Features:
        """The columns."""
        return example_features(
            self.task.labels.names,
            self.task.concept_space.concepts,
            metadata_types(known_columns(self.examples)),
            example_references(self.config),
        )

    @property
    def _steps(self) -> int:
        """Rows of each sequence; 1 where rows are no steps."""
        return int(self.examples.steps.max(initial=1))

    def about(self, digests: UInts8 | None = None) -> About:
        """What the data set is, with its content hash if the images' digests are known."""
        task, source = self.task, self.source
        return About(
            f"{task.name} {task.version}: {task.description} Images: {source.name} {source.version}."
            f"{said_steps(self._steps)}",
            source.licence,
            source.citation,
            None if digests is None else content_hash(self.examples, task, digests),
        )

    def kept(self, workers: int) -> Dataset:
        """The data set in the cache folder."""
        shift = self.shift if self.examples.n_shifted else None
        identity = cache.key(
            COLUMNS,
            self.task.name,
            self.task.version,
            self.task.concept_space.concepts,
            self.source.name,
            self.source.fingerprint(),
            [shift.spec, shift.version] if shift else STANDARD,
            self.config,
            content_hash(self.examples, self.task),
            cache.key(self.examples.images.tobytes().hex(), self.examples.ranks.tolist()),
            *([said_steps(self._steps)] if self._steps > 1 else []),
        )

        def write(path: Path) -> None:
            everything = range(len(self.examples))
            encoded = _Encoded(self.source, self.shift, self.examples, everything, workers)
            rows = _rows(encoded, self.examples, everything, self.config)
            save(path, schema(self.features, self.about(encoded.digests)), rows)

        return kept(self.task.name, identity, write)

    def streamed(self) -> IterableDataset:
        """The data set as its rows are asked for; the chunks are divided among those who ask."""
        n = len(self.examples)
        pieces = [range(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK)]
        return streamed(
            self.features,
            self.about(),
            _streamed_rows,
            pieces=pieces,
            parts=(self.source, self.shift, self.examples, self.config),
        )


def _streamed_rows(
    pieces: Sequence[range], parts: tuple[ImageSource, Shift | None, Split, str | None]
) -> Iterator[dict[str, Any]]:
    source, shift, examples, config = parts
    for rows in pieces:
        yield from _rows(_Encoded(source, shift, examples, rows, 1), examples, rows, config)


def _rows(encoded: _Encoded, examples: Split, rows: range, config: str | None) -> Iterator[dict[str, Any]]:
    """The rows in Arrow's terms, every column by its name."""
    standard = pool_split(STANDARD, examples.pool)
    others = {} if config is None else {"shifted_images": pool_split(config, examples.pool)}
    references = {"standard_images": standard, **others}
    are_shifted, columns = examples.shifted.tolist(), known_columns(examples)
    for i in rows:
        images, shifted = examples.images[i].tolist(), are_shifted[i]
        files = [encoded.blank if k == BLANK else encoded.png[shifted, k] for k in images]
        yield {
            "id": f"{examples.part}-{i}",
            "images": [{"bytes": file, "path": None} for file in files],
            "concepts": examples.concepts[i].tolist(),
            "label": int(examples.labels[i]),
            "shifted": shifted,
            **{name: column[i].item() for name, column in columns.items()},
            "rank": int(examples.ranks[i]),
            **{
                name: ["" if k == BLANK else image_ids(split, [k])[0] for k in images]
                for name, split in references.items()
            },
        }


class _Encoded:
    """The PNG files of the images that rows of a split refer to, and their digests.

    Attributes:
        png: (shifted, image's index) to the bytes of a PNG file.
        blank: the PNG file of a blank slot.
        digests: uint8 [n, slots, 16], zeros for other rows and blank slots.
    """

    def __init__(
        self, source: ImageSource, shift: Shift | None, examples: Split, rows: range, workers: int
    ) -> None:
        self.blank = blank(source.shape)
        self.png: dict[tuple[bool, int], bytes] = {}
        by_image: dict[tuple[bool, int], bytes] = {}
        asked: Bools = np.zeros(len(examples), np.bool_)
        asked[rows.start : rows.stop] = True
        visible = (examples.images != BLANK) & asked[:, None]
        for shifted in (False, True):
            used = (examples.shifted == shifted)[:, None] & visible
            indices = np.unique(examples.images[used]).astype(np.int64)
            change = shift if shifted else None
            jobs: list[_Chunk] = [(change, rows) for rows in chunks(indices, _CHUNK)]
            for (_, chunk), files in zip(
                jobs, spread(_encode, (source, examples.pool), jobs, workers), strict=True
            ):
                for index, (png, digest) in zip(chunk.tolist(), files, strict=True):
                    self.png[shifted, index] = png
                    by_image[shifted, index] = digest
        self.digests = np.zeros((*examples.images.shape, DIGEST_BYTES), np.uint8)
        shifted_rows = examples.shifted.tolist()
        for i, slot in np.argwhere(visible).tolist():
            digest = by_image[shifted_rows[i], int(examples.images[i, slot])]
            self.digests[i, slot] = np.frombuffer(digest, np.uint8)


_Shared = tuple[ImageSource, PoolPart]
_Chunk = tuple[Shift | None, Ints]


def _encode(shared: _Shared, chunk: _Chunk) -> list[tuple[bytes, bytes]]:
    source, part = shared
    shift, indices = chunk
    return [encode(image) for image in render(source, shift, part, indices)]
