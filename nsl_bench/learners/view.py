"""The view: what a learner is handed of a split, one type for everybody.

A view holds what its track allows and nothing else; asking for more raises a sentence that says so. What
is not allowed is not in the object either: a test view is made without labels, and concepts are the
network's predictions unless the track is told the true ones.

=================  ==========  ===========  ===========  ===========  ===========
allowed            symbolic    pretrained   few_labels   label_only   end_to_end
=================  ==========  ===========  ===========  ===========  ===========
labels (train)     yes         yes          yes          yes          yes
images             no          yes          yes          yes          yes
meta-data          yes         yes          yes          yes          yes
concepts           the true    predicted    of a few     no           no
knowledge, bias    yes         yes          yes          yes          no
=================  ==========  ===========  ===========  ===========  ===========

With few labels, the concepts of the train and test examples are unknown; the view has some other images with
theirs (`View.few_labels`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from nsl_bench.benchmark import Benchmark
from nsl_bench.data.splits import assign_images
from nsl_bench.errors import UserError
from nsl_bench.seeding import generator, stable_hash
from nsl_bench.shift import Shift
from nsl_bench.source import ImageSource
from nsl_bench.types import BLANK, ConceptSpace, FewLabels, LabelSpace, Part, Predictions, Split, Track

if TYPE_CHECKING:
    from nsl_bench.learners.literals import Literals

__all__ = ["Images", "LabelledImages", "TrackError", "View"]

_WITH_CONCEPTS = frozenset({"symbolic", "pretrained", "few_labels"})
_WITH_KNOWLEDGE = frozenset({"symbolic", "pretrained", "few_labels", "label_only"})
_WITH_IMAGES = frozenset({"pretrained", "few_labels", "label_only", "end_to_end"})

Slots = list[npt.NDArray[np.uint8] | None]
"""The images of one example, one a slot: uint8 [height, width, channels], None for a blank slot."""


class TrackError(UserError, AttributeError):
    """A learner asked its view for something that its track does not provide.

    It is an `AttributeError` too, so ``hasattr(split, "labels")`` works.
    """


class Images(Sequence[Slots]):
    """Images of a split's examples, rendered on demand.

    Args:
        split: examples with images.
        source: image source.
        shift: shift of the shifted examples.
    """

    def __init__(self, split: Split, source: ImageSource, shift: Shift | None) -> None:
        if split.n_shifted and shift is None:
            raise ValueError("some examples are shifted, but no shift is given")
        self._split, self._source, self._shift = split, source, shift

    def __len__(self) -> int:
        return len(self._split)

    @overload
    def __getitem__(self, i: int) -> Slots: ...
    @overload
    def __getitem__(self, i: slice) -> list[Slots]: ...
    def __getitem__(self, i: int | slice) -> Slots | list[Slots]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"example {i} of {len(self)}")
        row = self._split.images[i]
        full = row != BLANK
        rendered = iter(self._render(row[full].astype(np.int64), shifted=bool(self._split.shifted[i])))
        return [next(rendered) if there else None for there in full.tolist()]

    def __iter__(self) -> Iterator[Slots]:
        return (self[i] for i in range(len(self)))

    def _render(self, indices: npt.NDArray[np.int64], *, shifted: bool) -> npt.NDArray[np.uint8]:
        """uint8 [m, height, width, channels]: images of the split's part of the pool."""
        if shifted and self._shift is not None:
            return self._shift.render(self._source, self._split.pool, indices)
        return self._source.render(self._split.pool, indices, self._source.variants[0])


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """The labelled samples of the track ``few_labels``.

    Attributes:
        images: uint8 [m, places, height, width, channels]; zeros where nothing is shown.
        targets: int64 [m, symbols], the value of each symbol.
        values: number of values of each symbol.
    """

    images: npt.NDArray[np.uint8]
    targets: npt.NDArray[np.int64]
    values: tuple[int, ...]


class View:
    """A split as a learner gets it.

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
    """

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
        self.track: Track = track
        self.part: Part = split.part
        self.time_limit = time_limit
        self._n = len(split)
        self._benchmark = benchmark
        self._metadata = dict(split.metadata)
        self._sequences, self._steps = split.sequences, split.steps
        self._labels = split.labels.astype(np.int64) if labelled else None
        self._predictions = predictions if track in _WITH_CONCEPTS else None
        if track == "few_labels" and source is not None:
            self._predictions = None  # concepts are told in place of images, never beside them
        hidden = replace(
            split, concepts=np.full_like(split.concepts, BLANK), labels=np.zeros_like(split.labels)
        )
        with_images = source is not None and track in _WITH_IMAGES and split.images.shape[1] > 0
        self._images = Images(hidden, source, shift) if source is not None and with_images else None
        self._few: tuple[FewLabels, ImageSource] | None = None
        if with_images and source is not None and track == "few_labels" and split.part == "train":
            self._few = (_few_labels(split, benchmark, source), source)

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"<{self.part} view of {len(self)} examples of {self._benchmark.name}, track {self.track}>"

    def unlabelled(self) -> View:
        """The same examples without labels, like a test set."""
        other = copy.copy(self)
        other._labels = None
        return other

    @property
    def benchmark_name(self) -> str:
        """The benchmark's name."""
        return self._benchmark.name

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """int64 [n]: indices into `label_names`.

        Raises:
            TrackError: the view is of a test set.
        """
        if self._labels is None:
            raise TrackError("The test split has no labels; predict them.")
        return self._labels

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._benchmark.labels)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self._benchmark.labels.names

    @property
    def label_space(self) -> LabelSpace:
        """Labels and the atoms by which rules derive them."""
        return self._benchmark.labels

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the image slots."""
        return self._benchmark.slots

    @property
    def concept_space(self) -> ConceptSpace:
        """Concepts that an image can show.

        Raises:
            TrackError: the track has neither concepts nor knowledge.
        """
        self._knows("concepts")
        return self._benchmark.concept_space

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """Facts, without full stops, which state that a slot shows a concept.

        Raises:
            TrackError: the track has neither concepts nor knowledge.
        """
        self._knows("facts")
        return self._benchmark.facts(slot, concept)

    @property
    def images(self) -> Images:
        """For each example, a list over slots of uint8 [height, width, channels], or None.

        Raises:
            TrackError: the track has no images, or this view has none (hypothesis evaluation).
        """
        if self._images is None:
            reason = (
                "this view contains only symbols"
                if self.track in _WITH_IMAGES
                else f"learners of the track '{self.track}' get symbols"
            )
            raise TrackError(f"No images are available here: {reason}.")
        return self._images

    @property
    def has_images(self) -> bool:
        """Whether `images` can be asked for."""
        return self._images is not None

    @property
    def few_labels(self) -> LabelledImages:
        """Images that are not in any example, with their symbols.

        Raises:
            TrackError: the track has none, or this is not a train view.
        """
        if self._few is None:
            raise TrackError(
                f"No labelled images are available here: {self.part} views of the track '{self.track}' have "
                "none."
            )
        few, source = self._few
        images = np.zeros((*few.images.shape, *source.shape), np.uint8)
        shown = few.images != BLANK
        images[shown] = source.render("network", few.images[shown].astype(np.int64), source.variants[0])
        return LabelledImages(images, few.targets, few.values)

    @property
    def symbols(self) -> tuple[tuple[str, ...], ...]:
        """For each symbol of a row and each of its values, ASP literals that say it of step ``T``.

        Raises:
            TrackError: the track has neither concepts nor knowledge.
        """
        self._knows("symbols")
        return self._benchmark.symbols()

    @property
    def memory(self) -> tuple[str, ...]:
        """For each value of the metadata field ``previous``, ASP literals that say it of step ``T``.

        Raises:
            TrackError: the track has neither concepts nor knowledge.
        """
        self._knows("symbols")
        return self._benchmark.memory()

    @property
    def metadata(self) -> Mapping[str, npt.NDArray[Any]]:
        """Symbolic metadata: name to array [n]."""
        return self._metadata

    @property
    def sequences(self) -> npt.NDArray[np.int32]:
        """int32 [n]: the sequence that each row belongs to: 0, 1, 2, ...

        The rows of a sequence are adjacent and in order; an example that is no sequence has one row.
        """
        return self._sequences

    @property
    def steps(self) -> npt.NDArray[np.int32]:
        """int32 [n]: place of each row in its sequence, from 1."""
        return self._steps

    @property
    def sequential(self) -> bool:
        """Whether rows are steps of sequences, so that a label may depend on earlier rows."""
        return self._benchmark.sequential

    @property
    def predictions(self) -> Predictions:
        """Concepts of the images and their probabilities.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._known("concept probabilities")

    @property
    def probabilities(self) -> npt.NDArray[np.float32]:
        """float32 [n, slots, concepts]: concept probabilities; all zero for a blank slot.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._known("concept probabilities").probabilities

    @property
    def concept_ids(self) -> npt.NDArray[np.int16]:
        """int16 [n, slots]: concepts, true or predicted depending on the track; -1 for a blank slot.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._known("concepts").concepts

    @cached_property
    def concepts(self) -> list[list[str | None]]:
        """For each example, a list over slots of concepts; None for a blank slot.

        Raises:
            TrackError: the track has no concepts.
        """
        names: list[str | None] = [*self.concept_space.concepts, None]
        return [[names[c] for c in row] for row in self.concept_ids.tolist()]

    @property
    def features(self) -> npt.NDArray[np.float32]:
        """float32 [n, features]: input features of a tabular learner.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._benchmark.features(self.concept_ids, self._metadata)

    @property
    def knowledge_features(self) -> npt.NDArray[np.float32]:
        """float32 [n, features]: input features that contain part of the solution.

        Raises:
            TrackError: the track has no concepts.
            UserError: the benchmark defines none.
        """
        return self._benchmark.knowledge_features(self.concept_ids, self._metadata)

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        """Column names of `features`, or of `knowledge_features`."""
        count = (self.knowledge_features if knowledge else self.features).shape[1]
        names = self._benchmark.feature_names(knowledge=knowledge)
        return names if len(names) == count else tuple(f"x{i + 1}" for i in range(count))

    @cached_property
    def literals(self) -> npt.NDArray[np.bool_]:
        """bool [n, literals]: inputs of a propositional learner (`nsl_bench.learners.literals`).

        Raises:
            TrackError: the track has no concepts.
        """
        return self._vocabulary.values(self.concept_ids, self._metadata)

    @property
    def literal_names(self) -> tuple[str, ...]:
        """Column names of `literals`."""
        return self._vocabulary.names

    @property
    def literal_bodies(self) -> tuple[tuple[str, ...], ...]:
        """For each column of `literals`, ASP atoms that hold together exactly where it is true."""
        return self._vocabulary.bodies

    @property
    def _vocabulary(self) -> Literals:
        from nsl_bench.learners.literals import literals_of

        self._knows("literals")
        return literals_of(self._benchmark)

    @property
    def background(self) -> str:
        """Background knowledge in ASP.

        Raises:
            TrackError: the track has no knowledge.
        """
        self._knows("background knowledge")
        return self._benchmark.background

    @property
    def bias(self) -> str:
        """Language bias: mode declarations.

        Raises:
            TrackError: the track has no knowledge.
        """
        self._knows("language bias")
        return self._benchmark.bias

    @cached_property
    def contexts(self) -> list[tuple[str, ...]]:
        """Facts of each example: its concepts and metadata, without full stops.

        A row of a sequence has the facts of its own step and of all earlier ones, and which step is asked.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._benchmark.contexts(self.concept_ids, self._metadata, self._steps)

    @cached_property
    def sequence_contexts(self) -> list[tuple[str, ...]]:
        """Facts of all steps of each sequence, for learners that see a sequence as one example.

        Raises:
            TrackError: the track has no concepts.
        """
        return self._benchmark.sequence_contexts(self.concept_ids, self._metadata, self._steps)

    def step_atom(self, atom: str, step: int) -> str:
        """The atom that holds at a step of a sequence where `atom` is one of a row's."""
        return self._benchmark.step_atom(atom, step)

    reported: tuple[str, ...] = ()
    """The last hypothesis that `report` was given."""

    def report(self, rules: Sequence[str]) -> None:
        """Report the best hypothesis so far. It counts if `fit` reaches the time limit.

        Args:
            rules: ASP rules.
        """
        self.reported = tuple(rules)

    def _known(self, what: str) -> Predictions:
        if self._predictions is None:
            if self.track == "few_labels":
                raise TrackError(f"Learners of the track 'few_labels' get a few labelled images, not {what}.")
            if self.track in _WITH_CONCEPTS:
                raise TrackError(f"No {what} are available here: this view was made without a network.")
            raise TrackError(f"Learners of the track '{self.track}' get images, not {what}.")
        return self._predictions

    def _knows(self, what: str) -> None:
        if self.track not in _WITH_KNOWLEDGE:
            raise TrackError(f"Learners of the track '{self.track}' do not get {what}.")


def _few_labels(split: Split, benchmark: Benchmark, source: ImageSource) -> FewLabels:
    """The labelled samples for a train set, which decides them; their images are the network's."""
    rng = generator("few_labels", benchmark.name, benchmark.version, stable_hash(split.images.tolist()))
    few = benchmark.few_labels(rng)
    empty = Split("train", benchmark.concept_space, few.concepts, np.zeros(len(few.concepts), np.int16))
    return replace(few, images=assign_images(empty, source.labels("network"), rng).images)
