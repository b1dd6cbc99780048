"""`Benchmark`, the base class of tasks: examples, symbols, knowledge, and the rule that labels the data.

A task is a subclass of `Benchmark` and one entry point in the group ``nsl_bench.benchmarks``. No other code
needs to know it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError, unknown
from nsl_bench.core.options import HasOptions
from nsl_bench.core.types import (
    BLANK,
    AnyInts,
    Array,
    Bools,
    ConceptSpace,
    FewLabels,
    Floats32,
    Ints16,
    LabelSpace,
    Part,
    Split,
)

_FEW_EACH = 10
"""Labelled images of each concept that learners of the track ``few_labels`` start from."""

Facts = tuple[str, ...]
"""Ground facts without their full stops."""


@dataclass(frozen=True)
class Family:
    """Tasks of one structure in several sizes, such as a card game for any number of players.

    Members share the name of their concept space, and the words of their rules: what is learned on one
    member can be asked on another. Their slots, labels and background knowledge may differ. The concepts of
    one member contain those of the other.

    Attributes:
        name: two tasks are members of the same family if their families have the same name.
        members: specs of typical members, the smallest first; other options can make more.
        changes: what changes between members, e.g. ``"number of players"``.
    """

    name: str
    members: tuple[str, ...]
    changes: str


@dataclass(frozen=True)
class Layout:
    """Arrangement of an example's slots on a picture, row by row.

    Attributes:
        rows: number of rows of slots.
        columns: number of slots per row.
        block: rows and columns of a block, if lines divide the slots into blocks.
    """

    rows: int
    columns: int
    block: tuple[int, int] | None = None


class Benchmark(HasOptions, ABC):
    """A benchmark task.

    Attributes:
        name: e.g. ``"follow_suit"``.
        version: version of the data. A corrected data set gets a new version; the old one keeps its class,
            registered as ``NAME@VERSION``.
        superseded_by: version that corrects this one, if there is one.
        description: one sentence.
        labels: the labels and their atoms.
        slots: names of the image slots, e.g. ``("player_1", ...)``; some can be blank in an example.
        concept_space: concepts that an image of any slot can show.
        metadata: description of each symbolic metadata field, e.g. ``{"location": "1..19"}``.
        background: background knowledge in ASP.
        bias: language bias: mode declarations of ILASP or FastLAS.
        true_rule: rule that labels the data, in ASP; never given to a learner. Empty if there is none:
            labels may come from a table. What compares with it is then not defined.
        inputs: choice program whose answer sets are all possible contexts of an example, used to decide the
            equivalence of two hypotheses.
        sizes: number of train examples by size, e.g. ``{"small": 104, "large": 10400}``.
        test_size: number of test examples.
        own_tests: whether each train split has its own test set, as in cross-validation.
        overlap: test examples for each train example where train splits share examples, as folds do; else 0.
            The errors of means over train splits are larger for it.
        repeats: number of train splits.
        sources: names of suitable image sources; the first is the default.
        named_shifts: specs of shifts by short name, for shifts that suit every source.
        about: what a data set's card says besides, e.g. the source and licence of the task's own tables.
        sequential: whether rows are steps of sequences (`nsl_bench.core.types.Split.sequences`). Background
            knowledge then says what the label of the step ``now(T)`` is (`current_step`), and `step_atom`
            puts the step into facts and atoms.
        family: family of tasks of several sizes that this one belongs to, if there is one. A learner may be
            trained on one member and tested on another.
        test_presets: usual test tasks of the family, by the name of a preset, e.g. those of a paper.
    """

    name: str
    version: str
    superseded_by: str | None = None
    description: str
    labels: LabelSpace
    slots: tuple[str, ...]
    concept_space: ConceptSpace
    metadata: Mapping[str, str] = MappingProxyType({})
    background: str
    bias: str
    true_rule: str
    inputs: str
    sizes: Mapping[str, int]
    test_size: int
    own_tests: bool = False
    overlap: float = 0.0
    repeats: int = 5
    sources: tuple[str, ...]
    named_shifts: Mapping[str, str] = MappingProxyType({})
    about: str = ""
    sequential: bool = False
    family: Family | None = None
    test_presets: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @abstractmethod
    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Generate symbolic examples, without images.

        Args:
            part: ``"train"`` or ``"test"``.
            size: a key of `sizes`; the test set is the same for every size.
            repeat: train split, 1, 2, ...
            rng: source of all randomness; the caller seeds it by benchmark, part, size and repeat.
            exclude: examples that must not occur: the test set, when train sets are generated.
        """

    @property
    def spec(self) -> str:
        """Spec from which `nsl_bench.core.registry` creates this task: `name`, with its version if
        superseded."""
        if self.superseded_by is None:
            return self.name
        name, colon, options = self.name.partition(":")
        return f"{name}@{self.version}{colon}{options}"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if facts := cls.__dict__.get("facts"):

            @functools.wraps(facts)
            def checked(self: Benchmark, slot: int, concept: str) -> tuple[str, ...]:
                check_place(slot, concept, self.slots, self.concept_space)
                result: tuple[str, ...] = facts(self, slot, concept)
                return result

            cls.facts = checked  # type: ignore[method-assign]

    def for_split(self, repeat: int, seed: int | str = 0) -> Benchmark:
        """The task of one train split: this one, unless train splits differ in more than their examples.

        If they do (another hidden table, another fold), the returned task has its own true rule, background
        knowledge, inputs and test set.

        Args:
            repeat: train split, counted from 1.
            seed: seed of the data; a string is a secret seed, which must not be derivable from the result's
                name.
        """
        return self

    def test_number(self, repeat: int) -> int:
        """Number of the test set of train split `repeat`: always 1 unless the task has `own_tests`."""
        return repeat if self.own_tests else 1

    def generate_validation(self, size: str, repeat: int, rng: np.random.Generator, exclude: Split) -> Split:
        """Generate symbolic validation examples, as many as the train set has or as the smallest size.

        Args:
            size: size of the train set that they belong to.
            repeat: train split, 1, 2, ...
            rng: source of all randomness.
            exclude: the test set and the train set.
        """
        n = min(self.size(size), *self.sizes.values())
        return replace(self.generate("train", str(n), repeat, rng, exclude), part="validation")

    @abstractmethod
    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """Facts, without full stops, which tell a learner that `slot` shows `concept`."""

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """Facts of an example's metadata, without full stops."""
        return ()

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        """Read examples from a folder of existing splits, in the layout of the published files.

        Raises:
            UserError: this benchmark has no such layout, or the file is missing or damaged.
        """
        raise UserError(f"{self.name} does not support splits from a folder; got {folder}.")

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, features]: input features of a tabular learner for concepts [n, slots].

        By default the one-hot code of each slot, then each numeric metadata field.
        """
        n, k = len(concepts), len(self.concept_space)
        codes = np.eye(k, dtype=np.float32)[np.where(concepts == BLANK, 0, concepts)]
        codes[concepts == BLANK] = 0
        columns = [codes.reshape(n, concepts.shape[1] * k)]
        columns += [np.asarray(column, np.float32).reshape(n, 1) for column in metadata.values()]
        return np.hstack(columns)

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        """Names of the columns of `features` (or `knowledge_features`) in a tree's rules.

        A benchmark with other features than the default names them here; otherwise they are x1, x2, ...
        """
        if knowledge:
            return ()
        codes = (f"{slot}={concept}" for slot in self.slots for concept in self.concept_space.concepts)
        return (*codes, *self.metadata)

    def knowledge_features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, features]: input features that contain part of the solution.

        Raises:
            NotApplicable: this benchmark defines none.
        """
        raise NotApplicable(f"{self.name} has no knowledge features.")

    def knowledge_bodies(self) -> tuple[str, ...]:
        """For each column of `knowledge_features`, the ASP body that holds where it is 1; else it is 0.

        Empty where rules over these features cannot be written as ASP.
        """
        return ()

    def few_labels(self, rng: np.random.Generator) -> FewLabels:
        """The labelled samples that learners of the track ``few_labels`` start from.

        By default ten single images of each concept; a symbol of a row is then the concept of a slot.
        """
        concepts = rng.permutation(np.repeat(np.arange(len(self.concept_space)), _FEW_EACH))[:, None]
        return FewLabels(concepts.astype(np.int16), concepts.astype(np.int64), (len(self.concept_space),))

    def symbols(self) -> tuple[tuple[str, ...], ...]:
        """For each symbol of a row and each of its values: ASP literals that say it of step ``T``.

        By default a symbol is the concept of a slot.
        """
        facts_of_slots = [
            [self.facts(slot, concept) for concept in self.concept_space.concepts]
            for slot in range(len(self.slots))
        ]
        return tuple(
            tuple(", ".join(self._at(fact) for fact in facts) for facts in slot) for slot in facts_of_slots
        )

    def memory(self) -> tuple[str, ...]:
        """ASP literals of step ``T`` for each value that a sequence may be told to remember at first.

        The values are those of the metadata field ``previous``; empty without it.
        """
        return ()

    def _at(self, atom: str) -> str:
        """An atom with the variable ``T`` as its step, where there are steps."""
        return self.step_atom(atom, 0).replace("(0", "(T", 1) if self.sequential else atom

    def layout(self) -> Layout:
        """Arrangement of an example's images on a picture; by default side by side."""
        return Layout(1, len(self.slots))

    def marked(self, concepts: Ints16, label: int) -> tuple[int, ...]:
        """Slots that decide the label and are marked on pictures, such as a trick's winner."""
        return ()

    def recognised(self, concepts: Ints16, predicted: Ints16, labels: Ints16) -> Mapping[str, Bools]:
        """What predictions tell besides whole concepts, such as a card's suit: whether it is right.

        Args:
            concepts: int16 [n, slots], the true concepts.
            predicted: int16 [n, slots].
            labels: int16 [n], the true labels.

        Returns:
            By name, bool [n, slots], of images, or [n], of examples.
        """
        return {}

    def size(self, name: str) -> int:
        """Number of train examples of a size: one of `sizes`, or the number itself.

        Raises:
            UserError: an unknown size.
        """
        if name.isdecimal() and int(name) > 0:
            return int(name)
        if name not in self.sizes:
            raise unknown(f"size of {self.name}", name, self.sizes)
        return self.sizes[name]

    def context(self, concepts: Ints16, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """All facts of one example with concepts [slots]."""
        names = self.concept_space.concepts
        facts = [
            fact
            for slot, c in enumerate(concepts.tolist())
            if c != BLANK
            for fact in self.facts(slot, names[c])
        ]
        return (*facts, *self.metadata_facts(metadata))

    def current_step(self, step: int) -> Facts:
        """Facts that say for which step of a sequence a row's label is asked; by default ``now(STEP)``."""
        return (f"now({step})",)

    def step_atom(self, atom: str, step: int) -> str:
        """The atom that holds at a step of a sequence where `atom` is one of a row's.

        By default with the step as its first argument: ``sum(7)`` becomes ``sum(3,7)`` at step 3.
        """
        name, bracket, arguments = atom.partition("(")
        return f"{name}({step},{arguments}" if bracket else f"{name}({step})"

    def contexts(
        self, concepts: Ints16, metadata: Mapping[str, Array], steps: AnyInts | None = None
    ) -> list[Facts]:
        """All facts of each row with concepts [n, slots]; equal rows share one object.

        Args:
            concepts: [n, slots].
            metadata: name to array [n].
            steps: place of each row in its sequence, [n]. The rows of a sequential task have the facts of
                their own step and of all earlier ones, and `current_step`.
        """
        if not self.sequential:
            return self._facts_of_rows(concepts, metadata)
        if steps is None:
            raise ValueError(f"{self.name} is sequential; its contexts require steps")
        result: list[Facts] = []
        past: Facts = ()
        for step, facts in zip(steps.tolist(), self._facts_of_rows(concepts, metadata, steps), strict=True):
            past = facts if step == 1 else past + facts
            result.append(past + self.current_step(step))
        return result

    def sequence_contexts(
        self, concepts: Ints16, metadata: Mapping[str, Array], steps: AnyInts
    ) -> list[Facts]:
        """The facts of all steps of each sequence, for rule learners that see a sequence as one example."""
        result: list[Facts] = []
        for step, facts in zip(steps.tolist(), self._facts_of_rows(concepts, metadata, steps), strict=True):
            if step == 1:
                result.append(facts)
            else:
                result[-1] += facts
        return result

    def _facts_of_rows(
        self, concepts: Ints16, metadata: Mapping[str, Array], steps: AnyInts | None = None
    ) -> list[Facts]:
        """`context` of each row, with `step_atom` applied where steps are given; equal rows share one."""
        columns = list(metadata.items())
        facts_of: dict[tuple[bytes, int, tuple[Any, ...]], Facts] = {}
        result = []
        for i, row in enumerate(concepts):
            values = tuple(column[i].item() for _, column in columns)
            step = 0 if steps is None else int(steps[i])
            key = (row.tobytes(), step, values)
            if key not in facts_of:
                named = {name: value for (name, _), value in zip(columns, values, strict=True)}
                facts = self.context(row, named)
                facts_of[key] = tuple(self.step_atom(fact, step) for fact in facts) if step else facts
            result.append(facts_of[key])
        return result


def check_place(slot: int, concept: str, slots: tuple[str, ...], space: ConceptSpace) -> None:
    """Raise a UserError unless the slot is an index of `slots` and the concept a name of `space`."""
    if slot not in range(len(slots)):
        raise UserError(f"slot must be an index from 0 to {len(slots) - 1}; got {slot!r}.")
    if concept not in space.ids:
        example = space.concepts[0]
        raise UserError(f"concept must be the name of a {space.name}, such as '{example}'; got {concept!r}.")


def not_here(
    kind: str,
    name: str,
    task: Benchmark,
    names_of: Callable[[Benchmark], Iterable[str]],
    others: Iterable[str],
) -> UserError:
    """The error for a name that a task lacks: other tasks that have it, or what may have been meant.

    Args:
        kind: of what has the name, e.g. ``"shift"``.
        names_of: the names that a task has of this kind.
        others: the names that every task has.
    """
    own = *names_of(task), *others
    tasks = [registry.create("benchmark", one) for one in registry.names("benchmark") if "@" not in one]
    owners = [one.name for one in tasks if one.name != task.name and name in names_of(one)]
    if name in own or not owners:
        return unknown(kind, name, own)
    return UserError(
        f"The {kind} '{name}' belongs to {' and '.join(owners)}; {task.name} has {', '.join(own)}."
    )
