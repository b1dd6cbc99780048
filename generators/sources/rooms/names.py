"""The scenes of MIT Indoor 67 and its authors' five super-classes.

Quattoni and Torralba: "Recognizing Indoor Scenes", CVPR 2009; names as in the data set's folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nsl_bench.core.types import ConceptSpace

_SCENES: Mapping[str, str] = {
    "store": "bakery bookstore clothingstore deli florist grocerystore jewelleryshop laundromat mall "
    "shoeshop toystore videostore",
    "home": "bathroom bedroom children_room closet corridor dining_room garage kitchen livingroom lobby "
    "nursery pantry stairscase winecellar",
    "public_space": "airport_inside auditorium church_inside cloister elevator inside_bus inside_subway "
    "library locker_room museum poolinside prisoncell subway trainstation waitingroom",
    "leisure": "bar bowling buffet casino concert_hall fastfood_restaurant gameroom gym hairsalon "
    "movietheater restaurant",
    "working_place": "artstudio classroom computerroom dentaloffice greenhouse hospitalroom kindergarden "
    "laboratorywet meeting_room office operating_room restaurant_kitchen studiomusic tv_studio warehouse",
}

SUPER_CLASSES = tuple(_SCENES)
"""The super-classes; their order is that of the labels 0 to 4."""

SUPER_CLASS_OF: Mapping[str, str] = MappingProxyType(
    {scene: name for name, scenes in _SCENES.items() for scene in scenes.split()}
)
"""Scene to super-class."""

SCENES = tuple(sorted(SUPER_CLASS_OF))
"""The 67 scenes, by name."""

SCENE_SPACE = ConceptSpace("scene", SCENES)
