"""FFNSL: turns a pre-trained network's predictions into weighted examples and learns rules from them.

Cunnington, Law, Lobo, Russo: "FFNSL: Feed-Forward Neural-Symbolic Learner", Machine Learning 2023.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Floats, Hypothesis, Ints16, LabelSpace, WeightedExample, one_hot
from nsl_bench.learners.d2k import ExamplesOf, Penalty, TNorm, learning_task
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.logic.inference.crisp import crisp_labels

if TYPE_CHECKING:
    from nsl_bench.logic.las import LasTask, Solution

_SHARE = 0.8
"""Of the harness's time limit that the rule learner may use; the rest is for what comes before and after."""

_LATE = 0.9


_LEAST = 1e-30
"""What a probability of 0 counts as where its logarithm is taken."""

Answers = Literal["rules", "recalibrated", "default", "most_probable", "published"]

_UNEQUAL = re.compile(r"neq\((\w+),(\w+)\)")


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
        "network",
        "an example's penalty: floor(100 c) + 1 with c the ``network``'s confidence, as in the paper, its "
        "``floor`` without the 1, as in the equation of NSL 2020 and FF-NSL 2021, or ``constant``",
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
    answers: Answers = option(
        "rules",
        "the paper's method: the label that the ``rules`` derive from the most probable concepts. Besides: "
        "label probabilities ``recalibrated`` on validation examples (a logistic regression on their "
        "logarithms); a ``default`` rule for the most frequent train label where no other is derived; the "
        "``most_probable`` label where not exactly one is derived; what the rules derive without their type "
        "guards, as in the ``published`` code for Sudoku",
    )

    def __post_init__(self) -> None:
        self._answered: tuple[View, Ints16] | None = None
        self._calibration: Any = None
        self._usual, self._more = 0, tuple[str, ...]()
        self._plain: tuple[str, ...] | None = None

    @property
    def takes_validation(self) -> bool:
        """Whether label probabilities are recalibrated on validation examples."""
        return self.answers == "recalibrated"

    def fit(self, train: View, validation: View | None = None) -> FFNSL:
        """Learn a hypothesis with the lowest score.

        Raises:
            UserError: the rule learner is not installed, or cannot read the task.
            NotApplicable: there are no validation examples, on which probabilities would be recalibrated.
            Ended: it had no answer in time.
        """
        if self.takes_validation and validation is None:
            raise NotApplicable(
                "ffnsl: answers=recalibrated needs validation examples, and this data set has none."
            )
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
        if self.answers == "published":
            self._plain = tuple(_as_published(task, rule) for rule in self.solution_.hypothesis)
        late = train.time_limit is not None and time.monotonic() - clock >= _LATE * _SHARE * train.time_limit
        self.timed_out_ = late and self.solution_.status != "optimal"
        self._answered, self._calibration = None, None
        often = int(np.bincount(train.labels, minlength=train.n_labels).argmax())
        self._usual, self._more = often, _default_rule(often, train.label_space)
        if validation is not None and len(np.unique(validation.labels)) > 1:
            from sklearn.linear_model import LogisticRegression

            logs = np.log(np.maximum(self._inferred(validation), _LEAST))
            self._calibration = LogisticRegression(max_iter=1000).fit(logs, validation.labels)
        return self

    def predict(self, test: View) -> Ints16:
        """int16 [n]: the label that the rules derive, `UNDECIDED` or `AMBIGUOUS`."""
        if self._answered is None or self._answered[0] is not test:
            labels = crisp_labels(self._hypothesis, test.background, test.contexts, test.label_space)
            if self.answers == "most_probable" and (labels < 0).any():
                given = self._inferred(test)
                likeliest = np.where(given.max(axis=1) > 0, given.argmax(axis=1), self._usual)
                labels = np.where(labels < 0, likeliest, labels).astype(np.int16)
            self._answered = (test, labels)
        return self._answered[1]

    @property
    def _hypothesis(self) -> tuple[str, ...]:
        if self._plain is not None:
            return self._plain
        return (*self.solution_.hypothesis, *(self._more if self.answers == "default" else ()))

    def _inferred(self, view: View) -> Floats:
        """float64 [n, n_labels]: label probabilities by inference; of rules that allow none, the labels'."""
        try:
            return view.label_probabilities(self._hypothesis)
        except UserError:
            given = crisp_labels(self._hypothesis, view.background, view.contexts, view.label_space)
            return one_hot(given, view.n_labels)

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: 1 for the derived label; zeros unless exactly one label is derived.

        Recalibrated, and with the most probable label, they are those of inference.
        """
        if self.answers not in ("recalibrated", "most_probable"):
            return one_hot(self.predict(test), test.n_labels)
        given = self._inferred(test)
        if self._calibration is not None and len(test):
            logs = np.log(np.maximum(given, _LEAST))
            given = np.zeros_like(given)
            given[:, self._calibration.classes_] = self._calibration.predict_proba(logs)
        return given

    def rules(self) -> Hypothesis:
        """The learned rules."""
        solution = self.solution_
        return Hypothesis(
            rules=self._hypothesis,
            atoms=solution.cost,
            status="optimal" if solution.status == "optimal" else "feasible",
            score=solution.score,
        )


def _as_published(task: LasTask, rule: str) -> str:
    """A rule as the paper's code tests it; there, ``neq`` is no predicate of cells that are filled."""
    from nsl_bench.logic.las.bias.hypothesis import without_type_guards

    return _UNEQUAL.sub(r"\1 != \2", without_type_guards(task, rule))


def _default_rule(label: int, space: LabelSpace) -> tuple[str, ...]:
    """The rule that a label holds where no other does; none where the absence of all is a label itself."""
    if None in space.atoms:
        return ()
    others = [f"not {atom}" for k, atom in enumerate(space.atoms) if k != label]
    body = f" :- {', '.join(others)}" if others else ""
    return (f"{space.atoms[label]}{body}.",)
