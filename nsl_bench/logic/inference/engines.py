"""Inference engines: label probabilities of examples under a hypothesis, with certified intervals.

========== ==========================================================================================
``exact``    exact if the program compiles to a diagram or has few states; else a certified interval
``sampling`` Monte Carlo with its standard error
``auto``     exact if that is cheap, the interval if it is narrow, else the interval with a sampled estimate
``problog``  the ProbLog package (`nsl_bench.logic.inference.problog`), one example at a time
========== ==========================================================================================

Engines are found by name in the group ``nsl_bench.engines``.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Floats, Ints
from nsl_bench.logic.inference.exact.decision_diagram import Diagram
from nsl_bench.logic.inference.exact.truth_table import TooLarge, outcome_table
from nsl_bench.logic.inference.forward.compiled import Forward, Masses, cores
from nsl_bench.logic.inference.program.domains import Domains
from nsl_bench.logic.inference.program.ground import GroundProgram, ground
from nsl_bench.logic.inference.query import Answer, Query, Vectors, checked_vectors, outcomes, slack
from nsl_bench.logic.inference.sampling import draw, standard_error

Rows = npt.NDArray[np.int64]
Facts = Sequence[tuple[str, ...]] | None

_KEPT = 32
_MOST_SAMPLES = 1_000_000_000
_ROUNDING = 1e-10
"""Intervals narrower than this count as exact."""
_FIRST_LOOK, _FAR = 16.0, 0.03
"""Where a sixteenth of the work leaves an interval wider than this, all of it leaves none of 1e-3."""


class Engine(Protocol):
    """Protocol of inference engines."""

    def __call__(self, query: Query, probabilities: npt.ArrayLike, facts: Facts = None) -> Answer:
        """The label probabilities of examples.

        Args:
            query: hypothesis, background and what slots can show.
            probabilities: [n, slots, concepts]: what the network says; zeros for a blank slot.
            facts: for each example the facts that hold besides (meta-data), without full stops.
        """


class Compiled:
    """The compiled program of a query, for examples that share their other facts.

    Attributes:
        domains: the ground program.
        seconds: compile time so far, in seconds.
    """

    def __init__(self, program: GroundProgram, concepts: int, seconds: float = 0.0) -> None:
        self.seconds = seconds
        clock = time.perf_counter()
        self.domains = Domains.of(program, concepts)
        self._diagram: Diagram | None = None
        self._too_large = False
        self._forward: Forward | None = None
        self._lock = threading.Lock()
        self.seconds += time.perf_counter() - clock

    @property
    def diagram(self) -> Diagram | None:
        """The decision diagram; None if the slots have too many joint states."""
        with self._lock:
            if self._diagram is None and not self._too_large:
                clock = time.perf_counter()
                try:
                    self._diagram = Diagram.of(*outcome_table(self.domains))
                except TooLarge:
                    self._too_large = True
                self.seconds += time.perf_counter() - clock
            return self._diagram

    @property
    def forward(self) -> Forward:
        """The program for forward dynamic programming."""
        with self._lock:
            if self._forward is None:
                clock = time.perf_counter()
                self._forward = Forward.of(self.domains)
                self.seconds += time.perf_counter() - clock
            return self._forward


class _Cache:
    """Compiled programs by content, the latest used ones."""

    def __init__(self) -> None:
        self._grounded: OrderedDict[str, tuple[GroundProgram, float]] = OrderedDict()
        self._compiled: OrderedDict[tuple[str, tuple[str, ...]], Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def ground(self, query: Query, facts: tuple[str, ...]) -> tuple[GroundProgram, float]:
        key = f"{query.key}{facts}"
        with self._lock:
            if key not in self._grounded:
                clock = time.perf_counter()
                grounded = ground(query, facts)
                self._grounded[key] = grounded, time.perf_counter() - clock
                while len(self._grounded) > _KEPT:
                    self._grounded.popitem(last=False)
            self._grounded.move_to_end(key)
            return self._grounded[key]

    def compiled(self, query: Query, own: tuple[str, ...], facts: tuple[str, ...]) -> Compiled:
        key = (query.key, own)
        with self._lock:
            if key in self._compiled:
                self._compiled.move_to_end(key)
                return self._compiled[key]
        program, seconds = self.ground(query, facts)
        result = Compiled(program.where(own), query.width, seconds)
        with self._lock:
            self._compiled[key] = result
            while len(self._compiled) > 8 * _KEPT:
                self._compiled.popitem(last=False)
        return result

    def clear(self) -> None:
        with self._lock:
            self._grounded.clear()
            self._compiled.clear()


_cache = _Cache()


def clear() -> None:
    """Clear the cache of compiled programs."""
    _cache.clear()


def compiled(query: Query, own: tuple[str, ...] = (), facts: tuple[str, ...] | None = None) -> Compiled:
    """The compiled program of a query for examples with the facts `own`; cached by content.

    Args:
        query: the hypothesis and background knowledge.
        own: other facts of the examples.
        facts: other facts of all examples, which are grounded together.
    """
    return _cache.compiled(query, own, own if facts is None else facts)


def _groups(query: Query, n: int, facts: Facts) -> list[tuple[Compiled, Ints]]:
    """The examples by their other facts, with the program of each group."""
    if facts is not None and len(facts) != n:
        raise UserError(f"facts must have one entry per example; got {len(facts)} for {n} examples.")
    rows: dict[tuple[str, ...], list[int]] = {}
    for i in range(n):
        own = () if facts is None else facts[i]
        if not isinstance(own, list | tuple):
            raise UserError(f"The facts of example {i} must be a sequence of strings; got {own!r}.")
        rows.setdefault(tuple(dict.fromkeys(own)), []).append(i)
    everything = tuple(sorted({fact for own in rows for fact in own}))
    _cache.ground(query, everything)  # refuses what is not defined here, whatever was compiled before
    return [(compiled(query, own, everything), np.array(which)) for own, which in rows.items()]


class _Parts:
    """The numbers of an answer, filled group by group; intervals allow for negligible concepts by `slack`."""

    def __init__(self, query: Query, n: int) -> None:
        self.n_labels = len(query.labels)
        shape = (n, outcomes(query.labels))
        self.estimate, self.low, self.high, self.error = (np.zeros(shape) for _ in range(4))
        self.engines = np.full(n, "exact", object)

    def exact(self, rows: Rows, masses: Floats, apart: Floats) -> None:
        self.estimate[rows] = masses
        self.bounds(rows, masses, masses, apart)

    def bounds(self, rows: Rows, low: Floats, high: Floats, apart: Floats) -> None:
        """Certify ``[low, high]``, widened by how far the given vectors lie from those that were used."""
        by = apart[:, None]
        self.low[rows] = np.where(by > 0, np.maximum(low - by, 0.0), low)
        self.high[rows] = np.where(by > 0, np.minimum(high + by, 1.0), high)

    def interval(self, rows: Rows, masses: Masses, apart: Floats) -> None:
        low, lost = masses.low, masses.dropped[:, None]
        self.bounds(rows, low, np.minimum(low + lost, 1.0), apart)
        followed = low.sum(axis=1, keepdims=True)
        shares = np.divide(low, followed, out=np.full_like(low, 1 / low.shape[1]), where=followed > 0)
        sampled = (masses.std_err > 0).any(axis=1)
        self.estimate[rows] = np.where(
            np.asarray(sampled)[:, None], low + masses.sampled, low + lost * shares
        )
        self.error[rows] = masses.std_err
        names = np.where(masses.dropped > _ROUNDING, "interval", "exact").astype(object)
        names[sampled] = "sampling"
        self.engines[rows] = names

    def answer(self, **details: object) -> Answer:
        k = self.n_labels
        return Answer(
            probabilities=self.estimate[:, :k],
            low=self.low[:, :k],
            high=self.high[:, :k],
            std_err=self.error[:, :k],
            undecided=self.estimate[:, k],
            ambiguous=self.estimate[:, k + 1],
            engines=tuple(self.engines),
            details=details,
        )


class Exact:
    """Exact label probabilities, or certified intervals if there are too many states.

    Args:
        width: target width of intervals; they can be wider if `work` does not suffice.
        work: approximate number of steps per example before it gives up being exact.
        workers: number of threads; by default one per processor core.
    """

    def __init__(self, width: float = 1e-3, work: float = 1e6, workers: int | None = None) -> None:
        if not 0 <= width <= 1:
            raise UserError(f"width must be between 0 and 1; got {width:g}.")
        if not work > 0:
            raise UserError(f"work must be above 0; got {work:g}.")
        _check_workers(workers)
        self.width, self.work, self.workers = width, work, workers

    def __call__(self, query: Query, probabilities: npt.ArrayLike, facts: Facts = None) -> Answer:
        """The label probabilities of examples; see `Engine`."""
        given = checked_vectors(query, probabilities)
        parts = _Parts(query, len(given.kept))
        seconds = 0.0
        for program, rows in _groups(query, len(given.kept), facts):
            own, apart = _classes(program.domains, given, rows)
            if (diagram := program.diagram) is not None:
                parts.exact(rows, _in_threads(diagram, own, parts.estimate.shape[1], self.workers), apart)
            else:
                parts.interval(rows, self._forward(program.forward, own, apart), apart)
            seconds += program.seconds
        return parts.answer(compile_seconds=seconds)

    def _forward(self, forward: Forward, own: Floats, apart: Floats) -> Masses:
        return forward.run(own, budget=self._budget(apart), work=self.work, workers=self.workers)

    def _budget(self, apart: Floats) -> Floats:
        """The mass that may be dropped so that an interval is no wider than `width`.

        Where negligible concepts alone make it wider, no work could help, and they are left out of account.
        """
        room = self.width - 2 * apart
        return np.asarray(np.minimum(0.95 * self.width, np.where(room > 0, room, self.width)), np.float64)


class Auto(Exact):
    """Exact if cheap, an interval if narrow, else an interval with a sampled estimate inside it.

    Args:
        width: intervals up to this width are not sampled.
        std_err: target standard error of a sampled estimate; it can be larger if `samples` does not suffice.
        samples: maximum number of sampled worlds per example.
        work: approximate number of steps per example before it gives up being exact.
        seed: random seed of the samples.
        workers: number of threads; the answer does not depend on it.
    """

    def __init__(
        self,
        width: float = 1e-3,
        std_err: float = 1e-3,
        samples: int = 20_000,
        work: float = 7e4,
        seed: int = 0,
        workers: int | None = None,
    ) -> None:
        super().__init__(width, work, workers)
        _check_samples(samples)
        _check_seed(seed)
        if not std_err > 0:
            raise UserError(f"std_err must be above 0; got {std_err:g}.")
        self.std_err, self.samples, self.seed = std_err, samples, seed

    def _forward(self, forward: Forward, own: Floats, apart: Floats) -> Masses:
        run = partial(
            forward.run, std_err=self.std_err, rollouts=self.samples, seed=self.seed, workers=self.workers
        )
        # With little work first: what that leaves far from narrow is sampled, for more would not help.
        far = max(_FAR, self.width)
        budget = self._budget(apart)
        result = run(own, budget=budget, work=self.work / _FIRST_LOOK, widest=far)
        near = (result.dropped > _ROUNDING) & (result.dropped <= far)
        if near.any():
            widest = np.maximum(self.width - 2 * apart[near], _ROUNDING)
            more = run(own[near], budget=budget[near], work=self.work, widest=widest)
            result.low[near], result.dropped[near] = more.low, more.dropped
            result.sampled[near], result.std_err[near] = more.sampled, more.std_err
        return result


class Sampling:
    """Monte Carlo estimates with standard errors.

    Args:
        samples: number of sampled worlds per example.
        seed: random seed; an example's samples also depend on its probabilities, not on its position.
        workers: number of threads; the answer does not depend on it.
    """

    def __init__(self, samples: int = 10_000, seed: int = 0, workers: int | None = None) -> None:
        _check_samples(samples)
        _check_seed(seed)
        _check_workers(workers)
        self.samples, self.seed, self.workers = samples, seed, workers

    def __call__(self, query: Query, probabilities: npt.ArrayLike, facts: Facts = None) -> Answer:
        """The label probabilities of examples; see `Engine`."""
        given = checked_vectors(query, probabilities).kept
        parts = _Parts(query, len(given))
        seconds = 0.0
        for program, rows in _groups(query, len(given), facts):
            own = program.domains.probabilities(given[rows])

            def one(k: int, program: Compiled = program, own: Floats = own, rows: Rows = rows) -> None:
                example = own[k]
                digest = np.frombuffer(example.tobytes(), np.uint32)
                rng = np.random.default_rng([self.seed, *digest.tolist()])
                counts = draw(program.domains, example, self.samples, rng)
                parts.estimate[rows[k]] = counts / self.samples
                parts.error[rows[k]] = standard_error(counts, self.samples)

            with ThreadPoolExecutor(self.workers or cores()) as pool:
                list(pool.map(one, range(len(rows))))
            seconds += program.seconds
        parts.high[:] = 1.0
        parts.engines[:] = "sampling"
        return parts.answer(compile_seconds=seconds, samples=self.samples)


def _classes(domains: Domains, given: Vectors, rows: Rows) -> tuple[Floats, Floats]:
    """What a program's slots show, and how far that is from what the given vectors say.

    Concepts that the program cannot tell apart, or not from nothing, make no difference.

    Returns:
        float64 [rows, slots, classes], without negligible concepts; float64 [rows]: `slack`.
    """
    own = domains.probabilities(given.kept[rows])
    apart = np.zeros(len(rows))
    other = given.apart[rows]
    if other.any():
        apart[other] = slack(domains.probabilities(given.full[rows[other]]), own[other])
    return own, apart


def _check_samples(samples: int) -> None:
    if not 1 <= samples <= _MOST_SAMPLES:
        raise UserError(f"samples must be between 1 and {_MOST_SAMPLES}; got {samples}.")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise UserError(f"seed must be 0 or more; got {seed}.")


def _check_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise UserError(f"workers must be 1 or more; got {workers}.")


def _in_threads(diagram: Diagram, own: Floats, n_outcomes: int, workers: int | None) -> Floats:
    threads = max(1, min(workers or cores(), len(own) // 256))
    if threads == 1:
        return diagram.evaluate(own, n_outcomes)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(
            list(pool.map(lambda part: diagram.evaluate(part, n_outcomes), np.array_split(own, threads)))
        )
