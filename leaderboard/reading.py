"""Read and check a submission's manifest and runs, line by line.

`Manifest` and `Run` declare the permitted values. Errors raise `Rejected` with one sentence that gives the
place. `nsl_bench.leaderboard.predictions` reads the predictions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from nsl_bench.core.declared import Is, Open, as_written, checked, parse_json, quoted
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Status
from nsl_bench.run.job import Job

from .packing import opened_lines
from .safe_files import LIMITS, Limits, Rejected
from .submission import MANIFEST, PREDICTIONS, RUNS, Manifest, digest

_HASH = Annotated[str, Is("64 hexadecimal digits", test=re.compile(r"[0-9a-f]{64}").fullmatch)]
_RUN = re.compile(r"[0-9a-f]{8,64}")
_NETWORK = re.compile(r"\w[\w .,:+/=@~\-]{0,99}")
_MOST_SECONDS = 10_000_000
_Seconds = Annotated[
    float, Is(f"a number of seconds, at most {_MOST_SECONDS:,}", least=0, most=_MOST_SECONDS)
]


def _short(values: Mapping[str, Any]) -> dict[str, str]:
    """Words on a run, as short texts."""
    return {key[:40]: str(value)[:120] for key, value in list(values.items())[:20]}


_Said = Annotated[Mapping[str, Any], Is("an object with keys", make=_short)]


@dataclass(frozen=True)
class Hashes(Open):
    """The content hashes of a run."""

    train: _HASH
    test: _HASH


@dataclass(frozen=True)
class Rules(Open):
    """What was learned."""

    language: Literal["asp", "tree"]
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Trial(Open):
    """A setting that was tried on validation examples.

    Attributes:
        options: that differ from the learner's own.
        accuracy, brier_score: on validation examples; None of a trial that failed.
        seconds: that it took.
    """

    options: _Said
    accuracy: Annotated[float, Is("between 0 and 1", least=0, most=1)] | None = None
    brier_score: Annotated[float, Is("between 0 and 2", least=0, most=2)] | None = None
    seconds: _Seconds | None = None


@dataclass(frozen=True)
class Tuning(Open):
    """How a learner was tuned, reported by the submitter.

    Attributes:
        metric: by which a setting was chosen.
        chosen: the options that were chosen; empty if the learner kept its own.
        tried: the trials.
    """

    metric: Annotated[str, Is("a string of at most 40 characters", longest=40)] = "accuracy"
    chosen: _Said = field(default_factory=dict)
    tried: tuple[Trial, ...] = ()


@dataclass(frozen=True)
class Tunings:
    """What tuning chose in several runs, as the submitter reports it.

    Attributes:
        runs: number of tuned runs.
        kept: in how many of them the learner kept its own settings.
        often: the settings chosen most often in place of its own, and in how many runs; empty if none.
        metrics: by which settings were chosen.
        trials: the least and the greatest number of a run.
    """

    runs: int
    kept: int
    often: tuple[str, int]
    metrics: tuple[str, ...]
    trials: tuple[int, int]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Tunings | None:
        """Those of some runs; None if none of them was tuned."""
        tunings = [run.tuning for run in runs if run.tuning is not None]
        if not tunings:
            return None
        chosen = Counter(", ".join(f"{k}={v}" for k, v in sorted(one.chosen.items())) for one in tunings)
        defaults, counts = chosen.pop("", 0), [len(one.tried) for one in tunings]
        often = max(chosen.items(), key=lambda item: item[1], default=("", 0))
        metrics = tuple(sorted({one.metric for one in tunings}))
        return cls(len(tunings), defaults, often, metrics, (min(counts), max(counts)))

    def __str__(self) -> str:
        metrics = " or ".join(self.metrics).replace("_", " ")
        trials = " to ".join(map(str, sorted(set(self.trials))))
        first = f"Tuned by {metrics} in {trials} trials a run: "
        defaults = f"{self.kept} of {self.runs} runs kept the learner's own settings."
        settings, times = self.often
        return (
            first
            + defaults
            + (f" Chosen most often instead: {settings} ({times} of {self.runs})." if times else "")
        )


@dataclass(frozen=True)
class Run(Open):
    """A run of a submission: one line of ``runs.jsonl.zst``.

    Attributes:
        run: the submitter's name of the run.
        job: the job.
        content_hash: content hashes of the train and the test set.
        hypothesis: the learned rules, if the learner gives rules.
        learning_time: learning time in seconds, reported by the submitter.
        prediction_time: prediction time in seconds, reported by the submitter.
        versions, environment: reported by the submitter.
        started: start time, ISO 8601.
        status: how the run ended; a failed run needs no predictions and counts as the majority class.
        tuning: how the learner was tuned; None if it was not.
    """

    run: Annotated[str, Is("8 to 64 hexadecimal digits", test=_RUN.fullmatch)]
    job: Job
    content_hash: Hashes
    hypothesis: Rules | None = None
    learning_time: _Seconds | None = None
    prediction_time: _Seconds | None = None
    versions: _Said = field(default_factory=dict)
    environment: _Said = field(default_factory=dict)
    started: Annotated[str, Is("a string of at most 40 characters", longest=40)] = ""
    status: Status = "ok"
    tuning: Tuning | None = None

    @property
    def id(self) -> str:
        """The submitter's name of the run."""
        return self.run

    @property
    def language(self) -> str | None:
        """The language of the rules; None without rules."""
        return self.hypothesis.language if self.hypothesis else None

    @property
    def rules(self) -> tuple[str, ...]:
        """The learned rules."""
        return self.hypothesis.rules if self.hypothesis else ()

    @property
    def time_limit(self) -> float | None:
        """The time limit in seconds, reported by the submitter; None if it is not given or not a number."""
        try:
            seconds = float(self.environment.get("time_limit", ""))
        except ValueError:
            return None
        return seconds if 0 < seconds < inf else None


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest and check it and the hashes of its files."""
    try:
        manifest = checked(Manifest, parse_json((folder / MANIFEST).read_bytes()), f"{MANIFEST}: ")
    except ValueError as error:
        raise Rejected(f"{MANIFEST} is not valid JSON: {error}.") from error
    except UserError as error:
        raise Rejected(str(error)) from error
    files = {file: digest(folder / file) for file in (RUNS, PREDICTIONS)}
    for file, actual in files.items():
        if manifest.files.get(file) != actual:
            raise Rejected(f"{file} was changed: its SHA-256 differs from the one in {MANIFEST}.")
    if manifest.files != files:
        other = next(file for file in manifest.files if file not in files)
        raise Rejected(f"{MANIFEST}: files must be {RUNS} and {PREDICTIONS}; got {quoted(other)}.")
    return manifest


def read_runs(folder: Path, limits: Limits = LIMITS) -> list[Run]:
    """Read and check the runs."""
    runs: dict[str, Run] = {}
    left = limits.runs_bytes
    for number, line in enumerate(_lines(folder / RUNS, limits.line_bytes), start=1):
        left -= len(line)
        if left < 0:
            raise Rejected(f"{RUNS} has more than the {limits.runs_bytes:,} bytes allowed, unpacked.")
        if len(line) > limits.line_bytes:
            raise Rejected(f"{RUNS}, line {number}: longer than {limits.line_bytes:,} bytes.")
        if number > limits.runs:
            raise Rejected(f"{RUNS} has more than the {limits.runs:,} runs allowed.")
        run = _run(line, f"{RUNS}, line {number}: ", limits)
        if run.id in runs:
            raise Rejected(f"{RUNS}, line {number}: the run {run.id} is given twice.")
        runs[run.id] = run
    if not runs:
        raise Rejected(f"{RUNS} contains no runs.")
    return list(runs.values())


def _lines(path: Path, most: int) -> Iterator[bytes]:
    """The lines of a packed file, none of them much longer than allowed."""
    try:
        with opened_lines(path) as file:
            yield from iter(lambda: file.readline(most + 1), b"")
    except (OSError, ValueError) as error:
        raise Rejected(
            f"{RUNS} cannot be unpacked ({type(error).__name__}); it must be lines in zstd."
        ) from error


def _run(text: bytes, where: str, limits: Limits) -> Run:
    try:
        run = checked(Run, parse_json(text), where)
    except ValueError as error:
        raise Rejected(f"{where}not valid JSON ({error}).") from error
    except UserError as error:
        raise Rejected(str(error)) from error
    if sum(map(len, run.rules)) > limits.rules_bytes:
        raise Rejected(f"{where}the rules must have at most {limits.rules_bytes:,} characters.")
    _check_words(run.job, where, limits)
    return run


def _check_words(job: Job, where: str, limits: Limits) -> None:
    """The texts of a stranger's job can be shown; its network need not be one that is installed here."""
    for name, value in vars(job).items():
        if isinstance(value, str) and (len(value) > limits.words or not value.isprintable()):
            raise Rejected(
                f"{where}job.{name} must be one line of at most {limits.words} printable characters; got "
                f"{quoted(value)}."
            )
    if job.track != "pretrained" and job.network is not None:
        raise Rejected(
            f"{where}job.network must be null in the track {job.track}, which has none; got "
            f"{quoted(job.network)}."
        )
    if job.track == "pretrained" and not (job.network and _NETWORK.fullmatch(job.network)):
        raise Rejected(
            f"{where}job.network must be the spec of the perception network in the track pretrained: at most "
            f"100 letters, digits, spaces and .,:+/=@~-_; got {as_written(job.network)}."
        )
