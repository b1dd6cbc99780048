"""What one run is: a pure description from which everything about it follows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from nsl_bench import __version__, cache, registry
from nsl_bench.data.splits import check_percent, make_source
from nsl_bench.declared import Is, Written, checked
from nsl_bench.errors import UserError
from nsl_bench.learners.base import track_of, version_of
from nsl_bench.learners.command import command_of, is_command, version_of_command
from nsl_bench.seeding import stable_hash
from nsl_bench.shift import STANDARD, resolve, short_name
from nsl_bench.types import Track

__all__ = ["About", "Job", "describe_here", "plan", "splits_fingerprint"]


def _is_commitment(text: str) -> bool:
    return not text or re.fullmatch("[0-9a-f]{64}", text) is not None


@dataclass(frozen=True)
class Job(Written):
    """One learner on one train set at one share of shift.

    Names are specs (`nsl_bench.registry`). At 0 % the shift is ``"standard"``, whichever was asked for.

    Attributes:
        benchmark: e.g. ``"follow_suit"``.
        benchmark_version: version of its data.
        source: image source.
        source_fingerprint: of the source's pixels.
        shift: short name or spec of the shift.
        percent: share of shifted examples in the train and the test set, 0..100.
        size: of the train set.
        repeat: which train set, from 1.
        learner: e.g. ``"ffnsl"``.
        track: supervision; ``"symbolic"`` hands out true concepts and uses no network.
        network: perception network, None in tracks that use none.
        seed: of the data, unless theirs is secret, and what learners' seeds are derived from; the network has
            its own, an option of it.
        splits: folder whose splits are used in place of generated ones.
        splits_fingerprint: of that folder's files (since 2).
        learner_version: what the learner says, or a hash of its file (since 2).
        harness_version: of nsl-bench (since 2).
        sealed: commitment of the secret seed that the data follow in place of `seed`; empty: none (since 3).
    """

    benchmark: str
    benchmark_version: str
    source: str
    source_fingerprint: str
    shift: str
    percent: Annotated[float, Is("a number from 0 to 100", least=0, most=100)]
    size: str
    repeat: Annotated[int, Is("a whole number from 1", least=1)]
    learner: str
    track: Track
    network: str | None
    seed: int = 0
    splits: str | None = None
    splits_fingerprint: str = field(default="", metadata={"since": 2})
    learner_version: str = field(default="", metadata={"since": 2})
    harness_version: str = field(default="", metadata={"since": 2})
    sealed: Annotated[str, Is("64 hexadecimal digits, or none", test=_is_commitment)] = field(
        default="", metadata={"since": 3}
    )

    def key(self) -> str:
        """20 hexadecimal digits that name the run in a results folder."""
        told = asdict(self)
        if not self.sealed:  # what was run before there were secret seeds keeps its name
            del told["sealed"]
        return cache.key(told)

    def learner_seed(self) -> int:
        """The seed that the learner is handed: it follows from what is public of the run, one a train set."""
        words = (self.benchmark, self.benchmark_version, self.size, self.repeat, self.seed)
        return stable_hash("learner", *words) % (1 << 31)

    @classmethod
    def from_dict(cls, values: Any) -> Job:
        """The job of a record; keys that a later version added are ignored.

        Raises:
            UserError: it is no job; says what of it is wrong.
        """
        return checked(cls, values, "job: ")

    def __str__(self) -> str:
        shift = self.shift if self.percent == 0 else f"{self.shift} {self.percent:g} %"
        return f"{self.benchmark} {self.learner} {shift} {self.size} {self.repeat}"


def plan(
    benchmark: str,
    learners: Sequence[str],
    *,
    shifts: Sequence[str] = (STANDARD,),
    percents: Sequence[float] = (0,),
    repeats: Sequence[int] = (1,),
    sizes: Sequence[str] = ("small",),
    source: str | None = None,
    network: str = "softmax",
    symbolic: bool = False,
    seed: int = 0,
    splits: Path | None = None,
    sealed: str = "",
    describe: Callable[[str], About] | None = None,
) -> list[Job]:
    """Every combination, each once, cheap errors first: every name is looked up before anything runs.

    Args:
        symbolic: hand true concepts to learners of the `pretrained` track, as the `symbolic` track does.
        sealed: commitment of a secret seed of the data.
        describe: asks a learner, unless it is a command, what it is; by default in this process.

    Raises:
        UserError: an unknown name, a percentage out of range, or a secret seed beside a folder of splits.
    """
    if sealed and splits is not None:
        raise UserError(f"The splits in {splits} follow no seed, so they cannot follow a secret one.")
    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    named = [short_name(resolve(shift, task, images), task, images) for shift in shifts]
    for size in sizes:
        task.size(size)
    if any(check_percent(percent) for percent in percents) and all(name == STANDARD for name in named):
        raise UserError("Examples cannot be shifted without a shift; name one with --shift.")
    registry.factory("network", registry.Spec.parse(network).name)
    describe = describe or describe_here
    about = {
        learner: About(command_of(learner)[0], version_of_command(learner))
        if is_command(learner)
        else describe(learner)
        for learner in learners
    }
    fingerprint = "" if splits is None else splits_fingerprint(splits)
    jobs = {}
    for size, repeat, percent, shift, learner in itertools.product(sizes, repeats, percents, named, learners):
        if percent and shift == STANDARD:
            continue
        own = about[learner].track
        track: Track = "symbolic" if symbolic and own == "pretrained" else own
        job = Job(
            benchmark=task.name,
            benchmark_version=task.version,
            source=source or task.sources[0],
            source_fingerprint=images.fingerprint(),
            shift=shift if percent else STANDARD,
            percent=float(percent),
            size=size,
            repeat=repeat,
            learner=learner,
            track=track,
            network=network if track == "pretrained" else None,
            seed=seed,
            splits=None if splits is None else str(splits),
            splits_fingerprint=fingerprint,
            learner_version=about[learner].version,
            harness_version=__version__,
            sealed=sealed,
        )
        jobs[job.key()] = job
    return list(jobs.values())


@dataclass(frozen=True)
class About:
    """What a learner says of itself.

    Attributes:
        track: the supervision that it uses.
        version: its ``version``, with a hash of its file where it is no installed part.
    """

    track: Track
    version: str


def describe_here(learner: str) -> About:
    """Ask a learner in this process, which imports its code.

    Raises:
        UserError: there is no such learner, it cannot be made, or it declares no track that there is.
    """
    made = registry.create("learner", learner, seed=0)
    return About(track_of(made), version_of(made, learner))


def splits_fingerprint(folder: Path) -> str:
    """A hash of the names and contents of a folder's files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return cache.key([[path.relative_to(folder).as_posix(), cache.content_key(path)] for path in files])
