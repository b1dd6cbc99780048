"""The compiled laying of cards does what Pillow does, bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.sources.cards import table
from nsl_bench.generators.sources.cards.table import Placement, Sprite, draw_augmentation
from PIL import Image


def by_pillow(
    picture: Image.Image, pixels: np.ndarray, place: Placement, tones: np.ndarray, shadow: bool
) -> None:
    """A sprite, uint8 [h, w, 4], laid on a picture by Pillow."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = place.extent(width, height)
    left, top, right, bottom = (
        max(left, 0),
        max(top, 0),
        min(right, picture.width),
        min(bottom, picture.height),
    )
    if right <= left or bottom <= top:
        return
    how = tuple(c / 2**16 for c in place.coefficients(width, height, left, top))
    face, mask = (
        Image.fromarray(np.ascontiguousarray(part)).transform(
            (right - left, bottom - top), Image.Transform.AFFINE, how, Image.Resampling.BILINEAR
        )
        for part in (pixels[..., :3], pixels[..., 3])
    )
    if shadow:
        offset = max(1, width // 24)
        picture.paste(
            (0, 0, 0), (left + offset, top + offset), mask.point(lambda v: v * table._SHADOW // 255)
        )
    picture.paste(face.point(tones.tolist() * 3), (left, top), mask)


@given(
    seed=st.integers(0, 2**32),
    x=st.floats(-30, 100),
    y=st.floats(-30, 100),
    degrees=st.sampled_from([None, 0.0, 90.0, 180.0, 37.5]),
    shadow=st.booleans(),
)
@settings(max_examples=80)
def test_it_is_what_pillow_does(seed: int, x: float, y: float, degrees: float | None, shadow: bool) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (*rng.integers(1, 60, 2), 4)).astype(np.uint8)
    if seed % 2:
        pixels[..., 3] = 255
    ground = rng.integers(0, 256, (71, 53, 3)).astype(np.uint8)
    how = draw_augmentation(seed, 1)
    place = how.placement(x, y) if degrees is None else Placement.turned(x, y, degrees)
    sprite = Sprite.from_arrays(pixels[..., :3], pixels[..., 3])
    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), mode="edge")
    padded[..., 3] = np.pad(pixels[..., 3], 1)

    picture, expected = ground.copy(), Image.fromarray(ground)
    table.lay(picture, sprite, place, tones=how.tones(), shadow=shadow)
    by_pillow(expected, padded, place, how.tones(), shadow)
    assert np.array_equal(picture, np.asarray(expected))

    table.on_plain_table(picture, sprite, how, seed)
    plain = Image.new("RGB", (53, 71), tuple(table._plain_table(seed).tolist()))
    by_pillow(plain, padded, how.placement(53 / 2, 71 / 2), np.arange(256), False)
    assert np.array_equal(picture, np.asarray(plain.point(how.tones().tolist() * 3)))
