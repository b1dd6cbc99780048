"""``nsl-bench equivalent``: do two hypotheses say the same of every possible input?"""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]

_GRACE = 5.0
"""Seconds beyond the time limit after which a comparison that does not heed it is ended."""


@click.command(
    cls=Command,
    examples=[
        "nsl-bench equivalent learned.lp true.lp --task task.las",
        "nsl-bench equivalent learned.lp true.lp --background bk.lp --inputs inputs.lp --atom winner/1",
    ],
)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--task", type=click.Path(path_type=Path), help="A .las file: background, inputs and atoms.")
@click.option("--background", type=click.Path(path_type=Path), help="Background, instead of the task's.")
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    help="A choice program of the possible inputs, instead of what the task's contexts suggest.",
)
@click.option("--atom", "atoms", multiple=True, help="What is compared: an atom, or name/arity; repeatable.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds.")
def command(
    first: Path,
    second: Path,
    task: Path | None,
    background: Path | None,
    inputs: Path | None,
    atoms: tuple[str, ...],
    time_limit: float | None,
) -> None:
    """Decide whether the hypotheses in the files FIRST and SECOND label every possible input alike.

    Exit code 0 if they do; 1 if not, and an input is printed on which they differ.
    """
    from nsl_bench.isolation.guard import Allowance, guarded

    if task is None and (inputs is None or not atoms):
        raise UserError("Give --task, or else --inputs (what is possible) and --atom (what is compared).")
    found = guarded(
        _difference,
        (first, second),
        task,
        background,
        inputs,
        atoms,
        time_limit,
        doing=f"Comparing {first} and {second}",
        allowance=Allowance(None if time_limit is None else time_limit + _GRACE),
    )
    if found is None:
        click.echo("equivalent")
        return
    click.echo(f"not equivalent\n{found}")
    click.get_current_context().exit(1)


def _difference(
    hypotheses: tuple[Path, Path],
    task: Path | None,
    background: Path | None,
    inputs: Path | None,
    atoms: tuple[str, ...],
    time_limit: float | None,
) -> str | None:
    """An input on which hypotheses differ, for people; None if there is none."""
    from nsl_bench.asp.text import read_text
    from nsl_bench.las.bias.hypothesis import parse_rules
    from nsl_bench.las.semantics.equivalence import equivalent
    from nsl_bench.las.task import LasTask

    first, second = (parse_rules(read_text(path), str(path)) for path in hypotheses)
    found = equivalent(
        first,
        second,
        None if task is None else LasTask.read(task),
        background=None if background is None else read_text(background),
        inputs=None if inputs is None else read_text(inputs),
        atoms=atoms,
        time_limit=time_limit,
    )
    return None if found is None else str(found)
