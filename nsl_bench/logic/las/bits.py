"""Bit tables: truth values of many contexts, 64 to a word."""

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Bools

try:  # what hashlib takes it from; hashlib itself loads OpenSSL, which takes 3 MiB
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

Bits = npt.NDArray[np.uint64]
"""uint64 [..., words]: bit ``c % 64`` of word ``c // 64`` belongs to column ``c``."""


def pack(flags: Bools) -> Bits:
    """Packs bool [..., n] into uint64 [..., ceil(n / 64)]."""
    n = flags.shape[-1]
    octets = np.packbits(flags, axis=-1, bitorder="little")
    padding = -octets.shape[-1] % 8
    if padding:
        octets = np.concatenate(
            [octets, np.zeros((*octets.shape[:-1], padding), np.uint8)], axis=-1, dtype=np.uint8
        )
    if n == 0:
        return np.zeros((*flags.shape[:-1], 0), np.uint64)
    return np.ascontiguousarray(octets).view(np.uint64)


def unpack(bits: Bits, n: int) -> Bools:
    """The bool [..., n] that `pack` packed."""
    octets = np.ascontiguousarray(bits).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=n, bitorder="little").view(np.bool_)


def indices(bits: Bits, n: int) -> npt.NDArray[np.intp]:
    """The columns whose bit is set in uint64 [words], ascending."""
    return np.flatnonzero(unpack(bits, n))


def unique_rows(flags: Bools) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where each distinct row of bool [n, m] occurs first, and which of them each row is."""
    if not flags.size:
        return np.zeros(min(len(flags), 1), np.intp), np.zeros(len(flags), np.intp)
    packed = np.ascontiguousarray(np.packbits(flags, axis=1))
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, class_of = np.unique(rows, return_index=True, return_inverse=True)
    return first, class_of.reshape(-1)


def digest(data: bytes | memoryview) -> bytes:
    """128 bits that stand for a text: different ones have the same with a chance of 2^-128."""
    return blake2b(data, digest_size=16).digest()
