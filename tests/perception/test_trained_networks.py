import itertools
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file as save
from safetensors.torch import save_file
from torchvision.models import get_model

from nsl_bench.core import cache, registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source
from nsl_bench.perception import trained_networks as library
from nsl_bench.perception import training
from nsl_bench.perception.checkpoint import Checkpoint
from nsl_bench.perception.network import MetaNetwork, Network, header_of
from nsl_bench.perception.trained_networks import figures
from nsl_bench.run.mock_tasks import Patches, PatchSource

SPEC = "softmax:epochs=1,dense=4"


def test_a_network_is_trained_once(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    source = PatchSource()
    first = library.trained(SPEC, Patches(), source)
    assert "Training the network softmax:epochs=1,dense=4 for patches" in capsys.readouterr().err
    rendered = source.rendered
    second = library.trained(SPEC, Patches(), source)
    assert capsys.readouterr().err == "" and source.rendered == rendered
    assert first.fingerprint() == second.fingerprint()
    assert second.details["source"] == {
        "name": "patches",
        "version": "1",
        "fingerprint": source.fingerprint(),
    }


def test_a_weights_file_is_a_network(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    network = library.train_network("softmax:epochs=2,dense=4", Patches(), PatchSource(), seed=2)
    network.save(path)
    loaded = library.trained(f"softmax:weights={path}", Patches(), PatchSource(side=20))
    assert loaded.fingerprint() == network.fingerprint() and loaded.options == network.options
    with pytest.raises(UserError, match="weights cannot be combined with other options"):
        library.trained(f"softmax:weights={path},epochs=1", Patches(), PatchSource())
    with pytest.raises(UserError, match=r"The weights file .* does not exist"):
        library.trained(f"softmax:weights={tmp_path / 'none'}", Patches(), PatchSource())


def test_what_decides_a_network_tells_it_apart(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    for spec, source, seed in (
        (SPEC, PatchSource(), 0),
        ("softmax:epochs=1,dense=5", PatchSource(), 0),
        (SPEC, PatchSource(side=14), 0),
        (SPEC, PatchSource(), 1),
    ):
        library.trained(spec, Patches(), source, seed=seed)
    assert len(list((tmp_path / "networks").glob("*.safetensors"))) == 4


def test_limits_of_a_training(tmp_path: Path) -> None:
    network = library.train_network(
        "softmax:dense=4", Patches(), PatchSource(), images_per_concept=3, epochs=2, seed=5
    )
    assert network.details["training"] | {"images": 9, "epochs": 2, "seed": 5} == network.details["training"]


def test_a_concept_without_images() -> None:
    class Dark(PatchSource):
        def labels(self, part):
            return super().labels(part) // 2

    with pytest.raises(UserError, match="no train images of 'bright'"):
        library.train_network(SPEC, Patches(), Dark())


def test_the_index_lists_a_file_once(tmp_path: Path) -> None:
    (tmp_path / library.INDEX).write_text("[]")
    network = registry.create("network", SPEC)
    for side in (12, 13):
        library.add_to_index(tmp_path, library.identity(network, PatchSource(side=side), "b.safetensors"))
    library.add_to_index(tmp_path, library.identity(network, PatchSource(), "a.safetensors"))
    listed = json.loads((tmp_path / library.INDEX).read_text())
    assert [entry["file"] for entry in listed] == ["a.safetensors", "b.safetensors"]
    assert listed[1]["source_fingerprint"] == PatchSource(side=13).fingerprint()


def test_a_broken_index(tmp_path: Path) -> None:
    (tmp_path / library.INDEX).write_text('[{"file": "x"}]')
    with pytest.raises(UserError, match=r"index\.json is broken"):
        library.add_to_index(tmp_path, library.identity(registry.create("network", SPEC), PatchSource(), "x"))


def shipped() -> list[Path]:
    folders = [point.load()() for point in entry_points(group=library.GROUP)]
    return sorted(path for folder in folders for path in folder.glob("*.safetensors"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_shipped_weights_are_small_and_say_what_they_are(path: Path) -> None:
    assert path.stat().st_size <= 2_500_000
    header = header_of(path)
    assert header["details"]["accuracy"]["standard"] >= 0.95, (
        "drawn rooms have 0.970, and a retraining moves it"
    )
    assert "source" in header["details"]
    assert header["version"] == registry.factory("network", header["network"]).version
    assert header["details"]["training"]["precision"] == "float32" and "precision" not in header["options"]


def test_the_usual_precision_is_float32_on_every_processor() -> None:
    """It is chosen by name; what the processor is fast at plays no part."""
    usual, named, other = (
        library.train_network(f"{SPEC}{more}", Patches(), PatchSource())
        for more in ("", ",precision=float32", ",precision=bfloat16")
    )
    assert usual.fingerprint() == named.fingerprint() != other.fingerprint()
    assert usual.spec == named.spec and "precision=bfloat16" in other.spec
    assert other.details["training"]["precision"] == "bfloat16"
    with pytest.raises(UserError, match="precision"):
        registry.create("network", f"{SPEC},precision=float16")


@pytest.mark.parametrize("spec", ["softmax:epochs=2,dense=8", "edl_gen:epochs=2,dense=8,filters=4,latent=4"])
def test_weights_do_not_depend_on_torch_s_threads(spec: str) -> None:
    source, before, found = PatchSource(side=16), torch.get_num_threads(), set()
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            network = library.train_network(spec, Patches(), source)
            seen = network.predict_proba(source.render("b", np.arange(60)))
            found.add((network.fingerprint(), seen.tobytes()))
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


def test_a_composite_takes_members_that_are_there(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    source = PatchSource()
    alone = library.trained(SPEC, Patches(), source)
    capsys.readouterr()
    both = library.trained("ensemble:size=2,epochs=1,dense=4", Patches(), source)
    assert capsys.readouterr().err.count("Training the network") == 1
    assert isinstance(both, MetaNetwork)
    assert both.parts[0].fingerprint() == alone.fingerprint() != both.parts[1].fingerprint()
    again = library.trained("ensemble:size=2,epochs=1,dense=4", Patches(), source)
    assert capsys.readouterr().err == "" and again.fingerprint() == both.fingerprint()


@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("follow_suit", "softmax:seed=0"),
        *itertools.product(
            ("sudoku_4x4", "sudoku_9x9"), [f"{w}:seed={k}" for w in ("softmax", "edl_gen") for k in range(3)]
        ),
    ],
)
def test_embedded_sources_have_shipped_weights(name: str, network: str) -> None:
    """A change of pixels calls for ``nsl-bench train NAME --out generators/weights/...``."""
    wanted = library.identity(
        registry.create("network", network), make_source(registry.create("benchmark", name))
    )
    assert wanted.key in library._shipped()


def test_a_training_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    write = Checkpoint.write

    def interrupted(self: Checkpoint, epoch: int, *args) -> None:
        write(self, epoch, *args)
        if epoch == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            library.trained("softmax:epochs=5,dense=4", Patches(), PatchSource())
    (kept,) = (tmp_path / "training").glob("softmax-*")
    size = kept.stat().st_size
    kept.write_bytes(kept.read_bytes()[: size // 2])
    torn = library.train_network("softmax:epochs=5,dense=4", Patches(), PatchSource())
    assert torn.details["training"]["epochs"] == 5 and not kept.exists()


def test_a_network_that_segments_needs_maps() -> None:
    class Blind(PatchSource):
        segments = ()

    network = registry.create("network", SPEC)
    monkey = type(network)
    network.__class__ = type("Segmenting", (monkey,), {"needs_segmentation": True})
    with pytest.raises(UserError, match="needs segmentation maps, which the image source patches"):
        library.train_network(network, Patches(), Blind())


def test_weights_that_training_starts_from_are_no_trained_network(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    source = PatchSource(channels=3)
    spec = "backbone:weights=none,epochs=1,height=20,width=20"
    made = library.train_network(spec, Patches(), source)
    made.save(tmp_path / "ours.safetensors")
    loaded = library.trained(f"backbone:weights={tmp_path / 'ours.safetensors'}", Patches(), source)
    assert loaded.fingerprint() == made.fingerprint()
    start = get_model("resnet18", weights=None).state_dict()
    save_file(start, tmp_path / "start.safetensors")
    fresh = f"backbone:weights={tmp_path / 'start.safetensors'},epochs=1,height=20,width=20"
    assert library.trained(fresh, Patches(), source).fingerprint() != made.fingerprint()
    start["conv1.weight"] = start["conv1.weight"][:3].clone()
    save_file(start, tmp_path / "other.safetensors")
    with pytest.raises(UserError, match=r"other\.safetensors has weights of another architecture: 'conv1"):
        library.trained(f"backbone:weights={tmp_path / 'other.safetensors'}", Patches(), source)
    with pytest.raises(UserError, match=r"The weights file .* does not exist"):
        library.trained(f"backbone:weights={tmp_path / 'nowhere'}", Patches(), source)


def test_imagenet_weights_that_cannot_be_loaded(monkeypatch, capsys) -> None:
    def offline(*args, **kwargs):
        print("Downloading ...")
        raise URLError("no route to host")

    monkeypatch.setattr("torchvision.models.get_model", offline)
    with pytest.raises(UserError, match=r"ImageNet weights of resnet18 cannot be loaded .*weights=none"):
        library.trained("backbone", Patches(), PatchSource(channels=3))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("model", "change", "sentence"),
    [
        ("resnet34", {}, r"'layer1\.2\..*' is not part of the network"),
        ("resnet18", {"conv1.weight": torch.full((64, 3, 7, 7), torch.nan)}, "NaN or infinite: 'conv1"),
        ("resnet18", {"conv1.weight": torch.ones((64, 3, 7, 7), dtype=torch.int32)}, r"7\) of torch\.int32"),
    ],
)
def test_a_start_of_other_weights_is_refused_before_training(
    model: str, change: dict[str, torch.Tensor], sentence: str, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "start.safetensors"
    save_file({**get_model(model, weights=None).state_dict(), **change}, path)
    with pytest.raises(UserError, match=rf"start\.safetensors has weights .*{sentence}"):
        library.trained(f"backbone:weights={path}", Patches(), PatchSource(channels=3))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("spec", "channels", "sentence"),
    [
        ("backbone:weights=none,model=squeezenet1_1,height=8,width=8", 3, "8 x 8 do not fit the network"),
        ("temperature:images_per_concept=5", 1, "less than one image"),
        ("softmax:kind=cards", 1, "12 x 12 are too small for the cards network"),
        ("edl_gen:height=28,width=28,coarseness=2", 1, "generated images of 14 x 14 pixels are too small"),
        ("edl_gen:height=28,width=28,coarseness=50", 1, "generated images of 0 x 0 pixels are too small"),
        ("sasr:published=nowhere.safetensors", 3, r"weights file nowhere\.safetensors does not exist"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_training(
    spec: str, channels: int, sentence: str, capsys, recwarn
) -> None:
    source = PatchSource(channels=channels)
    with pytest.raises(UserError, match=sentence):
        library.trained(spec, Patches(), source)
    assert source.rendered == 0 and capsys.readouterr().err == "" and not recwarn.list


def test_a_part_without_images_measures_nothing() -> None:
    class Few(PatchSource):
        def labels(self, part):
            return super().labels(part)[: 0 if part == "b" else None]

    network = library.train_network(SPEC, Patches(), Few())
    for measure in (library.accuracy, figures):
        with pytest.raises(UserError, match="patches has no images in pool part 'b'"):
            measure(network, Few())


def test_a_training_without_finite_weights_keeps_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(
        training, "tensor", lambda images, *args: torch.full((len(images), 1, 12, 12), torch.nan)
    )
    with pytest.raises(UserError, match="NaN or infinite weights, so nothing is saved"):
        library.trained(SPEC, Patches(), PatchSource())
    assert not [*tmp_path.rglob("*.safetensors")]


def _written(path: Path, header: object, arrays: dict[str, np.ndarray] | None = None) -> Path:
    save(arrays or {"a": np.zeros(3, np.float32)}, path, metadata={"nsl_bench": json.dumps(header)})
    return path


_SIZES = {"kind": "digits", "height": 28, "width": 28, "channels": 1, "dense": 96, "outputs": 3}


@pytest.mark.parametrize(
    ("network", "change", "sentence"),
    [
        ("softmax", {"options": None}, "in its header, options must be an object with keys; got null"),
        ("softmax", {"options": []}, "options must be an object with keys"),
        ("softmax", {"options": {"epochs": [3]}}, r"options\.epochs must be a single value; got \[3\]"),
        ("softmax", {"options": {"epohcs": 3}}, "has no option 'epohcs'"),
        ("softmax", {"options": {"seed": -1}}, "softmax: seed must be between 0"),
        ("softmax", {"concepts": 5}, "concepts must be a list; got 5"),
        ("softmax", {"details": 7}, "details must be an object with keys; got 7"),
        ("softmax", {}, "its header contains no sizes"),
        ("softmax", {"architecture": {**_SIZES, "height": "a"}}, "'height' .* of type int; got 'a'"),
        ("softmax", {"architecture": {**_SIZES, "kind": "foo"}}, "'kind' .* one of digits, cards, lenet"),
        ("softmax", {"architecture": {**_SIZES, "height": 30_000, "dense": 960_000}}, r"'0\.weight' must"),
        ("softmax", {"architecture": {**_SIZES, "height": 3}}, "3 x 28 are too small"),
        ("ensemble", {}, "names no member networks"),
        ("ensemble", {"parts": "abc"}, "names no member networks"),
        ("ensemble", {"parts": [{}]}, "in its header, network is missing"),
    ],
)
def test_a_damaged_header(network: str, change: dict[str, object], sentence: str, tmp_path: Path) -> None:
    concepts = list(Patches.concept_space.concepts)
    header = {
        "network": network,
        "version": registry.factory("network", network).version,
        "format": "1",
        "options": {},
        "concepts": concepts,
        **change,
    }
    path = _written(tmp_path / "w.safetensors", header)
    with pytest.raises(UserError, match=rf"w\.safetensors.*{sentence}"):
        library.trained(f"{network}:weights={path}", Patches(), PatchSource())


@pytest.mark.parametrize("header", [[], "x", 5])
def test_a_header_that_is_none(header: object, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"w\.safetensors .* was not written by nsl-bench"):
        header_of(_written(tmp_path / "w.safetensors", header))


def test_a_composite_is_made_of_its_own_kinds(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    made = library.trained("ensemble:size=2,epochs=1,dense=4", Patches(), PatchSource())
    assert isinstance(made, MetaNetwork)
    made.parts = made.parts[:1]
    made.save(tmp_path / "w.safetensors")
    with pytest.raises(UserError, match="members must be softmax and softmax; got softmax"):
        library.trained(f"ensemble:weights={tmp_path / 'w.safetensors'}", Patches(), PatchSource())


TRAIN = """
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.perception import trained_networks
print(trained_networks.trained("softmax:epochs=3,dense=4", Patches(), PatchSource()).fingerprint())
"""


def test_two_processes_train_one_network_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    both = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    found = [process.communicate() for process in both]
    assert found[0][0] == found[1][0] != ""
    assert sum(err.count("Training the network") for _, err in found) == 1


@pytest.mark.parametrize("name", ["follow_suit", "sudoku_4x4", "sudoku_9x9"])
def test_embedded_sources_have_shipped_weights_of_edl_gen(name: str) -> None:
    """A change of pixels or of training calls for ``nsl-bench train NAME --network edl_gen --out ...``."""
    benchmark = registry.create("benchmark", name)
    source = make_source(benchmark)
    network: Network = registry.create("network", "edl_gen", seed=0)
    assert library.identity(network, source).key in library._shipped()
    assert library.accuracy(library.trained("edl_gen", benchmark, source), source, limit=200) >= 0.97


def test_a_network_that_validates_is_not_trained_on_a_tenth() -> None:
    source = PatchSource()
    plain, validating = registry.create("network", SPEC), registry.create("network", SPEC)
    validating.__class__ = type("Validating", (type(validating),), {"validates": True})
    rows, held_out = library.network_rows(validating, source)
    labels = source.labels("network")
    assert np.bincount(labels[held_out]).tolist() == [2, 2, 2] and len(rows) + len(held_out) == len(labels)
    library.train_network(validating, Patches(), source)
    assert validating.details["training"]["images"] == len(rows)
    assert np.array_equal(validating.validation.labels, labels[held_out])
    assert np.array_equal(
        validating.validation.render(np.arange(3)), source.render("network", held_out[:3], "standard")
    )
    assert len(library.network_rows(plain, source)[1]) == 0


def test_images_are_checked_before_training() -> None:
    class Torn(PatchSource):
        def check_images(self, *, progress: bool = False) -> None:
            raise UserError("an image cannot be read")

    source = Torn()
    for train in (library.train_network, library.trained):
        with pytest.raises(UserError, match="cannot be read"):
            train(SPEC, Patches(), source)
    assert source.rendered == 0


def test_held_out_images_do_not_decide_a_network(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))

    class Repaired(PatchSource):
        def fingerprint(self) -> str:
            return "repaired"

        def network_fingerprint(self) -> str:
            return PatchSource().network_fingerprint()

    first = library.trained(SPEC, Patches(), PatchSource())
    source = Repaired()
    assert library.trained(SPEC, Patches(), source).fingerprint() == first.fingerprint()
    assert source.rendered == 0


def test_accuracy_tells_of_its_progress() -> None:
    network, told = library.train_network(SPEC, Patches(), PatchSource()), []
    library.accuracy(network, PatchSource(), limit=30, seen=told.append)
    assert sum(told) == 30
