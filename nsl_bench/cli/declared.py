"""Commands whose options are declared once: in the signature of their function, or of one that they call."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from nsl_bench.cli import Command

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OLD_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
WHOLE = click.IntRange(1)
"""A whole number of 1 or more."""

_EMPTY = inspect.Parameter.empty

_ENTRY = re.compile(r"^    (\w+): (.+(?:\n {6,}.+)*)", re.MULTILINE)
"""What a docstring says of an argument or attribute."""


def declared(
    *, name: str | None = None, examples: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Command]:
    """Decorator that makes a function a command; its parameters become arguments and options.

    What comes before ``*`` is an argument. An option is ``name: Annotated[TYPE, "help", ...] = default``.
    With its help may stand other flags (``"--format"``), a type of click, and a function that parses the
    text. Options that other decorators added come first.

    Args:
        name: of the command.
        examples: command lines, shown at the end of the help; by default those of ``examples.toml``.
    """

    def make(function: Callable[..., Any]) -> Command:
        return Command(
            name or function.__name__.replace("_", "-"),
            callback=function,
            declare=partial(_parameters, function),
            help=inspect.cleandoc(function.__doc__ or ""),
            examples=examples,
        )

    return make


def _parameters(function: Callable[..., Any]) -> list[click.Parameter]:
    result: list[click.Parameter] = []
    for one in reversed(getattr(function, "__click_params__", ())):
        result += [one] if isinstance(one, click.Parameter) else one()
    names = {one.name for one in result}
    for argument in inspect.signature(function).parameters.values():
        if argument.name not in names and argument.kind is not argument.VAR_KEYWORD:
            result.append(_parameter(argument, _hint(function, argument)))
    return result


def options_made_by(make: Callable[[], list[click.Parameter]]) -> Callable[[Any], Any]:
    """Decorator that adds the arguments and options that a function makes once the command needs them."""

    def add(function: Any) -> Any:
        function.__click_params__ = [*getattr(function, "__click_params__", ()), make]
        return function

    return add


def options_of(called: Callable[..., Any] | str, **changes: Any) -> Callable[[Any], Any]:
    """Decorator that adds the arguments with a default of a function that a command calls, as options.

    Args:
        called: the function, or ``"module:name"`` to import it only when the command is called or explained;
            its docstring says what the arguments mean.
        changes: for an argument other flags, another meaning, or a type of click, one or several; None to
            leave it out.
    """

    return options_made_by(partial(_options, called, changes))


def _options(called: Any, changes: Mapping[str, Any]) -> list[click.Parameter]:
    if isinstance(called, str):
        module, _, name = called.partition(":")
        called = getattr(importlib.import_module(module), name)
    function = called.func if isinstance(called, partial) else called
    entries = dict(_ENTRY.findall(inspect.cleandoc(function.__doc__ or "")))
    result = []
    for one in inspect.signature(called).parameters.values():
        if one.default is _EMPTY or changes.get(one.name, ()) is None:
            continue
        meaning = " ".join(entries.get(one.name, "").replace("``", "").split())
        meaning = re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", meaning)
        change = changes.get(one.name, ())
        pieces = list(change) if isinstance(change, tuple) else [change]
        if meaning and not any(isinstance(piece, str) and piece[:1] != "-" for piece in pieces):
            pieces.append(f"{meaning[:1].upper()}{meaning[1:]}")
        hint = _hint(function, one)
        result.append(_parameter(one, Annotated[hint, *pieces] if pieces else hint, flagged=True))
    return result


class _Unknown(dict[str, Any]):
    """Stands for the names that a module imports for type checkers alone."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, name: str) -> Any:
        if name in self._known or hasattr(builtins, name):
            raise KeyError(name)
        return Any


def _hint(function: Any, one: inspect.Parameter) -> Any:
    namespace = vars(sys.modules[function.__module__])
    return eval(one.annotation, namespace, _Unknown(namespace))


def _parameter(one: inspect.Parameter, hint: Any, *, flagged: bool = False) -> click.Parameter:
    annotations = getattr(hint, "__metadata__", ())
    hint = typing.get_args(hint)[0] if annotations else hint
    several = typing.get_origin(hint) is tuple or "dict[" in str(hint)
    more: dict[str, Any] = {}
    texts: list[str] = []
    for piece in annotations:
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(piece, click.ParamType):
            more["type"] = piece
        else:  # it parses a text, or several
            several = several and "str" in str(hint)
            more["callback"] = piece
    more.setdefault("type", str if "callback" in more else _type(hint))
    if one.kind is not one.KEYWORD_ONLY and not flagged:
        return click.Argument([one.name], required=one.default is _EMPTY, nargs=-1 if several else 1, **more)
    if one.default is _EMPTY:
        more["required"] = True
    else:
        default = one.default if several or one.default != () else None
        has_text = default is not False and default not in (None, "", ())
        more |= {"default": default, "show_default": has_text}
    if hint is bool:
        more |= {"is_flag": True, "type": None}
    flags = [text for text in texts if text.startswith("-")] or [f"--{one.name.replace('_', '-')}"]
    meaning = " ".join(text for text in texts if not text.startswith("-"))
    return click.Option([*flags, one.name], help=meaning, multiple=several, **more)


def _type(hint: Any) -> Any:
    """The type of click for an annotation; of a union, that of a path if there is one, else of the last."""
    choices = [one for one in typing.get_args(hint) if one is not types.NoneType]
    if typing.get_origin(hint) is Literal:
        return click.Choice(choices)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return _type(Path if Path in choices else choices[-1])
    if typing.get_origin(hint) is tuple:
        return _type(choices[0])
    return click.Path(path_type=Path) if hint is Path else hint if hint in (int, float, str) else None
