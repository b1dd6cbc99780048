"""Rule generation by linear programming of the package ruleopt."""

import numpy as np
from ruleopt.estimator import RUGClassifier

from nsl_bench.learners.asp_rules import binarised, voting


class RuleOpt:
    """Rules with weights over the view's literals; the label with the greatest sum of weights wins.

    Where no rule holds, the most frequent label is the answer.

    Args:
        depth: most literals of a rule.
        rounds: most rounds of rule generation.
        seed: seed of the package.
    """

    search_space = {"depth": (2, 3, 5), "rounds": (5, 10, 20)}

    def __init__(self, depth: int = 5, rounds: int = 10, seed: int = 0):
        self.depth, self.rounds, self.seed = depth, rounds, seed

    def fit(self, train):
        literals, labels = train.literals, train.labels
        seen, codes = np.unique(labels, return_inverse=True)
        counts = np.bincount(labels, minlength=train.n_labels)
        self.default, self.list, weights = int(counts.argmax()), [], []
        if len(seen) > 1:
            model = RUGClassifier(max_depth=self.depth, max_rmp_calls=self.rounds, random_state=self.seed)
            model.fit(literals.astype(np.float32), codes)
            for rule in model.decision_rules_.values():
                if rule.weight > 0:
                    clauses = (rule._get_clause(k) for k in range(rule.n_clauses))
                    body = {int(column): bool(upper == np.inf) for column, upper, _, _ in clauses}
                    self.list.append((body, int(seen[rule.label])))
                    weights.append(rule.weight)
        # Twice a whole weight, and one for the most frequent label, which so wins where nothing holds.
        self.weights = 2 * binarised(weights)
        self.constants = np.eye(train.n_labels, dtype=np.int64)[self.default]
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _scores(self, view):
        result = np.tile(self.constants, (len(view), 1))
        for (body, label), weight in zip(self.list, self.weights, strict=True):
            holds = [view.literals[:, column] == value for column, value in body.items()]
            result[:, label] += weight * np.all(holds, axis=0)
        return result

    def predict(self, test):
        return self._scores(test).argmax(axis=1)

    def predict_proba(self, test):
        scores = self._scores(test)
        return scores / scores.sum(axis=1, keepdims=True).clip(1)

    def rules(self):
        return voting(self.list, self.weights, self.constants, self.bodies, self.space)
