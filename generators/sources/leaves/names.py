"""The crops: PlantVillage's classes, each a species with a disease, and their names in rules.

The 38 classes are those of the PlantVillage data set (Hughes and Salathe 2015), spelled as in its folders;
the class without a leaf is that of its later releases.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from nsl_bench.core.types import ConceptSpace

BACKGROUND = "Background_without_leaves"
"""What a picture without a leaf shows; its prediction makes no example."""

_FILE = tomllib.loads(Path(__file__).with_name("crops.toml").read_text(encoding="utf-8"))
_CROPS: Mapping[str, tuple[str, str]] = _FILE["crops"]

CROPS = tuple(_CROPS)
"""The 38 classes, in PlantVillage's order."""

SPECIES_OF: Mapping[str, str] = MappingProxyType({crop: species for crop, (species, _) in _CROPS.items()})
"""Class to species, e.g. ``"pepper"``."""

DISEASE_OF: Mapping[str, str] = MappingProxyType({crop: disease for crop, (_, disease) in _CROPS.items()})
"""Class to disease, e.g. ``"bacterial_spot"``; ``"healthy"`` counts as one."""

SPECIES = tuple(dict.fromkeys(SPECIES_OF.values()))
DISEASES = tuple(dict.fromkeys(DISEASE_OF.values()))

CROP_SPACE = ConceptSpace("crop", (*CROPS, BACKGROUND), background=BACKGROUND)

WORDS_OF: Mapping[str, Sequence[frozenset[str]]] = {
    disease: [frozenset(words.split()) for words in alternatives]
    for disease, alternatives in _FILE["words"].items()
}
"""Words by which a class's name tells a disease: all words of one of the alternatives."""
