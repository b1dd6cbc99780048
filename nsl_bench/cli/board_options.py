"""What several of the board's commands share: options, and words on progress."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import click

from nsl_bench.cli.declared import FILE, FOLDER, WHOLE
from nsl_bench.core.errors import did_you_mean
from nsl_bench.core.tracks import Track


def _built_in(ctx: click.Context, parameter: click.Parameter, given: Path | None) -> Path:
    """The board's file or the folder of submissions that is given, or the built-in one."""
    from nsl_bench.leaderboard.accepted import SUBMISSIONS as ACCEPTED
    from nsl_bench.leaderboard.contests import BOARD as CONTESTS

    return given or (CONTESTS if parameter.name == "board" else ACCEPTED)


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some names; a wrong one gets the name that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name, if it is one of them."""
        if value not in self.choices:
            self.fail(f"Unknown value '{value}'.{did_you_mean(str(value), self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


BUILT_IN: Any = None
"""The default of `Board` and `Submissions`."""
Board = Annotated[Path, "board.toml with the contests. Default: the built-in board.", FILE, _built_in]
Submissions = Annotated[Path, "Folder of accepted submissions. Default: the built-in one.", FOLDER, _built_in]
Contests = Annotated[tuple[str, ...], "--contest", "Contest of the board. Repeatable. Default: all."]
Device = Annotated[str, "Device for networks: auto, cpu or cuda."]
Jobs = Annotated[int, "Number of parallel runs.", WHOLE]
TRACKS = Choice(list(get_args(Track)))

_ABOUT = [
    click.option("--authors", default="", help="Authors, on one line."),
    click.option("--description", default="", help="Description of the learner, in one paragraph."),
    click.option("--url", default="", help="Address of the code or paper."),
]


def about_options(*, required: bool = True) -> Callable[[Any], Any]:
    """Give a command the options of what the board says of a learner."""

    def given(function: Any) -> Any:
        for option in reversed(_ABOUT):
            function = option(function)
        licence = "Licence of the predictions and rules, e.g. CC-BY-4.0."
        function = click.option("--licence", required=required, default=None, help=licence)(function)
        return click.option(
            "--name", required=required, default=None, help="Name of the learner on the board."
        )(function)

    return given


def line(*words: str | Path, **options: Path | str | None) -> str:
    """A command line to be copied into a terminal; options that are None or built in are left out."""
    from nsl_bench.leaderboard.accepted import SUBMISSIONS as ACCEPTED
    from nsl_bench.leaderboard.contests import BOARD as CONTESTS

    options_given = {
        name: value for name, value in options.items() if value not in (None, CONTESTS, ACCEPTED)
    }
    given = [word for name, value in options_given.items() for word in (f"--{name}", value)]
    texts = (
        f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
        for word in [*words, *given]
    )
    return shlex.join(["nsl-bench", *texts])


class Progress:
    """Says on standard error what is being done, at first and then every few seconds."""

    _SECONDS = 5.0

    def __init__(self) -> None:
        self._last = float("-inf")

    def __call__(self, sentence: str) -> None:
        if time.monotonic() > self._last + self._SECONDS:
            self._last = time.monotonic()
            click.echo(sentence, err=True)
