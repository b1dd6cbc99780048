"""Structural shift: a learner is trained on one member of a family of tasks and tested on another.

A task names its family (`nsl_bench.core.benchmark.Family`). The train set is that of the run's task; the
test set, background knowledge, labels and true rule are those of the test task. Both have the concepts of
the member with more of them, and the network knows all of these: a network for digits 1-4 could not be asked
about 9.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, ConceptSpace, Split


def member_of(task: Benchmark, spec: str) -> Benchmark:
    """The member of a task's family that a spec names; the task itself if it names that."""
    if registry.Spec.parse(spec) == registry.Spec.parse(task.spec):
        return task
    if task.family is None:
        raise UserError(f"{task.name} has one size only, so it cannot be tested on another task; got {spec}.")
    other: Benchmark = registry.create("benchmark", spec)
    if other.spec == task.spec:
        return task
    if other.family is None or other.family.name != task.family.name:
        members = ", ".join(task.family.members)
        raise UserError(
            f"The test task {spec} is not in the family of {task.name}; members are {members}, and others "
            f"that differ in the {task.family.changes}."
        )
    if other.sequential != task.sequential:
        raise UserError(f"{task.name} and {spec} cannot be tested on each other: only one has sequences.")
    covering(task, other)
    return other


def covering(first: Benchmark, second: Benchmark) -> Benchmark:
    """The one of two tasks that has all concepts of both; the first if both have."""
    for one, other in ((first, second), (second, first)):
        if set(other.concept_space.concepts) <= set(one.concept_space.concepts):
            return one
    raise UserError(
        f"{first.name} and {second.name} cannot be tested on each other: each has a "
        f"{first.concept_space.name} that the other lacks."
    )


def with_concepts_of(task: Benchmark, space: ConceptSpace) -> Benchmark:
    """The task with the concepts of another member of its family, which contain its own."""
    if task.concept_space.concepts == space.concepts:
        return task
    wider = copy.copy(task)
    wider.concept_space = space
    return wider


def with_concepts(split: Split, space: ConceptSpace) -> Split:
    """The same examples, whose concepts are indices into another space that contains their own."""
    own = split.concept_space.concepts
    if own == space.concepts:
        return split
    places = np.array([*(space.ids[concept] for concept in own), BLANK], np.int16)
    return replace(split, concept_space=space, concepts=places[split.concepts])


def changed_sizes(trained: Benchmark, tested: Benchmark, fixed: Sequence[str]) -> list[str]:
    """What changes between two tasks of what a learner says is fixed, in words for a message."""
    sizes = {"slots": (trained.slots, tested.slots), "labels": (trained.labels.names, tested.labels.names)}
    return [
        f"{len(now)} {name} instead of {len(then)}"
        for name, (then, now) in sizes.items()
        if name in fixed and then != now
    ]
