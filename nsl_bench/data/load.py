"""`nsl_bench.load`: a benchmark's examples as a Hugging Face `Dataset`.

The data set is made once and kept as an Arrow file in the cache folder; each image is rendered and encoded
once, however many examples refer to it. Rendering is spread over worker processes; the rows do not depend
on how many.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench import cache, registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.data.content import DIGEST_BYTES, content_hash
from nsl_bench.data.images import chunks, encode, render
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.errors import UserError, unknown
from nsl_bench.shift import STANDARD, Shift, resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import BLANK, PoolPart, Split
from nsl_bench.workers import spread

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["load"]

_CHUNK = 64
_ROWS_A_BATCH = 100


def load(
    benchmark: str,
    *,
    split: str = "train",
    size: str = "small",
    repeat: int = 1,
    shift: str = STANDARD,
    percent: float | None = None,
    source: str | None = None,
    seed: int = 0,
    splits: str | Path | None = None,
    workers: int = 1,
) -> Dataset:
    """Examples with decoded images.

    Args:
        benchmark: name of a benchmark, with options if need be (``"follow_suit"``).
        split: ``"train"`` or ``"test"``.
        size: size of the train set, e.g. ``"small"``.
        repeat: which of the independent train sets, from 1.
        shift: name or spec of a shift, e.g. ``"noir"``, ``"rotate:90"``.
        percent: share of the examples that are shifted; 100 if a shift is named, else 0.
        source: spec of an image source; the benchmark's embedded one by default.
        seed: another seed gives other examples.
        splits: folder of splits made elsewhere, to be used in place of generated ones.
        workers: processes that render; the rows do not depend on it.

    Returns:
        A `Dataset` with the columns ``id``, ``images`` (a list with one image a slot, None for a blank),
        ``concepts`` (likewise, their names), ``label``, ``shifted``, and one a meta-datum. Its
        ``info.description`` ends with the content hash.

    Raises:
        UserError: an unknown name, or a percentage out of range.
    """
    if split not in ("train", "test"):
        raise unknown("split", split, ("train", "test"))
    task: Benchmark = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    change = resolve(shift, task, images)
    if percent is None:
        percent = 100.0 if change else 0.0
    if percent and change is None:
        raise UserError(f"{percent:g} % of the examples cannot be shifted without a shift; name one.")
    folder = None if splits is None else Path(splits)
    examples = make_split(
        task,
        images,
        "train" if split == "train" else "test",
        size,
        repeat,
        percent=percent,
        seed=seed,
        splits=folder,
    )
    identity = cache.key(
        task.name,
        task.version,
        images.name,
        images.fingerprint(),
        change.spec if change and examples.n_shifted else STANDARD,
        content_hash(examples, task),
        cache.key(examples.images.tobytes().hex()),
    )
    path = cache.folder("datasets") / f"{task.name.partition(':')[0]}-{identity}.arrow"
    if not path.is_file():
        with cache.lock(path):
            if not path.is_file():
                _write(path, task, images, change, examples, workers)
    return _open(path)


def _open(path: Path) -> Dataset:
    import datasets
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_stream(file).schema
    info = json.loads(schema.metadata[b"huggingface"])["info"]
    about = datasets.DatasetInfo(
        description=info["description"],
        license=info["license"],
        citation=info["citation"],
        features=datasets.Features.from_arrow_schema(schema),
    )
    return datasets.Dataset.from_file(str(path), info=about)


def _write(
    path: Path, task: Benchmark, source: ImageSource, shift: Shift | None, examples: Split, workers: int
) -> None:
    import pyarrow as pa

    encoded = _Encoded(source, shift, examples, workers)
    schema = _schema(task, examples)
    with cache.replacing(path) as temporary, pa.OSFile(str(temporary), "wb") as file:
        digest = content_hash(examples, task, encoded.digests)
        schema = _describe(schema, task, source, digest)
        with pa.ipc.new_stream(file, schema) as writer:
            for start in range(0, len(examples), _ROWS_A_BATCH):
                rows = [
                    _row(examples, i, encoded)
                    for i in range(start, min(start + _ROWS_A_BATCH, len(examples)))
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _row(examples: Split, i: int, encoded: _Encoded) -> dict[str, Any]:
    example = examples[i]
    images = [
        None if ref is None else {"bytes": encoded.png[ref.shifted, ref.index], "path": None}
        for ref in example.images
    ]
    return {
        "id": example.id,
        "images": images,
        "concepts": list(example.concepts),
        "label": example.label,
        "shifted": example.shifted,
        **example.metadata,
    }


def _schema(task: Benchmark, examples: Split) -> Any:
    import datasets

    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "images": datasets.List(datasets.Image()),
            "concepts": datasets.List(datasets.Value("string")),
            "label": datasets.ClassLabel(names=list(task.labels.names)),
            "shifted": datasets.Value("bool"),
            **{
                name: datasets.Value("string" if column.dtype.kind == "U" else str(column.dtype))
                for name, column in examples.metadata.items()
            },
        }
    )
    return features.arrow_schema


def _describe(schema: Any, task: Benchmark, source: ImageSource, digest: str) -> Any:
    header = json.loads(schema.metadata[b"huggingface"])
    header["info"]["description"] = (
        f"{task.name} {task.version}: {task.description} Images: {source.name} {source.version}. "
        f"Content hash: {digest}"
    )
    header["info"]["license"] = source.licence
    header["info"]["citation"] = source.citation
    return schema.with_metadata({b"huggingface": json.dumps(header).encode()})


class _Encoded:
    """The PNG files of the images that a split refers to, and their digests.

    Attributes:
        png: (shifted, image's index) to the bytes of a PNG file.
        digests: uint8 [n, slots, 16].
    """

    def __init__(self, source: ImageSource, shift: Shift | None, examples: Split, workers: int) -> None:
        self.png: dict[tuple[bool, int], bytes] = {}
        by_image: dict[tuple[bool, int], bytes] = {}
        shown = examples.images != BLANK
        for shifted in (False, True):
            wanted = (examples.shifted == shifted)[:, None] & shown
            indices = np.unique(examples.images[wanted]).astype(np.int64)
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
        for i, slot in np.argwhere(shown).tolist():
            digest = by_image[shifted_rows[i], int(examples.images[i, slot])]
            self.digests[i, slot] = np.frombuffer(digest, np.uint8)


_Shared = tuple[ImageSource, PoolPart]
_Chunk = tuple[Shift | None, npt.NDArray[np.int64]]


def _encode(shared: _Shared, chunk: _Chunk) -> list[tuple[bytes, bytes]]:
    source, part = shared
    shift, indices = chunk
    return [encode(image) for image in render(source, shift, part, indices)]
