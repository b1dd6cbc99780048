"""``nsl-bench generate``: a benchmark's examples and images as a folder that is a data set repository."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.cli.grid import percentages
from nsl_bench.errors import Interrupted, UserError

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
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to make; must not hold files."
)
@click.option(
    "--recipe",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file, or a data set's manifest.json; other options take the place of what it says.",
)
@click.option("--size", help="Train size, e.g. small or large.")
@click.option("--train", type=click.IntRange(1), help="Number of train examples, in place of a size.")
@click.option("--test", type=click.IntRange(1), help="Number of test examples.")
@click.option("--repeats", type=click.IntRange(1), help="Independent train sets.")
@click.option(
    "--shift", "shifts", multiple=True, help="Short name or spec, repeatable; by default all; or 'standard'."
)
@click.option(
    "--percents", callback=percentages, help="Shares of shifted examples whose hashes the manifest states."
)
@click.option("--source", help="Image source; the embedded one by default.")
@click.option("--images", type=click.Choice(["all", "used"]), help="The whole pool, or what examples show.")
@click.option("--seed", type=click.IntRange(0), help="Another seed gives other examples.")
@click.option(
    "--splits",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of splits (test.csv, small/train_1.csv ...) to use in place of generated ones.",
)
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(1), help="Processes that render."
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
    """Make a data set of BENCHMARK: images, examples, knowledge, card and manifest.

    OUT is a Hugging Face data set repository. Ctrl-C keeps what is written; the same command goes on.
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
        raise UserError("Name a benchmark, or a recipe with --recipe FILE.")
    base = {} if file is None else Recipe.read(file).to_dict()
    for one, other in (("size", "train"), ("train", "size")):
        if one in given:
            base.pop(other, None)
    try:
        manifest = generate(Recipe.from_dict({**base, **given}), out, workers=workers, progress=True)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted; what is written is kept in {partial(out)}, the same command goes on from there."
        ) from None
    if manifest.superseded_by:
        click.echo(f"{manifest.benchmark} {manifest.version} is superseded by {manifest.superseded_by}.")
    for config, splits_of in manifest.configs.items():
        for split, entry in splits_of.items():
            click.echo(f"{config}/{split}: {entry.rows} rows, {entry.content_hash}")
            for percent, content_hash in entry.percents.items():
                click.echo(f"{config}/{split}, {percent} % shifted: {content_hash}")
