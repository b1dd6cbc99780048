"""Optimal decision trees of the package pystreed."""

import numpy as np
from pystreed import STreeDClassifier

from nsl_bench.learners.asp_rules import decision_list


class Streed:
    """The tree over the view's literals with the fewest errors and a cost for each node.

    Args:
        max_depth: most tests on a branch.
        cost_complexity: share of the train set that a node must get right in addition.
        seed: not used; the tree is the best one.
    """

    search_space = {"max_depth": (2, 3, 4), "cost_complexity": (0.0, 0.001, 0.01)}

    def __init__(self, max_depth: int = 3, cost_complexity: float = 0.01, seed: int = 0):
        self.options = {"max_depth": max_depth, "cost_complexity": cost_complexity}

    def fit(self, train):
        literals, labels = train.literals, train.labels
        # Columns that are equal on all train examples make equal trees: the first of them stands for all.
        _, first = np.unique(literals, axis=1, return_index=True)
        columns = np.sort(first)
        seconds = 600 if train.time_limit is None else 0.8 * train.time_limit
        self.seen, codes = np.unique(labels, return_inverse=True)
        model = STreeDClassifier(time_limit=min(600, seconds), **self.options)
        model.fit(literals[:, columns].astype(int), codes)
        self.timed_out_ = not model.fit_result.is_optimal()
        self.branches = list(_branches(model.get_tree(), columns, {}))
        counts = np.ones((len(self.branches), train.n_labels)) / train.n_labels
        np.add.at(counts, (self._leaf(literals), labels), 1)
        self.shares = counts / counts.sum(axis=1, keepdims=True)
        self.answers = np.array([self.seen[code] for _, code in self.branches])
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _leaf(self, literals):
        found = np.zeros(len(literals), int)
        for number, (path, _) in enumerate(self.branches):
            holds = [literals[:, column] == value for column, value in path.items()]
            found[np.all(holds, axis=0) if holds else slice(None)] = number
        return found

    def predict(self, test):
        return self.answers[self._leaf(test.literals)]

    def predict_proba(self, test):
        return self.shares[self._leaf(test.literals)]

    def rules(self):
        default = next((k for k, atom in enumerate(self.space.atoms) if atom is None), len(self.space) - 1)
        listed = [(path, int(self.seen[code])) for path, code in self.branches]
        return decision_list(
            [rule for rule in listed if rule[1] != default], default, self.bodies, self.space
        )


def _branches(node, columns, path):
    """The branches of a tree; a node's right child is where its literal is true."""
    if node.is_leaf_node():
        yield path, int(node.label)
        return
    for child, holds in ((node.left_child, False), (node.right_child, True)):
        yield from _branches(child, columns, {**path, int(columns[node.feature]): holds})
