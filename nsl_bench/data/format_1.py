"""Folders of format 1, which nsl-bench 0.1 wrote: their columns, and their rows in today's columns.

Concepts were names, and a blank slot had null for its concept, its image and its image's id. Nothing said
whether a row was shifted but the configuration that it stood in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.data.images import blank, decode
from nsl_bench.types import BLANK

if TYPE_CHECKING:
    from datasets import Features

__all__ = ["Upgrade", "former_features"]


def former_features(features: Features) -> Features:
    """The columns of format 1 that became these."""
    import datasets

    former = {name: kind for name, kind in features.items() if name != "shifted"}
    if "concepts" in former:
        former["concepts"] = datasets.List(datasets.Value("string"))
    return datasets.Features(former)


class Upgrade:
    """Makes today's rows of those of a split.

    Args:
        files: of the split.
        concepts: their names.
        references: columns that refer to images of the pool.
        shifted: whether the images of the split are shifted.
    """

    def __init__(
        self, files: Sequence[Path], concepts: Sequence[str], references: Sequence[str], shifted: bool
    ) -> None:
        self._files = files
        self._ids = {name: i for i, name in enumerate(concepts)}
        self._references = references
        self._shifted = shifted

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with a concept, an image and an id in every slot.

        Raises:
            KeyError: it names a concept that there is not.
        """
        concepts = [BLANK if name is None else self._ids[name] for name in row["concepts"]]
        ids = {name: [one or "" for one in row[name]] for name in self._references}
        upgraded = {**row, "concepts": concepts, **ids}
        if "images" in row:
            black = {"bytes": self._blank, "path": None} if None in row["images"] else None
            upgraded["images"] = [black if image is None else image for image in row["images"]]
            upgraded["shifted"] = self._shifted
        return upgraded

    @cached_property
    def _blank(self) -> bytes:
        """A black image of the shape of the split's first one; of one pixel if it has none."""
        first = next(self._images(), None)
        return blank((1, 1, 1) if first is None else np.shape(decode(first["bytes"])))

    def _images(self) -> Iterator[dict[str, Any]]:
        import pyarrow.parquet as pq

        for file in self._files:
            with pq.ParquetFile(file) as table:
                for batch in table.iter_batches(1, columns=["images"]):
                    for images in batch.column(0).to_pylist():
                        yield from (image for image in images if image is not None)
