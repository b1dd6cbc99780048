"""Jobs: complete descriptions of single runs, which determine their results."""

import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from nsl_bench.core import cache, registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.declared import Is, Written, checked
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.tracks import Track
from nsl_bench.data.splits import check_percent

PROTOCOL = 3
"""Version of how runs are made and measured. Runs of different versions are not compared.

1: train and test sets shifted alike, learners seeded with the data's seed. 2: seeds of learners are their
own, rules count only where they agree with the answers, failures have the metrics of the majority class.
3: prediction time and its CPU time are those of all evaluations.
"""

_OUTSIDE = ("splits",)
"""Fields that decide nothing: where a folder lies, whose content has a fingerprint."""


TEST_TASK = ("test_task", "test_task_version", "test_source_fingerprint")
"""Fields that count only where the test task is another one."""

_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]


@dataclass(frozen=True, order=True)
class ShiftPair:
    """How a run's train set and its test set are shifted: for each, a shift and a share of shifted examples.

    A *curve* is a set of runs that differ in one share. If both sets have the same shift and share, the curve
    has the shift's name, as in the FFNSL paper. ``"test: noir"`` means standard train images and shifted test
    images, as in WILDS; ``"train: noir"`` is the reverse.

    Attributes:
        train_shift: name or spec of the train set's shift; ``"standard"`` at 0 %.
        train_percent: share of shifted train examples, 0..100.
        test_shift: name or spec of the test set's shift; ``"standard"`` at 0 %.
        test_percent: share of shifted test examples, 0..100.
    """

    train_shift: str = STANDARD
    train_percent: float = 0.0
    test_shift: str = STANDARD
    test_percent: float = 0.0

    @classmethod
    def of(cls, train_shift: str, train_percent: float, test_shift: str, test_percent: float) -> Self:
        """The pair of two shifts and shares; a set with share 0 gets the shift ``"standard"``."""
        train, test = (
            (shift, float(percent)) if check_percent(percent) and shift != STANDARD else (STANDARD, 0.0)
            for shift, percent in ((train_shift, train_percent), (test_shift, test_percent))
        )
        return cls(*train, *test)

    def lists(self) -> dict[str, Any]:
        """The fields of a grid that has this pair alone."""
        return {f"{name}s": (value,) for name, value in asdict(self).items()}

    @property
    def curve(self) -> str:
        """The name of the curve that this pair belongs to."""
        train, test = (self.train_shift, self.train_percent), (self.test_shift, self.test_percent)
        if train == test:
            return self.train_shift
        if not self.train_percent:
            return f"test: {self.test_shift}"
        if not self.test_percent:
            return f"train: {self.train_shift}"
        if self.train_percent == self.test_percent:
            return f"{self.train_shift} -> {self.test_shift}"
        return f"{self.train_shift} {self.train_percent:g} % -> {self.test_shift}"

    @property
    def percent(self) -> float:
        """The share that varies along the curve."""
        return self.test_percent or self.train_percent

    def __str__(self) -> str:
        train, test = (
            f"{shift} {percent:g} %" if percent else STANDARD
            for shift, percent in (
                (self.train_shift, self.train_percent),
                (self.test_shift, self.test_percent),
            )
        )
        return train if train == test else f"{train} -> {test}"


@dataclass(frozen=True)
class Job(Written):
    """One learner, one train split, and one test set, each with its own share of shifted examples.

    Names are specs (`nsl_bench.core.registry`). At 0 % the shift is always ``"standard"``.

    Attributes:
        benchmark: task, e.g. ``"follow_suit"``.
        benchmark_version: version of the task's data.
        source: image source.
        source_fingerprint: fingerprint of the source's pixels.
        train_shift: short name or spec of the train images' shift.
        train_percent: share of shifted train examples, 0..100.
        test_shift: short name or spec of the test images' shift.
        test_percent: share of shifted test examples, 0..100.
        size: size of the train split.
        repeat: number of the train split, from 1.
        learner: e.g. ``"ffnsl"``.
        track: supervision; ``"symbolic"`` gives learners true concepts and uses no network.
        network: perception network; None in tracks without one.
        seed: seed of the data, unless it is secret; learners' seeds are derived from it. Networks have their
            own seed, as an option.
        splits: folder of splits to use instead of generated ones.
        splits_fingerprint: fingerprint of that folder's files.
        learner_version: version that the learner reports, or a hash of its file.
        network_version: version that the network reports, or a hash of its file.
        sealed: commitment of the secret seed that is used instead of `seed`; empty if none.
        learner_draw: number of the learner's seed, from 0.
        protocol: version of the protocol by which runs are done and measured, `PROTOCOL`.
        test_task: member of the task's family that the learner is tested on; empty for the task itself.
        test_task_version: version of the test task's data; empty for the task itself.
        test_source_fingerprint: fingerprint of the image source with the test task's concepts; empty for the
            task itself.
        annotation: dials of wrong and missing labels and of shift that depends on them
            (`nsl_bench.core.annotation`); empty for none.
    """

    benchmark: str
    benchmark_version: str
    source: str
    source_fingerprint: str
    train_shift: str
    train_percent: _SHARE
    test_shift: str
    test_percent: _SHARE
    size: str
    repeat: Annotated[int, Is("a whole number of 1 or more", least=1)]
    learner: str
    track: Track
    network: str | None
    seed: int = 0
    splits: str | None = None
    splits_fingerprint: str = ""
    learner_version: str = ""
    network_version: str = ""
    sealed: Annotated[
        str, Is("64 hexadecimal digits, or none", test=re.compile("([0-9a-f]{64})?").fullmatch)
    ] = ""
    learner_draw: Annotated[int, Is("a whole number of 0 or more", least=0)] = 0
    protocol: Annotated[int, Is("a whole number of 1 or more", least=1)] = 1
    test_task: str = ""
    test_task_version: str = ""
    test_source_fingerprint: str = ""
    annotation: str = field(default="", metadata={"later": True})

    @property
    def task(self) -> str:
        """The spec of the task with its version, which may be superseded."""
        return registry.pinned(self.benchmark, self.benchmark_version)

    @property
    def tested(self) -> str:
        """The spec of the task that the test set is of, with its version."""
        return registry.pinned(self.test_task, self.test_task_version) if self.test_task else self.task

    @property
    def shift_pair(self) -> ShiftPair:
        """The shifts and shares of the train and the test set."""
        return ShiftPair(self.train_shift, self.train_percent, self.test_shift, self.test_percent)

    @property
    def shift(self) -> str:
        """The name of the curve that the run belongs to (`ShiftPair.curve`)."""
        return self.shift_pair.curve

    @property
    def percent(self) -> float:
        """The run's share of shifted examples on its curve, 0..100."""
        return self.shift_pair.percent

    @property
    def split_annotation(self) -> Annotation:
        """The annotation of its examples: learners of some tracks see true concepts, others a network's."""
        dials = Annotation.parse(self.annotation)
        sees = self.track in ("symbolic", "concept_labels")
        return dials if sees else dials.without("wrong_concepts", "missing_concepts")

    def identity(self) -> dict[str, Any]:
        """All values that determine the run's result; paths of folders and the release do not."""
        without = (*_OUTSIDE, *(() if self.test_task else TEST_TASK))
        without += () if self.annotation else ("annotation",)
        fields_kept = {name: value for name, value in asdict(self).items() if name not in without}
        return {**fields_kept, "source": source_identity(self.source)}

    def key(self) -> str:
        """The run's key in a results folder, 20 hexadecimal digits."""
        return cache.key(self.identity())

    def fit_key(self) -> str:
        """A name of what its learner learns: runs with the same one differ in their test set only."""
        learned_from = replace(self, annotation=str(Annotation.parse(self.annotation).without("test_cue")))
        identity_fields = {
            name: value for name, value in learned_from.identity().items() if not name.startswith("test_")
        }
        if self.test_source_fingerprint not in ("", self.source_fingerprint):
            identity_fields["concepts_of"] = self.test_task  # the learner has the concepts of both tasks
        return cache.key(identity_fields)

    def learner_seed(self) -> int:
        """The learner's seed, derived from the public values of the job, different for each train split."""
        words = (self.benchmark, self.benchmark_version, self.size, self.repeat, self.seed)
        draw = (self.learner_draw,) if self.learner_draw else ()
        return stable_hash("learner", *words, *draw) % (1 << 31)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Read the job of a record. Other keys are ignored."""
        return checked(cls, values, "job: ")

    def __str__(self) -> str:
        task = f"{self.benchmark} -> {self.test_task}" if self.test_task else self.benchmark
        annotation = f" {self.annotation}" if self.annotation else ""
        return f"{task} {self.learner} {self.shift_pair}{annotation} {self.size} {self.repeat}"


def source_identity(source: str) -> str:
    """An image source's spec without paths, because its pixels have a fingerprint."""
    spec = registry.Spec.parse(source)
    return str(replace(spec, args=()))


def splits_fingerprint(folder: Path) -> str:
    """A hash of the names and contents of a folder's files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return cache.key([[path.relative_to(folder).as_posix(), cache.content_key(path)] for path in files])
