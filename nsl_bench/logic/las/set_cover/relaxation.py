"""Lower bounds by cost splitting: every block pays a share of each charge, and then minimizes by itself.

This is Lagrangian decomposition (Guignard, Kim: "Lagrangean decomposition", Mathematical Programming 1987). A
solution pays the weight of a charge once. If the blocks split that weight among them, each of them pays no
more than its shares for what its configuration incurs, so the least that the blocks pay, each for itself, is
together no more than the score of any choice.

The best split is an optimal strategy of a zero-sum game: a charge is paid to the blocks by its weight, and
blocks pick configurations. It is found by regret matching+ (Tammelin, "Solving large imperfect information
games using CFR+", 2014), with weighted averages and, at first, discounts (Brown, Sandholm: "Solving imperfect
information games via discounted regret minimization", AAAI 2019). That takes no step size and may stop at any
time. The bound itself is computed with integers, so that rounding cannot make it too high.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import Floats32, Ints
from nsl_bench.logic.las.set_cover.configurations import Configurations
from nsl_bench.logic.las.set_cover.instance import Flags, Indices

_DISCOUNTED = 50
_POWER = 3
_CHECKED = 10
_MOST_BITS = 20
_TINY = np.float32(1e-20)
# regret that a block starts with where its parent in the search had none
_FIRST = np.float32(1e-6)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Regrets:
    """Where regret matching stopped.

    Attributes:
        charges: intp [m]: the charges that several blocks may incur.
        of_charges: float32 [blocks, m]: regrets of each charge, by block.
        of_configurations: float32 [s]: regrets of each configuration.
    """

    charges: Indices
    of_charges: Floats32
    of_configurations: Floats32


@dataclass(frozen=True, eq=False)
class Split:
    """What regret matching found.

    Attributes:
        bound: no choice of configurations costs less.
        usage: float32 [s]: how often each configuration is picked.
    """

    bound: int
    usage: Floats
    regrets: Regrets


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The configurations that are left, and what they pay.

    Attributes:
        rows: intp [s], ascending: which of all configurations are left; some of each block.
        own: int64 [s]: the weight of what a configuration incurs and no other block may incur.
        charges: intp [m], ascending: the charges that several blocks may incur.
        weights: int64 [m]: what they cost, 0 where they are paid.
        matrix: float32 [s, blocks * m]: 1 for charges that a configuration incurs, in its block's columns.
        constant: what is paid in any case.
    """

    rows: Indices
    block: Indices
    n_blocks: int
    own: Ints
    charges: Indices
    weights: Ints
    matrix: sparse.csr_matrix
    constant: int

    @classmethod
    def of(cls, whole: Configurations, left: Flags, paid: Flags, constant: int) -> Self | None:
        """The relaxation of a part of the search space; None if a block has no configuration left.

        Args:
            whole: all configurations.
            left: bool [s]: those that are left.
            paid: bool [c]: charges that are paid; their weight is part of `constant`.
            constant: what is paid in any case.
        """
        block = whole.block[left].astype(np.intp)
        n_blocks, n_charges = whole.n_blocks, len(whole.weights)
        if len(np.unique(block)) < n_blocks:
            return None
        sizes = np.diff(whole.starts)
        left_over = np.repeat(left, sizes) & ~paid[whole.charges]
        charge = whole.charges[left_over]
        row = np.repeat(np.cumsum(left) - 1, sizes)[left_over]
        times = np.bincount(block[row] * n_charges + charge, minlength=n_blocks * n_charges)
        n_users = (times > 0).reshape(n_blocks, n_charges).sum(axis=0)
        own = np.zeros(len(block), np.int64)
        np.add.at(own, row, np.where(n_users == 1, whole.weights, 0)[charge])
        shared = n_users > 1
        charges = np.flatnonzero(shared)
        left_over = shared[charge]
        row, charge = row[left_over], charge[left_over]
        columns = block[row] * len(charges) + (np.cumsum(shared) - 1)[charge]
        ends = np.searchsorted(row, np.arange(len(block) + 1))
        ones = (np.ones(len(columns), np.float32), columns.astype(np.int32), ends.astype(np.int32))
        matrix = sparse.csr_matrix(ones, shape=(len(block), n_blocks * len(charges)))
        rows = np.flatnonzero(left)
        return cls(rows, block, n_blocks, own, charges, whole.weights[charges], matrix, constant)

    def part(self, kept: Flags, paid: Indices, own: Ints, constant: int) -> Self | None:
        """The relaxation with fewer configurations and charges; None if a block has no configuration left.

        Args:
            kept: bool [s]: the configurations.
            own: int64 [s]: what the configurations pay of their own now.
            constant: what is paid in any case now.
        """
        weights = np.where(np.isin(self.charges, paid), 0, self.weights)
        if kept.all():
            return replace(self, own=own, weights=weights, constant=constant)
        block = self.block[kept]
        if len(np.unique(block)) < self.n_blocks:
            return None
        rows, matrix = self.rows[kept], self.matrix[np.flatnonzero(kept)]
        return replace(
            self, rows=rows, block=block, own=own[kept], weights=weights, matrix=matrix, constant=constant
        )

    @cached_property
    def starts(self) -> Indices:
        """intp [blocks]: the first configuration of each block."""
        return np.searchsorted(self.block, np.arange(self.n_blocks))

    @cached_property
    def _float_weights(self) -> Floats:
        return self.weights.astype(np.float32)

    @cached_property
    def _float_own(self) -> Floats:
        return self.own.astype(np.float32)

    def split(
        self, steps: int, goal: int, regrets: Regrets | None = None, budget: Budget | None = None
    ) -> Split:
        """Looks for a good split.

        Args:
            steps: of regret matching.
            goal: a bound that is enough.
            regrets: where to go on: those of an instance of which this one is a part.
        """
        of_charges, of_configurations = self._start(regrets)
        shares = self._shares(of_charges)
        usage = self._strategy(of_configurations)
        mean_shares, mean_usage = shares.copy(), usage.copy()
        passed = 0.0
        for step in range(1, steps + 1):
            discount = np.float32(step / (step + 1) if regrets is None and step < _DISCOUNTED else 1)
            used = self._used(usage)
            of_charges *= discount
            of_charges += used - (used * shares).sum(axis=0) / np.maximum(self._float_weights, _TINY)
            np.maximum(of_charges, 0, out=of_charges)
            shares = self._shares(of_charges)
            costs = self._costs(shares)
            of_configurations *= discount
            of_configurations += np.add.reduceat(costs * usage, self.starts)[self.block] - costs
            np.maximum(of_configurations, 0, out=of_configurations)
            usage = self._strategy(of_configurations)
            passed += float(step) ** _POWER
            weight = np.float32(float(step) ** _POWER / passed)
            mean_shares += (shares - mean_shares) * weight
            mean_usage += (usage - mean_usage) * weight
            if step % _CHECKED == 0 and self._is_enough(mean_shares, goal, budget):
                break
        stopped = Regrets(self.charges, of_charges, of_configurations)
        return Split(self.bound(mean_shares), mean_usage, stopped)

    def _start(self, regrets: Regrets | None) -> tuple[Floats, Floats]:
        """Regrets to begin with, of charges [blocks, m] and of configurations [s]."""
        times = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        incurred = (times > 0).reshape(self.n_blocks, len(self.charges))
        if regrets is None:
            first = np.zeros(len(self.block), np.float32)
            first[self.starts] = 1
            return incurred.astype(np.float32), first
        # what is shared here was shared there
        place = np.searchsorted(regrets.charges, self.charges)
        of_charges = (regrets.of_charges[:, place] + _FIRST) * incurred
        return of_charges, regrets.of_configurations.copy()

    def _shares(self, of_charges: Floats) -> Floats:
        """float32 [blocks, m]: the weights of charges, split as the regrets say."""
        result: Floats = of_charges * (self._float_weights / np.maximum(of_charges.sum(axis=0), _TINY))
        return result

    def _strategy(self, of_configurations: Floats) -> Floats:
        """float32 [s]: how often each block picks its configurations."""
        sums = np.add.reduceat(of_configurations, self.starts)
        result = np.asarray(of_configurations / np.maximum(sums, _TINY)[self.block], np.float32)
        result[self.starts[sums <= _TINY]] = 1
        return result

    def _used(self, usage: Floats) -> Floats:
        """float32 [blocks, m]: how often each block incurs each shared charge."""
        result: Floats = (self.matrix.T @ usage).reshape(self.n_blocks, -1)
        return result

    def _costs(self, shares: Floats) -> Floats:
        """float32 [s]: what each configuration pays."""
        result: Floats = self._float_own + self.matrix @ shares.ravel()
        return result

    def _is_enough(self, shares: Floats, goal: int, budget: Budget | None) -> bool:
        """Whether the bound seems to reach the goal, or the budget is used up."""
        bound = float(np.minimum.reduceat(self._costs(shares), self.starts).sum()) + self.constant
        return bound > goal - 1 or (budget is not None and budget.expired())

    def bound(self, shares: Floats) -> int:
        """The bound that these shares give, computed with integers.

        Args:
            shares: float32 [blocks, m], not negative; their sums may differ from the weights by rounding.
        """
        total = int(self.own.max(initial=0)) * self.n_blocks + int(self.weights.sum())
        bits = max(0, min(_MOST_BITS, 61 - total.bit_length()))
        doubles: Any = shares.astype(np.float64)
        parts = doubles / np.maximum(doubles.sum(axis=0), float(_TINY))
        units = np.floor(parts * ((self.weights << bits) * (1 - 2.0**-30))).astype(np.int64)
        units[:, units.sum(axis=0) > self.weights << bits] = 0
        matrix = sparse.csr_matrix(
            (np.ones(len(self.matrix.indices), np.int64), self.matrix.indices, self.matrix.indptr),
            shape=self.matrix.shape,
        )
        costs = (self.own << bits) + matrix @ units.ravel()
        least = int(np.minimum.reduceat(costs, self.starts).sum())
        return self.constant + -(-least >> bits)
