"""Learners that are given their rules: ``rules`` from a file, ``true_rule`` from the task."""

from pathlib import Path
from typing import Self

import numpy as np

from nsl_bench.core import cache, registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.options import REQUIRED, HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Floats, Ints16, one_hot
from nsl_bench.learners.queries import query_of, seen_so_far
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

    def fit(self, train: View) -> Self:
        """Check the rules."""
        self._rules = one_by_one(self._text, "the given rules")
        return self

    def predict(self, test: View) -> Ints16:
        """int16 [n]: the label that the rules derive, `UNDECIDED` or `AMBIGUOUS`."""
        return crisp(self._rules, test.background, test.contexts, test.label_space, what="the given rules")

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: 1 for the derived label; zeros unless exactly one label is derived."""
        return one_hot(self.predict(test), test.n_labels)

    def rules(self) -> list[str]:
        """The rules."""
        return list(self._rules)


class TrueRule(HasOptions):
    """Predicts with the rule that labels the data; learns nothing.

    It is the upper bound of learners that see the same, is told the answer, and is not ranked.
    """

    name = "true_rule"
    version = "1+told_the_answer"
    track: Track = "pretrained"
    fixed_size = False

    engine: str = option(
        "crisp",
        "``crisp``: the labels that follow from the likeliest concepts; or an inference engine for label "
        "probabilities under the network's probabilities (`nsl_bench.logic.inference.engines`). A step of a "
        "sequence then has the images of all steps so far, which only short sequences allow",
    )

    def __post_init__(self) -> None:
        if self.engine != "crisp":
            registry.create("engine", self.engine)

    def fit(self, train: View) -> Self:
        """Look the rule up."""
        self._rules = (_task(train).true_rule,)
        return self

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: label probabilities under the rule and the network's probabilities."""
        task = _task(test)
        if self.engine == "crisp" or not len(test):
            contexts = test.contexts if len(test) else []
            labels = crisp(self._rules, task.background, contexts, test.label_space, what="the true rule")
            return one_hot(labels, test.n_labels)
        engine = registry.create("engine", self.engine)
        seen = np.asarray(test.probabilities, np.float64)
        longest = int(test.steps.max()) if task.sequential else 0
        if longest:
            seen = seen_so_far(test.steps, seen)
        answer = engine(query_of(task, self._rules, steps=longest), seen, test.metadata_facts)
        return np.asarray(answer.probabilities)

    def rules(self) -> list[str]:
        """The true rule."""
        return list(self._rules)


def _task(view: View) -> Benchmark:
    task: Benchmark = registry.create("benchmark", view.benchmark_name)
    if not task.true_rule:
        raise NotApplicable(f"true_rule: the rule that labels the data of {view.benchmark_name} is unknown.")
    if task.for_split(1).true_rule != task.for_split(2).true_rule:
        raise NotApplicable(f"true_rule: {view.benchmark_name} has another rule in each train split.")
    return task
