"""The content hash: what a data set holds, whatever file format and library version hold it.

It covers canonical rows: concepts, label and meta-data by name, the shifted flag, and every image's shape
and decoded pixels. A split in memory and the `Dataset` made of it have the same hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.benchmark import Benchmark
from nsl_bench.types import Split

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["content_hash", "dataset_hash", "image_digest"]

DIGEST_BYTES = 16


def image_digest(image: npt.NDArray[np.uint8]) -> bytes:
    """16 bytes that stand for an image, uint8 [height, width, channels]: its shape and its pixels."""
    pixels = np.ascontiguousarray(image)
    return hashlib.blake2b(f"{pixels.shape}".encode() + pixels.tobytes(), digest_size=DIGEST_BYTES).digest()


def _row(
    concepts: Sequence[str | None],
    label: str,
    metadata: Mapping[str, Any],
    shifted: bool,
    digests: Iterable[bytes | None],
) -> bytes:
    images = [None if digest is None else digest.hex() for digest in digests]
    row = [list(concepts), label, dict(metadata), shifted, images]
    return json.dumps(row, sort_keys=True, ensure_ascii=False).encode()


def content_hash(split: Split, benchmark: Benchmark, digests: npt.NDArray[np.uint8] | None = None) -> str:
    """The hash of a split, 64 hexadecimal digits.

    Args:
        split: n examples.
        benchmark: names the labels.
        digests: uint8 [n, slots, 16], each image's digest; None leaves images out (symbolic data).
    """
    total = hashlib.sha256()
    for i, example in enumerate(split):
        row: list[bytes | None] = []
        if digests is not None:
            row = [
                None if concept is None else digests[i, slot].tobytes()
                for slot, concept in enumerate(example.concepts)
            ]
        label = benchmark.labels.names[example.label]
        total.update(_row(example.concepts, label, example.metadata, example.shifted, row) + b"\n")
    return total.hexdigest()


def dataset_hash(dataset: Dataset) -> str:
    """The hash of a `Dataset` that `nsl_bench.load` made, from its decoded pixels."""
    total = hashlib.sha256()
    names = dataset.features["label"].names
    known = {"id", "images", "concepts", "label", "shifted"}
    for row in dataset:
        metadata = {key: value for key, value in row.items() if key not in known}
        digests = [None if image is None else image_digest(_pixels(image)) for image in row.get("images", ())]
        label = names[row["label"]]
        total.update(_row(row["concepts"], label, metadata, row["shifted"], digests) + b"\n")
    return total.hexdigest()


def _pixels(image: Any) -> npt.NDArray[np.uint8]:
    pixels: npt.NDArray[np.uint8] = np.asarray(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels
