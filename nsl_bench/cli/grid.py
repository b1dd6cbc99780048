"""Options that select a grid of runs, shared by `run`, `plan` and `export`."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nsl_bench.cli.declared import OLD_FOLDER, options_made_by
from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    from nsl_bench.run.grid import Grid
    from nsl_bench.sandbox.sealing import DataSeed


_MOST, _MOST_WITHOUT_STEP = 1000, 20
"""Numbers that a span may stand for; without a step, more were hardly meant."""


def percentages(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Parse ``0,50,90`` or ``0-100/10`` (from, to, step) into numbers."""
    option = parameter.opts[0] if parameter.opts else "--shares"
    result = _spans(option, text, "0,50,90 or 0-100/10")
    for percent in result:
        if not 0 <= percent <= 100:
            raise UserError(f"{option} must be between 0 and 100; got {percent:g}.")
    return tuple(result)


def _spans(option: str, text: str | None, example: str) -> list[float]:
    """Numbers, and spans of numbers with a step."""
    result: list[float] = []
    for piece in text.split(",") if text else []:
        span, _, step = piece.partition("/")
        first, dash, last = span.partition("-")
        try:
            if dash and first:
                width = float(step or 1)
                count = int((float(last) - float(first)) / width + 1e-9)
                if width <= 0 or not 0 <= count < _MOST:
                    raise ValueError
                if not step and count >= _MOST_WITHOUT_STEP:
                    raise UserError(
                        f"{option}: {piece} stands for {count + 1} numbers; write {piece}/10 for steps of "
                        f"10, or {piece}/1 for all."
                    )
                result += [float(first) + k * width for k in range(count + 1)]
            else:
                result.append(float(span))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise UserError(f"{option} must be numbers such as {example}; got '{piece}'.") from None
    return result


def whole_numbers(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Parse ``0,1,2`` or ``0-2`` into whole numbers."""
    result = _spans(parameter.opts[0], text, "0,1,2")
    if any(number != int(number) or number < 0 for number in result):
        raise UserError(f"{parameter.opts[0]} must be whole numbers such as 0,1,2; got '{text}'.")
    return tuple(map(int, result))


def _command() -> click.Option:
    return click.Option(
        ["--learner-command", "commands"],
        multiple=True,
        help="Learner as a command in any language (docs/add-a-learner.md). Write TRACK=COMMAND if its track "
        "is not pretrained, csv=COMMAND or json=COMMAND for other files than parquet. Repeatable.",
    )


def _option(one: Field[Any]) -> click.Parameter:
    """A field of a grid as an option."""
    if not one.metadata["flags"]:
        return click.Argument([one.name])
    text, names = one.metadata["meaning"], (*one.metadata["flags"], one.name)
    default = () if one.default is MISSING else one.default
    if one.name == "repeats":
        return click.Option(names, default=len(default), show_default=True, type=click.IntRange(1), help=text)
    if one.name == "splits":
        return click.Option(names, type=OLD_FOLDER, help=text)
    if not isinstance(default, tuple):
        choice = {"track": click.Choice(["own", "symbolic"])}.get(one.name, type(default))
        return click.Option(names, type=choice, default=default, show_default=default != "", help=text)
    if one.name.endswith(("percents", "seeds", "draws")):
        shares = one.name.endswith("percents")
        parse, example = (percentages, "0,50,90 or 0-100/10") if shares else (whole_numbers, "0,1,2")
        written = ",".join(map(str, default))
        text = f"{text} For example {example}."
        return click.Option(names, default=written, show_default=bool(written), callback=parse, help=text)
    text = f"{text} Repeatable."
    return click.Option(names, multiple=True, default=default, show_default=bool(default), help=text)


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


def _grid_options() -> list[click.Parameter]:
    from nsl_bench.run.grid import Grid

    benchmark, learners, *others = map(_option, fields(Grid))
    return [benchmark, learners, _command(), *others]


grid_options = options_made_by(_grid_options)
"""Gives a command the argument BENCHMARK and the options of a grid."""


def grids_of(options: dict[str, Any]) -> list[Grid]:
    """Remove the grid options from `options` and return their grids. BENCHMARK may be a plan file."""
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.grid import Grid
    from nsl_bench.run.plan import read

    given = {one.name: options.pop(one.name) for one in fields(Grid)}
    commands = options.pop("commands")
    benchmark = given["benchmark"]
    if benchmark.endswith(".toml"):
        context = click.get_current_context()
        for name in (*given, "commands"):
            source = context.get_parameter_source(name)
            if name != "benchmark" and source is click.core.ParameterSource.COMMANDLINE:
                raise UserError(
                    f"--{name} cannot be combined with the plan {benchmark}; edit the plan instead."
                )
        return read(Path(benchmark))
    given["learners"] = (*given["learners"], *map(spec_of, commands))
    if not given["learners"]:
        raise UserError("No learner given; name one with --learner or --learner-command.")
    given["repeats"] = tuple(range(1, given["repeats"] + 1))
    given["splits"] = str(given["splits"] or "")
    return [Grid(**given)]
