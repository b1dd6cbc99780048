"""Learners that have rules alone, and `nsl_bench.answer`."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

import nsl_bench
from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.types import Hypothesis, Predictions
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import InvalidOutput, answers_of
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

RULE = Patches.true_rule
TEST = patches("test")
CERTAIN = Predictions.certain(TEST.concepts, 3).probabilities


class Alone:
    def __init__(self, rules=(RULE,)):
        self.rules = lambda: rules

    def fit(self, train):
        return self


class Seeing(Alone):
    def predict_concepts(self, test):
        return CERTAIN


@pytest.mark.parametrize(
    ("learner", "track"),
    [
        *((Alone(), track) for track in ("symbolic", "pretrained")),
        (Alone(Hypothesis((RULE,), 3)), "pretrained"),
        *((Seeing(), track) for track in ("known_rules", "label_only")),
    ],
)
def test_the_rules_of_a_learner_answer(learner, track) -> None:
    labels, given = answers_of(answering(learner.fit(None)), view(TEST, track, labelled=False))
    assert given is not None and np.array_equal(given.argmax(axis=1), TEST.labels)
    assert np.array_equal(labels, TEST.labels)


def test_labels_are_crisp_and_probabilities_inferred() -> None:
    seen = np.full((len(TEST), 2, 3), [0.5, 0.3, 0.2])
    test = view(TEST, labelled=False)
    answer = nsl_bench.answer([RULE], test, seen)
    assert (answer.labels == 0).all() and np.allclose(answer.probabilities[:, 0], 0.25 + 0.09 + 0.04)
    seen[:, 1] = 0  # a blank
    assert (nsl_bench.answer(RULE, test, seen).probabilities == [1, 0]).all()
    choice = nsl_bench.answer("{ differ }.", test)  # several answer sets: no inference
    assert np.array_equal(choice.probabilities, np.eye(2)[choice.labels])
    for wrong in (np.ones((2, 2)), "no", np.full(seen.shape, np.nan)):
        with pytest.raises(nsl_bench.UserError, match="concepts must be probabilities; got"):
            nsl_bench.answer(RULE, test, wrong)


@pytest.mark.parametrize(
    ("learner", "track", "error", "sentence"),
    [
        (Alone(("differ :- patch(",)), "pretrained", InvalidOutput, "Alone cannot answer: .*syntax"),
        (Alone(("#script(lua) #end.",)), "pretrained", InvalidOutput, "cannot answer: .*script"),
        (Alone(None), "pretrained", InvalidOutput, "must be ASP; got none"),
        (Alone(Hypothesis(("same",), 1, "tree")), "pretrained", InvalidOutput, "branches of a tree"),
        (Alone((3,)), "pretrained", InvalidOutput, "as strings; got int"),
        (Alone(), "label_only", NotApplicable, "'label_only' has no concepts; add predict_concepts"),
        (Seeing(), "end_to_end", NotApplicable, "has rules alone, and the track 'end_to_end' has no symbols"),
    ],
)
def test_what_rules_cannot_answer_is_said(learner, track, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        answers_of(answering(learner), view(TEST, track, labelled=False))


SANDBOXED = f"""
import nsl_bench, numpy

class Alone:
    track = "label_only"
    def fit(self, train):
        self.right = nsl_bench.answer({RULE!r}, train, self.predict_concepts(train)).labels
    def predict_concepts(self, test):
        return numpy.full((len(test), len(test.slots), len(test.concept_space)), 1 / 3)
    def rules(self):
        return [{RULE!r}] * (len(self.right) == 60)
"""


@pytest.mark.skipif(os.name != "posix", reason="learners are isolated on POSIX systems")
def test_in_the_sandbox_the_harness_answers(tmp_path: Path) -> None:
    path = tmp_path / "alone.py"
    path.write_text(SANDBOXED)
    with contextlib.closing(IsolatedLearner(f"{path}:Alone", 0, Limits())) as learner:
        learner.fit(view(patches(), "label_only"))
        _, given = answers_of(learner, view(TEST, "label_only", labelled=False))
        assert given is not None and np.allclose(given, [[1 / 3, 2 / 3]])
        assert learner.rules() == [RULE]
