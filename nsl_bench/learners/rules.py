"""Learners that are given their rules: ``rules`` from a file, ``true_rule`` from the task."""

from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from nsl_bench.core import cache, registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.options import REQUIRED, HasOptions, option
from nsl_bench.core.sequences import grid
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK, Floats, Ints, Ints16, one_hot
from nsl_bench.learners.queries import query_of
from nsl_bench.learners.view import View
from nsl_bench.logic.asp.text import read_text
from nsl_bench.logic.guarded.rules import crisp, one_by_one
from nsl_bench.logic.inference.query import Query


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
        result = np.zeros((len(test), test.n_labels))
        if self.engine == "crisp" or not len(test):
            contexts = test.contexts if len(test) else []
            labels = crisp(self._rules, task.background, contexts, test.label_space, what="the true rule")
            return one_hot(labels, test.n_labels)
        engine = registry.create("engine", self.engine)
        seen = np.asarray(test.probabilities, np.float64)
        if not task.sequential:
            answer = engine(query_of(task, self._rules), seen, _facts_of_rows(task, test))
            return np.asarray(answer.probabilities)
        rows = grid(test.steps)
        for step in range(1, rows.shape[1] + 1):
            query = _query(task, self._rules, step)
            of_steps = seen[rows[:, :step]].reshape(len(rows), step * len(task.slots), -1)
            answer = engine(query, of_steps, _facts_of_steps(task, test, rows[:, :step]))
            result[rows[:, step - 1]] = answer.probabilities
        return result

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


def _query(task: Benchmark, rules: tuple[str, ...], step: int) -> Query:
    """The query for the label of a step, with a slot for each image of the steps so far."""
    now = "".join(f"{fact}.\n" for fact in task.current_step(step))
    return replace(query_of(task, rules, steps=step), background=f"{task.background}\n{now}")


def _facts_of_rows(task: Benchmark, view: View) -> list[tuple[str, ...]] | None:
    """The facts of each row's metadata."""
    if not view.metadata:
        return None
    return task.contexts(np.full((len(view), len(task.slots)), BLANK, np.int16), view.metadata)


def _facts_of_steps(task: Benchmark, view: View, rows: Ints) -> list[tuple[str, ...]] | None:
    """The facts of the metadata of the steps so far."""
    if not view.metadata:
        return None
    columns = {name: np.asarray(column) for name, column in view.metadata.items()}
    return [
        tuple(
            task.step_atom(fact, at)
            for at, row in enumerate(steps, start=1)
            for fact in task.metadata_facts({name: column[row].item() for name, column in columns.items()})
        )
        for steps in rows.tolist()
    ]
