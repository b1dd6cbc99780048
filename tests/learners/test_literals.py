"""Literals are true exactly where their ASP bodies hold, and rules over them are written without loss."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, LabelSpace, Predictions, Split
from nsl_bench.learners.asp_rules import (
    Conjunction,
    additive,
    binarised,
    decision_list,
    matches,
    sum_of_trees,
    tree_leaves,
    voting,
)
from nsl_bench.learners.feature_tests import FeatureTests
from nsl_bench.learners.literals import Literals, literals_of
from nsl_bench.learners.view import TrackError, View
from nsl_bench.logic.inference.crisp import crisp_labels, derived
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.true_rule import is_true_rule
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

TASKS = ("follow_suit", "crop_yield", "eleusis", "zoo", "uci", "indoor_scene")


def task(name: str, n: int = 40) -> tuple[Any, Split, Literals]:
    made = registry.create("benchmark", name).for_split(1)
    split = made.generate("train", "small", 1, np.random.default_rng(3)).take(np.arange(n))
    return made, split, literals_of(made)


@pytest.mark.parametrize("name", TASKS)
def test_a_literal_is_true_where_its_body_holds(name: str) -> None:
    made, split, literals = task(name)
    values = literals.values(split.concepts, split.metadata)
    assert len(set(literals.names)) == len(literals.names) == len(literals.bodies) == values.shape[1]
    rules = [f"holds({k}) :- {', '.join(body)}." for k, body in enumerate(literals.bodies)]
    contexts = made.contexts(split.concepts, split.metadata)
    found, _ = derived(rules, made.background, contexts, [f"holds({k})" for k in range(len(rules))])
    assert np.array_equal(found, values)


def test_the_tasks_relations_are_there() -> None:
    _, _, cards = task("follow_suit")
    assert {"player_1=ah", "suit(1,h)", "rank_higher(1,2)", "card(1,_,V), card(2,_,V)"} <= set(cards.names)
    cells = literals_of(registry.create("benchmark", "sudoku_4x4"))
    assert 'digit("1, 1",V), digit("1, 2",V)' in cells.names
    assert "patch(left,V), patch(right,W), unlike(V,W)" in view(patches()).literal_names


def test_large_predicates_are_left_out() -> None:
    literals = literals_of(registry.create("benchmark", "sudoku_9x9"))
    assert not any(name.startswith("neq") for name in literals.names)
    assert len(literals.names) < 5000


def test_views_without_concepts_have_no_literals() -> None:
    with pytest.raises(TrackError, match="label_only"):
        _ = view(patches(), "label_only").literals
    with pytest.raises(TrackError, match="end_to_end"):
        _ = view(patches(), "end_to_end").literal_names


def conjunctions(random: np.random.Generator, columns: int, n: int) -> list[Conjunction]:
    return [
        {int(c): bool(random.random() < 0.5) for c in random.choice(columns, random.integers(1, 4), False)}
        for _ in range(n)
    ]


def by_rules(
    made: Any, concepts: npt.NDArray[Any], metadata: Any, rules: Sequence[str], labels: LabelSpace
) -> npt.NDArray[np.int16]:
    contexts = made.contexts(concepts, metadata)
    return crisp_labels(rules, made.background, contexts, labels)


SPACES = {
    "three": LabelSpace(("a", "b", "c"), ("lab(0)", "lab(1)", "lab(2)")),
    "one without an atom": LabelSpace(("a", "b", "c"), ("lab(0)", None, "lab(2)")),
    "two": LabelSpace(("a", "b"), (None, "lab")),
}


@pytest.mark.parametrize("name", ["follow_suit", "eleusis"])
@pytest.mark.parametrize("labels", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("seed", range(6))
def test_decision_lists_are_exact(name: str, labels: LabelSpace, seed: int) -> None:
    made, split, literals = task(name)
    values = literals.values(split.concepts, split.metadata)
    random = np.random.default_rng(seed)
    told = conjunctions(random, values.shape[1], int(random.integers(0, 7)))
    rules = [(conjunction, int(random.integers(len(labels)))) for conjunction in told]
    default = int(random.integers(len(labels)))
    expected = np.full(len(values), default)
    for conjunction, label in reversed(rules):
        expected[matches(conjunction, values)] = label
    written = decision_list(rules, default, literals.bodies, labels)
    assert np.array_equal(by_rules(made, split.concepts, split.metadata, written, labels), expected)


@pytest.mark.parametrize("labels", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("name", ["follow_suit", "eleusis"])
@pytest.mark.parametrize("seed", range(6))
def test_additive_rules_are_exact(name: str, labels: LabelSpace, seed: int) -> None:
    made, split, literals = task(name)
    values = literals.values(split.concepts, split.metadata)
    random = np.random.default_rng(seed)
    weights = binarised(
        random.normal(size=(values.shape[1], len(labels))) * (random.random(values.shape[1]) < 0.3)[:, None]
    )
    constants = binarised(random.normal(size=len(labels)))
    expected = (values @ weights + constants).argmax(axis=1)
    written = additive(weights, constants, literals.bodies, labels)
    assert np.array_equal(by_rules(made, split.concepts, split.metadata, written, labels), expected)
    assert len(set(expected.tolist())) > 1


@pytest.mark.parametrize("labels", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("seed", range(3))
def test_weighted_rules_are_exact(labels: LabelSpace, seed: int) -> None:
    made, split, literals = task("eleusis")
    values = literals.values(split.concepts, split.metadata)
    random, scores = np.random.default_rng(seed), np.eye(len(labels), dtype=np.int64)[[-1] * len(values)]
    told = [*conjunctions(random, values.shape[1], 3 * seed), {}] if seed else []
    rules = [(one, int(random.integers(len(labels)))) for one in told]
    weights = random.integers(-5, 20, len(rules))
    written = voting(rules, weights, scores[0].copy(), literals.bodies, labels)
    for (one, label), weight in zip(rules, weights, strict=True):
        scores[:, label] += weight * matches(one, values)
    found = by_rules(made, split.concepts, split.metadata, written, labels)
    assert np.array_equal(found, scores.argmax(axis=1))


def test_additive_rules_are_compared_with_the_true_rule() -> None:
    """They were written with a cycle through negation, so that equivalence could not be decided."""
    made, _, literals = task("indoor_scene")
    scenes = np.arange(len(made.concept_space))[:, None]
    labels = by_rules(made, scenes, {}, [made.true_rule], made.labels)
    own = literals.values(scenes, {}).argmax(axis=1)  # the first literal that holds is the scene itself
    weights = np.zeros((len(literals.names), len(made.labels)), np.int64)
    weights[own, labels] = 1
    none = np.zeros(len(made.labels), np.int64)
    assert is_true_rule(tuple(additive(weights, none, literals.bodies, made.labels)), made)
    weights[own[0]] = np.roll(weights[own[0]], 1)
    assert not is_true_rule(tuple(additive(weights, none, literals.bodies, made.labels)), made)


@pytest.mark.parametrize("name", [*TASKS, "sudoku_4x4", "sudoku_9x9"])
def test_additive_rules_with_all_literals_are_exact(name: str) -> None:
    """Statements with more than 120 negative weights were refused as nested too deep."""
    made, split, literals = task(name, 5)
    values = literals.values(split.concepts, split.metadata)
    labels = made.labels
    weights = -np.random.default_rng(0).integers(1, 1000, (values.shape[1], len(labels)))
    expected = (values @ weights).argmax(axis=1)
    written = additive(weights, np.zeros(len(labels), np.int64), literals.bodies, labels)
    assert np.array_equal(by_rules(made, split.concepts, split.metadata, written, labels), expected)


@pytest.mark.parametrize(
    ("weights", "constants", "fault"),
    [
        ([[0.5, -0.5]], [0, 0], "whole numbers"),
        ([[1, 2]], [0.25, 0], "whole numbers"),
        ([[np.nan, 0]], [0, 0], "whole numbers"),
        ([[10**10, 0]], [0, 0], "smaller numbers"),
        ([[1, 0]], [-(10**10), 0], "smaller numbers"),
    ],
)
def test_additive_rules_that_would_not_be_exact_are_refused(weights: Any, constants: Any, fault: str) -> None:
    """Weights were cut to whole numbers, and those beyond 32 bits went into clingo's sums."""
    labels = LabelSpace(("no", "yes"), (None, "yes"))
    with pytest.raises(UserError, match=rf"additive needs {fault}.*binarised"):
        additive(np.array(weights), np.array(constants), [("a",)], labels)
    assert additive(np.array([[1.0, 2.0]]), np.array([0, 1]), [("a",)], labels)  # whole, though a float


def test_sums_of_trees_are_exact() -> None:
    made, split, literals = task("eleusis")
    values = literals.values(split.concepts, split.metadata)
    first = tree_leaves(
        [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [40, -1, 5, -1, -1], [[0], [0.2], [0], [0.9], [-0.3]]
    )
    second = tree_leaves([1, -1, -1], [2, -1, -1], [40, -1, -1], [[0], [0.1], [0.4]])
    total = sum(sum(matches(path, values) * leaf[0] for path, leaf in tree) for tree in (first, second))
    expected = (np.asarray(total) > 0.5).astype(int)
    rules = sum_of_trees([first, second], lambda score: int(score[0] > 0.5))
    assert rules is not None and len(rules) == 3
    labels = SPACES["two"]
    written = decision_list([rule for rule in rules if rule[1]], 0, literals.bodies, labels)
    assert np.array_equal(by_rules(made, split.concepts, split.metadata, written, labels), expected)
    assert sum_of_trees([first] * 3 + [second], lambda score: 0, most=2) is None


GENERATED = (
    *("follow_suit", "crop_yield", "eleusis", "zoo", "uci", "indoor_scene", "sudoku_4x4"),
    "sudoku_4x4:knowledge=reduced",
)


def generated(name: str, n: int = 30) -> tuple[Any, Split]:
    """A task and examples, of which some have blanks that the task may never show."""
    made = registry.create("benchmark", name).for_split(1)
    split = made.generate("train", "small", 1, np.random.default_rng(3)).take(np.arange(n))
    split.concepts[: n // 3, 0] = BLANK
    return made, split


def seen(made: Any, split: Split, track: Any = "pretrained") -> View:
    sure = Predictions.certain(split.concepts, len(made.concept_space))
    return View(split, made, track, predictions=sure)


@pytest.mark.parametrize("name", GENERATED)
@pytest.mark.parametrize("knowledge", [False, True])
def test_asp_holds_where_the_feature_is_above(name: str, knowledge: bool) -> None:
    made, split = generated(name)
    if knowledge and not name.startswith("sudoku"):
        pytest.skip("the generated has no knowledge features")
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
    made, split = generated(name, 60)
    if "knowledge" in options and not made.knowledge_bodies():
        pytest.skip("the generated has no knowledge features")
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
    made, split = generated("follow_suit")
    train = seen(made, split)
    test = train.feature_test(0, 3.5)
    rules = [*decision_list([({0: True}, 1)], 0, [(test.atom,)], made.labels), *test.rules]
    found = crisp_labels(rules, made.background, made.contexts(split.concepts, split.metadata), made.labels)
    assert np.array_equal(found, (train.features[:, 0] > 3.5).astype(int))


def test_what_cannot_be_said_is_refused() -> None:
    made, split = generated("follow_suit")
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
