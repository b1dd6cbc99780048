"""Random forests, the tabular baselines: on the benchmark's features, or on its knowledge features.

FFNSL paper, section 5: 100 trees, seed 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

from nsl_bench.core.options import option
from nsl_bench.core.types import Hypothesis
from nsl_bench.learners.trees import TreeLearner
from nsl_bench.learners.view import Inputs, View, Weights


class RandomForest(TreeLearner):
    """A random forest on the benchmark's features of the concepts."""

    name = "random_forest"
    version = "1"
    answers_alike = True
    search_space: Mapping[str, Sequence[Any]] = MappingProxyType(
        {
            "trees": (50, 100, 300),
            "depth": (0, 4, 8, 16),
            "leaf": (1, 2, 5),
            "inputs": get_args(Inputs),
            "weights": get_args(Weights),
        }
    )

    trees: int = option(100, "number of trees", least=1)
    depth: int = option(0, "maximum depth of each tree; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed of the bootstrap samples and of the features tried at each split")
    inputs: Inputs = option("concepts", "the task's features of the most probable concepts, or probabilities")
    weights: Weights = option(
        "equal", "how much train examples count: all alike, or by ``confidence``, as FFNSL weighs them"
    )

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

    def rules(self) -> Hypothesis | None:
        """The rules of the first tree, one per branch; None for tests on probabilities."""
        if self.inputs == "probabilities":
            return None
        return self._rules_of(self._model.estimators_[0])


class RandomForestWithKnowledge(RandomForest):
    """A random forest on knowledge features, such as whether a digit repeats in a row."""

    fixed_size = ("labels",)
    knowledge = True
    offered = ("trees", "depth", "leaf", "seed", "weights")
    search_space = MappingProxyType({k: v for k, v in RandomForest.search_space.items() if k != "inputs"})
