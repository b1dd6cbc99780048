"""Everything that is found by name: what each part is, its options and their defaults."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from nsl_bench.api.tasks import task_info
from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.metrics import METRICS, Metric
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.run.sweep import EXECUTORS

P = TypeVar("P")

_Kind = registry.Kind | Literal["executor", "metric"]

KINDS: Mapping[str, _Kind] = {
    "tasks": "benchmark",
    "sources": "source",
    "shifts": "shift",
    "networks": "network",
    "learners": "learner",
    "rule_learners": "rule_learner",
    "engines": "engine",
    "executors": "executor",
    "metrics": "metric",
}
"""The kinds of parts, as `list_parts` and `nsl-bench list` call them."""

_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*):\s*(.*)", re.DOTALL)
"""An entry of a docstring's section of arguments: names and their meaning."""


@dataclass(frozen=True)
class PartOption:
    """An option of a part.

    Attributes:
        name: as a spec gives it, ``NAME:OPTION=VALUE``; of an executor, the option of ``nsl-bench run``.
        default: as a spec writes it; None for an option that must be given.
        choices: the only values that it takes; empty if there are others.
        meaning: in words; empty where the part's docstring does not say.
    """

    name: str
    default: str | None
    choices: tuple[str, ...]
    meaning: str

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class PartInfo:
    """A part in a few words.

    Attributes:
        kind: one of `KINDS`.
        name: how it is called.
        summary: the first paragraph of its docstring; of a task, its numbers as well.
        description: the paragraphs after it.
        options: in the order in which a spec takes them.
    """

    kind: str
    name: str
    summary: str
    description: str = ""
    options: tuple[PartOption, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"


_BASES: Mapping[registry.Kind, type] = {"benchmark": Benchmark, "shift": Shift, "source": ImageSource}


def register(part: P, name: str | None = None) -> P:
    """Let a name stand for a part that is in no package, until this process ends; also a decorator.

    A task, shift, source, learner or metric of a notebook then works where installed ones do. Runs are done
    in this process, one after the other. A name that is registered again stands for the newer part.

    Args:
        part: a class derived from `Benchmark`, `Shift` or `ImageSource`, a class with a method ``fit``, or a
            `Metric`.
        name: its name; by default its attribute ``name``, else that of the class.

    Returns:
        The part.

    Raises:
        UserError: something else, or the name of a part of a package.
    """
    if isinstance(part, Metric):
        METRICS.add(replace(part, name=name or part.name))
        return part
    kinds = [kind for kind, base in _BASES.items() if isinstance(part, type) and issubclass(part, base)]
    if not isinstance(part, type) or not (kinds or hasattr(part, "fit")):
        raise UserError(
            "register needs the class of a task, shift, source or learner, or a Metric; "
            f"got {getattr(part, '__name__', repr(part)[:60])}."
        )
    name = name or str(getattr(part, "name", part.__name__))
    registry.register(kinds[0] if kinds else "learner", name, part)
    return part


def list_parts(kind: str) -> list[PartInfo]:
    """All parts of a kind, those of other installed packages among them; superseded versions are left out.

    A part that cannot be imported is in the list; its summary says why.

    Args:
        kind: ``"tasks"``, ``"sources"``, ``"shifts"``, ``"networks"``, ``"learners"``, ``"rule_learners"``,
            ``"engines"``, ``"executors"`` or ``"metrics"``.

    Raises:
        UserError: an unknown kind.
    """
    result = _kind(kind)
    if result == "metric":
        return [_of_metric(metric) for metric in METRICS.values()]
    if result == "executor":
        return [_of_code(kind, name, make) for name, make in EXECUTORS.items()]
    listed = []
    for name in registry.names(result):
        if "@" in name:  # a superseded version
            continue
        try:
            listed.append(part_info(kind, name))
        except UserError as error:
            listed.append(PartInfo(kind, name, str(error)))
    return listed


def part_info(kind: str, name: str) -> PartInfo:
    """What a part is, with its options.

    Args:
        kind: one of `KINDS`.
        name: of the part.

    Raises:
        UserError: an unknown kind or part, or a part that cannot be imported.
    """
    result = _kind(kind)
    if result == "metric":
        if name not in METRICS:
            raise unknown("metric", name, METRICS)
        return _of_metric(METRICS[name])
    if result == "executor":
        if name not in EXECUTORS:
            raise unknown("executor", name, EXECUTORS)
        return _of_code(kind, name, EXECUTORS[name])
    part = _of_code(kind, name, registry.factory(result, name))
    if result == "rule_learner":  # its parameters are those of `nsl-bench learn`
        part = replace(part, options=())
    if result == "benchmark":
        description = "\n\n".join(filter(None, [part.summary, part.description]))
        part = replace(part, summary=str(task_info(name)), description=description)
    older = [other for other in registry.names(result) if other.startswith(f"{name}@")]
    if older:
        part = replace(part, description=f"{part.description}\n\nSuperseded versions: {', '.join(older)}.")
    return part


def _of_code(kind: str, name: str, make: Any) -> PartInfo:
    """The part that a class or function makes, as its docstring and its signature describe it."""
    first, *more = _paragraphs(inspect.getdoc(make) or "")
    return PartInfo(kind, name, " ".join(first.split()), "\n\n".join(more), _options(make))


def _kind(kind: str) -> _Kind:
    if kind not in KINDS:
        raise unknown("kind of part", kind, KINDS)
    return KINDS[kind]


def _of_metric(metric: Metric) -> PartInfo:
    better = {True: "higher is better", False: "lower is better", None: "neither end is better"}
    least, most = metric.bounds
    about = [better[metric.higher_is_better], f"{least:g} to {most:g}"]
    if metric.per_label is not None:
        about.append(f"one number per label, named {metric.name}_LABEL")
    if metric.needs:
        about.append(f"needs {', '.join(metric.needs)}")
    return PartInfo("metrics", metric.name, f"{metric.title} ({'; '.join(about)})")


def _options(make: Any) -> tuple[PartOption, ...]:
    documented = [make]
    if inspect.isclass(make):
        documented = [place for base in make.__mro__ for place in (base, base.__dict__.get("__init__"))]
    meanings: dict[str, str] = {}
    for place in reversed(documented):
        meanings.update(_meanings(inspect.cleandoc(getattr(place, "__doc__", None) or "")))
    return tuple(
        PartOption(
            p.name,
            None if p.default is p.empty else _written(p.default),
            _choices(p.annotation),
            meanings.get(p.name, ""),
        )
        for p in registry.options(make)
        if p.kind is not p.VAR_POSITIONAL
    )


def _written(value: Any) -> str:
    """A default as a spec would give it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _choices(hint: Any) -> tuple[str, ...]:
    if typing.get_origin(hint) is Literal:
        return tuple(map(str, typing.get_args(hint)))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(choice for part in typing.get_args(hint) for choice in _choices(part))
    return ("true", "false") if hint is bool else ()


def _paragraphs(doc: str) -> list[str]:
    """A docstring's paragraphs before its first section; at least one."""
    head = re.split(r"^(?:Args|Attributes|Returns|Raises|Yields):\s*$", doc, maxsplit=1, flags=re.MULTILINE)[
        0
    ]
    return [part.strip() for part in head.split("\n\n") if part.strip()] or [""]


def _meanings(doc: str) -> dict[str, str]:
    """What a docstring's section of arguments says of each of them."""
    section = re.search(r"^Args:\s*\n((?:[ \t]+.*(?:\n|$)|\n)+)", doc, re.MULTILINE)
    if section is None:
        return {}
    lines = inspect.cleandoc(section[1]).splitlines()
    entries: list[list[str]] = []
    for line in lines:
        if line and not line[0].isspace():
            entries.append([line])
        elif entries:
            entries[-1].append(line)
    result = {}
    for entry in entries:
        match = _ENTRY.fullmatch(" ".join(" ".join(entry).split()))
        if match:
            result.update(dict.fromkeys((name.strip(" *") for name in match[1].split(",")), match[2]))
    return result
