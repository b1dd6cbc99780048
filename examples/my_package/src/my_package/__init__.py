"""A learner in a package of its own: the one fact that tells the labels apart best, as a rule.

pip install examples/my_package
nsl-bench run follow_suit --learner one_rule:least=3 --learner ffnsl --out results/
"""

from collections import Counter, defaultdict

import numpy as np


class OneRule:
    """Learns one rule: the label that goes with one fact.

    Args:
        least: in how many train examples the fact must hold.
    """

    version = "1.0"
    track = "pretrained"

    def __init__(self, least: int = 2) -> None:
        self.least = least

    def fit(self, train):
        self._labels = train.label_space
        counts = defaultdict(Counter)
        for facts, label in zip(train.contexts, train.labels.tolist(), strict=True):
            for fact in set(facts):
                counts[fact][label] += 1
        share = np.bincount(train.labels, minlength=train.n_labels) / len(train)
        self._otherwise = int(share.argmax())
        self._best = (0.0, None, 0)
        for fact in sorted(counts):
            for label, hits in counts[fact].items():
                if label != self._otherwise and sum(counts[fact].values()) >= self.least:
                    gain = hits / sum(counts[fact].values()) - share[label]
                    self._best = max(self._best, (gain, fact, label), key=lambda found: found[0])
        return self

    def predict_proba(self, test):
        _, fact, label = self._best
        answers = np.zeros((len(test), test.n_labels))
        holds = np.array([fact in facts for facts in test.contexts])
        answers[np.arange(len(test)), np.where(holds, label, self._otherwise)] = 1.0
        return answers

    def rules(self):
        _, fact, label = self._best
        atom = self._labels.atoms[label]
        return [] if fact is None or atom is None else [f"{atom} :- {fact}."]
