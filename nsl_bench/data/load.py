"""`nsl_bench.load`: a benchmark's examples as a Hugging Face `Dataset` or `IterableDataset`.

Examples come from a generated folder, from a repository on the Hugging Face Hub, or are generated on this
machine. A `Dataset` is kept as an Arrow file in the cache folder; its content hash is always checked or
computed. An `IterableDataset` is generated while it is read, and not kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack, cast, get_args, overload

import numpy as np

from nsl_bench.core import cache, registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import Option, checked_arguments
from nsl_bench.core.sequences import check_sequences, first_rows
from nsl_bench.core.shift import STANDARD, named_shifts, resolve
from nsl_bench.core.types import Part
from nsl_bench.data.arrow import COLUMNS, About, kept, said_steps, save, schema, stated_steps, streamed
from nsl_bench.data.generated import Generated
from nsl_bench.data.manifest import Manifest, is_folder, partial
from nsl_bench.data.rows import SEQUENCE_COLUMNS, example_features, example_references
from nsl_bench.data.splits import make_source, make_split, no_shift
from nsl_bench.data.verify import metadata_types, mixed_rows

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset


_REPOSITORY = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?")

_SIZE = "the name of a size, such as 'small', or a number of examples"

_Whole = Annotated[int, Option(least=1)]


class LoadOptions(TypedDict, total=False):
    """The options of `load`, without `streaming`."""

    split: str
    size: str | int | None
    repeat: int
    shift: str
    percent: float | None
    source: str | None
    seed: int
    splits: str | Path | None
    annotation: str
    workers: int
    revision: str | None


@overload
def load(
    benchmark: str | Path, *, streaming: Literal[False] = ..., **options: Unpack[LoadOptions]
) -> Dataset: ...


@overload
def load(
    benchmark: str | Path, *, streaming: Literal[True], **options: Unpack[LoadOptions]
) -> IterableDataset: ...


@checked_arguments
def load(
    benchmark: str | Path,
    *,
    split: Annotated[str, Option(words="'train', 'validation' or 'test'")] = "train",
    size: Annotated[str | int | None, Option(least=1, words=_SIZE)] = None,
    repeat: _Whole = 1,
    shift: str = STANDARD,
    percent: Annotated[float | None, Option(least=0, most=100)] = None,
    source: str | None = None,
    seed: Annotated[int, Option(least=0, most=2**63 - 1)] = 0,
    splits: str | Path | None = None,
    annotation: str = "",
    workers: _Whole = 1,
    revision: str | None = None,
    streaming: bool = False,
) -> Dataset | IterableDataset:
    """Load examples with decoded images, unshifted or shifted.

    ``load("follow_suit", shift="noir", percent=60)`` gives train examples of which 60 % are shifted. A
    generated folder takes the same arguments: ``load("./tricks", shift="noir", percent=60)``.

    Args:
        benchmark: name of a benchmark, with options if needed (``"follow_suit"``), whose examples are then
            generated; a folder written by ``nsl-bench generate`` (``"./tricks"``); or a repository on the
            Hub, pinned by a revision (``"owner/name"``, ``"owner/name@v1.0.0"``).
        split: ``"train"``, ``"validation"`` or ``"test"``.
        size: name of a train size, or a number of examples; by default ``"small"``, or the size of the
            folder.
        repeat: train split, counted from 1.
        shift: name or spec of a shift, e.g. ``"noir"``, ``"rotate:90"``.
        percent: share of shifted examples, 0..100; by default 100 if a shift is named, else 0.
        source: spec of an image source; the benchmark's embedded one by default. Fixed for a folder.
        seed: seed of the examples. Fixed for a folder.
        splits: folder of existing splits to use instead of generating them.
        annotation: shares of wrong and missing labels, and shift that depends on labels, such as
            ``"wrong_labels=10,missing_labels=5"`` (`nsl_bench.evaluate`). Fixed for a folder.
        workers: number of processes that render images; the rows do not depend on it. A stream is rendered by
            its reader, for example by the workers of a PyTorch `DataLoader`.
        revision: tag or commit of a repository on the Hub.
        streaming: whether to return an `IterableDataset`, whose rows are generated while they are read.

    Returns:
        A `Dataset` with the same columns as `datasets.load_dataset` on a generated folder: ``id``;
        ``images``, a list with one image per slot; ``concepts``, the class of each image; ``label``;
        ``shifted``; one column per metadata field; ``rank``, the position in the order in which examples
        become shifted; of sequences ``sequence`` and ``step`` (`as_sequences` makes one row of each);
        ``standard_images`` and, if a shift is named, ``shifted_images``, ids of the images in
        the pool. A blank slot has the concept -1 and a black image. ``info.description`` ends with the
        content hash (except for a stream).

    Raises:
        UserError: an unknown name, an argument out of range, a folder that was changed after it was
            generated, or a Hub that cannot be reached.
    """
    part = _part(split)
    if percent is None:
        percent = 0.0 if shift == STANDARD else 100.0
    size = None if size is None else str(size)
    text = str(benchmark)
    here = registry.Spec.parse(text).name.partition("@")[0] in registry.names("benchmark")
    folder = Path(benchmark)
    repository = _REPOSITORY.fullmatch(text)
    local = is_folder(folder) or is_folder(partial(folder)) or isinstance(benchmark, Path)
    if here or not (local or repository or "/" in text):
        task: Benchmark = registry.create("benchmark", text)
        images = make_source(task, source)
        change = resolve(shift, task, images)
        if percent and change is None:
            raise no_shift(percent, list(named_shifts(task, images)))
        asked: dict[str, Any] = {"percent": percent, "seed": seed, "annotation": Annotation.parse(annotation)}
        asked["splits"] = None if splits is None else Path(splits)
        examples = make_split(task, images, part, size or next(iter(task.sizes)), repeat, **asked)
        generated = Generated(task, images, change, examples)
        return generated.streamed() if streaming else generated.kept(workers)
    fixed = {"source": source, "seed": seed, "splits": splits, "annotation": annotation}
    for option, given in fixed.items():
        if given:
            raise UserError(f"{text} is a generated data set with a fixed {option}; leave out {option}.")
    if not local and repository:
        from nsl_bench.data.hub import fetch

        pinned = revision or repository["revision"]
        folder = fetch(repository["name"], pinned, shift if percent else STANDARD, part, repeat)
    return from_folder(folder, part, repeat, size, shift, percent, streaming)


def _part(split: str) -> Part:
    parts = get_args(Part)
    part, _, number = split.rpartition("_")
    if part in parts and number.isdecimal():
        raise UserError(f"Unknown split '{split}'; write split='{part}', repeat={int(number)}.")
    if split not in parts:
        raise unknown("split", split, parts)
    return cast(Part, split)


def from_folder(
    folder: Path, part: Part, repeat: int, size: str | None, shift: str, percent: float, streaming: bool
) -> Dataset | IterableDataset:
    """A split of a generated data set with a share of its examples shifted.

    Args:
        repeat: of which train set, from 1.
        size: the train size that is expected; None: whatever it is.
        shift: configuration, short name or spec of a shift.
        streaming: whether rows are read, and checked, when they are asked for.
    """
    manifest = Manifest.read(folder)
    own = manifest.recipe.get("size") or str(manifest.recipe.get("train"))
    if size not in (None, own):
        raise UserError(f"The data set {folder} has train sets of size '{own}'; got size '{size}'.")
    if percent and shift == STANDARD:
        raise no_shift(percent, list(manifest.shifts))
    config = None if shift == STANDARD else manifest.config_of(shift)
    split = manifest.split_name(part, repeat)
    rows = manifest.split(config or STANDARD, split).rows
    n_shifted = manifest.n_shifted(rows, percent)
    configs = [c for c, n in ((STANDARD, rows - n_shifted), (config, n_shifted)) if c and n]
    source = manifest.source
    about = About(
        f"{manifest.benchmark} {manifest.version}: {manifest.description} "
        f"Images: {source['name']} {source['version']}.{said_steps(manifest.steps)}",
        source["licence"],
        source["citation"],
    )
    mix = _Mix(folder, manifest, split, config, configs, n_shifted)
    if streaming:
        return streamed(mix.features, about, mix.rows)
    hashes = [manifest.files[manifest.split(c, split).marks].sha256 for c in configs]
    words = (COLUMNS, asdict(about), split, n_shifted, config, hashes)
    identity = cache.key(*words, manifest.labels, manifest.concepts, manifest.metadata)
    return kept(manifest.benchmark, identity, lambda path: mix.copy(path, about))


@dataclass(frozen=True, eq=False)
class _Mix:
    """A split with some of its examples shifted.

    Attributes:
        config: of the shift, if one is named.
        configs: those that rows are read from: of standard rows, of shifted ones, or both.
    """

    folder: Path
    manifest: Manifest
    split: str
    config: str | None
    configs: Sequence[str]
    n_shifted: int

    @cached_property
    def features(self) -> Features:
        """The columns: those of the shift's configuration."""
        metadata = metadata_types(self.folder, self.manifest, self.configs[0], self.split)
        references = example_references(self.config)
        return example_features(self.manifest.labels, self.manifest.concepts, metadata, references)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, every one checked."""
        names = list(self.features)
        for row, _ in self._mixed():
            if self.config is not None and "shifted_images" not in row:
                row["shifted_images"] = [one and f"{self.config}_{one}" for one in row["standard_images"]]
            yield {name: row[name] for name in names}

    def copy(self, path: Path, about: About) -> None:
        """Write the rows to an Arrow file, reading them twice: the hash stands before them."""
        total = hashlib.sha256()
        for _, canonical in self._mixed():
            total.update(canonical + b"\n")
        save(path, schema(self.features, replace(about, content_hash=total.hexdigest())), self.rows())

    def _mixed(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        return mixed_rows(self.folder, self.manifest, self.configs, self.split, self.n_shifted)


def as_sequences(dataset: Dataset) -> Dataset:
    """Make one row of each sequence of a data set that `nsl_bench.load` gives.

    Args:
        dataset: rows are steps, with the columns ``sequence`` and ``step``.

    Returns:
        A `Dataset` with one row for each sequence: ``sequence``, and for every other column the list of its
        values over the steps. Images are not copied.

    Raises:
        UserError: the data set has no sequences, a sequence is cut, or its steps are out of order.
    """
    import datasets
    import pyarrow as pa

    if not isinstance(dataset, datasets.Dataset):
        raise UserError(f"as_sequences requires a Dataset; got {type(dataset).__name__}.")
    lacking = [name for name in SEQUENCE_COLUMNS if name not in dataset.column_names]
    if lacking:
        raise UserError(f"The data set has no column '{lacking[0]}'; its rows are not steps of sequences.")
    table = dataset.flatten_indices().data.table
    steps, given = (table[name].to_numpy().astype(np.int64) for name in ("step", "sequence"))
    numbers = np.cumsum(np.diff(given, prepend=given[:1] - 1) != 0) - 1  # a selection keeps its own numbers
    try:
        check_sequences(numbers, steps)
    except ValueError as error:
        raise UserError(f"The sequences of the data set cannot be used: {error}.") from error
    starts = first_rows(steps)
    _check_ends(given[starts], np.diff([*starts, len(steps)]), stated_steps(dataset.info.description))
    offsets = pa.array([*starts, len(steps)], pa.int32())
    columns: dict[str, Any] = {"sequence": pa.array(given[starts])}
    features: dict[str, Any] = {"sequence": dataset.features["sequence"]}
    for name in dataset.column_names:
        if name == "sequence":
            continue
        values = table[name].combine_chunks()
        whole = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
        columns[name] = pa.ListArray.from_arrays(offsets, whole)
        features[name] = datasets.List(dataset.features[name])
    result = datasets.Features(features)
    info = datasets.DatasetInfo(description=dataset.info.description, features=result)
    made = pa.table(columns).cast(result.arrow_schema)
    return datasets.Dataset(made, info=info, split=dataset.split)


def _check_ends(sequences: Any, lengths: Any, stated: int | None) -> None:
    """Refuse sequences that are shorter than others, or than the data set's description states."""
    if len(lengths) and lengths.min() < lengths.max():
        at = int(lengths.argmin())
        raise UserError(
            f"Sequence {sequences[at]} of the data set is cut: it has {lengths[at]} steps, and others have "
            f"{lengths.max()}; select whole sequences."
        )
    if stated is not None and len(lengths) and lengths[0] < stated:
        raise UserError(
            f"All sequences of the data set are cut: they have {lengths[0]} steps instead of {stated}; "
            "select whole sequences."
        )
