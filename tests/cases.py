"""Abstract test cases of networks and learners: what every implementation passes, first-party or not.

A test module derives a class from a case and says how to make the thing; pytest collects the rest.
"""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from toy import Patches, PatchSource, patches, view

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError
from nsl_bench.learners.base import Learner, hypothesis_of, labels_of, probabilities_of, track_of
from nsl_bench.perception.checkpoint import Checkpoint
from nsl_bench.perception.network import Network, Segmentation
from nsl_bench.types import Hypothesis, Split


class NetworkCase:
    """What a network must do.

    Attributes:
        spec: of a network that trains in seconds on the toy task's images.
        other: a spec with another architecture.
        shape: side and channels of the images.
    """

    spec: str
    other: str
    side: int = 12
    channels: int = 1

    @pytest.fixture(scope="class")
    @classmethod
    def source(cls) -> PatchSource:
        return PatchSource(cls.channels, cls.side)

    @pytest.fixture(scope="class")
    @classmethod
    def network(cls, source: PatchSource) -> Network:
        return cls.fitted(source)

    @classmethod
    def fitted(cls, source: PatchSource, checkpoint: Path | None = None, **options: object) -> Network:
        network: Network = registry.create("network", cls.spec, **options)
        network.checkpoint = checkpoint
        extra: dict[str, object] = {}
        if network.needs_segmentation:
            maps = Segmentation(source.segments, lambda rows: source.segmentation("network", rows))
            extra["segmentation"] = maps
        concepts = source.concept_space.concepts
        render = partial(source.render, "network")
        return network.fit(render, source.labels("network"), concepts, **extra)  # type: ignore[arg-type]

    def test_learns_the_concepts(self, source: PatchSource, network: Network) -> None:
        rows = np.arange(60, dtype=np.int64)
        probabilities = network.predict_proba(source.render("b", rows))
        assert probabilities.shape == (60, 3) and probabilities.dtype == np.float32
        assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        assert (probabilities.argmax(axis=1) == source.labels("b")).mean() > 0.9

    def test_an_image_is_seen_alike_in_any_company(self, source: PatchSource, network: Network) -> None:
        images = source.render("b", np.arange(60, dtype=np.int64))
        together = network.predict_proba(images)
        alone = np.concatenate([network.predict_proba(images[i : i + 1]) for i in range(0, 60, 13)])
        assert np.array_equal(together[::13], alone)

    def test_the_same_seed_gives_the_same_network(self, source: PatchSource, network: Network) -> None:
        before, threads = torch.get_rng_state(), torch.get_num_threads()
        assert self.fitted(source).fingerprint() == network.fingerprint()
        assert self.fitted(source, seed=4).fingerprint() != network.fingerprint()
        assert torch.equal(before, torch.get_rng_state()) and threads == torch.get_num_threads()

    def test_an_interrupted_training_goes_on(
        self, source: PatchSource, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C after the second epoch; the second call does the rest and comes to the same weights."""
        write, calls = Checkpoint.write, []

        def interrupted(self: Checkpoint, epoch: int, *args: object) -> None:
            write(self, epoch, *args)  # type: ignore[arg-type]
            calls.append(epoch)
            if len(calls) == 2:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoint, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            self.fitted(source, tmp_path / "state")
        assert len(list(tmp_path.iterdir())) == 1
        again = self.fitted(source, tmp_path / "state")
        assert calls[:3] == [1, 2, 3]
        assert again.fingerprint() == network.fingerprint()
        assert list(tmp_path.iterdir()) == []

    def test_is_the_same_after_saving_and_loading(
        self, source: PatchSource, network: Network, tmp_path: Path
    ) -> None:
        network.details["accuracy"] = {"standard": 0.5}
        network.save(tmp_path / "weights.safetensors")
        loaded: Network = registry.create("network", self.spec)
        loaded.load(tmp_path / "weights.safetensors", source.concept_space.concepts)
        images = source.render("b", np.arange(60, dtype=np.int64))
        assert np.array_equal(network.predict_proba(images), loaded.predict_proba(images))
        assert loaded.fingerprint() == network.fingerprint()
        assert loaded.concepts == network.concepts and loaded.details == network.details

    def test_the_spec_tells_options_apart(self) -> None:
        network, other = registry.create("network", self.spec), registry.create("network", self.other)
        assert network.spec == registry.create("network", self.spec).spec != other.spec

    def test_refuses_weights_for_other_concepts(self, network: Network, tmp_path: Path) -> None:
        path = tmp_path / "weights.safetensors"
        network.save(path)
        with pytest.raises(UserError, match=r"weights\.safetensors holds weights for 3 other concepts"):
            registry.create("network", self.spec).load(path, ("a", "b"))

    def test_refuses_what_are_no_weights(self, tmp_path: Path) -> None:
        network: Network = registry.create("network", self.spec)
        path = tmp_path / "weights.safetensors"
        with pytest.raises(UserError, match="There is no weights file"):
            network.load(path)
        path.write_bytes(b"nonsense")
        with pytest.raises(UserError, match="is no whole safetensors file"):
            network.load(path)

    def test_must_be_trained(self) -> None:
        network: Network = registry.create("network", self.spec)
        with pytest.raises(UserError, match="not trained"):
            network.predict_proba(np.zeros((1, self.side, self.side, self.channels), np.uint8))


class LearnerCase:
    """What a learner must do.

    Attributes:
        spec: the learner.
        least: accuracy that it reaches on the toy task's test set.
    """

    spec: str
    least: float = 0.0

    def make(self) -> Learner:
        learner: Learner = registry.create("learner", self.spec, seed=0)
        return learner

    def splits(self) -> tuple[Benchmark, Split, Split]:
        """A benchmark, a train and a test set."""
        return Patches(), patches("train"), patches("test")

    @pytest.fixture
    def fitted(self) -> Learner:
        benchmark, train, _ = self.splits()
        learner = self.make()
        return learner.fit(view(train, benchmark=benchmark)) or learner

    def test_declares_a_track(self) -> None:
        assert track_of(self.make()) in ("symbolic", "pretrained", "label_only", "end_to_end")

    def test_gives_probabilities_and_labels(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        seen = view(test, benchmark=benchmark, labelled=False)
        probabilities = probabilities_of(fitted, seen)
        predicted = labels_of(fitted, seen, probabilities)
        assert probabilities.shape == (len(test), len(benchmark.labels))
        assert (predicted == test.labels).mean() >= self.least
        decided = predicted >= 0
        assert np.array_equal(probabilities[decided].argmax(axis=1), predicted[decided])

    def test_the_same_seed_gives_the_same_answers(self, fitted: Learner) -> None:
        benchmark, train, test = self.splits()
        again = self.make()
        again = again.fit(view(train, benchmark=benchmark)) or again
        seen = view(test, benchmark=benchmark, labelled=False)
        assert np.array_equal(probabilities_of(fitted, seen), probabilities_of(again, seen))
        assert hypothesis_of(fitted) == hypothesis_of(again)

    def test_leaves_torch_and_numpy_alone(self) -> None:
        benchmark, train, _ = self.splits()
        before, threads, state = (
            torch.get_rng_state(),
            torch.get_num_threads(),
            np.random.get_state()[1].copy(),
        )
        self.make().fit(view(train, benchmark=benchmark))
        assert torch.equal(before, torch.get_rng_state()) and threads == torch.get_num_threads()
        assert np.array_equal(state, np.random.get_state()[1])

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
        learner = learner.fit(view(one, benchmark=benchmark)) or learner
        predicted = labels_of(learner, view(test, benchmark=benchmark, labelled=False))
        assert set(predicted.tolist()) <= {-2, -1, *range(len(benchmark.labels))}
        hypothesis_of(learner)

    def test_travels_between_processes(self, fitted: Learner) -> None:
        benchmark, _, test = self.splits()
        seen = view(test, benchmark=benchmark, labelled=False)
        again = pickle.loads(pickle.dumps((fitted, seen)))
        assert np.array_equal(probabilities_of(fitted, seen), probabilities_of(*again))

    def test_rules(self, fitted: Learner) -> None:
        hypothesis = hypothesis_of(fitted)
        assert hypothesis is None or isinstance(hypothesis, Hypothesis)
        if hypothesis is not None:
            assert hypothesis.atoms >= 0
            assert all(rule.strip() for rule in hypothesis.rules)
            assert hypothesis.language != "asp" or all(rule.endswith(".") for rule in hypothesis.rules)
