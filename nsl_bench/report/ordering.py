"""The order of rows and columns in tables: numbers in names count as numbers, test tasks go by their size."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import pandas as pd

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark, Family
from nsl_bench.core.errors import UserError

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def natural(text: str) -> tuple[str | float, ...]:
    """Key by which ``digits=5`` comes before ``digits=10``."""
    pieces = _NUMBER.split(text)
    return tuple(float(piece) if k % 2 else piece for k, piece in enumerate(pieces))


def in_order(tasks: Iterable[str]) -> list[str]:
    """Test tasks in the order of their family, then the others by name.

    A family's order is that in which it names its members. If a task is not among those, all tasks of the
    family go by size: number of slots, then the values of their options, defaults included.
    """
    tasks = set(tasks)
    families = {task: task_and_family[1] for task in tasks if (task_and_family := _task(task))}
    unlisted = {family.name for task, family in families.items() if task not in family.members}
    return sorted(tasks, key=lambda task: _place(task, unlisted))


def sorted_rows(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows of a table, sorted by some of its columns, with a new index."""
    return table.sort_values(list(by), kind="stable", ignore_index=True, key=_places)


def _places(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    words = {str(value) for value in column.unique()}
    ordered = in_order(words) if column.name == "test_task" else sorted(words, key=natural)
    places = {word: place for place, word in enumerate(ordered)}
    return column.map(lambda value: places[str(value)])


@cache
def _task(name: str) -> tuple[Benchmark, Family] | None:
    """The task and its family; None if it has none, or is of a package that is not installed."""
    try:
        task: Benchmark = registry.create("benchmark", name)
    except UserError:
        return None
    return None if task.family is None else (task, task.family)


def _place(name: str, unlisted: set[str]) -> tuple[object, ...]:
    """Key of a task; families that are `unlisted` do not name all tasks that are sorted."""
    if (task_and_family := _task(name)) is None:
        return (bool(name), "", 0, (), natural(name))
    task, family = task_and_family
    if family.name in unlisted:
        return (True, family.name, len(task.slots), _options(name), natural(name))
    return (True, family.name, family.members.index(name), (), natural(name))


def _options(name: str) -> tuple[tuple[str | float, ...], ...]:
    """The values of a task's options, in the order of its parameters, with defaults."""
    spec = registry.Spec.parse(name)
    parameters = registry.options(registry.factory("benchmark", spec.name.partition("@")[0]))
    given = {
        **{p.name: p.default for p in parameters},
        **dict(zip((p.name for p in parameters), spec.args, strict=False)),
    }
    return tuple(natural(str(value)) for value in {**given, **spec.kwargs}.values())
