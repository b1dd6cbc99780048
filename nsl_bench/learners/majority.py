"""The majority baseline: always predicts the most frequent label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Hypothesis
from nsl_bench.learners.view import View


class Majority:
    """Predicts the label frequencies of the train set for every example."""

    version = "1"
    track: Track = "pretrained"
    fixed_size = False

    def fit(self, train: View) -> Majority:
        """Count the labels."""
        counts = np.bincount(train.labels, minlength=train.n_labels)
        self._frequencies = dict(zip(train.label_names, (counts / counts.sum()).tolist(), strict=True))
        self._name = train.label_names[int(counts.argmax())]
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]; where the test task has other labels, those of the train set share 1."""
        known = np.array([self._frequencies.get(name, 0.0) for name in test.label_names])
        if len(self._frequencies) != test.n_labels:
            total = known.sum()
            known = known / total if total else np.full(test.n_labels, 1 / test.n_labels)
        return np.tile(known, (len(test), 1))

    def rules(self) -> Hypothesis:
        """One rule without a body; it counts as one atom."""
        return Hypothesis((self._name,), atoms=1, language="tree")
