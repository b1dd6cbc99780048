"""``nsl-bench list``: list everything that has a name."""

from __future__ import annotations

import inspect
from typing import Any

import click

from nsl_bench import registry
from nsl_bench.api.tasks import task_info
from nsl_bench.cli import Command
from nsl_bench.errors import UserError, unknown

__all__ = ["command"]

_PLURALS = {f"{kind}s": kind for kind in registry.KINDS}


@click.command(
    cls=Command,
    name="list",
    examples=["nsl-bench list", "nsl-bench list learners", "nsl-bench list rule_learners"],
)
@click.argument("what", required=False)
def command(what: str | None) -> None:
    """List benchmarks, shifts, sources, networks, learners and rule learners, or only the kind WHAT."""
    if what is not None and what not in _PLURALS:
        raise unknown("kind of part", what, _PLURALS)
    for plural, kind in _PLURALS.items():
        if what not in (None, plural):
            continue
        click.echo(plural.replace("_", " ").capitalize())
        for name in registry.names(kind):
            click.echo(f"  {name:<24} {_summary(kind, name)}")
        click.echo()


def _summary(kind: registry.Kind, name: str) -> str:
    try:
        part: Any = registry.factory(kind, name)
    except UserError as error:
        return str(error)
    summary = (inspect.getdoc(part) or "").split("\n\n")[0].replace("\n", " ")
    return summary if kind != "benchmark" else str(task_info(name))
