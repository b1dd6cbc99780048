"""Explainable boosting machine of the package interpret-core."""

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier

from nsl_bench.learners.asp_rules import additive, binarised
from nsl_bench.learners.view import Inputs, Weights


class Ebm:
    """Additive scores of the view's literals.

    With ``interactions=0`` a score is a sum of one weight for each literal. The weights are then rounded to
    whole numbers, by which the learner answers, so its rules are exact.

    Args:
        interactions: number of pairs of literals with a term of their own.
        bags: models that are averaged; time is in proportion. With the package's 14 and 104 examples of
            follow_suit, fitting takes a minute on an idle core.
        rounds: most boosting rounds of each model. With few examples, the package does not stop before.
        inputs: the literals of the most probable ``concepts``; ``probabilities`` or ``both`` have no rules.
        weights: of train examples; by ``confidence``, as FFNSL weighs them.
        seed: seed of the package.
    """

    search_space = {
        "interactions": (0, 10, 20),
        "bags": (1, 4),
        "rounds": (1000, 10000),
        "inputs": ("concepts", "probabilities", "both"),
        "weights": ("equal", "confidence"),
    }

    def __init__(
        self,
        interactions: int = 10,
        bags: int = 14,
        rounds: int = 50000,
        inputs: Inputs = "concepts",
        weights: Weights = "equal",
        seed: int = 0,
    ):
        self.interactions, self.inputs, self.weights, self.seed = interactions, inputs, weights, seed
        self.options = {"outer_bags": bags, "max_rounds": rounds, "n_jobs": 1}

    def fit(self, train):
        inputs, labels = self._inputs(train), train.labels
        self.varied = np.flatnonzero(inputs.min(axis=0) < inputs.max(axis=0))
        pairs = self.interactions if train.n_labels == 2 else 0  # the package has none for more classes
        model = ExplainableBoostingClassifier(interactions=pairs, random_state=self.seed, **self.options)
        weights = train.weights.astype(float) if self.weights == "confidence" else None
        self.model = model.fit(inputs[:, self.varied], labels, sample_weight=weights)
        self.n_labels, self.bodies, self.space = train.n_labels, train.literal_bodies, train.label_space
        rounded = not pairs and self.inputs == "concepts"
        self.sums = self._rounded(inputs.shape[1]) if rounded else None
        return self

    def _inputs(self, view):
        return view.inputs(self.inputs, view.literals).astype(float)

    def _rounded(self, columns):
        """Whole numbers [columns, labels] and [labels] of a model without pairs, up to a common factor."""
        classes, n = self.model.classes_, self.n_labels
        off, on = (np.array([np.atleast_1d(term[k]) for term in self.model.term_scores_]) for k in (1, 2))
        intercept = np.atleast_1d(self.model.intercept_) + off.sum(axis=0)
        gains = on - off
        if n == 2 and gains.shape[1] == 1:
            gains, intercept = np.hstack([-gains, gains]) / 2, np.array([-intercept[0], intercept[0]]) / 2
        weights, constants = np.zeros((columns, n)), np.full(n, -1e3)
        weights[np.ix_(self.varied, classes)], constants[classes] = gains, intercept
        rounded = binarised(np.vstack([weights, constants]))
        return rounded[:-1], rounded[-1]

    def predict_proba(self, test):
        if self.sums is not None:
            scores = (test.literals @ self.sums[0] + self.sums[1]) / 1000
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        found = np.zeros((len(test), self.n_labels))
        found[:, self.model.classes_] = self.model.predict_proba(self._inputs(test)[:, self.varied])
        return found

    def rules(self):
        return None if self.sums is None else additive(*self.sums, self.bodies, self.space)
