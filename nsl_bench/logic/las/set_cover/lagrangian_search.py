"""Branch and bound with bounds by cost splitting, for instances where many rules compete.

A node of the search says of some charges that they are paid, and of others that they are not. What pays an
excluded charge is left out of all blocks, what pays for a charge anyway incurs it for free. The node with the
lowest bound comes first, so that the bound of the whole rises steadily.
"""

import heapq
from dataclasses import dataclass, replace

import numpy as np

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import Floats, Ints, UInts8
from nsl_bench.logic.las.set_cover.configurations import configurations
from nsl_bench.logic.las.set_cover.instance import Choice, Flags, Indices, Instance
from nsl_bench.logic.las.set_cover.relaxation import Regrets, Relaxation, Split

_MOST_CONFIGURATIONS = 6_000
_MORE = 1.1
_STEPS_FIRST = 200
_STEPS_NODE = 25
_STEPS_CHILD = 15
_CANDIDATES = 2
_MOST_WARM = 256
_SURE = 0.02
_RISE = 0.3


def search(instance: Instance, incumbent: Choice, budget: Budget | None = None) -> Choice:
    """The choice of least score; on a deadline, the best one so far, with a bound."""
    result = _Search(instance.capped(incumbent.score), incumbent, budget)
    proven = result.run()
    bound = result.score if proven else max(incumbent.bound, min(result.lowest(), result.score))
    return Choice(result.rules, result.score, bound, proven)


@dataclass(frozen=True, eq=False)
class _Node:
    """A part of the search space.

    Attributes:
        left: packed bool [s]: configurations that are left.
        paid: bool [c]: charges that are paid.
        constant: their weight, and penalties that no choice avoids.
        regrets: where regret matching stopped in the parent, None to begin anew.
    """

    bound: int
    left: UInts8
    paid: Flags
    constant: int
    regrets: Regrets | None


class _Search:
    def __init__(self, instance: Instance, incumbent: Choice, budget: Budget | None) -> None:
        self.instance = instance
        self.rules = incumbent.rules
        self.score = incumbent.score
        self.budget = budget
        most = max(_MOST_CONFIGURATIONS, int(_MORE * instance.supports.sum()))
        self.whole = configurations(instance, most, budget)
        n_charges = len(self.whole.weights)
        # the configurations that incur each charge
        rows = np.repeat(np.arange(len(self.whole.block)), np.diff(self.whole.starts))
        order = np.argsort(self.whole.charges, kind="stable")
        ends = np.searchsorted(self.whole.charges[order], np.arange(1, n_charges))
        self._incurring = np.split(rows[order], ends)
        self._cells = self.whole.block[rows].astype(np.intp) * n_charges + self.whole.charges
        self._heap: list[tuple[int, int, _Node]] = []
        self._count = 0

    def run(self) -> bool:
        """Searches until nothing is left, or the budget is used up; whether that is a proof."""
        self._push(self._root())
        while self._heap:
            entry = heapq.heappop(self._heap)
            if entry[0] >= self.score:
                break
            children = None if self._expired() else self._expanded(entry[2])
            if children is None:
                heapq.heappush(self._heap, entry)
                return False
            for child in children:
                self._push(child)
        return True

    def lowest(self) -> int:
        """No choice that was not looked at has a lower score."""
        return self._heap[0][0] if self._heap else self.score

    def _expired(self) -> bool:
        return self.budget is not None and (self.budget.expired() or self.budget.full())

    def _push(self, node: _Node | None) -> None:
        if node is not None and node.bound < self.score:
            if len(self._heap) >= _MOST_WARM:
                node = replace(node, regrets=None)
            self._count += 1
            heapq.heappush(self._heap, (node.bound, self._count, node))

    def _root(self) -> _Node | None:
        """All choices that may be better than the best one known."""
        left = np.ones(len(self.whole.block), np.bool_)
        for charge in np.flatnonzero(self.whole.weights >= self.score - self.instance.constant).tolist():
            left[self._incurring[charge]] = False
        paid = np.zeros(len(self.whole.weights), np.bool_)
        return _Node(self.instance.constant, np.packbits(left), paid, self.instance.constant, None)

    def _expanded(self, node: _Node) -> list[_Node] | None:
        """The parts of a node; None if the budget is used up."""
        left = np.unpackbits(node.left, count=len(self.whole.block)).astype(np.bool_)
        relaxation = Relaxation.of(self.whole, left, node.paid, node.constant)
        if relaxation is None:
            return []
        steps = _STEPS_FIRST if node.regrets is None else _STEPS_NODE
        split = relaxation.split(steps, self.score, node.regrets, self.budget)
        node = replace(node, bound=max(node.bound, split.bound), regrets=split.regrets)
        if node.bound < self.score:
            self._round(relaxation, split)
        best: list[_Node] = []
        most = -1
        if node.bound >= self.score:
            return best
        for charge in self._candidates(node, relaxation, split):
            if self._expired():
                return None
            children = [self._child(node, relaxation, split, charge, pays) for pays in (False, True)]
            gains = [min(child.bound, self.score) - node.bound for child in children]
            worth = max(1, gains[0]) * max(1, gains[1])
            if worth > most:
                best, most = children, worth
        return best

    def _child(self, node: _Node, relaxation: Relaxation, split: Split, charge: int, pays: bool) -> _Node:
        """The part of a node that pays a charge, or that does not."""
        whole = self.whole
        dropped = np.zeros(len(whole.block), np.bool_)
        paid, own = node.paid.copy(), relaxation.own
        new = np.empty(0, np.intp)
        if pays:
            new = np.append(whole.implied[charge], charge)
            new = new[~paid[new]]
            paid[new] = True
            own = self._own_without(relaxation, new)
            for rule in whole.excluded[charge].tolist():
                dropped[self._incurring[rule]] = True
        else:
            dropped[self._incurring[charge]] = True
        constant = node.constant + int(whole.weights[new].sum())
        remaining = ~dropped[relaxation.rows]
        left = np.zeros(len(whole.block), np.bool_)
        left[relaxation.rows[remaining]] = True
        part = relaxation.part(remaining, new, own, constant)
        if part is None:
            return replace(node, bound=self.score)
        regrets = replace(split.regrets, of_configurations=split.regrets.of_configurations[remaining])
        result = part.split(_STEPS_CHILD, self.score, regrets)
        return _Node(max(node.bound, result.bound), np.packbits(left), paid, constant, result.regrets)

    def _own_without(self, relaxation: Relaxation, new: Indices) -> Ints:
        """int64 [s]: what the configurations pay of their own when further charges are paid."""
        own = np.zeros(len(self.whole.block), np.int64)
        own[relaxation.rows] = relaxation.own
        for charge in np.setdiff1d(new, relaxation.charges).tolist():
            own[self._incurring[charge]] -= self.whole.weights[charge]
        return own[relaxation.rows]

    def _candidates(self, node: _Node, relaxation: Relaxation, split: Split) -> list[int]:
        """Charges on which to branch, those first that seem to raise the bounds of both parts most.

        What is picked and may be picked no more costs about as much again as a target weighs.
        """
        whole = self.whole
        used, undecided = self._usage(node, relaxation, split)
        highest, mass = used.max(axis=0), used.sum(axis=0)
        weight = whole.weights.astype(np.float64)
        typical = _RISE * float(np.median(weight[whole.n_rules :]))
        excludes = typical * mass
        pays = weight * (1 - highest)
        likely = np.flatnonzero(undecided & (highest > _SURE) & (highest < 1 - _SURE))
        for charge in likely.tolist():
            pays[charge] += typical * mass[whole.excluded[charge]].sum()
            others = whole.implied[charge]
            pays[charge] += (weight * (1 - highest) * undecided)[others].sum()
        if not len(likely):
            return [int(undecided.argmax())] if undecided.any() else []
        gap = max(1.0, float(self.score - split.bound))
        worth = np.minimum(excludes, gap)[likely] * np.minimum(pays, gap)[likely]
        result: list[int] = likely[np.argsort(-worth, kind="stable")[:_CANDIDATES]].tolist()
        return result

    def _usage(self, node: _Node, relaxation: Relaxation, split: Split) -> tuple[Floats, Flags]:
        """How often each block incurs each unpaid charge [blocks, c], and which charges any may incur."""
        whole = self.whole
        picked = np.full(len(whole.block), -1.0)
        picked[relaxation.rows] = split.usage
        each = np.repeat(picked, np.diff(whole.starts))
        remaining = (each >= 0) & ~node.paid[whole.charges]
        shape = (whole.n_blocks, len(whole.weights))
        cells = self._cells[remaining]
        result = np.bincount(cells, each[remaining], shape[0] * shape[1]).reshape(shape)
        return np.asarray(result, np.float64), np.bincount(whole.charges[remaining], minlength=shape[1]) > 0

    def _round(self, relaxation: Relaxation, split: Split) -> None:
        """Tries the rules of the configurations that are picked most often."""
        # of each block the last one, as they are sorted by how often they are picked
        order = np.lexsort((split.usage, relaxation.block))
        rows = relaxation.rows[order[np.append(relaxation.starts[1:], len(order)) - 1]]
        slices = [slice(*self.whole.starts[row : row + 2]) for row in rows.tolist()]
        incurred = np.concatenate([self.whole.charges[each] for each in slices])
        picked = np.unique(incurred[incurred < self.whole.n_rules]).tolist()
        score = self.instance.score(picked)
        if score < self.score:
            self.score = score
            self.rules = self.instance.named(picked)
