"""``nsl-bench gallery``: contact sheets of a task's concepts and shifts."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench gallery crop_yield --out leaves.png",
        "nsl-bench gallery indoor_scene --concepts --out rooms.png",
        "nsl-bench gallery sudoku_9x9 --source mnist:data/ --out digits.png",
    ],
)
@click.argument("benchmark")
@click.option("--source", help="Image source. Default: the benchmark's embedded one.")
@click.option(
    "--concepts/--shifts",
    default=False,
    help="Show every concept, or every shift at all severities (default).",
)
@click.option(
    "--images",
    type=click.IntRange(1, 20),
    help="Number of images of each concept or shift. Default: 3 per concept, 5 per shift.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="PNG file to write."
)
def command(benchmark: str, source: str | None, concepts: bool, images: int | None, out: Path) -> None:
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
