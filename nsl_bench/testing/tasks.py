"""`TaskTests`, tests that every task must pass."""

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import resolve
from nsl_bench.core.types import BLANK, Part, Split
from nsl_bench.data.splits import make_source, make_split, symbolic_split, task_of_split
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.logic.las.bias.hypothesis import count_atoms
from nsl_bench.run.structural_shift import covering
from nsl_bench.testing import Tests

_INPUTS_ASKED = 3
"""Examples that are looked for among the inputs."""


class TaskTests(Tests):
    """Tests of a task::

        class TestMyTask(TaskTests):
            spec = "my_task"

    Attributes:
        spec: of the task; without an entry point, override `make`.
        size: number of train examples that the tests look at.
        few: whether there are so few different examples that train examples may occur in the test set.
    """

    __test__ = False

    spec: ClassVar[str]
    size: ClassVar[int] = 40
    few: ClassVar[bool] = False

    @classmethod
    def make(cls) -> Benchmark:
        """Create the task; each call returns an equal one."""
        task: Benchmark = registry.create("benchmark", cls.spec)
        return task

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Benchmark:
        """The task of the first train split."""
        return task_of_split(cls.make(), 1)

    @pytest.fixture(scope="class")
    @classmethod
    def train(cls, task: Benchmark) -> Split:
        """The first train set, without images."""
        return symbolic_split(task, "train", str(cls.size))

    def test_says_what_it_is(self, task: Benchmark) -> None:
        for text in (task.name, task.version, task.description, task.inputs):
            assert isinstance(text, str) and text.strip()
        assert isinstance(task.true_rule, str) and isinstance(task.about, str)
        assert len(task.labels) >= 2
        for names in (task.slots, task.labels.names, task.concept_space.concepts, task.sources):
            assert len(set(names)) == len(names) > 0
        assert all(count > 0 for count in (*task.sizes.values(), task.test_size, task.repeats))
        layout = task.layout()
        assert layout.rows * layout.columns >= len(task.slots)

    def test_examples_have_the_declared_columns(self, task: Benchmark, train: Split) -> None:
        assert train.part == "train" and train.n_sequences == self.size
        assert task.sequential or not train.is_sequential
        assert train.concept_space.concepts == task.concept_space.concepts
        assert train.concepts.dtype == train.labels.dtype == np.int16
        assert train.concepts.shape == (len(train), len(task.slots))
        assert train.concepts.min() >= BLANK and train.concepts.max() < len(task.concept_space)
        assert set(train.labels.tolist()) <= set(range(len(task.labels)))
        assert set(train.metadata) == set(task.metadata)

    def test_every_label_occurs(self, task: Benchmark, train: Split) -> None:
        test = symbolic_split(task, "test")
        assert set(train.labels.tolist()) | set(test.labels.tolist()) == set(range(len(task.labels)))
        assert test.n_sequences == task.test_size

    def test_the_seed_decides_the_examples(self, train: Split) -> None:
        assert _rows(symbolic_split(self.make(), "train", str(self.size))) == _rows(train)
        others = [
            symbolic_split(self.make(), "train", str(self.size), repeat, seed=seed)
            for repeat, seed in ((2, 0), (1, 1))
        ]
        assert all(_rows(other) != _rows(train) for other in others)

    def test_train_validation_and_test_sets_share_nothing(self, task: Benchmark, train: Split) -> None:
        validation = symbolic_split(task, "validation", str(self.size))
        assert validation.part == "validation" and len(validation) > 0
        sets = [set(_sequences(split)) for split in (train, validation, symbolic_split(task, "test"))]
        assert self.few or sum(map(len, sets)) == len(set.union(*sets))

    def test_the_true_rule_gives_the_labels(self, task: Benchmark, train: Split) -> None:
        _need_true_rule(task)
        contexts = task.contexts(train.concepts, train.metadata, train.steps)
        labels = crisp_labels([task.true_rule], task.background, contexts, task.labels)
        assert np.array_equal(labels, train.labels)

    def test_the_true_rule_needs_the_examples(self, task: Benchmark, train: Split) -> None:
        """The background knowledge alone labels nothing right that is not the default label."""
        contexts = task.contexts(train.concepts, train.metadata, train.steps)
        labels = crisp_labels([], task.background, contexts, task.labels)
        assert not np.array_equal(labels, train.labels)

    def test_the_inputs_hold_the_examples(self, task: Benchmark, train: Split) -> None:
        import clingo

        for context in task.contexts(train.concepts, train.metadata, train.steps)[:_INPUTS_ASKED]:
            control = clingo.Control(["--warn=none"])
            constraints = "".join(f":- not {fact}.\n" for fact in context)
            control.add("base", [], f"{task.background}\n{task.inputs}\n{constraints}")
            control.ground([("base", [])])
            assert control.solve().satisfiable, f"no answer set of `inputs` holds {' '.join(context)}"

    def test_the_language_bias_can_be_read(self, task: Benchmark) -> None:
        rule = task.true_rule or f"{next(filter(None, task.labels.atoms))}."
        assert count_atoms(task, [rule]) > 0

    def test_features_have_names(self, task: Benchmark, train: Split) -> None:
        features = task.features(train.concepts, train.metadata)
        assert features.dtype == np.float32 and len(features) == len(train)
        assert len(task.feature_names()) in (0, features.shape[1])

    def test_images_show_the_concepts(self, task: Benchmark) -> None:
        source = make_source(task)
        parts: tuple[Part, ...] = ("train", "test")
        for part in parts:
            split = make_split(task, source, part, str(self.size))
            filled = split.images != BLANK
            assert np.array_equal(filled, split.concepts != BLANK)
            assert np.array_equal(source.labels(split.pool)[split.images[filled]], split.concepts[filled])

    def test_its_shifts_fit_its_source(self, task: Benchmark) -> None:
        source = make_source(task)
        for name in task.named_shifts:
            shift = resolve(name, task, source)
            assert shift is not None
            assert shift.render(source, "b", np.arange(2)).shape == (2, *source.shape)

    def test_it_can_be_pickled(self, task: Benchmark, train: Split) -> None:
        again: Any = pickle.loads(pickle.dumps(task))
        assert _rows(symbolic_split(again, "train", str(self.size))) == _rows(train)

    def test_members_of_its_family_share_its_words(self, task: Benchmark) -> None:
        if task.family is None:
            pytest.skip("the task is of no family")
        for spec in task.family.members:
            other: Benchmark = registry.create("benchmark", spec)
            assert other.family is not None and other.family.name == task.family.name
            assert other.spec == spec, "members must be named by their shortest spec"
            assert other.concept_space.name == task.concept_space.name
            assert other.sequential == task.sequential
            covering(task, other)


def _need_true_rule(task: Benchmark) -> None:
    if not task.true_rule:
        pytest.skip("the task has no true rule")


def _rows(split: Split) -> list[tuple[Any, ...]]:
    """What tells examples apart: concepts and meta-data."""
    columns = [split.concepts.tolist(), *(column.tolist() for column in split.metadata.values())]
    return [(tuple(concepts), *values) for concepts, *values in zip(*columns, strict=True)]


def _sequences(split: Split) -> list[tuple[Any, ...]]:
    """`_rows` of each sequence together."""
    rows = _rows(split)
    ends = [*split.first_rows[1:].tolist(), len(rows)]
    return [tuple(rows[start:end]) for start, end in zip(split.first_rows.tolist(), ends, strict=True)]
