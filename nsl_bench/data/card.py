"""A data set's descriptions: ``README.md`` for the Hugging Face Hub, and Croissant, MLCommons' format.

The card's YAML head is written by `datasets`' own classes from the manifest and the files' schemas, so that
its configurations, features and sizes are those of the files.
"""

import json
import re
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import BLANK, Split
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import IMAGES, SYMBOLIC

_LICENCES = (
    *("mit", "apache-2.0", "gpl-2.0", "gpl-3.0", "lgpl-3.0", "cc0-1.0", "cc-by-3.0", "cc-by-4.0"),
    *("cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"),
)

_SHARES = range(10, 101, 10)
"""Shares of shifted examples (%) for which the Hub keeps a leaderboard."""


def licence_id(licence: str) -> str:
    """The Hub's identifier of a licence, ``"other"`` for one that it does not know."""
    name = licence.lower().replace(" ", "-")
    return name if name in _LICENCES else "other"


def write_card(
    manifest: Manifest,
    schemas: Mapping[str, Any],
    folder: Path,
    shown: Mapping[str, str] | None = None,
    about: str = "",
) -> None:
    """Write ``README.md``.

    Args:
        schemas: Arrow schema of each configuration.
        shown: how many different images each split shows, as `nsl_bench.data.card.reuse` says it.
        about: what the task says of itself (`Benchmark.about`).
    """
    with cache.replacing(folder / "README.md") as temporary:
        head = _head(manifest, schemas)
        temporary.write_text(f"---\n{head}\n---\n\n{_text(manifest, shown or {}, about)}", encoding="utf-8")


def _head(manifest: Manifest, schemas: Mapping[str, Any]) -> str:
    from datasets import Features
    from datasets.info import DatasetInfo, DatasetInfosDict
    from datasets.splits import SplitDict, SplitInfo
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    licence = licence_id(manifest.source["licence"])
    other: dict[str, Any] = {"license_name": manifest.source["licence"]} if licence == "other" else {}
    data = DatasetCardData(
        license=licence,
        **other,
        pretty_name=f"nsl-bench {manifest.benchmark}",
        task_categories=["image-classification"],
        size_categories=[_size(sum(entry.rows for entry in manifest.configs[STANDARD].values()))],
        tags=["neural-symbolic", "inductive-logic-programming", "distributional-shift", "nsl-bench"],
    )
    infos = DatasetInfosDict()
    for config, splits in manifest.configs.items():
        download = sum(manifest.files[path].bytes for entry in splits.values() for path in entry.files)
        infos[config] = DatasetInfo(
            features=Features.from_arrow_schema(schemas[config]),
            splits=SplitDict(
                {
                    name: SplitInfo(name=name, num_bytes=entry.bytes, num_examples=entry.rows)
                    for name, entry in splits.items()
                }
            ),
            download_size=download,
            dataset_size=sum(entry.bytes for entry in splits.values()),
        )
    infos.to_dataset_card_data(data)
    MetadataConfigs(
        {
            config: {
                "data_files": [{"split": name, "path": f"{config}/{name}-*.parquet"} for name in splits],
                **({"default": True} if config == STANDARD else {}),
            }
            for config, splits in manifest.configs.items()
        }
    ).to_dataset_card_data(data)
    head: str = data.to_yaml()
    return head


def task_id(config: str, percent: float) -> str:
    """What the Hub's leaderboard calls a test set with a share of shifted examples: ``"noir_60"``."""
    return re.sub(r"\W+", "_", f"{config}_{percent:g}" if percent else STANDARD, flags=re.ASCII)


def write_evaluation(manifest: Manifest, folder: Path) -> None:
    """Write ``eval.yaml``, by which the Hub knows a benchmark: its test sets by name."""
    import yaml

    shares = sorted({*_SHARES, *(float(share) for share in manifest.recipe["percents"])} - {0})
    asked = [(STANDARD, 0.0), *((config, share) for config in manifest.shifts for share in shares)]
    tasks = [{"id": task_id(*one), "config": one[0], "split": "test"} for one in asked]
    values = {
        "name": f"nsl-bench {manifest.benchmark}",
        "description": f"{manifest.description} NAME_60: 60 % of the examples are shifted, as the card says.",
        "evaluation_framework": "nsl-bench",
        "tasks": tasks,
    }
    with cache.replacing(folder / "eval.yaml") as temporary:
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
        temporary.write_text(text, encoding="utf-8")


def has_true_rule(manifest: Manifest) -> bool:
    """Whether the data set holds a true rule."""
    return "rules/true_rule.lp" in manifest.files


def _size(n: int) -> str:
    steps = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
    words = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M"]
    return words[sum(n >= step for step in steps)]


def _text(manifest: Manifest, shown: Mapping[str, str], about: str) -> str:
    from jinja2 import Environment, StrictUndefined

    words = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    shifts = [config for config in manifest.configs if config not in (STANDARD, SYMBOLIC, IMAGES)]
    return words.from_string(_template("README.md")).render(
        manifest=manifest,
        shown=shown,
        about=textwrap.fill(about, 110, break_on_hyphens=False),
        shifted=", ".join(f"`{config}` (`{manifest.shifts[config]}`)" for config in shifts) or "none",
        example=shifts[0] if shifts else STANDARD,
        has_true_rule=has_true_rule(manifest),
    )


def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def write_croissant(manifest: Manifest, schemas: Mapping[str, Any], folder: Path, about: str = "") -> None:
    """Write ``croissant.json``."""
    files = [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path,
            "contentUrl": path,
            "contentSize": f"{manifest.files[path].bytes} B",
            "encodingFormat": "application/x-parquet",
            "sha256": manifest.files[path].sha256,
        }
        for splits in manifest.configs.values()
        for entry in splits.values()
        for path in entry.files
    ]
    sets, records = [], []
    for config, splits in manifest.configs.items():
        for split, entry in splits.items():
            name = f"{config}/{split}"
            sets.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"{name}-files",
                    "name": f"{name}-files",
                    "includes": f"{name}-*.parquet",
                    "encodingFormat": "application/x-parquet",
                }
            )
            records.append(
                {
                    "@type": "cr:RecordSet",
                    "@id": name,
                    "name": name,
                    "description": f"{_meaning(manifest, config)} {entry.rows} rows.",
                    "field": [_field(name, column) for column in schemas[config]],
                }
            )
    form = tomllib.loads(_template("croissant.toml"))
    licence, known = manifest.source["licence"], form["true_rule" if has_true_rule(manifest) else "no_rule"]
    fields = {
        "manifest": manifest,
        "licence": form["urls"].get(licence.lower(), licence),
        "collection": about or form["collection"],
        "shifts": ", ".join(manifest.shifts.values()) or "none",
        **known,
    }

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        return value.format(**fields) if isinstance(value, str) else value

    text = {
        "@context": {word: form["context"].get(word, f"cr:{word}") for word in form["words"].split()},
        **{key: filled(value) for key, value in form["about"].items()},
        "distribution": [*files, *sets],
        "recordSet": records,
    }
    with cache.replacing(folder / "croissant.json") as temporary:
        temporary.write_text(json.dumps(text, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _meaning(manifest: Manifest, config: str) -> str:
    if config == IMAGES:
        return "Images of the pool, each with its concept."
    if config == SYMBOLIC:
        return "Examples without images: true concepts, label, references to images."
    shift = manifest.shifts.get(config)
    return f"Examples with images shifted by {shift}." if shift else "Examples with standard images."


_TYPES = {"int": "sc:Integer", "floa": "sc:Float", "doub": "sc:Float", "bool": "sc:Boolean"}


def _field(record_set: str, column: Any) -> dict[str, Any]:
    """A column: of images, of texts or of numbers, one or a list."""
    import pyarrow as pa

    repeated = pa.types.is_list(column.type)
    kind = column.type.value_type if repeated else column.type
    image = pa.types.is_struct(kind)
    word = str(kind).removeprefix("u")[:4]
    name = next((t for start, t in _TYPES.items() if word.startswith(start)), "sc:Text")
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "dataType": "sc:ImageObject" if image else name,
        **({"repeated": True} if repeated else {}),
        "source": {
            "fileSet": {"@id": f"{record_set}-files"},
            "extract": {"column": column.name},
            **({"transform": {"jsonPath": "bytes"}} if image else {}),
        },
    }


def distinct_images(split: Split) -> int:
    """The number of different images of the pool in a split's slots; 0 without images.

    Images of a concept are dealt out again once all were shown, so that a thousand test examples may rest on
    a hundred images; errors on them are then no thousand independent errors.
    """
    return len(np.unique(split.images[split.images != BLANK]))


def reuse(split: Split) -> str:
    """A part of a sentence: ``"1,000 examples with 3,536 different images in 4,000 slots"``."""
    slots = int((split.images != BLANK).sum())
    return f"{len(split):,} examples with {distinct_images(split):,} different images in {slots:,} slots"
