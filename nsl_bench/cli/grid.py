"""The options that say which runs there are to do; `run`, `plan` and `export` share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.sealing import DataSeed

__all__ = ["data_seed_option", "grid_options", "grids_of", "percentages", "whole_numbers"]


def percentages(ctx: click.Context, parameter: click.Parameter, text: str | None) -> list[float]:
    """``0,50,90`` or ``0-100/10`` (from, to, step) as numbers."""
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
    """``0,1,2`` or ``0-2`` as whole numbers."""
    found = _spans(parameter.opts[0], text, "0,1,2")
    if any(number != int(number) or number < 0 for number in found):
        raise UserError(f"{parameter.opts[0]} must be whole numbers such as 0,1,2; got '{text}'.")
    return tuple(map(int, found))


def _many(name: str, variable: str, help: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(name, variable, multiple=True, help=help, **more)


_SHARES = ("percents", "train_percents", "test_percents")

_OPTIONS = [
    click.argument("benchmark"),
    _many("--learner", "learners", "Name, or module:Class or file.py:Class; repeatable."),
    _many(
        "--learner-command",
        "commands",
        "A command in any language, handed a folder (docs/add-a-learner.md); TRACK=COMMAND if its track is "
        "not pretrained; repeatable.",
    ),
    _many("--shift", "shifts", "Short name or spec; repeatable.", default=["standard"]),
    click.option(
        "--shares",
        "--percents",
        "percents",
        default="0",
        callback=percentages,
        help="Shares of shifted examples (%), in train and test set alike: 0,50,90 or 0-100/10.",
    ),
    _many("--train-shift", "train_shifts", "Of the train images, in place of --shift; repeatable."),
    click.option(
        "--train-shares",
        "train_percents",
        callback=percentages,
        help="Shares of shifted train examples (%); each meets each of --test-shares.",
    ),
    _many("--test-shift", "test_shifts", "Of the test images, in place of --shift; repeatable."),
    click.option(
        "--test-shares",
        "test_percents",
        callback=percentages,
        help="Shares of shifted test examples (%).",
    ),
    _many("--size", "sizes", "Train size; repeatable.", default=["small"], show_default=True),
    click.option(
        "--repeats", default=5, show_default=True, type=click.IntRange(1), help="Independent train sets."
    ),
    _many("--source", "sources", "Image source: mnist:FOLDER, decks:FOLDER,standard=DECK ...; repeatable."),
    _many("--network", "networks", "Perception network; repeatable.", default=["softmax"], show_default=True),
    click.option(
        "--network-seeds",
        callback=whole_numbers,
        help="Seeds of each network: 0,1,2. Default: its own.",
    ),
    click.option(
        "--learner-seeds",
        "learner_draws",
        default="0",
        show_default=True,
        callback=whole_numbers,
        help="Which seeds of each learner: 0,1,2.",
    ),
    click.option(
        "--track",
        type=click.Choice(["own", "symbolic"]),
        default="own",
        show_default=True,
        help="symbolic: learners see true concepts instead of a network's predictions.",
    ),
    click.option(
        "--splits",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder of splits (test.csv, small/train_1.csv ...) to use in place of generated ones.",
    ),
    click.option("--seed", default=0, show_default=True, help="Of data and learners."),
]

data_seed_option = click.option(
    "--data-seed-file",
    "data_seed",
    type=click.Path(path_type=Path),
    callback=lambda ctx, parameter, path: None if path is None else _data_seed(path),
    help="File with a secret seed, which the data follow in place of --seed; learners cannot read it.",
)


def _data_seed(path: Path) -> DataSeed:
    from nsl_bench.sealing import DataSeed

    return DataSeed.read(path)


def grid_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument BENCHMARK and the options of a grid."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def grids_of(options: dict[str, Any]) -> list[Any]:
    """The grids that the options say; takes them out of `options`. BENCHMARK may be a plan's file.

    Raises:
        UserError: options beside a plan, or no learner.
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
                    f"The plan {benchmark} says what to run; edit it in place of giving --{name}."
                )
        return cast("list[Any]", read(Path(benchmark)))
    learners = (*given.pop("learners"), *map(spec_of, given.pop("commands")))
    if not learners:
        raise UserError("There is no learner; name one with --learner or --learner-command.")
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
