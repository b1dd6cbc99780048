"""Checking a data set against its manifest: every row decoded and hashed, the first that differs named.

What is compared is content (pixels, shapes, symbols, labels, ranks, references), not the bytes of parquet
files: a data set that another version of a library has written again is still the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD
from nsl_bench.data.content import canonical_row, decode, image_digest
from nsl_bench.data.manifest import Manifest, file_entry
from nsl_bench.data.recipe import IMAGES, SYMBOLIC, Recipe
from nsl_bench.data.rows import example_features, example_references, pool_features, pool_row, row_mark
from nsl_bench.data.splits import check_percent

if TYPE_CHECKING:
    from datasets import Features

_BATCH = 256


class Digests:
    """Digests of image files; a file that comes again is not decoded again."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}
        self._black: dict[bytes, bool] = {}

    def of(self, file: bytes) -> str:
        """The digest of the pixels of an image file."""
        key = hashlib.blake2b(file, digest_size=16).digest()
        if key not in self._known:
            self._known[key] = image_digest(decode(file)).hex()
        return self._known[key]

    def black(self, file: bytes) -> bool:
        """Whether every pixel of an image file is 0."""
        if file not in self._black:
            self._black[file] = not decode(file).any()
        return self._black[file]


def verify(folder: Path, *, progress: bool = False) -> Manifest:
    """Check a data set; returns its manifest."""
    from tqdm import tqdm

    manifest = Manifest.read(folder)
    _check_files(folder, manifest)
    digests = Digests()
    total = sum(entry.rows for splits in manifest.configs.values() for entry in splits.values())
    with tqdm(total=total, unit="row", unit_scale=True, disable=None if progress else True) as bar:
        # The pool first: its images are those of the other configurations.
        for config in sorted(manifest.configs, key=lambda name: name != IMAGES):
            for split, entry in manifest.configs[config].items():
                result = hashlib.sha256()
                for _, row in checked_rows(folder, manifest, config, split, digests):
                    result.update(row + b"\n")
                    bar.update()
                _same(folder, f"{config}/{split}", result.hexdigest(), entry.content_hash)
                for percent, content_hash in entry.percents.items():
                    mixed = _mixed_hash(folder, manifest, config, split, percent, digests)
                    _same(folder, f"{config}/{split}, {percent} % shifted,", mixed, content_hash)
    return manifest


def _same(folder: Path, where: str, digest: str, stated: str) -> None:
    if digest != stated:
        raise UserError(
            f"The rows of {where} in {folder} match their marks, but not the content hash in the "
            "manifest; the manifest belongs to other files."
        )


def _mixed_hash(
    folder: Path, manifest: Manifest, config: str, split: str, percent: str, digests: Digests
) -> str:
    """Content hash of a split with a share of its examples shifted."""
    exact = {f"{p:g}": p for p in Recipe.from_dict(manifest.recipe, f"the manifest of {folder}").percents}
    try:
        share = check_percent(exact.get(percent) or float(percent))
    except ValueError:
        raise UserError(
            f"The manifest of {folder} has the invalid share '{percent}' %; generate the data set again."
        ) from None
    rows = manifest.split(config, split).rows
    n_shifted = manifest.n_shifted(rows, share)
    total = hashlib.sha256()
    for _, canonical in mixed_rows(folder, manifest, (STANDARD, config), split, n_shifted, digests):
        total.update(canonical + b"\n")
    return total.hexdigest()


def _check_files(folder: Path, manifest: Manifest) -> None:
    """Every file is there, texts are as they were written, and there is no data file too many."""
    for path, entry in manifest.files.items():
        try:
            there = (folder / path).is_file()
        except OSError:
            there = False
        if not there:
            raise UserError(f"The data set {folder} lacks {path}, which its manifest lists.")
        if path.endswith(".parquet") or file_entry(folder / path) == entry:
            continue
        if path == "README.md":
            raise UserError(
                f"The card {folder / path} was edited after it was generated and may no longer describe "
                "the files; restore it, or generate the data set again."
            )
        raise UserError(
            f"The file {folder / path} was changed after it was generated; restore it, or generate the "
            "data set again."
        )
    for config in manifest.configs:
        for file in sorted((folder / config).glob("*.parquet")):
            if f"{config}/{file.name}" not in manifest.files:
                raise UserError(
                    f"The manifest of {folder} does not list {config}/{file.name}; remove that file."
                )
    _check_version(folder, manifest)


def _check_version(folder: Path, manifest: Manifest) -> None:
    """The Croissant file, which is as it was written, states the manifest's version."""
    try:
        stated = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        stated = None
    if stated != manifest.version:
        raise UserError(
            f"The manifest of {folder} has version {manifest.version}, but croissant.json has {stated}; "
            "generate the data set again."
        )


def mixed_rows(
    folder: Path,
    manifest: Manifest,
    configs: Sequence[str],
    split: str,
    n_shifted: int,
    digests: Digests | None = None,
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Checked rows of a split: the shifted ones from the last configuration, the others from the first.

    Each has the key ``shifted`` beside its columns.
    """
    tables = (checked_rows(folder, manifest, config, split, digests) for config in configs)
    for rows in zip(*tables, strict=True):
        shifted = rows[0][0]["rank"] < n_shifted
        row, canonical = rows[-1] if shifted else rows[0]
        yield {**row, "shifted": shifted}, canonical


def checked_rows(
    folder: Path, manifest: Manifest, config: str, split: str, digests: Digests | None = None
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The rows of a split, each with its canonical form, as long as they are what the manifest states."""
    entry = manifest.split(config, split)
    digests = digests or Digests()
    marks = _marks(folder, manifest, entry.marks)
    where = f"{config}/{split} in {folder}"
    number = 0
    for path in entry.files:
        for row in _rows(folder / path, manifest, config):
            name = f"Row {number} ({row['id']}) of {where}"
            try:
                canonical, mark = _canonical(row, config, manifest, digests)
            except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
                raise UserError(f"{name} cannot be read ({error}); generate the data set again.") from error
            if number >= len(marks):
                raise UserError(
                    f"{name} is not in the manifest, which lists {len(marks)} rows; generate the data "
                    "set again."
                )
            if mark != marks[number]:
                raise UserError(f"{name} was changed after it was generated; generate the data set again.")
            yield row, canonical
            number += 1
    if number != entry.rows or number != len(marks):
        raise UserError(
            f"{where} has {number} rows, but the manifest lists {entry.rows}; generate the data set again."
        )


def _marks(folder: Path, manifest: Manifest, path: str) -> list[str]:
    file = folder / path
    if file_entry(file) != manifest.files[path]:
        raise UserError(
            f"The file {file} was changed after it was generated; restore it, or generate the data set again."
        )
    return file.read_text(encoding="ascii", errors="replace").split()


def metadata_types(folder: Path, manifest: Manifest, config: str, split: str) -> dict[str, str]:
    """Name and type of each meta-datum, as the first file of a split has them."""
    import pyarrow.parquet as pq
    from datasets import Features

    file = folder / manifest.split(config, split).files[0]
    with _readable(file):
        result = Features.from_arrow_schema(pq.read_schema(file))
        _check_columns(file, result, manifest, config)
        return {name: result[name].dtype for name in manifest.metadata}


def _rows(file: Path, manifest: Manifest, config: str) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file of a configuration."""
    import pyarrow.parquet as pq
    from datasets import Features

    with _readable(file), pq.ParquetFile(file) as table:
        _check_columns(file, Features.from_arrow_schema(table.schema_arrow), manifest, config)
        for batch in table.iter_batches(_BATCH):
            yield from batch.to_pylist()


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """What reading a parquet file can raise, as a sentence."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise UserError(f"The file {file} is missing; generate the data set again.") from None
    except PermissionError as error:
        raise UserError(f"The file {file} cannot be read: {error.strerror}.") from error
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"The file {file} is damaged ({reason}); generate the data set again.") from error


def _check_columns(file: Path, features: Features, manifest: Manifest, config: str) -> None:
    """The columns are those of the configuration, with the manifest's labels, concepts and meta-data."""
    from datasets import Value

    if config == IMAGES:
        expected = pool_features(manifest.concepts)
    else:
        kinds = {name: features.get(name) for name in manifest.metadata}
        types = {name: kind.dtype if isinstance(kind, Value) else "string" for name, kind in kinds.items()}
        references = _references(manifest, config)
        expected = example_features(
            manifest.labels, manifest.concepts, types, references, images=config != SYMBOLIC
        )
    for name in [*expected, *features]:
        if features.get(name) != expected.get(name):
            there, right = features.get(name, "absent"), expected.get(name, "absent")
            raise UserError(
                f"{file}: the column '{name}' must be {right}; it is {there}. Generate the data set again."
            )


def _references(manifest: Manifest, config: str) -> list[str]:
    """Names of the columns that refer to images of the pool."""
    if config == SYMBOLIC:
        return ["standard_images", *(f"{name}_images" for name in manifest.shifts)]
    return example_references(config if config in manifest.shifts else None)


def _canonical(row: dict[str, Any], config: str, manifest: Manifest, digests: Digests) -> tuple[bytes, str]:
    """A row's canonical form and mark."""
    if config == IMAGES:
        digest = digests.of(row["image"]["bytes"])
        if digest != row["digest"]:
            raise OSError("its digest does not match its pixels")
        canonical = pool_row(_name(manifest.concepts, row["concept"]), digest)
        return canonical, row_mark(canonical, row["id"])
    concepts = manifest.shown(row["concepts"])
    images: list[str | None] = []
    if config != SYMBOLIC:
        if row["shifted"] != (config in manifest.shifts):
            raise OSError(f"'shifted' has the wrong value {row['shifted']}")
        for concept, image in zip(concepts, row["images"], strict=True):
            if concept is None and not digests.black(image["bytes"]):
                raise OSError("a blank slot has an image")
            images.append(None if concept is None else digests.of(image["bytes"]))
    metadata = {name: row[name] for name in manifest.metadata}
    label = _name(manifest.labels, row["label"])
    canonical = canonical_row(concepts, label, metadata, config in manifest.shifts, images)
    references = [[one or None for one in row[name]] for name in _references(manifest, config)]
    return canonical, row_mark(canonical, row["id"], row["rank"], *references)


def _name(names: Sequence[str], index: int) -> str:
    if index < 0:
        raise IndexError(f"label {index} does not exist")
    return names[index]
