"""Label probabilities of learned rules, and what would have repaired each error."""

from __future__ import annotations

import numpy as np
import pytest
from guarded_calls import create_with_patches

from nsl_bench.core import registry
from nsl_bench.core.types import BLANK, Hypothesis, Predictions
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.run.error_analysis import CAUSES, analyse_errors, perceived
from nsl_bench.run.mock_tasks import Patches
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
    found = perceived(split, seen(split, np.random.default_rng(3)))
    shown = int((split.concepts != BLANK).sum())
    assert sum(found["concepts"].values()) == sum(found["confidence"]) == shown
    assert list(found["concepts"]) == ["dark", "grey", "bright"]
