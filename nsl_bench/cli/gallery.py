"""``nsl-bench gallery``: contact sheets of a task's images and of what shifts do to them."""

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
@click.option("--source", help="Image source; the benchmark's embedded one by default.")
@click.option(
    "--concepts/--shifts",
    default=False,
    help="Every concept, or (the default) every shift with all severities.",
)
@click.option("--images", type=click.IntRange(1, 20), help="Images of each; 3 of a concept, 5 of a shift.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="PNG file to write."
)
def command(benchmark: str, source: str | None, concepts: bool, images: int | None, out: Path) -> None:
    """Draw a contact sheet of BENCHMARK's images: every shift and severity, or every concept."""
    from nsl_bench import registry
    from nsl_bench.data.splits import make_source
    from nsl_bench.errors import UserError
    from nsl_bench.pictures import save
    from nsl_bench.report.gallery import concepts_sheet, shifts_sheet

    if out.suffix.lower() != ".png":
        raise UserError(f"--out: {out} is no PNG file; its name ends in .png.")
    if not out.parent.is_dir():
        raise UserError(f"--out: there is no folder {out.parent}.")
    task = registry.create("benchmark", benchmark)
    pool = make_source(task, source)
    page = concepts_sheet(pool, images or 3) if concepts else shifts_sheet(task, pool, images or 5)
    save(page, out)
    click.echo(f"{out}  {page.width} x {page.height}")
