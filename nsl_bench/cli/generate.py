"""``nsl-bench generate``: write a benchmark's images and examples as a Hugging Face data set repository."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.cli.grid import percentages
from nsl_bench.core.errors import Interrupted, UserError

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench generate sudoku_4x4 --out sudoku/",
        "nsl-bench generate follow_suit --shift noir --percents 50,90 --images used --out tricks/",
        "nsl-bench generate sudoku_9x9 --size large --source mnist:data/ --workers 2 --out grids/",
        "nsl-bench generate --recipe recipe.toml --out tricks/",
        "nsl-bench generate --recipe tricks/manifest.json --out again/",
    ],
)
@click.argument("benchmark", required=False)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to create. It must be new or empty."
)
@click.option(
    "--recipe",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Recipe in TOML, or the manifest.json of a data set. Other options override its settings.",
)
@click.option("--size", help="Train size, e.g. small or large.")
@click.option("--train", type=click.IntRange(1), help="Number of train examples, instead of --size.")
@click.option("--test", type=click.IntRange(1), help="Number of test examples.")
@click.option("--repeats", type=click.IntRange(1), help="Number of train splits.")
@click.option(
    "--shift",
    "shifts",
    multiple=True,
    help=(
        "Shift to include, as a short name or spec; 'standard' for none. Repeatable. Default: all of "
        "the benchmark's shifts."
    ),
)
@click.option(
    "--percents",
    callback=percentages,
    help="Shares of shifted examples (%) whose content hashes the manifest lists, e.g. 50,90.",
)
@click.option("--source", help="Image source. Default: the embedded one.")
@click.option(
    "--images",
    type=click.Choice(["all", "used"]),
    help="Store the whole image pool, or only the images that examples show.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the examples.")
@click.option(
    "--splits",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of existing splits (test.csv, small/train_1.csv ...) to use instead of generating them.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Number of processes that render images.",
)
def command(
    benchmark: str | None,
    out: Path,
    file: Path | None,
    size: str | None,
    train: int | None,
    test: int | None,
    repeats: int | None,
    shifts: tuple[str, ...],
    percents: list[float] | None,
    source: str | None,
    images: str | None,
    seed: int | None,
    splits: Path | None,
    workers: int,
) -> None:
    """Generate a data set of BENCHMARK: images, examples, knowledge, data set card and manifest.

    OUT is a Hugging Face data set repository. After Ctrl-C, run the same command again to resume.
    """
    from nsl_bench.data.generate import generate
    from nsl_bench.data.manifest import partial
    from nsl_bench.data.recipe import Recipe

    options = {
        "benchmark": benchmark,
        "size": size,
        "train": train,
        "test": test,
        "repeats": repeats,
        "shifts": list(shifts) or None,
        "percents": percents or None,
        "source": source,
        "images": images,
        "seed": seed,
        "splits": None if splits is None else str(splits),
    }
    given = {key: value for key, value in options.items() if value is not None}
    if file is None and benchmark is None:
        raise UserError("Name a benchmark, or give a recipe with --recipe FILE.")
    base = {} if file is None else Recipe.read(file).to_dict()
    for one, other in (("size", "train"), ("train", "size")):
        if one in given:
            base.pop(other, None)
    try:
        manifest = generate(Recipe.from_dict({**base, **given}), out, workers=workers, progress=True)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted; finished files are kept in {partial(out)}. Run the same command again to resume."
        ) from None
    if manifest.superseded_by:
        click.echo(f"{manifest.benchmark} {manifest.version} is superseded by {manifest.superseded_by}.")
    for config, splits_of in manifest.configs.items():
        for split, entry in splits_of.items():
            click.echo(f"{config}/{split}: {entry.rows} rows, {entry.content_hash}")
            for percent, content_hash in entry.percents.items():
                click.echo(f"{config}/{split}, {percent} % shifted: {content_hash}")
