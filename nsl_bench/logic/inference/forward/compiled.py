"""Forward dynamic programming: label probabilities where the joint states of the slots are too many.

For each example the terms of the signals (`nsl_bench.logic.inference.forward.dnf`) are cut down to what its
images can show. Then slot after slot is read, in an order that keeps few slots half-way. A *state* is which
rests of terms are still alive and which signals are true; all worlds with the same state have the same
future, so only its mass is carried on. States that decide the label leave. Where the states become too many,
the least likely are dropped within a budget of mass, and what was dropped bounds the error: the answer is an
interval, since each outcome gets between none and all of that mass (Poole: "Average-case analysis of a search
algorithm for estimating prior and posterior probabilities in Bayesian networks with extreme probabilities",
IJCAI 1993). On demand dropped worlds are sampled to their end, which gives an estimate inside it.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Floats, Ints, UInts64
from nsl_bench.logic.inference.forward.arrays import Limits, Outcomes, Program, Results
from nsl_bench.logic.inference.forward.dnf import Signals
from nsl_bench.logic.inference.program.domains import Domains

_NO_ATOM = -2


@dataclass(frozen=True, eq=False)
class Masses:
    """The probability mass of each outcome: followed, dropped, and sampled.

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


@dataclass(frozen=True)
class Space:
    """How many states an example may have at once; more are dropped, whatever the budget.

    Attributes:
        most_kept: this many are carried on from slot to slot.
        most_states: up to this many joint states of all slots, all may be carried on.
        most_words: uint64 words of a table of states; one that is wider has fewer.
    """

    most_kept: int = 6_000
    most_states: int = 1 << 16
    most_words: int = 1 << 21


_SPACE = Space()


def cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Forward:
    """A program compiled for forward dynamic programming.

    Attributes:
        program: the terms of its signals.
        outcomes: what follows from them.
    """

    program: Program
    outcomes: Outcomes

    @classmethod
    def of(cls, domains: Domains) -> Self:
        """Compile a program."""
        signals = Signals.of(domains)
        return cls(_program(signals, max(domains.sizes, default=1)), _outcomes(signals))

    def run(
        self,
        probabilities: Floats,
        *,
        budget: float | Floats,
        work: float,
        widest: float | Floats = 1.0,
        std_err: float = 1.0,
        rollouts: int = 0,
        seed: int = 0,
        workers: int | None = None,
        space: Space = _SPACE,
    ) -> Masses:
        """Answer examples; 61 lines and nine parameters, each a number that a caller sets by name.

        Args:
            probabilities: float64 [n, slots, classes].
            budget: mass that an example may lose where the states become many; one number, or float64 [n].
            work: about how many steps from state to state an example may take before it loses mass.
            widest: of an example that lost no more mass than this, no world is sampled; as `budget`.
            std_err: the standard error that the estimate of what was lost should have.
            rollouts: at most so many of an example's dropped worlds are sampled; 0: none.
            seed: of the samples; with the example's numbers it decides the outcome, whatever else is in
                the batch and however many workers there are.
            workers: threads; by default one a processor.
            space: how many states an example may have.
        """
        n, n_outcomes = len(probabilities), len(self.outcomes.goals) + 2
        vectors = np.ascontiguousarray(probabilities)
        seeds = _seeds(vectors, seed)
        limits = Limits(
            budget=np.full(n, budget, np.float64),
            work=float(work),
            most_kept=space.most_kept,
            most_states=space.most_states,
            most_words=space.most_words,
            widest=np.full(n, widest, np.float64),
            std_err=float(std_err),
            rollouts=rollouts,
        )
        results = Results(
            *(np.zeros(shape) for shape in ((n, n_outcomes), n, (n, n_outcomes), (n, n_outcomes)))
        )
        threads = max(1, min(workers or cores(), n))
        forward = _kernel()

        def part(k: int) -> None:
            scratch = {name: getattr(self.outcomes, name).copy() for name in ("lower", "upper", "frozen")}
            own = self.outcomes._replace(**scratch)
            forward(self.program, own, vectors, seeds, np.arange(k, n, threads), limits, results)

        with _in_words():
            if threads == 1:
                part(0)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(part, range(threads)))
        return Masses(results.low, results.dropped, results.sampled, np.sqrt(results.variances))


def _kernel() -> Any:
    """The compiled loop; it loads numba, of whose arrays mypy knows nothing."""
    with _in_words():
        from nsl_bench.logic.inference.forward.kernel import forward

        return forward


@contextmanager
def _in_words() -> Iterator[None]:
    """Say in one sentence why compiled code cannot run."""
    try:
        yield
    except MemoryError:
        raise UserError("The engine ran out of memory on this hypothesis; use --engine sampling.") from None
    except ImportError as error:
        raise UserError(
            f"The engines exact and auto need numba, which cannot be imported: {error}."
        ) from None
    except Exception as error:
        if not type(error).__module__.startswith("numba."):
            raise
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            "numba cannot compile the engines exact and auto on this machine; use the engine sampling, "
            f"or another version of numba. ({type(error).__name__}: {reason})"
        ) from None


def _program(signals: Signals, n_values: int) -> Program:
    """The arrays of the terms."""
    literals: dict[tuple[int, int], int] = {}
    starts, flat, owner = [0], [], []
    for signal, terms in enumerate(signals.terms):
        for term in terms:
            flat += [literals.setdefault(pair, len(literals)) for pair in term]
            starts.append(len(flat))
            owner.append(signal)
    accept = [[mask >> v & 1 for v in range(n_values)] for _, mask in literals]
    return Program(
        term_start=np.array(starts, np.int64),
        term_literal=np.array(flat, np.int64),
        term_signal=np.array(owner, np.int64),
        literal_slot=np.array([slot for slot, _ in literals], np.int64),
        accept=np.array(accept, np.bool_).reshape(len(literals), n_values),
    )


def _outcomes(signals: Signals) -> Outcomes:
    """The arrays of the rules over signals."""
    rules: list[tuple[int, int, int, int]] = []
    bodies: list[tuple[int, int, int]] = []
    components: list[tuple[int, int]] = []
    for component in signals.rules:
        heads = {rule.head for rule in component}
        components.append((len(rules), int(any(a in heads for rule in component for a, _ in rule.body))))
        for rule in component:
            weights = rule.weights or (1,) * len(rule.body)
            start = len(bodies)
            bodies += [(a, int(p), w) for (a, p), w in zip(rule.body, weights, strict=True)]
            rules.append((rule.head, rule.bound if rule.weights else len(rule.body), start, len(bodies)))
    components.append((len(rules), 0))
    bits = {a: k for k, a in enumerate([*range(len(signals.terms)), *signals.remembered])}
    return Outcomes(
        rules=np.array(rules, np.int64).reshape(-1, 4),
        bodies=np.array(bodies, np.int64).reshape(-1, 3),
        components=np.array(components, np.int64).reshape(-1, 2),
        goals=np.array([_NO_ATOM if g is None else g for g in signals.goals], np.int64),
        n_signals=len(signals.terms),
        remembered=np.array(signals.remembered, np.int64),
        bit=np.array([bits.get(a, -1) for a in range(signals.n_atoms)], np.int64),
        asked=np.array(
            [a in signals.goals or a == signals.violated for a in range(signals.n_atoms)], np.bool_
        ),
        violated=signals.violated,
        rank=_rank(signals),
        lower=np.zeros(signals.n_atoms + 1, np.uint8),
        upper=np.zeros(signals.n_atoms + 1, np.uint8),
        frozen=np.zeros(len(signals.rules) + 1, np.int64),
    )


def _rank(signals: Signals) -> Ints:
    """`Outcomes.rank`."""
    rank = np.zeros(len(signals.terms), np.int64)
    if signals.remembered:
        rank[:] = len(signals.rules)
        for number, component in reversed([*enumerate(signals.rules)]):
            rank[[a for rule in component for a, _ in rule.body if a < len(rank)]] = number
    return rank


def _seeds(probabilities: Floats, seed: int) -> UInts64:
    """uint64 [n]: a seed for each example, by its content."""
    n = len(probabilities)
    factors = np.random.default_rng(seed).integers(0, 2**64, probabilities[:1].size, np.uint64)
    bits = probabilities.reshape(n, -1).view(np.uint64)
    with np.errstate(over="ignore"):
        seeds: UInts64 = (bits * (factors | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return seeds
