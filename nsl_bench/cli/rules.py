"""``nsl-bench learn``, ``equivalent``, ``shortcuts``, ``predict`` and ``explain``: what rules say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from nsl_bench.cli.declared import WHOLE, declared, options_of
from nsl_bench.cli.grid import data_seed_option
from nsl_bench.core.errors import UserError, counted

if TYPE_CHECKING:
    from nsl_bench.api.rule_classifier import RuleClassifier
    from nsl_bench.logic.guarded.learning import Learned
    from nsl_bench.logic.las.task import LasTask


_TABLES = (".csv", ".tsv", ".parquet")
_DIALECTS = {"ilasp": "ILASP's", "fastlas": "FastLAS's"}


@declared()
@options_of(
    "nsl_bench.api.learning:learn",
    time_limit=click.FloatRange(min=0),
    memory_limit=WHOLE,
    dialect=click.Choice(["ilasp", "fastlas"]),
    constraints=None,
    threads=click.IntRange(1, 64),
    explain="Show which examples each rule covers.",
    progress=None,
)
def learn(
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
    label: Annotated[str | None, "Column with the classes, where TASK is a table."] = None,
    background: Annotated[
        Path | None,
        "File with background knowledge on the columns of a table. Each atom that it derives is a literal.",
    ] = None,
    write_task: Annotated[
        Path | None, "Write the task of a table with its language bias to this file, and do not learn."
    ] = None,
    progress: Annotated[bool, "Print each step, better score and better bound on standard error."] = False,
    threads: int,
    explain: bool,
    memory_limit: int | None,
    **options: Any,
) -> int:
    """Learn the hypothesis with the lowest score from the task file or table TASK.

    A table (.csv, .tsv or .parquet) has a header and one row an example. If --time-limit is not given, the
    search for its rules takes at most a minute.

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
    source: Path | LasTask = task
    table = _table(task, label, background, write_task)
    if table is not None:
        model, source = table
        if write_task is not None:
            write_task.write_text(model.task_, encoding="utf-8")
            return 0
        if options["time_limit"] is None:
            options["time_limit"] = model.time_limit
    if space:
        _print_space(source, memory, warned, as_json=as_json, **options)
        return 0
    given: dict[str, Any] = {} if executable is None else {"executable": executable}
    if threads > 1:
        given["threads"] = threads
    learned = solve_isolated(
        source,
        memory_limit=memory,
        options=given,
        explain=explain,
        progress=(lambda step: click.echo(str(step), err=True)) if progress else None,
        warned=warned,
        find=rule_learner_of,
        **options,
    )
    if as_json:
        _print_json(_as_json(learned))
    else:
        _print(learned)
        if options["verify"]:
            click.echo(f"% {_verification(learned.answer)}")
        if learned.explanation is not None:
            click.echo("\n".join(["", learned.explanation, *learned.answer["why"]]))
        if table is not None and learned.answer["score"] is not None:
            click.echo("% " + "\n% ".join(model.take(learned.solution).rules_.splitlines()))
            if explain:
                click.echo("\n".join(model.why_no_better()))
    nothing = learned.answer["score"] is None and not learned.answer["hypothesis"]
    return 2 if nothing or learned.ended else 0


def _table(
    task: Path, label: str | None, background: Path | None, write_task: Path | None
) -> tuple[RuleClassifier, LasTask] | None:
    """A classifier for a table and its task; None if the file is of another kind."""
    if task.suffix.lower() not in _TABLES:
        for name, given in {"label": label, "background": background, "write-task": write_task}.items():
            if given is not None:
                raise UserError(f"--{name} requires a table, which ends in {', '.join(_TABLES)}; got {task}.")
        return None
    from nsl_bench.api.rule_classifier import RuleClassifier
    from nsl_bench.api.tables import read_table
    from nsl_bench.logic.asp.text import read_text

    features, labels = read_table(task, label)
    text = "" if background is None else read_text(background)
    model = RuleClassifier(label=str(labels.name), background=text)
    return model, model.task(features, labels)


def _print_json(value: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps(value))


def _print_space(
    task: Path | LasTask,
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
        _print_json({"rules": listed, "complete": horizon is None, "missing_cost": horizon})
    elif horizon is None:
        click.echo(f"% {counted(len(rules), 'rule')}")
    else:
        click.echo(f"% cut after {counted(len(rules), 'rule')}; each of the others costs at least {horizon}")


def _as_json(learned: Learned) -> dict[str, Any]:
    """The answer as one JSON object."""
    answer = {name: value for name, value in learned.answer.items() if name != "covered"}
    answer |= {name: dict(answer[name]) for name in ("uncovered", "statistics")}
    answer |= {"seconds": round(learned.seconds, 3), "dialect": learned.dialect}
    if learned.explanation is not None:
        answer["rules"] = learned.rules
    return answer


def _verification(answer: Mapping[str, Any]) -> str:
    """What was verified, and why no more was."""
    if answer["verified"] == "optimality":
        return "verified: " + ("unsatisfiable" if answer["score"] is None else "score and optimality")
    if answer["verified"] == "score":
        return f"verified: score only: {answer['unverified'] or 'the check contradicts the search'}"
    return f"not verified: {answer['unverified'] or 'the check contradicts the search'}"


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


_GRACE = 5.0
"""Seconds beyond the time limit after which a comparison that does not heed it is ended."""


@declared()
def equivalent(
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
    label_atoms: tuple[str, ...] = ()
    if benchmark is not None:
        from nsl_bench.core import registry

        chosen = registry.create("benchmark", benchmark)
        label_atoms = tuple(atom for atom in chosen.labels.atoms if atom is not None)
        atoms = atoms or label_atoms
        texts = {name: getattr(chosen, name) if text is None else text for name, text in texts.items()}
    result = guarded(
        _difference,
        (first, second),
        task,
        atoms,
        label_atoms,
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
    label_atoms: tuple[str, ...],
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
        known=label_atoms,
        time_limit=time_limit,
    )
    return None if result is None else str(result)


def _pairs(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    result: dict[str, str] = {}
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        if not name or not value:
            raise UserError(f"--metadata must be NAME=VALUE, e.g. location=5; got '{text}'.")
        if name in result:
            raise UserError(f"--metadata: {name} is given twice, as {result[name]} and as {value}.")
        result[name] = value
    return result


@declared()
@options_of(
    "nsl_bench.api.rules:predict",
    metadata=None,
    time_limit=click.FloatRange(min=0, min_open=True),
    memory_limit=WHOLE,
)
def predict(
    hypothesis: Path,
    benchmark: str,
    *,
    metadata: Annotated[
        dict[str, str] | None, "Metadata of all examples, NAME=VALUE. Repeatable.", _pairs
    ] = None,
    as_json: Annotated[bool, "--json", "Print one line of JSON for each example or step."] = False,
    **options: Any,
) -> None:
    """Print the label probabilities that the rules in the file HYPOTHESIS give to examples of BENCHMARK.

    The probability of a label is the total probability of the worlds in which the rules derive exactly that
    label. The rest up to 1 belongs to worlds with no label or several.

    In a task of sequences, every step gets a label. It takes into account the images of its sequence up to
    that step.
    """
    from nsl_bench.api.rules import predict as predicted

    result = predicted(hypothesis, benchmark, metadata=metadata, **options)
    if result.note:
        click.echo(f"Note: {result.note}", err=True)
    if as_json:
        for row in result.rows():
            _print_json(row)
    else:
        click.echo(str(result))


@declared()
@options_of(
    "nsl_bench.run.shortcuts:count_shortcuts", split=None, repeat=WHOLE, time_limit=click.FloatRange(min=0)
)
def shortcuts(benchmark: str, **options: Any) -> None:
    """Count the reasoning shortcuts of BENCHMARK from its true rule alone, without training anything.

    A shortcut is a map of concepts to other concepts after which the rule still gives every label. The map
    that changes nothing is counted, too: a task without shortcuts has 1.
    """
    from nsl_bench.run.shortcuts import count_shortcuts

    click.echo(str(count_shortcuts(benchmark, **options)))


@declared()
@options_of(
    "nsl_bench.api.explanation:explain",
    task="--benchmark",
    rules=("--hypothesis", "File with the rules. Default: the true rule."),
    share=("--share", "--percent"),
    repeat=WHOLE,
    data_seed=None,
)
@data_seed_option
def explain(
    example: str, *, out: Annotated[Path | None, "Also save the images to this file."] = None, **options: Any
) -> None:
    """Explain EXAMPLE (train-0, test-17 ...): its images, concepts, rules that fire, and label probabilities.

    With --run, the prediction that the run stored is shown next to what its rules give now.
    """
    from nsl_bench.api.explanation import explain as explained
    from nsl_bench.core.pictures import check_ending, save

    if out is not None:
        check_ending(out)
    result = explained(example, **options)
    if result.rules is not None and result.rules.note:
        click.echo(f"Note: {result.rules.note}", err=True)
    click.echo(str(result))
    if out is not None:
        save(result.image, out)
        click.echo(f"\nImages: {out}")
