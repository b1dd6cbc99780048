"""Examples from a generated folder, as a Hugging Face `Dataset`, every row checked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import Part
from nsl_bench.data.arrow import COLUMNS, About, kept, said_steps, save, schema, streamed
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.rows import example_features, example_references
from nsl_bench.data.splits import no_shift
from nsl_bench.data.verify import metadata_types, mixed_rows

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset


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
        folder: of the data set.
        manifest: of the data set.
        split: its name.
        config: of the shift, if one is named.
        configs: those that rows are read from: of standard rows, of shifted ones, or both.
        n_shifted: how many are shifted.
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
