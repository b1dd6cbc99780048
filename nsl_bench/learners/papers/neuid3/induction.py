"""Growing a tree from the root down: train the tests of a node, keep the one of highest gain, and go on."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nsl_bench.core.seeding import stable_hash
from nsl_bench.learners.papers.neuid3.networks import Batch, Examples, Networks, Training
from nsl_bench.learners.papers.neuid3.questions import Data, Path, Question, Trained
from nsl_bench.learners.papers.neuid3.tests import NeuralTest
from nsl_bench.learners.papers.neuid3.tree import Node

_LEAST_CHECKED = 5.0
"""Sum of P(path | example) over the validation examples below which the train examples judge a test.

They also judge where nothing is trained.
"""

_LEAST_EXAMPLES = 1.0
"""Examples of each class that every leaf counts besides its own (Laplace's rule of succession)."""


@dataclass(frozen=True)
class Limits:
    """When a tree stops growing.

    Attributes:
        depth: most questions on a path.
        least_gain: least information gain of a question in bits, and least gain on held-out examples.
        least_probability: P(path | example) below which an example does not follow a path.
        deadline: time (`time.monotonic`) after which only leaves are made; None for no limit.
    """

    depth: int = 4
    least_gain: float = 1e-3
    least_probability: float = 0.05
    deadline: float | None = None


def entropy(share: Any) -> Any:
    """Binary entropy in bits of a tensor of probabilities."""
    import torch

    p = share.clamp(0, 1)
    return (torch.special.entr(p) + torch.special.entr(1 - p)) / torch.log(torch.tensor(2.0)).to(p.dtype)


def gains(holds: Any, weights: Any, positive: Any) -> Any:
    """float tensor [tests]: information gain in bits (section 4).

    ``H(delta) - S(test) / S * H(delta given test) - S(not test) / S * H(delta given not test)``, with S the
    sum of P(path | example).

    Args:
        holds: [tests, m], P(test | path, example).
        weights: [m], P(path | example).
        positive: [m], 1 for examples of the positive class.
    """
    total = weights.sum().clamp_min(1e-12)
    gain = entropy((weights * positive).sum() / total)
    for side in (holds, 1 - holds):
        reach = side @ weights
        gain = gain - reach / total * entropy((side @ (weights * positive)) / reach.clamp_min(1e-12))
    return gain


def held_out_gain(seen: tuple[Any, Any, Any], held_out: tuple[Any, Any, Any]) -> float:
    """By how much a question lowers the log-loss of examples that its leaves' shares were not counted on.

    Args:
        seen: of the train examples at a node, tensors [m]: P(test | path, example), P(path | example), and 1
            for examples of the positive class.
        held_out: the same of the validation examples.

    Returns:
        Bits an example; below 0 if the question makes them less likely.
    """
    import torch

    holds, weights, positive = seen
    shares = []
    for side in (holds, 1 - holds, torch.ones_like(holds)):
        reach = side * weights
        shares.append(((reach * positive).sum() + _LEAST_EXAMPLES) / (reach.sum() + 2 * _LEAST_EXAMPLES))
    holds, weights, positive = held_out
    predicted = holds * shares[0] + (1 - holds) * shares[1]
    right = positive * predicted + (1 - positive) * (1 - predicted)
    before = positive * shares[2] + (1 - positive) * (1 - shares[2])
    return float((weights * (right / before).log2()).sum() / weights.sum().clamp_min(1e-12))


class Grower:
    """Grows the tree of one class.

    Args:
        positive: which of them are of the class, float32 tensors.
        key: decides first weights and the order of examples.
    """

    def __init__(
        self,
        data: tuple[Data, Data],
        positive: tuple[Any, Any],
        limits: Limits,
        training: Training,
        key: tuple[object, ...],
    ) -> None:
        self.data, self.positive = data, positive
        self.limits, self.training, self.key = limits, training, key
        self.late = False

    def grow(self, tests: Sequence[NeuralTest], ready: Sequence[Question]) -> Node:
        """The tree.

        Args:
            tests: neural tests, trained at every node, from the state in which its parent left them.
            ready: questions that need no training, and tests of other trees, which stay as they are.
        """
        import torch

        everywhere = tuple(Batch(torch.arange(d.n), torch.ones(d.n)) for d in self.data)
        return self._grow((everywhere[0], everywhere[1]), (), list(tests), list(ready))

    def _grow(
        self,
        at: tuple[Batch, Batch],
        path: Path,
        tests: list[NeuralTest],
        ready: list[Question],
        above: float = 0.5,
        state: Mapping[str, Networks] = MappingProxyType({}),
    ) -> Node:
        import torch

        here, checked = at
        reach = float(here.weights.sum())
        share = float((here.weights * self.positive[0][here.rows]).sum()) / reach if reach else above
        node = Node(share, reach)
        uncertain = float(entropy(torch.tensor(share, dtype=torch.float64))) >= self.limits.least_gain
        ends = len(path) >= self.limits.depth or not len(here.rows) or not uncertain
        if ends or not (tests or ready) or self._is_late():
            return node
        trained = self._trained(at, path, tests, state)
        questions: list[Question] = [*trained, *ready]
        holds = [
            torch.stack([q.given(data, part.rows, path) for q in questions])
            for data, part in zip(self.data, at, strict=True)
        ]
        judge = 1 if tests and float(checked.weights.sum()) >= _LEAST_CHECKED else 0
        gain = gains(holds[judge], at[judge].weights, self.positive[judge][at[judge].rows])
        best = int(gain.argmax())
        if float(gain[best]) < self.limits.least_gain:
            return node
        if judge:  # on noise, too, some question has a gain; what it learned must hold on other examples
            counted, others = (
                (holding[best], part.weights, positive[part.rows])
                for holding, part, positive in zip(holds, at, self.positive, strict=True)
            )
            if held_out_gain(counted, others) < self.limits.least_gain:
                return node
        node.question, node.gain = questions[best], float(gain[best])
        state = {question.name: question.networks for question in trained}
        left_tests = [test for k, test in enumerate(tests) if k != best]
        left_ready = [q for k, q in enumerate(ready) if k + len(tests) != best]
        node.yes, node.no = (
            self._grow(
                self._followed(at, [h[best] if side else 1 - h[best] for h in holds]),
                (*path, (node.question, side)),
                left_tests,
                left_ready,
                share,
                state,
            )
            for side in (True, False)
        )
        return node

    def _is_late(self) -> bool:
        deadline = self.limits.deadline
        self.late = self.late or (deadline is not None and time.monotonic() > deadline)
        return self.late

    def _trained(
        self, at: tuple[Batch, Batch], path: Path, tests: list[NeuralTest], state: Mapping[str, Networks]
    ) -> list[Trained]:
        """The neural tests, trained at a node; they start as they were at its parent (algorithm 1).

        Other starts have first weights of their own; each test is that of the least validation loss.
        """
        import torch

        if not tests:
            return []
        data = self.data
        examples = Examples(data[0].images, self.positive[0]), Examples(data[1].images, self.positive[1])
        place = [f"{question.name}={holds}" for question, holds in path]
        seed = stable_hash("order", *self.key, *place) % 2**63
        tried, how = [], self.training
        for start in range(how.starts):
            key = *self.key, *place, *([f"start {start}"] if start else [])
            first = {} if start else state
            networks = Networks(tests, data[0].images.shape[2], *key, trained=first, precision=how.precision)
            networks.train(examples, at, how, seed)
            tried.append(networks)
        best = torch.stack([one.losses for one in tried]).argmin(dim=0).tolist()
        return [Trained(tried[start].only(k)) for k, start in enumerate(best)]

    def _followed(self, at: tuple[Batch, Batch], holds: list[Any]) -> tuple[Batch, Batch]:
        """The examples that go on, with P(path and test | example)."""
        parts = []
        for batch, probability in zip(at, holds, strict=True):
            weights = batch.weights * probability
            likely = weights >= self.limits.least_probability
            parts.append(Batch(batch.rows[likely], weights[likely]))
        return parts[0], parts[1]
