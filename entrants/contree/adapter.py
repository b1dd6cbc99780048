"""Optimal trees over continuous features of the package pycontree."""

import warnings

import numpy as np
from pycontree import ConTree

from nsl_bench.core.errors import UserError
from nsl_bench.learners.asp_rules import deciding, decision_list


class Contree:
    """The tree of limited depth with the fewest errors over the view's features and literals.

    Thresholds on features are its own; a literal is a column of 0 and 1. Its rules are ASP unless a threshold
    is on a feature that no fact tells apart.

    Args:
        max_depth: most tests on a branch.
        complexity_cost: share of the train set that a node must get right in addition.
        seed: not used; the tree is the best one.
    """

    search_space = {"max_depth": (2, 3, 4), "complexity_cost": (0.0, 0.001, 0.01)}

    def __init__(self, max_depth: int = 3, complexity_cost: float = 0.0, seed: int = 0):
        self.options = {"max_depth": max_depth, "complexity_cost": complexity_cost}

    def fit(self, train):
        inputs, labels = _inputs(train), train.labels
        # Columns that are equal on all train examples make equal trees: the first of them stands for all.
        _, first = np.unique(inputs, axis=1, return_index=True)
        columns = np.sort(first)
        seconds = 600 if train.time_limit is None else min(600, 0.8 * train.time_limit)
        seen, codes = np.unique(labels, return_inverse=True)
        model = ConTree(time_limit=seconds, **self.options)
        with warnings.catch_warnings(record=True):  # where time is up, the best tree so far is kept
            model.fit(inputs[:, columns], codes)
        self.tests, self.list = {}, []  # tests: column and threshold, numbered
        self._read(model.get_tree(), columns, {})
        self.list = [(path, int(seen[code])) for path, code in self.list]
        counts = np.ones((len(self.list), train.n_labels)) / train.n_labels
        np.add.at(counts, (deciding(self.list, self._answers(train)), labels), 1)
        self.shares = counts / counts.sum(axis=1, keepdims=True)
        self.answers = np.array([label for _, label in self.list])
        self.written = self._written(train)
        return self

    def _read(self, node, columns, path):
        """Add the branches below a node, whose right child is where the column exceeds the threshold."""
        if node.is_leaf_node():
            self.list.append((path, int(node.get_label())))
            return
        asked = int(columns[node.get_split_feature()]), float(node.get_split_threshold())
        number = self.tests.setdefault(asked, len(self.tests))
        for child, holds in ((node.get_left(), False), (node.get_right(), True)):
            self._read(child, columns, {**path, number: holds})

    def _answers(self, view):
        """bool [n, tests]."""
        inputs = _inputs(view)
        found = [inputs[:, column] > threshold for column, threshold in self.tests]
        return np.column_stack([np.ones((len(view), 0), bool), *found])

    def _written(self, train):
        """The tree as ASP; None if a test on a feature cannot be said."""
        count, bodies, more = train.features.shape[1], [], []
        try:
            for column, threshold in self.tests:
                if column >= count:
                    bodies.append(train.literal_bodies[column - count])
                    continue
                test = train.feature_test(column, threshold)
                bodies.append((test.atom,))
                more += test.rules
        except UserError:
            return None
        default = int(np.bincount(self.answers).argmax())
        listed = [rule for rule in self.list if rule[1] != default]
        return [*decision_list(listed, default, bodies, train.label_space), *more]

    def predict(self, test):
        return self.answers[deciding(self.list, self._answers(test))]

    def predict_proba(self, test):
        return self.shares[deciding(self.list, self._answers(test))]

    def rules(self):
        return self.written


def _inputs(view):
    return np.hstack([view.features, view.literals]).astype(np.float64)
