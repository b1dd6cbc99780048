"""The true rule in its three forms, in this process and in a sandbox, and a learner that uses it."""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from learners.views import seen as view_of

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Part, Predictions
from nsl_bench.learners.queries import query_of
from nsl_bench.learners.semantic_loss import SemanticLoss
from nsl_bench.learners.truth_tables import likeliest, truth_tables
from nsl_bench.learners.view import TrackError, View
from nsl_bench.logic.inference.engines import Exact
from nsl_bench.logic.inference.problog.engine import answer
from nsl_bench.run.bench import Bench
from nsl_bench.run.concepts import concept_metrics
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits
from nsl_bench.testing.toy import patches, view

LEARNER = """
import numpy as np


class Asks:
    track = "{track}"

    def fit(self, train):
        rule = train.true_rule
        assert "patch" in rule.asp.text and "nsl_label" in rule.problog.text
        assert rule.asp.facts[0][0] == ("patch(left,dark)",)
        everything = np.stack(np.meshgrid([0, 1, 2], [0, 1, 2]), -1).reshape(-1, 2)
        told = rule.labels(everything, np.zeros(9, int))
        assert (told == (everything[:, 0] != everything[:, 1])).all(), told
        self.shares = np.bincount(train.labels, minlength=train.n_labels) / len(train)
        return self

    def predict_proba(self, test):
        return np.tile(self.shares, (len(test), 1))
"""


def seen(part: Part, track: Track = "known_rules") -> View:
    return view(patches(part), track, source=PatchSource(), labelled=part == "train")


@pytest.mark.parametrize("name", ["follow_suit", "sudoku_4x4", "crop_yield", "addition", "eleusis"])
def test_the_function_labels_as_the_data_are(name: str) -> None:
    task: Benchmark = registry.create("benchmark", name).for_split(1)
    split = task.generate("train", "20", 1, np.random.default_rng(0))
    rule = View(split, task, "known_rules").true_rule
    assert (rule.labels(split.concepts) == split.labels).all()
    assert (rule.labels(split.concepts[:3], np.arange(3)) == split.labels[:3]).all()


@pytest.mark.parametrize("name", ["follow_suit", "crop_yield", "addition:digits=2"])
def test_problog_gives_the_label(name: str) -> None:
    task: Benchmark = registry.create("benchmark", name).for_split(1)
    split = task.generate("train", "2", 1, np.random.default_rng(1))
    rule = View(split, task, "known_rules").true_rule.problog
    row = len(split) - 1
    shown = split.concepts[split.sequences == split.sequences[row]].ravel()
    held = [fact for slot, concept in enumerate(shown.tolist()) for fact in rule.facts[slot][concept]]
    program = "\n".join([rule.text, *(f"{fact}." for fact in (*rule.contexts[row], *held))])
    found = answer(program)
    assert found[f"nsl_label({split.labels[row]})"] == pytest.approx(1) and sum(found.values()) == 1


def test_wrong_questions_are_one_sentence() -> None:
    rule = seen("train").true_rule
    with pytest.raises(UserError, match=r"concepts of shape \[m, slots\] and m rows"):
        rule.labels(np.zeros((3, 2), int), [0])
    with pytest.raises(UserError, match="2 slots; got concepts for 3"):
        rule.labels(np.zeros((1, 3), int), [0])
    with pytest.raises(UserError, match="concepts of the true rule must be between -1 and 2; got 7 to 7"):
        rule.labels(np.full((1, 2), 7), [0])
    with pytest.raises(UserError, match="rows of the true rule must be between 0 and 59; got 60 to 60"):
        rule.labels(np.zeros((1, 2), int), [60])
    task: Benchmark = registry.create("benchmark", "addition")
    split = task.generate("train", "2", 1, np.random.default_rng(0))
    with pytest.raises(UserError, match="must be its steps in their order"):
        View(split, task, "known_rules").true_rule.labels(split.concepts[:2], [1, 2])


def test_many_rows_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsl_bench.learners.known_rule.MOST_ROWS", 7)
    task: Benchmark = registry.create("benchmark", "addition")
    split = task.generate("train", "9", 1, np.random.default_rng(0))
    assert (View(split, task, "known_rules").true_rule.labels(split.concepts) == split.labels).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
def test_a_sandboxed_learner_asks_for_it_in_its_track_alone(tmp_path: Path) -> None:
    for track in ("known_rules", "label_only"):
        (tmp_path / f"{track}.py").write_text(LEARNER.replace("{track}", track))
    with closing(IsolatedLearner(f"{tmp_path}/known_rules.py:Asks", 0, Limits(time=60))) as learner:
        learner.fit(seen("train"))
    with (
        closing(IsolatedLearner(f"{tmp_path}/label_only.py:Asks", 0, Limits(time=60))) as learner,
        pytest.raises(Failure, match="'label_only' do not get the true rule"),
    ):
        learner.fit(seen("train", "label_only"))


def test_concept_labels_are_of_train_examples_alone() -> None:
    train, test = seen("train", "concept_labels"), seen("test", "concept_labels")
    assert (train.concept_ids == patches("train").concepts).all() and train.has_images
    for hidden in (test, train.unlabelled()):
        with pytest.raises(TrackError, match="Only examples with labels have concepts"):
            _ = hidden.concept_ids


def test_a_task_without_a_true_rule_is_not_applicable() -> None:
    (job,) = plan("zoo", ["semantic_loss"])
    record = Bench().run(job).record
    assert record.status == "not_applicable" and "has no true rule" in record.message


def test_perception_is_learned_through_the_rule() -> None:
    """Labels tell which patches are alike; which shade is which, they cannot tell."""
    learner = SemanticLoss(epochs=30, batch=4).fit(seen("train"))
    test = seen("test")
    labels = learner.predict_proba(test).argmax(axis=1)
    right, majority = labels == patches("test").labels, np.bincount(patches("test").labels).max() / 60
    assert right.mean() > majority + 0.1
    found = concept_metrics(learner.predict_concepts(test), patches("test"))
    assert set(found) == {"learner_concept_accuracy", "learner_concept_calibration_error", "concept_collapse"}


def test_rules_about_many_images_are_learned_through_by_diagrams() -> None:
    """The answers are the exact probabilities of what the network sees."""
    train, test = (
        view_of("visudo_4x4", "train", "8", "known_rules"),
        view_of("visudo_4x4", "test", "8", "known_rules"),
    )
    learner = SemanticLoss(epochs=2, batch=4).fit(train, train)
    query = query_of(registry.create("benchmark", "visudo_4x4"), (train.true_rule.asp.text,))
    expected = Exact(width=0)(query, learner.predict_concepts(train)).probabilities
    assert learner.predict_proba(train) == pytest.approx(expected, abs=1e-5)
    assert learner.predict_proba(test).shape == (len(test), 2)


def test_the_likeliest_world_has_a_label() -> None:
    split = patches("test")
    certain = Predictions.certain(split.concepts, 3).probabilities.astype(np.float64)
    assert (likeliest(seen("test"), certain, split.concepts < 0) == split.labels).all()


def test_a_large_truth_table_is_not_applicable() -> None:
    task: Benchmark = registry.create("benchmark", "follow_suit")
    split = task.generate("train", "5", 1, np.random.default_rng(0))
    shown = np.zeros((5, 4), np.bool_)
    with pytest.raises(NotApplicable, match="7311616 combinations"):
        truth_tables(View(split, task, "known_rules"), shown)


DEVICE = """
import numpy as np


class Where:
    track = "end_to_end"

    def fit(self, train):
        print("device", train.device)
        return self

    def predict_proba(self, test):
        return np.ones((len(test), test.n_labels)) / test.n_labels
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
@pytest.mark.parametrize(("given", "told"), [("auto", "cpu"), ("cuda:1", "cuda:1")])
def test_a_learner_is_told_the_device(tmp_path: Path, given: str, told: str) -> None:
    (tmp_path / "where.py").write_text(DEVICE)
    (job,) = plan("eleusis", [f"{tmp_path}/where.py:Where"])
    outcome = Bench(given, limits=Limits(time=60)).run(job)
    assert outcome.record.status == "ok" and f"device {told}" in outcome.log
