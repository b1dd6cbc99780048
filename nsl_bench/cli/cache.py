"""``nsl-bench cache``: list or clear the cache folder."""

from __future__ import annotations

from typing import Annotated

import click

from nsl_bench.cli.declared import declared
from nsl_bench.core import cache
from nsl_bench.core.errors import UserError, unknown


@declared(
    name="cache", examples=["nsl-bench cache", "nsl-bench cache clear", "nsl-bench cache clear datasets"]
)
def command(
    action: Annotated[str, click.Choice(["list", "clear"])] = "list", kind: str | None = None
) -> None:
    """List or clear the cache folder, or only one KIND of its files (datasets, hub, predictions ...).

    The environment variable NSL_BENCH_CACHE sets the folder. It is safe to clear: everything in it can be
    made or downloaded again. Files that another process is writing are kept.
    """
    result = cache.contents()
    if kind is not None:
        if kind not in result:
            raise (
                unknown("kind of cached files", kind, result) if result else UserError("The cache is empty.")
            )
        result = {kind: result[kind]}
    if action == "clear":
        for name in result:
            cache.clear(name)
    click.echo(f"{'Cleared' if action == 'clear' else 'Cache'}: {cache.folder()}")
    for name, (files, size) in result.items():
        click.echo(f"  {name:<14} {files:>6} files {size / 1e6:>10.1f} MB")
