"""Folds of cross-validation: which examples each test set has."""

import numpy as np

from nsl_bench.core.types import AnyInts, Ints


def stratified_folds(labels: AnyInts, n_folds: int, rng: np.random.Generator) -> Ints:
    """Deal examples to folds class by class, in random order within a class.

    Returns:
        int64 [n] from 0: each example's fold. The sizes of two folds differ by at most one, and so do the
        numbers of examples of one class in them; the first folds are the larger ones.
    """
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[by_label] = np.arange(len(labels)) % n_folds
    return folds
