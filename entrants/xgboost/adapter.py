"""Gradient boosting of the package xgboost."""

import numpy as np
import xgboost

from nsl_bench.learners.view import Inputs, Weights


class Xgboost:
    """Boosted trees over the view's literals and features; too many for rules.

    Args:
        trees: number of boosting rounds.
        depth: maximum depth of a tree.
        rate: learning rate.
        inputs: the literals and features of the most probable ``concepts``, ``probabilities``, or ``both``.
        weights: of train examples; by ``confidence``, as FFNSL weighs them.
        seed: seed of the package.
    """

    search_space = {
        "trees": (50, 100, 300),
        "depth": (2, 4, 6),
        "rate": (0.1, 0.3),
        "inputs": ("concepts", "probabilities", "both"),
        "weights": ("equal", "confidence"),
    }

    def __init__(
        self,
        trees: int = 100,
        depth: int = 6,
        rate: float = 0.3,
        inputs: Inputs = "concepts",
        weights: Weights = "equal",
        seed: int = 0,
    ):
        self.trees, self.inputs, self.weights = trees, inputs, weights
        self.options = {"max_depth": depth, "learning_rate": rate, "seed": seed, "nthread": 1}

    def fit(self, train):
        self.seen, codes = np.unique(train.labels, return_inverse=True)
        if len(self.seen) > 1:
            goal = {"objective": "multi:softprob", "num_class": len(self.seen)}
            weights = train.weights if self.weights == "confidence" else None
            data = xgboost.DMatrix(self._inputs(train), codes, weight=weights)
            self.model = xgboost.train({**self.options, **goal}, data, self.trees)
        return self

    def predict_proba(self, test):
        found = np.zeros((len(test), test.n_labels))
        if len(test):
            one = len(self.seen) == 1
            found[:, self.seen] = 1.0 if one else self.model.predict(xgboost.DMatrix(self._inputs(test)))
        return found

    def _inputs(self, view):
        concepts = np.hstack([view.literals.astype(np.float32), view.features])
        return view.inputs(self.inputs, concepts)
