"""Plans: which runs there are to do, as a command line says it or a TOML file.

A file holds grids; each is every combination of its lists::

    [[grid]]
    benchmark = "follow_suit"
    learners = ["ffnsl", "random_forest:trees=50"]
    shifts = ["noir"]
    percents = [0, 50, 90]
    repeats = [1, 2, 3, 4, 5]

What is left out is as on the command line.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from nsl_bench.errors import UserError, unknown
from nsl_bench.run.job import About, Job, plan

__all__ = ["Grid", "jobs_of", "read", "write"]

_NUMBERS = ("percents", "repeats")


@dataclass(frozen=True)
class Grid:
    """Every combination of some lists.

    Attributes:
        benchmark: the task.
        learners: learners' specs.
        shifts: shifts' short names or specs.
        percents: shares of shifted examples.
        sizes: of the train sets.
        repeats: which train sets, from 1.
        sources: image sources; empty: the task's default.
        networks: perception networks.
        track: ``"symbolic"``: learners of the `pretrained` track see true concepts.
        seed: of data and learners.
        splits: folder of splits in place of generated ones; empty: none.
    """

    benchmark: str
    learners: tuple[str, ...]
    shifts: tuple[str, ...] = ("standard",)
    percents: tuple[float, ...] = (0,)
    sizes: tuple[str, ...] = ("small",)
    repeats: tuple[int, ...] = (1, 2, 3, 4, 5)
    sources: tuple[str, ...] = ()
    networks: tuple[str, ...] = ("softmax",)
    track: Literal["own", "symbolic"] = "own"
    seed: int = 0
    splits: str = ""

    def jobs(self, describe: Callable[[str], About] | None = None) -> list[Job]:
        """The runs, as `nsl_bench.run.job.plan` makes them.

        Raises:
            UserError: an unknown name, or a percentage out of range.
        """
        return [
            job
            for source in self.sources or (None,)
            for network in self.networks
            for job in plan(
                self.benchmark,
                self.learners,
                shifts=self.shifts,
                percents=self.percents,
                repeats=self.repeats,
                sizes=self.sizes,
                source=source,
                network=network,
                symbolic=self.track == "symbolic",
                seed=self.seed,
                splits=Path(self.splits) if self.splits else None,
                describe=describe,
            )
        ]


def jobs_of(grids: Sequence[Grid], describe: Callable[[str], About] | None = None) -> list[Job]:
    """The runs of all grids, each once."""
    return list({job.key(): job for grid in grids for job in grid.jobs(describe)}.values())


def write(grids: Sequence[Grid]) -> str:
    """Grids as a TOML file."""
    pieces = ["# A plan of nsl-bench: each grid is every combination of its lists.\n"]
    for grid in grids:
        lines = ["[[grid]]"]
        for f in fields(Grid):
            value = getattr(grid, f.name)
            if value not in ((), ""):
                lines.append(f"{f.name} = {_toml(value)}")
        pieces.append("\n".join(lines) + "\n")
    return "\n".join(pieces)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def read(path: Path) -> list[Grid]:
    """The grids of a TOML file.

    Raises:
        UserError: it is missing or no plan; says which key is wrong.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The plan {path} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The plan {path} is no TOML: {error}.") from error
    grids = content.pop("grid", None)
    if content or not isinstance(grids, list) or not grids or not all(isinstance(g, dict) for g in grids):
        raise UserError(f"The plan {path} is not made of [[grid]] tables; `nsl-bench plan` writes one.")
    return [_grid(values, f"{path}, grid {i}") for i, values in enumerate(grids, 1)]


def _grid(values: dict[str, Any], where: str) -> Grid:
    kinds = {f.name: f for f in fields(Grid)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in kinds:
            raise unknown(f"key in {where}:", name, kinds)
        if name in ("benchmark", "splits"):
            right = isinstance(value, str)
        elif name == "seed":
            right = isinstance(value, int) and not isinstance(value, bool)
        elif name == "track":
            right = value in get_args(Literal["own", "symbolic"])
        else:
            right = isinstance(value, list) and bool(value) and all(_fits(name, item) for item in value)
            value = tuple(value) if right else value
        if not right:
            raise UserError(f"In {where}: {name} is {value!r}, but it is {_expected(name)}.")
        given[name] = value
    for name in ("benchmark", "learners"):
        if name not in given:
            raise UserError(f"In {where}: there is no '{name}'.")
    return Grid(**given)


def _fits(name: str, item: Any) -> bool:
    if name == "percents":
        return isinstance(item, int | float) and not isinstance(item, bool)
    if name == "repeats":
        return isinstance(item, int) and not isinstance(item, bool) and item >= 1
    return isinstance(item, str)


def _expected(name: str) -> str:
    if name == "track":
        return '"own" or "symbolic"'
    if name in ("benchmark", "splits"):
        return "a string"
    if name == "seed":
        return "a whole number"
    if name in _NUMBERS:
        return "a list of numbers" if name == "percents" else "a list of whole numbers from 1"
    return "a list of strings"
