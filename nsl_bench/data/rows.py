"""The rows of a data set's parquet files: columns, how they are filled, and the mark of each row.

Every configuration has plain columns that `datasets` reads without this package: images of the pool,
symbolic examples, and examples with their images, standard or shifted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.types import BLANK, ConceptSpace, LabelSpace, Split

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "OWN",
    "example_schema",
    "examples_table",
    "image_ids",
    "images_table",
    "pool_row",
    "pool_schema",
    "row_mark",
]

OWN = ("id", "images", "concepts", "label", "rank", "standard_images", "shifted_images")
"""Columns of the examples; the others are references to shifted images, and meta-data."""


def pool_schema(concepts: ConceptSpace) -> pa.Schema:
    """Columns of the images of the pool: id, image, concept, digest of the pixels."""
    import datasets

    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "image": datasets.Image(),
            "concept": datasets.ClassLabel(names=list(concepts.concepts)),
            "digest": datasets.Value("string"),
        }
    )
    return features.arrow_schema


def example_schema(
    labels: LabelSpace, metadata: Mapping[str, npt.NDArray[Any]], references: Sequence[str], *, images: bool
) -> pa.Schema:
    """Columns of examples.

    Args:
        labels: their names.
        metadata: a column each.
        references: names of the columns that refer to images of the pool.
        images: whether there is a column of decoded images.
    """
    import datasets

    clash = [name for name in metadata if name in OWN or name in references]
    if clash:
        raise UserError(f"A meta-datum cannot be called '{clash[0]}': the data set has such a column.")
    texts = datasets.List(datasets.Value("string"))
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            **({"images": datasets.List(datasets.Image())} if images else {}),
            "concepts": texts,
            "label": datasets.ClassLabel(names=list(labels.names)),
            **{name: datasets.Value(_type(column)) for name, column in metadata.items()},
            "rank": datasets.Value("int32"),
            **dict.fromkeys(references, texts),
        }
    )
    return features.arrow_schema


def _type(column: npt.NDArray[Any]) -> str:
    return "string" if column.dtype.kind == "U" else str(column.dtype)


def image_ids(pool_split: str, indices: Iterable[int]) -> list[str]:
    """What images of a split of the pool are called: ``"a-12"``, ``"noir_b-7"``."""
    return [f"{pool_split}-{i}" for i in indices]


def images_table(
    pool_split: str,
    indices: npt.NDArray[np.int64],
    concepts: npt.NDArray[np.int16],
    files: Sequence[bytes],
    digests: Sequence[bytes],
    schema: pa.Schema,
) -> pa.Table:
    """Rows of the pool: images [m] of one of its splits."""
    import pyarrow as pa

    files_column = pa.array(files, pa.binary())
    images = pa.StructArray.from_arrays([files_column, pa.nulls(len(files), pa.string())], ["bytes", "path"])
    columns = [
        pa.array(image_ids(pool_split, indices.tolist())),
        images,
        pa.array(concepts.astype(np.int64)),
        pa.array([digest.hex() for digest in digests], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def examples_table(
    examples: Split,
    rows: range,
    schema: pa.Schema,
    references: Mapping[str, str],
    images: tuple[npt.NDArray[np.int64], pa.Array] | None = None,
) -> pa.Table:
    """Some rows of a split.

    Args:
        examples: n examples.
        rows: which of them.
        schema: from `example_schema`.
        references: column of references to the split of the pool that it refers to.
        images: indices into the pool, ascending, and the image file of each.
    """
    import pyarrow as pa

    which = slice(rows.start, rows.stop)
    shown = examples.images[which].astype(np.int64)
    used, place = np.unique(shown, return_inverse=True)
    place = place.reshape(shown.shape)
    blank = shown == BLANK
    columns: dict[str, Any] = {
        "id": pa.array([f"{examples.part}-{i}" for i in rows]),
        "concepts": _lists(
            pa.array(examples.concept_space.concepts), examples.concepts[which], examples.concepts[which] < 0
        ),
        "label": pa.array(examples.labels[which].astype(np.int64)),
        "rank": pa.array(examples.ranks[which].astype(np.int32)),
        **{name: pa.array(column[which]) for name, column in examples.metadata.items()},
        **{
            name: _lists(pa.array(image_ids(pool_split, used.tolist())), place, blank)
            for name, pool_split in references.items()
        },
    }
    if images is not None:
        indices, files = images
        columns["images"] = _lists(files, np.searchsorted(indices, shown), blank, image=True)
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _lists(
    values: pa.Array, place: npt.NDArray[Any], blank: npt.NDArray[np.bool_], *, image: bool = False
) -> pa.ListArray:
    """A list a row: the values at these places [m, slots], null where a slot is blank."""
    import pyarrow as pa

    rows, slots = place.shape
    taken = values.take(pa.array(np.where(blank, 0, place).reshape(-1), mask=blank.reshape(-1)))
    if image:
        parts = [taken, pa.nulls(len(taken), pa.string())]
        taken = pa.StructArray.from_arrays(parts, ["bytes", "path"], mask=pa.array(blank.reshape(-1)))
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * slots)
    return pa.ListArray.from_arrays(offsets, taken)


def pool_row(concept: str, digest: str) -> bytes:
    """What the content hash covers of an image of the pool; the digest in hexadecimal digits."""
    return json.dumps([concept, digest], ensure_ascii=False).encode()


def row_mark(row: bytes, *others: Any) -> str:
    """32 hexadecimal digits that stand for a row.

    Args:
        row: canonical (`nsl_bench.data.content.canonical_row`).
        others: its id, rank and references.
    """
    text = json.dumps(others, ensure_ascii=False).encode()
    return hashlib.blake2b(text + b"\n" + row, digest_size=16).hexdigest()
