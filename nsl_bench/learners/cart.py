"""A single decision tree (CART), the readable baseline on concepts that a perceiver sees."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.types import Hypothesis, Track
from nsl_bench.learners.trees import tree_as_asp, tree_rules
from nsl_bench.learners.view import View

__all__ = ["Cart"]


class Cart(HasOptions):
    """A decision tree on the benchmark's features of the concepts."""

    name = "cart"
    version = "1"
    track: Track = "pretrained"
    search_space: Mapping[str, Sequence[int]] = MappingProxyType(
        {"depth": (0, 2, 4, 6, 8), "leaf": (1, 2, 5, 10)}
    )

    depth: int = option(0, "maximum depth; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed that breaks ties between features")
    knowledge: bool = option(False, "learn from `knowledge_features`")
    asp: bool = option(
        False,
        "give the tree's branches as ASP, which is judged like other learners' rules, where ASP says them "
        "exactly",
    )

    def fit(self, train: View) -> Cart:
        """Fit the tree."""
        from sklearn.tree import DecisionTreeClassifier

        self._tree: Any = DecisionTreeClassifier(
            max_depth=self.depth or None, min_samples_leaf=self.leaf, random_state=self.seed
        )
        self._tree.fit(self._inputs(train), train.labels)
        self._features, self._labels = train.feature_names(knowledge=self.knowledge), train.label_names
        self._train = train if self.asp else None
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: shares of the labels in the leaf; 0 for labels not in the train set."""
        result = np.zeros((len(test), test.n_labels))
        if len(test):
            result[:, self._tree.classes_] = self._tree.predict_proba(self._inputs(test))
        return result

    def _inputs(self, view: View) -> npt.NDArray[np.float32]:
        return view.knowledge_features if self.knowledge else view.features

    def rules(self) -> Hypothesis | list[str]:
        """The tree's branches, as ASP where that was asked for and is exact."""
        if self._train is not None:
            with contextlib.suppress(UserError):
                return tree_as_asp(self._tree, self._train, knowledge=self.knowledge)
        classes = [self._labels[int(c)] for c in self._tree.classes_]
        return tree_rules(self._tree, self._features, classes)
