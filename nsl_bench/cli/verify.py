"""``nsl-bench verify``: check a data set against its manifest."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli.declared import declared


@declared(examples=["nsl-bench verify tricks/"])
def command(folder: Path) -> None:
    """Recompute the content hashes of the data set in FOLDER and name the first row that differs."""
    from nsl_bench.data.verify import verify

    manifest = verify(folder, progress=True)
    rows = sum(entry.rows for splits in manifest.configs.values() for entry in splits.values())
    click.echo(f"{folder}: {manifest.benchmark} {manifest.version}, all {rows} rows match the manifest.")
    if manifest.superseded_by:
        click.echo(f"This version is superseded by {manifest.superseded_by}.")
