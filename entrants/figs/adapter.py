"""FIGS of the package imodels, one model for each class against the rest."""

import numpy as np
from imodels import FIGSClassifier

from nsl_bench.learners.asp_rules import decision_list, sum_of_trees
from nsl_bench.learners.view import Inputs, Weights


class Figs:
    """Sums of small trees over the view's literals; the class with the greatest sum wins.

    Its rules are one for each combination of leaves, where these are few enough to be written.

    Args:
        max_rules: most splits over all trees of a class.
        inputs: the literals of the most probable ``concepts``; ``probabilities`` or ``both`` have no rules.
        weights: of train examples; by ``confidence``, as FFNSL weighs them.
        seed: seed of the package.
    """

    search_space = {
        "max_rules": (4, 8, 12, 20),
        "inputs": ("concepts", "probabilities", "both"),
        "weights": ("equal", "confidence"),
    }

    def __init__(
        self, max_rules: int = 12, inputs: Inputs = "concepts", weights: Weights = "equal", seed: int = 0
    ):
        self.max_rules, self.inputs, self.weights, self.seed = max_rules, inputs, weights, seed

    def fit(self, train):
        inputs, labels = self._inputs(train), train.labels
        weights = train.weights.astype(float) if self.weights == "confidence" else None
        self.classes = [1] if train.n_labels == 2 else list(range(train.n_labels))
        self.models = []
        for label in self.classes:
            model = FIGSClassifier(max_rules=self.max_rules, random_state=self.seed)
            self.models.append(model.fit(inputs, (labels == label).astype(int), sample_weight=weights))
        self.n_labels, self.bodies, self.space = train.n_labels, train.literal_bodies, train.label_space
        return self

    def _inputs(self, view):
        return view.inputs(self.inputs, view.literals).astype(float)

    def predict(self, test):
        return self._decide(self._scores(self._inputs(test)))

    def predict_proba(self, test):
        scores = np.clip(self._scores(self._inputs(test)), 1e-6, 1)
        if self.n_labels == 2:
            return np.column_stack([1 - scores[:, 0], scores[:, 0]])
        return scores / scores.sum(axis=1, keepdims=True)

    def rules(self):
        if self.inputs != "concepts":
            return None
        trees = []
        for k, model in enumerate(self.models):
            for tree in model.trees_:
                trees.append([(path, value * np.eye(len(self.models))[k]) for path, value in _leaves(tree)])
        found = sum_of_trees(trees, lambda scores: self._decide(scores.reshape(1, -1))[0])
        if found is None:
            return None
        default = next((k for k, atom in enumerate(self.space.atoms) if atom is None), self.n_labels - 1)
        return decision_list([rule for rule in found if rule[1] != default], default, self.bodies, self.space)

    def _scores(self, inputs):
        columns = []
        for model in self.models:
            total = sum(model._predict_tree(tree, inputs) for tree in model.trees_)
            columns.append(np.reshape(total, (len(inputs), -1))[:, -1])  # one column a class, the last: yes
        return np.column_stack(columns)

    def _decide(self, scores):
        return (scores[:, 0] > 0.5).astype(int) if self.n_labels == 2 else scores.argmax(axis=1)


def _leaves(node, path=None):
    """The branches of a tree of imodels, whose left child is where the literal is false."""
    path = path or {}
    if node.left is None and node.right is None:
        yield path, float(np.ravel(node.value)[-1])
        return
    for child, holds in ((node.left, False), (node.right, True)):
        if path.get(node.feature, holds) == holds:
            yield from _leaves(child, {**path, int(node.feature): holds})
