"""Presets of a sweep: under a name, which shares of examples are shifted, or which tasks are tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.shift import STANDARD, named_shifts
from nsl_bench.data.splits import make_source

__all__ = ["PRESETS", "Preset", "first_shift", "preset_of"]

_TENTHS = tuple(float(share) for share in range(0, 101, 10))


@dataclass(frozen=True)
class Preset:
    """Shares of shifted examples, or test tasks, as a grid has them.

    Attributes:
        about: what is shifted, as a help says it.
        percents: shares of both parts alike.
        train_percents, test_percents: shares of one part alone.
        test_tasks: members of the task's family; shares are then as named.
    """

    about: str
    percents: tuple[float, ...] = ()
    train_percents: tuple[float, ...] = ()
    test_percents: tuple[float, ...] = ()
    test_tasks: tuple[str, ...] = ()


PRESETS: Mapping[str, Preset] = {
    "shift": Preset("train and test examples alike", percents=_TENTHS),
    "run-time-shift": Preset("test examples only", test_percents=_TENTHS),
    "train-shift": Preset("train examples only", train_percents=_TENTHS),
}
"""By name; each has the shares 0, 10, ..., 100 %."""


def preset_of(name: str, benchmark: str, test_tasks: Sequence[str], *given: Sequence[float]) -> Preset:
    """The preset of a name, of all tasks or of one.

    Args:
        name: of the preset.
        benchmark: the task.
        test_tasks: those that a grid names itself.
        given: shares that a grid names itself, of which there must be none but 0.

    Raises:
        UserError: an unknown preset, or shares or test tasks beside it that it sets.
    """
    task: Benchmark = registry.create("benchmark", benchmark)
    own = {key: Preset("test tasks", test_tasks=tests) for key, tests in task.test_presets.items()}
    if name in own:
        if test_tasks:
            raise UserError(f"The preset {name} of {task.name} sets the test tasks; leave out --test-task.")
        return own[name]
    if name not in PRESETS:
        raise unknown("preset", name, [*PRESETS, *own])
    if any(any(shares) for shares in given):
        raise UserError(
            f"The preset {name} sets the shares; leave out --shares, --train-shares and --test-shares."
        )
    return PRESETS[name]


def first_shift(benchmark: str, source: str | None) -> str:
    """The first named shift of a task on its images, which a preset takes where no shift is named.

    Raises:
        UserError: there is no such task or source, or it has no named shift.
    """
    task = registry.create("benchmark", benchmark)
    found = next(iter(named_shifts(task, make_source(task, source))), STANDARD)
    if found == STANDARD:
        raise UserError(f"{benchmark} has no named shift; name one with --shift.")
    return found
