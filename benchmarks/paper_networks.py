"""The papers' networks: their weights as a pack.

    python benchmarks/paper_networks.py train --shared ../shared --pack results/paper_networks
    python benchmarks/paper_networks.py install --pack results/paper_networks

``train`` trains what is missing, three seeds of each: digits 1-4, digits 1-9 and all digits of MNIST, and
cards of the real deck vector_byron. An interrupted training goes on where it was; a GPU is used where there
is one. ``install`` copies a pack to where runs find networks.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from nsl_bench.core import cache, registry
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import add_to_index, identity, trained
from nsl_bench.run.plan import seeded

PAPER = ("softmax:preset=paper", "edl_gen:preset=paper")
NETWORKS = {
    ("sudoku_4x4", "mnist:{shared}/data/mnist"): PAPER,
    ("sudoku_9x9", "mnist:{shared}/data/mnist"): PAPER,
    ("zoo", "mnist:{shared}/data/mnist"): ("softmax:kind=lenet5,preset=paper", PAPER[1]),
    ("follow_suit", "decks:{shared}/data/decks,standard=vector_byron"): PAPER,
}
"""Specs by task and source."""


def train(shared: Path, pack: Path, seeds: int, tasks: list[str]) -> None:
    """Train what is missing, and put it into the pack."""
    pack.mkdir(parents=True, exist_ok=True)
    for (name, images), specs in NETWORKS.items():
        if tasks and name not in tasks:
            continue
        task = registry.create("benchmark", name)
        source = make_source(task, images.format(shared=shared))
        for spec in (seeded(spec, seed) for seed in range(seeds) for spec in specs):
            network = trained(spec, task, source)
            entry = identity(network, source)
            file = f"{network.name}-{entry.key}.safetensors"
            network.save(pack / file)
            add_to_index(pack, identity(network, source, file))
            print(pack / file, spec, name, flush=True)


def install(pack: Path) -> None:
    """Copy a pack's networks into the cache."""
    for file in sorted(pack.glob("*.safetensors")):
        with cache.replacing(cache.folder("networks") / file.name) as temporary:
            shutil.copyfile(file, temporary)
        print(cache.folder("networks") / file.name)


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("train", "install"))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--pack", type=Path, default=Path("results/paper_networks"))
    parser.add_argument("--seeds", type=int, default=3, help="networks of each kind")
    parser.add_argument("--task", action="append", default=[], help="only of this task; repeatable")
    options = parser.parse_args()
    if options.what == "train":
        train(options.shared, options.pack, options.seeds, options.task)
    else:
        install(options.pack)


if __name__ == "__main__":
    main()
