"""Rules count only for a learner that answers with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.types import Hypothesis, one_hot
from nsl_bench.learners.base import About
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.run.agreement import BOUND
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.limits import Limits


class Answers:
    """Answers with the true rule but for a share of the examples, and hands in the true rule.

    Args:
        task: whose rule it is.
        wrong: share of examples on which it answers otherwise.
        where: the evaluation in which it does.
    """

    track = "pretrained"

    def __init__(self, task: Benchmark, wrong: float, where: str = "both") -> None:
        self.task, self.wrong, self.where, self.asked = task, wrong, where, 0

    def fit(self, train: View) -> Answers:
        return self

    def predict_proba(self, test: View) -> np.ndarray:
        labels = crisp_labels(
            [self.task.true_rule], self.task.background, test.contexts, test.label_space
        ).astype(int)
        self.asked += 1
        evaluation = ("framework", "hypothesis")[self.asked - 1]
        if self.where in ("both", evaluation):
            other = np.arange(len(test)) < round(self.wrong * len(test))
            labels[other] = (labels[other] + 1) % test.n_labels
        return one_hot(labels, test.n_labels)

    def rules(self) -> list[str]:
        return [self.task.true_rule]


class Tree(Answers):
    """Answers by a test on a feature, and hands in that branch, or one that says something else."""

    def predict_proba(self, test: View) -> np.ndarray:
        column = test.features[:, list(test.feature_names()).index(self.where)]
        return one_hot((column > 0.5).astype(int), test.n_labels)

    def rules(self) -> Hypothesis:
        first, second = self.task.labels.names
        told = (f"{second} if {self.where} > 0.5 and {self.where} <= 9", first)
        return Hypothesis(told if not self.wrong else (first,), 1, language="tree")


class Majority(Answers):
    """Answers with one label, and hands in the true rule."""

    def predict_proba(self, test: View) -> np.ndarray:
        return np.tile(np.eye(test.n_labels)[0], (len(test), 1))


def run(learner: Answers, track: str = "pretrained") -> Outcome:
    about = About(track, "1")  # type: ignore[arg-type]
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: about)
    return Bench().run(job, learner)


@pytest.fixture(scope="module")
def task() -> Benchmark:
    found: Benchmark = registry.create("benchmark", "sudoku_4x4")
    return found


def test_the_branches_of_a_tree_count_where_they_are_what_answers(task: Benchmark) -> None:
    """Their atoms are counted, whatever the learner says of them."""
    feature = task.feature_names()[0]
    record = run(Tree(task, 0, feature)).record
    assert record.metrics["agreement"] == 1 and record.metrics["atoms"] == 2
    record = run(Tree(task, 1, feature)).record
    assert record.metrics["agreement"] < BOUND and not {"atoms", "rules"} & set(record.metrics)
    assert record.hypothesis is not None and record.hypothesis.fidelity == record.metrics["agreement"]
    for wrong in (f"{task.labels.names[0]} if nothing > 1", "nothing", f"{task.labels.names[0]} if x"):
        learner = Tree(task, 0, feature)
        learner.rules = lambda wrong=wrong: Hypothesis((wrong,), 1, language="tree")  # type: ignore[method-assign, misc]
        assert "atoms" not in run(learner).record.metrics


def test_who_hands_in_the_true_rule_and_answers_with_the_majority_gains_nothing(task: Benchmark) -> None:
    record = run(Majority(task, 0)).record
    numbers = record.metrics
    assert numbers["agreement"] == numbers["framework_accuracy"] == numbers["hypothesis_accuracy"] < 0.6
    assert numbers["brier_score"] == pytest.approx(2 * (1 - numbers["framework_accuracy"]))
    assert not {"atoms", "rules", "equivalent"} & set(numbers)
    assert record.hypothesis is not None and record.hypothesis.fidelity == numbers["agreement"]
    assert numbers["fidelity"] == numbers["agreement"]


@pytest.mark.parametrize("where", ["framework", "hypothesis", "both"])
@pytest.mark.parametrize("wrong", [0.0, 0.005, 0.02])
def test_rules_count_up_to_the_bound_in_each_evaluation(task: Benchmark, wrong: float, where: str) -> None:
    numbers = run(Answers(task, wrong, where)).record.metrics
    assert numbers["agreement"] == pytest.approx(1 - wrong)
    holds = 1 - wrong >= BOUND
    assert ("atoms" in numbers) == ("equivalent" in numbers) == holds == (wrong < 0.02)
    if holds:
        assert numbers["hypothesis_accuracy"] == numbers["equivalent"] == 1.0


def test_rules_that_nothing_can_be_compared_with_do_not_count(task: Benchmark) -> None:
    class Blind(Majority):
        track = "label_only"

    record = run(Blind(task, 0), "label_only").record
    assert record.hypothesis is not None and record.hypothesis.rules
    assert not {"atoms", "equivalent", "agreement", "fidelity"} & set(record.metrics)


def test_the_same_for_a_learner_in_a_process_of_its_own(task: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "impostor.py").write_text(
        "import numpy as np\n"
        "class Impostor:\n"
        "    def fit(self, train):\n        return self\n"
        "    def predict_proba(self, test):\n"
        "        return np.tile(np.eye(test.n_labels)[0], (len(test), 1))\n"
        f"    def rules(self):\n        return [{task.true_rule!r}]\n"
    )
    about = About("pretrained", "1")
    (job,) = plan("sudoku_4x4", [f"{tmp_path}/impostor.py:Impostor"], describe=lambda _: about)
    numbers = Bench(limits=Limits(time=120)).run(job).record.metrics
    assert numbers["agreement"] < 0.6 and "atoms" not in numbers and numbers["brier_score"] > 0.8
