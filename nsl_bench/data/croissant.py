"""A data set's description in Croissant, MLCommons' format, with the responsible-AI fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nsl_bench.core import cache
from nsl_bench.data.card import has_true_rule
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import IMAGES, SYMBOLIC

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "excludes": "cr:excludes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

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
