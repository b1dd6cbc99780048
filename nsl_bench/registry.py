"""Finding parts by name: benchmarks, shifts, image sources, networks, learners, rule learners, engines.

Every part is an entry point, the first-party ones too, so that another package adds its own with one
line in its `pyproject.toml`. A user names a part and its options in one string, its *spec*::

    NAME                        noir            random_forest
    NAME:ARGUMENT,KEY=VALUE     rotate:90       decks:cards/,standard=byron      softmax:epochs=3
    NAME@VERSION                follow_suit@1.0.0

The name is looked up, the rest becomes the arguments of the class or function behind it, turned into
the types of its annotations (`int`, `float`, `bool`, `str`, `Path`).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from nsl_bench.errors import UserError, did_you_mean, unknown

__all__ = ["KINDS", "Kind", "Spec", "create", "entry_point", "factory", "names", "pinned"]

Kind = Literal["benchmark", "shift", "source", "network", "learner", "rule_learner", "engine"]

KINDS: Mapping[Kind, str] = {
    "benchmark": "nsl_bench.benchmarks",
    "shift": "nsl_bench.shifts",
    "source": "nsl_bench.sources",
    "network": "nsl_bench.networks",
    "learner": "nsl_bench.learners",
    "rule_learner": "nsl_bench.rule_learners",
    "engine": "nsl_bench.engines",
}
"""Each kind of part and its entry-point group."""


@dataclass(frozen=True)
class Spec:
    """A part's name and its options, as a user writes them."""

    name: str
    args: tuple[str, ...] = ()
    kwargs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read ``NAME:ARGUMENT,KEY=VALUE``."""
        name, _, rest = text.strip().partition(":")
        args: list[str] = []
        kwargs: dict[str, str] = {}
        for piece in rest.split(",") if rest else []:
            key, equals, value = piece.partition("=")
            if equals and key.strip().isidentifier():
                kwargs[key.strip()] = value.strip()
            elif kwargs:
                raise UserError(
                    f"In '{text}' the argument '{piece}' stands behind a named one; put it first."
                )
            else:
                args.append(piece.strip())
        if not name:
            raise UserError(f"'{text}' names nothing; a spec is NAME or NAME:ARGUMENT,KEY=VALUE.")
        return cls(name, tuple(args), kwargs)

    def __str__(self) -> str:
        options = [*self.args, *(f"{key}={value}" for key, value in self.kwargs.items())]
        return f"{self.name}:{','.join(options)}" if options else self.name


def pinned(spec: str, version: str) -> str:
    """The spec with the version of what it names, so that it makes the same in later years, or nothing."""
    parsed = Spec.parse(spec)
    return spec if "@" in parsed.name else str(replace(parsed, name=f"{parsed.name}@{version}"))


@functools.cache
def _found(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=KINDS[kind])}


def names(kind: Kind) -> list[str]:
    """The names of all installed parts of a kind, sorted."""
    return sorted(_found(kind))


def entry_point(kind: Kind, name: str) -> EntryPoint:
    """Where the part of a name is, without importing it.

    Raises:
        UserError: there is no such part.
    """
    found = _found(kind)
    if name not in found:
        raise unknown(kind.replace("_", " "), name, found)
    return found[name]


def factory(kind: Kind, name: str) -> Any:
    """The class or function behind a name.

    Raises:
        UserError: there is no such part, or it cannot be imported.
    """
    point = entry_point(kind, name)
    try:
        return point.load()
    except ImportError as error:
        raise UserError(f"The {kind.replace('_', ' ')} '{name}' cannot be imported: {error}.") from error


def create(kind: Kind, spec: str | Spec, **extra: Any) -> Any:
    """Make the part that a spec names.

    Args:
        kind: what it is.
        spec: the user's words. A learner may also be ``module:Class`` or ``path/to/file.py:Class``.
        extra: further keyword arguments, passed on if the part takes them.

    Raises:
        UserError: no such part, an option that it does not have, or a value of the wrong type.
    """
    text = str(spec)
    parsed = spec if isinstance(spec, Spec) else Spec.parse(spec)
    make = _from_module(text) if kind == "learner" and parsed.name not in _found(kind) else None
    version = None
    if make is not None:
        parsed = Spec(text)
    elif "@" in parsed.name and parsed.name not in _found(kind):
        base, _, version = parsed.name.partition("@")
        make = factory(kind, base)
    else:
        make = factory(kind, parsed.name)
    where = f"the {kind.replace('_', ' ')} '{parsed.name}'"
    opening = f"T{where[1:]}"
    parameters = inspect.signature(make).parameters
    hints = _hints(make)

    def written(name: str) -> bool:
        return _is_written(hints.get(name, str))

    positional = [p for p in parameters.values() if p.kind is not p.VAR_KEYWORD and written(p.name)]
    if len(parsed.args) > len(positional):
        raise UserError(f"{opening} takes {len(positional)} argument(s), found {len(parsed.args)}.")
    given = dict(zip((p.name for p in positional), parsed.args, strict=False))
    for key, value in parsed.kwargs.items():
        if key not in parameters or not written(key):
            options = filter(written, parameters)
            raise UserError(f"{opening} has no option '{key}'.{did_you_mean(key, options)}")
        given[key] = value
    values = {
        key: _convert(value, hints.get(key, str), f"{where}, option '{key}'") for key, value in given.items()
    }
    values.update({key: value for key, value in extra.items() if key in parameters and key not in values})
    missing = [
        p.name
        for p in positional
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and p.name not in values
    ]
    if missing:
        raise UserError(f"{opening} needs '{missing[0]}': write {parsed.name}:{missing[0]}=...")
    try:
        part = make(**values)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{opening} cannot be made: {type(error).__name__}: {error}.") from error
    if version is not None and getattr(part, "version", None) != version:
        raise _no_version(kind, parsed.name, getattr(part, "version", None))
    return part


def _no_version(kind: Kind, name: str, current: str | None) -> UserError:
    base, _, version = name.partition("@")
    old = [point.partition("@")[2] for point in names(kind) if point.startswith(f"{base}@")]
    return UserError(
        f"The {kind.replace('_', ' ')} '{base}' has no version {version}; there is "
        f"{' and '.join([*old, str(current)])}."
    )


def _hints(make: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except (NameError, TypeError, AttributeError):
        return {}


def _is_written(hint: Any) -> bool:
    """Whether values of this type are given as texts; others come from the program alone."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(map(_is_written, typing.get_args(hint)))
    return hint in (str, int, float, bool, Path, Any) or typing.get_origin(hint) is Literal


def _convert(value: str, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        choices = [choice for choice in typing.get_args(hint) if choice is not type(None)]
        if value.lower() == "none" and len(choices) < len(typing.get_args(hint)):
            return None
        hint = choices[0]
    if typing.get_origin(hint) is Literal:
        options = typing.get_args(hint)
        if value not in options:
            raise UserError(f"In {where}: '{value}' is not one of {', '.join(map(str, options))}.")
        return value
    if hint is bool:
        if value.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise UserError(f"In {where}: found '{value}', but it is true or false.")
        return value.lower() in ("true", "1", "yes")
    if hint in (int, float):
        try:
            return hint(value)
        except ValueError:
            word = "a whole number" if hint is int else "a number"
            raise UserError(f"In {where}: found '{value}', but it is {word}.") from None
    return Path(value) if hint is Path else value


def _from_module(text: str) -> Any | None:
    """The class named by ``module:Class`` or ``file.py:Class``; None if the text has another form."""
    place, colon, attribute = text.rpartition(":")
    if not colon or not attribute.isidentifier():
        return None
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise UserError(f"The learner '{text}' is not there: no file {path}.")
        name = f"nsl_bench_user_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        loader = spec.loader if spec else None
        if spec is None or loader is None:
            raise UserError(f"The file {path} cannot be imported as Python.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        _execute(lambda: loader.exec_module(module), text)
    else:
        if not all(piece.isidentifier() for piece in place.split(".")):
            return None
        sys.path.insert(0, str(Path.cwd()))
        try:
            if importlib.util.find_spec(place) is None:
                return None
            module = _execute(lambda: importlib.import_module(place), text)
        except ModuleNotFoundError:
            return None
        finally:
            sys.path.pop(0)
    if not hasattr(module, attribute):
        raise UserError(f"{place} has no '{attribute}'.{did_you_mean(attribute, vars(module))}")
    return getattr(module, attribute)


def _execute(load: Callable[[], Any], text: str) -> Any:
    """Import a user's code, which may raise anything."""
    try:
        return load()
    except Exception as error:
        raise UserError(
            f"The learner '{text}' cannot be imported: {type(error).__name__}: {error}."
        ) from error
