"""Label probabilities of learned rules, and what would have repaired each error."""

from pathlib import Path

import numpy as np
import pytest
from guarded_calls import create_with_patches

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.types import BLANK, Hypothesis, Predictions, one_hot
from nsl_bench.learners.base import About
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.perception.trained_networks import BINS
from nsl_bench.run.agreement import BOUND
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.error_analysis import CAUSES, analyse_errors, perceived
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches


@pytest.fixture(autouse=True)
def _patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy task is found by its name."""
    monkeypatch.setattr(registry, "create", create_with_patches)


def seen(split, rng: np.random.Generator) -> Predictions:
    """Dim sight: wrong about a third of the time."""
    certain = Predictions.certain(split.concepts, 3).probabilities
    noise = rng.dirichlet(np.ones(3), split.concepts.shape).astype(np.float32)
    blank = split.concepts == BLANK
    return Predictions(np.where(blank[..., None], 0, 0.3 * certain + 0.7 * noise), blank)


def answers(rule: str, split, predictions: Predictions):
    task = Patches()
    found = {}
    for name, concepts in (("hypothesis", split.concepts), ("framework", predictions.concepts)):
        contexts = [task.context(row, {"shelf": 1}) for row in concepts]
        labels = crisp_labels([rule], task.background, contexts, task.labels)
        found[name] = labels, np.eye(2)[labels]
    return found


def test_probabilities_and_causes_of_a_rule_learner() -> None:
    split = patches("test")
    predictions = seen(split, np.random.default_rng(0))
    rule = "differ :- patch(left,X), patch(right,Y), X != Y, X != dark."
    told = analyse_errors(
        Patches(), split, predictions, Hypothesis((rule,), 4), found := answers(rule, split, predictions)
    )
    assert told.inference["engine"] == "auto" and told.inference["exact"] == len(split)
    left, right = (predictions.probabilities[:, k].astype(float) for k in (0, 1))
    differ = sum(left[:, x] * right[:, y] for x in (1, 2) for y in range(3) if x != y)
    np.testing.assert_allclose(told.probabilities, np.column_stack([1 - differ, differ]), atol=2e-5)
    framework = found["framework"][0]
    wrong = framework != split.labels
    assert [cause != "" for cause in told.causes or []] == wrong.tolist()
    shares = [told.numbers[f"error_{cause}"] for cause in CAUSES]
    assert sum(shares) == pytest.approx(wrong.mean()) and min(shares) >= 0 and np.count_nonzero(shares) == 4
    true = np.where(predictions.blank[:, 1], 0, predictions.concepts[:, 0] != predictions.concepts[:, 1])
    for i in np.flatnonzero(wrong):
        repaired = found["hypothesis"][0][i] == split.labels[i], true[i] == split.labels[i]
        expected = {(True, False): "concepts", (False, True): "rule", (True, True): "either"}
        assert (told.causes or [])[i] == expected.get(repaired, "both")


def test_a_learners_own_probabilities_stay() -> None:
    split = patches("test")
    predictions = seen(split, np.random.default_rng(1))
    own = np.full((len(split), 2), 0.5)
    found = {name: (np.zeros(len(split), np.int16), own) for name in ("framework", "hypothesis")}
    for hypothesis in (None, Hypothesis(("differ.",), 1), Hypothesis(("x1 > 2 -> same",), 1, "tree")):
        told = analyse_errors(Patches(), split, predictions, hypothesis, found)
        assert told.probabilities is own and not told.inference


def test_rules_that_inference_cannot_read_stay_crisp_and_symbolic_answers_have_no_causes() -> None:
    split = patches("test")
    predictions = seen(split, np.random.default_rng(2))
    crisp = {"framework": (np.ones(len(split), np.int16), np.eye(2)[np.ones(len(split), int)])}
    both = Hypothesis(("a :- not b. b :- not a. differ.",), 1)
    told = analyse_errors(Patches(), split, predictions, both, crisp)
    assert told.inference["engine"] == "crisp" and "stratified" in told.inference["reason"]
    assert told.probabilities is crisp["framework"][1] and told.causes is None
    crisp = {"hypothesis": (split.labels, np.eye(2)[split.labels])}
    told = analyse_errors(Patches(), split, None, Hypothesis(("differ.",), 1), crisp)
    assert told.probabilities is crisp["hypothesis"][1] and not told.numbers


def test_what_was_perceived() -> None:
    split = patches("test")
    found = perceived(Patches(), split, seen(split, np.random.default_rng(3)))
    shown = int((split.concepts != BLANK).sum())
    assert sum(found["concepts"].values()) == sum(found["confidence"]) == shown
    assert list(found["concepts"]) == ["dark", "grey", "bright"] and len(found["confidence"]) == len(BINS)


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

    def fit(self, train: View) -> "Answers":
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
