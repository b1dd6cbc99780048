"""Laying a card on a picture, compiled: a bilinear affine map and blending, a row of pixels at a time.

The results are those of Pillow's ``Image.transform`` (affine, bilinear), ``point`` and ``paste`` with a mask,
bit for bit: with coefficients that are multiples of 2**-16 every product is exact in float64. A row goes
through loops without branches over small buffers, which compilers turn into vector instructions.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.compiling import numba as nb
from nsl_bench.core.types import Array, Ints32, UInts8

_BITS = 17
_ONE = 1 << _BITS
_FRACTION = _ONE - 1
_MASK = 3
"""The band of a sprite that is its mask; 0 to 2 are its colours."""


def pack(pixels: UInts8) -> Ints32:
    """int32 [h, w] from a sprite's colours and mask, uint8 [h, w, 4]: band b in the bits from 8 b on."""
    shifts = np.arange(0, 32, 8, dtype=np.uint32)
    packed: npt.NDArray[np.uint32] = (pixels.astype(np.uint32) << shifts).sum(axis=2, dtype=np.uint32)
    return packed.view(np.int32)


@nb.njit(cache=True, nogil=True)
def _span(base: int, step: int, limit: int, first: int, last: int) -> Any:
    """The pixels x, from..to inside of first..last, where ``base + step * x`` is in 0..limit - 1."""
    if step == 0:
        return (first, last) if 0 <= base < limit else (first, first)
    if step > 0:
        start, stop = -(base // step), (limit - 1 - base) // step + 1
    else:
        start, stop = -((limit - 1 - base) // -step), base // -step + 1
    return max(first, min(start, last)), max(first, min(stop, last))


@nb.njit(cache=True, nogil=True)
def _buffers(width: int) -> Any:
    """For a row: the four pixels of the sprite around each of its own, where it lies between them, bands."""
    return np.empty((4, width), np.int32), np.empty((2, width), np.int32), np.empty((4, width), np.int32)


@nb.njit(cache=True, nogil=True)
def _sample(sprite: Array, c: Array, y: int, width: int, near: Array, between: Array, bands: Array) -> Any:
    """Fill `bands` with the sprite's bands in a row of the box.

    Args:
        sprite: int32 [m, n], packed.
        c: int64 [6], affine coefficients in 2**-16, from the box to the sprite.
        near: int32 [4, width]; between: int32 [2, width]; bands: int32 [4, width]: buffers.

    Returns:
        The pixels from..to of the row that fall on the sprite; they are 0..to - from of the buffers.
    """
    height, breadth = sprite.shape
    u, du = c[0] + c[1] * (2 * y + 1) + 2 * c[2], 2 * c[0]
    v, dv = c[3] + c[4] * (2 * y + 1) + 2 * c[5], 2 * c[3]
    start, stop = _span(u, du, breadth << _BITS, 0, width)
    start, stop = _span(v, dv, height << _BITS, start, stop)
    n = stop - start
    u += du * start - (_ONE >> 1)
    v += dv * start - (_ONE >> 1)
    # First where, then what: loops that only compute, and one that only loads.
    for k in range(n):
        across, down = u + du * k, v + dv * k
        x, row = across >> _BITS, down >> _BITS
        x0, x1 = max(x, 0), min(x + 1, breadth - 1)
        y0, y1 = max(row, 0) * breadth, min(row + 1, height - 1) * breadth
        between[0, k], between[1, k] = np.int32(across & _FRACTION), np.int32(down & _FRACTION)
        near[0, k], near[1, k] = np.int32(y0 + x0), np.int32(y0 + x1)
        near[2, k], near[3, k] = np.int32(y1 + x0), np.int32(y1 + x1)
    pixels = sprite.reshape(height * breadth)
    for k in range(n):
        for corner in range(4):
            # Unsigned, so that the compiled code need not look for negative indices.
            near[corner, k] = pixels[np.uintp(near[corner, k])]
    for band in range(4):
        shift = np.int32(8 * band)
        for k in range(n):
            a = np.int32((near[0, k] >> shift) & np.int32(255))
            b = np.int32((near[1, k] >> shift) & np.int32(255))
            d = np.int32((near[2, k] >> shift) & np.int32(255))
            e = np.int32((near[3, k] >> shift) & np.int32(255))
            above = np.int32((a << np.int32(_BITS)) + np.int32((b - a) * between[0, k]))
            below = np.int32((d << np.int32(_BITS)) + np.int32((e - d) * between[0, k]))
            mixed = above + np.float64(np.int32(below - above)) * (between[1, k] * (1.0 / _ONE))
            bands[band, k] = np.int32(mixed * (1.0 / _ONE))
    return start, stop


@nb.njit(cache=True, nogil=True, inline="always")
def _blend(under: Any, over: Any, share: Any) -> Any:
    """``under`` and ``over`` mixed, ``share`` 255ths of it ``over``, rounded."""
    mixed = np.int32(under * (np.int32(255) - share) + over * share + np.int32(128))
    return np.int32((mixed + (mixed >> np.int32(8))) >> np.int32(8))


@nb.njit(cache=True, nogil=True)
def lay(
    picture: Array,
    sprite: Array,
    c: Array,
    left: int,
    top: int,
    width: int,
    height: int,
    tones: Array,
    offset: int,
    depth: int,
) -> None:
    """Lay a sprite on a picture, in place, and first darken the picture where its shadow falls.

    Args:
        picture: uint8 [h, w, 3].
        sprite: int32 [m, n], packed.
        c: int64 [6], affine coefficients in 2**-16, from the box to the sprite.
        left, top, width, height: the box of the picture, inside of it.
        tones: uint8 [256], applied to the sprite's colours.
        offset: of the shadow, pixels right and down, at least 1.
        depth: of the shadow, in 255ths; 0: none.
    """
    flat = picture.reshape(picture.shape[0], 3 * picture.shape[1])
    near, between, bands = _buffers(width)
    for y in range(height):
        start, stop = _sample(sprite, c, y, width, near, between, bands)
        # The shadow of a row falls below it, where the card comes later.
        below = top + offset + y
        if depth and below < picture.shape[0]:
            for k in range(min(stop, picture.shape[1] - left - offset) - start):
                share = np.int32(bands[_MASK, k] * depth // 255)
                if share:
                    for band in range(3):
                        x = np.uintp(3 * (left + offset + start + k) + band)
                        flat[below, x] = _blend(np.int32(flat[below, x]), np.int32(0), share)
        for k in range(stop - start):
            share = bands[_MASK, k]
            if share:
                for band in range(3):
                    over = np.int32(tones[np.uintp(bands[band, k])])
                    x = np.uintp(3 * (left + start + k) + band)
                    flat[top + y, x] = _blend(np.int32(flat[top + y, x]), over, share)


@nb.njit(cache=True, nogil=True)
def lay_plain(
    picture: Array,
    sprite: Array,
    c: Array,
    left: int,
    top: int,
    width: int,
    height: int,
    tones: Array,
    table: Array,
) -> None:
    """Lay a sprite on a table of one colour and change the tones of the whole picture, which is overwritten.

    Args:
        picture, sprite, c, left, top, width, height: as for `lay`.
        tones: uint8 [256], applied to the finished picture.
        table: uint8 [3], the table's colour before that.
    """
    flat = picture.reshape(picture.shape[0], 3 * picture.shape[1])
    for place in range(flat.shape[1]):
        flat[0, place] = tones[table[place % 3]]
    for y in range(1, picture.shape[0]):
        flat[y] = flat[0]
    near, between, bands = _buffers(width)
    for y in range(height):
        start, stop = _sample(sprite, c, y, width, near, between, bands)
        for band in range(3):
            under = np.int32(table[band])
            for k in range(stop - start):
                bands[band, k] = _blend(under, bands[band, k], bands[_MASK, k])
        for k in range(stop - start):
            for band in range(3):
                x = np.uintp(3 * (left + start + k) + band)
                flat[top + y, x] = tones[np.uintp(bands[band, k])]
