"""Gradient boosting of the package xgboost."""

import numpy as np
from xgboost import XGBClassifier


class Xgboost:
    """Boosted trees over the view's literals and metadata; too many for rules.

    Args:
        trees: number of boosting rounds.
        depth: maximum depth of a tree.
        rate: learning rate.
        seed: seed of the package.
    """

    search_space = {"trees": (50, 100, 300), "depth": (2, 4, 6), "rate": (0.1, 0.3)}

    def __init__(self, trees: int = 100, depth: int = 6, rate: float = 0.3, seed: int = 0):
        self.options = {
            "n_estimators": trees,
            "max_depth": depth,
            "learning_rate": rate,
            "random_state": seed,
        }

    def fit(self, train):
        self.seen, codes = np.unique(train.labels, return_inverse=True)
        if len(self.seen) > 1:
            self.model = XGBClassifier(**self.options, n_jobs=1).fit(_inputs(train), codes)
        return self

    def predict_proba(self, test):
        found = np.zeros((len(test), test.n_labels))
        if len(test):
            found[:, self.seen] = self.model.predict_proba(_inputs(test)) if len(self.seen) > 1 else 1.0
        return found


def _inputs(view):
    return np.hstack([view.literals.astype(np.float32), view.features])
