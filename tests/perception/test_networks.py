import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from safetensors.torch import save_file

from nsl_bench.cli.networks import networks as command
from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import calibration_error
from nsl_bench.perception import trained_networks, training
from nsl_bench.perception.classifier import resize
from nsl_bench.perception.networks.edl_gen import EDLGen
from nsl_bench.perception.networks.of_softmax_cnns import _best_temperature
from nsl_bench.perception.networks.sasr import SASR, SceneSizes, _nearest
from nsl_bench.perception.networks.softmax import SoftmaxCNN
from nsl_bench.perception.trained_networks import BINS, figures, histogram
from nsl_bench.perception.training import kept_memory
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing import NetworkTests
from nsl_bench.testing.toy import Negative

BACKBONE = "backbone:weights=none,epochs=6,height=20,width=20"
EDL_GEN = "edl_gen:epochs=60,dense=32,height=16,width=16,filters=4"
PAIRS: dict[str, tuple[str, str, dict[str, int]]] = {
    "digits": ("softmax:epochs=8,dense=16", "softmax:epochs=8,dense=17", {}),
    "cards": (
        "softmax:epochs=10,dense=32,height=48,width=48",
        "softmax:epochs=10,dense=32,height=48,width=64",
        {"side": 50, "channels": 3},
    ),
    "temperature": ("temperature:epochs=8,dense=16", "temperature:epochs=8,dense=17", {}),
    "ensemble": ("ensemble:epochs=8,dense=16,size=2", "ensemble:epochs=8,dense=16,size=3", {}),
    "mc_dropout": ("mc_dropout:epochs=12,dense=16", "mc_dropout:epochs=12,dense=16,samples=3", {}),
    "backbone": (BACKBONE, f"{BACKBONE},model=resnet34", {"channels": 3}),
    "edl_gen": (f"{EDL_GEN},latent=8", f"{EDL_GEN},latent=9", {}),
}
"""Two specs of each network that differ in one option, and the images that they see."""
for _name, (_spec, _other, _images) in PAIRS.items():
    _own = {"spec": _spec, "other": _other, **_images}
    globals()[f"Test {_name}"] = type(f"Test {_name}", (NetworkTests,), _own)


def test_the_architecture_follows_from_the_images() -> None:
    quick, paper = SoftmaxCNN(), SoftmaxCNN(preset="paper")
    digits, cards = quick.design((28, 28, 1), 9), quick.design((274, 174, 3), 52)
    assert (digits.kind, digits.height, digits.width, digits.dense) == ("digits", 28, 28, 96)
    assert (cards.kind, cards.height, cards.width, cards.dense) == ("cards", 96, 64, 512)
    assert paper.design((28, 28, 1), 9).dense == 128
    assert paper.design((274, 174, 3), 52).height == 274
    assert SoftmaxCNN(kind="cards").design((100, 100, 1), 2).kind == "cards"
    assert SoftmaxCNN(width=40).design((274, 174, 3), 52).width == 40
    leaves = quick.design((128, 128, 3), 39)
    assert (leaves.height, leaves.width) == (80, 80)
    linear = SoftmaxCNN(kind="linear").design((128, 128, 3), 39).build().state_dict()
    assert [tuple(weights.shape) for weights in linear.values()] == [(39, 80 * 80 * 3), (39,)]


def test_the_quick_preset_takes_more_images_of_leaves_than_of_cards() -> None:
    labels = np.repeat(np.arange(2, dtype=np.int16), 400)
    for shape, each in (((274, 174, 3), 120), ((128, 128, 3), 280), ((28, 28, 1), 400)):
        network = SoftmaxCNN()
        assert len(network.train_rows(labels, network.design(shape, 2))[0]) == 2 * each


def test_the_published_sizes() -> None:
    """Inputs of the first dense layer in the published code: 9,216 for digits, 17,280 for cards."""
    sizes = {
        shape: SoftmaxCNN(preset="paper").design(shape, 2).build().state_dict()
        for shape in ((28, 28, 1), (274, 174, 3))
    }
    first_dense = [next(t.shape[1] for t in state.values() if t.ndim == 2) for state in sizes.values()]
    assert first_dense == [9216, 17280]
    lenet5 = SoftmaxCNN(preset="paper", kind="lenet5").design((28, 28, 1), 10).build().state_dict()
    assert [t.shape[0] for name, t in lenet5.items() if "weight" in name] == [20, 50, 500, 10]


def test_decay_holds_down_the_weights_of_dense_layers_alone() -> None:
    images, labels = np.zeros((8, 16, 16, 1), np.uint8), np.tile(np.arange(2, dtype=np.int16), 4)
    network = SoftmaxCNN(kind="lenet5", epochs=40, dense=4).fit(lambda rows: images[rows], labels, ("a", "b"))
    trained, new = network.parameters(), network.architecture.build().state_dict()
    sizes = {
        name: np.abs(trained[name]).mean() / np.abs(tensor.numpy()).mean() for name, tensor in new.items()
    }
    dense = [size for name, size in sizes.items() if new[name].ndim == 2]
    convolutional = [size for name, size in sizes.items() if new[name].ndim == 4]
    assert max(dense) < 0.95 < min(convolutional) and network.details["training"]["decay"] == 0.005
    assert (
        "decay"
        not in SoftmaxCNN(epochs=1).fit(lambda rows: images[rows], labels, ("a", "b")).details["training"]
    )


def test_images_too_small_for_the_network() -> None:
    with pytest.raises(UserError, match="20 x 20 are too small for the cards network"):
        SoftmaxCNN(kind="cards").design((20, 20, 3), 2).build()


def test_weights_of_another_architecture(tmp_path: Path) -> None:
    source = PatchSource()
    path = tmp_path / "w.safetensors"
    network = SoftmaxCNN(epochs=1, dense=8).fit(
        lambda rows: source.render("network", rows), source.labels("network"), source.concept_space.concepts
    )
    whole = dict(network.parameters())
    for change, sentence in (
        ({"0.weight": whole["0.weight"][:5]}, r"of another architecture: '0\.weight'"),
        ({"0.weight": whole["0.weight"].astype(np.int32)}, "'0.weight' must be floats; got int32"),
        ({"0.weight": whole["0.weight"] * np.nan}, "NaN or infinite: '0.weight'"),
        ({"deviation": whole["deviation"] * 0}, "'deviation' must be above 0"),
    ):
        parameters = {**whole, **change}
        network.parameters = lambda parameters=parameters: parameters  # type: ignore[method-assign]
        network.save(path)
        with pytest.raises(UserError, match=rf"{path} has weights .*{sentence}"):
            SoftmaxCNN().load(path)


def test_colour_is_not_taken_for_grey() -> None:
    source = PatchSource()
    network = SoftmaxCNN(epochs=1, dense=8).fit(
        lambda rows: source.render("network", rows), source.labels("network"), source.concept_space.concepts
    )
    with pytest.raises(UserError, match=r"1 channel\(s\); got 3"):
        network.predict_proba(np.zeros((2, 12, 12, 3), np.uint8))


def test_images_per_concept_takes_the_first_of_each() -> None:
    labels = np.array([0, 1, 0, 1, 0, 1, 2], np.int16)
    assert training.first_of_each(labels, 2).tolist() == [0, 1, 2, 3, 6]
    assert len(training.first_of_each(labels, None)) == 7


def test_statistics_are_those_of_numpy() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 3, 2)).astype(np.uint8)
    mean, deviation = training.statistics(images)
    assert np.allclose(mean, images.mean(axis=(0, 1, 2)), atol=1e-4)
    assert np.allclose(deviation, images.std(axis=(0, 1, 2)), atol=1e-4)


@pytest.mark.parametrize("channels", [1, 3])
def test_resize(channels: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 20, 16, channels)).astype(np.uint8)
    small = resize(images, (10, 8))
    assert small.shape == (3, 10, 8, channels) and small.dtype == np.uint8
    assert abs(float(small.mean()) - float(images.mean())) < 3
    assert np.array_equal(small[1:2], resize(images[1:2], (10, 8)))
    assert resize(images, (20, 16)) is images


@pytest.mark.parametrize("name", ["abacus", "meta", "cpu:x"])
def test_an_unknown_device(name: str) -> None:
    with pytest.raises(UserError, match=f"The device '{name}' cannot be used on this machine"):
        training.pick_device(name)


def test_the_best_temperature_is_that_of_the_labels() -> None:
    """Labels drawn from softmax(logits / 3): the logits are three times too large."""
    chance = np.random.default_rng(0)
    logits = 6 * chance.standard_normal((4000, 5))
    noise = chance.gumbel(size=logits.shape)
    labels = (logits / 3 + noise).argmax(axis=1)
    assert abs(_best_temperature(logits, labels) - 3) < 0.3
    assert 1 <= _best_temperature(logits, logits.argmax(axis=1)) < 1.01


def test_a_warm_start_takes_the_softmax_cnn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path))
    source = PatchSource()
    spec = "edl_gen:warm=true,dense=8,epochs=1,height=20,width=20,filters=4,latent=4"
    network = trained_networks.train_network(spec, Patches(), source)
    assert [path.name.partition("-")[0] for path in (tmp_path / "networks").glob("*.safetensors")] == [
        "softmax"
    ]
    basis = trained_networks.trained("softmax:dense=8,height=20,width=20", Patches(), source)
    assert network.details["training"]["warm"] and isinstance(network, EDLGen)
    assert network.architecture == basis.architecture  # type: ignore[attr-defined]
    moved = np.abs(network.parameters()["0.weight"] - basis.parameters()["0.weight"])
    assert 0 < moved.max() < 0.01
    with pytest.raises(UserError, match="kind=lenet cannot be combined"):
        EDLGen(kind="lenet", warm=True).basis((20, 20, 1))


def test_the_histogram_has_the_papers_bins() -> None:
    confidence = np.array([0.25, 0.26, 0.5, 0.75, 0.76, 0.9, 0.95, 0.951, 1.0, 1.0])
    assert histogram(confidence).tolist() == [1, 2, 1, 2, 1, 3]
    assert len(BINS) == 6 and histogram(np.empty(0)).tolist() == [0] * 6


def test_figures_are_those_of_the_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    source = PatchSource()
    network = trained_networks.train_network("softmax:epochs=12,dense=16", Patches(), source)
    standard, shifted = figures(network, source), figures(network, source, Negative(), limit=30)
    probabilities = network.predict_proba(source.render("b", np.arange(60)))
    assert standard.images == 60 and shifted.images == 30
    assert standard.accuracy > 0.9 > shifted.accuracy
    assert standard.calibration_error == calibration_error(probabilities, source.labels("b"))
    assert abs(standard.confidence - probabilities.max(axis=1).mean()) < 1e-6
    assert standard.histogram[-1] == (probabilities.max(axis=1) > 0.95).mean()


def test_the_command_writes_table_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    options = ["sudoku_4x4", "--network", "softmax", "--network", "mc_dropout:samples=2", "--limit", "40"]
    result = CliRunner().invoke(command, [*options, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Training" not in result.output
    lines = (tmp_path / "out" / "networks.csv").read_text().splitlines()
    assert lines[0].startswith("network,images,n,accuracy,calibration error,mean confidence,0-0.25")
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["softmax", "standard", "40"],
        ["mc_dropout:samples=2", "standard", "40"],
        ["softmax", "rotate90", "40"],
        ["mc_dropout:samples=2", "rotate90", "40"],
    ]
    assert Image.open(tmp_path / "out" / "confidence.png").size[0] > 500


PROGRAM = """
import resource
import numpy as np
from contextlib import nullcontext
from nsl_bench.perception.training import kept_memory

def faults(context):
    with context:
        for _ in range(3):
            np.ones(6_000_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(6_000_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults(nullcontext()), faults(kept_memory()), faults(nullcontext()))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library is left as it is")
def test_freed_memory_is_kept_in_the_block_only() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, within, after = map(int, done.stdout.split())
    assert before > 1000 and after > 1000, "48 MB are mapped anew each time"
    assert within < before / 50


def test_an_error_leaves_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), kept_memory():
        raise KeyboardInterrupt


def test_small_networks_are_trained_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from nsl_bench.perception import trained_networks, training
    from nsl_bench.run.mock_tasks import Patches, PatchSource

    seen: list[int] = []
    tensor = training.tensor
    monkeypatch.setattr(training, "tensor", lambda *a: seen.append(torch.get_num_threads()) or tensor(*a))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trained_networks.train_network("softmax:epochs=1,dense=4", Patches(), PatchSource())
        assert set(seen) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


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
