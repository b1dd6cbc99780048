"""Training of perception networks, and their accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.core.shift import Shift
    from nsl_bench.core.source import ImageSource
    from nsl_bench.perception.network import Network


@dataclass(frozen=True)
class Training:
    """A trained network.

    Attributes:
        network: the network; `predict_proba` maps images to concept probabilities.
        file: safetensors file with its weights.
        accuracies: accuracy on held-out images, unshifted and under each named shift; empty if not measured.
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
    """Train a network for a task on its part of the image pool, and measure its accuracy on held-out images.

    After an interruption, call it again to resume after the last full epoch.

    Args:
        network: a name or spec, e.g. ``"softmax"`` or ``"edl_gen:epochs=10"``.
        task: task whose concepts the network learns.
        source: image source; the task's embedded one by default.
        images_per_concept: maximum number of train images per concept; the network's own option by default.
        epochs: passes over the train images; the network's own option by default.
        seed: seed of the training.
        held_out: maximum number of held-out images, unshifted and for each named shift; 0 to skip measuring.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` ...
        out: file for the weights; by default in the cache, where runs find it. If its folder has an
            ``index.json`` of weights, the file is added to it.
        progress: whether to show bars, if standard error is a terminal.

    Raises:
        UserError: an unknown name, images that cannot be read or trained on, or a missing folder.
    """
    from nsl_bench.core import cache, registry
    from nsl_bench.core.shift import STANDARD, named_shifts, resolve
    from nsl_bench.data.splits import make_source
    from nsl_bench.perception import trained_networks

    result = registry.create("benchmark", task)
    images = make_source(result, source)
    file = None if out is None else Path(out)
    if file is not None and not file.parent.is_dir():
        raise UserError(f"out: the folder {file.parent} does not exist.")
    shifts = {name: resolve(name, result, images) for name in (STANDARD, *named_shifts(result, images))}
    trained = trained_networks.train_network(
        network,
        result,
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
    result = {}
    disable = None if progress else True
    with tqdm(total=total, desc="measuring", unit="image", disable=disable, leave=False) as bar:
        for name, shift in shifts.items():
            bar.set_postfix_str(name)
            result[name] = accuracy(network, images, shift, limit=limit, seen=bar.update)
    return result
