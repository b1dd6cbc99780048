"""Jobs: complete descriptions of single runs, which determine their results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from nsl_bench.core import cache, registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.declared import Is, Written, checked
from nsl_bench.core.errors import UserError
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.shift import STANDARD, resolve, short_name
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Track
from nsl_bench.data.splits import make_source
from nsl_bench.learners.base import About, describe_here, version_of
from nsl_bench.learners.command import command_of, is_command, version_of_command
from nsl_bench.run.dials import Dials, combinations
from nsl_bench.run.structure import member_of

__all__ = [
    "PROTOCOL",
    "Job",
    "plan",
    "source_identity",
    "splits_fingerprint",
]

PROTOCOL = 3
"""Version of how runs are made and measured. Runs of different versions are not compared.

1: train and test sets shifted alike, learners seeded with the data's seed. 2: seeds of learners are their
own, rules count only where they agree with the answers, failures have the metrics of the majority class.
3: prediction time and its CPU time are those of all evaluations.
"""

_OUTSIDE = ("splits",)
"""Fields that decide nothing: where a folder lies, whose content has a fingerprint."""


def _is_commitment(text: str) -> bool:
    return not text or re.fullmatch("[0-9a-f]{64}", text) is not None


_TEST_TASK = ("test_task", "test_task_version", "test_source_fingerprint")
"""Fields that count only where the test task is another one."""

_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]


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
    sealed: Annotated[str, Is("64 hexadecimal digits, or none", test=_is_commitment)] = ""
    learner_draw: Annotated[int, Is("a whole number of 0 or more", least=0)] = 0
    protocol: Annotated[int, Is("a whole number of 1 or more", least=1)] = 1
    test_task: str = ""
    test_task_version: str = ""
    test_source_fingerprint: str = ""

    @property
    def task(self) -> str:
        """The spec of the task with its version, which may be superseded."""
        return registry.pinned(self.benchmark, self.benchmark_version)

    @property
    def tested(self) -> str:
        """The spec of the task that the test set is of, with its version."""
        return registry.pinned(self.test_task, self.test_task_version) if self.test_task else self.task

    @property
    def dials(self) -> Dials:
        """The shifts and shares of the train and the test set."""
        return Dials(self.train_shift, self.train_percent, self.test_shift, self.test_percent)

    @property
    def shift(self) -> str:
        """The name of the curve that the run belongs to (`Dials.curve`)."""
        return self.dials.curve

    @property
    def percent(self) -> float:
        """The run's share of shifted examples on its curve, 0..100."""
        return self.dials.percent

    def identity(self) -> dict[str, Any]:
        """All values that determine the run's result; paths of folders and the release do not."""
        without = _OUTSIDE if self.test_task else (*_OUTSIDE, *_TEST_TASK)
        told = {name: value for name, value in asdict(self).items() if name not in without}
        return {**told, "source": source_identity(self.source)}

    def key(self) -> str:
        """The run's key in a results folder, 20 hexadecimal digits."""
        return cache.key(self.identity())

    def fit_key(self) -> str:
        """A name of what its learner learns: runs with the same one differ in their test set only."""
        told = {name: value for name, value in self.identity().items() if not name.startswith("test_")}
        if self.test_source_fingerprint not in ("", self.source_fingerprint):
            told["concepts_of"] = self.test_task  # the learner has the concepts of both tasks
        return cache.key(told)

    def learner_seed(self) -> int:
        """The learner's seed, derived from the public values of the job, different for each train split."""
        words = (self.benchmark, self.benchmark_version, self.size, self.repeat, self.seed)
        draw = (self.learner_draw,) if self.learner_draw else ()
        return stable_hash("learner", *words, *draw) % (1 << 31)

    @classmethod
    def from_dict(cls, values: Any) -> Job:
        """Read the job of a record. Other keys are ignored.

        Raises:
            UserError: a value is missing or wrong; the message names it.
        """
        return checked(cls, values, "job: ")

    def __str__(self) -> str:
        task = f"{self.benchmark} -> {self.test_task}" if self.test_task else self.benchmark
        return f"{task} {self.learner} {self.dials} {self.size} {self.repeat}"


def source_identity(source: str) -> str:
    """An image source's spec without paths, because its pixels have a fingerprint."""
    spec = registry.Spec.parse(source)
    return str(replace(spec, args=()))


def plan(
    benchmark: str,
    learners: Sequence[str],
    *,
    shifts: Sequence[str] = (STANDARD,),
    percents: Sequence[float] = (0,),
    dials: Sequence[Dials] | None = None,
    repeats: Sequence[int] = (1,),
    sizes: Sequence[str] = ("small",),
    source: str | None = None,
    network: str = "softmax",
    symbolic: bool = False,
    seed: int = 0,
    draws: Sequence[int] = (0,),
    splits: Path | None = None,
    sealed: str = "",
    describe: Callable[[str], About] | None = None,
    test_tasks: Sequence[str] = ("",),
) -> list[Job]:
    """Make the jobs of every combination, each once. Every name is looked up before anything runs.

    Args:
        benchmark: the task.
        learners: specs of the learners.
        shifts: names or specs of shifts, for both train and test set.
        percents: shares of shifted examples in both sets, 0..100.
        dials: shifts and shares of train and test sets, instead of `shifts` and `percents`.
        repeats: numbers of the train splits, from 1.
        sizes: sizes of the train splits.
        source: image source; the task's default if None.
        network: perception network.
        symbolic: give true concepts to learners of the `pretrained` track, as in the `symbolic` track.
        seed: seed of the data.
        draws: numbers of the learners' seeds, from 0.
        splits: folder of splits to use instead of generated ones.
        sealed: commitment of a secret seed of the data.
        describe: function from a learner's spec to its track and version; by default it asks the learner in
            this process.
        test_tasks: members of the task's family to test on; empty for the task itself.

    Raises:
        UserError: an unknown name, a share out of range, more train splits than the task has folds, a test
            task that is not in the family, or a folder of splits together with a secret seed or another test
            task.
    """
    if sealed and splits is not None:
        raise UserError(f"The splits in {splits} are fixed, so a secret data seed does not apply to them.")
    task: Benchmark = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    for shift in shifts:
        resolve(shift, task, images)
    tested = dict.fromkeys(_tested(task, spec, source, shifts, splits) for spec in test_tasks)
    asked = combinations(shifts, percents) if dials is None else dials
    named = dict.fromkeys(_named(one, task, images) for one in asked)
    for size in sizes:
        task.size(size)
    if splits is None and task.own_tests:
        task.for_split(max(repeats, default=1), seed)
    network_version = version_of_network(network, images)
    describe = describe or describe_here
    learners = list(dict.fromkeys(map(registry.canonical, learners)))
    about = {
        learner: About(command_of(learner)[0], version_of_command(learner))
        if is_command(learner)
        else describe(learner)
        for learner in learners
    }
    fingerprint = "" if splits is None else _checked(splits, task, sizes, repeats)
    jobs = {}
    every = itertools.product(sizes, repeats, named, learners, draws, tested)
    for size, repeat, one, learner, draw, place in every:
        own = about[learner].track
        track: Track = "symbolic" if symbolic and own == "pretrained" else own
        job = Job(
            benchmark=task.spec,
            benchmark_version=task.version,
            source=source or task.sources[0],
            source_fingerprint=images.fingerprint(),
            **asdict(one),
            size=size,
            repeat=repeat,
            learner=learner,
            track=track,
            network=network if track == "pretrained" else None,
            seed=seed,
            splits=None if splits is None else str(splits),
            splits_fingerprint=fingerprint,
            learner_version=about[learner].version,
            network_version=network_version if track == "pretrained" else "",
            sealed=sealed,
            learner_draw=draw,
            protocol=PROTOCOL,
            **dict(zip(_TEST_TASK, place, strict=True)),
        )
        jobs[job.key()] = job
    return list(jobs.values())


def version_of_network(network: str, images: ImageSource) -> str:
    """The version of the installed network of a spec for a source's images."""
    factory = registry.factory("network", registry.Spec.parse(network).name)
    version_for = getattr(factory, "version_for", None)
    version = None if version_for is None else version_for(images.shape)
    return version_of(factory, network, "network", version)


def _tested(
    task: Benchmark, spec: str, source: str | None, shifts: Sequence[str], splits: Path | None
) -> tuple[str, str, str]:
    """The fields of a job that say which task it is tested on; empty for its own."""
    other = member_of(task, spec) if spec else task
    if other is task:
        return "", "", ""
    if splits is not None:
        raise UserError(f"The splits in {splits} are those of {task.name}; leave out the test task {spec}.")
    own = make_source(other, source or task.sources[0])
    for shift in shifts:
        resolve(shift, other, own)
    return other.spec, other.version, own.fingerprint()


def _named(dials: Dials, task: Benchmark, source: ImageSource) -> Dials:
    """The same with the shifts' short names."""
    train, test = (
        short_name(resolve(shift, task, source), task, source)
        for shift in (dials.train_shift, dials.test_shift)
    )
    return Dials.of(train, dials.train_percent, test, dials.test_percent)


def _checked(folder: Path, task: Benchmark, sizes: Sequence[str], repeats: Sequence[int]) -> str:
    """The fingerprint of a folder all of whose splits can be read, so that no run finds a fault in them."""
    for size, repeat in itertools.product(sizes, repeats):
        task.read(folder, "train", size, repeat)
    for size in sizes:
        task.read(folder, "test", size, repeats[0])
    return splits_fingerprint(folder)


def splits_fingerprint(folder: Path) -> str:
    """A hash of the names and contents of a folder's files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return cache.key([[path.relative_to(folder).as_posix(), cache.content_key(path)] for path in files])
