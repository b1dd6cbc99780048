"""What diseases do to a drawn leaf: spots, blotches, mottle and mould, each with colours of its own.

Each step changes a leaf's picture in place, inside the leaf's mask only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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

    def _points(self, pixels: npt.NDArray[np.int64], n: int) -> Points:
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
        places: Points,
        radii: tuple[float, float],
        *rings: tuple[float, _Colour, float, float],
        long: float = 1,
        ragged: float = 0.25,
    ) -> None:
        """Spots of rings, the outer ones first.

        Args:
            radii: the least and the greatest, as a share of the size.
            rings: how large, as a share of the radius; colour; how soft, in hundredths of the size; how
                strong.
        """
        sizes = [self.dice.between(*radii) for _ in places]
        for share, colour, softness, strength in rings:
            outlines = [self.spot(p, r * share, long, ragged) for p, r in zip(places, sizes, strict=True)]
            mask = mask_of(self.size, outlines)
            if softness:
                mask = soften(mask, softness * self.size / 100)
            lay(self.picture, self.within(mask), self.dice.around(colour, 10), strength)

    def mottle(self, cells: int, colour: _Colour, threshold: float, strength: float, *, veins: bool) -> None:
        """Soft blotches of a colour; the veins keep theirs if `veins`."""
        pattern = ((blotches(self.size, cells, self.dice) - np.float32(threshold)) * 6).clip(0, 1)
        mask = self.within((pattern * 255).astype(np.uint8))
        if veins:
            mask = np.minimum(mask, 255 - soften(self.veins, self.size / 50))
        lay(self.picture, mask, self.dice.around(colour, 10), strength)


@dataclass(frozen=True)
class _Spots:
    """Spots of one kind.

    Attributes:
        count: the least and the greatest number.
        radii: as in `Canvas.spots`, as are `rings`, `long` and `ragged`.
        inside: least distance from the blade's edge, as a share of the size.
        edge: greatest distance; 0: no limit.
    """

    count: tuple[int, int]
    radii: tuple[float, float]
    rings: tuple[tuple[float, _Colour, float, float], ...]
    inside: float = 0
    edge: float = 0
    long: float = 1
    ragged: float = 0.25

    def __call__(self, canvas: Canvas) -> None:
        n = canvas.dice.whole(*self.count)
        places = canvas.edge_places(n, self.edge) if self.edge else canvas.places(n, self.inside)
        canvas.spots(places, self.radii, *self.rings, long=self.long, ragged=self.ragged)


@dataclass(frozen=True)
class _Mottle:
    """Soft blotches; see `Canvas.mottle`."""

    cells: int
    colour: _Colour
    threshold: float
    strength: float
    veins: bool = False

    def __call__(self, canvas: Canvas) -> None:
        canvas.mottle(self.cells, self.colour, self.threshold, self.strength, veins=self.veins)


# fmt: off
DISEASED: Mapping[str, tuple[Callable[[Canvas], None], ...]] = {
    "healthy": (),
    "apple_scab": (_Spots((6, 13), (0.03, 0.065), (
        (1.3, (96, 104, 48), 2, 0.5), (1, (52, 54, 30), 2, 0.85)), inside=0.02, ragged=0.5),),
    "black_rot": (_Spots((4, 10), (0.025, 0.05), (
        (1, (82, 38, 44), 0, 1), (0.72, (168, 128, 88), 0.5, 1)), inside=0.02, ragged=0.1),),
    "cedar_apple_rust": (_Spots((4, 11), (0.022, 0.05), (
        (1.25, (196, 66, 40), 0.6, 0.9), (0.9, (244, 170, 30), 0.5, 1)), inside=0.02, ragged=0.1),),
    "powdery_mildew": (
        _Spots((5, 10), (0.06, 0.13), ((1, (226, 230, 222), 4, 0.75),), ragged=0.4),
        _Mottle(9, (222, 228, 218), 0.55, 0.55)),
    "gray_leaf_spot": (_Spots((10, 22), (0.009, 0.014), (
        (1.3, (150, 134, 74), 0, 0.9), (1, (184, 170, 136), 0, 1)), long=5, ragged=0.05),),
    "common_rust": (_Spots((60, 140), (0.006, 0.014), (
        (1.5, (190, 160, 70), 0, 0.6), (1, (140, 66, 26), 0, 1)), long=1.6),),
    "northern_leaf_blight": (_Spots((1, 3), (0.035, 0.055), (
        (1.15, (120, 108, 66), 0.8, 0.9), (0.95, (176, 158, 118), 1, 1)),
        inside=0.05, long=4.5, ragged=0.12),),
    "black_measles": (
        _Mottle(7, (206, 176, 66), 0.5, 0.8, True), _Mottle(7, (112, 46, 30), 0.58, 0.95, True)),
    "leaf_blight": (_Spots((4, 8), (0.05, 0.1), (
        (1.2, (168, 140, 60), 2, 0.7), (1, (74, 42, 30), 1, 0.95)), ragged=0.6),),
    "citrus_greening": (_Mottle(4, (206, 196, 72), 0.38, 0.85, True),),
    "bacterial_spot": (_Spots((20, 45), (0.008, 0.02), (
        (1.9, (176, 172, 66), 1, 0.6), (1, (46, 32, 24), 0, 1)), ragged=0.5),),
    "early_blight": (_Spots((3, 7), (0.045, 0.08), (
        (1.5, (196, 180, 60), 2, 0.65), (1, (84, 54, 32), 0.4, 1), (0.72, (134, 96, 60), 0, 1),
        (0.5, (78, 48, 28), 0, 1), (0.28, (140, 104, 66), 0, 1)), inside=0.03, ragged=0.15),),
    "late_blight": (_Spots((1, 3), (0.14, 0.24), (
        (1.15, (158, 168, 110), 3, 0.7), (1, (62, 54, 44), 3, 0.92)), edge=0.05, ragged=0.5),),
    "leaf_scorch": (
        _Spots((25, 50), (0.012, 0.03), ((1, (108, 34, 52), 1, 0.9),), ragged=0.5),
        _Spots((10, 18), (0.03, 0.06), ((1, (120, 62, 40), 1.5, 0.9),), edge=0.05, ragged=0.5)),
    "leaf_mold": (_Spots((6, 11), (0.04, 0.085), (
        (1, (196, 192, 82), 4, 0.85), (0.55, (132, 122, 64), 3, 0.7)), ragged=0.3),),
    "septoria_leaf_spot": (_Spots((28, 55), (0.011, 0.021), (
        (1.1, (52, 40, 30), 0, 1), (0.65, (190, 180, 160), 0, 1)), ragged=0.12),),
    "spider_mites": (
        _Mottle(5, (160, 150, 90), 0.45, 0.4),
        _Spots((220, 420), (0.003, 0.006), ((1, (222, 216, 160), 0, 0.9),))),
    "target_spot": (_Spots((9, 18), (0.02, 0.04), (
        (1, (150, 108, 72), 0.4, 0.95), (0.6, (196, 160, 118), 0, 1), (0.25, (92, 56, 36), 0, 1)),
        inside=0.02, ragged=0.2),),
    "yellow_leaf_curl_virus": (
        _Spots((30, 45), (0.03, 0.06), ((1, (216, 208, 84), 3, 0.85),), edge=0.06),
        _Mottle(6, (206, 204, 90), 0.5, 0.6, True)),
    "mosaic_virus": (_Mottle(13, (166, 186, 96), 0.52, 0.9), _Mottle(11, (40, 76, 40), 0.6, 0.8)),
}
# fmt: on
"""Disease to what it does to a leaf, one after the other."""
