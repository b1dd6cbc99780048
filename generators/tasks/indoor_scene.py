"""Indoor Scene Classification: the kind of place that a picture of a room shows.

FFNSL paper (Cunnington et al. 2023), sections 4.4 and 8, appendices B.4 and F.4.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import option
from nsl_bench.core.types import Bools, ConceptSpace, Ints16, LabelSpace, Part, Split

from ..sources.rooms.names import SCENE_SPACE, SCENES, SUPER_CLASS_OF, SUPER_CLASSES
from . import programs

_PROGRAMS = programs(__file__)

_TRAIN_A_SCENE, _TEST_A_SCENE = 80, 20
"""Pictures of each scene in MIT Indoor 67's lists."""


class IndoorScene(Benchmark):
    """Predict whether a room is in a store, a home, a public space, a place of leisure or a working place."""

    name = "indoor_scene"
    version = "1.0.0"
    description = "Which of five kinds of place does a picture of an indoor scene show?"
    labels = LabelSpace(SUPER_CLASSES, tuple(f"label({i})" for i in range(len(SUPER_CLASSES))))
    slots = ("image",)
    background = ""
    bias = _PROGRAMS["bias"]
    repeats = 1
    sources = ("drawn_rooms", "mit67")
    named_shifts: Mapping[str, str] = MappingProxyType(
        {"blur_hue_rotate": "gaussian_blur:9,3+hue:0.5+rotate:180"}
    )

    scenes: str | None = option(None, 'these scenes only, joined by "+" (``bakery+bar``); all 67 by default')

    def __post_init__(self) -> None:
        scenes = self.scenes
        wanted = SCENES if scenes is None else tuple(sorted(set(scenes.split("+"))))
        for name in wanted:
            if name not in SCENES:
                raise unknown("scene", name, SCENES)
        if len(wanted) < 2:
            raise UserError(f"indoor_scene: scenes must name at least two scenes; got {scenes}.")
        kinds = sorted({SUPER_CLASS_OF[name] for name in wanted})
        if len(kinds) < 2:
            raise UserError(
                f"indoor_scene: with scenes={scenes} every image has the label {kinds[0]}; add a scene "
                f"of another kind: {', '.join(kind for kind in SUPER_CLASSES if kind not in kinds)}."
            )
        self.scenes = None if wanted == SCENES else "+".join(wanted)
        self.name = self.spec_with()
        self.concept_space = SCENE_SPACE if wanted == SCENES else ConceptSpace("scene", wanted)
        self.sizes = {"small": _TEST_A_SCENE * len(wanted), "large": _TRAIN_A_SCENE * len(wanted)}
        self.test_size = _TEST_A_SCENE * len(wanted)
        self._labels = np.array([SUPER_CLASSES.index(SUPER_CLASS_OF[scene]) for scene in wanted], np.int16)
        self.true_rule = "".join(
            f"label({label}) :- image({scene}).\n"
            for label, scene in zip(self._labels.tolist(), wanted, strict=True)
        )
        self.inputs = f"1 {{ image({';'.join(wanted)}) }} 1."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Generate every scene equally often, in random order."""
        n = self.test_size if part == "test" else self.size(size)
        concepts = rng.permutation(np.arange(n) % len(self.concept_space)).astype(np.int16)
        return Split(part, self.concept_space, concepts[:, None], self._labels[concepts])

    def recognised(self, concepts: Ints16, predicted: Ints16, labels: Ints16) -> Mapping[str, Bools]:
        """The kinds of place that scenes belong to."""
        return {"kind of place": self._labels[concepts] == self._labels[predicted]}

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"image({concept})",)
