"""The scenes of MIT Indoor 67 and its authors' five super-classes.

Quattoni and Torralba: "Recognizing Indoor Scenes", CVPR 2009; names as in the data set's folders.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from nsl_bench.core.types import ConceptSpace

FILE = tomllib.loads(Path(__file__).with_name("rooms.toml").read_text(encoding="utf-8"))
_SCENES: Mapping[str, str] = FILE["scenes"]

SUPER_CLASSES = tuple(_SCENES)
"""The super-classes; their order is that of the labels 0 to 4."""

SUPER_CLASS_OF: Mapping[str, str] = MappingProxyType(
    {scene: name for name, scenes in _SCENES.items() for scene in scenes.split()}
)
"""Scene to super-class."""

SCENES = tuple(sorted(SUPER_CLASS_OF))
"""The 67 scenes, by name."""

SCENE_SPACE = ConceptSpace("scene", SCENES)
