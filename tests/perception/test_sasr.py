from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from nsl_bench.core.errors import UserError
from nsl_bench.perception import trained_networks
from nsl_bench.perception.networks.sasr import SASR, SceneSizes, _nearest
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing import NetworkTests


class TestSASR(NetworkTests):
    spec = "sasr:epochs=5,height=20,width=20"
    other = "sasr:epochs=5,height=20,width=24"
    channels = 3


def test_the_published_parameters_have_their_names() -> None:
    """As in the published code with ResNet-18, 151 + 1 classes of pixels and MIT Indoor 67's scenes."""
    state = SceneSizes("resnet18", 224, 224, 3, 152, 67).build().state_dict()
    shapes = {name: tuple(t.shape) for name, t in state.items() if not name.startswith("segmenter.")}
    assert shapes["in_block.0.weight"] == (64, 3, 7, 7)
    assert shapes["encoder4.1.conv2.weight"] == (512, 512, 3, 3)
    assert shapes["in_block_sem.0.weight"] == (64, 152, 7, 7)
    assert shapes["in_block_sem_3.ca.fc1.weight"] == (32, 512, 1, 1)
    assert shapes["lastConvRGB2.0.weight"] == (1024, 512, 3, 3)
    assert shapes["lastConvSEM2.1.running_mean"] == (1024,)
    assert shapes["fc.weight"] == (67, 1024) and shapes["fc_SEM.weight"] == (67, 512)
    deep = SceneSizes("resnet50", 224, 224, 3, 152, 67).build().state_dict()
    assert tuple(deep["lastConvRGB1.0.weight"].shape) == (1024, 2048, 3, 3)
    assert tuple(deep["lastConvRGB2.0.weight"].shape) == (1024, 1024, 3, 3)


def test_the_attention_module_joins_both_branches() -> None:
    torch.manual_seed(0)
    module = SceneSizes("small", 32, 32, 3, 4, 5).build().eval()
    images = torch.randn(2, 3, 32, 32)
    whole, rgb, semantic, pixels = module.heads(images)
    assert pixels.shape == (2, 4, 32, 32) and whole.shape == rgb.shape == semantic.shape == (2, 5)
    assert torch.equal(module(images), whole)
    with torch.no_grad():
        module.segmenter.pixels.bias += torch.tensor([9.0, 0, 0, 0])
    other, same, _, _ = module.heads(images)
    assert torch.equal(same, rgb) and not torch.equal(other, whole)


def test_training_starts_from_published_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    published = SceneSizes("resnet18", 32, 32, 3, 152, 67).build().state_dict()
    path = tmp_path / "published.safetensors"
    tensors = {f"module.{k}": v.clone() for k, v in published.items() if not k.startswith("segmenter.")}
    save_file(tensors, path)
    spec = f"sasr:published={path},epochs=1,height=20,width=20"
    network = trained_networks.trained(spec, Patches(), PatchSource(channels=3))
    assert isinstance(network, SASR)
    found = network._module.state_dict()["encoder1.0.conv1.weight"]
    assert (found - published["encoder1.0.conv1.weight"]).abs().max() < 0.05
    tensors["module.encoder1.0.conv1.weight"] = torch.zeros(3)
    save_file(tensors, path)
    with pytest.raises(UserError, match=rf"{path} has weights of another architecture: 'encoder1\.0\.conv1"):
        trained_networks.trained(spec, Patches(), PatchSource(channels=3))
    save_file({**tensors, "module.extra": torch.zeros(3)}, path)
    with pytest.raises(UserError, match=rf"{path} has weights .* 'extra' is not part of the network"):
        trained_networks.trained(spec, Patches(), PatchSource(channels=3))
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match=rf"{path} is not a complete safetensors file"):
        trained_networks.trained(spec, Patches(), PatchSource(channels=3))


def test_maps_are_resized_without_mixing() -> None:
    maps = np.arange(16, dtype=np.uint8).reshape(1, 4, 4)
    assert np.array_equal(_nearest(maps, (2, 2))[0, ..., 0], [[5, 7], [13, 15]])
    assert np.array_equal(_nearest(maps, (4, 4))[..., 0], maps)


def test_grey_images_are_refused() -> None:
    with pytest.raises(UserError, match=r"images must be in colour .* got 1"):
        SASR().design((20, 20, 1), 3)
