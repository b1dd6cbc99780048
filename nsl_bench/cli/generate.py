"""``nsl-bench generate``: write a benchmark's images and examples as a Hugging Face data set repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import OLD_FILE, OLD_FOLDER, WHOLE, declared
from nsl_bench.cli.grid import percentages
from nsl_bench.core.errors import Interrupted, UserError


@declared(
    examples=[
        "nsl-bench generate sudoku_4x4 --out sudoku/",
        "nsl-bench generate follow_suit --shift noir --percents 50,90 --images used --out tricks/",
        "nsl-bench generate sudoku_9x9 --size large --source mnist:data/ --workers 2 --out grids/",
        "nsl-bench generate --recipe recipe.toml --out tricks/",
        "nsl-bench generate --recipe tricks/manifest.json --out again/",
    ]
)
def command(
    benchmark: str | None = None,
    *,
    out: Annotated[Path, "Folder to create. It must be new or empty."],
    file: Annotated[
        Path | None,
        "--recipe",
        "Recipe in TOML, or the manifest.json of a data set. Other options override its settings.",
        OLD_FILE,
    ] = None,
    size: Annotated[str | None, "Train size, e.g. small or large."] = None,
    train: Annotated[int | None, "Number of train examples, instead of --size.", WHOLE] = None,
    test: Annotated[int | None, "Number of test examples.", WHOLE] = None,
    repeats: Annotated[int | None, "Number of train splits.", WHOLE] = None,
    shifts: Annotated[
        tuple[str, ...],
        "--shift",
        "Shift to include, as a short name or spec; 'standard' for none. Repeatable. Default: all of "
        "the benchmark's shifts.",
    ] = (),
    percents: Annotated[
        list[float] | None,
        "Shares of shifted examples (%) whose content hashes the manifest lists, e.g. 50,90.",
        percentages,
    ] = None,
    source: Annotated[str | None, "Image source. Default: the embedded one."] = None,
    images: Annotated[
        str | None,
        "Store the whole image pool, or only the images that examples show.",
        click.Choice(["all", "used"]),
    ] = None,
    seed: Annotated[int | None, "Seed of the examples.", click.IntRange(0)] = None,
    splits: Annotated[
        Path | None,
        "Folder of existing splits (test.csv, small/train_1.csv ...) to use instead of generating them.",
        OLD_FOLDER,
    ] = None,
    workers: Annotated[int, "Number of processes that render images.", WHOLE] = 1,
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
