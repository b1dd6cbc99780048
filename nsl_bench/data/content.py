"""What a data set holds: its images as PNG files, and the content hash, whatever library wrote the files.

The hash covers canonical rows: concepts, label and meta-data by name (of sequences also the sequence and the
step), the shifted flag, and every image's shape and decoded pixels. A split in memory and the `Dataset` made
of it have the same hash.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.pictures import check_pixels
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Ints, PoolPart, Split, UInts8
from nsl_bench.data.rows import OWN, known_columns

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset
    from PIL import Image


DIGEST_BYTES = 16


def image_digest(image: UInts8) -> bytes:
    """16 bytes that stand for an image, uint8 [height, width, channels]: its shape and its pixels."""
    whole = np.ascontiguousarray(image)
    digest = hashlib.blake2b(f"{whole.shape}".encode(), digest_size=DIGEST_BYTES)
    digest.update(whole.data)
    return digest.digest()


def canonical_row(
    concepts: Sequence[str | None],
    label: str,
    metadata: Mapping[str, Any],
    shifted: bool,
    digests: Sequence[str | None],
) -> bytes:
    """What the content hash covers of an example.

    Args:
        concepts: their names, None for a blank.
        digests: each image's digest in hexadecimal digits, None for a blank; empty: without images.
    """
    row = [list(concepts), label, dict(metadata), shifted, list(digests)]
    return json.dumps(row, sort_keys=True, ensure_ascii=False).encode()


def canonical_rows(split: Split, labels: Sequence[str], digests: UInts8 | None = None) -> Iterator[bytes]:
    """The canonical row of each example of a split; `digests` as for `content_hash`."""
    names = split.concept_space.concepts
    shifted = split.shifted.tolist()
    columns = {name: column.tolist() for name, column in known_columns(split).items()}
    for i, label in enumerate(split.labels.tolist()):
        concepts = [None if c == BLANK else names[c] for c in split.concepts[i].tolist()]
        images: list[str | None] = []
        if digests is not None:
            text, width = digests[i].tobytes().hex(), 2 * DIGEST_BYTES
            images = [
                None if c is None else text[k * width : (k + 1) * width] for k, c in enumerate(concepts)
            ]
        metadata = {name: column[i] for name, column in columns.items()}
        yield canonical_row(concepts, labels[label], metadata, shifted[i], images)


def content_hash(split: Split, benchmark: Benchmark, digests: UInts8 | None = None) -> str:
    """The hash of a split, 64 hexadecimal digits.

    Args:
        digests: uint8 [n, slots, 16], each image's digest; None leaves images out (symbolic data).
    """
    total = hashlib.sha256()
    for row in canonical_rows(split, benchmark.labels.names, digests):
        total.update(row + b"\n")
    return total.hexdigest()


def dataset_hash(dataset: Dataset | IterableDataset) -> str:
    """The hash of what `nsl_bench.load` gives, from its decoded pixels."""
    total = hashlib.sha256()
    labels = dataset.features["label"].names
    names = dataset.features["concepts"].feature.names
    metadata = [name for name in dataset.features if name not in OWN]
    for row in dataset:
        concepts = [None if c == BLANK else names[c] for c in row["concepts"]]
        digests = [
            None if concept is None else image_digest(pixels(image)).hex()
            for concept, image in zip(concepts, row["images"], strict=True)
        ]
        values = {name: row[name] for name in metadata}
        total.update(canonical_row(concepts, labels[row["label"]], values, row["shifted"], digests) + b"\n")
    return total.hexdigest()


def pixels(picture: Image.Image) -> UInts8:
    """uint8 [height, width, channels] of a picture in levels of grey or colour."""
    if picture.mode not in ("L", "LA", "RGB", "RGBA"):
        raise ValueError(f"the image mode must be 8-bit grey or colour; got {picture.mode}")
    result: UInts8 = np.asarray(picture)
    return result[..., None] if result.ndim == 2 else result


CHUNK = 256
"""Images rendered at a time."""

_LEVEL = 3
"""Of zlib. Higher ones take half as long again and save nothing on drawn or handwritten images."""

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""What PNG calls grey, grey with alpha, colours, colours with alpha: by number of channels."""


def chunks(rows: Ints, size: int = CHUNK) -> Iterator[Ints]:
    """Consecutive pieces of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def render(source: ImageSource, shift: Shift | None, part: PoolPart, indices: Ints) -> UInts8:
    """uint8 [m, height, width, channels]: images of a part of the pool, shifted if there is a shift.

    Raises:
        UserError: the source or the shift, which may be a user's, gives something else.
    """
    if shift is None:
        images, maker = source.render(part, indices, source.variants[0]), f"image source {source.name}"
    else:
        images, maker = shift.render(source, part, indices), f"shift '{shift.spec}'"
    right = (len(indices), *source.shape)
    if images.dtype != np.uint8 or images.shape != right:
        raise UserError(
            f"The {maker} must return uint8 images of shape {list(right)}; "
            f"got {images.dtype} {list(images.shape)}."
        )
    return images


def png(image: UInts8) -> bytes:
    """An image, uint8 [height, width, channels], as a PNG file.

    Rows are stored as they are: filters, which Pillow chooses for each row, take twice as long, make drawn
    images larger by a sixth, and photographs smaller by a fifteenth.
    """
    height, width, channels = image.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = image.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), _LEVEL)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def blank(shape: Sequence[int]) -> bytes:
    """The PNG file that stands in a blank slot: all black, of the shape [height, width, channels]."""
    return png(np.zeros(tuple(shape), np.uint8))


def encode(image: UInts8) -> tuple[bytes, bytes]:
    """An image, uint8 [height, width, channels], as a PNG file, and its digest."""
    return png(image), image_digest(image)


def decode(file: bytes) -> UInts8:
    """uint8 [height, width, channels] from the bytes of a PNG file, as `datasets` shows it."""
    import datasets
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(file), formats=["PNG"]) as picture:
            check_pixels(picture, "The image")
            return pixels(datasets.Image().decode_example({"bytes": file, "path": None}))
    except UnidentifiedImageError as error:
        raise OSError("not a PNG file") from error
    except (SyntaxError, ValueError, Image.DecompressionBombError, UserError) as error:
        raise OSError(str(error)) from error
