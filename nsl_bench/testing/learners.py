"""`LearnerTests`, tests that every learner must pass on a toy task with certain concepts."""

import pickle
from typing import ClassVar, get_args

import numpy as np
import pytest
import torch

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Hypothesis, Split
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import Learner, fixed_sizes, hypothesis_of, labels_of, probabilities_of, track_of
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.testing import Tests
from nsl_bench.testing.toy import patches, view


class LearnerTests(Tests):
    """Tests of a learner, which is fitted to 60 examples of a toy task::

        class TestMyLearner(LearnerTests):
            spec = "my_learner:trees=20"    # or "path/to/file.py:MyLearner"
            least = 0.9

    Attributes:
        spec: of the learner.
        least: accuracy that it must reach on the test set of `splits()`.
    """

    __test__ = False

    spec: ClassVar[str]
    least: ClassVar[float] = 0.0

    def make(self) -> Learner:
        """Create an unfitted learner; each call returns an equal one."""
        learner: Learner = registry.create("learner", self.spec, seed=0)
        return learner

    def splits(self) -> tuple[Benchmark, Split, Split]:
        """A benchmark, a train set and a test set."""
        return Patches(), patches("train"), patches("test")

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls) -> Learner:
        case = cls()
        benchmark, train, _ = case.splits()
        learner = case.make()
        return answering(learner.fit(view(train, benchmark=benchmark)) or learner)  # type: ignore[no-any-return]

    def test_declares_a_track(self) -> None:
        assert track_of(self.make()) in get_args(Track)

    def test_declares_what_sizes_are_fixed(self) -> None:
        assert set(fixed_sizes(self.make())) <= {"slots", "labels"}

    def test_gives_probabilities_and_labels(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        test_view = view(test, benchmark=benchmark, labelled=False)
        probabilities = probabilities_of(fitted, test_view)
        predicted = labels_of(fitted, test_view, probabilities)
        assert probabilities.shape == (len(test), len(benchmark.labels))
        assert (predicted == test.labels).mean() >= self.least
        decided = predicted >= 0
        assert np.array_equal(probabilities[decided].argmax(axis=1), predicted[decided])

    def test_the_same_seed_gives_the_same_answers(self, fitted: Learner) -> None:
        """And training leaves the generators and the threads of torch and numpy alone."""
        benchmark, train, test = self.splits()
        before, threads = torch.get_rng_state(), torch.get_num_threads()
        state = np.random.get_state(legacy=False)["state"]["key"].copy()
        again = self.make()
        again = answering(again.fit(view(train, benchmark=benchmark)) or again)
        assert torch.equal(before, torch.get_rng_state()) and threads == torch.get_num_threads()
        assert np.array_equal(state, np.random.get_state(legacy=False)["state"]["key"])
        test_view = view(test, benchmark=benchmark, labelled=False)
        assert np.array_equal(probabilities_of(fitted, test_view), probabilities_of(again, test_view))
        assert hypothesis_of(fitted) == hypothesis_of(again)

    def test_needs_no_test_labels(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        hidden = view(test, benchmark=benchmark, labelled=False)
        assert not hasattr(hidden, "labels")
        assert len(probabilities_of(fitted, hidden)) == len(test)

    def test_answers_for_no_examples(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        none = view(test.take(np.arange(0)), benchmark=benchmark, labelled=False)
        assert probabilities_of(fitted, none).shape == (0, len(benchmark.labels))

    def test_learns_from_one_label(self) -> None:
        benchmark, train, test = self.splits()
        one = train.take(np.flatnonzero(train.labels == train.labels[0]))
        learner = self.make()
        learner = answering(learner.fit(view(one, benchmark=benchmark)) or learner)
        predicted = labels_of(learner, view(test, benchmark=benchmark, labelled=False))
        assert set(predicted.tolist()) <= {-2, -1, *range(len(benchmark.labels))}
        hypothesis_of(learner)

    def test_travels_between_processes(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        test_view = view(test, benchmark=benchmark, labelled=False)
        again = pickle.loads(pickle.dumps((fitted, test_view)))
        assert np.array_equal(probabilities_of(fitted, test_view), probabilities_of(*again))

    def test_rules(self, fitted: Learner) -> None:
        hypothesis = hypothesis_of(fitted)
        assert hypothesis is None or isinstance(hypothesis, Hypothesis)
        if hypothesis is not None:
            assert hypothesis.atoms >= 0
            assert all(rule.strip() for rule in hypothesis.rules)
            assert hypothesis.language != "asp" or all(rule.endswith(".") for rule in hypothesis.rules)
