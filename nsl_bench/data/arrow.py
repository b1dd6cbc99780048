"""A `Dataset` as an Arrow file in the cache folder, with what it is in its schema's meta-data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench import cache

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset

__all__ = ["About", "kept", "save", "schema"]

_ROWS_A_BATCH = 100
_NAME_LENGTH = 100
_UNREADABLE = (OSError, ValueError, KeyError, TypeError)
"""What a file raises that is missing or damaged."""


@dataclass(frozen=True)
class About:
    """What a data set says about itself: text, licence, citation, content hash."""

    description: str
    licence: str
    citation: str
    content_hash: str


def schema(labels: Sequence[str], metadata: Mapping[str, str], about: About) -> pa.Schema:
    """The columns of examples with decoded images.

    Args:
        labels: their names.
        metadata: name and type of each symbolic meta-datum.
        about: kept in the schema.
    """
    import datasets

    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "images": datasets.List(datasets.Image()),
            "concepts": datasets.List(datasets.Value("string")),
            "label": datasets.ClassLabel(names=list(labels)),
            "shifted": datasets.Value("bool"),
            **{name: datasets.Value(kind) for name, kind in metadata.items()},
        }
    )
    columns = features.arrow_schema
    header = json.loads(columns.metadata[b"huggingface"])
    header["info"]["description"] = f"{about.description} Content hash: {about.content_hash}"
    header["info"]["license"] = about.licence
    header["info"]["citation"] = about.citation
    return columns.with_metadata({b"huggingface": json.dumps(header).encode()})


def save(path: Path, columns: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to an Arrow file."""
    import pyarrow as pa

    with (
        cache.replacing(path) as temporary,
        pa.OSFile(str(temporary), "wb") as file,
        pa.ipc.new_stream(file, columns) as writer,
    ):
        left = iter(rows)
        while batch := list(islice(left, _ROWS_A_BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=columns))


def kept(name: str, identity: str, write: Callable[[Path], None]) -> Dataset:
    """The data set of this identity from the cache folder; written there first if need be.

    Several processes that ask for the same one wait for the one that writes it. A damaged file is written
    again.
    """
    short = re.sub(r"[^\w.-]+", "_", name.partition(":")[0], flags=re.ASCII)[:_NAME_LENGTH]
    path = cache.folder("datasets") / f"{short}-{identity}.arrow"
    with suppress(*_UNREADABLE):
        return _open(path)
    with cache.lock(path):
        with suppress(*_UNREADABLE):
            return _open(path)
        write(path)
    return _open(path)


def _open(path: Path) -> Dataset:
    import datasets
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        columns = pa.ipc.open_stream(file).schema
    info = json.loads(columns.metadata[b"huggingface"])["info"]
    about = datasets.DatasetInfo(
        description=info["description"],
        license=info["license"],
        citation=info["citation"],
        features=datasets.Features.from_arrow_schema(columns),
    )
    return datasets.Dataset.from_file(str(path), info=about)
