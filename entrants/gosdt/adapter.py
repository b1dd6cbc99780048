"""Generalised optimal sparse decision trees of the package gosdt."""

import contextlib

import numpy as np
from gosdt import GOSDTClassifier, ThresholdGuessBinarizer

from nsl_bench.learners.asp_rules import deciding, decision_list


class Gosdt:
    """The tree over the view's literals with the fewest errors and a cost for each leaf.

    Args:
        regularization: share of the train set that a leaf must get right in addition.
        depth: most tests on a branch.
        guesses: stumps of the boosted ensemble whose literals are the tree's candidates, as the package
            chooses thresholds; it bounds the time where there are hundreds of literals.
        seed: seed of the ensemble.
    """

    search_space = {"regularization": (0.005, 0.01, 0.02, 0.05), "depth": (3, 4, 5)}

    def __init__(self, regularization: float = 0.01, depth: int = 4, guesses: int = 20, seed: int = 0):
        self.regularization, self.depth = regularization, depth
        self.guesses, self.seed = guesses, seed

    def fit(self, train):
        literals, labels = train.literals, train.labels
        columns = self._columns(literals, labels)
        seconds = 600 if train.time_limit is None else min(600, 0.8 * train.time_limit)
        model = GOSDTClassifier(
            regularization=self.regularization,
            allow_small_reg=True,
            depth_budget=self.depth + 1,
            time_limit=int(max(1, seconds)),
        )
        with contextlib.suppress(TimeoutError):  # the best tree so far is kept
            model.fit(literals[:, columns], labels)
        if not hasattr(model, "trees_"):
            raise RuntimeError("No tree was found within the time limit.")
        self.branches = [
            (path, int(model.classes_[code])) for path, code in _branches(model.trees_[0].tree, columns, {})
        ]
        counts = np.ones((len(self.branches), train.n_labels)) / train.n_labels
        np.add.at(counts, (deciding(self.branches, literals), labels), 1)
        self.shares = counts / counts.sum(axis=1, keepdims=True)
        self.answers = np.array([label for _, label in self.branches])
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _columns(self, literals, labels):
        """Literals that may be in the tree; of those that are equal on all train examples, the first."""
        _, first = np.unique(literals, axis=1, return_index=True)
        columns = np.sort(first)
        if len(np.unique(labels)) == 1:
            return columns[:1]
        guess = ThresholdGuessBinarizer(
            n_estimators=self.guesses, max_depth=1, random_state=self.seed, column_elimination=False
        )
        guess.fit(literals[:, columns].astype(float), labels)
        return columns[sorted({column for column, _ in guess.thresholds_})]

    def predict(self, test):
        return self.answers[deciding(self.branches, test.literals)]

    def predict_proba(self, test):
        return self.shares[deciding(self.branches, test.literals)]

    def rules(self):
        default = int(np.bincount(self.answers).argmax())
        listed = [rule for rule in self.branches if rule[1] != default]
        return decision_list(listed, default, self.bodies, self.space)


def _branches(node, columns, path):
    """The branches of a tree; a node's left child is where its literal is true."""
    if hasattr(node, "prediction"):
        yield path, int(node.prediction)
        return
    for child, holds in ((node.left_child, True), (node.right_child, False)):
        yield from _branches(child, columns, {**path, int(columns[node.feature]): holds})
