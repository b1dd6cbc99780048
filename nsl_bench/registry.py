"""Lookup of parts by name: benchmarks, shifts, image sources, networks, learners, rule learners, engines.

Every part is an entry point, including the built-in ones, so another package adds a part with one
line in its `pyproject.toml`. A user writes a part and its options as one string, its *spec*::

    NAME                        noir            random_forest
    NAME:ARGUMENT,KEY=VALUE     rotate:90       decks:cards/,standard=byron      softmax:epochs=3
    NAME@VERSION                follow_suit@1.0.0

A learner that is not installed is named by its code, in a file or a module, with options as above::

    FILE.py:CLASS               my.py:MyLearner my.py:MyLearner:alpha=2,beta=x
    MODULE:CLASS                pkg.my:MyLearner

A learner with an interpreter of its own (`nsl_bench.environments`) is named by its folder::

    env:FOLDER                  env:entrants/ripper     env:ripper:prune_size=0.5

The options become arguments of the class or function with that name. They are converted to the types of its
annotations (`int`, `float`, `bool`, `str`, `Path`), or of its defaults where it has no annotations.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from nsl_bench.errors import UserError, did_you_mean, named, unknown

__all__ = [
    "ENVIRONMENT",
    "KINDS",
    "Kind",
    "Spec",
    "canonical",
    "create",
    "entry_point",
    "factory",
    "learner_spec",
    "names",
    "options",
    "pinned",
    "split_code",
]

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

ENVIRONMENT = "env:"
"""How the spec of a learner begins that has an interpreter of its own."""

_CODE = re.compile(r"(?P<name>(?:.+?\.py|[^\W\d][\w.]*):[^\W\d]\w*)(?::(?P<options>.*))?", re.DOTALL)
"""``FILE.py:CLASS`` or ``MODULE:CLASS``, and options; a path may hold colons (``C:\\my.py:Mine``)."""


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
        if not name:
            raise UserError(f"A spec must be NAME or NAME:ARGUMENT,KEY=VALUE; got '{text}'.")
        return cls._of(name, rest, text)

    @classmethod
    def _of(cls, name: str, rest: str, text: str) -> Spec:
        """A name with the options that are written as `rest`, in the spec `text`."""
        args: list[str] = []
        kwargs: dict[str, str] = {}
        for piece in rest.split(",") if rest else []:
            key, equals, value = piece.partition("=")
            if equals and key.strip().isidentifier():
                kwargs[key.strip()] = value.strip()
            elif kwargs:
                raise UserError(f"'{text}': the positional argument '{piece}' must come before named ones.")
            else:
                args.append(piece.strip())
        return cls(name, tuple(args), kwargs)

    def __str__(self) -> str:
        options = [*self.args, *(f"{key}={value}" for key, value in self.kwargs.items())]
        return f"{self.name}:{','.join(options)}" if options else self.name


def pinned(spec: str, version: str) -> str:
    """The spec with the version of its part, so that it gives the same part in the future, or fails."""
    parsed = Spec.parse(spec)
    return spec if "@" in parsed.name else str(replace(parsed, name=f"{parsed.name}@{version}"))


def learner_spec(text: str) -> Spec:
    """Read a learner's spec: ``NAME:OPTIONS``, ``FILE.py:CLASS:OPTIONS`` or ``MODULE:CLASS:OPTIONS``.

    Returns:
        The name is that of an installed learner, or ``FILE.py:CLASS``, ``MODULE:CLASS`` or ``env:FOLDER``.
    """
    text = text.strip()
    if text.startswith(ENVIRONMENT):
        folder, _, options = text.removeprefix(ENVIRONMENT).partition(":")
        return Spec._of(f"{ENVIRONMENT}{folder}", options, text)
    code = _CODE.fullmatch(text)
    if code is None or text.partition(":")[0].partition("@")[0] in names("learner"):
        return Spec.parse(text)
    return Spec._of(code["name"], code["options"] or "", text)


def canonical(text: str) -> str:
    """A learner's spec without the options that have their default value: the same learner, the same run.

    Only learners that come with nsl-bench are looked at, because others would have to be imported; and what
    cannot be read stays as it is, for whoever creates the learner to complain about.
    """
    with contextlib.suppress(UserError, TypeError, ValueError):
        spec = learner_spec(text)
        if not entry_point("learner", spec.name).module.startswith("nsl_bench."):
            return text
        make = factory("learner", spec.name)
        known = {p.name: p for p in options(make)}
        where = f"the learner '{spec.name}'"

        def is_default(name: str, value: str) -> bool:
            parameter = known.get(name)
            if parameter is None or name == "seed":  # runs have seeds of their own
                return False
            given = _convert(value, parameter.annotation, f"{where}, option '{name}'")
            return bool(given == parameter.default and type(given) is type(parameter.default))

        kwargs = {name: value for name, value in spec.kwargs.items() if not is_default(name, value)}
        args = list(spec.args)
        for name, value in reversed(list(zip(known, spec.args, strict=False))):
            if len(args) > len(known) or not is_default(name, value):
                break
            args.pop()
        if spec.name == "tuned" and args:
            args[0] = canonical(args[0])
        told = replace(spec, args=tuple(args), kwargs=kwargs)
        if told != spec or text.strip().endswith(":"):
            return str(told)
    return text


def split_code(name: str) -> tuple[str, str] | None:
    """The file or module, and the class, of a learner's name; None for other names."""
    if name.startswith(ENVIRONMENT):
        return None
    place, colon, attribute = name.rpartition(":")
    return (place, attribute) if colon and attribute.isidentifier() else None


@functools.cache
def _found(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=KINDS[kind])}


def names(kind: Kind) -> list[str]:
    """The names of all installed parts of a kind, sorted."""
    return sorted(_found(kind))


def entry_point(kind: Kind, name: str) -> EntryPoint:
    """The entry point of a part, without importing it.

    Raises:
        UserError: the part does not exist.
    """
    found = _found(kind)
    if name not in found:
        raise unknown(kind.replace("_", " "), name, found)
    return found[name]


def factory(kind: Kind, name: str) -> Any:
    """The class or function behind a name.

    Raises:
        UserError: the part does not exist, or cannot be imported.
    """
    point = entry_point(kind, name)
    try:
        return point.load()
    except ImportError as error:
        raise UserError(f"The {kind.replace('_', ' ')} '{name}' cannot be imported: {error}.") from error


def create(kind: Kind, spec: str | Spec, **extra: Any) -> Any:
    """Create the part that a spec names.

    Args:
        kind: kind of part.
        spec: the spec. A learner may also be ``module:Class`` or ``path/to/file.py:Class``.
        extra: further keyword arguments, passed on if the part takes them.

    Raises:
        UserError: an unknown part or option, or a value of the wrong type.
    """
    read = learner_spec if kind == "learner" else Spec.parse
    parsed = spec if isinstance(spec, Spec) else read(spec)
    make = _from_code(parsed.name) if kind == "learner" and parsed.name not in _found(kind) else None
    version = None
    if make is None:
        name = parsed.name.partition(":")[0]
        if "@" in name and name not in _found(kind):
            name, _, version = name.partition("@")
        make = factory(kind, name)
    opening = f"The {kind.replace('_', ' ')} '{parsed.name}'"
    values = _arguments(make, parsed, opening, extra)
    try:
        part = make(**values)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{opening} cannot be created: {named(error)}.") from error
    if version is not None and getattr(part, "version", None) != version:
        raise _no_version(kind, parsed.name, getattr(part, "version", None))
    return part


def options(make: Any) -> list[inspect.Parameter]:
    """The parameters of a class or function that a spec can give, in order, each with its type.

    Raises:
        TypeError, ValueError: it is neither a class nor a function with named arguments.
    """
    parameters = inspect.signature(make).parameters
    hints = _hints(make, parameters)
    return [
        p.replace(annotation=hints[p.name])
        for p in parameters.values()
        if p.kind is not p.VAR_KEYWORD and _is_written(hints[p.name])
    ]


def _arguments(make: Any, spec: Spec, opening: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a class or function: what a spec says, then what else it takes of `extra`.

    Raises:
        UserError: an option that it does not have, a value of the wrong type, or one that is missing.
    """
    try:
        positional = options(make)
    except (TypeError, ValueError) as error:
        raise UserError(f"{opening} must be a class or a function with named arguments.") from error
    parameters = inspect.signature(make).parameters
    hints = _hints(make, parameters)
    if len(spec.args) > len(positional):
        raise UserError(
            f"{opening} takes at most {len(positional)} positional arguments; got {len(spec.args)}."
        )
    given = dict(zip((p.name for p in positional), spec.args, strict=False))
    for key, value in spec.kwargs.items():
        if key not in parameters or not _is_written(hints[key]):
            raise _no_option(opening, key, [p.name for p in positional if p.name not in extra])
        given[key] = value
    where = f"t{opening[1:]}"
    values = {key: _convert(value, hints[key], f"{where}, option '{key}'") for key, value in given.items()}
    values.update({key: value for key, value in extra.items() if key in parameters and key not in values})
    missing = [
        p.name
        for p in positional
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and p.name not in values
    ]
    if missing:
        raise UserError(f"{opening} needs '{missing[0]}': write {spec.name}:{missing[0]}=...")
    return values


def _no_option(opening: str, key: str, options: Sequence[str]) -> UserError:
    if not options:
        return UserError(f"{opening} has no option '{key}'; it takes no options.")
    guess = did_you_mean(key, options)
    meant = guess if guess.startswith(" Did") else ""
    return UserError(f"{opening} has no option '{key}'.{meant} Its options: {', '.join(options)}.")


def _no_version(kind: Kind, name: str, current: str | None) -> UserError:
    base, _, version = name.partition("@")
    old = [point.partition("@")[2] for point in names(kind) if point.startswith(f"{base}@")]
    return UserError(
        f"The {kind.replace('_', ' ')} '{base}' has no version {version}; there is "
        f"{' and '.join([*old, str(current)])}."
    )


def _hints(make: Any, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The type of each parameter: its annotation, else that of its default, else `str`."""
    try:
        written = typing.get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except (NameError, TypeError, AttributeError):
        written = {}
    return {name: written.get(name, _of_default(p.default)) for name, p in parameters.items()}


def _of_default(default: Any) -> Any:
    if isinstance(default, bool | float):
        return type(default)
    return int | float if isinstance(default, int) else str


def _is_written(hint: Any) -> bool:
    """Whether values of this type are given as texts; others come from the program alone."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(map(_is_written, typing.get_args(hint)))
    return hint in (str, int, float, bool, Path, Any) or typing.get_origin(hint) is Literal


def _convert(value: str, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        choices = typing.get_args(hint)
        if value.lower() == "none" and type(None) in choices:
            return None
        *others, hint = [choice for choice in choices if choice is not type(None)]
        for choice in others:
            with contextlib.suppress(UserError):
                return _convert(value, choice, where)
    if typing.get_origin(hint) is Literal:
        options = typing.get_args(hint)
        if value not in options:
            raise UserError(
                f"In {where}: the value must be one of {', '.join(map(str, options))}; got '{value}'."
            )
        return value
    if hint is bool:
        if value.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise UserError(f"In {where}: the value must be true or false; got '{value}'.")
        return value.lower() in ("true", "1", "yes")
    if hint in (int, float):
        try:
            return hint(value)
        except ValueError:
            word = "a whole number" if hint is int else "a number"
            raise UserError(f"In {where}: the value must be {word}; got '{value}'.") from None
    return Path(value) if hint is Path else value


def _from_code(name: str) -> Any | None:
    """What ``FILE.py:CLASS`` or ``MODULE:CLASS`` names; None if the name has another form."""
    split = split_code(name)
    if split is None:
        return None
    place, attribute = split
    module = _from_file(Path(place), name) if place.endswith(".py") else _from_module(place, name)
    if module is None:
        return None
    if not hasattr(module, attribute):
        defined = [name for name, value in vars(module).items() if inspect.isclass(value) and name[0] != "_"]
        known = did_you_mean(attribute, defined) if defined else " It defines no class."
        raise UserError(f"{place} has no '{attribute}'.{known}")
    return getattr(module, attribute)


def _from_file(path: Path, text: str) -> types.ModuleType:
    """Import a file; modules beside it can be imported by it, then and later.

    The module has the file's name, so that worker processes find its classes and functions, unless
    another module has it.
    """
    if not path.is_file():
        raise UserError(f"The learner '{text}' was not found: the file {path} does not exist.")
    path = path.resolve()
    _look_in(path.parent)
    before = sys.modules.get(path.stem)
    known = getattr(before, "__file__", None) if before else _origin(path.stem)
    name = path.stem if path.stem.isidentifier() and known == str(path) else f"nsl_bench_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Source(name, str(path)))
    loader = spec.loader if spec else None
    if spec is None or loader is None:
        raise UserError(f"The file {path} cannot be imported as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _execute(lambda: loader.exec_module(module), text)
    return module


def _origin(name: str) -> str | None:
    """The file that importing a name would execute, whatever lies in the folder of a learner's file."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return found.origin if found else None


def _from_module(place: str, text: str) -> types.ModuleType | None:
    """Import a module of the working folder or an installed one; None if there is none."""
    if not all(piece.isidentifier() for piece in place.split(".")):
        return None
    here = Path.cwd()
    if (here / place.split(".")[0]).is_dir() or (here / f"{place.split('.')[0]}.py").is_file():
        _look_in(here)
    try:
        if importlib.util.find_spec(place) is None:
            return None
        return cast(types.ModuleType, _execute(lambda: importlib.import_module(place), text))
    except ModuleNotFoundError:
        return None


class _Source(SourceFileLoader):
    """Executes a module's source, and no compiled form of it that lies in a folder ``__pycache__``."""

    def get_code(self, fullname: str) -> types.CodeType:
        """The code of the source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Beside:
    """The folder of the last learner's file, in which modules are looked for."""

    folder: ClassVar[str | None] = None
    known: ClassVar[frozenset[str]] = frozenset()
    """Names of the packages and modules that were there before."""


def _look_in(folder: Path) -> None:
    """Have modules of a folder be found, and those of the folder before no longer: names may be the same."""
    place = str(folder)
    if _Beside.folder == place:
        return
    if _Beside.folder is not None:
        with contextlib.suppress(ValueError):
            sys.path.remove(_Beside.folder)
        for name, module in list(sys.modules.items()):
            top = name.partition(".")[0]
            if top not in _Beside.known and _lies_in(module, _Beside.folder, top):
                del sys.modules[name]
        _Beside.folder = None
    if place not in sys.path:
        sys.path.insert(0, place)
        kinds = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_Source, SOURCE_SUFFIXES)
        sys.path_importer_cache[place] = FileFinder(place, *kinds)
        _Beside.folder, _Beside.known = place, frozenset(name.partition(".")[0] for name in sys.modules)
    importlib.invalidate_caches()


def _lies_in(module: Any, folder: str, top: str) -> bool:
    """Whether a module is a file of a folder, or of a package in it."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_relative_to(folder):
        return False
    return Path(file).relative_to(folder).parts[0] in (top, f"{top}.py")


def _execute(load: Callable[[], Any], text: str) -> Any:
    """Import a user's code, which may raise anything."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        raise UserError(
            f"The learner '{text}' cannot be imported: {type(error).__name__}: {error}."
        ) from error
