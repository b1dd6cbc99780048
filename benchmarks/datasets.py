"""How fast data sets are generated: images a second, beside encoding alone and `Dataset.from_generator`.

Encoding alone (the PNG files of images that are there already, with as many processes) is the limit. What
generating does beside it is rendering, hashing and writing parquet files. `Dataset.from_generator` makes the
same images one by one, as its users would, and has one process.

    python benchmarks/datasets.py                       the speed, on cards and on digits
    python benchmarks/datasets.py large --mnist FOLDER  the two large sets, resumed if they are there in part
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench import registry
from nsl_bench.data.generate import generate
from nsl_bench.data.images import chunks, encode, render
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import Recipe
from nsl_bench.data.splits import make_source
from nsl_bench.source import ImageSource
from nsl_bench.workers import spread

CARDS = Recipe(
    "follow_suit", train=104, test=104, repeats=1, shifts=(), source="drawn_decks:images_per_card=80"
)
"""4,160 images of 274 x 174."""

DIGITS = Recipe("sudoku_9x9", train=320, test=320, repeats=1)
"""1,617 digits of scikit-learn, standard ones and those of pools A and B rotated."""


def images_of(manifest: Manifest) -> int:
    """Number of images that were rendered and encoded."""
    return sum(entry.rows for entry in manifest.configs["images"].values())


def encode_all(images: list[np.ndarray], rows: tuple[int, int]) -> int:
    """Encode some images; gives their bytes. What is timed as the limit."""
    return sum(len(encode(image)[0]) for image in images[slice(*rows)])


def limit(source: ImageSource, n: int, workers: int) -> float:
    """Images a second of encoding alone, in each process the same images again and again."""
    images = list(render(source, None, "network", np.arange(min(n, 400), dtype=np.int64)))
    jobs = [(0, len(images))] * max(1, round(n / len(images)))
    # The first job of each process is not timed: it starts the process and imports what is needed.
    found = spread(encode_all, images, [(0, 1)] * workers + jobs, workers)
    for _ in range(workers):
        next(found)
    started = time.perf_counter()
    for _ in found:
        pass
    return len(jobs) * len(images) / (time.perf_counter() - started)


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
    started = time.perf_counter()
    data = datasets.Dataset.from_generator(
        one_by_one, gen_kwargs={"source": source, "n": n}, cache_dir=str(folder)
    )
    assert len(data) == n
    return n / (time.perf_counter() - started)


def speed(name: str, recipe: Recipe, workers: int) -> None:
    """Print a line for a recipe."""
    source = make_source(registry.create("benchmark", recipe.benchmark), recipe.source)
    rows = np.arange(64, dtype=np.int64)
    for piece in chunks(rows):
        source.render("network", piece)
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        manifest = generate(recipe, Path(place) / "set", workers=workers)
        ours = images_of(manifest) / (time.perf_counter() - started)
        few = min(len(source.labels("network")), 1000)
        theirs = from_generator(source, few, Path(place))
    most = limit(source, images_of(manifest), workers)
    print(
        f"{name}, {workers} process(es): {ours:,.0f} images/s = {ours / most:.0%} of encoding alone "
        f"({most:,.0f}); Dataset.from_generator {theirs:,.0f}"
    )


def large(out: Path, mnist: Path | None, workers: int) -> None:
    """Generate the large sets and print time and memory."""
    recipes = {"tricks": Recipe("follow_suit", size="large", repeats=1, shifts=("noir",))}
    if mnist is not None:
        recipes["grids"] = Recipe("sudoku_9x9", size="large", repeats=1, source=f"mnist:{mnist}")
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    for name, recipe in recipes.items():
        started = time.perf_counter()
        manifest = generate(recipe, out / name, workers=workers, progress=True)
        seconds = time.perf_counter() - started
        own, others = (resource.getrusage(which).ru_maxrss / 1e6 for which in who)
        size = sum(entry.bytes for entry in manifest.files.values()) / 1e6
        examples = manifest.configs["standard"]["train"].rows
        print(f"{name}: {examples:,} examples, {images_of(manifest):,} images, {size:,.0f} MB")
        print(
            f"  {seconds:.0f} s with {workers} process(es), at most {own + workers * others:.2f} GB of memory"
        )
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
    for workers in sorted({1, words.workers}):
        speed("cards of 274 x 174", CARDS, workers)
        speed("digits of 28 x 28", DIGITS, workers)


if __name__ == "__main__":
    main()
