"""``nsl-bench publish``: upload a generated data set to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench publish tricks/ --repo owner/name --dry-run",
        "nsl-bench publish tricks/ --repo owner/name",
    ],
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--repo", required=True, help="Repository on the Hub, owner/name. Created if it does not exist."
)
@click.option("--private", is_flag=True, help="Make a newly created repository private.")
@click.option("--dry-run", is_flag=True, help="List what would be uploaded, without uploading.")
def command(folder: Path, repo: str, private: bool, dry_run: bool) -> None:
    """Verify the data set in FOLDER and upload it to the Hub in one commit, tagged with its version.

    An existing version is never overwritten.
    """
    from nsl_bench.data.hub import publish

    upload = publish(folder, repo, dry_run=dry_run, private=private)
    for path, size in upload.files.items():
        click.echo(f"{size:>12,}  {path}")
    done = "Would send" if dry_run else "Sent"
    total = sum(upload.files.values())
    click.echo(f"{done} {len(upload.files)} files, {total:,} bytes, to {repo}, tagged {upload.tag}.")
