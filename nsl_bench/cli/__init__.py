"""The command line: ``nsl-bench COMMAND``.

Every sub-command is an entry point in the group ``nsl_bench.commands``, imported when it is called. Imports
all rooms, and none imports it. Begin with `running` (``nsl-bench run``) and `grid` (options of a sweep).
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any, TextIO

import click

from nsl_bench import __version__
from nsl_bench.core.errors import Interrupted, UserError, did_you_mean
from nsl_bench.core.interrupts import be_patient, exit_code, hear_termination

__all__ = ["Command", "command_line", "main", "problems_found", "run"]

GROUP = "nsl_bench.commands"
CPU_TORCH = (
    "Without a GPU: pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu (0.2 GB)."
)
"""The short way to install what networks need; pip by itself takes 5 GB."""
_WORDS = "nsl_bench.words"


class Command(click.Command):
    """A sub-command whose help ends with examples that work.

    Args:
        declare: makes the arguments and options when they are first needed; ``nsl-bench --help`` needs none.
        examples: command lines, shown at the end of the help; by default those of ``examples.toml``.
    """

    def __init__(
        self,
        *args: Any,
        declare: Callable[[], list[click.Parameter]] = list,
        examples: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._examples = tuple(examples)
        self._declare = declare
        self._params: list[click.Parameter]

    @property
    def examples(self) -> tuple[str, ...]:
        """Command lines, shown at the end of the help."""
        return self._examples or tuple(_examples().get(self.name or "", ()))

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments and options."""
        if not self._params:
            self._params = self._declare()
        return self._params

    @params.setter
    def params(self, given: list[click.Parameter]) -> None:
        self._params = given

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words behind the command's name; ``nan`` is a number for Python, and for no option."""
        rest = super().parse_args(ctx, args)
        for one in self.get_params(ctx):
            value = ctx.params.get(one.name or "")
            if isinstance(value, float) and math.isnan(value):
                raise click.BadParameter("must be a number; got nan.", ctx, one)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one a line."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


@cache
def _examples() -> dict[str, list[str]]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(point.name for point in _points())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        point = _own().get(cmd_name) or next((one for one in _points() if one.name == cmd_name), None)
        try:
            return None if point is None else point.load()
        except ImportError as error:
            return _broken(cmd_name, str(error))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line, which `command_line` gives again."""
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a broken pipe to another process is an error, which click would hide."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE or isinstance(error, BrokenPipeError):
                raise RuntimeError("A process that nsl-bench started ended unexpectedly.") from error
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise UserError(f"Unknown command '{args[0]}'.{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def command_line() -> str:
    """The command line as it was given, to be copied into a terminal."""
    import shlex

    return shlex.join(["nsl-bench", *click.get_current_context().meta[_WORDS]])


@cache
def _own() -> dict[str, EntryPoint]:
    """The commands of this package, which need no look through all installed ones."""
    own = (point for package in distributions(name="nsl-bench") for point in package.entry_points)
    return {point.name: point for point in own if point.group == GROUP}


@cache
def _points() -> tuple[EntryPoint, ...]:
    """The commands of all installed packages."""
    return tuple(entry_points(group=GROUP))


def _broken(name: str, reason: str) -> click.Command:
    """A stand-in for another package's command that cannot be imported, so that the rest still works."""

    def refuse(words: tuple[str, ...]) -> None:
        raise UserError(f"The command '{name}' cannot be imported: {reason}.")

    anything = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name,
        callback=refuse,
        params=[anything],
        context_settings={"ignore_unknown_options": True},
        help=f"Cannot be imported: {reason}.",
    )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nsl-bench")
def main() -> None:
    """Benchmark neural-symbolic learners under distributional shift.

    Exit codes: 0 for success, 1 if a run or a check failed, 2 for wrong input, 130 for Ctrl-C.
    """


class _Output:
    """Standard output that ends the program, with exit code 141, once nobody reads it.

    The pipe that breaks is then known to be this one.

    Args:
        stream: standard output.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, as a stream does."""
        with self._read():
            return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, as a stream does."""
        with self._read():
            self._stream.writelines(lines)

    def flush(self) -> None:
        """Hand on what is written, as a stream does."""
        with self._read():
            self._stream.flush()

    @contextlib.contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            with contextlib.suppress(OSError, ValueError):  # Python writes out the rest at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            sys.exit(141)


def run(args: Sequence[str] | None = None) -> None:
    """Run the program and exit.

    Exit codes: 0 for success, 2 for wrong input, 130 for Ctrl-C, 141 for a closed pipe, 143 for SIGTERM.
    """
    be_patient()
    hear_termination()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # Python forgets its handlers at the end
    try:
        with contextlib.redirect_stdout(_Output(sys.stdout)):
            code = main.main(
                args=None if args is None else list(args), prog_name="nsl-bench", standalone_mode=False
            )
    except UserError as error:
        _stop(str(error), 2)
    except OSError as error:
        if error.filename is None:
            raise
        _stop(f"{error.filename} cannot be read or written: {error.strerror}.", 2)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "torchvision"):
            raise
        _stop(f"This needs PyTorch: networks see the images. {CPU_TORCH}", 2)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.UsageError as error:
        sentence = " ".join(error.format_message().split())
        vague = isinstance(error, click.MissingParameter) or type(error) is click.UsageError
        more = f"; see `{error.ctx.command_path} --help`." if vague and error.ctx else ""
        _stop(f"{sentence.removesuffix('.')}{more}" if more else sentence, 2)
    except click.ClickException as error:
        _stop(" ".join(error.format_message().split()), 2)
    except Interrupted as error:
        _stop(str(error), exit_code())
    except (KeyboardInterrupt, click.Abort):
        _stop("Interrupted.", exit_code())
    sys.exit(code if isinstance(code, int) else 0)


def problems_found(count: int) -> str:
    """The last line of a command that checks something: ``"No problems found."`` or how many."""
    return f"{count} problem{'s' * (count > 1)} found." if count else "No problems found."


def _stop(sentence: str, code: int) -> None:
    # Names of files and the like may hold anything.
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence)
    click.echo(f"nsl-bench: {printable}", err=True)
    sys.exit(code)
