"""Options that select a grid of runs, shared by `run`, `plan` and `export`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.sandbox.sealing import DataSeed

__all__ = ["data_seed_option", "grid_options", "grids_of", "percentages", "whole_numbers"]


def percentages(ctx: click.Context, parameter: click.Parameter, text: str | None) -> list[float]:
    """Parse ``0,50,90`` or ``0-100/10`` (from, to, step) into numbers."""
    option = parameter.opts[0] if parameter.opts else "--shares"
    found = _spans(option, text, "0,50,90 or 0-100/10")
    for percent in found:
        if not 0 <= percent <= 100:
            raise UserError(f"{option} must be between 0 and 100; got {percent:g}.")
    return found


def _spans(option: str, text: str | None, example: str) -> list[float]:
    """Numbers, and spans of numbers with a step."""
    found: list[float] = []
    for piece in text.split(",") if text else []:
        span, _, step = piece.partition("/")
        first, dash, last = span.partition("-")
        try:
            if dash and first:
                width = float(step or 1)
                count = int((float(last) - float(first)) / width + 1e-9)
                found += [float(first) + k * width for k in range(count + 1)]
            else:
                found.append(float(span))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise UserError(f"{option} must be numbers such as {example}; got '{piece}'.") from None
    return found


def whole_numbers(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Parse ``0,1,2`` or ``0-2`` into whole numbers."""
    found = _spans(parameter.opts[0], text, "0,1,2")
    if any(number != int(number) or number < 0 for number in found):
        raise UserError(f"{parameter.opts[0]} must be whole numbers such as 0,1,2; got '{text}'.")
    return tuple(map(int, found))


def _many(name: str, variable: str, help: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(name, variable, multiple=True, help=help, **more)


_SHARES = ("percents", "train_percents", "test_percents")

_OPTIONS = [
    click.argument("benchmark"),
    _many("--learner", "learners", "Learner: name, module:Class or file.py:Class. Repeatable."),
    _many(
        "--learner-command",
        "commands",
        "Learner as a command in any language (docs/add-a-learner.md). Write TRACK=COMMAND if its track is "
        "not pretrained, csv=COMMAND or json=COMMAND for other files than parquet. Repeatable.",
    ),
    _many("--shift", "shifts", "Shift, as a short name or spec. Repeatable.", default=["standard"]),
    click.option(
        "--shares",
        "--percents",
        "percents",
        default="0",
        callback=percentages,
        help="Shares of shifted examples (%) in both train and test set, e.g. 0,50,90 or 0-100/10.",
    ),
    _many("--train-shift", "train_shifts", "Shift of the train images, instead of --shift. Repeatable."),
    click.option(
        "--train-shares",
        "train_percents",
        callback=percentages,
        help="Shares of shifted train examples (%). Each is combined with each of --test-shares.",
    ),
    _many("--test-shift", "test_shifts", "Shift of the test images, instead of --shift. Repeatable."),
    click.option(
        "--test-shares",
        "test_percents",
        callback=percentages,
        help="Shares of shifted test examples (%).",
    ),
    click.option(
        "--preset",
        default="",
        help="Shares by name, 0 to 100 % in steps of 10, of the task's first shift unless one is named: "
        "shift (train and test examples alike), run-time-shift (test only) or train-shift. Or "
        "test tasks by name: longer, longer-seen-images (addition), more-disks, more-disks-longer (hanoi).",
    ),
    _many(
        "--test-task",
        "test_tasks",
        "Task of the same family to test on, e.g. sudoku_9x9 for sudoku_4x4. Repeatable; default: BENCHMARK.",
    ),
    _many("--size", "sizes", "Train size. Repeatable.", default=["small"], show_default=True),
    click.option(
        "--repeats", default=5, show_default=True, type=click.IntRange(1), help="Number of train splits."
    ),
    _many("--source", "sources", "Image source: mnist:FOLDER, decks:FOLDER,standard=DECK ... Repeatable."),
    _many("--network", "networks", "Perception network. Repeatable.", default=["softmax"], show_default=True),
    click.option(
        "--network-seeds",
        callback=whole_numbers,
        help="Seeds of each network, e.g. 0,1,2. Default: the network's own.",
    ),
    click.option(
        "--learner-seeds",
        "learner_draws",
        default="0",
        show_default=True,
        callback=whole_numbers,
        help="Seeds of each learner, e.g. 0,1,2.",
    ),
    click.option(
        "--track",
        type=click.Choice(["own", "symbolic"]),
        default="own",
        show_default=True,
        help=(
            "own: the learner's track. symbolic: learners see true concepts instead of network predictions."
        ),
    ),
    click.option(
        "--splits",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help=(
            "Folder of existing splits (test.csv, small/train_1.csv ...) to use instead of generating them."
        ),
    ),
    click.option("--seed", default=0, show_default=True, help="Seed of the data and the learners."),
]

data_seed_option = click.option(
    "--data-seed-file",
    "data_seed",
    type=click.Path(path_type=Path),
    callback=lambda ctx, parameter, path: None if path is None else _data_seed(path),
    help="File with a secret seed for the data, used instead of --seed. Learners cannot read it.",
)


def _data_seed(path: Path) -> DataSeed:
    from nsl_bench.sandbox.sealing import DataSeed

    return DataSeed.read(path)


def grid_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument BENCHMARK and the options of a grid to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def grids_of(options: dict[str, Any]) -> list[Any]:
    """Remove the grid options from `options` and return their grids. BENCHMARK may be a plan file.

    Raises:
        UserError: an option is combined with a plan, or there is no learner.
    """
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.plan import Grid, read

    names = (
        "learners",
        "commands",
        *(f.name for f in fields(Grid) if f.name not in ("benchmark", "learners")),
    )
    given = {name: options.pop(name) for name in names}
    benchmark = options.pop("benchmark")
    if benchmark.endswith(".toml"):
        context = click.get_current_context()
        for name in names:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise UserError(
                    f"--{name} cannot be combined with the plan {benchmark}; edit the plan instead."
                )
        return cast("list[Any]", read(Path(benchmark)))
    learners = (*given.pop("learners"), *map(spec_of, given.pop("commands")))
    if not learners:
        raise UserError("No learner given; name one with --learner or --learner-command.")
    splits = given.pop("splits")
    return [
        Grid(
            benchmark,
            learners,
            repeats=tuple(range(1, given.pop("repeats") + 1)),
            **{name: tuple(given.pop(name)) for name in _SHARES},  # type: ignore[arg-type]
            splits="" if splits is None else str(splits),
            **given,
        )
    ]
