"""Files with some of their bytes changed, as a bad disk or a stranger changes them."""

from __future__ import annotations

import random

__all__ = ["damaged"]


def damaged(data: bytes, seed: int) -> bytes:
    """A file with one to three bytes changed, anywhere in it or in its last quarter.

    A parquet file lists its contents at its end, which in a small file is most of it.
    """
    drawn = random.Random(seed)
    found = bytearray(data)
    first = 0 if drawn.random() < 0.7 else 3 * len(found) // 4
    for _ in range(drawn.randint(1, 3)):
        found[drawn.randrange(first, len(found))] = drawn.randrange(256)
    return bytes(found)
