"""The majority baseline: always predicts the most frequent label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.learners.view import View
from nsl_bench.types import Hypothesis, Track

__all__ = ["Majority"]


class Majority:
    """Predicts the label frequencies of the train set for every example."""

    version = "1"
    track: Track = "pretrained"

    def fit(self, train: View) -> Majority:
        """Count the labels."""
        counts = np.bincount(train.labels, minlength=train.n_labels)
        self._frequencies = counts / counts.sum()
        self._name = train.label_names[int(counts.argmax())]
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]."""
        return np.tile(self._frequencies, (len(test), 1))

    def rules(self) -> Hypothesis:
        """One rule without a body; it counts as one atom."""
        return Hypothesis((self._name,), atoms=1, language="tree")
