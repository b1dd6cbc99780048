"""A learner that uses a given hypothesis from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import one_hot
from nsl_bench.learners.view import View
from nsl_bench.logic.asp.text import read_text
from nsl_bench.logic.guarded.rules import crisp, one_by_one


class Rules(HasOptions):
    """Predicts with the rules of a file; learns nothing."""

    name = "rules"
    version = "1"
    track: Track = "pretrained"
    fixed_size = False

    path: Path = option(REQUIRED, "file of ASP rules")

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise UserError(f"rules: the file {self.path} does not exist; give a file of ASP rules.")
        self._text = read_text(self.path)
        # Other rules are other runs.
        self.version = f"{self.version}+{cache.content_key(self.path)}"

    def fit(self, train: View) -> Rules:
        """Check the rules."""
        self._rules = one_by_one(self._text, "the given rules")
        return self

    def predict(self, test: View) -> npt.NDArray[np.int16]:
        """int16 [n]: the label that the rules derive, `UNDECIDED` or `AMBIGUOUS`."""
        return crisp(self._rules, test.background, test.contexts, test.label_space, what="the given rules")

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: 1 for the derived label; zeros unless exactly one label is derived."""
        return one_hot(self.predict(test), test.n_labels)

    def rules(self) -> list[str]:
        """The rules."""
        return list(self._rules)
