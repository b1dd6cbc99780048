"""Forward dynamic programming: label probabilities where the joint states of the slots are too many.

For each example the cubes of the signals (`cubes`) are cut down to what its images can show. Then slot
after slot is decided, in an order that keeps few slots half-way. A *state* is which remainders of cubes
are still alive and which signals are true; all worlds with the same state have the same future, so only
its mass is carried on. States that decide the label leave. Where the states become too many, the least
likely are dropped within a budget of mass, and what was dropped bounds the error: the answer is an
interval. On demand the dropped worlds are finished by chance, which gives an estimate inside it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.inference.forward.dnf import Signals
from nsl_bench.inference.program.domains import Domains
from nsl_bench.inference.program.ground import NEVER

__all__ = ["Forward", "Masses", "cores"]

_NO_ATOM = -2
_HARD = 6_000
"""Above this many states the budget counts no longer: memory and time do."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Masses:
    """What is known of the outcomes' masses.

    Attributes:
        low: float64 [n, outcomes]: mass of the worlds that were followed to their end.
        dropped: float64 [n]: mass of the others.
        sampled: float64 [n, outcomes]: an unbiased estimate of how `dropped` falls on the outcomes;
            zeros where nothing was sampled.
        std_err: float64 [n, outcomes]: its standard error.
    """

    low: Floats
    dropped: Floats
    sampled: Floats
    std_err: Floats


def cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Forward:
    """A program compiled for forward dynamic programming."""

    n_signals: int
    n_atoms: int
    n_outcomes: int
    cubes: tuple[npt.NDArray[np.int64], ...]
    accept: npt.NDArray[np.bool_]
    gates: tuple[npt.NDArray[np.int64], ...]
    goals: npt.NDArray[np.int64]
    violated: int

    @classmethod
    def of(cls, domains: Domains) -> Forward:
        """Compile a program."""
        signals = Signals.of(domains)
        literals: dict[tuple[int, int], int] = {}
        starts, flat, owner = [0], [], []
        for signal, cubes in enumerate(signals.cubes):
            for cube in cubes:
                flat += [literals.setdefault(pair, len(literals)) for pair in cube]
                starts.append(len(flat))
                owner.append(signal)
        values = max(domains.sizes, default=1)
        accept = np.array([[mask >> v & 1 for v in range(values)] for _, mask in literals], np.bool_).reshape(
            len(literals), values
        )
        gates: list[tuple[int, int, int, int]] = []
        bodies: list[tuple[int, int, int]] = []
        parts: list[tuple[int, int]] = []
        for rules in signals.gates:
            heads = {rule.head for rule in rules}
            parts.append((len(gates), int(any(a in heads for rule in rules for a, _ in rule.body))))
            for rule in rules:
                weights = rule.weights or (1,) * len(rule.body)
                start = len(bodies)
                bodies += [(a, int(p), w) for (a, p), w in zip(rule.body, weights, strict=True)]
                gates.append((rule.head, rule.bound if rule.weights else len(rule.body), start, len(bodies)))
        parts.append((len(gates), 0))
        goals = [_NO_ATOM if g is None else g for g in signals.goals]
        return cls(
            n_signals=len(signals.cubes),
            n_atoms=signals.n_atoms,
            n_outcomes=len(goals) + 2,
            cubes=tuple(np.array(x, np.int64) for x in (starts, flat, owner, [slot for slot, _ in literals])),
            accept=accept,
            gates=(
                np.array(gates, np.int64).reshape(-1, 4),
                np.array(bodies, np.int64).reshape(-1, 3),
                np.array(parts, np.int64).reshape(-1, 2),
            ),
            goals=np.array(goals, np.int64),
            violated=NEVER if signals.violated == NEVER else signals.violated,
        )

    def run(
        self,
        probabilities: Floats,
        *,
        budget: float,
        work: float,
        widest: float = 1.0,
        std_err: float = 1.0,
        rollouts: int = 0,
        seed: int = 0,
        workers: int | None = None,
    ) -> Masses:
        """Answer examples.

        Args:
            probabilities: float64 [n, slots, classes].
            budget: mass that an example may lose where the states become many.
            work: about how many steps from state to state an example may take before it loses mass.
            widest: of an example that lost no more mass than this, no world is finished by chance.
            std_err: the standard error that the estimate of what was lost should have.
            rollouts: at most so many of an example's dropped worlds are finished by chance; 0: none.
            seed: of the chance; with the example's numbers it decides the outcome, whatever else is in
                the batch and however many workers there are.
            workers: threads; by default one a processor.
        """
        from nsl_bench.inference.forward import kernel

        # What numba compiles takes arrays of fixed types, of which mypy knows nothing.
        forward: Any = kernel.forward

        n = len(probabilities)
        P = np.ascontiguousarray(probabilities)
        low, sampled = np.zeros((n, self.n_outcomes)), np.zeros((n, self.n_outcomes))
        variance, dropped = np.zeros((n, self.n_outcomes)), np.zeros(n)
        seeds = _seeds(P, seed)
        threads = max(1, min(workers or cores(), n))

        def part(k: int) -> None:
            rows = np.arange(k, n, threads)
            forward(
                *(P, seeds, rows, *self.cubes, self.accept, self.n_signals, self.n_atoms, *self.gates),
                *(self.goals, self.violated, float(budget), float(work), _HARD),
                *(float(widest), float(std_err), rollouts, low, dropped, sampled, variance),
            )

        if threads == 1:
            part(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(part, range(threads)))
        return Masses(low, dropped, sampled, np.sqrt(variance))


def _seeds(probabilities: Floats, seed: int) -> npt.NDArray[np.uint64]:
    """uint64 [n]: a seed for each example, by its content."""
    n = len(probabilities)
    factors = np.random.default_rng(seed).integers(0, 2**64, probabilities[:1].size, np.uint64)
    bits = probabilities.reshape(n, -1).view(np.uint64)
    with np.errstate(over="ignore"):
        seeds: npt.NDArray[np.uint64] = (bits * (factors | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return seeds
