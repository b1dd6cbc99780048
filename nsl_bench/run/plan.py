"""Plans: grids of runs, from the command line or from a TOML file.

A plan file has one or several grids. A grid is every combination of its lists::

    [[grid]]
    benchmark = "follow_suit"
    learners = ["ffnsl", "random_forest:trees=50"]
    shifts = ["noir"]
    percents = [0, 50, 90]
    repeats = [1, 2, 3, 4, 5]

Missing keys have the defaults of the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from nsl_bench.core import registry
from nsl_bench.core.declared import Declared, Is, checked, read_toml
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD
from nsl_bench.learners.base import About
from nsl_bench.run.dials import Dials, combinations
from nsl_bench.run.job import Job, plan
from nsl_bench.run.presets import first_shift, preset_of

__all__ = ["Grid", "jobs_of", "read", "write"]

_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]
_REPEAT = Annotated[int, Is("a whole number of 1 or more", least=1)]
_NATURAL = Annotated[int, Is("a whole number of 0 or more", least=0)]
_NATURALS = Is("a list of whole numbers of 0 or more", shortest=1)
_TEXTS = Is("a list of at least one string", shortest=1)
_SHARES = Is("a list of numbers between 0 and 100", shortest=1)


@dataclass(frozen=True)
class Grid(Declared):
    """A grid of runs: every combination of some lists.

    Attributes:
        benchmark: the task.
        learners: specs of the learners.
        shifts: short names or specs of shifts of both train and test images.
        percents: shares of shifted examples in both train and test set, 0..100.
        train_shifts: shifts of the train images, instead of `shifts`.
        train_percents: shares of shifted train examples; each is combined with each of `test_percents`.
        test_shifts: shifts of the test images, instead of `shifts`.
        test_percents: shares of shifted test examples.
        sizes: sizes of the train splits.
        repeats: numbers of the train splits, from 1.
        sources: image sources; if empty, the task's default.
        networks: perception networks.
        network_seeds: seeds of each network, its option ``seed``; if empty, the network's own.
        learner_draws: numbers of the learners' seeds, from 0.
        track: ``"symbolic"`` gives true concepts to learners of the `pretrained` track.
        seed: seed of the data, from which learners' seeds are derived.
        splits: folder of splits to use instead of generated ones; empty for none.
        preset: name of a preset (`nsl_bench.run.presets`) that sets the shares; empty for none. If no
            shift is named, it uses the task's first one.
        test_tasks: members of the task's family to test on; if empty, the task itself.
    """

    benchmark: str
    learners: Annotated[tuple[str, ...], _TEXTS]
    shifts: Annotated[tuple[str, ...], _TEXTS] = ("standard",)
    percents: Annotated[tuple[_SHARE, ...], _SHARES] = (0,)
    train_shifts: Annotated[tuple[str, ...], _TEXTS] = ()
    train_percents: Annotated[tuple[_SHARE, ...], _SHARES] = ()
    test_shifts: Annotated[tuple[str, ...], _TEXTS] = ()
    test_percents: Annotated[tuple[_SHARE, ...], _SHARES] = ()
    sizes: Annotated[tuple[str, ...], _TEXTS] = ("small",)
    repeats: Annotated[tuple[_REPEAT, ...], Is("a list of whole numbers of 1 or more", shortest=1)] = (
        1,
        2,
        3,
        4,
        5,
    )
    sources: Annotated[tuple[str, ...], _TEXTS] = ()
    networks: Annotated[tuple[str, ...], _TEXTS] = ("softmax",)
    network_seeds: Annotated[tuple[_NATURAL, ...], _NATURALS] = ()
    learner_draws: Annotated[tuple[_NATURAL, ...], _NATURALS] = (0,)
    track: Annotated[Literal["own", "symbolic"], Is('"own" or "symbolic"')] = "own"
    seed: Annotated[int, Is("a whole number of 64 bits", least=-(2**63), most=2**63 - 1)] = 0
    splits: str = ""
    preset: str = ""
    test_tasks: Annotated[tuple[str, ...], _TEXTS] = ()

    def jobs(self, describe: Callable[[str], About] | None = None, sealed: str = "") -> list[Job]:
        """The grid's jobs, made by `nsl_bench.run.job.plan`.

        Args:
            describe: function from a learner's spec to its track and version.
            sealed: commitment of a secret seed of the data.

        Raises:
            UserError: an unknown name, or a share out of range.
        """
        return [
            job
            for source in self.sources or (None,)
            for grid in (self._by_preset(source),)
            for network in self._seeded_networks()
            for job in plan(
                self.benchmark,
                self.learners,
                shifts=(*grid.shifts, *grid.train_shifts, *grid.test_shifts),
                dials=grid.dials(),
                repeats=self.repeats,
                sizes=self.sizes,
                source=source,
                network=network,
                symbolic=self.track == "symbolic",
                seed=self.seed,
                draws=self.learner_draws,
                splits=Path(self.splits) if self.splits else None,
                sealed=sealed,
                describe=describe,
                test_tasks=grid.test_tasks or ("",),
            )
        ]

    def dials(self) -> list[Dials]:
        """How train and test sets are shifted.

        Raises:
            UserError: a percentage out of range, or one without a shift.
        """
        return combinations(
            self.shifts,
            self.percents,
            train_shifts=self.train_shifts,
            train_percents=self.train_percents,
            test_shifts=self.test_shifts,
            test_percents=self.test_percents,
        )

    def _by_preset(self, source: str | None) -> Grid:
        """The grid with the shares or test tasks of its preset, on an image source."""
        if not self.preset:
            return self
        shares = (self.percents, self.train_percents, self.test_percents)
        preset = preset_of(self.preset, self.benchmark, self.test_tasks, *shares)
        if preset.test_tasks:
            return replace(self, test_tasks=preset.test_tasks, preset="")
        named = {*self.shifts, *self.train_shifts, *self.test_shifts} != {STANDARD}
        return replace(
            self,
            shifts=self.shifts if named else (first_shift(self.benchmark, source),),
            percents=preset.percents or (0,),
            train_percents=preset.train_percents,
            test_percents=preset.test_percents,
            preset="",
        )

    def _seeded_networks(self) -> list[str]:
        """The networks' specs, each with every seed; seed 0 is the network's own, and not written."""
        found = []
        for network in self.networks:
            spec = registry.Spec.parse(network)
            for seed in self.network_seeds:
                options = {key: value for key, value in spec.kwargs.items() if key != "seed"}
                found.append(str(replace(spec, kwargs={**options, **({"seed": str(seed)} if seed else {})})))
        return list(dict.fromkeys(found)) or list(self.networks)


def jobs_of(
    grids: Sequence[Grid], describe: Callable[[str], About] | None = None, sealed: str = ""
) -> list[Job]:
    """The jobs of all grids, each once. See `Grid.jobs` for the arguments."""
    return list({job.key(): job for grid in grids for job in grid.jobs(describe, sealed)}.values())


def write(grids: Sequence[Grid]) -> str:
    """The text of a TOML file with these grids."""
    import tomli_w

    tables = [
        {f.name: _plain(value) for f in fields(Grid) if (value := getattr(grid, f.name)) not in ((), "")}
        for grid in grids
    ]
    heading = "# A plan of nsl-bench: each grid is every combination of its lists.\n"
    return f"{heading}{tomli_w.dumps({'grid': tables})}"


def _plain(value: Any) -> Any:
    """A value as TOML has it; a share without a fraction as a whole number."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(path: Path) -> list[Grid]:
    """Read the grids of a TOML file.

    Raises:
        UserError: the file is missing or is not a plan; the message names the wrong key.
    """
    content = read_toml(path, "The plan")
    grids = content.pop("grid", None)
    if content or not isinstance(grids, list) or not grids or not all(isinstance(g, dict) for g in grids):
        raise UserError(f"The plan {path} must consist of [[grid]] tables; `nsl-bench plan` writes one.")
    return [checked(Grid, values, f"{path}, grid {i}: ") for i, values in enumerate(grids, 1)]
