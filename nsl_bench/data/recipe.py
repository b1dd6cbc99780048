"""A recipe: everything that decides a generated data set, from a TOML file, options or a manifest.

A TOML recipe has the keys of `Recipe`. A part (benchmark, source, shift) is named by its spec or by a
table with its name and options::

    size = "small"
    repeats = 2
    shifts = ["rotate90", { name = "rotate", degrees = 45 }]

    [benchmark]
    name = "sudoku"
    block_rows = 2
    block_columns = 3
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from nsl_bench.core import registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.declared import Declared, Is, checked, parse_json, quoted, read_toml
from nsl_bench.core.errors import UserError
from nsl_bench.core.files import check_kind
from nsl_bench.core.shift import STANDARD, Shift, named_shifts, resolve, short_name
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Part
from nsl_bench.data.splits import make_source

IMAGES, SYMBOLIC = "images", "symbolic"
"""The configurations of a data set beside the standard and the shifted ones."""


def _spec(value: Any) -> Any:
    """A part's spec from a table with its name and options; a text is one already."""
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        return value
    if ":" in value["name"] and len(value) > 1:
        raise ValueError(
            f"has the name {quoted(value['name'])}, which already contains options; write options "
            "either in the name or in the table"
        )
    options = {}
    for option, setting in value.items():
        if option == "name":
            continue
        if not isinstance(setting, str | int | float):
            raise ValueError(
                f"has the option {option}, which must be a string or a number; got {quoted(setting)}"
            )
        options[option] = str(setting).lower() if isinstance(setting, bool) else str(setting)
        if "," in options[option]:
            raise ValueError(
                f"has the option {option}, which must not contain a comma; got {quoted(setting)}"
            )
    return str(registry.Spec(value["name"], (), options))


_SPEC = Annotated[str, Is("a name or a table with a name and options", before=_spec)]
_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]
_COUNT = Annotated[int, Is("a whole number between 1 and 100,000,000", least=1, most=10**8)]


@dataclass(frozen=True)
class Recipe(Declared):
    """What to generate. None leaves a choice to the benchmark.

    Attributes:
        benchmark: spec of the task, e.g. ``"follow_suit:players=3"``.
        size: name of the train size, ``"small"`` by default.
        train: number of train examples, in place of a size.
        test: number of test examples.
        repeats: number of independent train sets.
        seed: of the examples.
        source: spec of the image source.
        shifts: short names or specs; all that the benchmark and the source name by default.
        percents: shares of shifted examples whose content hashes the manifest states, beside 0 and 100.
        splits: folder of splits made elsewhere, to be used in place of generated ones.
        annotation: how right and complete the labels are (`nsl_bench.core.annotation`).
        images: ``"used"``: those that examples show, in their rows; ``"all"``: also the whole pool, with the
            images for networks, as a configuration of its own.
    """

    benchmark: _SPEC
    size: str | None = None
    train: _COUNT | None = None
    test: _COUNT | None = None
    repeats: Annotated[int, Is("a whole number between 1 and 10,000", least=1, most=10**4)] | None = None
    seed: Annotated[int, Is("a whole number between 0 and 2**63 - 1", least=0, most=2**63 - 1)] = 0
    source: _SPEC | None = None
    shifts: (
        Annotated[
            tuple[_SPEC, ...], Is('a list such as ["noir"]', make=lambda specs: tuple(dict.fromkeys(specs)))
        ]
        | None
    ) = None
    percents: Annotated[
        tuple[_SHARE, ...],
        Is("a list of numbers such as [0, 50, 90]", make=lambda shares: tuple(sorted(set(shares)))),
    ] = ()
    splits: str | None = None
    annotation: Annotated[
        str, Is("text such as wrong_labels=10", make=lambda text: str(Annotation.parse(text)))
    ] = ""
    images: Annotated[Literal["all", "used"], Is('"all" or "used"')] = "used"

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """The recipe in a TOML file, or the one that a data set's ``manifest.json`` was made from."""
        if path.suffix == ".json":
            check_kind(path, "The recipe")
            try:
                values = parse_json(path.read_bytes())["recipe"]
            except OSError as error:
                raise UserError(f"The recipe {path} cannot be read: {error.strerror}.") from error
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{path} is not a data set manifest: it contains no recipe.") from error
        else:
            values = read_toml(path, "The recipe")
        if not isinstance(values, dict):
            raise UserError(f"{path} is not a data set manifest: its recipe is {quoted(values)}.")
        return cls.from_dict(values, str(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "options") -> Recipe:
        """A recipe from plain values, checked; None is as if it were not there."""
        given = {key: value for key, value in values.items() if value is not None}
        result = checked(cls, given, f"{where}: ")
        if Annotation.parse(result.annotation).missing_concepts:
            raise UserError(f"{where}: a data set has every concept; leave missing_concepts out.")
        if result.size is not None and result.train is not None:
            raise UserError(
                f"{where}: 'size' and 'train' both set the number of train examples; give one of them."
            )
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain values, of which `from_dict` makes the same recipe again."""
        values = asdict(self)
        if not self.annotation:  # older data sets have none
            del values["annotation"]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def public(self) -> Recipe:
        """The recipe as others may read it: of absolute paths only the last part is left."""
        return replace(
            self,
            benchmark=without_folders(self.benchmark),
            source=self.source and without_folders(self.source),
            shifts=self.shifts and tuple(without_folders(shift) for shift in self.shifts),
            splits=self.splits and _last_part(self.splits),
        )


def split_name(part: str, repeat: int) -> str:
    """The name of a split: ``"train"``, ``"train_2"``, ..., ``"validation"``, ..., ``"test"``."""
    return part if repeat == 1 else f"{part}_{repeat}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A recipe with every name looked up and every choice made.

    Attributes:
        recipe: without None where there is a default.
        shifts: configuration to shift.
    """

    recipe: Recipe
    task: Benchmark
    source: ImageSource
    shifts: Mapping[str, Shift]

    @classmethod
    def of(cls, recipe: Recipe) -> Plan:
        """Look everything up."""
        task: Benchmark = copy.copy(registry.create("benchmark", recipe.benchmark))
        source = make_source(task, recipe.source)
        if recipe.splits is not None and (recipe.train is not None or recipe.test is not None):
            raise UserError("'splits' sets the number of examples; leave out 'train' and 'test'.")
        size = str(recipe.train) if recipe.train is not None else recipe.size or next(iter(task.sizes))
        task.size(size)
        if recipe.test is not None:
            task.test_size = recipe.test
        asked = named_shifts(task, source) if recipe.shifts is None else recipe.shifts
        shifts: dict[str, Shift] = {}
        for text in asked:
            shift = resolve(text, task, source)
            if shift is not None:
                shifts[config_name(shift, task, source, shifts)] = shift
        full = replace(
            recipe,
            benchmark=registry.pinned(recipe.benchmark, task.version),
            size=None if recipe.train is not None else size,
            repeats=recipe.repeats or task.repeats,
            source=registry.pinned(recipe.source or task.sources[0], source.version),
            shifts=tuple(short_name(shift, task, source) for shift in shifts.values()),
        )
        return cls(full, task, source, shifts)

    @property
    def size(self) -> str:
        """The train size as benchmarks take it: a name, or a number."""
        return self.recipe.size or str(self.recipe.train)

    @cached_property
    def splits(self) -> dict[str, tuple[Part, int]]:
        """Name of each split of examples to its part and its repeat."""
        parts: tuple[Part, ...] = ("train", "validation", "test")
        repeats = range(1, (self.recipe.repeats or 1) + 1)
        # Splits made elsewhere have no validation part.
        numbers = {
            "train": repeats,
            "validation": repeats if self.recipe.splits is None else (),
            "test": sorted({self.task.test_number(repeat) for repeat in repeats}),
        }
        return {split_name(part, k): (part, k) for part in parts for k in numbers[part]}

    def identity(self) -> dict[str, Any]:
        """Everything that decides the files, as JSON values."""
        return {
            "recipe": self.recipe.to_dict(),
            "benchmark": [self.task.name, self.task.version],
            "source": [self.source.name, self.source.version, self.source.fingerprint()],
            "shifts": {config: shift.spec for config, shift in self.shifts.items()},
        }


def without_folders(spec: str) -> str:
    """A spec with only the last part of absolute paths: ``mnist:mnist`` of ``mnist:/home/me/mnist``."""
    parsed = registry.Spec.parse(spec)
    options = {key: _last_part(value) for key, value in parsed.kwargs.items()}
    return str(replace(parsed, args=tuple(map(_last_part, parsed.args)), kwargs=options))


def _last_part(text: str) -> str:
    path = PurePath(text)
    return path.name if path.is_absolute() or text.startswith("~") else text


def config_name(
    shift: Shift, task: Benchmark, source: ImageSource, taken: Mapping[str, Shift] | None = None
) -> str:
    """The name of a shift's configuration: letters, digits and underscores, as the Hub wants it."""
    name = re.sub(r"\W+", "_", short_name(shift, task, source), flags=re.ASCII).strip("_") or "shift"
    if name in (IMAGES, SYMBOLIC, STANDARD) or name in (taken or {}):
        taker = f" by '{taken[name].spec}'" if taken and name in taken else ""
        raise UserError(
            f"The shift '{shift.spec}' cannot be included: the configuration name '{name}' is already "
            f"used{taker}."
        )
    return name
