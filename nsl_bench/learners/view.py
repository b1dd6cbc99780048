"""The view: what a learner is handed of a split, one type for everybody.

A view holds what its track allows and nothing else; asking for more raises a sentence that says so. What
is not allowed is not in the object either: a test view is made without labels, and concepts are the
network's predictions unless the track is told the true ones.

================  ===============  ======  ===================  =========  ================
track             labels (train)   images  concepts             true rule  knowledge, bias
================  ===============  ======  ===================  =========  ================
symbolic          yes              no      the true             no         yes
pretrained        yes              yes     predicted            no         yes
concept_labels    yes              yes     the true in train    no         yes
few_labels        yes              yes     of a few images      no         yes
known_rules       yes              yes     no                   yes        yes
label_only        yes              yes     no                   no         yes
end_to_end        yes              yes     no                   no         no
================  ===============  ======  ===================  =========  ================

All tracks have metadata. With concept labels, train and validation examples have their true concepts beside
the images, and test examples have images alone. With few labels, the concepts of the train and test examples
are unknown; the view has some other images with theirs (`View.few_labels`). With known rules, the view has
the rule that labels the data (`View.true_rule`).

A learner in a process of its own gets a view of the same type (`nsl_bench.sandbox.views`): the annotated
attributes of `View` are sent to it at the start, and members under `asked` are sent when it asks for them.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter, process_time  # as they are now: a learner here may replace them
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np

from nsl_bench.core.benchmark import Benchmark, check_place
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import (
    BLANK,
    Array,
    Bools,
    ConceptSpace,
    FewLabels,
    Floats,
    Floats32,
    Ints,
    Ints16,
    Ints32,
    LabelSpace,
    Part,
    Predictions,
    Split,
)
from nsl_bench.learners.asp_rules import FeatureTest
from nsl_bench.learners.images import Images, LabelledImages, few_labels_of
from nsl_bench.learners.known_rule import KnownRule, rule_as

if TYPE_CHECKING:
    from nsl_bench.learners.feature_tests import FeatureTests
    from nsl_bench.learners.literals import Literals

_WITH_CONCEPTS = frozenset({"symbolic", "pretrained", "concept_labels", "few_labels"})
_WITH_KNOWLEDGE = frozenset(get_args(Track)) - {"end_to_end"}
_WITH_IMAGES = frozenset(get_args(Track)) - {"symbolic"}


BATCH = 64
"""Most examples whose images are requested at once."""

LONGEST_RULES = 1 << 22
"""Characters of the rules that a learner may have."""

Inputs = Literal["concepts", "probabilities", "both"]
"""What a tabular learner sees of images: the most probable concepts, the probabilities of all, or both."""

Weights = Literal["equal", "confidence"]
"""How much train examples count: all alike, or each as FFNSL weighs it (`View.weights`)."""


F = TypeVar("F", bound=Callable[..., Any])

ASKED: dict[str, Asked] = {}
"""What a learner's process may ask the harness about a view, by the name in its question."""


@dataclass(frozen=True)
class Asked:
    """A member of `View` that a learner's process asks the harness for.

    Attributes:
        once: whether a method is asked only once for the same arguments.
    """

    function: Callable[..., Any]
    once: bool


def asked(name: str = "", *, once: bool = False) -> Callable[[F], F]:
    """Let a learner's process ask for a member of `View`.

    The return type says how the answer is restored (`nsl_bench.core.processes.messages.restored`).

    Args:
        name: its name in questions, if it is not the member's.
        once: whether a method is asked only once for the same arguments.
    """

    def mark(function: F) -> F:
        ASKED[name or function.__name__] = Asked(function, once)
        return function

    return mark


class TrackError(UserError, AttributeError):
    """A learner asked its view for something that its track does not provide.

    It is an `AttributeError` too, so ``hasattr(split, "labels")`` works.
    """


class View:
    """A split as a learner gets it.

    A member that the track does not provide raises a `TrackError`: predictions, concepts, features, literals
    and contexts need a track with concepts; the concept space, facts, symbols, background and bias need a
    track with knowledge; labels are those of train and validation sets, labelled images those of train sets.

    Args:
        split: the examples.
        benchmark: the benchmark.
        track: supervision that the learner uses.
        predictions: concepts and their probabilities, predicted by a network or certain (hypothesis
            evaluation and the symbolic track); None if the track does not use them.
        source: image source; None without images.
        shift: shift of the shifted examples.
        labelled: whether labels are included: in train sets, not in test sets.
        time_limit: wall-clock seconds for `fit`.

    Attributes:
        track: supervision that the view provides.
        part: ``"train"`` or ``"test"``.
        time_limit: wall-clock seconds for `fit`; None for no limit. A learner that stops before the limit
            keeps its result; one that exceeds it is stopped.
        device: where torch should compute: ``"cpu"``, ``"cuda"`` ...
        benchmark_name: the benchmark's name.
        label_space: labels and the atoms by which rules derive them.
        slots: names of the image slots.
        sequential: whether rows are steps of sequences, so that a label may depend on earlier rows.
        metadata: symbolic metadata: name to array [n].
        sequences: int32 [n]: the sequence that each row belongs to: 0, 1, 2, ... The rows of a sequence are
            adjacent and in order; an example that is no sequence has one row.
        steps: int32 [n]: place of each row in its sequence, from 1.
        has_images: whether `images` can be asked for.
        reported: the last hypothesis that `report` was given.
        begun: when the learner got the view, on the clock of `time.perf_counter`.
    """

    track: Track
    part: Part
    time_limit: float | None
    device: str
    benchmark_name: str
    label_space: LabelSpace
    slots: tuple[str, ...]
    sequential: bool
    metadata: Mapping[str, Array]
    sequences: Ints32
    steps: Ints32
    has_images: bool
    _n: int
    _labels: Ints | None

    def __init__(
        self,
        split: Split,
        benchmark: Benchmark,
        track: Track,
        *,
        predictions: Predictions | None = None,
        source: ImageSource | None = None,
        shift: Shift | None = None,
        labelled: bool = True,
        time_limit: float | None = None,
    ) -> None:
        self.track, self.part, self._n = track, split.part, len(split)
        self.time_limit, self.device, self.begun = time_limit, "cpu", perf_counter()
        self.reported: tuple[str, ...] = ()
        self._given = [0.0, 0.0]  # shared by copies of the view
        self._benchmark = benchmark
        self.benchmark_name, self.label_space = benchmark.name, benchmark.labels
        self.slots, self.sequential = benchmark.slots, benchmark.sequential
        self.metadata = dict(split.metadata)
        self.sequences, self.steps = split.sequences, split.steps
        self._labels = split.labels.astype(np.int64) if labelled else None
        self._predictions = predictions if track in _WITH_CONCEPTS else None
        if track == "few_labels" and source is not None:
            self._predictions = None  # concepts are told in place of images, never beside them
        if track == "concept_labels" and source is not None:
            is_labelled = labelled and split.part != "test"
            space = benchmark.concept_space
            self._predictions = Predictions.certain(split.concepts, len(space)) if is_labelled else None
        hidden = replace(
            split, concepts=np.full_like(split.concepts, BLANK), labels=np.zeros_like(split.labels)
        )
        with_images = source is not None and track in _WITH_IMAGES and split.images.shape[1] > 0
        self._images = Images(hidden, source, shift) if source is not None and with_images else None
        self.has_images = self._images is not None
        self._few: tuple[FewLabels, ImageSource] | None = None
        if with_images and source is not None and track == "few_labels" and split.part == "train":
            self._few = (few_labels_of(split, benchmark, source), source)

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"<{self.part} view of {len(self)} examples of {self.benchmark_name}, track {self.track}>"

    def unlabelled(self) -> View:
        """The same examples without labels, like a test set."""
        other = copy.copy(self)
        other._labels, other.is_bare = None, True
        if self.track == "concept_labels" and self.has_images:
            other._predictions = None
            for name in ("_seen", "concepts", "literals", "contexts", "sequence_contexts"):
                other.__dict__.pop(name, None)
        return other

    is_bare = False
    """Whether `unlabelled` made it."""

    @property
    def labels(self) -> Ints:
        """int64 [n]: indices into `label_names`."""
        if self._labels is None:
            raise TrackError("The test split has no labels; predict them.")
        return self._labels

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.label_space)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.label_space.names

    @cached_property
    @asked()
    def concept_space(self) -> ConceptSpace:
        """Concepts that an image can show."""
        self._knows("concepts")
        return self._benchmark.concept_space

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """Facts, without full stops, which state that a slot shows a concept."""
        check_place(slot, concept, self.slots, self.concept_space)
        return self._facts[slot][self.concept_space.ids[concept]]

    @cached_property
    @asked("facts")
    def _facts(self) -> list[list[tuple[str, ...]]]:
        self._knows("facts")
        task, concepts = self._benchmark, self._benchmark.concept_space.concepts
        return [[task.facts(slot, concept) for concept in concepts] for slot in range(len(self.slots))]

    @property
    def images(self) -> Images:
        """For each example, a list over slots of uint8 [height, width, channels], or None."""
        if self._images is None:
            reason = (
                "this view contains only symbols"
                if self.track in _WITH_IMAGES
                else f"learners of the track '{self.track}' get symbols"
            )
            raise TrackError(f"No images are available here: {reason}.")
        return self._images

    @asked("images")
    def rendered(self, rows: Sequence[int]) -> dict[str, Any]:
        """The images of at most `BATCH` examples: those that are there, and which are."""
        if len(rows) > BATCH:
            raise UserError(f"Images of at most {BATCH} examples can be requested at once; got {len(rows)}.")
        examples = [self.images[row] for row in rows]
        there = [image for slots in examples for image in slots if image is not None]
        present = np.array([[image is not None for image in slots] for slots in examples], np.bool_)
        return {"images": np.stack(there) if there else np.empty((0, 1, 1, 1), np.uint8), "present": present}

    @property
    @asked()
    def few_labels(self) -> LabelledImages:
        """Images that are not in any example, with their symbols."""
        if self._few is None:
            raise TrackError(
                f"Labelled images are absent: {self.part} views of the track '{self.track}' have none."
            )
        few, source = self._few
        images = np.zeros((*few.images.shape, *source.shape), np.uint8)
        filled = few.images != BLANK
        images[filled] = source.render("network", few.images[filled].astype(np.int64), source.variants[0])
        return LabelledImages(images, few.targets, few.values)

    @cached_property
    def true_rule(self) -> KnownRule:
        """The rule that labels the data: in ASP, in ProbLog, and as a function (track ``known_rules``)."""
        self._check_rule()
        return KnownRule(self._rule_as, self._n)

    @asked(once=True)
    def _check_rule(self) -> None:
        if self.track != "known_rules":
            raise TrackError(f"Learners of the track '{self.track}' do not get the true rule.")
        if not self._benchmark.true_rule:
            raise TrackError(f"The rule that labels the data of {self.benchmark_name} is unknown.")

    @asked("true_rule")
    def _rule_as(self, form: str, concepts: Any = None, rows: Any = None) -> Any:
        """A form of the true rule (`nsl_bench.learners.known_rule.rule_as`)."""
        self._check_rule()
        return rule_as(form, (self._benchmark, self.metadata, self.steps), concepts, rows)

    @property
    @asked()
    def symbols(self) -> tuple[tuple[str, ...], ...]:
        """For each symbol of a row and each of its values, ASP literals that say it of step ``T``."""
        self._knows("symbols")
        return self._benchmark.symbols()

    @property
    @asked()
    def memory(self) -> tuple[str, ...]:
        """For each value of the metadata field ``previous``, ASP literals that say it of step ``T``."""
        self._knows("symbols")
        return self._benchmark.memory()

    @property
    def predictions(self) -> Predictions:
        """Concepts of the images and their probabilities."""
        return self._known("concept probabilities")

    @property
    def probabilities(self) -> Floats32:
        """float32 [n, slots, concepts]: concept probabilities; all zero for a blank slot."""
        return self._known("concept probabilities").probabilities

    @property
    def concept_ids(self) -> Ints16:
        """int16 [n, slots]: concepts, true or predicted depending on the track; -1 for a blank slot."""
        return self._known("concepts").concepts

    @cached_property
    def concepts(self) -> list[list[str | None]]:
        """For each example, a list over slots of concepts; None for a blank slot."""
        names: list[str | None] = [*self.concept_space.concepts, None]
        return [[names[c] for c in row] for row in self.concept_ids.tolist()]

    @property
    @asked()
    def features(self) -> Floats32:
        """float32 [n, features]: input features of a tabular learner."""
        return self._benchmark.features(self.concept_ids, self.metadata)

    @property
    @asked()
    def knowledge_features(self) -> Floats32:
        """float32 [n, features]: input features that contain part of the solution.

        Raises:
            UserError: the benchmark defines none.
        """
        return self._benchmark.knowledge_features(self.concept_ids, self.metadata)

    @cached_property
    def probability_features(self) -> Floats32:
        """float32 [n, slots * concepts + more]: concept probabilities, and `features` without the images."""
        columns = [self.probabilities.reshape(len(self), -1)]
        if self.metadata:
            columns.append(self._blank_features)
        return np.hstack(columns)

    def inputs(self, which: Inputs, concepts: Array) -> Array:
        """[n, columns]: a learner's own columns of the `concepts`, `probability_features`, or both."""
        if which == "concepts":
            return concepts
        more = self.probability_features
        return more if which == "probabilities" else np.hstack([concepts, more])

    @property
    @asked("blank_features")
    def _blank_features(self) -> Floats32:
        self._known("features")
        nothing = np.full((len(self), len(self.slots)), BLANK, np.int16)
        return self._benchmark.features(nothing, self.metadata)

    @property
    def weights(self) -> Ints:
        """int64 [n]: how much FFNSL weighs each example, by the confidence of its least certain image.

        It is 0 for an example that FFNSL leaves out. Where it would be 0 for all, it is 1 for all.
        """
        from nsl_bench.learners.d2k import penalties

        result = penalties(self)
        return result if result.any() else np.ones_like(result)

    @asked(once=True)
    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        """Column names of `features`, or of `knowledge_features`."""
        count = (self.knowledge_features if knowledge else self.features).shape[1]
        names = self._benchmark.feature_names(knowledge=knowledge)
        return names if len(names) == count else tuple(f"x{i + 1}" for i in range(count))

    @asked(once=True)
    def feature_test(self, column: int, threshold: float, *, knowledge: bool = False) -> FeatureTest:
        """ASP for "this column of `features` (or `knowledge_features`) is greater than the threshold".

        Raises:
            UserError: no ASP says it exactly, e.g. for steps of sequences.
        """
        self._known("features")
        with self._giving():
            return self._feature_tests.test(column, threshold, knowledge=knowledge)

    @cached_property
    def _feature_tests(self) -> FeatureTests:
        from nsl_bench.learners.feature_tests import FeatureTests

        return FeatureTests(self._benchmark, self.metadata)

    @cached_property
    @asked()
    def literals(self) -> Bools:
        """bool [n, literals]: inputs of a propositional learner (`nsl_bench.learners.literals`)."""
        with self._giving():
            return self._vocabulary.values(self.concept_ids, self.metadata)

    @cached_property
    @asked()
    def literal_names(self) -> tuple[str, ...]:
        """Column names of `literals`."""
        with self._giving():
            return self._vocabulary.names

    @cached_property
    @asked()
    def literal_bodies(self) -> tuple[tuple[str, ...], ...]:
        """For each column of `literals`, ASP atoms that hold together exactly where it is true."""
        with self._giving():
            return self._vocabulary.bodies

    @property
    def given_time(self) -> tuple[float, float]:
        """Wall and CPU seconds of computing `literals`, which are an input and no part of learning."""
        return self._given[0], self._given[1]

    @contextlib.contextmanager
    def _giving(self) -> Iterator[None]:
        clock, cpu = perf_counter(), process_time()
        yield
        self._given[0] += perf_counter() - clock
        self._given[1] += process_time() - cpu

    @property
    def _vocabulary(self) -> Literals:
        from nsl_bench.learners.literals import literals_of

        self._knows("literals")
        return literals_of(self._benchmark)

    @cached_property
    @asked()
    def background(self) -> str:
        """Background knowledge in ASP."""
        self._knows("background knowledge")
        return self._benchmark.background

    @cached_property
    @asked()
    def bias(self) -> str:
        """Language bias: mode declarations."""
        self._knows("language bias")
        return self._benchmark.bias

    @cached_property
    @asked()
    def possible_concepts(self) -> Ints16:
        """int16 [inputs, slots]: the concepts of every input that the task can have.

        Raises:
            UserError: the task has metadata or sequences, or too many inputs.
        """
        from nsl_bench.learners.queries import possible_concepts

        self._knows("possible inputs")
        return possible_concepts(self._benchmark)

    @cached_property
    @asked()
    def contexts(self) -> list[tuple[str, ...]]:
        """Facts of each example: its concepts and metadata, without full stops.

        A row of a sequence has the facts of its own step and of all earlier ones, and which step is asked.
        """
        return self._benchmark.contexts(self.concept_ids, self.metadata, self.steps)

    @cached_property
    @asked()
    def metadata_facts(self) -> list[tuple[str, ...]]:
        """The facts of each example's metadata: its context without concepts."""
        self._knows("facts")
        nothing = np.full((len(self), len(self.slots)), BLANK, np.int16)
        return self._benchmark.contexts(nothing, self.metadata, self.steps)

    @cached_property
    @asked()
    def sequence_contexts(self) -> list[tuple[str, ...]]:
        """Facts of all steps of each sequence, for learners that see a sequence as one example."""
        return self._benchmark.sequence_contexts(self.concept_ids, self.metadata, self.steps)

    @asked("rule_answers")
    def answered_by(self, rules: Sequence[str], concepts: Any = None) -> dict[str, Any]:
        """The ``labels`` and ``probabilities`` that ASP rules give (`nsl_bench.answer`)."""
        from nsl_bench.learners.answering import derived

        self._knows("background knowledge")
        return derived(self._benchmark, self, tuple(map(str, rules)), concepts)

    @asked()
    def label_probabilities(self, rules: Sequence[str]) -> Floats:
        """float64 [n, n_labels]: label probabilities under ASP rules, inferred from concept probabilities.

        A row sums to less than 1 where some concepts give no label or several.

        Raises:
            UserError: the rules cannot be used for inference.
        """
        from nsl_bench.learners.answering import inferred

        self._knows("background knowledge")
        return inferred(self._benchmark, self, tuple(map(str, rules)), self.probabilities)

    @asked(once=True)
    def step_atom(self, atom: str, step: int) -> str:
        """The atom that holds at a step of a sequence where `atom` is one of a row's."""
        return self._benchmark.step_atom(atom, step)

    @asked()
    def report(self, rules: Sequence[str]) -> None:
        """Report the best hypothesis so far. It counts if `fit` reaches the time limit.

        Args:
            rules: ASP rules.
        """
        if sum(map(len, rules)) <= LONGEST_RULES:
            self.reported = tuple(rules)

    @cached_property
    @asked("predictions")
    def _seen(self) -> Predictions | None:
        return self._predictions

    def _known(self, what: str) -> Predictions:
        if self._seen is None:
            if self.track == "few_labels":
                raise TrackError(f"Learners of the track 'few_labels' get a few labelled images, not {what}.")
            if self.track == "concept_labels":
                raise TrackError(f"Only examples with labels have {what} in the track 'concept_labels'.")
            if self.track in _WITH_CONCEPTS:
                raise TrackError(f"No {what} are available here: this view was made without a network.")
            raise TrackError(f"Learners of the track '{self.track}' get images, not {what}.")
        return self._seen

    def _knows(self, what: str) -> None:
        if self.track not in _WITH_KNOWLEDGE:
            raise TrackError(f"Learners of the track '{self.track}' do not get {what}.")
