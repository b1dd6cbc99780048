"""The rows of a data set's parquet files: columns, how they are filled, and the mark of each row.

Every configuration has plain columns that `datasets` reads without this package: images of the pool,
symbolic examples, and examples with their images, standard or shifted. No column holds nulls, so that
every format of `datasets` gives tensors, and a PyTorch `DataLoader` batches: a blank slot has the concept -1,
a black image of the usual shape, and ``""`` as the id of its image.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Array, Ints, Ints16, Split

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Features

OWN = ("id", "images", "concepts", "label", "shifted", "rank", "standard_images", "shifted_images")
"""Columns of the examples; the others are references to shifted images, and meta-data."""


SEQUENCE_COLUMNS = ("sequence", "step")
"""Columns of data sets whose rows are steps of sequences; they stand where meta-data do."""


def known_columns(split: Split) -> Mapping[str, Array]:
    """Meta-data by name, [n] each; of sequences also `SEQUENCE_COLUMNS`."""
    if not split.is_sequential:
        return split.metadata
    clash = [name for name in SEQUENCE_COLUMNS if name in split.metadata]
    if clash:
        raise UserError(
            f"The metadata name '{clash[0]}' is also a column of the data set; rename the metadata."
        )
    return {**split.metadata, "sequence": split.sequences, "step": split.steps}


def pool_features(concepts: Sequence[str]) -> Features:
    """Columns of the images of the pool: id, image, concept, digest of the pixels."""
    import datasets

    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "image": datasets.Image(),
            "concept": datasets.ClassLabel(names=list(concepts)),
            "digest": datasets.Value("string"),
        }
    )


def example_features(
    labels: Sequence[str],
    concepts: Sequence[str],
    metadata: Mapping[str, str],
    references: Sequence[str],
    *,
    images: bool = True,
) -> Features:
    """Columns of examples.

    Args:
        metadata: name and type of each symbolic meta-datum.
        references: names of the columns that refer to images of the pool.
        images: whether there are decoded images, and whether each example's are shifted.
    """
    import datasets

    clash = [name for name in metadata if name in OWN or name in references]
    if clash:
        raise UserError(
            f"The metadata name '{clash[0]}' is also a column of the data set; rename the metadata."
        )
    text = datasets.Value("string")
    return datasets.Features(
        {
            "id": text,
            **({"images": datasets.List(datasets.Image())} if images else {}),
            "concepts": datasets.List(datasets.ClassLabel(names=list(concepts))),
            "label": datasets.ClassLabel(names=list(labels)),
            **({"shifted": datasets.Value("bool")} if images else {}),
            **{name: datasets.Value(kind) for name, kind in metadata.items()},
            "rank": datasets.Value("int32"),
            **dict.fromkeys(references, datasets.List(text)),
        }
    )


def example_references(config: str | None) -> list[str]:
    """The columns of a configuration with images that refer to the pool; None: no shift."""
    return ["standard_images"] if config is None else ["standard_images", "shifted_images"]


def metadata_types(metadata: Mapping[str, Array]) -> dict[str, str]:
    """What `datasets` calls the type of each column."""
    return {
        name: "string" if column.dtype.kind == "U" else str(column.dtype) for name, column in metadata.items()
    }


def image_ids(pool_split: str, indices: Iterable[int]) -> list[str]:
    """What images of a split of the pool are called: ``"a-12"``, ``"noir_b-7"``."""
    return [f"{pool_split}-{i}" for i in indices]


def images_table(
    pool_split: str,
    indices: Ints,
    concepts: Ints16,
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
    images: tuple[Ints, pa.Array] | None = None,
) -> pa.Table:
    """Some rows of a split.

    Args:
        schema: of `example_features`.
        references: column of references to the split of the pool that it refers to.
        images: indices [m] into the pool, ascending, and image files [m + 1]: one of each, and last the
            one of a blank slot.
    """
    import pyarrow as pa

    which = slice(rows.start, rows.stop)
    numbers = examples.images[which].astype(np.int64)
    blank = numbers == BLANK
    used = np.unique(numbers[~blank])
    place = np.where(blank, len(used), np.searchsorted(used, numbers))
    columns: dict[str, Any] = {
        "id": pa.array([f"{examples.part}-{i}" for i in rows]),
        "concepts": _lists(pa.array(examples.concepts[which].astype(np.int64).reshape(-1)), numbers.shape),
        "label": pa.array(examples.labels[which].astype(np.int64)),
        "rank": pa.array(examples.ranks[which].astype(np.int32)),
        **{name: pa.array(column[which]) for name, column in known_columns(examples).items()},
        **{
            name: _taken(pa.array([*image_ids(pool_split, used.tolist()), ""]), place)
            for name, pool_split in references.items()
        },
    }
    if images is not None:
        indices, files = images
        place = np.where(blank, len(indices), np.searchsorted(indices, numbers))
        pictures = pa.StructArray.from_arrays([files, pa.nulls(len(files), pa.string())], ["bytes", "path"])
        columns["images"] = _taken(pictures, place)
        columns["shifted"] = pa.array(np.full(len(rows), "shifted_images" in references))
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _taken(values: pa.Array, place: Ints) -> pa.ListArray:
    """A list a row: the values at these places [m, slots]."""
    import pyarrow as pa

    return _lists(values.take(pa.array(place.reshape(-1))), place.shape)


def _lists(values: pa.Array, shape: tuple[int, ...]) -> pa.ListArray:
    """Values [rows x slots] as a list a row."""
    import pyarrow as pa

    rows, slots = shape
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * slots), values)


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
