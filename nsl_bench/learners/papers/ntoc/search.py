"""Symbolic rule search: Algorithm 1 of the NTOC paper, and the circuit that it shapes.

Liu et al. (AAAI 2023), section 5.1. A logic circuit is a deterministic sum over products. It starts as the
tautology, one product that allows every world. Each iteration splits a product on a variable and prunes the
worlds that almost no sample needs.

The paper's appendix with details is not available; what is marked [ours] is our choice.
"""

import heapq
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import Bools, Ints
from nsl_bench.learners.papers.ntoc.circuit import TableCircuit

LEAST_PROBABILITY = 1e-6
"""Probability that a circuit gives a sample at least: a sample costs 13.8 nats at most [ours]."""

LEAST_SAMPLES = 5.0
"""Samples that must need a product, for each combination of conditions, before it may be pruned [ours]."""

MOST_SAMPLES = 30_000
"""Steps of train sequences that a search looks at, drawn at random where there are more [ours]."""

MOST_NUMBERS = 40_000_000
"""Samples times worlds of a search; with many worlds, it looks at fewer samples [ours]."""

MOST_PRODUCTS = 5_000
"""Products of a circuit; a search that has reached them splits no further [ours]."""

Table = npt.NDArray[np.float64]

Product = tuple[tuple[int, ...], ...]
"""For each variable, the values that a product allows: a conjunction of literals."""


@dataclass(frozen=True)
class Facts:
    """Probabilistic facts of steps, the samples of a search.

    Attributes:
        worlds: float64 [n, worlds], distribution over the values of all symbols.
        came: float64 [n, memory], distribution of the memory that comes in.
        went: float64 [n, memory], distribution of the memory that goes out.
    """

    worlds: Table
    came: Table
    answer: Ints
    went: Table

    def needs(self, allowed: Bools) -> tuple[Table, float]:
        """How many samples need each world, and the semantic loss of a circuit.

        A sample needs a set of worlds by ``1 - exp(-rise)``, where `rise` is by how much its loss rises if
        the set is pruned. That is the set's share of the sample's weighted model count, so needs add up.

        Args:
            allowed: bool [worlds, memory, answers, memory], the worlds that the circuit allows.

        Returns:
            float64 array of the shape of `allowed`, and the loss in nats, summed over the samples.
        """
        result, loss = np.zeros(allowed.shape), 0.0
        worlds, memory, answers, out = allowed.shape
        for answer in range(answers):
            rows = np.flatnonzero(self.answer == answer)
            if not len(rows):
                continue
            world = self.worlds[rows]
            ends = (self.came[rows, :, None] * self.went[rows, None, :]).reshape(len(rows), -1)
            table = allowed[:, :, answer].reshape(worlds, -1).astype(np.float64)
            count = ((ends @ table.T) * world).sum(axis=1).clip(LEAST_PROBABILITY, 1.0)
            loss -= float(np.log(count).sum())
            result[:, :, answer] = (table * ((world / count[:, None]).T @ ends)).reshape(worlds, memory, out)
        return result, loss


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
        products: the products of the circuit; no world is in two of them.
        allowed: bool [worlds, memory, answers, memory], the worlds that the circuit allows.
        loss: semantic loss in nats, summed over the samples.
        ended: ``cost`` if the last pruning cost too much and was undone, otherwise ``complete``.
    """

    products: tuple[Product, ...]
    allowed: Bools
    loss: float
    splits: int
    ended: str

    @property
    def count(self) -> int:
        """The model count: number of worlds that the circuit allows."""
        return int(self.allowed.sum())


@dataclass
class Search:
    """Algorithm 1: split, prune, and stop when pruning costs too much.

    A variable is a symbol, the memory that comes in, the answer, or the memory that goes out. Symbols and
    memory in are a product's conditions, the others its outcome.

    * Split: a product is replaced by one product for each value of a variable [ours: the paper's variables
      are Boolean]. The score of a split is mass times information gain: the samples that need the product,
      and the mutual information of the variable with the other variables of the outcome [ours]. Conditions
      are split before the outcome, as pruning compares outcomes of the same conditions [ours]. A product
      with a single outcome is not split, nor one that fewer than `LEAST_SAMPLES` need [ours].
    * Prune: a value of the outcome is removed from a product if almost no sample needs it. "Almost no" means
      fewer than `tolerance` times those that need the best value, divided by the number of combinations of
      conditions [ours]. So an answer that is right for one combination of many stays, and so do values of a
      memory of which nothing is known. This is the paper's prune by conjunction. It takes place right before
      a split, too, and then prunes whole products of a split on the outcome. Conditions are never pruned:
      symbols that no sample shows are unknown, not impossible [ours].
    * Stop: let I(g, g') be the rise of the loss divided by the fall of the model count. The search ends where
      I of an iteration is more than `limit` times I of the whole search. That iteration is undone [ours].
      An iteration that prunes nothing has no I, so the search goes on after it.

    Args:
        limit: of the termination rule; the paper's d.
    """

    facts: Facts
    values: tuple[int, ...]
    answers: int
    tolerance: float = 0.2
    limit: float = 5.0
    _queue: list[tuple[float, int, Product, int]] = field(default_factory=list)
    _pushed: int = 0

    def __post_init__(self) -> None:
        memory = self.facts.came.shape[1]
        self.shape = (*self.values, memory, self.answers, memory)
        self._outcome = (len(self.shape) - 2, len(self.shape) - 1)
        self._flat = (math.prod(self.values), memory, self.answers, memory)

    def run(self) -> Found:
        """Search from the tautology until no product can be split or pruning costs too much."""
        tautology: Product = tuple(tuple(range(n)) for n in self.shape)
        self.products: dict[Product, None] = {tautology: None}
        self.allowed = np.ones(self.shape, np.bool_)
        self._most = self.allowed.size
        self.needs, self.loss = self._measured(self.allowed)
        self._queue, splits = [], 0
        if not self._replaced([tautology], [self.pruned(tautology)]):
            return self._found(splits, "cost")
        while (best := self._pop()) and len(self.products) < MOST_PRODUCTS:
            product, variable = best
            parts = split(self.pruned(product), variable)
            splits += 1
            if not self._replaced([product], [self.pruned(one) for one in parts]):
                return self._found(splits, "cost")
        while rest := {one: less for one in self.products if (less := self.pruned(one)) != one}:
            if not self._replaced(list(rest), list(rest.values())):
                return self._found(splits, "cost")
        return self._found(splits, "complete")

    def _found(self, splits: int, ended: str) -> Found:
        allowed = self.allowed.reshape(self._flat)
        return Found(tuple(self.products), allowed, self.loss, splits, ended)

    def _measured(self, allowed: Bools) -> tuple[Table, float]:
        needs, loss = self.facts.needs(allowed.reshape(self._flat))
        return needs.reshape(self.shape), loss

    def _replaced(self, old: list[Product], new: list[Product]) -> bool:
        """One iteration: products make way for others, unless that costs too much; whether they did."""
        allowed = self.allowed.copy()
        for products, there in ((old, False), (new, True)):
            for one in products:
                allowed[np.ix_(*one)] = there
        before, after = int(self.allowed.sum()), int(allowed.sum())
        if after < before:
            needs, loss = self._measured(allowed)
            if too_costly(self.loss, loss, self._most, before, after, self.limit):
                return False
            self.allowed, self.needs, self.loss = allowed, needs, loss
        for one in old:
            del self.products[one]
        self.products |= dict.fromkeys(new)
        self._push(new)
        return True

    def pruned(self, product: Product) -> Product:
        """What is left of a product without the outcomes that almost no sample needs."""
        needs = self.needs[np.ix_(*product)]
        combinations = math.prod(needs.shape[:-2])
        mass = float(needs.sum())
        if mass < LEAST_SAMPLES * combinations:
            return product
        left = list(product)
        for variable in self._outcome:
            others = tuple(k for k in range(needs.ndim) if k != variable)
            each = needs.sum(axis=others)
            keep = each >= self.tolerance * each.max() / combinations
            left[variable] = tuple(np.asarray(product[variable])[keep].tolist())
            needs = needs.compress(keep, axis=variable)
        return tuple(left)

    def gains(self, product: Product) -> dict[int, float]:
        """Mass times information gain of a split, for each variable with two values or more."""
        if all(len(product[variable]) == 1 for variable in self._outcome):
            return {}
        needs = self.needs[np.ix_(*product)]
        if needs.sum() < LEAST_SAMPLES:
            return {}
        several = [variable for variable in range(needs.ndim) if needs.shape[variable] > 1]
        conditions = [variable for variable in several if variable not in self._outcome]
        return {
            variable: sum(_shared(needs, variable, other) for other in self._outcome if other != variable)
            for variable in conditions or several
        }

    def _push(self, products: list[Product]) -> None:
        for product in products:
            for variable, gain in self.gains(product).items():
                heapq.heappush(self._queue, (-gain, self._pushed, product, variable))
                self._pushed += 1

    def _pop(self) -> tuple[Product, int] | None:
        """The split of the highest score; a score that pruning has lowered since is computed anew."""
        while self._queue:
            bound, _, product, variable = heapq.heappop(self._queue)
            if product not in self.products:
                continue
            gain = self.gains(product).get(variable)
            if gain is None:
                continue
            if not self._queue or -gain <= self._queue[0][0] or -gain <= bound:
                return product, variable
            heapq.heappush(self._queue, (-gain, self._pushed, product, variable))
            self._pushed += 1
        return None


def split(product: Product, variable: int) -> list[Product]:
    """A product for each value of a variable; together they allow the same worlds."""
    return [(*product[:variable], (value,), *product[variable + 1 :]) for value in product[variable]]


def too_costly(loss: float, now: float, most: int, before: int, after: int, limit: float) -> bool:
    """The termination rule ``I(g_t-1, g_t) > limit * I(g_0, g_t)``.

    Args:
        most: model count of the tautology.
        limit: the paper's d.
    """
    return before > after and (now - loss) * (most - after) > limit * now * (before - after)


def _shared(needs: Table, variable: int, other: int) -> float:
    """Mutual information of two variables in nats, times the number of samples."""
    others = tuple(k for k in range(needs.ndim) if k not in (variable, other))
    joint = needs.sum(axis=others)
    total = joint.sum()
    if total <= 0:
        return 0.0
    expected = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True) / total
    there = joint > 0
    return max(float((joint[there] * np.log(joint[there] / expected[there])).sum()), 0.0)


def facts_of(worlds: Any, came: Any, answer: Any, went: Any) -> Facts:
    """The facts of steps, as probabilities that sum to 1.

    Args:
        worlds: tensor [n, worlds], of `TableCircuit.worlds_of`.
        came: tensor [n, memory], `literals` of the memory that comes in.
        went: tensor [n, memory], `literals` of the memory that goes out.
    """
    world, entered, left = (
        np.asarray(one.detach().double().softmax(dim=1), np.float64) for one in (worlds, came, went)
    )
    return Facts(world, entered, np.asarray(answer, np.int64), left)


def some_of(sequences: int, steps: int, worlds: int, seed: int) -> Ints:
    """The sequences that a search looks at, in random order."""
    most = max(1, min(MOST_SAMPLES, MOST_NUMBERS // worlds) // steps)
    return np.random.default_rng(seed).permutation(sequences)[:most]


def search_epochs(epochs: int, rounds: int) -> list[int]:
    """The epochs before which a search takes place: each round has about as many epochs to learn."""
    return sorted({epochs * k // rounds for k in range(rounds)} - {epochs})


class SearchedCircuit(TableCircuit):
    """A table circuit whose structure comes from a search.

    A world that was pruned has weight zero, and expectation maximisation keeps it there. Each combination of
    symbols and memory in has weights of its own for the outcomes that are left to it, as in the table [ours].

    The memory between steps is in no example. The search takes the latent memory of each sequence, as joint
    training has it (`Traces`), as probabilistic facts [ours]. In the first round that tells the first step
    only, so the first circuit allows what either memory can explain. Later rounds find what depends on it.

    Each search starts from the tautology, so that a later round can mend a mistake of an earlier one [ours].
    Weights go on from those of the round before, mixed with a share `FRESH` of nearly uniform ones [ours].

    Between searches, weights and perceiver are trained with the loss of the published code. Its denominator
    sums over all answers, as objective (4) of the paper, and over all values of the memory out [ours].

    Attributes:
        found: what the last search has found; None before it and after a checkpoint was read.
    """

    FRESH = 0.1

    def __init__(self, values: tuple[int, ...], answers: int, memory: int, seed: int = 0) -> None:
        super().__init__(values, answers, memory, seed)
        self._start = self.theta
        self.found: Found | None = None

    def search(self, facts: Facts) -> Found:
        """Search a structure for the facts and take it over."""
        import torch

        self.found = Search(facts, self.values, self.answers).run()
        mixed = (1 - self.FRESH) * self.theta + self.FRESH * self._start
        self.theta = self._normalised(mixed * torch.as_tensor(self.found.allowed))
        return self.found
