"""A data set's manifest: what is in its folder, what it was made from, and the hashes that it is known by.

``manifest.json`` is the last file that is written: a folder without it is not whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nsl_bench.core import cache
from nsl_bench.core.declared import Open, from_json
from nsl_bench.core.errors import UserError, refusing, unknown
from nsl_bench.core.files import check_kind
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import BLANK, Part, n_of_percent
from nsl_bench.data.recipe import IMAGES, SYMBOLIC, split_name
from nsl_bench.data.rows import SEQUENCE_COLUMNS

FORMAT = 1
"""Version of the folder's layout."""

MANIFEST = "manifest.json"

_NAME = re.compile(r"\w[^/\\\0]*")
_PATH = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
"""Of a file in the folder: no absolute path, no ``..``, nothing hidden."""


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; no system has one whose name is too long."""
    try:
        return path.is_dir()
    except OSError:
        return False


def partial(folder: Path) -> Path:
    """Where a data set lies as long as it is not whole."""
    return folder.with_name(f"{folder.name}.part")


@dataclass(frozen=True)
class FileEntry(Open):
    """A file's size in bytes and its SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class SplitEntry(Open):
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
class Manifest(Open):
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
        steps: number of rows of each sequence; 1 where rows are no steps.
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
    steps: int = 1

    def n_shifted(self, rows: int, percent: float) -> int:
        """How many of a split's rows are shifted at a share: those of whole sequences."""
        n = n_of_percent(rows // self.steps, percent, floor=self.rounding == "floor")
        return n * self.steps

    @property
    def tag(self) -> str:
        """The tag of this version in a Hub repository."""
        return f"v{self.version}"

    def split_name(self, part: Part, repeat: int) -> str:
        """The name of a part of a train set: all train sets have one test set, or each has its own."""
        own = any(name.startswith("test_") for splits in self.configs.values() for name in splits)
        return split_name(part, repeat if part != "test" or own else 1)

    def shown(self, concepts: Sequence[int]) -> list[str | None]:
        """Names of concepts, None for a blank."""
        if min(concepts, default=0) < BLANK:
            raise IndexError(f"concept {min(concepts)} does not exist")
        return [None if c == BLANK else self.concepts[c] for c in concepts]

    def config_of(self, shift: str) -> str:
        """The configuration of a shift named by its configuration, its short name or its spec."""
        for config, spec in self.shifts.items():
            if shift in (config, spec, self.names.get(config)):
                return config
        raise unknown(f"shift of this data set of {self.benchmark}", shift, ["standard", *self.shifts])

    def split(self, config: str, name: str) -> SplitEntry:
        """An entry."""
        if config not in self.configs:
            raise unknown("configuration", config, self.configs)
        if name not in self.configs[config]:
            raise unknown(f"split of the configuration {config}", name, self.configs[config])
        return self.configs[config][name]

    def write(self, folder: Path) -> None:
        """Write ``manifest.json``."""
        with cache.replacing(folder / MANIFEST) as temporary:
            values = asdict(self)
            if self.steps == 1:
                del values["steps"]
            text = json.dumps(values, indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder."""
        path = folder / MANIFEST
        if not is_folder(folder):
            half = partial(folder)
            hint = (
                f"; {half} is unfinished; run the same command again to finish it" if is_folder(half) else ""
            )
            raise UserError(f"The data set {folder} does not exist{hint}.")
        check_kind(path, "The manifest")
        try:
            text = path.read_text(encoding="utf-8")
            values = json.loads(text)
        except FileNotFoundError:
            raise UserError(
                f"{folder} is not a complete data set: {MANIFEST} is missing; generate it again."
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"The manifest {path} cannot be read ({error}); generate it again.") from error
        result = values.get("format") if isinstance(values, dict) else None
        if result != FORMAT:
            writer = values.get("generator") if isinstance(values, dict) else None
            raise UserError(
                f"The manifest {path} has format {result!r}, written by {writer}; this nsl-bench reads "
                f"format {FORMAT}. Use a matching version, or generate the data set again."
            )
        try:
            manifest = from_json(cls, text)
            manifest._check()
        except ValueError as error:
            raise UserError(
                f"The manifest {path} was changed after it was written ({error}); generate the data set "
                "again."
            ) from error
        return manifest

    def _check(self) -> None:
        """Raise a ValueError that says what in it does not fit together."""
        if not _NAME.fullmatch(self.benchmark.partition(":")[0]):
            raise ValueError(f"'{self.benchmark}' is not a benchmark name")
        for path in self.files:
            if not _PATH.fullmatch(path):
                raise ValueError(f"'{path}' is not a path inside the folder")
        if lacking := {"name", "version", "licence", "citation", "fingerprint"} - set(self.source):
            raise ValueError(f"source.{min(lacking)} is missing")
        rounding = "half_up" if self.recipe.get("splits") is None else "floor"
        if self.rounding != rounding:
            raise ValueError(f"rounding must be '{rounding}' for this recipe; got '{self.rounding}'")
        if (self.steps > 1) != (set(SEQUENCE_COLUMNS) <= set(self.metadata)) or self.steps < 1:
            raise ValueError(f"steps is {self.steps}, which does not go with metadata")
        self._check_configs()

    def _check_configs(self) -> None:
        expected = {STANDARD, *self.shifts, SYMBOLIC}
        if lacking := expected - set(self.configs):
            raise ValueError(f"'configs' must contain '{min(lacking)}'")
        if more := set(self.configs) - expected - {IMAGES}:
            raise ValueError(f"the configuration '{min(more)}' belongs to no shift")
        standard = {split: entry.rows for split, entry in self.configs[STANDARD].items()}
        if min(standard.values(), default=0) < 1:
            raise ValueError(f"{STANDARD} must have at least one split, and each split at least one row")
        listed: set[str] = set()
        for config, splits in self.configs.items():
            if config != IMAGES and {split: entry.rows for split, entry in splits.items()} != standard:
                raise ValueError(f"the splits of {config} and {STANDARD} differ")
            for split, entry in splits.items():
                if entry.rows % self.steps and config != IMAGES:
                    raise ValueError(f"{config}/{split} has {entry.rows} rows, but sequences of {self.steps}")
                if entry.percents and config not in self.shifts:
                    raise ValueError(f"{config}/{split} has percents but no shift")
                listed.update(entry.files, [entry.marks])
                for path in entry.files:
                    if not path.startswith(f"{config}/{split}-"):
                        raise ValueError(f"'{path}' is not a file of {config}/{split}")
        if lacking := listed - set(self.files):
            raise ValueError(f"'files' must contain '{min(lacking)}'")
        if more := {path for path in self.files if path.endswith(".parquet")} - listed:
            raise ValueError(f"'{min(more)}' belongs to no configuration")


def file_entry(path: Path) -> FileEntry:
    """A file's size and hash."""
    with refusing(f"The file {path} cannot be read"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(path.stat().st_size, digest)
