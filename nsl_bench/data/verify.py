"""Checking a data set against its manifest: every row decoded and hashed, the first that differs named.

What is compared is content (pixels, shapes, symbols, labels, ranks, references), not the bytes of parquet
files: a data set that another version of a library has written again is still the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nsl_bench.data.content import canonical_row, image_digest
from nsl_bench.data.images import decode
from nsl_bench.data.manifest import Manifest, file_entry
from nsl_bench.data.recipe import IMAGES
from nsl_bench.data.rows import pool_row, row_mark
from nsl_bench.errors import UserError
from nsl_bench.shift import STANDARD

__all__ = ["Digests", "checked_rows", "verify"]

_BATCH = 256


class Digests:
    """Digests of image files; a file that comes again is not decoded again."""

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def of(self, file: bytes) -> str:
        """The digest of the pixels of an image file.

        Raises:
            OSError: it is not whole.
        """
        key = hashlib.blake2b(file, digest_size=16).digest()
        if key not in self._known:
            self._known[key] = image_digest(decode(file)).hex()
        return self._known[key]


def verify(folder: Path, *, progress: bool = False) -> Manifest:
    """Check a data set.

    Args:
        folder: of the data set.
        progress: whether to show a bar on standard error.

    Returns:
        Its manifest.

    Raises:
        UserError: what differs first.
    """
    from tqdm import tqdm

    manifest = Manifest.read(folder)
    _check_files(folder, manifest)
    digests = Digests()
    total = sum(entry.rows for splits in manifest.configs.values() for entry in splits.values())
    with tqdm(total=total, unit="row", unit_scale=True, disable=None if progress else True) as bar:
        # The pool first: its images are those of the other configurations.
        for config in sorted(manifest.configs, key=lambda name: name != IMAGES):
            for split, entry in manifest.configs[config].items():
                found = hashlib.sha256()
                for _, row in checked_rows(folder, manifest, config, split, digests):
                    found.update(row + b"\n")
                    bar.update()
                if found.hexdigest() != entry.content_hash:
                    raise UserError(
                        f"The rows of {config}/{split} in {folder} are those of their marks, but not of the "
                        "content hash in the manifest: the manifest is not the one of these files."
                    )
    return manifest


def _check_files(folder: Path, manifest: Manifest) -> None:
    """Every file is there, texts are as they were written, and there is no data file too many."""
    for path, entry in manifest.files.items():
        if not (folder / path).is_file():
            raise UserError(f"The data set {folder} lacks {path}, which its manifest lists.")
        if path.endswith(".parquet") or file_entry(folder / path) == entry:
            continue
        if path == "README.md":
            raise UserError(
                f"The card {folder / path} was edited after it was generated, so what it says may not be "
                "true of the files; put it back, or generate the data set again."
            )
        raise UserError(f"The file {folder / path} is not as it was written; put it back, or generate again.")
    for config in manifest.configs:
        for file in sorted((folder / config).glob("*.parquet")):
            if f"{config}/{file.name}" not in manifest.files:
                raise UserError(f"The manifest of {folder} does not list {config}/{file.name}; take it away.")


def checked_rows(
    folder: Path, manifest: Manifest, config: str, split: str, digests: Digests | None = None
) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The rows of a split, each with its canonical form, as long as they are what the manifest states.

    Raises:
        UserError: the first row that differs, a file that is missing or damaged, or rows too many or few.
    """
    entry = manifest.split(config, split)
    digests = digests or Digests()
    marks = _marks(folder, manifest, entry.marks)
    where = f"{config}/{split} in {folder}"
    number = 0
    for path in entry.files:
        for row, labels in _rows(folder / path):
            name = f"Row {number} ({row.get('id')}) of {where}"
            try:
                canonical, mark = _canonical(row, labels, config, manifest, digests)
            except (OSError, KeyError, IndexError, TypeError) as error:
                raise UserError(f"{name} cannot be read ({error}); generate the data set again.") from error
            if number >= len(marks):
                raise UserError(f"{name} is one too many: the manifest lists {len(marks)} rows.")
            if mark != marks[number]:
                raise UserError(f"{name} differs from what was generated; generate the data set again.")
            yield row, canonical
            number += 1
    if number != entry.rows or number != len(marks):
        raise UserError(f"{where} ends after {number} rows, but the manifest states {entry.rows}.")


def _marks(folder: Path, manifest: Manifest, path: str) -> list[str]:
    file = folder / path
    if path not in manifest.files or not file.is_file():
        raise UserError(f"The data set {folder} lacks {path}, which holds the marks of its rows.")
    if file_entry(file) != manifest.files[path]:
        raise UserError(f"The file {file} is not as it was written; put it back, or generate again.")
    return file.read_text(encoding="utf-8").split()


def _rows(file: Path) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """The rows of a parquet file, each with the names of its labels or concepts."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Features

    try:
        with pq.ParquetFile(file) as table:
            features = Features.from_arrow_schema(table.schema_arrow)
            column = "concept" if "concept" in features else "label"
            names = tuple(getattr(features.get(column), "names", None) or ())
            for batch in table.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    yield row, names
    except FileNotFoundError:
        raise UserError(f"The file {file} is not there; generate the data set again.") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"The file {file} is damaged ({reason}); generate the data set again.") from error


def _canonical(
    row: dict[str, Any], names: tuple[str, ...], config: str, manifest: Manifest, digests: Digests
) -> tuple[bytes, str]:
    """A row's canonical form and mark."""
    if config == IMAGES:
        digest = digests.of(row["image"]["bytes"])
        if digest != row["digest"]:
            raise OSError("its digest is not that of its pixels")
        canonical = pool_row(names[row["concept"]], digest)
        return canonical, row_mark(canonical, row["id"])
    images = [None if image is None else digests.of(image["bytes"]) for image in row.get("images", ())]
    metadata = {name: row[name] for name in manifest.metadata}
    shifted = config in manifest.shifts
    canonical = canonical_row(row["concepts"], names[row["label"]], metadata, shifted, images)
    references = ["standard_images"]
    if shifted:
        references.append("shifted_images")
    elif config != STANDARD:
        references += [f"{name}_images" for name in manifest.shifts]
    return canonical, row_mark(canonical, row["id"], row["rank"], *(row[name] for name in references))
