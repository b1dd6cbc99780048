"""``nsl-bench report`` and ``reproduce``: tables and figures of results folders, beside those of papers."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from nsl_bench.cli.board_options import Choice, Device, Jobs
from nsl_bench.cli.declared import FILE, FOLDER, declared, options_of
from nsl_bench.cli.grid import percentages
from nsl_bench.core.errors import UserError, counted, did_you_mean, unknown

if TYPE_CHECKING:
    from nsl_bench.api.results import Format, Results


_FILTERS = ("benchmark", "test_task", "learner", "network", "track", "shift", "size", "source")


def _names(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    result = {}
    for text in texts:
        spec, _, name = text.rpartition("=")
        if not spec or not name:
            raise UserError(f"--name must be LEARNER=NAME, e.g. ffnsl=FFNSL; got '{text}'.")
        result[spec] = name
    return result


def _filters(function: Any) -> Any:
    for name in reversed(_FILTERS):
        words = name.replace("_", " ")
        option = click.option(
            f"--{words.replace(' ', '-')}",
            name,
            multiple=True,
            help=f"Only runs of this {words}. Repeatable.",
        )
        function = option(function)
    return function


def _report(
    results: Results,
    *,
    form: Annotated[
        Literal["markdown", "csv", "latex", "html"], "--format", "Output format of the tables."
    ] = "markdown",
    layout: Annotated[
        Literal["long", "wide"],
        "long: one row per learner and share. wide: one row per learner, one column per share or test task; "
        "bold: better than all others of its column.",
    ] = "long",
    metrics: Annotated[tuple[str, ...], "--metric", "Metric to show. Repeatable."] = (),
    against: Annotated[
        str | None, "Also show paired differences between this learner and every other one."
    ] = None,
    confusion: Annotated[bool, "Also show how often each label was predicted for each true label."] = False,
    predicates: Annotated[
        tuple[str, ...],
        "--holds",
        "Count the train splits whose rules mention this predicate or constant; true_rule: the share of the "
        "true rule's rules that they contain. Repeatable.",
    ] = (),
    intervals: Annotated[
        bool, "Show 95 % intervals of accuracy over train splits, seeds, and test examples or images."
    ] = False,
    interventions: Annotated[bool, "Show accuracy given true concepts (see run --interventions)."] = False,
    perceived: Annotated[bool, "Show which concepts the network predicts on the train images."] = False,
    curves: Annotated[bool, "--curves/--no-curves", "Draw figures of everything in --out."] = False,
    picture_format: Annotated[Literal["png", "svg", "pdf"], "File format of these figures."] = "png",
    out: Annotated[
        Path | None, "Folder for these figures. Default: curves/ in the first results folder.", FOLDER
    ] = None,
    figure: Annotated[
        Path | None,
        "Draw the curves of all tasks as one figure for a paper, a .pdf, .svg or .png file.",
        FILE,
    ] = None,
    width: Annotated[float, "Width of --figure in inches."] = 6.75,
    font_size: Annotated[float, "Size of the text in --figure, in points."] = 9.0,
    predictions: Annotated[
        Path | None, "Write every prediction to this CSV file, with the concepts that the network saw.", FILE
    ] = None,
) -> None:
    """Print the tables that are asked for, and draw."""
    from nsl_bench.report.tables import interventions as with_true_concepts

    texts = [results.table(metrics or None, form, layout)]
    if against is not None:
        texts.append(results.against(against, metrics or None, form))
    if confusion:
        texts.append(results.confusion(form))
    if intervals:
        title = "95 % intervals of accuracy, and what its standard error is made of"
        texts.append(_table(title, results.intervals(), form))
    if interventions:
        texts.append(_table("Accuracy given true concepts", with_true_concepts(results.frame), form))
    folder = (out or results.folder / "curves") if curves else None
    more, drawn = _analysed(results, predicates, perceived, form, folder, picture_format)
    if folder is not None:
        drawn += [*results.curves(folder, metrics or None, picture_format)]
        drawn += _more_pictures(results, folder, picture_format)
    if figure is not None:
        drawn.append(results.figure(figure, metrics or None, width=width, font_size=font_size))
    count = 0 if predictions is None else results.write_predictions(predictions)
    click.echo("\n".join(texts + more), nl=False)  # once nothing that was asked for can be refused
    if form == "csv":
        _say_what_counts(results)
    for path in drawn:
        click.echo(f"Curves: {path}", err=True)
    if predictions is not None:
        click.echo(f"{counted(count, 'prediction')}: {predictions}", err=True)


@declared()
@_filters
@options_of(_report)
def report(
    results: tuple[Path, ...],
    *,
    shares: Annotated[
        tuple[float, ...], "Only runs at these shares (%), e.g. 0,50,90 or 0-100/10.", percentages
    ] = (),
    names: Annotated[
        dict[str, str] | None, "--name", "Display name of a learner, LEARNER=NAME. Repeatable.", _names
    ] = None,
    over: Annotated[
        str | None, "Show everything over this dial of the annotation (see run), e.g. wrong_labels."
    ] = None,
    runs: Annotated[bool, "List the runs with their keys instead of tables."] = False,
    **options: Any,
) -> None:
    """Print mean and standard error over train splits, one table for each task.

    RESULTS are results folders. If a run is in several, the last folder counts. Figures (--curves) show
    metrics over the share of shifted examples, causes of errors, and reliability diagrams.
    """
    from nsl_bench.api.results import Results

    result = Results(*results, names=names)
    for spec in names or () if len(result) else ():
        if spec not in set(result.frame["learner"]):
            raise UserError(f"--name: {unknown('learner in these results', spec, result.frame['learner'])}")
    where: dict[str, Any] = {name: list(value) for name in _FILTERS if (value := options.pop(name))}
    if shares:
        where["share"] = shares
    if where and len(result):
        result = result.where(**where)
        if result.frame.empty:
            asked = ", ".join(f"{name} {' or '.join(map(str, values))}" for name, values in where.items())
            raise UserError(f"No run has all of these: {asked}; leave one out.")
    if over is not None:
        result = result.over(over)
    if result.frame.empty or not (runs or (result.frame["status"] == "ok").any()):
        click.echo(f"No finished runs in {' and '.join(map(str, results))}.", err=True)
        if not result.frame.empty:
            _say_what_counts(result)
    elif runs:
        click.echo(_listed(result), nl=False)
    else:
        _report(result, **options)


def _listed(results: Results) -> str:
    """Every run with its key."""
    tested = ["test_task"] if results.frame["test_task"].any() else []
    of_run = ("learner", "network", "shift", "percent", "size", "repeat")
    columns = ["key", "status", "benchmark", *tested, *of_run]
    table = results.frame[columns].rename(columns={"percent": "shifted (%)"})
    return f"{table.to_string(index=False)}\n"


def _say_what_counts(results: Results) -> None:
    """Say on standard error what tables for people have in their notes."""
    for note in results.notes():
        click.echo(note, err=True)


def _table(title: str, table: Any, form: Format) -> str:
    from nsl_bench.report.escaping import csv_text
    from nsl_bench.report.typeset import laid, written

    return csv_text(table) if form == "csv" else written([laid(title, table)], form)


def _analysed(
    results: Results,
    predicates: tuple[str, ...],
    perceived: bool,
    form: Format,
    folder: Path | None,
    picture_format: str,
) -> tuple[list[str], list[Path]]:
    """Tables of what rules are about and what networks see; their pictures, if there is a folder for them."""
    from nsl_bench.report import analysis

    texts, drawn = list[str](), list[Path]()
    if predicates:
        shares = analysis.rule_shares(results, predicates)
        mentioned = analysis.subjects(results)
        for name in (name for name in predicates if name not in {*mentioned, analysis.TRUE_RULE}):
            click.echo(f"Note: no hypothesis mentions {name}.{did_you_mean(name, mentioned)}", err=True)
        texts.append(_table("Share of repeats with a rule about", shares, form))
        if folder:
            drawn += analysis.draw_shares(shares, predicates, folder, "rules", format=picture_format)
    if perceived:
        seen = analysis.perceived_shares(results)
        texts.append(_table("What the train images are taken for", seen, form))
        features = analysis.recognised_shares(results)
        if len(features):
            texts.append(_table("What is recognised in the train images", features, form))
        if folder:
            drawn += analysis.draw_perceived(analysis.frequent_shares(seen), folder, format=picture_format)
    return texts, drawn


def _more_pictures(results: Results, folder: Path, picture_format: str) -> list[Path]:
    """Reliability diagrams and the causes of errors."""
    from nsl_bench.report import analysis
    from nsl_bench.report.reliability import draw_reliability

    drawn = draw_reliability(results, folder, format=picture_format)
    with contextlib.suppress(UserError):  # without rules there are no causes
        drawn += analysis.draw_errors(analysis.error_shares(results), folder, format=picture_format)
    return drawn


@declared()
def reproduce(
    paper: Annotated[str, Choice(["ffnsl2023", "ffnsl2021", "nsl2020", "ntoc2023", "neuid3"])],
    *,
    tasks: Annotated[
        tuple[str, ...],
        "--task",
        "Task of the FFNSL papers to reproduce. Repeatable. Default: all.",
        Choice(["follow_suit", "sudoku_4x4", "sudoku_9x9"]),
    ] = (),
    preset: Annotated[
        str,
        "paper: all that the paper has, with its networks. quick: fewer repeats, smaller networks, and of "
        "NTOC and NeuID3 no runs that take more than ten minutes.",
        Choice(["quick", "paper"]),
    ] = "quick",
    quick: Annotated[bool, "The same as --preset quick."] = False,
    data: Annotated[
        Path | None,
        "Folder with mnist/, uci/ (NeuID3) and ffnsl_splits/ (the FFNSL paper's examples). "
        "Default: ../shared/data.",
        FOLDER,
    ] = None,
    images: Annotated[bool, "--images/--no-images", "Also run Sudoku on MNIST, if it is available."] = True,
    dry_run: Annotated[
        bool, "Say how many runs are left and how long they take, without doing them."
    ] = False,
    jobs: Jobs = 1,
    device: Device = "auto",
    out: Annotated[Path, "Results folder. An existing one is resumed.", FOLDER],
) -> int:
    """Run PAPER's experiments and write a page with published and measured figures side by side.

    Results are kept in OUT. Run the same command again to resume.
    """
    from nsl_bench.report.published.pages import summary, write_report
    from nsl_bench.report.published.reproduce import reproduction
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import Executor, duration, sweep

    if tasks and not paper.startswith("ffnsl"):
        raise UserError(f"--task applies to the FFNSL papers; {paper} has no choice of tasks.")
    if quick and preset == "paper":
        raise UserError("Give either --quick or --preset paper.")
    if data and not paper.startswith("ffnsl") and not data.is_dir():
        raise UserError(f"--data: the folder {data} does not exist.")
    if device != "auto":
        from nsl_bench.perception.training import pick_device

        pick_device(device)
    data = data or Path("../shared/data")
    whole = reproduction(paper, preset, data, tasks, images=images)
    for what in whole.lacking:
        click.echo(what, err=True)
    if dry_run:
        done = Store(out).statuses() if (out / "store.json").is_file() else {}
        left = [job for job in whole.jobs if job.key() not in done]
        time = duration(60 * whole.minutes(left) / jobs)
        click.echo(f"{paper}: {len(left)} of {len(whole.jobs)} runs to do, about {time} with --jobs {jobs}.")
        return 0
    store, runs = Store(out), whole.jobs
    while True:
        tally = sweep(
            runs,
            store,
            Bench(device),
            lambda record: click.echo(f"{record.status}: {record.job}: {record.message}", err=True),
            executor=Executor(jobs),
        )
        further = whole.further(store)
        if not further:
            break
        runs = [*runs, *further]
    figures = whole.compare(store)
    words = ["nsl-bench", "reproduce", paper, *(word for task in tasks for word in ("--task", task))]
    words += ["--preset", preset, *([] if images else ["--no-images"])]
    command = shlex.join([*words, "--data", str(data), "--out", str(out)])
    for path in write_report(figures, out, command, name=paper):
        click.echo(path)
    click.echo(f"{tally}. {summary(figures)}")
    return tally.exit_code
