"""Training a perception network, and how well it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.perception.network import Network
    from nsl_bench.shift import Shift
    from nsl_bench.source import ImageSource

__all__ = ["Training", "train_network"]


@dataclass(frozen=True)
class Training:
    """A trained network.

    Attributes:
        network: maps images to concept probabilities (`predict_proba`).
        file: its weights, safetensors.
        accuracies: share of held-out images that it sees right, standard and under each named shift; empty if
            nothing was measured.
    """

    network: Network
    file: Path
    accuracies: Mapping[str, float]


def train_network(
    network: str,
    task: str,
    *,
    source: str | None = None,
    images_per_concept: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    held_out: int = 1000,
    device: str = "auto",
    out: str | Path | None = None,
    progress: bool = True,
) -> Training:
    """Train a network for a task, on the network's part of an image pool, and measure it on held-out images.

    An interrupted training goes on after its last whole epoch when it is called again.

    Args:
        network: a name or spec, e.g. ``"softmax"`` or ``"edl_gen:epochs=10"``.
        task: whose concepts it must know.
        source: the images; the task's embedded ones by default.
        images_per_concept: train images of each concept, at most; the network's own option by default.
        epochs: passes over the train images; likewise.
        seed: of the training.
        held_out: images to measure on, at most, standard and under each named shift; 0 measures nothing.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` ...
        out: file for the weights; by default one in the cache, where runs find it. If its folder has an
            ``index.json`` of weights, the file is listed there.
        progress: show bars, if standard error is a terminal.

    Raises:
        UserError: an unknown name, images that cannot be read or trained on, or no such folder.
    """
    from nsl_bench import cache, registry
    from nsl_bench.data.splits import make_source
    from nsl_bench.perception import trained_networks
    from nsl_bench.shift import STANDARD, named_shifts, resolve

    found = registry.create("benchmark", task)
    images = make_source(found, source)
    file = None if out is None else Path(out)
    if file is not None and not file.parent.is_dir():
        raise UserError(f"out: the folder {file.parent} does not exist.")
    shifts = {name: resolve(name, found, images) for name in (STANDARD, *named_shifts(found, images))}
    trained = trained_networks.train_network(
        network,
        found,
        images,
        images_per_concept=images_per_concept,
        epochs=epochs,
        seed=seed,
        device=device,
        progress=progress,
    )
    entry = trained_networks.identity(trained, images, file.name if file else "")
    path = file or cache.folder("networks") / f"{trained.name}-{entry.key}.safetensors"
    # Saved before it is measured too: Ctrl-C while measuring must not lose the training.
    trained.save(path)
    measures = held_out and len(images.labels("b"))
    accuracies = _measured(trained, images, shifts, held_out, progress) if measures else {}
    trained.details["accuracy"] = {name: round(value, 4) for name, value in accuracies.items()}
    trained.save(path)
    if file is not None and (file.parent / trained_networks.INDEX).is_file():
        trained_networks.add_to_index(file.parent, entry)
    return Training(trained, path, accuracies)


def _measured(
    network: Network, images: ImageSource, shifts: Mapping[str, Shift | None], limit: int, progress: bool
) -> dict[str, float]:
    """The accuracy on held-out images under each shift, with a bar."""
    from tqdm import tqdm

    from nsl_bench.perception.trained_networks import accuracy

    total = len(shifts) * min(limit, len(images.labels("b")))
    found = {}
    disable = None if progress else True
    with tqdm(total=total, desc="measuring", unit="image", disable=disable, leave=False) as bar:
        for name, shift in shifts.items():
            bar.set_postfix_str(name)
            found[name] = accuracy(network, images, shift, limit=limit, seen=bar.update)
    return found
