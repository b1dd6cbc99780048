"""A single decision tree (CART), the readable baseline on concepts that a perceiver sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.learners.trees import tree_rules
from nsl_bench.learners.view import View
from nsl_bench.types import Hypothesis, Track

__all__ = ["Cart"]


class Cart:
    """A decision tree on the benchmark's features of the concepts.

    Args:
        depth: maximum depth; 0 for no limit.
        leaf: minimum number of train examples in a leaf.
        seed: seed that breaks ties between features.
    """

    version = "1"
    track: Track = "pretrained"
    search_space: Mapping[str, Sequence[int]] = MappingProxyType(
        {"depth": (0, 2, 4, 6, 8), "leaf": (1, 2, 5, 10)}
    )

    def __init__(self, depth: int = 0, leaf: int = 1, seed: int = 0) -> None:
        for name, value, least in (("depth", depth, 0), ("leaf", leaf, 1)):
            if value < least:
                raise UserError(f"cart: {name} must be {least} or more; got {value}.")
        self.depth, self.leaf, self.seed = depth, leaf, seed

    def fit(self, train: View) -> Cart:
        """Fit the tree."""
        from sklearn.tree import DecisionTreeClassifier

        self._tree: Any = DecisionTreeClassifier(
            max_depth=self.depth or None, min_samples_leaf=self.leaf, random_state=self.seed
        )
        self._tree.fit(train.features, train.labels)
        self._features, self._labels = train.feature_names(), train.label_names
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: shares of the labels in the leaf; 0 for labels not in the train set."""
        result = np.zeros((len(test), test.n_labels))
        if len(test):
            result[:, self._tree.classes_] = self._tree.predict_proba(test.features)
        return result

    def rules(self) -> Hypothesis:
        """The tree's branches."""
        classes = [self._labels[int(c)] for c in self._tree.classes_]
        return tree_rules(self._tree, self._features, classes)
