"""``nsl-bench learn``: solve a learning task in FastLAS's or ILASP's syntax."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from nsl_bench.api.learning import learn
from nsl_bench.cli.declared import WHOLE, declared, options_of
from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.logic.guarded.learning import Learned

_DIALECTS = {"ilasp": "ILASP's", "fastlas": "FastLAS's"}


@declared(
    examples=[
        "nsl-bench learn task.las",
        "nsl-bench learn task.las --json --time-limit 60",
        "nsl-bench learn task.las --explain",
        "nsl-bench learn task.las --space | head     # rules that may be learned, with their costs",
        "nsl-bench learn task.las --verify     # check the answer by the definition, apart from the search",
        "nsl-bench learn task.las --rule-learner fastlas --executable ~/bin/FastLAS",
    ]
)
@options_of(
    learn,
    time_limit=click.FloatRange(min=0),
    memory_limit=WHOLE,
    dialect=click.Choice(["ilasp", "fastlas"]),
    constraints=None,
    threads=click.IntRange(1, 64),
    explain="Show which examples each rule covers.",
    progress=None,
)
def command(
    task: Path,
    *,
    as_json: Annotated[bool, "--json", "Print the result as one JSON object."] = False,
    no_constraints: Annotated[
        bool, "Leave rules without a head out of the hypothesis space in ILASP's dialect (its option -nc)."
    ] = False,
    executable: Annotated[Path | None, "Path of FastLAS or ILASP, if it is not on the PATH."] = None,
    space: Annotated[
        bool, "Print the rules that a hypothesis may have, each with its cost, and do not learn."
    ] = False,
    progress: Annotated[bool, "Print each step, better score and better bound on standard error."] = False,
    threads: int,
    explain: bool,
    memory_limit: int | None,
    **options: Any,
) -> int:
    """Learn the hypothesis with the lowest score from the task file TASK.

    Ctrl-C ends the search and prints the best hypothesis so far with a lower bound on the score. Exit code 2
    if no hypothesis was found or the search was killed.
    """
    from nsl_bench.api.learning import rule_learner_of
    from nsl_bench.core.budget import MEBIBYTE
    from nsl_bench.logic.guarded.learning import solve_isolated

    if executable is not None and options["rule_learner"] == "exact":
        raise UserError("--executable requires --rule-learner fastlas or ilasp.")
    if threads > 1 and options["rule_learner"] != "exact":
        raise UserError("--threads requires --rule-learner exact.")

    def warned(words: str) -> None:
        click.echo(f"Note: {words}", err=True)

    memory = None if memory_limit is None else memory_limit * MEBIBYTE
    options["constraints"] = not no_constraints
    if space:
        _print_space(task, memory, warned, as_json=as_json, **options)
        return 0
    given: dict[str, Any] = {} if executable is None else {"executable": executable}
    if threads > 1:
        given["threads"] = threads
    learned = solve_isolated(
        task,
        memory_limit=memory,
        options=given,
        explain=explain,
        progress=(lambda found: click.echo(str(found), err=True)) if progress else None,
        warned=warned,
        find=rule_learner_of,
        **options,
    )
    if as_json:
        click.echo(json.dumps(_as_json(learned)))
    else:
        _print(learned)
        if options["verify"]:
            click.echo(f"% {_verification(learned.answer)}")
        if learned.explanation is not None:
            click.echo("\n".join(["", learned.explanation, *learned.answer["why"]]))
    nothing = learned.answer["score"] is None and not learned.answer["hypothesis"]
    return 2 if nothing or learned.ended else 0


def _print_space(
    task: Path,
    memory_limit: int | None,
    warned: Callable[[str], None],
    *,
    as_json: bool,
    dialect: Any,
    constraints: bool,
    time_limit: float | None,
    **_: Any,
) -> None:
    """The rules of the space as ILASP prints them, or as one JSON object."""
    from nsl_bench.logic.guarded.learning import list_space

    rules: list[tuple[int, str]] = []

    def take(more: list[tuple[int, str]]) -> None:
        rules.extend(more)
        if not as_json:
            click.echo("".join(f"{cost} ~ {rule}\n" for cost, rule in more), nl=False)

    horizon = list_space(
        task, dialect=dialect, constraints=constraints, time_limit=time_limit, memory_limit=memory_limit,
        listed=take, warned=warned,
    )  # fmt: skip
    if as_json:
        listed = [{"cost": cost, "rule": rule} for cost, rule in rules]
        click.echo(json.dumps({"rules": listed, "complete": horizon is None, "missing_cost": horizon}))
    elif horizon is None:
        click.echo(f"% {len(rules)} rules")
    else:
        click.echo(f"% cut after {len(rules)} rules; each of the others costs at least {horizon}")


def _as_json(learned: Learned) -> dict[str, Any]:
    """The answer as one JSON object."""
    answer = {name: value for name, value in learned.answer.items() if name != "covered"}
    answer |= {name: dict(answer[name]) for name in ("uncovered", "statistics")}
    answer |= {"seconds": round(learned.seconds, 3), "dialect": learned.dialect}
    if learned.explanation is not None:
        answer["rules"] = learned.rules
    return answer


def _verification(found: Mapping[str, Any]) -> str:
    """What was verified, and why no more was."""
    if found["verified"] == "optimality":
        return "verified: " + ("unsatisfiable" if found["score"] is None else "score and optimality")
    if found["verified"] == "score":
        return f"verified: score only: {found['unverified'] or 'the check contradicts the search'}"
    return f"not verified: {found['unverified'] or 'the check contradicts the search'}"


def _print(learned: Learned) -> None:
    result = learned.solution
    for rule in result.hypothesis:
        click.echo(rule)
    if result.status == "unsatisfiable":
        click.echo(result.summary)
    else:
        if not result.hypothesis and result.score is not None:
            click.echo("% the empty hypothesis")
        by = f"tier {result.tier}" if result.tier else result.solver
        read = f"{_DIALECTS[learned.dialect]} dialect" if learned.dialect else "unread"
        click.echo(f"{result.summary}; {learned.seconds:.2f} s, {by}, {read}")
    for sentence in (result.message, *(result.why if result.score is None else ())):
        if sentence:
            click.echo(sentence, err=True)
