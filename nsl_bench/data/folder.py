"""Examples from a generated folder, as a Hugging Face `Dataset`, every row checked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench import cache
from nsl_bench.data.arrow import About, kept, save, schema
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.verify import mixed_rows
from nsl_bench.errors import UserError
from nsl_bench.shift import STANDARD
from nsl_bench.types import Part, n_of_percent

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["from_folder"]


def from_folder(
    folder: Path, part: Part, repeat: int, size: str | None, shift: str, percent: float
) -> Dataset:
    """A split of a generated data set with a share of its examples shifted.

    Args:
        folder: of the data set.
        part: train, validation or test.
        repeat: of which train set, from 1.
        size: the train size that is expected; None: whatever it is.
        shift: configuration, short name or spec of a shift.
        percent: 0..100.

    Raises:
        UserError: it has no such split, size or shift, or it is not as it was generated.
    """
    manifest = Manifest.read(folder)
    own = manifest.recipe.get("size") or str(manifest.recipe.get("train"))
    if size not in (None, own):
        raise UserError(f"The data set {folder} holds train sets of the size '{own}', not '{size}'.")
    split = manifest.split_name(part, repeat)
    config = STANDARD if shift == STANDARD else manifest.config_of(shift)
    rows = manifest.split(config, split).rows
    n_shifted = n_of_percent(rows, percent, floor=manifest.rounding == "floor")
    configs = [c for c, n in ((STANDARD, rows - n_shifted), (config, n_shifted)) if n]
    hashes = [manifest.files[manifest.split(c, split).marks].sha256 for c in configs]
    source = manifest.source
    about = About(
        f"{manifest.benchmark} {manifest.version}: {manifest.description} "
        f"Images: {source['name']} {source['version']}.",
        source["licence"],
        source["citation"],
        "",
    )
    identity = cache.key(asdict(about), split, n_shifted, hashes, manifest.labels, manifest.metadata)
    return kept(
        manifest.benchmark,
        identity,
        lambda path: _copy(path, folder, manifest, split, configs, n_shifted, about),
    )


def _copy(
    path: Path,
    folder: Path,
    manifest: Manifest,
    split: str,
    configs: Sequence[str],
    n_shifted: int,
    about: About,
) -> None:
    """Read the rows twice: the hash, which says what the file holds, stands before them."""

    def mixed() -> Iterator[tuple[dict[str, Any], bytes]]:
        return mixed_rows(folder, manifest, configs, split, n_shifted)

    total = hashlib.sha256()
    for _, canonical in mixed():
        total.update(canonical + b"\n")
    types = _types(folder / manifest.split(configs[0], split).files[0], manifest.metadata)
    columns = schema(manifest.labels, types, replace(about, content_hash=total.hexdigest()))
    names = columns.names
    save(path, columns, ({name: row[name] for name in names} for row, _ in mixed()))


def _types(file: Path, names: Sequence[str]) -> dict[str, str]:
    import pyarrow.parquet as pq
    from datasets import Features

    features = Features.from_arrow_schema(pq.read_schema(file))
    return {name: features[name].dtype for name in names}
