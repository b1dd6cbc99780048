"""``nsl-bench list``: list every part that has a name, with its options and defaults."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from nsl_bench.cli.declared import declared

if TYPE_CHECKING:
    from nsl_bench.api.parts import PartInfo

_WIDTH = 100


@declared(
    name="list", examples=["nsl-bench list", "nsl-bench list learners", "nsl-bench list learners ffnsl"]
)
def command(kind: str | None = None, name: str | None = None) -> None:
    """List tasks, sources, shifts, networks, learners, rule learners, engines, executors and metrics.

    Give KIND, one of these words (rule_learners with an underscore), to see the options of each part with
    their defaults. Give NAME as well to see what each option means.
    """
    from nsl_bench.api.parts import KINDS, list_parts, part_info

    if kind is not None and name is not None:
        _show(part_info(kind, name))
        return
    for word in KINDS if kind is None else (kind,):
        parts = list_parts(word)
        click.echo(word.replace("_", " ").capitalize())
        width = max((len(part.name) for part in parts), default=0) + 2
        for part in parts:
            click.echo(f"  {part.name:<{width}}{_wrapped(part.summary, width + 2).lstrip()}")
            if kind is not None and part.options:
                told = f"Options: {', '.join(map(str, part.options))}"
                click.echo(_wrapped(told, width + 2))
        click.echo()


def _show(part: PartInfo) -> None:
    """A part with all that its docstring says of it."""
    click.echo(f"{part.name}\n\n{_wrapped(part.summary, 2)}\n")
    for paragraph in filter(None, part.description.split("\n\n")):
        click.echo(f"{_wrapped(paragraph, 2)}\n")
    if not part.options:
        click.echo("It takes no options.")
        return
    if part.kind == "executors":
        given = " ".join(f"--{o.name} ..." for o in part.options)
        click.echo(f"Options, given as nsl-bench run --executor {part.name} {given}")
    else:
        given = ",".join(f"{o.name}={o.default or '...'}" for o in part.options[:2])
        click.echo(f"Options, given as {part.name}:{given}")
    width = max(len(str(option)) for option in part.options) + 4
    for option in part.options:
        told = [option.meaning[:1].upper() + option.meaning[1:]] if option.meaning else []
        if option.default is None:
            told.append("Must be given.")
        if option.choices:
            told.append(f"One of: {', '.join(option.choices)}.")
        lines = _wrapped(" ".join(told), width).strip()
        click.echo(f"  {option!s:<{width - 2}}{lines}".rstrip())


def _wrapped(text: str, indent: int) -> str:
    margin = " " * indent
    width = max(_WIDTH, indent + 50)
    plain = text.replace("`", "")
    return textwrap.fill(
        plain,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
