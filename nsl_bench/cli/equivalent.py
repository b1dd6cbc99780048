"""``nsl-bench equivalent``: do two hypotheses say the same of every possible input?"""

from __future__ import annotations

from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError
from nsl_bench.guarded.worker import needing

__all__ = ["command"]

_GRACE = 5.0
"""Seconds beyond the time limit after which a comparison that does not heed it is ended."""


@click.command(
    cls=Command,
    examples=[
        "nsl-bench equivalent learned.lp true.lp --benchmark follow_suit",
        "nsl-bench equivalent learned.lp true.lp --task task.las",
        "nsl-bench equivalent learned.lp true.lp --background bk.lp --inputs inputs.lp --atom winner/1",
    ],
)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--benchmark", help="A benchmark task: background, inputs and the atoms of its labels.")
@click.option("--task", type=click.Path(path_type=Path), help="A .las file: background, inputs and atoms.")
@click.option(
    "--background",
    type=click.Path(path_type=Path),
    help="Background, instead of the task's or the benchmark's.",
)
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    help="A choice program of the possible inputs, instead of the benchmark's or of what the task's "
    "contexts suggest.",
)
@click.option("--atom", "atoms", multiple=True, help="What is compared: an atom, or name/arity; repeatable.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds.")
def command(
    first: Path,
    second: Path,
    benchmark: str | None,
    task: Path | None,
    background: Path | None,
    inputs: Path | None,
    atoms: tuple[str, ...],
    time_limit: float | None,
) -> None:
    """Decide whether the hypotheses in the files FIRST and SECOND label every possible input alike.

    Exit code 0 if they do; 1 if not, and an input is printed on which they differ. An atom that neither
    hypothesis can derive, or inputs of which none is possible, are an error.
    """
    from nsl_bench.asp.text import read_text
    from nsl_bench.guarded.call import Allowance, guarded

    if task is not None and benchmark is not None:
        raise UserError("Give --task or --benchmark, not both: each says what is possible and compared.")
    if task is None and benchmark is None and (inputs is None or not atoms):
        raise UserError(
            "Give --benchmark or --task, or else --inputs (what is possible) and --atom (what is compared)."
        )
    texts = {
        "background": None if background is None else read_text(background),
        "inputs": None if inputs is None else read_text(inputs),
    }
    known: tuple[str, ...] = ()
    if benchmark is not None:
        from nsl_bench import registry

        chosen = registry.create("benchmark", benchmark)
        known = tuple(atom for atom in chosen.labels.atoms if atom is not None)
        atoms = atoms or known
        texts = {name: getattr(chosen, name) if text is None else text for name, text in texts.items()}
    found = guarded(
        _difference,
        (first, second),
        task,
        atoms,
        known,
        time_limit,
        background=texts["background"],
        inputs=texts["inputs"],
        doing=f"Comparing {first} and {second}",
        allowance=Allowance(time_limit, grace=_GRACE),
    )
    if found is None:
        click.echo("equivalent")
        return
    click.echo(f"not equivalent\n{found}")
    click.get_current_context().exit(1)


@needing("nsl_bench.las.bias.hypothesis", "nsl_bench.las.semantics.equivalence", "nsl_bench.las.task")
def _difference(
    hypotheses: tuple[Path, Path],
    task: Path | None,
    atoms: tuple[str, ...],
    known: tuple[str, ...],
    time_limit: float | None,
    *,
    background: str | None,
    inputs: str | None,
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
        background=background,
        inputs=inputs,
        atoms=atoms,
        known=known,
        time_limit=time_limit,
    )
    return None if found is None else str(found)
