"""The card of a data set: ``README.md`` with the YAML head that the Hugging Face Hub and `datasets` read.

The head is written by `datasets`' own classes from the manifest and the files' schemas, so that its
configurations, features and sizes are those of the files.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nsl_bench.core import cache
from nsl_bench.core.shift import STANDARD
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import IMAGES, SYMBOLIC

_LICENCES = (
    *("mit", "apache-2.0", "gpl-2.0", "gpl-3.0", "lgpl-3.0", "cc0-1.0", "cc-by-3.0", "cc-by-4.0"),
    *("cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"),
)


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
        shown: how many different images each split shows, as `nsl_bench.data.reuse.reuse` says it.
        about: what the task says of itself (`Benchmark.about`).
    """
    with cache.replacing(folder / "README.md") as temporary:
        head = _head(manifest, schemas)
        temporary.write_text(f"---\n{head}\n---\n{_text(manifest, shown or {}, about)}", encoding="utf-8")


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


def has_true_rule(manifest: Manifest) -> bool:
    """Whether the data set holds a true rule."""
    return "rules/true_rule.lp" in manifest.files


def _tests(manifest: Manifest) -> str:
    """What the card says of validation and test sets."""
    names = manifest.configs[STANDARD]
    tests = (
        "`test_2` is the test set of `train_2`, and so on" if "test_2" in names else "they share a test set"
    )
    return f"{tests}. `validation_2` is for tuning on `train_2`." if "validation_2" in names else f"{tests}."


def _size(n: int) -> str:
    steps = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
    words = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M"]
    return words[sum(n >= step for step in steps)]


_OWN = {
    "sequence": "sequence that the row is a step of, from 0",
    "step": "place of the row in its sequence, from 1",
}
"""Columns of data sets whose rows are steps of sequences."""


def _text(manifest: Manifest, shown: Mapping[str, str], about: str) -> str:
    share = "floor(p / 100 * N)" if manifest.rounding == "floor" else "floor(p / 100 * N + 0.5)"
    superseded = ""
    if manifest.superseded_by:
        superseded = f"\n> This version is superseded by {manifest.superseded_by}.\n"
    shifts = [config for config in manifest.configs if config not in (STANDARD, SYMBOLIC, IMAGES)]
    shifted = ", ".join(f"`{config}` (`{manifest.shifts[config]}`)" for config in shifts) or "none"
    example = shifts[0] if shifts else STANDARD
    metadata = "".join(
        f"| `{name}` | {_OWN.get(name, 'symbolic meta-datum')} |\n" for name in manifest.metadata
    )
    parts = "\n".join(
        f"| `{config}` | {', '.join(f'`{name}` {entry.rows:,}' for name, entry in splits.items())} |"
        for config, splits in manifest.configs.items()
    )
    told = f"\n{textwrap.fill(about, 110, break_on_hyphens=False)}\n" if about else ""
    rule = (
        "and\nthe true rule, which it is not"
        if has_true_rule(manifest)
        else "but\nno true rule: the task has none"
    )
    rule += "; `facts.csv` says which facts stand for a concept in a slot, and for meta-data."
    reused = "".join(f"* `{split}`: {text}.\n" for split, text in shown.items())
    if reused:
        reused = f"\n**Images.** Images of a concept are shown again once all were shown:\n\n{reused}"
    return f"""
# {manifest.benchmark} {manifest.version}
{superseded}
{manifest.description} A task of nsl-bench, the benchmark for neural-symbolic learning under distributional
shift; generated by {manifest.generator}.
{told}
An example is a sequence of images, each of which shows a concept, with one label. A *shift* changes the
images of an example, never its concepts or its label.

| configuration | rows of each split |
|---|---|
{parts}

* `{STANDARD}`: examples with their standard images. Shifted ones: {shifted}. Row i is the same example in all
  of them. `train`, `train_2`, ... are independent train sets; {_tests(manifest)}
* `{SYMBOLIC}`: the same examples without images: true concepts, and references to the images.
* `{IMAGES}`: the pool that the images are from: `network` to train a perception network on, `a` for train
  and validation sets, `b` for test sets. No image is in two of them.

| column | |
|---|---|
| `images` | one image a slot; a blank slot has a black one |
| `concepts` | the class of each image, -1 for a blank slot |
| `label` | {", ".join(manifest.labels)} |
| `shifted` | whether the images are shifted |
{metadata}| `rank` | place in the order in which examples become shifted |
| `standard_images`, `shifted_images` | ids of the images in the pool, empty for a blank slot |

```python
from datasets import load_dataset

data = load_dataset(FOLDER_OR_REPOSITORY, "{example}", split="train")
```
{reused}
**Percentages.** With p % of N examples shifted, those with `rank` below {share} are: take their
images from a shifted configuration and the others' from `{STANDARD}`. An example that is shifted at p % is
shifted at every higher percentage.

**Rules.** `rules/` holds the background knowledge and the language bias that a rule learner is given, {rule}

**Identity.** `manifest.json` states a content hash of each split: over decoded pixels, shapes, symbols and
labels, so the same whatever library wrote the files. `nsl-bench verify FOLDER` computes it again and names
the first row that differs. `nsl-bench generate --recipe FOLDER/manifest.json --out OTHER` makes the data set
again from nothing.

**Images.** {manifest.source["name"]} {manifest.source["version"]}: {manifest.source["citation"]} Licence:
{manifest.source["licence"]}.

**Citation.** D. Cunnington, M. Law, J. Lobo, A. Russo: FFNSL: Feed-Forward Neural-Symbolic Learner. Machine
Learning, 2023.
"""
