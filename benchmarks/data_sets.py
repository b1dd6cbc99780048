"""How fast data sets are generated: images a second, beside encoding alone and `Dataset.from_generator`.

Encoding alone (PNG files of images that are there already) is the limit; generating also renders, hashes and
writes parquet files. `Dataset.from_generator` makes the same images one by one, as its users would. All
three in one process and by its CPU time; medians of several rounds, by turns, so that what else the machine
does matters little.

    python benchmarks/data_sets.py --mnist FOLDER        the speed, on cards and on digits
    python benchmarks/data_sets.py large --mnist FOLDER  the two large sets, resumed if they are there in part
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.source import ImageSource
from nsl_bench.data.content import png, render
from nsl_bench.data.generate import generate, prepare, write_files
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import IMAGES, Plan, Recipe

CARDS = Recipe("follow_suit", train=8, test=8, repeats=1, shifts=(), source="drawn_decks:images_per_card=100")
"""5,200 images of 274 x 174, 3,640 of them the network's."""

_ROUNDS, _MOST = 7, 5000
"""How often is measured, and the most images at a time."""


def images_of(manifest: Manifest) -> int:
    """Number of images that were rendered and encoded."""
    return sum(entry.rows for entry in manifest.configs["images"].values())


def limit(images: list[np.ndarray]) -> float:
    """Images a second of encoding alone; each one's digest is part of generating, not of this."""
    started = time.process_time()
    for image in images:
        png(image)
    return len(images) / (time.process_time() - started)


def one_by_one(source: ImageSource, n: int) -> Iterator[dict[str, Any]]:
    """Rows as a user of `Dataset.from_generator` would yield them."""
    from PIL import Image

    labels = source.labels("network")
    for index in range(n):
        image = source.render("network", np.array([index]))[0]
        picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
        yield {"image": picture, "concept": int(labels[index])}


def from_generator(source: ImageSource, n: int, folder: Path) -> float:
    """Images a second of `Dataset.from_generator`."""
    import datasets

    datasets.disable_progress_bars()
    started = time.process_time()
    data = datasets.Dataset.from_generator(
        one_by_one, gen_kwargs={"source": source, "n": n}, cache_dir=str(folder)
    )
    assert len(data) == n
    return n / (time.process_time() - started)


def speed(name: str, recipe: Recipe) -> None:
    """Print a line for a recipe."""
    plan = Plan.of(recipe)
    n = min(_MOST, len(plan.source.labels("network")) // _ROUNDS)
    images = list(render(plan.source, None, "network", np.arange(n, dtype=np.int64)))
    ours, most = [], []
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / ".state").mkdir()
        whole = prepare(plan, Path(place))
        # By turns, so that what else the machine does at a time slows both.
        for start in range(0, _ROUNDS * n, n):
            indices = np.arange(start, start + n, dtype=np.int64)
            pool = replace(whole.pools["network"], indices=indices, bounds=(0, n))
            shared = replace(whole, folder=Path(place) / str(start), pools={"network": pool})
            started = time.process_time()
            write_files(shared, [(IMAGES, "network")], 1)
            ours.append(n / (time.process_time() - started))
            most.append(limit(images))
        theirs = from_generator(plan.source, n, Path(place))
    share = statistics.median(one / other for one, other in zip(ours, most, strict=True))
    print(
        f"{name}: {statistics.median(ours):,.0f} images a CPU second = {share:.0%} of encoding alone "
        f"({statistics.median(most):,.0f}); Dataset.from_generator {theirs:,.0f}"
    )


def large(out: Path, mnist: Path | None, workers: int) -> None:
    """Generate the large sets and print time and memory."""
    recipes = {"tricks": Recipe("follow_suit", size="large", repeats=1, shifts=("noir",))}
    if mnist is not None:
        recipes["grids"] = Recipe("sudoku_9x9", size="large", repeats=1, source=f"mnist:{mnist}")
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    for name, recipe in recipes.items():
        started = time.perf_counter()
        manifest = generate(recipe, out / name, workers=workers, say=print)
        seconds = time.perf_counter() - started
        own, others = (resource.getrusage(which).ru_maxrss / 1e6 for which in who)
        size = sum(entry.bytes for entry in manifest.files.values()) / 1e6
        examples = manifest.configs["standard"]["train"].rows
        print(f"{name}: {examples:,} examples, {images_of(manifest):,} images, {size:,.0f} MB")
        most = own + workers * others
        print(f"  {seconds:.0f} s with {workers} process(es), at most {most:.2f} GB of memory")
        shift = next(iter(manifest.shifts))
        for split, entry in manifest.configs[shift].items():
            print(f"  {shift}/{split}: {entry.content_hash}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", nargs="?", choices=("speed", "large"), default="speed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/datasets"))
    parser.add_argument("--mnist", type=Path)
    words = parser.parse_args()
    if words.what == "large":
        words.out.mkdir(parents=True, exist_ok=True)
        large(words.out, words.mnist, words.workers)
        return
    speed("cards of 274 x 174", CARDS)
    if words.mnist is not None:
        digits = Recipe("sudoku_9x9", train=8, test=8, repeats=1, source=f"mnist:{words.mnist}")
        speed("digits of 28 x 28", digits)


if __name__ == "__main__":
    main()
