"""Choose a network's schedule on validation images: a tenth of the network's part, never pools A and B.

    python benchmarks/choose_networks.py digits
    python benchmarks/choose_networks.py cards --candidate edl_gen:epochs=24
    python benchmarks/choose_networks.py digits --source mnist:FOLDER

Every candidate is trained without the validation images, then shown them as they are and made strange
(`nsl_bench.perception.networks.edl_gen_images`): halved, and colour images in every other way, too. The best
has the least Brier score over both, where a strange image shows every concept with the same probability; that
of strange images is the mean over the ways.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from nsl_bench.core import registry
from nsl_bench.core.metrics.predictions import calibration_error
from nsl_bench.core.source import ImageSource
from nsl_bench.data.splits import make_source
from nsl_bench.perception import trained_networks, training
from nsl_bench.perception.classifier import collect
from nsl_bench.perception.network import Network
from nsl_bench.perception.networks.edl_gen_images import KINDS, halved

SETTINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "digits": ("sudoku_4x4", ("edl_gen:epochs=20", "edl_gen", "edl_gen:epochs=82")),
    "cards": ("follow_suit", ("edl_gen:epochs=6", "edl_gen", "edl_gen:epochs=24")),
    "leaves": ("crop_yield", ("softmax:anneal=false", "softmax", "edl_gen")),
    "rooms": ("indoor_scene", ("softmax:anneal=false", "softmax", "edl_gen")),
}
"""The task and the candidates of each setting; a name alone is the default."""

LIMIT = 1000


def seen(
    network: Network, source: ImageSource
) -> tuple[npt.NDArray[np.float64], dict[str, npt.NDArray[np.float64]], npt.NDArray[np.int64]]:
    """Probabilities of validation images, those of strange ones by their kind, and the former's concepts."""
    assert network.validation is not None
    labels = network.validation.labels
    rows = training.first_of_each(labels, -(-LIMIT // len(source.concept_space)))
    render = network.validation.render
    images = collect(lambda some: render(rows[some]), len(rows), None)
    strange = {"halved": halved(images, labels[rows], np.random.default_rng(1))}
    if source.shape[2] == 3:
        strange |= {kind: make(images, np.random.default_rng(1)) for kind, make in KINDS.items()}
    own = network.predict_proba(images).astype(np.float64)
    others = {kind: network.predict_proba(part).astype(np.float64) for kind, part in strange.items()}
    return own, others, labels[rows].astype(np.int64)


def row(spec: str, benchmark: str, images: str | None, seed: int) -> dict[str, object]:
    """Train a candidate and look at it."""
    task = registry.create("benchmark", benchmark)
    source = make_source(task, images)
    network: Network = registry.create("network", spec, seed=seed)
    network.__class__ = type(type(network).__name__, (type(network),), {"validates": True})
    trained_networks.train_network(network, task, source, progress=True)
    own, others, labels = seen(network, source)
    standard = np.square(own - np.eye(own.shape[1])[labels]).sum(axis=1).mean()
    strange = {
        kind: float(np.square(part - 1 / own.shape[1]).sum(axis=1).mean()) for kind, part in others.items()
    }
    sure = own.max(axis=1)
    return {
        "network": spec,
        "accuracy": f"{(own.argmax(axis=1) == labels).mean():.4f}",
        "calibration error": f"{calibration_error(own, labels):.4f}",
        "below 0.25": f"{(sure <= 0.25).mean():.1%}",
        "above 0.95": f"{(sure > 0.95).mean():.1%}",
        "Brier, standard": f"{standard:.4f}",
        **{f"Brier, {kind}": f"{score:.4f}" for kind, score in strange.items()},
        "both": round(float(standard + np.mean(list(strange.values()))), 4),
    }


def main() -> None:
    """Print a table of candidates, and the best one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("--candidate", action="append", help="spec of a network; repeatable")
    parser.add_argument("--source", help="images; the task's embedded ones by default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    benchmark, usual = SETTINGS[options.setting]
    found = pd.DataFrame(
        [row(spec, benchmark, options.source, options.seed) for spec in options.candidate or usual]
    )
    print(found.to_markdown(index=False, tablefmt="github", disable_numparse=True))
    print(f"\nBest on validation images: {found.loc[found['both'].idxmin(), 'network']}")


if __name__ == "__main__":
    main()
