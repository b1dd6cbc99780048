"""FFNSL: turns a pre-trained network's predictions into weighted examples and learns rules from them.

Cunnington, Law, Lobo, Russo: "FFNSL: Feed-Forward Neural-Symbolic Learner", Machine Learning 2023.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Hypothesis, WeightedExample, one_hot
from nsl_bench.learners.d2k import ExamplesOf, Penalty, TNorm, learning_task
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.logic.inference.crisp import crisp_labels

if TYPE_CHECKING:
    from nsl_bench.logic.las import Solution

_SHARE = 0.8
"""Of the harness's time limit that the rule learner may use; the rest is for what comes before and after."""

_LATE = 0.9


class FFNSL(HasOptions):
    """Learns rules from a network's predictions and labels new examples by crisp inference.

    Attributes:
        examples_: weighted examples that `fit` generated.
        solution_: result of the rule learner.
        timed_out_: whether the time limit of the view stopped the rule learner before it proved optimality.
    """

    name = "ffnsl"
    version = "1"
    track: Track = "pretrained"
    fixed_size = False
    answers_alike = True

    rule_learner: str = option(
        "exact", "solver of the learning task; a name in the group ``nsl_bench.rule_learners``"
    )
    penalty: Penalty = option(
        "network", "an example's penalty comes from the network's confidence, or is constant"
    )
    constant: int = option(10, "the constant penalty", least=1)
    t_norm: TNorm = option("goedel", "how the confidences of an example's images are combined")
    time_limit: float | None = option(
        None, "seconds for the rule learner; the best hypothesis so far is kept", above=0, unit="seconds"
    )
    examples: ExamplesOf = option(
        "sequences",
        "where rows are steps of sequences: one example for each of the ``sequences``, or one for each of "
        "the ``steps``, with all earlier ones",
    )

    def __post_init__(self) -> None:
        self._answered: tuple[View, npt.NDArray[np.int16]] | None = None

    def fit(self, train: View) -> FFNSL:
        """Learn a hypothesis with the lowest score.

        Raises:
            UserError: the rule learner is not installed, or cannot read the task.
            Ended: it had no answer in time.
        """
        solve = registry.factory("rule_learner", self.rule_learner)
        task = learning_task(train, self.penalty, self.constant, self.t_norm, self.examples)
        self.examples_: tuple[WeightedExample, ...] = task.examples
        limit = self.time_limit
        if train.time_limit is not None:
            limit = min(limit or np.inf, _SHARE * train.time_limit)
        clock = time.monotonic()
        self.solution_: Solution = solve(task, time_limit=limit)
        if self.solution_.status == "unsatisfiable":
            raise UserError(
                f"ffnsl: no hypothesis, although every example may be broken. {self.solution_.message}"
            )
        if self.solution_.score is None and not self.solution_.hypothesis:
            raise Ended("timeout", f"ffnsl: no hypothesis. {self.solution_.message}")
        late = train.time_limit is not None and time.monotonic() - clock >= _LATE * _SHARE * train.time_limit
        self.timed_out_ = late and self.solution_.status != "optimal"
        self._answered = None
        return self

    def predict(self, test: View) -> npt.NDArray[np.int16]:
        """int16 [n]: the label that the rules derive, `UNDECIDED` or `AMBIGUOUS`."""
        if self._answered is None or self._answered[0] is not test:
            labels = crisp_labels(self.solution_.hypothesis, test.background, test.contexts, test.label_space)
            self._answered = (test, labels)
        return self._answered[1]

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: 1 for the derived label; zeros unless exactly one label is derived."""
        return one_hot(self.predict(test), test.n_labels)

    def rules(self) -> Hypothesis:
        """The learned rules."""
        solution = self.solution_
        return Hypothesis(
            rules=solution.hypothesis,
            atoms=solution.cost,
            status="optimal" if solution.status == "optimal" else "feasible",
            score=solution.score,
        )
