"""``nsl-bench equivalent``: test whether two hypotheses agree on every possible input."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from nsl_bench.cli.declared import declared
from nsl_bench.core.errors import UserError

_GRACE = 5.0
"""Seconds beyond the time limit after which a comparison that does not heed it is ended."""


@declared(
    examples=[
        "nsl-bench equivalent learned.lp true.lp --benchmark follow_suit",
        "nsl-bench equivalent learned.lp true.lp --task task.las",
        "nsl-bench equivalent learned.lp true.lp --background bk.lp --inputs inputs.lp --atom winner/1",
    ]
)
def command(
    first: Path,
    second: Path,
    *,
    benchmark: Annotated[
        str | None, "Benchmark that supplies the background, the possible inputs and the label atoms."
    ] = None,
    task: Annotated[
        Path | None, ".las file that supplies the background, the possible inputs and the atoms."
    ] = None,
    background: Annotated[
        Path | None, "File with the background. Default: that of --task or --benchmark."
    ] = None,
    inputs: Annotated[
        Path | None,
        "Choice program that generates the possible inputs. Default: from --benchmark, or from the "
        "contexts of --task.",
    ] = None,
    atoms: Annotated[tuple[str, ...], "--atom", "Atom or name/arity to compare. Repeatable."] = (),
    time_limit: Annotated[float | None, "Time limit in seconds.", click.FloatRange(min=0)] = None,
) -> None:
    """Decide whether the hypotheses in the files FIRST and SECOND agree on every possible input.

    Exit code 0 if they agree. Exit code 1 if they differ; an input on which they differ is printed. It is an
    error if neither hypothesis can derive a compared atom, or if no input is possible.
    """
    from nsl_bench.logic.asp.text import read_text
    from nsl_bench.logic.guarded.call import guarded
    from nsl_bench.logic.guarded.child import Allowance

    if task is not None and benchmark is not None:
        raise UserError(
            "--task and --benchmark cannot be used together: each sets the possible inputs and the "
            "atoms to compare."
        )
    if task is None and benchmark is None and (inputs is None or not atoms):
        raise UserError(
            "Give --benchmark, --task, or both --inputs (possible inputs) and --atom (what to compare)."
        )
    texts = {
        "background": None if background is None else read_text(background),
        "inputs": None if inputs is None else read_text(inputs),
    }
    known: tuple[str, ...] = ()
    if benchmark is not None:
        from nsl_bench.core import registry

        chosen = registry.create("benchmark", benchmark)
        known = tuple(atom for atom in chosen.labels.atoms if atom is not None)
        atoms = atoms or known
        texts = {name: getattr(chosen, name) if text is None else text for name, text in texts.items()}
    result = guarded(
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
    if result is None:
        click.echo("equivalent")
        return
    click.echo(f"not equivalent\n{result}")
    click.get_current_context().exit(1)


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
    from nsl_bench.logic.asp.text import read_text
    from nsl_bench.logic.las.bias.hypothesis import parse_rules
    from nsl_bench.logic.las.semantics.equivalence import equivalent
    from nsl_bench.logic.las.task import LasTask

    first, second = (parse_rules(read_text(path), str(path)) for path in hypotheses)
    result = equivalent(
        first,
        second,
        None if task is None else LasTask.read(task, "fastlas"),
        background=background,
        inputs=inputs,
        atoms=atoms,
        known=known,
        time_limit=time_limit,
    )
    return None if result is None else str(result)
