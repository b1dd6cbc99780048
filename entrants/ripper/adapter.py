"""RIPPER of the package wittgenstein, one class against the rest, as an ordered rule list."""

import numpy as np
import pandas as pd
import wittgenstein

from nsl_bench.learners.asp_rules import deciding, decision_list


class Ripper:
    """Learns rules for the rarest class first, then for the next on what they leave over.

    The most frequent class is the default. Inputs are the view's literals.

    Args:
        prune_size: share of the examples on which rules are pruned.
        k: number of optimisation rounds.
        seed: seed of the split into growing and pruning examples.
    """

    search_space = {"prune_size": (0.2, 0.33, 0.5), "k": (1, 2, 4)}

    def __init__(self, prune_size: float = 0.33, k: int = 2, seed: int = 0):
        self.prune_size, self.k, self.seed = prune_size, k, seed

    def fit(self, train):
        literals, labels = train.literals, train.labels
        counts = np.bincount(labels, minlength=train.n_labels)
        *rare, self.default = [int(c) for c in np.argsort(counts, kind="stable") if counts[c]]
        self.list, left = [], np.ones(len(labels), bool)
        table = pd.DataFrame(literals.astype(int), columns=[f"c{k}" for k in range(literals.shape[1])])
        varied = [name for name in table if table[name].nunique() > 1]
        for label in rare:
            if not (labels[left] != label).any() or not (labels[left] == label).any():
                continue
            ripper = wittgenstein.RIPPER(prune_size=self.prune_size, k=self.k, random_state=self.seed)
            own = pd.Series(labels == label, name="label")
            ripper.fit(table.loc[left, varied], own[left], pos_class=True)
            for rule in ripper.ruleset_.rules:
                self.list.append(({int(c.feature[1:]): bool(int(c.val)) for c in rule.conds}, label))
            left &= deciding(self.list, literals) == len(self.list)
        self.list = [rule for rule in self.list if rule[0]]
        decided = deciding(self.list, literals)
        shares = np.ones((len(self.list) + 1, train.n_labels)) / train.n_labels
        np.add.at(shares, (decided, labels), 1)
        self.shares = shares / shares.sum(axis=1, keepdims=True)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def predict(self, test):
        labels = np.array([*(label for _, label in self.list), self.default])
        return labels[deciding(self.list, test.literals)]

    def predict_proba(self, test):
        return self.shares[deciding(self.list, test.literals)]

    def rules(self):
        return decision_list(self.list, self.default, self.bodies, self.space)
