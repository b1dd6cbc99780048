"""Random forests, the tabular baselines: on the benchmark's features, or on its knowledge features.

FFNSL paper, section 5: 100 trees, seed 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.types import Hypothesis, Track
from nsl_bench.learners.trees import tree_rules
from nsl_bench.learners.view import View

__all__ = ["RandomForest", "RandomForestWithKnowledge"]


class RandomForest(HasOptions):
    """A random forest on the benchmark's features of the concepts."""

    name = "random_forest"
    version = "1"
    track: Track = "pretrained"
    answers_alike = True
    search_space: Mapping[str, Sequence[int]] = MappingProxyType(
        {"trees": (50, 100, 300), "depth": (0, 4, 8, 16), "leaf": (1, 2, 5)}
    )
    _knowledge = False

    trees: int = option(100, "number of trees", least=1)
    depth: int = option(0, "maximum depth of each tree; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed of the bootstrap samples and of the features tried at each split")

    def fit(self, train: View) -> RandomForest:
        """Fit the trees."""
        from sklearn.ensemble import RandomForestClassifier

        self._forest: Any = RandomForestClassifier(
            self.trees,
            max_depth=self.depth or None,
            min_samples_leaf=self.leaf,
            random_state=self.seed,
            n_jobs=1,
        )
        self._forest.fit(self._inputs(train), train.labels)
        self._features = train.feature_names(knowledge=self._knowledge)
        self._labels = train.label_names
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: mean of the trees' leaf frequencies; 0 for labels not in the train set."""
        result = np.zeros((len(test), test.n_labels))
        if len(test):
            result[:, self._forest.classes_] = self._forest.predict_proba(self._inputs(test))
        return result

    def rules(self) -> Hypothesis:
        """The rules of the first tree, one per branch."""
        classes = [self._labels[int(c)] for c in self._forest.classes_]
        return tree_rules(self._forest.estimators_[0], self._features, classes)

    def _inputs(self, view: View) -> npt.NDArray[np.float32]:
        return view.knowledge_features if self._knowledge else view.features


class RandomForestWithKnowledge(RandomForest):
    """A random forest on knowledge features, such as whether a digit repeats in a row."""

    fixed_size = ("labels",)
    _knowledge = True
