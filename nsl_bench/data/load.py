"""`nsl_bench.load`: a benchmark's examples as a Hugging Face `Dataset`.

They come from a generated folder, from a repository on the Hugging Face Hub, or are generated here. In each
case the data set is made once and kept as an Arrow file in the cache folder, which holds nothing whose
content hash was not checked or computed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import numpy.typing as npt

from nsl_bench import cache, registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.data.arrow import About, kept, save, schema
from nsl_bench.data.content import DIGEST_BYTES, content_hash
from nsl_bench.data.folder import from_folder
from nsl_bench.data.images import chunks, encode, render
from nsl_bench.data.manifest import is_folder, partial
from nsl_bench.data.splits import check_percent, make_source, make_split
from nsl_bench.errors import UserError, unknown
from nsl_bench.shift import STANDARD, Shift, resolve
from nsl_bench.source import ImageSource
from nsl_bench.types import BLANK, Part, PoolPart, Split
from nsl_bench.workers import spread

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["load"]

_CHUNK = 64
_REPOSITORY = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?")


def load(
    benchmark: str | Path,
    *,
    split: str = "train",
    size: str | None = None,
    repeat: int = 1,
    shift: str = STANDARD,
    percent: float | None = None,
    source: str | None = None,
    seed: int = 0,
    splits: str | Path | None = None,
    workers: int = 1,
    revision: str | None = None,
) -> Dataset:
    """Examples with decoded images.

    Args:
        benchmark: name of a benchmark, with options if need be (``"follow_suit"``), whose examples are
            generated here; a folder that ``nsl-bench generate`` made (``"./tricks"``); or a repository on
            the Hub, pinned by a revision (``"owner/name"``, ``"owner/name@v1.0.0"``).
        split: ``"train"``, ``"validation"`` or ``"test"``.
        size: size of the train set, ``"small"`` or what the folder holds by default.
        repeat: which of the independent train sets, from 1.
        shift: name or spec of a shift, e.g. ``"noir"``, ``"rotate:90"``.
        percent: share of the examples that are shifted; 100 if a shift is named, else 0.
        source: spec of an image source; the benchmark's embedded one by default. A folder has its own.
        seed: another seed gives other examples. A folder has its own.
        splits: folder of splits made elsewhere, to be used in place of generated ones.
        workers: processes that render; the rows do not depend on it.
        revision: tag or commit of a repository on the Hub.

    Returns:
        A `Dataset` with the columns ``id``, ``images`` (a list with one image a slot, None for a blank),
        ``concepts`` (likewise, their names), ``label``, ``shifted``, and one a meta-datum. Its
        ``info.description`` ends with the content hash.

    Raises:
        UserError: an unknown name, a percentage out of range, a folder that is not as it was generated, or
            a Hub that cannot be reached.
    """
    if split not in get_args(Part):
        raise unknown("split", split, get_args(Part))
    part = cast(Part, split)
    if percent is None:
        percent = 0.0 if shift == STANDARD else 100.0
    if check_percent(percent) and shift == STANDARD:
        raise UserError(f"{percent:g} % of the examples cannot be shifted without a shift; name one.")
    if repeat < 1:
        raise UserError(f"Repeats are numbered from 1, found {repeat}.")
    text = str(benchmark)
    here = registry.Spec.parse(text).name.partition("@")[0] in registry.names("benchmark")
    folder = Path(benchmark)
    repository = _REPOSITORY.fullmatch(text)
    local = is_folder(folder) or is_folder(partial(folder)) or isinstance(benchmark, Path)
    if here or not (local or repository or "/" in text):
        task: Benchmark = registry.create("benchmark", text)
        images = make_source(task, source)
        change = resolve(shift, task, images)
        examples = make_split(
            task,
            images,
            part,
            size or next(iter(task.sizes)),
            repeat,
            percent=percent,
            seed=seed,
            splits=None if splits is None else Path(splits),
        )
        return _generated(task, images, change, examples, workers)
    for option, given in (("source", source), ("seed", seed), ("splits", splits)):
        if given:
            raise UserError(f"{text} is generated already and has its own {option}; leave {option} out.")
    if not local and repository:
        from nsl_bench.data.hub import fetch

        pinned = revision or repository["revision"]
        folder = fetch(repository["name"], pinned, shift if percent else STANDARD, part, repeat)
    return from_folder(folder, part, repeat, size, shift, percent)


def _generated(
    task: Benchmark, source: ImageSource, shift: Shift | None, examples: Split, workers: int
) -> Dataset:
    identity = cache.key(
        task.name,
        task.version,
        source.name,
        source.fingerprint(),
        shift.spec if shift and examples.n_shifted else STANDARD,
        content_hash(examples, task),
        cache.key(examples.images.tobytes().hex()),
    )

    def write(path: Path) -> None:
        encoded = _Encoded(source, shift, examples, workers)
        about = About(
            f"{task.name} {task.version}: {task.description} Images: {source.name} {source.version}.",
            source.licence,
            source.citation,
            content_hash(examples, task, encoded.digests),
        )
        types = {
            name: "string" if column.dtype.kind == "U" else str(column.dtype)
            for name, column in examples.metadata.items()
        }
        save(
            path,
            schema(task.labels.names, types, about),
            (_row(examples, i, encoded) for i in range(len(examples))),
        )

    return kept(task.name, identity, write)


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
