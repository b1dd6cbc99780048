"""`NetworkTests`, tests that every network must pass on noisy patches of three shades."""

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.perception.checkpoint import Checkpoint
from nsl_bench.perception.network import Network, Segmentation
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.testing import Tests


class NetworkTests(Tests):
    """Tests of a network, which must have an entry point::

        class TestMyNetwork(NetworkTests):
            spec = "my_network:epochs=8,dense=16"
            other = "my_network:epochs=8,dense=17"

    Attributes:
        spec: of a network that learns 60 images of three shades in seconds.
        other: a spec with another architecture.
        side: height and width of the images in pixels.
        channels: of the images, 1 or 3.
    """

    __test__ = False

    spec: ClassVar[str]
    other: ClassVar[str]
    side: ClassVar[int] = 12
    channels: ClassVar[int] = 1

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
        with pytest.raises(UserError, match=r"weights\.safetensors has weights for 3 other concepts"):
            registry.create("network", self.spec).load(path, ("a", "b"))

    def test_refuses_what_are_no_weights(self, tmp_path: Path) -> None:
        network: Network = registry.create("network", self.spec)
        path = tmp_path / "weights.safetensors"
        with pytest.raises(UserError, match=r"The weights file .* does not exist"):
            network.load(path)
        path.write_bytes(b"nonsense")
        with pytest.raises(UserError, match="is not a complete safetensors file"):
            network.load(path)

    def test_must_be_trained(self) -> None:
        network: Network = registry.create("network", self.spec)
        with pytest.raises(UserError, match="not trained"):
            network.predict_proba(np.zeros((1, self.side, self.side, self.channels), np.uint8))
