"""``nsl-bench generate``, ``verify``, ``publish``, ``show`` and ``gallery``: data sets and how they look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import click

from nsl_bench.cli.declared import FILE, OLD_FILE, OLD_FOLDER, WHOLE, declared
from nsl_bench.cli.grid import percentages
from nsl_bench.core.errors import Interrupted, UserError, counted


@declared()
def generate(
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
        "Store the images that examples show (used, the default), or also the whole image pool (all).",
        click.Choice(["all", "used"]),
    ] = None,
    seed: Annotated[int | None, "Seed of the examples.", click.IntRange(0)] = None,
    splits: Annotated[
        Path | None,
        "Folder of existing splits (test.csv, small/train_1.csv ...) to use instead of generating them.",
        OLD_FOLDER,
    ] = None,
    annotation: Annotated[
        str | None, "Shares (%) of wrong and missing labels, e.g. wrong_labels=10,missing_labels=5 (see run)."
    ] = None,
    workers: Annotated[
        int | None,
        "Number of processes that render images. Default: as many as help, up to all cores.",
        WHOLE,
    ] = None,
) -> None:
    """Generate a data set of BENCHMARK: images, examples, knowledge, data set card and manifest.

    OUT is a Hugging Face data set repository. After Ctrl-C, run the same command again to resume.
    """
    from nsl_bench.data.generate import generate
    from nsl_bench.data.manifest import partial
    from nsl_bench.data.recipe import Recipe

    named = {"benchmark": benchmark, "source": source, "images": images, "annotation": annotation}
    numbers = {"size": size, "train": train, "test": test, "repeats": repeats, "seed": seed}
    listed = {"shifts": list(shifts) or None, "percents": percents or None}
    options = {**named, **numbers, **listed, "splits": None if splits is None else str(splits)}
    given = {key: value for key, value in options.items() if value is not None}
    if file is None and benchmark is None:
        raise UserError("Name a benchmark, or give a recipe with --recipe FILE.")
    base = {} if file is None else Recipe.read(file).to_dict()
    for one, other in (("size", "train"), ("train", "size")):
        if one in given:
            base.pop(other, None)

    def say(sentence: str) -> None:
        click.echo(sentence, err=True)

    try:
        manifest = generate(Recipe.from_dict({**base, **given}), out, workers=workers, say=say)
    except KeyboardInterrupt:
        raise Interrupted(
            f"Interrupted; finished files are kept in {partial(out)}. Run the same command again to resume."
        ) from None
    if manifest.superseded_by:
        click.echo(f"{manifest.benchmark} {manifest.version} is superseded by {manifest.superseded_by}.")
    for config, splits_of in manifest.configs.items():
        for split, entry in splits_of.items():
            click.echo(f"{config}/{split}: {counted(entry.rows, 'row')}, {entry.content_hash}")
            for percent, content_hash in entry.percents.items():
                click.echo(f"{config}/{split}, {percent} % shifted: {content_hash}")


@declared()
def verify(folder: Path) -> None:
    """Recompute the content hashes of the data set in FOLDER and name the first row that differs."""
    from nsl_bench.data.verify import verify

    manifest = verify(folder, progress=True)
    rows = sum(entry.rows for splits in manifest.configs.values() for entry in splits.values())
    click.echo(f"{folder}: {manifest.benchmark} {manifest.version}, all {rows} rows match the manifest.")
    if manifest.superseded_by:
        click.echo(f"This version is superseded by {manifest.superseded_by}.")


@declared()
def publish(
    folder: Path,
    *,
    repo: Annotated[str | None, "Repository on the Hub, owner/name. Created if it does not exist."] = None,
    to: Annotated[
        str | None, "Instead of --repo: a folder, or an address such as s3://bucket/name, new or empty."
    ] = None,
    data: Annotated[
        tuple[str, ...],
        "FOLDER has results: write the scores of a learner for its repository, in the Hub's .eval_results/. "
        "TASK=OWNER/NAME names the data set of a task. Repeatable.",
    ] = (),
    learner: Annotated[str | None, "With --data: the learner, if several were run."] = None,
    private: Annotated[bool, "Make a newly created repository private."] = False,
    dry_run: Annotated[bool, "List what would be uploaded, without uploading."] = False,
) -> None:
    """Verify the data set in FOLDER and upload it to the Hub in one commit, tagged with its version.

    An existing version is never overwritten.
    """
    from nsl_bench.data import hub

    if (repo is None) == (to is None):
        raise UserError("Give either --repo OWNER/NAME or --to FOLDER.")
    where = repo or to or ""
    if data or learner:
        files = _scores(folder, data, learner)
        if not dry_run and repo is None:
            hub.copy(files, where)
        elif not dry_run:
            hub.publish_results(files, where, private=private)
        sizes, tagged = {path: len(text) for path, text in files.items()}, ""
    else:
        upload = (
            hub.publish_copy(folder, where, dry_run=dry_run)
            if repo is None
            else hub.publish(folder, repo, dry_run=dry_run, private=private)
        )
        sizes, tagged = upload.files, f", tagged {upload.tag}" if repo else f", version {upload.tag}"
    for path, size in sizes.items():
        click.echo(f"{size:>12,}  {path}")
    done = "Would send" if dry_run else "Sent"
    sent = f"{counted(len(sizes), 'file')}, {sum(sizes.values()):,} bytes"
    click.echo(f"{done} {sent}, to {where}{tagged}.")


def _scores(folder: Path, data: tuple[str, ...], learner: str | None) -> dict[str, bytes]:
    from nsl_bench.api.hub_results import evaluation_files
    from nsl_bench.api.results import results

    named = dict(one.partition("=")[::2] for one in data)
    if not named or not all("/" in name for name in named.values()):
        raise UserError(f"--data must be TASK=OWNER/NAME; got {', '.join(data) or 'none'}.")
    return evaluation_files(results(folder), learner, named)


@declared()
def show(
    benchmark: str,
    *,
    shift: Annotated[str, "Shift, as a short name or spec."] = "standard",
    percent: Annotated[
        float | None, "Share of shifted examples in percent. Default: 100 if --shift is given."
    ] = None,
    n: Annotated[int, "Number of examples.", click.IntRange(1, 400)] = 12,
    columns: Annotated[int | None, "Number of examples per row. Default: as many as fit.", WHOLE] = None,
    source: Annotated[str | None, "Image source. Default: the embedded one."] = None,
    split: Annotated[Literal["train", "validation", "test"], "Split to show examples of."] = "train",
    seed: Annotated[int, "Seed of the examples.", click.IntRange(0)] = 0,
    out: Annotated[Path, "Picture file to write.", FILE],
) -> None:
    """Draw examples of BENCHMARK: images with concepts, label and shift. The deciding slots are marked."""
    import numpy as np

    from nsl_bench.core import registry
    from nsl_bench.core.pictures import check_ending, save
    from nsl_bench.core.shift import resolve
    from nsl_bench.data.card import reuse
    from nsl_bench.data.show import sheet
    from nsl_bench.data.splits import make_source, make_split

    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    change = resolve(shift, task, images)
    if percent is None:
        percent = 100.0 if change else 0.0
    if percent and change is None:
        raise UserError(f"--percent {percent:g} requires a shift; name one with --shift.")
    check_ending(out)
    examples = make_split(task, images, split, next(iter(task.sizes)), 1, percent=percent, seed=seed)
    count = min(n, examples.n_sequences)
    page = sheet(task, images, change, examples.take_sequences(np.arange(count)), columns)
    save(page, out)
    click.echo(f"{out}: {count} of {reuse(examples)}.")


@declared()
def gallery(
    benchmark: str,
    *,
    source: Annotated[str | None, "Image source. Default: the benchmark's embedded one."] = None,
    concepts: Annotated[
        bool, "--concepts/--shifts", "Show every concept, or every shift at all severities (default)."
    ] = False,
    images: Annotated[
        int | None,
        "Number of images of each concept or shift. Default: 3 per concept, 5 per shift.",
        click.IntRange(1, 20),
    ] = None,
    out: Annotated[Path, "PNG file to write.", FILE],
) -> None:
    """Draw a contact sheet of BENCHMARK's images: every shift and severity, or every concept."""
    from nsl_bench.core import registry
    from nsl_bench.core.errors import UserError
    from nsl_bench.core.pictures import save
    from nsl_bench.data.splits import make_source
    from nsl_bench.report.gallery import concepts_sheet, shifts_sheet

    if out.suffix.lower() != ".png":
        raise UserError(f"--out must end in .png; got {out}.")
    if not out.parent.is_dir():
        raise UserError(f"--out: the folder {out.parent} does not exist.")
    task = registry.create("benchmark", benchmark)
    pool = make_source(task, source)
    page = concepts_sheet(pool, images or 3) if concepts else shifts_sheet(task, pool, images or 5)
    save(page, out)
    click.echo(f"{out}  {page.width} x {page.height}")
