"""A `Dataset` as an Arrow file in the cache folder, with what it is in its schema's meta-data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core import cache

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features, IterableDataset

COLUMNS = 2
"""Version of the columns of the kept files; others are not found again."""

_ROWS_A_BATCH = 100
_NAME_LENGTH = 100
_UNREADABLE = (OSError, ValueError, KeyError, TypeError)
"""What a file raises that is missing or damaged."""


@dataclass(frozen=True)
class About:
    """What a data set says about itself: description, licence, citation, and content hash if it is known."""

    description: str
    licence: str
    citation: str
    content_hash: str | None = None

    @property
    def text(self) -> str:
        """The description, which ends with the content hash."""
        if self.content_hash is None:
            return self.description
        return f"{self.description} Content hash: {self.content_hash}"


def said_steps(steps: int) -> str:
    """What a description says about the length of sequences; nothing where rows are no steps."""
    return f" Steps in each sequence: {steps}." if steps > 1 else ""


def stated_steps(description: str) -> int | None:
    """The length of sequences that a description states; None if it states none, or several."""
    stated = set(re.findall(r"Steps in each sequence: (\d+)\.", description or ""))
    return int(stated.pop()) if len(stated) == 1 else None


def schema(features: Features, about: About) -> pa.Schema:
    """The columns with decoded images, and what the data set is, which stands in their meta-data."""
    columns = features.arrow_schema
    header = json.loads(columns.metadata[b"huggingface"])
    header["info"]["description"] = about.text
    header["info"]["license"] = about.licence
    header["info"]["citation"] = about.citation
    return columns.with_metadata({b"huggingface": json.dumps(header).encode()})


def streamed(
    features: Features, about: About, rows: Callable[..., Iterator[Mapping[str, Any]]], **arguments: Any
) -> IterableDataset:
    """An `IterableDataset` of rows that are made when they are asked for.

    Args:
        rows: gives the rows, in Arrow's terms.
        arguments: of `rows`; lists are divided among a `DataLoader`'s workers.
    """
    import datasets

    stream = datasets.IterableDataset.from_generator(rows, features=features, gen_kwargs=arguments)
    stream.info.description = about.text
    stream.info.license = about.licence
    stream.info.citation = about.citation
    return stream


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
