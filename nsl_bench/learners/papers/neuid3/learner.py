"""The learner ``neuid3``: a neurosymbolic decision tree from images and labels.

Moeller, Norlander, Zuidberg Dos Martires, De Raedt: "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762),
section 4. One tree for a task with two labels, one against the rest for each label elsewhere.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import AnyInts, Array, Floats, Hypothesis, Ints, Ints16, one_hot
from nsl_bench.learners.base import TOLD_THE_ANSWER
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.papers.neuid3.asp import deepproblog, program, tables
from nsl_bench.learners.papers.neuid3.induction import Grower, Limits
from nsl_bench.learners.papers.neuid3.networks import Training
from nsl_bench.learners.papers.neuid3.questions import (
    Data,
    Question,
    Trained,
    has_images,
    known_questions,
    read,
)
from nsl_bench.learners.papers.neuid3.saved import load_tests, save_tests
from nsl_bench.learners.papers.neuid3.tests import NeuralTest, given_tests, neural_tests
from nsl_bench.learners.papers.neuid3.tree import Node, answer, branches, draw, rules_of
from nsl_bench.learners.view import View
from nsl_bench.perception.training import PRECISION, Precision

_SHARE = 0.8
"""Share of the time limit in which the tree grows; the rest is for leaves and answers."""

_HELD_OUT = 6
"""Without a validation set every sixth train example is held out."""


class NeuID3(HasOptions):
    """Neurosymbolic decision tree, learned from the root down.

    Attributes:
        trees_: the trees by the index of their label.
    """

    answers_alike = True

    name = "neuid3"
    tests: Literal["nf", "union", "bad", "optimal", "facts"] = option(
        "union",
        "``nf``: neural facts; ``union``: neural rules for pairs of like slots (equal, smaller, next); "
        "``bad``: facts and rules without those of the hidden concept; ``optimal``: those alone, which "
        "tells the learner the answer; ``facts``: no networks, but facts with a perceiver's probabilities",
    )
    depth: int = option(4, "most tests on a path", least=1)
    epochs: int = option(20, "passes over the examples for each test, at each node", least=1)
    learning_rate: float = option(1e-3, "learning rate of Adam", above=0)
    batch: int = option(32, "examples in a minibatch", least=1)
    least_gain: float = option(
        1e-3,
        "bits below which a node becomes a leaf: of information gain, and of what the best test takes from "
        "the log-loss of the validation examples",
        least=0,
        below=1,
    )
    least_probability: float = option(
        0.05, "examples go down a path while its probability is at least this", least=0, below=1
    )
    named: bool = option(False, "whether a perceiver names what networks see, so that rules are ASP")
    reuse: str | None = option(
        None, 'file of `save`, or several joined by "+"; its tests replace those of the same name, frozen'
    )
    seed: int = option(0, "seed of weights and of the order of examples")
    precision: Precision = option("float32", PRECISION)
    starts: int = option(1, "first weights of each test; the least validation loss decides", least=1)
    given: Path | None = option(
        None,
        "file of tests as rules: ``test(next,suit_0,suit_1,4).`` has two slots and the number of values, "
        "``next :- value(suit_0,A), value(suit_1,A+1).`` says when it holds",
    )

    def __post_init__(self) -> None:
        tests, named, reuse = self.tests, self.named, self.reuse
        if tests == "facts" and (named or reuse):
            raise UserError("neuid3: tests=facts has no networks, so named and reuse cannot be used with it.")
        self.limits = Limits(self.depth, self.least_gain, self.least_probability)
        how = self.epochs, self.learning_rate, self.batch, self.precision, self.starts
        self.training = Training(*how)
        self.facts = tests == "facts"
        self.track: Track = "pretrained" if self.facts or named else "label_only"
        self.version = f"4+{TOLD_THE_ANSWER}" if tests == "optimal" else "4"
        files = [*map(Path, reuse.split("+") if reuse else ()), *filter(None, [self.given])]
        files = [file for file in files if file.is_file()]
        if files:  # other trained or given tests make another learner
            self.version = f"{self.version}+{cache.content_key(*files)}"

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Grow the trees."""
        started = time.monotonic()
        deadline = None if train.time_limit is None else started + _SHARE * train.time_limit
        limits = replace(self.limits, deadline=deadline)
        tests, ready = self._questions(train)
        self._labels, self._space = train.labels, train.label_space
        data, labels = self._parts(train, validation)
        _check_channels(ready, data[0])
        self.trees_: dict[int, Node] = {}
        self.timed_out_ = False
        with seeded(self.seed):
            import torch

            for label in self._positive():
                positive = tuple(torch.as_tensor((part == label).astype(np.float32)) for part in labels)
                key = (train.benchmark_name, self.seed, label)
                grower = Grower(data, (positive[0], positive[1]), limits, self.training, key)
                self.trees_[label] = grower.grow(tests, ready)
                self.timed_out_ = self.timed_out_ or grower.late
            self._rules = self._written(train, data[0])
        self._background = train.background
        self._slots = train.slots
        return self

    def _questions(self, train: View) -> tuple[list[NeuralTest], list[Question]]:
        """Neural tests to train, and questions that are ready."""
        ready = known_questions(train, self.facts)
        if self.facts:
            return [], ready
        tests = neural_tests(train, self.tests)
        tests += given_tests(self.given, train.slots) if self.given else []
        for file in self.reuse.split("+") if self.reuse else ():
            saved = load_tests(Path(file), train.slots)
            names = {one.name for one in saved}
            tests = [test for test in tests if test.name not in names]
            ready += saved
        return tests, ready

    def _parts(self, train: View, validation: View | None) -> tuple[tuple[Data, Data], tuple[Ints, Ints]]:
        """Train and validation examples, and their labels."""
        whole = read(train, self.facts)
        if validation is not None:
            return (whole, read(validation, self.facts)), (train.labels, validation.labels)
        if self.facts:  # nothing is trained, so nothing is held out
            return (whole, _taken(whole, np.arange(0))), (train.labels, train.labels[:0])
        rows = np.arange(len(train))
        held_out = rows % _HELD_OUT == _HELD_OUT - 1
        parts = [_taken(whole, rows[~held_out]), _taken(whole, rows[held_out])]
        return (parts[0], parts[1]), (train.labels[~held_out], train.labels[held_out])

    def _positive(self) -> tuple[int, ...]:
        """Labels that have a tree: of two labels the one with an atom, else all."""
        atoms = self._space.atoms
        if len(atoms) > 2:
            return tuple(range(len(atoms)))
        return (0,) if atoms[1] is None else (1,)

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: of two labels the tree's probability, else the trees' ones, normalised.

        Where true concepts are shown in place of images, rules answer.
        """
        if self.named and not has_images(test):
            return one_hot(self._by_rules(test), test.n_labels)
        if not len(test):
            return np.zeros((0, test.n_labels))
        data = read(test, self.facts)
        with seeded(self.seed):
            answers = {label: answer(root, data).numpy() for label, root in self.trees_.items()}
        result = np.zeros((len(test), test.n_labels))
        for label, probability in answers.items():
            result[:, label] = probability
        if len(answers) == 1:
            (label,) = answers
            result[:, 1 - label] = 1 - answers[label]
        total: Floats = np.maximum(result.sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(result / total, np.float64)

    def _by_rules(self, test: View) -> Ints16:
        from nsl_bench.logic.guarded.rules import crisp

        assert self._rules is not None
        return crisp(self._rules, self._background, test.contexts, test.label_space, what="the tree's rules")

    def _written(self, train: View, data: Data) -> tuple[str, ...] | None:
        """The trees as ASP; None where networks have no names."""
        if not (self.facts or self.named):
            return None
        concepts = train.concept_ids[: data.n] if data.n == len(train) else _training_rows(train.concept_ids)
        return self.asp(train, data, concepts)

    def asp(self, view: View, data: Data, concepts: AnyInts) -> tuple[str, ...]:
        """The trees as ASP rules.

        Args:
            data: examples whose images name what networks see (`read`).
            concepts: int [n, slots], the concepts that they show.
        """
        named = {}
        for root in self.trees_.values():
            named.update(tables(root, data, concepts, len(view.concept_space)))
        atoms = self._space.atoms
        return program({str(atoms[label]): root for label, root in self.trees_.items()}, named, view)

    def rules(self) -> Hypothesis:
        """The trees as ASP where networks have names, else their branches with probabilities."""
        if self._rules is not None:
            return Hypothesis(self._rules, 0)
        names = self._space.names
        rules = [rule for label, root in self.trees_.items() for rule in rules_of(root, names[label])]
        tests = sum(len(path) for root in self.trees_.values() for _, path in branches(root))
        return Hypothesis(tuple(rules), max(tests, 1), language="tree")

    def deepproblog(self) -> str:
        """The trees as a DeepProbLog program."""
        atoms = self._space.atoms
        return deepproblog({str(atoms[label]): root for label, root in self.trees_.items()}, self._slots)

    def picture(self, path: str | Path) -> None:
        """Draw the trees into a file, whose ending decides the format."""
        draw({self._space.names[label]: root for label, root in self.trees_.items()}, Path(path))

    def save(self, path: str | Path) -> None:
        """Keep the trained tests in a file for another tree's option `reuse`."""
        save_tests(Path(path), list(self.trees_.values()), self._slots)


def _check_channels(ready: list[Question], data: Data) -> None:
    """Refuse trained tests of images with another number of channels."""
    for one in ready:
        if isinstance(one, Trained) and one.networks.channels != data.images.shape[2]:
            raise NotApplicable(
                f"neuid3: the trained test {one.name} requires images of {one.networks.channels} channels; "
                f"those of this task have {data.images.shape[2]}."
            )


def _taken(data: Data, rows: Ints) -> Data:
    images = None if data.images is None else data.images[rows]
    probabilities = None if data.probabilities is None else data.probabilities[rows]
    return Data(len(rows), images, probabilities, {name: c[rows] for name, c in data.metadata.items()})


def _training_rows(column: Array) -> Array:
    """The rows that are not held out."""
    return np.asarray(column[np.arange(len(column)) % _HELD_OUT != _HELD_OUT - 1])
