"""`ImageSource`, the base class of image sources: a pool of images for each concept.

Each image exists once in the pool; examples refer to it by index. The pool has three disjoint parts: train
images of networks, pool A for train sets of learners, and pool B for their test set. It can have several
variants (decks): image ``i`` shows the same concept in every variant. Sources are found by name in the entry-
point group ``nsl_bench.sources``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import HasOptions
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

ALL: Any = None
"""The default of an option `concept_space`: all concepts of which a source has images."""


class ImageSource(HasOptions, ABC):
    """A pool of images of the concepts of one concept space.

    The registry creates a source with the keyword argument ``concept_space`` and the options of the user's
    spec. Rendering depends only on the source's options and the image's index.

    Attributes:
        name: e.g. ``"drawn_decks"``.
        version: changes whenever any pixel changes.
        licence: licence of the images.
        citation: origin of the images, in one sentence.
        concept_space: the concepts shown.
        shape: height, width, channels (1 or 3) of each image.
        variants: names of the pool's variants; the first is the standard one.
        named_shifts: specs of the shifts that this source provides, by short name, e.g. ``{"noir":
            "deck_swap:noir"}``.
        segments: classes of a segmentation map's pixels, e.g. ``("wall", "floor", "chair")``; empty without
            maps.
    """

    name: str
    version: str
    licence: str
    citation: str
    concept_space: ConceptSpace
    shape: tuple[int, int, int]
    variants: tuple[str, ...] = ("standard",)
    named_shifts: Mapping[str, str]
    segments: tuple[str, ...] = ()

    @abstractmethod
    def labels(self, part: PoolPart) -> Ints16:
        """int16 [n]: concept of each image of a pool part."""

    @abstractmethod
    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        """uint8 [m, height, width, channels]: images of the pool.

        Args:
            part: part of the pool.
            indices: [m], in 0..len(labels(part)) - 1.
            variant: one of `variants`.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """Short hash of everything that decides the pixels (version, options, files)."""

    def network_fingerprint(self) -> str:
        """Short hash of everything that decides the unshifted train images of networks.

        Trained networks are looked up by it, so it should not depend on held-out images.
        """
        return self.fingerprint()

    def check_images(self, *, progress: bool = False) -> None:
        """Check that all images can be read, before long work begins.

        Args:
            progress: whether to show a bar on standard error, if that is a terminal.
        """

    def grey_share(self) -> float:
        """Share of images without colours, in 0..1; estimated on a sample if images must be read."""
        return 1.0 if self.shape[2] == 1 else 0.0

    def segmentation(self, part: PoolPart, indices: Ints) -> UInts8:
        """uint8 [m, height, width]: class of each pixel of these unshifted images, indices into `segments`.

        Height and width are those of `shape`. Only networks that learn to segment ask for maps, and only for
        their train images; when they predict they see only images, unshifted or shifted.
        """
        raise UserError(f"The image source {self.name} has no segmentation maps.")

    def check_variant(self, variant: str) -> None:
        """Raise a UserError unless `variant` exists."""
        if variant not in self.variants:
            raise unknown(f"variant of the image source {self.name}", variant, self.variants)
