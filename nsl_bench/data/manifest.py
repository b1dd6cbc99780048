"""A data set's manifest: what is in its folder, what it was made from, and the hashes that it is known by.

``manifest.json`` is the last file that is written: a folder without it is not whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from nsl_bench import cache
from nsl_bench.errors import UserError, unknown
from nsl_bench.types import BLANK

__all__ = ["FORMAT", "MANIFEST", "FileEntry", "Manifest", "SplitEntry", "file_entry", "partial"]

FORMAT = 1
"""Version of the folder's layout."""

MANIFEST = "manifest.json"


def partial(folder: Path) -> Path:
    """Where a data set lies as long as it is not whole."""
    return folder.with_name(f"{folder.name}.part")


@dataclass(frozen=True)
class FileEntry:
    """A file's size in bytes and its SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class SplitEntry:
    """A split of a configuration.

    Attributes:
        rows: how many.
        content_hash: over canonical rows: decoded pixels, shapes, symbols, labels.
        marks: file with a digest a row, one a line.
        files: the parquet files, in order.
        bytes: of the split in memory.
        percents: content hash of the split with so many per cent of its examples shifted.
    """

    rows: int
    content_hash: str
    marks: str
    files: tuple[str, ...]
    bytes: int
    percents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says.

    Attributes:
        benchmark: name of the task.
        version: of its data.
        superseded_by: the version that corrects this one, if there was one when this was generated.
        description: of the task, one sentence.
        generator: the program and its version.
        recipe: from which the data set can be made again.
        source: the image source's name, version, licence, citation and fingerprint.
        shifts: configuration to the spec of its shift.
        names: configuration to the short name of its shift.
        labels: names of the labels.
        concepts: names of the concepts.
        metadata: names of the symbolic meta-data.
        rounding: ``"half_up"`` or ``"floor"``: how many of N examples are p %.
        configs: configuration to split to what is in it.
        files: each file beside the manifest, by its path in the folder.
        format: of the folder's layout.
    """

    benchmark: str
    version: str
    superseded_by: str | None
    description: str
    generator: str
    recipe: Mapping[str, Any]
    source: Mapping[str, str]
    shifts: Mapping[str, str]
    names: Mapping[str, str]
    labels: tuple[str, ...]
    concepts: tuple[str, ...]
    metadata: tuple[str, ...]
    rounding: str
    configs: Mapping[str, Mapping[str, SplitEntry]]
    files: Mapping[str, FileEntry]
    format: int = FORMAT

    @property
    def tag(self) -> str:
        """The tag of this version in a Hub repository."""
        return f"v{self.version}"

    def shown(self, concepts: list[int]) -> list[str | None]:
        """Names of concepts, None for a blank."""
        return [None if c == BLANK else self.concepts[c] for c in concepts]

    def config_of(self, shift: str) -> str:
        """The configuration of a shift named by its configuration, its short name or its spec.

        Raises:
            UserError: the data set has no such shift.
        """
        for config, spec in self.shifts.items():
            if shift in (config, spec, self.names.get(config)):
                return config
        raise unknown(f"shift of this data set of {self.benchmark}", shift, ["standard", *self.shifts])

    def split(self, config: str, name: str) -> SplitEntry:
        """An entry.

        Raises:
            UserError: the data set has no such configuration or split.
        """
        if config not in self.configs:
            raise unknown("configuration", config, self.configs)
        if name not in self.configs[config]:
            raise unknown(f"split of the configuration {config}", name, self.configs[config])
        return self.configs[config][name]

    def write(self, folder: Path) -> None:
        """Write ``manifest.json``."""
        with cache.replacing(folder / MANIFEST) as temporary:
            text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder.

        Raises:
            UserError: there is none, it is broken, or it is one of another format.
        """
        path = folder / MANIFEST
        if not folder.is_dir():
            half = partial(folder)
            hint = f"; {half} is half-written: generate it again to go on" if half.is_dir() else ""
            raise UserError(f"There is no data set {folder}{hint}.")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(
                f"{folder} is no whole data set: it has no {MANIFEST}, written last; generate it again."
            ) from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise UserError(f"The manifest {path} cannot be read ({error}); generate it again.") from error
        found = values.get("format") if isinstance(values, dict) else None
        if found != FORMAT:
            writer = values.get("generator") if isinstance(values, dict) else None
            raise UserError(
                f"The manifest {path} is of format {found!r}, written by {writer}, but this nsl-bench "
                f"reads format {FORMAT}; use a version that fits, or generate the data set again."
            )
        try:
            return cls._of(values)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"The manifest {path} is not as it was written ({type(error).__name__}: {error}); "
                "generate it again."
            ) from error

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Manifest:
        known = {key: values[key] for key in (f.name for f in fields(cls))}
        for key in ("labels", "concepts", "metadata"):
            known[key] = tuple(known[key])
        known["files"] = {path: FileEntry(**entry) for path, entry in known["files"].items()}
        known["configs"] = {
            config: {
                split: SplitEntry(**{**entry, "files": tuple(entry["files"])})
                for split, entry in splits.items()
            }
            for config, splits in known["configs"].items()
        }
        return cls(**known)


def file_entry(path: Path) -> FileEntry:
    """A file's size and hash."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileEntry(path.stat().st_size, digest)
