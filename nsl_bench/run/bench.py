"""Do a run: create its data, fit its learner, and compute its metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.types import Status
from nsl_bench.learners.base import InvalidOutput, fixed_sizes
from nsl_bench.learners.command import is_command
from nsl_bench.learners.environments import is_environment
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import Allowance
from nsl_bench.run.fit_cache import FitCache
from nsl_bench.run.grid import Options
from nsl_bench.run.job import Job
from nsl_bench.run.material import Material, Materials
from nsl_bench.run.record import Record, environment, limits_said, versions
from nsl_bench.run.scoring import Measured, blaming, imputed, measure_learner
from nsl_bench.run.structural_shift import changed_sizes
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits, Lost
from nsl_bench.sandbox.process import Process
from nsl_bench.sandbox.sealing import DataSeed, check_in_force, check_limits

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        predictions: predictions for each test example; of a failed run, the majority class.
    """

    record: Record
    predictions: pd.DataFrame | None
    log: str = ""


@dataclass
class _Attempt:
    """What became of a learner."""

    measured: Measured = field(default_factory=Measured)
    status: Status = "ok"
    message: str = ""
    output: str = ""
    log: str = ""
    isolation: dict[str, Any] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    shares_fit_of: str = ""


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
        self._materials = Materials(device, workers)

    @property
    def options(self) -> Options:
        """What makes an equal bench in another process."""
        return Options(self.limits, self.device, data_seed=self.data_seed, interventions=self.interventions)

    @classmethod
    def of(cls, options: Options, workers: int = 1) -> Bench:
        """The bench of some options; where runs are parallel, images are rendered by one process."""
        return cls(
            options.device,
            workers,
            limits=options.limits,
            data_seed=options.data_seed,
            interventions=options.interventions,
        )

    def run(self, job: Job, given: Any = None) -> Outcome:
        """Do a job. If the learner raises an exception, the record has a failure.

        Args:
            given: a learner to use instead of the one that the job names.
        """
        started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        material = self.material(job)
        if job.sealed and given is None:
            self._check_apart()
        try:
            attempt = self._attempt(material, given)
        except Lost:
            if self._lost:
                raise UserError("Learner processes were killed repeatedly (out of memory?).") from None
            self._lost = True
            return self.run(job, given)
        self._lost = False
        measured = attempt.measured
        if attempt.status not in ("ok", "not_applicable"):
            measured = imputed(material)
        hashes = {"train": material.train.content_hash, "test": material.test.content_hash}
        if measured.validation_hash:
            hashes["validation"] = measured.validation_hash
        network = material.resolved.network
        record = Record(
            job,
            status=attempt.status,
            metrics=measured.numbers,
            hypothesis=measured.hypothesis,
            content_hash=hashes,
            versions=versions(),
            environment={
                **environment(),
                **({} if network is None else {"network_fingerprint": network.fingerprint()}),
                **limits_said(self.limits),
                "isolation": attempt.isolation,
                **({"libraries": attempt.libraries} if attempt.libraries else {}),
            },
            started=started,
            seconds=round(time.perf_counter() - clock, 3),
            message=attempt.message,
            output=attempt.output,
            timed_out=measured.timed_out,
            inference=measured.inference,
            perception=measured.perception,
            tuning=measured.tuning,
            shares_fit_of=attempt.shares_fit_of,
        )
        return Outcome(record, measured.predictions, attempt.log or attempt.output)

    def _attempt(self, material: Material, given: Any) -> _Attempt:
        """Make the learner of a job, fit and measure it."""
        job, attempt = material.resolved.job, _Attempt()
        with contextlib.ExitStack() as stack:
            learner: Any = None
            shared = self.fits.take(job, stack) if given is None else None
            attempt.shares_fit_of = shared.key if shared else ""
            try:
                learner = shared.learner if shared else stack.enter_context(self._learner(job, given))
                self._check_applies(learner, material)
                learned = shared.learned if shared else None
                attempt.measured = measure_learner(
                    learner, material, self._allowance, self.interventions, learned
                )
            except Lost:
                raise
            except Failure as failure:
                attempt.status, attempt.output = failure.status, failure.output
                attempt.message = str(failure)
            except InvalidOutput as error:
                attempt.status, attempt.message = "invalid_output", str(error)
            except NotApplicable as error:
                attempt.status, attempt.message = "not_applicable", str(error)
            if isinstance(learner, IsolatedLearner | CommandLearner):
                attempt.isolation, attempt.log = learner.isolation, learner.log()
                attempt.libraries = dict(getattr(learner, "libraries", {}))
                if attempt.status != "ok":
                    attempt.output = attempt.output or learner.last_lines()
            if attempt.status == "ok" and given is None:
                self.fits.keep(job, learner, attempt.measured, stack, shared)
        return attempt

    @staticmethod
    def _check_applies(learner: Any, material: Material) -> None:
        """Raise if a learner cannot take the task: no rule to be known, or sizes that it cannot change."""
        check_true_rule(material)
        if not material.resolved.job.test_task:
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
        """The train, validation and test set of a job as its learner receives them."""
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

    def material(self, job: Job) -> Material:
        """Everything that a run needs except its learner."""
        return self._materials.of(job, self.data_seed)


def check_true_rule(material: Material) -> None:
    """Check that the tasks have a true rule, where the track gives it to learners."""
    rules = material.benchmark.true_rule and material.tested.true_rule
    if material.resolved.job.track == "known_rules" and not rules:
        raise NotApplicable(f"{material.tested.name} has no true rule that learners could be handed.")
