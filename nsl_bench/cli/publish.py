"""``nsl-bench publish``: upload a generated data set to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import declared


@declared(
    examples=[
        "nsl-bench publish tricks/ --repo owner/name --dry-run",
        "nsl-bench publish tricks/ --repo owner/name",
    ]
)
def command(
    folder: Path,
    *,
    repo: Annotated[str, "Repository on the Hub, owner/name. Created if it does not exist."],
    private: Annotated[bool, "Make a newly created repository private."] = False,
    dry_run: Annotated[bool, "List what would be uploaded, without uploading."] = False,
) -> None:
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
