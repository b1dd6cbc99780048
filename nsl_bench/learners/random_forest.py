"""Random forests, the tabular baselines: on the benchmark's features, or on its knowledge features.

FFNSL paper, section 5: 100 trees, seed 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nsl_bench.core.options import option
from nsl_bench.core.types import Hypothesis
from nsl_bench.learners.trees import TreeLearner
from nsl_bench.learners.view import View


class RandomForest(TreeLearner):
    """A random forest on the benchmark's features of the concepts."""

    name = "random_forest"
    version = "1"
    answers_alike = True
    search_space: Mapping[str, Sequence[int]] = MappingProxyType(
        {"trees": (50, 100, 300), "depth": (0, 4, 8, 16), "leaf": (1, 2, 5)}
    )

    trees: int = option(100, "number of trees", least=1)
    depth: int = option(0, "maximum depth of each tree; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed of the bootstrap samples and of the features tried at each split")

    def fit(self, train: View) -> RandomForest:
        """Fit the trees."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            self.trees,
            max_depth=self.depth or None,
            min_samples_leaf=self.leaf,
            random_state=self.seed,
            n_jobs=1,
        )
        return self._fitted(forest, train)

    def rules(self) -> Hypothesis:
        """The rules of the first tree, one per branch."""
        return self._rules_of(self._model.estimators_[0])


class RandomForestWithKnowledge(RandomForest):
    """A random forest on knowledge features, such as whether a digit repeats in a row."""

    fixed_size = ("labels",)
    knowledge = True
