"""Tests on features hold exactly where their ASP does, and trees over features are written without loss."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Predictions, Split
from nsl_bench.learners.asp_rules import decision_list
from nsl_bench.learners.feature_tests import FeatureTests
from nsl_bench.learners.view import TrackError, View
from nsl_bench.logic.inference.crisp import crisp_labels, derived
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

TASKS = (
    *("follow_suit", "crop_yield", "eleusis", "zoo", "uci", "indoor_scene", "sudoku_4x4"),
    "sudoku_4x4:knowledge=reduced",
)


def task(name: str, n: int = 30) -> tuple[Any, Split]:
    """A task and examples, of which some have blanks that the task may never show."""
    made = registry.create("benchmark", name).for_split(1)
    split = made.generate("train", "small", 1, np.random.default_rng(3)).take(np.arange(n))
    split.concepts[: n // 3, 0] = BLANK
    return made, split


def seen(made: Any, split: Split, track: Any = "pretrained") -> View:
    sure = Predictions.certain(split.concepts, len(made.concept_space))
    return View(split, made, track, predictions=sure)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("knowledge", [False, True])
def test_asp_holds_where_the_feature_is_above(name: str, knowledge: bool) -> None:
    made, split = task(name)
    if knowledge and not name.startswith("sudoku"):
        pytest.skip("the task has no knowledge features")
    train = seen(made, split)
    features = (train.knowledge_features if knowledge else train.features).astype(np.float64)
    asked, wanted = [], []
    for column in range(features.shape[1]):
        values = np.unique(features[:, column])
        middles = (values[1:] + values[:-1]) / 2
        for threshold in {float(values[0]) - 1, float(values[-1]), *map(float, middles[:3])}:
            try:
                asked.append(train.feature_test(column, threshold, knowledge=knowledge))
            except UserError as error:  # no fact states a letter in the place of a digit, or a bit of 0
                assert name in ("eleusis", "uci") and "No fact" in str(error)
                continue
            wanted.append(features[:, column] > threshold)
    goals = [f"holds({k})" for k in range(len(asked))]
    rules = [f"{goal} :- {test.atom}." for goal, test in zip(goals, asked, strict=True)]
    rules += dict.fromkeys(rule for test in asked for rule in test.rules)
    found, _ = derived(rules, made.background, made.contexts(split.concepts, split.metadata), goals)
    assert np.array_equal(found, np.stack(wanted, axis=1))


@pytest.mark.parametrize("name", ["follow_suit", "crop_yield", "zoo", "uci", "sudoku_4x4"])
@pytest.mark.parametrize("options", ["asp=true", "asp=true,knowledge=true"])
def test_a_tree_is_written_without_loss(name: str, options: str) -> None:
    made, split = task(name, 60)
    if "knowledge" in options and not made.knowledge_bodies():
        pytest.skip("the task has no knowledge features")
    train = seen(made, split)
    learner = registry.create("learner", f"cart:depth=4,{options}", seed=0).fit(train)
    contexts = made.contexts(split.concepts, split.metadata)
    found = crisp_labels(learner.rules(), made.background, contexts, made.labels)
    assert np.array_equal(found, learner.predict_proba(train).argmax(axis=1))


def test_a_tree_over_knowledge_is_the_true_rule() -> None:
    """In the sandbox: its rules are judged like those of other learners."""
    (job,) = plan("sudoku_4x4", ["cart:asp=true,knowledge=true"], track="symbolic")
    record = Bench("cpu", limits=Limits(time=300)).run(job).record
    assert record.status == "ok", record.message
    assert record.metrics["equivalent"] == 1 and record.metrics["agreement"] == 1


def test_a_stranger_writes_rules_over_features() -> None:
    made, split = task("follow_suit")
    train = seen(made, split)
    test = train.feature_test(0, 3.5)
    rules = [*decision_list([({0: True}, 1)], 0, [(test.atom,)], made.labels), *test.rules]
    found = crisp_labels(rules, made.background, made.contexts(split.concepts, split.metadata), made.labels)
    assert np.array_equal(found, (train.features[:, 0] > 3.5).astype(int))


def test_what_cannot_be_said_is_refused() -> None:
    made, split = task("follow_suit")
    train = seen(made, split)
    with pytest.raises(UserError, match="must be from 0 to 19; got 20"):
        train.feature_test(20, 0.5)
    with pytest.raises(UserError, match="follow_suit has no rules over knowledge features"):
        train.feature_test(0, 0.5, knowledge=True)
    with pytest.raises(TrackError, match="get images"):
        seen(made, split, "label_only").feature_test(0, 0.5)
    with pytest.raises(UserError, match="addition has sequences"):
        FeatureTests(registry.create("benchmark", "addition"), {})

    class Mixed(type(made)):  # type: ignore[misc]
        def features(self, concepts: Any, metadata: Any) -> Any:
            return (concepts[:, :1] + concepts[:, 1:2]).astype(np.float32)

    with pytest.raises(UserError, match="depends on more than one slot"):
        FeatureTests(Mixed(), {}).test(0, 0.5)


def test_a_learner_in_the_sandbox_may_ask() -> None:
    train = view(patches())
    with contextlib.closing(IsolatedLearner("cart:asp=true", 0, Limits(time=120))) as learner:
        learner.fit(train)
        here = registry.create("learner", "cart:asp=true", seed=0).fit(train)
        assert learner.rules() == here.rules()
