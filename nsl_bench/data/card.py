"""A data set's descriptions: ``README.md`` for the Hugging Face Hub, and Croissant, MLCommons' format.

The card's YAML head is written by `datasets`' own classes from the manifest and the files' schemas, so that
its configurations, features and sizes are those of the files.
"""

from __future__ import annotations

import json
import textwrap
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
    description = f"\n{textwrap.fill(about, 110, break_on_hyphens=False)}\n" if about else ""
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
{description}
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


_NOT_IN_CROISSANT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
_WORDS = (
    "@language @vocab citeAs column conformsTo containedIn cr rai data dataType dct equivalentProperty "
    "examples extract field fileProperty fileObject fileSet format includes excludes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate sc "
    "separator source subField transform"
)
_CONTEXT = {word: _NOT_IN_CROISSANT.get(word, f"cr:{word}") for word in _WORDS.split()}

_DATE = "2026-11-21"
"""Of the generator's data format: a data set made twice has the same description."""

_URLS = {
    "mit": "https://opensource.org/license/mit",
    "cc by 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "cc by-sa 3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
}


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
    licence = manifest.source["licence"]
    text = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": f"nsl-bench {manifest.benchmark}",
        "description": manifest.description,
        "version": manifest.version,
        "license": _URLS.get(licence.lower(), licence),
        "url": "https://github.com/nsl-bench",
        "creator": {"@type": "sc:Organization", "name": "nsl-bench"},
        "datePublished": _DATE,
        "isLiveDataset": False,
        "citeAs": "D. Cunnington, M. Law, J. Lobo, A. Russo: FFNSL: Feed-Forward Neural-Symbolic Learner. "
        f"Machine Learning, 2023. Images: {manifest.source['citation']}",
        "keywords": ["neural-symbolic learning", "distributional shift", manifest.benchmark],
        **_responsible(manifest, about),
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


def _responsible(manifest: Manifest, about: str) -> dict[str, Any]:
    source = manifest.source
    collection = about or "Examples are simulated by a program from a seed; no person took part."
    labels, limits = "come from the task's own table", "is small and follows no known rule"
    if has_true_rule(manifest):
        labels, limits = (
            "follow from the concepts by the rule in rules/true_rule.lp",
            "is small, noise-free and follows one rule",
        )
    return {
        "rai:dataCollection": f"{collection} Images: {source['name']} {source['version']}. "
        f"{source['citation']}",
        "rai:dataCollectionType": "Simulations",
        "rai:dataCollectionMissingData": "A blank slot of an example has the concept -1 and a black image; "
        "nothing is missing.",
        "rai:dataPreprocessingProtocol": "Images are rendered at the size of the image source and kept as "
        "PNG files without loss; shifts are deterministic functions of an image and its index.",
        "rai:dataManipulationProtocol": "Shifts: " + (", ".join(manifest.shifts.values()) or "none") + ".",
        "rai:dataAnnotationProtocol": "Concepts are those that an image was drawn or chosen for; labels "
        f"{labels}.",
        "rai:machineAnnotationTools": manifest.generator,
        "rai:annotationsPerItem": "1",
        "rai:dataUseCases": "Training and testing learners that combine perception with logic, under a "
        "distributional shift that the user controls. Not evidence about real decisions.",
        "rai:dataLimitations": f"The symbolic part {limits}; shifts are artificial.",
        "rai:dataBiases": "Concepts and labels are distributed as in the simulation, not as in the world.",
        "rai:dataSocialImpact": "None that is known: card games, puzzles and pictures of things.",
        "rai:personalSensitiveInformation": "None.",
        "rai:dataReleaseMaintenancePlan": "A correction is a new version; old versions keep their tag and "
        "say what supersedes them. Each split is identified by a content hash in manifest.json.",
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
