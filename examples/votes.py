"""A learner in one file: every slot's concept votes for the labels that it was seen with.

nsl-bench check examples/votes.py:Votes
nsl-bench run sudoku_4x4 --learner examples/votes.py:Votes --learner ffnsl --out results/
"""

import numpy as np


class Votes:
    """Naive Bayes over the concepts of the slots.

    Args:
        smoothing: added to every count; `examples/votes.py:Votes` takes the default.
    """

    version = "1"
    track = "pretrained"

    def __init__(self, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def fit(self, train):
        n_slots, n_concepts = len(train.slots), len(train.concept_space)
        counts = np.full((n_slots, n_concepts, train.n_labels), self.smoothing)
        for row, label in zip(train.concept_ids, train.labels, strict=True):
            for slot in np.flatnonzero(row >= 0):
                counts[slot, row[slot], label] += 1
        self._log_likelihood = np.log(counts / counts.sum(axis=1, keepdims=True))
        frequency = np.bincount(train.labels, minlength=train.n_labels) + self.smoothing
        self._log_prior = np.log(frequency / frequency.sum())
        return self

    def predict_proba(self, test):
        scores = np.tile(self._log_prior, (len(test), 1))
        for slot in range(len(test.slots)):
            seen = test.concept_ids[:, slot]
            scores[seen >= 0] += self._log_likelihood[slot, seen[seen >= 0]]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)
