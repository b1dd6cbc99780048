"""Reasoning shortcuts of a task, counted from its true rule alone, before anything is trained.

A perceiver that takes every concept for the one that a map names gets all labels right if the true rule gives
the same labels after the map. Such maps are the deterministic optima of Marconato, Teso, Vergari and
Passerini: "Not All Neuro-Symbolic Concepts Are Created Equal" (NeurIPS 2023). The identity is one of them, so
a task without shortcuts has 1. What a trained learner does is measured by `concept_collapse`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark, Facts
from nsl_bench.core.errors import UserError, counted
from nsl_bench.core.sequences import rows_of
from nsl_bench.core.types import BLANK, Bools, Ints, Ints16, Split
from nsl_bench.data.splits import symbolic_split, task_of_split
from nsl_bench.learners.queries import possible_concepts
from nsl_bench.logic.inference.crisp import crisp_labels

_EXAMPLES = 5

_FIRST_CHECKED = 8
"""Inputs on which labels are compared first, for most maps change some of them; then twice as many."""


@dataclass(frozen=True)
class Shortcuts:
    """Maps of concepts to concepts after which a task's true rule gives the same labels.

    Attributes:
        count: number of maps that were found, the identity among them.
        exact: whether there are no others; False if the time limit ended the search.
        inputs: number of different inputs on which labels were compared.
        maps: a few of the maps other than the identity. Each says, for every perceiver, which concept is
            taken for which other one; concepts that stay the same are left out.
    """

    count: int
    exact: bool
    inputs: int
    maps: tuple[tuple[dict[str, str], ...], ...]

    def __str__(self) -> str:
        least = "" if self.exact else "At least "
        said = [f"{least}{counted(self.count, 'map')} of concepts give all labels of {self.inputs} inputs."]
        for one in self.maps:
            named = [", ".join(f"{a} as {b}" for a, b in each.items()) or "nothing else" for each in one]
            said.append(f"  {'; '.join(named)}")
        return "\n".join(said)


def count_shortcuts(
    task: str | Benchmark,
    *,
    perceivers: Literal["shared", "separate"] = "shared",
    inputs: Literal["all", "train"] = "all",
    split: Split | None = None,
    size: str = "small",
    repeat: int = 1,
    seed: int = 0,
    time_limit: float = 60.0,
) -> Shortcuts:
    """Count the maps of concepts under which the true rule of a task gives the same labels.

    Only concepts that occur in the inputs are mapped; each may become any concept of the task.

    Args:
        task: a task or its spec.
        perceivers: ``"shared"``: one map for all slots; ``"separate"``: each slot has its own.
        inputs: ``"all"`` inputs that the task can have, or the examples of a ``"train"`` set.
        split: compare labels on these examples instead.
        size: size of the train set.
        repeat: train split, on which examples and some tasks' rules depend.
        seed: seed of the data.
        time_limit: seconds after which the search ends with the maps found so far.

    Raises:
        UserError: the task has no true rule, or its inputs cannot be listed.
    """
    benchmark: Benchmark = registry.create("benchmark", task) if isinstance(task, str) else task
    benchmark = task_of_split(benchmark, repeat, seed)
    if not benchmark.true_rule:
        raise UserError(f"The rule that labels the data of {benchmark.name} is unknown.")
    if split is None:
        train = inputs == "train"
        split = (
            symbolic_split(benchmark, "train", size, repeat, seed=seed) if train else all_inputs(benchmark)
        )
    search = _Search(benchmark, split, perceivers == "separate", time.monotonic() + time_limit)
    maps: list[tuple[dict[str, str], ...]] = []
    count, exact = 1, True
    for part in search.parts:
        found = 0
        try:
            for _ in search.maps(part):
                found += 1
                if len(maps) < _EXAMPLES and (said := search.said()):
                    maps.append(said)
        except TimeoutError:
            exact = False
        count *= max(1, found)
        search.forget()
    return Shortcuts(count, exact, search.inputs.n_sequences, tuple(maps))


def all_inputs(task: Benchmark) -> Split:
    """Every input that a task can have, with the label that its true rule gives; those without are left out.

    Raises:
        UserError: the task has metadata or sequences, or too many inputs.
    """
    try:
        concepts = possible_concepts(task)
    except UserError as error:
        raise UserError(
            f'{error} Use the examples of a train set (inputs="train", or --inputs train).'
        ) from None
    labels = crisp_labels([task.true_rule], task.background, task.contexts(concepts, {}), task.labels)
    return Split("train", task.concept_space, concepts[labels >= 0], labels[labels >= 0])


class _Search:
    """Maps one concept after the other, and drops a map at the first input whose label it changes.

    Attributes:
        inputs: the examples, each once.
        parts: variables (the concepts of a perceiver) that no input connects with those of another part, in
            the order in which they are chosen, each with the inputs that it completes.
    """

    def __init__(self, task: Benchmark, split: Split, separate: bool, end: float) -> None:
        self.task, self.end = task, end
        self.inputs = split.take_sequences(_distinct(split))
        self._known: dict[Facts, int] = {}
        self._perceivers = len(task.slots) if separate else 1
        concepts, k = self.inputs.concepts, len(task.concept_space)
        group = np.arange(concepts.shape[1]) * (k if separate else 0)
        self._variables, places = np.unique((concepts + group)[concepts != BLANK], return_inverse=True)
        self._place = np.full(concepts.shape, BLANK, np.int64)
        self._place[concepts != BLANK] = places
        uses = np.zeros((self.inputs.n_sequences, len(self._variables)), np.bool_)
        rows, slots = np.nonzero(self._place != BLANK)
        uses[self.inputs.sequences[rows], self._place[rows, slots]] = True
        self.parts = [_plan(uses, part) for part in _parts(uses)]
        self._image = np.empty(len(self._variables) + 1, np.int16)
        self.forget()

    def forget(self) -> None:
        """Start again from the identity."""
        self._image[:-1] = self._variables % len(self.task.concept_space)
        self._image[-1] = BLANK  # where `_place` says that a slot is blank

    def maps(self, part: Sequence[tuple[int, Ints]]) -> Iterator[None]:
        """Choose what the variables of a part become, in every way that keeps all labels."""
        if time.monotonic() > self.end:
            raise TimeoutError
        if not part:
            yield
            return
        (variable, checked), *rest = part
        values = np.arange(len(self.task.concept_space), dtype=np.int16)
        same = self._variables[variable] % len(values)
        values = np.concatenate([values[same:], values[:same]])  # itself first, so that the identity is
        for value in self._right(values, variable, checked):
            self._image[variable] = value
            yield from self.maps(rest)

    def _right(self, values: Ints16, variable: int, checked: Ints) -> Ints16:
        """The values of a variable that change the label of none of these inputs."""
        task, start, stop = self.task, 0, _FIRST_CHECKED
        while start < len(checked) and len(values):
            rows = rows_of(self.inputs.steps, checked[start:stop])
            part, place = self.inputs.take(rows), self._place[rows]
            asked: list[Facts] = []
            for value in values:
                self._image[variable] = value
                asked += task.contexts(self._image[place], part.metadata, part.steps)
            new = [context for context in dict.fromkeys(asked) if context not in self._known]
            if new:
                labels = crisp_labels([task.true_rule], task.background, new, task.labels)
                self._known.update(zip(new, labels.tolist(), strict=True))
            derived = np.array([self._known[context] for context in asked]).reshape(len(values), -1)
            values = values[(derived == part.labels).all(axis=1)]
            start, stop = stop, 2 * stop
        return values

    def said(self) -> tuple[dict[str, str], ...]:
        """The map in names; empty if it is the identity."""
        names = self.task.concept_space.concepts
        result: list[dict[str, str]] = [{} for _ in self.task.slots]
        for variable, value in zip(self._variables.tolist(), self._image[:-1].tolist(), strict=True):
            group, concept = divmod(variable, len(names))
            if concept != value:
                result[group][names[concept]] = names[value]
        return () if not any(result) else tuple(result[: self._perceivers])


def _distinct(split: Split) -> Ints:
    """Numbers of the sequences of a split, one of those that are equal."""
    columns = [np.ascontiguousarray(c) for c in (split.concepts, split.labels, *split.metadata.values())]
    starts, ends = split.first_rows, np.append(split.first_rows[1:], len(split))
    keys = [tuple(c[i:k].tobytes() for c in columns) for i, k in zip(starts, ends, strict=True)]
    return np.array(list({key: number for number, key in enumerate(keys)}.values()), np.int64)


def _parts(uses: Bools) -> list[list[int]]:
    """The variables in parts that have no input, [inputs, variables], in common."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    table = csr_array(uses.astype(np.int64))
    n, part = connected_components(table.T @ table, directed=False)
    return [np.flatnonzero(part == k).tolist() for k in range(n)]


def _plan(uses: Bools, variables: list[int]) -> list[tuple[int, Ints]]:
    """Variables in the order in which they are chosen, and which inputs each of them completes.

    Next comes the one that completes the most inputs; if none does, one that inputs which lack few need most.

    Args:
        uses: [inputs, variables].
    """
    missing, left = uses.sum(1) * uses[:, variables].any(1), list(variables)
    result = []
    while left:
        nearest = missing == missing[missing > 0].min(initial=uses.shape[1])
        variable = left.pop(int(uses[nearest][:, left].sum(0).argmax()))
        result.append((variable, np.flatnonzero(uses[:, variable] & (missing == 1))))
        missing = missing - uses[:, variable]
    return result
