"""Where images come from: an image source offers a pool of images for each concept.

Images live once in the pool; examples refer to them by index. The pool has three disjoint parts: the
network's train images, pool A for the learners' train sets and pool B for their test set. It can come in
several variants (decks): image ``i`` shows the same concept in every variant. Sources are found by name
through the entry-point group ``nsl_bench.sources``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError, unknown
from nsl_bench.types import ConceptSpace, PoolPart

__all__ = ["ImageSource"]


class ImageSource(ABC):
    """A pool of images of the concepts of one concept space.

    The registry makes a source with the keyword argument ``concept_space`` and whatever the user's spec
    says. Rendering is a pure function of the source's options and the image's index.

    Attributes:
        name: e.g. ``"drawn_decks"``.
        version: changes whenever any pixel does.
        licence: of the images.
        citation: where they come from, one sentence.
        concept_space: the concepts shown.
        shape: height, width, channels (1 or 3) of each image.
        variants: names of the pool's variants; the first is the standard one.
        named_shifts: short names of the shifts that this source makes possible, to their specs, e.g.
            ``{"noir": "deck_swap:noir"}``.
        segments: what a pixel of a segmentation map can show, e.g. ``("wall", "floor", "chair")``; empty
            for a source without maps.
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
    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        """int16 [n]: the concept of each image of a part of the pool."""

    @abstractmethod
    def render(
        self, part: PoolPart, indices: npt.NDArray[np.int64], variant: str = "standard"
    ) -> npt.NDArray[np.uint8]:
        """uint8 [m, height, width, channels]: these images of the pool.

        Args:
            part: part of the pool.
            indices: [m], in 0..len(labels(part)) - 1.
            variant: one of `variants`.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """A short hash of everything that decides the pixels (version, options, files)."""

    def network_fingerprint(self) -> str:
        """A short hash of what decides the standard images of the network's part.

        A trained network is found again by it, so that it should not change with held-out images.
        """
        return self.fingerprint()

    def check_images(self, *, progress: bool = False) -> None:  # noqa: B027 - what is drawn can be drawn
        """Look for images that cannot be read, before work begins that would be lost.

        Args:
            progress: show a bar on standard error, if that is a terminal.

        Raises:
            UserError: an image is missing or broken.
        """

    def grey_share(self) -> float:
        """The share of the images that have no colours, in 0..1; of a sample, where they have to be read."""
        return 1.0 if self.shape[2] == 1 else 0.0

    def segmentation(self, part: PoolPart, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """uint8 [m, height, width]: what each pixel of these standard images shows, indices into `segments`.

        Height and width are those of `shape`. Only networks that learn to segment ask for maps, and only
        for their train images; when they predict they see images alone, standard or shifted.

        Raises:
            UserError: the source has no maps.
        """
        raise UserError(f"The image source {self.name} has no segmentation maps.")

    def check_variant(self, variant: str) -> None:
        """Raise a UserError unless `variant` exists."""
        if variant not in self.variants:
            raise unknown(f"variant of the image source {self.name}", variant, self.variants)
