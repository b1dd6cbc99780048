"""Lookup of parts by name: benchmarks, shifts, image sources, networks, learners, rule learners, engines.

Every part is an entry point, including the built-in ones, so another package adds a part with one
line in its `pyproject.toml`. A user writes a part and its options as one string, its *spec*::

    NAME                        noir            random_forest
    NAME:ARGUMENT,KEY=VALUE     rotate:90       decks:cards/,standard=byron      softmax:epochs=3
    NAME@VERSION                follow_suit@1.0.0

A learner that is not installed is named by its code, in a file or a module, with options as above::

    FILE.py:CLASS               my.py:MyLearner my.py:MyLearner:alpha=2,beta=x
    MODULE:CLASS                pkg.my:MyLearner

A learner with an interpreter of its own (`nsl_bench.learners.environments`) is named by its folder::

    env:FOLDER                  env:entrants/ripper     env:ripper:prune_size=0.5

The options become arguments of the class or function with that name. They are converted to the types of its
annotations (`int`, `float`, `bool`, `str`, `Path`), or of its defaults where it has no annotations.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from nsl_bench.core.errors import UserError, did_you_mean, named, unknown
from nsl_bench.core.imported import ENVIRONMENT, from_code, without_class
from nsl_bench.core.options import choices_of, kind_of, options_of

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
        declared = {p.name: p for p in options(make)}
        where = f"the learner '{spec.name}'"

        def is_default(name: str, value: str) -> bool:
            parameter = declared.get(name)
            if parameter is None or name == "seed":  # runs have seeds of their own
                return False
            given = _convert(value, parameter.annotation, f"{where}, option '{name}'")
            return bool(given == parameter.default and type(given) is type(parameter.default))

        kwargs = {name: value for name, value in spec.kwargs.items() if not is_default(name, value)}
        args = list(spec.args)
        for name, value in reversed(list(zip(declared, spec.args, strict=False))):
            if len(args) > len(declared) or not is_default(name, value):
                break
            args.pop()
        if spec.name == "tuned" and args:
            args[0] = canonical(args[0])
        resolved = replace(spec, args=tuple(args), kwargs=kwargs)
        if resolved != spec or text.strip().endswith(":"):
            return str(resolved)
    return text


@functools.cache
def _found(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=KINDS[kind])}


_HERE: dict[tuple[Kind, str], Any] = {}
"""Parts that were registered in this process; no other process has them."""


class _Here(EntryPoint):
    """What stands for such a part where others have an entry point."""

    def load(self) -> Any:
        return _HERE[next(kind for kind, group in KINDS.items() if group == self.group), self.name]


def register(kind: Kind, name: str, part: type) -> None:
    """Let a name stand for a class in this process, in place of an earlier one of `register`."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise UserError(f"A part's name must have letters, digits, '_', '-' and '.'; got '{name}'.")
    if name in _found(kind) and (kind, name) not in _HERE:
        raise UserError(f"A {kind} of an installed package is named '{name}'; take another name.")
    _HERE[kind, name] = part
    _found(kind)[name] = _Here(name, f"{part.__module__}:{part.__qualname__}", KINDS[kind])


def registered_here(kind: Kind | None = None, name: str = "") -> bool:
    """Whether this process registered a part, or any if no kind is named."""
    return (kind, name) in _HERE if kind else bool(_HERE)


def names(kind: Kind) -> list[str]:
    """The names of all installed parts of a kind, sorted."""
    return sorted(_found(kind))


def entry_point(kind: Kind, name: str) -> EntryPoint:
    """The entry point of a part, without importing it."""
    result = _found(kind)
    if name not in result:
        if kind == "learner" and name.endswith(".py"):
            raise without_class(Path(name))
        raise unknown(kind.replace("_", " "), name, result)
    return result[name]


def factory(kind: Kind, name: str) -> Any:
    """The class or function behind a name."""
    point = entry_point(kind, name)
    try:
        return point.load()
    except ImportError as error:
        raise UserError(f"The {kind.replace('_', ' ')} '{name}' cannot be imported: {error}.") from error


def create(kind: Kind, spec: str | Spec, **extra: Any) -> Any:
    """Create the part that a spec names.

    Args:
        spec: the spec. A learner may also be ``module:Class`` or ``path/to/file.py:Class``.
        extra: further keyword arguments, passed on if the part takes them.

    Raises:
        UserError: an unknown part or option, or a value of the wrong type.
    """
    read = learner_spec if kind == "learner" else Spec.parse
    parsed = spec if isinstance(spec, Spec) else read(spec)
    make = from_code(parsed.name) if kind == "learner" and parsed.name not in _found(kind) else None
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
    """The keyword arguments of a class or function: what a spec says, then what else it takes of `extra`."""
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
    """The type of each parameter: as declared, else its annotation, else that of its default, else `str`."""
    declared = options_of(make)
    if declared is not None:
        return {name: one.hint for name, one in declared.items()}
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
    return any(
        choice in (str, int, float, bool, Path, Any) or typing.get_origin(choice) is Literal
        for choice in choices_of(hint)
    )


_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _convert(value: str, hint: Any, where: str) -> Any:
    choices = choices_of(hint)
    if value.lower() == "none" and type(None) in choices:
        return None
    *others, hint = [choice for choice in choices if choice is not type(None)]
    for choice in others:
        with contextlib.suppress(UserError):
            return _convert(value, choice, where)
    try:
        if typing.get_origin(hint) is Literal:
            return {str(one): one for one in typing.get_args(hint)}[value]
        if hint is bool:
            return _TRUTH[value.lower()]
        return hint(value) if hint in (int, float, Path) else value
    except (KeyError, ValueError):
        raise UserError(f"In {where}: the value must be {kind_of(hint)}; got '{value}'.") from None
