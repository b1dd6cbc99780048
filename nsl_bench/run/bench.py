"""Do a run: create its data, fit its learner, and compute its metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.shift import resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Part, Predictions, Status
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split, symbolic_split, task_of_split
from nsl_bench.learners.base import InvalidOutput, fixed_sizes
from nsl_bench.learners.command import is_command
from nsl_bench.learners.environments import is_environment
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.call import Allowance
from nsl_bench.run.environment import environment, limits_said, versions
from nsl_bench.run.fit_cache import FitCache
from nsl_bench.run.job import PROTOCOL, Job
from nsl_bench.run.record import Record
from nsl_bench.run.scoring import Data, Material, Measured, blaming, imputed, measure_learner
from nsl_bench.run.structural_shift import changed_sizes, covering, with_concepts, with_concepts_of
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits, Lost
from nsl_bench.sandbox.process import Process
from nsl_bench.sandbox.sealing import DataSeed, check_in_force, check_limits, seed_of

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.perception.network import Network

__all__ = ["Bench", "Outcome", "Setup", "check_true_rule"]

_KEPT: dict[Part, int] = {"train": 4, "validation": 4, "test": 32}
"""How many parts are kept: learners share a train set in turn, repeats share all the test sets."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        record: the run's record.
        predictions: predictions for each test example; of a failed run, the majority class.
        log: what the learner printed.
    """

    record: Record
    predictions: pd.DataFrame | None
    log: str = ""


@dataclass(frozen=True)
class Setup:
    """The arguments of a `Bench`, to create an equal one in another process."""

    device: str = "auto"
    workers: int = 1
    limits: Limits | None = None
    data_seed: DataSeed | None = None
    interventions: tuple[int, ...] = ()


class Bench:
    """Does runs. It caches what runs share: image sources, networks, and the data of recent settings.

    Args:
        device: device for networks and, unless it is "auto", for learners.
        workers: number of rendering processes; results do not depend on it.
        limits: resource limits of each learner in its sandbox; None to run learners in this process.
        data_seed: secret seed for the data of sealed jobs.
        interventions: numbers of slots whose true concepts learners get, each in an evaluation of its own.
        own: learners that exist only in this process: their name, and a function from a seed to a learner.
    """

    def __init__(
        self,
        device: str = "auto",
        workers: int = 1,
        *,
        limits: Limits | None = None,
        data_seed: DataSeed | None = None,
        interventions: Sequence[int] = (),
        own: Mapping[str, Callable[[int], Any]] | None = None,
    ) -> None:
        self.own = dict(own or {})
        self.device = device
        self.workers = workers
        self.limits = limits
        self.data_seed = data_seed
        self.interventions = tuple(interventions)
        self._lost = self._apart = False
        self.fits = FitCache()
        self._networks: dict[tuple[str, str, str], Network] = {}
        self._sources: dict[tuple[str, str], tuple[Benchmark, ImageSource]] = {}
        self._data: dict[Part, dict[tuple[Any, ...], Data]] = {part: {} for part in _KEPT}

    @property
    def setup(self) -> Setup:
        """The arguments for an equal bench in another process, where runs are already parallel."""
        return Setup(self.device, 1, self.limits, self.data_seed, self.interventions)

    @classmethod
    def of(cls, setup: Setup) -> Bench:
        """Create the bench of a setup."""
        return cls(
            setup.device,
            setup.workers,
            limits=setup.limits,
            data_seed=setup.data_seed,
            interventions=setup.interventions,
        )

    def run(self, job: Job, given: Any = None) -> Outcome:
        """Do a job. If the learner raises an exception, the record has a failure.

        Args:
            job: the job.
            given: a learner to use instead of the one that the job names.

        Raises:
            UserError: the data or the network cannot be created.
        """
        started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        material = self.material(job)
        if job.sealed and given is None:
            self._check_apart()
        measured = Measured()
        status: Status = "ok"
        message = output = log = ""
        isolation: dict[str, Any] = {}
        libraries: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            learner: Any = None
            shared = self.fits.take(job, stack) if given is None else None
            try:
                learner = shared.learner if shared else stack.enter_context(self._learner(job, given))
                self._check_applies(learner, material)
                measured = measure_learner(
                    learner, material, self._allowance, self.interventions, shared.learned if shared else None
                )
            except Lost:
                if self._lost:
                    raise UserError("Learner processes were killed repeatedly (out of memory?).") from None
                self._lost = True
                stack.close()
                return self.run(job, given)
            except Failure as failure:
                status, message, output = failure.status, str(failure), failure.output
            except InvalidOutput as error:
                status, message = "invalid_output", str(error)
            except NotApplicable as error:
                status, message = "not_applicable", str(error)
            if isinstance(learner, IsolatedLearner | CommandLearner):
                isolation, log = learner.isolation, learner.log()
                libraries = dict(getattr(learner, "libraries", {}))
                output = output or (learner.last_lines() if status != "ok" else "")
            if status == "ok" and given is None:
                self.fits.keep(job, learner, measured, stack, shared)
        self._lost = False
        if status not in ("ok", "not_applicable"):
            measured = imputed(material)
        hashes = {"train": material.train.content_hash, "test": material.test.content_hash}
        if measured.validation_hash:
            hashes["validation"] = measured.validation_hash
        record = Record(
            job,
            status=status,
            metrics=measured.numbers,
            hypothesis=measured.hypothesis,
            content_hash=hashes,
            versions=versions(),
            environment={
                **self._environment(job),
                **limits_said(self.limits),
                "isolation": isolation,
                **({"libraries": libraries} if libraries else {}),
            },
            started=started,
            seconds=round(time.perf_counter() - clock, 3),
            message=message,
            output=output,
            timed_out=measured.timed_out,
            inference=measured.inference,
            perception=measured.perception,
            tuning=measured.tuning,
            shares_fit_of=shared.key if shared else "",
        )
        return Outcome(record, measured.predictions, log or output)

    @staticmethod
    def _check_applies(learner: Any, material: Material) -> None:
        """Raise if a learner cannot take the task: no rule to be known, or sizes that it cannot change."""
        check_true_rule(material)
        if material.test_task is None:
            return
        with blaming("make"):
            fixed = fixed_sizes(learner)
        changed = changed_sizes(material.benchmark, material.tested, fixed)
        if changed:
            raise NotApplicable(
                f"The learner's sizes are fixed, and {material.tested.name} has {' and '.join(changed)}."
            )

    def _check_apart(self) -> None:
        """Refuse to show data of a secret seed to learners that are not kept apart."""
        limits = check_limits(self.limits)
        if not self._apart:
            with contextlib.closing(Process(limits)) as process:
                check_in_force(process.force)
            self._apart = True

    @property
    def _allowance(self) -> Allowance:
        """What evaluating learned rules may use, where the harness itself does it."""
        return Allowance(None) if self.limits is None else Allowance(self.limits.time, self.limits.memory)

    def views(self, job: Job) -> tuple[View, View | None, View]:
        """The train, validation and test set of a job as its learner receives them.

        Raises:
            UserError: the data or the network cannot be created.
        """
        material = self.material(job)
        validation = None if material.validation is None else material.view(material.validation())
        return material.view(material.train), validation, next(iter(material.tests().values()))

    @contextlib.contextmanager
    def _learner(self, job: Job, given: Any) -> Iterator[Any]:
        """The learner of a job, in this process or in one of its own."""
        if given is not None or is_command(job.learner):
            yield given or CommandLearner(job.learner, job.learner_seed(), self.limits)
            return
        if job.learner in self.own:
            with blaming("make"):
                made = self.own[job.learner](job.learner_seed())
            yield made
            return
        limits = self.limits
        if limits is None and is_environment(job.learner):  # its interpreter is another process in any case
            limits = Limits(time=None, memory=None, network=True)
        if limits is None:
            with blaming("make"):
                made = registry.create("learner", job.learner, seed=job.learner_seed())
            yield made
            return
        with blaming("make"):
            learner = IsolatedLearner(job.learner, job.learner_seed(), limits)
        well = False
        try:
            yield learner
            well = True
        finally:
            learner.close(keep_modules=well)

    def _parts(self, job: Job, part: Part = "train") -> tuple[Benchmark, ImageSource]:
        """The task and the images of a part of a job's data."""
        testing = part == "test" and bool(job.test_task)
        name = job.test_task if testing else job.benchmark
        version = job.test_task_version if testing else job.benchmark_version
        fingerprint = job.test_source_fingerprint if testing else job.source_fingerprint
        spec = job.tested if testing else job.task
        key = (spec, job.source)
        if key not in self._sources:
            benchmark: Benchmark = registry.create("benchmark", spec)
            self._sources[key] = (benchmark, make_source(benchmark, job.source))
        benchmark, source = self._sources[key]
        if (benchmark.version, source.fingerprint()) != (version, fingerprint):
            raise UserError(
                f"The run needs {name} {version} with the images "
                f"{fingerprint}; this installation has version {benchmark.version} and "
                f"{source.fingerprint()}."
            )
        return benchmark, source

    def network(self, job: Job) -> Network:
        """The trained network of a job: a shipped one, a cached one, or a new one."""
        from nsl_bench.perception.trained_networks import trained

        if job.network is None:
            raise ValueError("the job's track uses no network")
        part = self._covering(job)
        key = (job.network, job.tested if part == "test" else job.task, job.source)
        if key not in self._networks:
            benchmark, source = self._parts(job, part)
            self._networks[key] = trained(job.network, benchmark, source, device=self.device)
        return self._networks[key]

    def _covering(self, job: Job) -> Part:
        """The part of a job whose task has all concepts of the train and the test task."""
        train, _ = self._parts(job)
        test, _ = self._parts(job, "test")
        return "train" if covering(train, test) is train else "test"

    def _environment(self, job: Job) -> dict[str, Any]:
        if job.network is None:
            return environment()
        return {**environment(), "network_fingerprint": self.network(job).fingerprint()}

    def material(self, job: Job) -> Material:
        """Everything that a run needs except its learner.

        Raises:
            UserError: the data or the network cannot be created.
        """
        if job.protocol != PROTOCOL:
            raise UserError(
                f"The run {job} follows protocol {job.protocol}; this version of nsl-bench runs {PROTOCOL}."
            )
        benchmark, source = self._parts(job)
        own = task_of_split(benchmark, job.repeat, self._seed(job))
        tested, images = None, None
        if job.test_task:
            other, images = self._parts(job, "test")
            space = self._parts(job, self._covering(job))[0].concept_space
            tested = with_concepts_of(task_of_split(other, job.repeat, self._seed(job)), space)
            own = with_concepts_of(own, space)
        return Material(
            own,
            source,
            job.track,
            self._part(job, "train"),
            self._part(job, "test"),
            partial(self._part, job, "validation") if job.splits is None else None,
            tested,
            images,
            "cpu" if self.device == "auto" else self.device,
        )

    def _part(self, job: Job, part: Part) -> Data:
        """A part of a job's data; several jobs share it."""
        benchmark, _ = self._parts(job, part)
        own = part != "test" or benchmark.own_tests or job.splits is not None
        size = "" if part == "test" else job.size
        dial = (job.test_shift, job.test_percent) if part == "test" else (job.train_shift, job.train_percent)
        place = (job.task, job.tested, job.source, job.seed, job.sealed, job.splits)
        key = (*place, job.network, job.track == "symbolic", size, job.repeat if own else 0, *dial)
        kept = self._data[part]
        if key not in kept:
            while len(kept) >= _KEPT[part]:
                kept.pop(next(iter(kept)))
            kept[key] = self._make_part(job, part, *dial)
        return kept[key]

    def _seed(self, job: Job) -> int | str:
        """The seed that a job's data follow.

        Raises:
            UserError: it is a secret one that is not known here.
        """
        return seed_of(job.seed, job.sealed, self.data_seed)

    def _make_part(self, job: Job, part: Part, shift_name: str, percent: float) -> Data:
        benchmark, source = self._parts(job, part)
        space = self._parts(job, self._covering(job))[0].concept_space
        folder = None if job.splits is None else Path(job.splits)
        if job.track == "symbolic":
            split = symbolic_split(benchmark, part, job.size, job.repeat, seed=self._seed(job), splits=folder)
            digest = content_hash(split, benchmark)
            split = with_concepts(split, space)
            return Data(split, None, Predictions.certain(split.concepts, len(space)), digest)
        from nsl_bench.perception.predict import image_digests, predictions_of

        shift = resolve(shift_name, benchmark, source)
        split = make_split(
            benchmark,
            source,
            part,
            job.size,
            job.repeat,
            percent=percent,
            seed=self._seed(job),
            splits=folder,
        )
        seen = None
        if job.network:
            seen = predictions_of(split, source, shift, self.network(job), workers=self.workers)
        digests = image_digests(split, source, shift, workers=self.workers)
        return Data(with_concepts(split, space), shift, seen, content_hash(split, benchmark, digests))


def check_true_rule(material: Material) -> None:
    """Check that the tasks have a true rule, where the track gives it to learners.

    Raises:
        NotApplicable: they have none.
    """
    if material.track == "known_rules" and not (material.benchmark.true_rule and material.tested.true_rule):
        raise NotApplicable(f"{material.tested.name} has no true rule that learners could be handed.")
