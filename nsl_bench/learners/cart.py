"""A single decision tree (CART), the readable baseline on concepts that a perceiver sees."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Hypothesis
from nsl_bench.learners.trees import TreeLearner, tree_as_asp
from nsl_bench.learners.view import View


class Cart(TreeLearner):
    """A decision tree on the benchmark's features of the concepts."""

    name = "cart"
    version = "1"
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

        self._train = train if self.asp else None
        tree = DecisionTreeClassifier(
            max_depth=self.depth or None, min_samples_leaf=self.leaf, random_state=self.seed
        )
        return self._fitted(tree, train)

    def rules(self) -> Hypothesis | list[str]:
        """The tree's branches, as ASP where that was asked for and is exact."""
        if self._train is not None:
            with contextlib.suppress(UserError):
                return tree_as_asp(self._model, self._train, knowledge=self.knowledge)
        return self._rules_of(self._model)
