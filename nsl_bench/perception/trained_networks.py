"""Find a trained network among those shipped with packages and those in the cache, or train it now.

A trained network is looked up by the network's spec, the image source with its fingerprint, and the concepts.
Packages ship weights through the entry-point group ``nsl_bench.weights``: a function that returns a folder
with safetensors files and an ``index.json``, a list of `Entry` objects.
"""

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core import cache, registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import calibration_error
from nsl_bench.core.registry import Spec
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import BLANK, Ints, PoolPart
from nsl_bench.data.content import chunks, render
from nsl_bench.perception import training
from nsl_bench.perception.network import (
    MetaNetwork,
    Network,
    Renderer,
    Segmentation,
    Validation,
    header_of,
    is_ours,
)
from nsl_bench.perception.networks.given import GivenPredictions
from nsl_bench.perception.predict import predict

GROUP = "nsl_bench.weights"
"""Entry-point group of folders with weights."""

INDEX = "index.json"
"""The file in such a folder that says what the weights are."""

VALIDATION_SHARE = 0.1
"""Of the network's images of each concept: what is chosen for networks (schedules, calibration) is chosen on
them, by networks that are not trained on them, and never on pools A and B."""

_AT_A_TIME = 64
"""Images that accuracy is measured on between two words of progress."""


@dataclass(frozen=True)
class Entry:
    """One shipped network.

    Attributes:
        file: its safetensors file in the folder.
        network: the network's full spec, `Network.spec_for`.
        source_fingerprint: fingerprint of the train images, `ImageSource.network_fingerprint`.
        concepts: hash of the concepts' names.
    """

    file: str
    network: str
    source: str
    source_fingerprint: str
    concepts: str

    @property
    def key(self) -> str:
        """The key by which the network is looked up."""
        return cache.key(self.network, self.source, self.source_fingerprint, self.concepts)


def identity(network: Network, source: ImageSource, file: str = "") -> Entry:
    """The entry that identifies a network trained on a source's images."""
    concepts = cache.key(*source.concept_space.concepts)
    return Entry(file, network.spec_for(source.shape), source.name, source.network_fingerprint(), concepts)


def network_rows(network: Network, source: ImageSource) -> tuple[Ints, Ints]:
    """Divide the network's part of a pool into train rows and validation rows.

    A network without validation is trained on all rows that have a label.

    Returns:
        int64 [n] train rows, and int64 [v] validation rows: the last ones of each concept.
    """
    share, labels = VALIDATION_SHARE if network.validates else 0.0, source.labels("network")
    held_out, labelled = training.last_of_each(labels, share), labels != BLANK
    return np.flatnonzero(~held_out & labelled), np.flatnonzero(held_out & labelled)


def trained(
    spec: str | Spec,
    benchmark: Benchmark,
    source: ImageSource,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool = True,
) -> Network:
    """Get a trained network: a shipped one, a cached one, or a new one, which is said on standard error.

    Args:
        spec: e.g. ``"softmax"`` or ``"softmax:epochs=3"``. ``"softmax:weights=FILE"`` loads a file written by
            ``nsl-bench train --out FILE``, whatever its train images were.
    """
    concepts = benchmark.concept_space.concepts
    asked = spec if isinstance(spec, Spec) else Spec.parse(spec)
    if "weights" in asked.kwargs and not _is_start(asked):
        return _from_file(asked, concepts)
    network: Network = registry.create("network", asked, seed=seed)
    return _obtain(network, benchmark, source, device=device, progress=progress)


def kept(network: Network, benchmark: Benchmark, source: ImageSource) -> Network | None:
    """A network as shipped or cached, or given; None if it would have to be trained first."""
    if isinstance(network, GivenPredictions):
        return network.of(benchmark.concept_space.concepts)
    shipped = _shipped().get(identity(network, source).key, _place(network, source))
    return network.load(shipped, benchmark.concept_space.concepts) if shipped.is_file() else None


def _place(network: Network, source: ImageSource) -> Path:
    """Where the cache has a network."""
    return cache.folder("networks") / f"{network.name}-{identity(network, source).key}.safetensors"


def _obtain(
    network: Network, benchmark: Benchmark, source: ImageSource, *, device: str, progress: bool
) -> Network:
    """A network trained: a shipped one, a cached one, or a new one."""
    concepts = benchmark.concept_space.concepts
    network.device = device
    found = kept(network, benchmark, source)
    if found is not None:
        return found
    path = _place(network, source)
    with cache.lock(path):
        if path.is_file():
            return network.load(path, concepts)
        _check(network, benchmark, source, device, progress=progress)
        if not isinstance(network, MetaNetwork):
            print(
                f"Training the network {_short(network)} for {benchmark.name} on the images of "
                f"{source.name}; it will be kept in {path.parent}.",
                file=sys.stderr,
            )
        _train(network, benchmark, source, device=device, progress=progress)
        network.save(path)
    return network


def _short(network: Network) -> str:
    """Name and the options that differ from the defaults."""
    usual = registry.create("network", network.name).options
    options = {key: str(value) for key, value in network.options.items() if usual.get(key) != value}
    return str(Spec(network.name, (), options))


def _is_start(asked: Spec) -> bool:
    """Whether the weights that a spec names are what a network's training starts from, not its result."""
    if "weights" not in inspect.signature(registry.factory("network", asked.name)).parameters:
        return False
    path = Path(asked.kwargs["weights"])
    return not path.is_file() or not is_ours(path)


def _from_file(asked: Spec, concepts: tuple[str, ...]) -> Network:
    """The network in the weights file that a spec names, with the options that the file tells."""
    path = Path(asked.kwargs["weights"])
    if asked.args or len(asked.kwargs) > 1:
        raise UserError(f"'{asked}': weights cannot be combined with other options; leave those out.")
    header = header_of(path)
    same_network = header["network"] == asked.name
    options = {key: str(v) for key, v in header["options"].items() if v is not None} if same_network else {}
    try:
        network: Network = registry.create("network", Spec(asked.name, (), options))
    except UserError as error:
        raise UserError(f"The header of {path} names an unknown network: {error}") from error
    return network.load(path, concepts)


def train_network(
    network: Network | str,
    benchmark: Benchmark,
    source: ImageSource,
    *,
    images_per_concept: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: bool = False,
) -> Network:
    """Train a network on the network's part of a source's pool, with standard images only.

    An interrupted training leaves its state in the cache; the same call resumes it. If a network consists of
    other networks, shipped and cached ones are used for these.

    Args:
        network: a network, which is trained in place, or a spec.
        images_per_concept: maximum number of train images per concept, for a spec only; the network's own
            option if None.
        epochs: passes over the train images, for a spec only; the network's own option if None.
        seed: random seed, for a spec only.
    """
    if isinstance(network, str):
        asked = Spec.parse(network)
        limits = {"images_per_concept": images_per_concept, "epochs": epochs}
        given = {key: str(value) for key, value in limits.items() if value is not None}
        spec = Spec(asked.name, asked.args, {**asked.kwargs, **given})
        created: Network = registry.create("network", spec, seed=seed)
    else:
        created = network
    _check(created, benchmark, source, device, progress=progress)
    return _train(created, benchmark, source, device=device, progress=progress)


def _check(
    network: Network, benchmark: Benchmark, source: ImageSource, device: str, *, progress: bool = False
) -> None:
    """Raise a UserError if training would, or measuring after it, as far as that shows before it begins."""
    training.pick_device(device)
    labels = source.labels("network")
    space = source.concept_space
    # A folder of pictures may have none without a thing on it.
    needed = [i for i, concept in enumerate(space.concepts) if concept != space.background]
    missing = np.setdiff1d(needed, labels)
    if len(missing):
        raise UserError(
            f"The image source {source.name} has no train images of '{space.concepts[int(missing[0])]}'."
        )
    if network.needs_segmentation and not source.segments:
        raise UserError(
            f"The network {network.name} needs segmentation maps, which the image source {source.name} "
            "does not have."
        )
    network.check(source.shape, labels[network_rows(network, source)[0]], benchmark.concept_space.concepts)
    source.check_images(progress=progress)


def _train(
    new: Network, benchmark: Benchmark, source: ImageSource, *, device: str, progress: bool
) -> Network:
    rows, held_out = network_rows(new, source)
    labels = source.labels("network")[rows]
    train_images = _renderer(source, rows)
    concepts = benchmark.concept_space.concepts
    if isinstance(new, MetaNetwork):
        members = [
            _obtain(member, benchmark, source, device=device, progress=progress) for member in new.members()
        ]
        new.device = device
        new.combine(members, train_images, labels, concepts)
    else:
        extra: dict[str, Any] = {}
        if new.needs_segmentation:
            extra["segmentation"] = Segmentation(
                source.segments, lambda some: source.segmentation("network", rows[some])
            )
        basis = new.basis(source.shape)
        if basis is not None:
            new.start = _obtain(basis, benchmark, source, device=device, progress=progress)
        if len(held_out):
            new.validation = Validation(_renderer(source, held_out), source.labels("network")[held_out])
        new.checkpoint = cache.folder("training") / f"{new.name}-{identity(new, source).key}.safetensors"
        new.fit(train_images, labels, concepts, device=device, progress=progress, **extra)
    new.details["source"] = {
        "name": source.name,
        "version": source.version,
        "fingerprint": source.fingerprint(),
    }
    return new


def _renderer(source: ImageSource, rows: Ints) -> Renderer:
    """Standard images of the network's part by their place among some rows."""
    return lambda some: source.render("network", rows[some], source.variants[0])


def accuracy(
    network: Network,
    source: ImageSource,
    shift: Shift | None = None,
    part: PoolPart = "b",
    limit: int = 2000,
    seen: Callable[[int], object] = lambda images: None,
) -> float:
    """The share of held-out images whose concept the network predicts correctly, 0..1.

    Args:
        limit: maximum number of images, spread evenly over pool B.
        seen: called with the number of images after each batch.
    """
    labels, rows, right = source.labels(part), sample(source, part, limit), 0
    for some in chunks(rows, _AT_A_TIME):
        predicted = network.predict_proba(render(source, shift, part, some)).argmax(axis=1)
        right += int((predicted == labels[some]).sum())
        seen(len(some))
    return right / len(rows)


def add_to_index(folder: Path, entry: Entry) -> None:
    """Add a weights file to its folder's index, replacing an older entry with the same file name."""
    path = folder / INDEX
    entries = {**{old.file: old for old in _index(folder)}, entry.file: entry}
    with cache.replacing(path) as temporary:
        listed = [asdict(entries[file]) for file in sorted(entries)]
        temporary.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def _shipped() -> dict[str, Path]:
    """The weights files of all installed packages, by the key of what they are."""
    result: dict[str, Path] = {}
    for point in entry_points(group=GROUP):
        place: Any = point.load()
        folder = Path(place() if callable(place) else place)
        files = {entry.key: folder / entry.file for entry in _index(folder)}
        result.update({key: file for key, file in files.items() if file.is_file()})
    return result


def _index(folder: Path) -> list[Entry]:
    path = folder / INDEX
    if not path.is_file():
        return []
    try:
        return [Entry(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise UserError(f"The index of weights {path} is broken: {error}.") from error


EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Where the paper's histogram of confidence is cut; a bin holds its upper edge."""

BINS = ("0-0.25", "0.26-0.5", "0.51-0.75", "0.76-0.9", "0.91-0.95", "0.96-1")
"""The paper's names of its bins."""


@dataclass(frozen=True)
class Figures:
    """Figures of a network on images, as the FFNSL paper gives them (section 5).

    Attributes:
        accuracy: share of images whose concept is predicted correctly, 0..1.
        calibration_error: expected calibration error of the confidence, with 15 bins.
        confidence: mean confidence: the probability of the predicted concept.
        histogram: share of confidences in each of `BINS`.
    """

    images: int
    accuracy: float
    calibration_error: float
    confidence: float
    histogram: tuple[float, ...]


def histogram(confidence: npt.NDArray[np.floating]) -> Ints:
    """int64 [6]: how many confidences [n] are in each of `BINS`."""
    place = np.searchsorted(np.array(EDGES[1:-1]), confidence.astype(np.float64), side="left")
    return np.bincount(place, minlength=len(BINS))


def sample(source: ImageSource, part: PoolPart, limit: int) -> Ints:
    """int64 [m]: indices of at most `limit` images, spread evenly over a part of the pool."""
    n = len(source.labels(part))
    if n == 0:
        raise UserError(
            f"The image source {source.name} has no images in pool part '{part}', on which networks are "
            "measured; add images of each concept."
        )
    return np.unique(np.linspace(0, n - 1, min(limit, n)).astype(np.int64))


def figures(
    network: Network, source: ImageSource, shift: Shift | None = None, *, limit: int = 2000, workers: int = 1
) -> Figures:
    """Measure a trained network on a source's held-out images. Predictions are cached.

    Args:
        limit: maximum number of images, spread evenly over pool B.
    """
    rows = sample(source, "b", limit)
    probabilities, _ = predict(network, source, "b", shift, rows, workers=workers)
    labels = source.labels("b")[rows].astype(np.int64)
    confidence = probabilities.max(axis=1)
    return Figures(
        images=len(rows),
        accuracy=float(np.mean(probabilities.argmax(axis=1) == labels)),
        calibration_error=calibration_error(probabilities, labels),
        confidence=float(confidence.mean(dtype=np.float64)),
        histogram=tuple((histogram(confidence) / len(rows)).tolist()),
    )
