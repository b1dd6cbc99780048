"""``nsl-bench gallery``: contact sheets of a task's concepts and shifts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import FILE, declared


@declared(
    examples=[
        "nsl-bench gallery crop_yield --out leaves.png",
        "nsl-bench gallery indoor_scene --concepts --out rooms.png",
        "nsl-bench gallery sudoku_9x9 --source mnist:data/ --out digits.png",
    ]
)
def command(
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
