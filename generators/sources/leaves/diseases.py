"""What diseases do to a drawn leaf: spots, blotches, mottle and mould, each with colours of its own.

Each step changes a leaf's picture in place, inside the leaf's mask only.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nsl_bench.core.types import Ints

from ...keyed_random import Dice
from ..paint import Mask, Picture, Points, blotches, lay, mask_of, soften

_Colour = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Canvas:
    """A leaf that falls ill.

    Attributes:
        picture: of the blades, changed in place.
        direction: the leaf's, radians.
    """

    picture: Picture
    blade: Mask
    veins: Mask
    direction: float
    dice: Dice

    @property
    def size(self) -> int:
        """Side of the picture, pixels."""
        return len(self.blade)

    def places(self, n: int, least: float = 0) -> Points:
        """float64 [n, 2]: points of the blade, at least so far from its edge, as a share of the size."""
        import cv2

        inside = self.blade > 128
        if least:
            depth = cv2.distanceTransform(inside.astype(np.uint8), cv2.DIST_L2, 3)
            deep = depth > least * self.size
            inside = deep if deep.any() else inside
        return self._points(np.flatnonzero(inside), n)

    def edge_places(self, n: int, most: float) -> Points:
        """float64 [n, 2]: points of the blade at most so far from its edge, as a share of the size."""
        import cv2

        inside = (self.blade > 128).astype(np.uint8)
        depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3)
        return self._points(np.flatnonzero((inside > 0) & (depth < most * self.size)), n)

    def _points(self, pixels: Ints, n: int) -> Points:
        if not len(pixels):
            return np.empty((0, 2))
        chosen = pixels[(self.dice.many(n) * len(pixels)).astype(np.int64)]
        return np.stack((chosen % self.size + 0.5, chosen // self.size + 0.5), axis=1)

    def spot(self, place: Points, radius: float, long: float = 1, ragged: float = 0.25) -> Points:
        """The outline of a spot, its radius a share of the size; `long` stretches it along the leaf."""
        angle = np.linspace(0, 2 * np.pi, 15)[:-1]
        r = radius * self.size * (1 + ragged * (self.dice.many(14) * 2 - 1))
        along, across = r * np.cos(angle) * long, r * np.sin(angle)
        c, s = np.cos(self.direction), np.sin(self.direction)
        outline: Points = place + np.stack((along * c - across * s, along * s + across * c), axis=1)
        return outline

    def within(self, mask: Mask) -> Mask:
        """The part of a mask that lies on the blade."""
        return np.minimum(mask, self.blade)

    def spots(
        self,
        count: tuple[int, int],
        radii: tuple[float, float],
        rings: Sequence[tuple[float, _Colour, float, float]],
        *,
        inside: float = 0,
        edge: float = 0,
        long: float = 1,
        ragged: float = 0.25,
    ) -> None:
        """Spots of rings, the outer ones first.

        Args:
            count, radii: the least and the greatest; radii as a share of the size.
            rings: how large, as a share of the radius; colour; how soft, in hundredths of the size; how
                strong.
            inside: least distance from the blade's edge, as a share of the size.
            edge: greatest distance; 0: no limit.
        """
        n = self.dice.whole(*count)
        places = self.edge_places(n, edge) if edge else self.places(n, inside)
        sizes = [self.dice.between(*radii) for _ in places]
        for share, colour, softness, strength in rings:
            outlines = [self.spot(p, r * share, long, ragged) for p, r in zip(places, sizes, strict=True)]
            mask = mask_of(self.size, outlines)
            if softness:
                mask = soften(mask, softness * self.size / 100)
            lay(self.picture, self.within(mask), self.dice.around(colour, 10), strength)

    def mottle(
        self, cells: int, colour: _Colour, threshold: float, strength: float, *, veins: bool = False
    ) -> None:
        """Soft blotches of a colour; the veins keep theirs if `veins`."""
        pattern = ((blotches(self.size, cells, self.dice) - np.float32(threshold)) * 6).clip(0, 1)
        mask = self.within((pattern * 255).astype(np.uint8))
        if veins:
            mask = np.minimum(mask, 255 - soften(self.veins, self.size / 50))
        lay(self.picture, mask, self.dice.around(colour, 10), strength)

    def infect(self, disease: str) -> None:
        """Let the leaf have a disease, as ``diseases.toml`` says, step by step."""
        kinds: Mapping[str, Callable[..., None]] = {"spots": self.spots, "mottle": self.mottle}
        for step in _DISEASES.get(disease, ()):
            kinds[step["kind"]](**{name: value for name, value in step.items() if name != "kind"})


_DISEASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
