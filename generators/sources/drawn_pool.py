"""Base class of the drawn sources of leaves and rooms.

Each concept has `images_per_concept` pictures: 70 % for the network; of the rest, 70 % are in pool A and 30 %
in pool B. A picture depends only on the source's seed, its concept and its number.
"""

import hashlib
import json
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

from ..keyed_random import Dice

_KEPT_BYTES = 2**27
"""How much of the examples' pictures is kept: learners ask for the same ones again and again."""


def part_sizes(images: int) -> dict[PoolPart, int]:
    """Number of images per concept in each part: 70 %, then 70 % and 30 % of the rest, rounded down."""
    network = 7 * images // 10
    rest = images - network
    return {"network": network, "a": 7 * rest // 10, "b": rest - 7 * rest // 10}


class DrawnPool(ImageSource):
    """Pictures that the package draws."""

    licence = "MIT"
    citation = "Drawn by nsl-bench itself."
    all_concepts: ClassVar[ConceptSpace]

    concept_space: ConceptSpace = option(ALL, "the concepts to show; all if None")
    images_per_concept: int = option(
        400, "pictures of each concept, at least 4", least=4, words="4 or more, to fill all three pools"
    )
    image_size: int = option(128, "height and width, pixels", least=32, most=1024, unit="pixels")
    seed: int = option(0, "another seed gives other pictures", least=0)

    def __post_init__(self) -> None:
        self.concept_space = self.concept_space or self.all_concepts
        strangers = [c for c in self.concept_space.concepts if c not in self.all_concepts.ids]
        if strangers:
            raise UserError(
                f"The image source {self.name} has no images of '{strangers[0]}'; it has the "
                f"{len(self.all_concepts)} concepts of the {self.all_concepts.name} tasks."
            )
        self.shape = (self.image_size, self.image_size, 3)
        self.named_shifts = {}
        self._sizes = part_sizes(self.images_per_concept)
        self._kept: dict[tuple[PoolPart, int], UInts8] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Its options, without the pictures: a copy draws the same ones."""
        return {**self.__dict__, "_kept": {}}

    @abstractmethod
    def draw(self, concept: str, size: int, dice: Dice) -> UInts8:
        """uint8 [size, size, 3]: a picture of a concept."""

    def labels(self, part: PoolPart) -> Ints16:
        """int16 [n]: concepts of the images, in turn, so that any multiple of their number is stratified."""
        return np.tile(np.arange(len(self.concept_space), dtype=np.int16), self._sizes[part])

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        self.check_variant(variant)
        pictures = np.empty((len(indices), *self.shape), np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            pictures[k] = self._picture(part, index)
        return pictures

    def _picture(self, part: PoolPart, index: int) -> UInts8:
        """A picture, drawn or kept."""
        if (part, index) in self._kept:
            return self._kept[part, index]
        concept, dice = self._wanted(part, index)
        picture = self.draw(concept, self.shape[0], dice)
        if part != "network" and (len(self._kept) + 1) * picture.nbytes <= _KEPT_BYTES:
            self._kept[part, index] = picture
        return picture

    def _wanted(self, part: PoolPart, index: int) -> tuple[str, Dice]:
        """What an image shows, and the chance that decides how."""
        n = self._sizes[part] * len(self.concept_space)
        if not 0 <= index < n:
            raise IndexError(f"image {index} of a part of {n} images")
        before = {"network": 0, "a": self._sizes["network"], "b": self._sizes["network"] + self._sizes["a"]}
        number, concept = divmod(index, len(self.concept_space))
        name = self.concept_space.concepts[concept]
        # Numbered among all concepts, a picture is the same in a task with fewer of them.
        return name, Dice(self.seed, self.all_concepts.ids[name], before[part] + number)

    def fingerprint(self) -> str:
        """A short hash of version and options."""
        options = {
            "name": self.name,
            "version": self.version,
            "concepts": self.concept_space.concepts,
            "shape": self.shape,
            "images_per_concept": self.images_per_concept,
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:16]
