"""The crops: PlantVillage's classes, each a species with a disease, and their names in rules.

The 38 classes are those of the PlantVillage data set (Hughes and Salathe 2015), spelled as in its folders;
the class without a leaf is that of its later releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nsl_bench.core.types import ConceptSpace

BACKGROUND = "Background_without_leaves"
"""What a picture without a leaf shows; its prediction makes no example."""

_CROPS: Mapping[str, tuple[str, str]] = {
    "Apple___Apple_scab": ("apple", "apple_scab"),
    "Apple___Black_rot": ("apple", "black_rot"),
    "Apple___Cedar_apple_rust": ("apple", "cedar_apple_rust"),
    "Apple___healthy": ("apple", "healthy"),
    "Blueberry___healthy": ("blueberry", "healthy"),
    "Cherry_(including_sour)___Powdery_mildew": ("cherry", "powdery_mildew"),
    "Cherry_(including_sour)___healthy": ("cherry", "healthy"),
    "Corn_(maize)___Cercospora_leaf_spot Gray_leaf_spot": ("corn", "gray_leaf_spot"),
    "Corn_(maize)___Common_rust_": ("corn", "common_rust"),
    "Corn_(maize)___Northern_Leaf_Blight": ("corn", "northern_leaf_blight"),
    "Corn_(maize)___healthy": ("corn", "healthy"),
    "Grape___Black_rot": ("grape", "black_rot"),
    "Grape___Esca_(Black_Measles)": ("grape", "black_measles"),
    "Grape___Leaf_blight_(Isariopsis_Leaf_Spot)": ("grape", "leaf_blight"),
    "Grape___healthy": ("grape", "healthy"),
    "Orange___Haunglongbing_(Citrus_greening)": ("orange", "citrus_greening"),
    "Peach___Bacterial_spot": ("peach", "bacterial_spot"),
    "Peach___healthy": ("peach", "healthy"),
    "Pepper,_bell___Bacterial_spot": ("pepper", "bacterial_spot"),
    "Pepper,_bell___healthy": ("pepper", "healthy"),
    "Potato___Early_blight": ("potato", "early_blight"),
    "Potato___Late_blight": ("potato", "late_blight"),
    "Potato___healthy": ("potato", "healthy"),
    "Raspberry___healthy": ("raspberry", "healthy"),
    "Soybean___healthy": ("soybean", "healthy"),
    "Squash___Powdery_mildew": ("squash", "powdery_mildew"),
    "Strawberry___Leaf_scorch": ("strawberry", "leaf_scorch"),
    "Strawberry___healthy": ("strawberry", "healthy"),
    "Tomato___Bacterial_spot": ("tomato", "bacterial_spot"),
    "Tomato___Early_blight": ("tomato", "early_blight"),
    "Tomato___Late_blight": ("tomato", "late_blight"),
    "Tomato___Leaf_Mold": ("tomato", "leaf_mold"),
    "Tomato___Septoria_leaf_spot": ("tomato", "septoria_leaf_spot"),
    "Tomato___Spider_mites Two-spotted_spider_mite": ("tomato", "spider_mites"),
    "Tomato___Target_Spot": ("tomato", "target_spot"),
    "Tomato___Tomato_Yellow_Leaf_Curl_Virus": ("tomato", "yellow_leaf_curl_virus"),
    "Tomato___Tomato_mosaic_virus": ("tomato", "mosaic_virus"),
    "Tomato___healthy": ("tomato", "healthy"),
}

CROPS = tuple(_CROPS)
"""The 38 classes, in PlantVillage's order."""

SPECIES_OF: Mapping[str, str] = MappingProxyType({crop: species for crop, (species, _) in _CROPS.items()})
"""Class to species, e.g. ``"pepper"``."""

DISEASE_OF: Mapping[str, str] = MappingProxyType({crop: disease for crop, (_, disease) in _CROPS.items()})
"""Class to disease, e.g. ``"bacterial_spot"``; ``"healthy"`` counts as one."""

SPECIES = tuple(dict.fromkeys(SPECIES_OF.values()))
DISEASES = tuple(dict.fromkeys(DISEASE_OF.values()))

CROP_SPACE = ConceptSpace("crop", (*CROPS, BACKGROUND), background=BACKGROUND)
