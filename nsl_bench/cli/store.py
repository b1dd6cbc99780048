"""``nsl-bench store``: maintain results folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import declared
from nsl_bench.core.errors import UserError


@declared(examples=["nsl-bench store compact results/", "nsl-bench store schema > record.schema.json"])
def command(action: Annotated[str, click.Choice(["compact", "schema"])], results: Path | None = None) -> None:
    """Compact RESULTS into a few parquet files, or print the JSON Schema of records.

    A compacted folder works like any other. You can compact it while runs are being added.
    """
    from nsl_bench.run.record import SCHEMA_FILE
    from nsl_bench.run.store import Store

    if action == "schema":
        click.echo(SCHEMA_FILE.read_text(encoding="utf-8"), nl=False)
        return
    if results is None:
        raise UserError("RESULTS is missing; write nsl-bench store compact results/.")
    count = Store(results, must_exist=True).compact()
    click.echo(f"{count} records compacted in {results}.")
