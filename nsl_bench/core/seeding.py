"""Seeds from words: the same words give the same chance in every process and on every machine."""

import hashlib

import numpy as np


class SecretSeed(str):
    """A secret seed; draws use all bits of its hash, so that nobody can try all streams."""


def seed_word(seed: int | str) -> int | SecretSeed:
    """A seed of data as a word: a text is a secret one."""
    return SecretSeed(seed) if isinstance(seed, str) else seed


def stable_hash(*words: object) -> int:
    """A 64-bit hash of the words' texts."""
    return int.from_bytes(_digest(words)[:8], "little")


def generator(*words: object) -> np.random.Generator:
    """A generator of random numbers seeded by 64 bits of the words' hash, or all 256 if one is secret."""
    secret = any(isinstance(word, SecretSeed) for word in words)
    return np.random.default_rng(int.from_bytes(_digest(words), "little") if secret else stable_hash(*words))


def _digest(words: tuple[object, ...]) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, words)).encode()).digest()
