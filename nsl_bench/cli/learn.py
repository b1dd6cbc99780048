"""``nsl-bench learn``: solve a learning task in FastLAS's or ILASP's syntax."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.las.task import Solution

__all__ = ["command"]

_MEBIBYTE = 2**20


@click.command(
    cls=Command,
    examples=[
        "nsl-bench learn task.las",
        "nsl-bench learn task.las --json --time-limit 60",
        "nsl-bench learn task.las --explain",
        "nsl-bench learn task.las --rule-learner fastlas --executable ~/bin/FastLAS",
    ],
)
@click.argument("task", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds; then the best so far is printed.")
@click.option("--memory-limit", type=click.IntRange(min=1), help="Megabytes.")
@click.option("--rule-learner", default="exact", show_default=True, help="exact, fastlas or ilasp.")
@click.option("--executable", type=click.Path(path_type=Path), help="FastLAS or ILASP, if not on the PATH.")
@click.option("--progress", is_flag=True, help="Say on standard error what is being done.")
@click.option("--explain", "with_explanation", is_flag=True, help="Say which examples each rule covers.")
def command(
    task: Path,
    as_json: bool,
    time_limit: float | None,
    memory_limit: int | None,
    rule_learner: str,
    executable: Path | None,
    progress: bool,
    with_explanation: bool,
) -> int:
    """Learn the hypothesis of least score from the learning task in the file TASK.

    Ctrl-C ends the search; what was found by then is printed, with a lower bound of the score. Exits with
    2 if no hypothesis covers all the examples that must be covered.
    """
    from nsl_bench import registry
    from nsl_bench.las.task import LasTask

    started = time.monotonic()
    solver = registry.factory("rule_learner", rule_learner)
    read = LasTask.read(task)
    for warning in read.warnings:
        click.echo(f"Note: {warning}", err=True)
    options: dict[str, Any] = {}
    if executable is not None:
        if rule_learner == "exact":
            raise UserError("--executable goes with --rule-learner fastlas or ilasp.")
        options["executable"] = executable
    if progress and rule_learner == "exact":
        options["progress"] = partial(click.echo, err=True)
    memory = None if memory_limit is None else memory_limit * _MEBIBYTE
    solution: Solution = solver(read, time_limit=time_limit, memory_limit=memory, **options)
    seconds = time.monotonic() - started
    explanation = None
    if with_explanation and solution.score is not None:
        from nsl_bench.las.semantics.explanation import explain

        explanation = explain(read, solution)
    if as_json:
        answer: dict[str, Any] = {
            "status": solution.status,
            "score": solution.score,
            "hypothesis": list(solution.hypothesis),
            "seconds": round(seconds, 3),
            "bound": solution.bound,
            "cost": solution.cost,
            "tier": solution.tier,
            "uncovered": dict(solution.uncovered),
            "message": solution.message,
            "statistics": dict(solution.statistics),
        }
        if explanation is not None:
            answer["rules"] = [
                {"rule": r.rule, "cost": r.cost, "covers": list(r.covers), "spoils": list(r.spoils)}
                for r in explanation.rules
            ]
        click.echo(json.dumps(answer))
    else:
        _print(solution, seconds)
        if explanation is not None:
            click.echo(f"\n{explanation}")
    return 2 if solution.status == "unsatisfiable" else 0


def _print(solution: Solution, seconds: float) -> None:
    if solution.status == "unsatisfiable":
        click.echo("unsatisfiable")
        click.echo(solution.message or "No hypothesis covers every example that must be covered.", err=True)
        return
    for rule in solution.hypothesis:
        click.echo(rule)
    if not solution.hypothesis and solution.score is not None:
        click.echo("% the empty hypothesis")
    if solution.score is None:
        click.echo("% no hypothesis found")
    else:
        proof = "optimal" if solution.status == "optimal" else f"feasible, at least {solution.bound}"
        parts = f"rules cost {solution.cost}, {len(solution.uncovered)} examples uncovered"
        click.echo(f"% score {solution.score} ({proof}): {parts}; {seconds:.2f} s, tier {solution.tier}")
    if solution.message:
        click.echo(solution.message, err=True)
