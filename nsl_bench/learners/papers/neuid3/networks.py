"""The networks of several tests, trained and asked in one batched pass.

Each network is DeepProbLog's for MNIST: two convolutions with pooling and three linear layers. Networks that
look at the same image share its reading in memory, and nothing else: weights, loss and best epoch of each
test are its own, so the result is that of training test by test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nsl_bench.core.seeding import stable_hash
from nsl_bench.learners.papers.neuid3.tests import FEATURES, NeuralTest
from nsl_bench.learners.perceivers import convolved
from nsl_bench.perception.training import Precision

_ASKED = 512
"""Examples that are asked at once."""

_LEAST = 1e-6
"""Least probability whose logarithm is taken."""

Weights = dict[str, Any]
"""Tensors by name; the first dimension counts a network's, or a test's, own part."""


@dataclass(frozen=True)
class Examples:
    """Images of examples and what is known of them.

    Attributes:
        images: uint8 tensor [n, slots, channels, 28, 28].
        positive: float32 tensor [n], 1 for examples of the positive class.
    """

    images: Any
    positive: Any


@dataclass(frozen=True)
class Batch:
    """Examples at a node.

    Attributes:
        rows: int64 tensor [m], indices into `Examples`.
        weights: float32 tensor [m], P(path | example).
    """

    rows: Any
    weights: Any


@dataclass(frozen=True)
class Training:
    """How tests are trained."""

    epochs: int = 20
    learning_rate: float = 1e-3
    batch: int = 32
    precision: Precision = "float32"
    starts: int = 1


class Networks:
    """The networks of some tests.

    Args:
        tests: the tests, all on pairs of slots or all on single ones.
        key: decides the first weights, by the test's name.
        trained: networks of one test each, by its name, whose weights are the first ones in place of those.

    Attributes:
        losses: the least validation loss of each test, float tensor [tests]; infinite before `train`.
    """

    def __init__(
        self,
        tests: Sequence[NeuralTest],
        channels: int,
        *key: object,
        trained: Mapping[str, Networks] = MappingProxyType({}),
        precision: Precision = "float32",
    ) -> None:
        import torch

        # Tests on the same slots stand side by side, as many in each group.
        pairs = list(dict.fromkeys(test.slots for test in tests))
        members = [[t for t, test in enumerate(tests) if test.slots == pair] for pair in pairs]
        encoders = [[(t, k) for t in group for k in range(1 if tests[t].shared else 2)] for group in members]
        most = max(map(len, encoders))
        self.tests, self.channels, self.pairs = tuple(tests), channels, pairs
        self.precision: Precision = precision
        self.losses = torch.full((len(tests),), torch.inf)
        self.single = all(test.single for test in tests)
        self._places = {
            place: g * most + k for g, group in enumerate(encoders) for k, place in enumerate(group)
        }
        self._n = len(pairs) * most
        outputs = max(test.values for test in tests)
        self.weights: Weights = {
            name: torch.zeros(self._n, *shape) for name, shape in _shapes(channels, outputs).items()
        }
        for (t, k), place in self._places.items():
            own = _first_weights(channels, tests[t].values, stable_hash("neuid3", *key, tests[t].name, k))
            for name, weight in own.items():
                whole = self.weights[name][place]
                (whole[..., : tests[t].values] if name in _LAST else whole).copy_(weight)
        heads = [_first_head(stable_hash("neuid3", *key, test.name, "head")) for test in tests]
        self.weights |= {name: torch.stack([head[name] for head in heads]) for name in heads[0]}
        for t, test in enumerate(tests):
            if test.name in trained:
                self._copy(t, trained[test.name])
        self._constants(outputs)

    def _copy(self, test: int, one: Networks) -> None:
        """Take a test's weights from networks of that test alone."""
        for name, weight in one.weights.items():
            if name.startswith("head"):
                self.weights[name][test] = weight[0]
                continue
            for (_, k), place in one._places.items():
                mine = self.weights[name][self._places[test, k]]
                (mine[..., : weight.shape[-1]] if name in _LAST else mine).copy_(weight[place])

    def _constants(self, outputs: int) -> None:
        import torch

        tests = self.tests
        self._first = torch.tensor([self._places[t, 0] for t in range(len(tests))])
        self._second = torch.tensor(
            [self._places[t, 0 if test.shared else 1] for t, test in enumerate(tests)]
        )
        self._headed = torch.tensor([test.relation is None for test in tests])
        values = torch.arange(outputs)
        self._unused = torch.stack([values >= test.values for test in tests])[:, None, :]
        relations = torch.zeros(len(tests), outputs, outputs)
        for row, test in zip(relations, tests, strict=True):
            if test.relation is not None:
                row[: test.values, : test.values] = torch.as_tensor(test.relation)
        self._relations = relations

    def probabilities(self, images: Any, weights: Weights | None = None) -> Any:
        """float32 tensor [tests, m]: P(test | example) of images, uint8 [m, slots, channels, 28, 28]."""
        import torch

        w = self.weights if weights is None else weights
        left, right = (
            images[:, [pair[side] for pair in self.pairs]].flatten(1, 2).float() / 255 for side in (0, 1)
        )
        m = len(left)
        logits = self._encoded(left if self.single else torch.cat([left, right]), w)
        first = logits[self._first, :m]
        second = first if self.single else logits[self._second, m:]
        p0 = first.masked_fill(self._unused, -torch.inf).softmax(dim=2)
        p1 = second.masked_fill(self._unused, -torch.inf).softmax(dim=2)
        holds = ((p0 @ self._relations) * p1).sum(dim=2)
        if self._headed.any():
            features = [side[self._headed, :, :FEATURES] for side in (first, second)]
            both = torch.relu(torch.cat(features, dim=2))
            hidden = torch.relu(both @ w["head1"][self._headed] + w["head_bias1"][self._headed, None])
            given = (hidden @ w["head2"][self._headed] + w["head_bias2"][self._headed, None]).sigmoid()
            holds = holds.masked_scatter(self._headed[:, None], given[:, :, 0])
        return holds

    def _encoded(self, images: Any, w: Weights) -> Any:
        """float32 tensor [networks, m, outputs] of images [m, groups * channels, 28, 28]."""
        import torch
        from torch.nn.functional import conv2d, max_pool2d, relu

        m, n = len(images), self._n

        def layers(x: Any) -> Any:
            x = conv2d(x, w["conv1"].flatten(0, 1), w["conv_bias1"].flatten(), groups=len(self.pairs))
            x = relu(max_pool2d(x, 2))
            x = conv2d(x, w["conv2"].flatten(0, 1), w["conv_bias2"].flatten(), groups=n)
            return relu(max_pool2d(x, 2))

        x = convolved(layers, images, self.precision).reshape(m, n, -1).transpose(0, 1)
        for k in (1, 2):
            x = relu(torch.baddbmm(w[f"bias{k}"][:, None], x, w[f"linear{k}"]))
        return torch.baddbmm(w["bias3"][:, None], x, w["linear3"])

    def ask(self, images: Any, rows: Any) -> Any:
        """float32 tensor [tests, m]: P(test | example) of some examples, a chunk at a time."""
        import torch

        if not len(rows):
            return torch.zeros(len(self.tests), 0)
        with torch.inference_mode():
            parts = [self.probabilities(images[part]) for part in torch.split(rows, _ASKED)]
        return torch.cat(parts, dim=1).clamp(0, 1)  # sums over values are rounded

    def train(
        self, examples: tuple[Examples, Examples], at: tuple[Batch, Batch], how: Training, seed: int
    ) -> None:
        """Train every test by the weighted cross-entropy of its truth with the class (section 4).

        Each test keeps the weights with its least loss on the validation examples: the first ones or those
        after an epoch.

        Args:
            examples: train and validation examples.
            at: those at the node.
            seed: of the order of examples.
        """
        import torch

        (train, validation), (here, checked) = examples, at
        best_weights = {name: weight.clone() for name, weight in self.weights.items()}
        for weight in self.weights.values():
            weight.requires_grad_()
        optimiser = torch.optim.Adam(self.weights.values(), lr=how.learning_rate)
        importance = class_weights(here.weights, train.positive[here.rows])
        order = torch.Generator().manual_seed(seed)
        for epoch in range(how.epochs + 1):
            if epoch:
                shuffled = torch.randperm(len(here.rows), generator=order)
                self._learn(train, here.rows, importance, torch.split(shuffled, how.batch), optimiser)
            # Where the validation examples do not reach the node, its own examples judge.
            judge, judged = (validation, checked) if len(checked.rows) else (train, here)
            positive = judge.positive[judged.rows]
            answers = self.ask(judge.images, judged.rows)
            losses = cross_entropy(answers, positive, class_weights(judged.weights, positive))
            better = losses < self.losses
            self.losses = torch.where(better, losses, self.losses)
            self._keep(best_weights, better)
        self.weights = best_weights

    def _learn(
        self, train: Examples, rows: Any, importance: Any, parts: Sequence[Any], optimiser: Any
    ) -> None:
        """One pass over the examples at a node; `parts` are its minibatches, indices into `rows`."""
        for part in parts:
            positive = train.positive[rows[part]]
            holds = self.probabilities(train.images[rows[part]])
            losses = cross_entropy(holds, positive, importance[part]) / len(part)
            optimiser.zero_grad()
            losses.sum().backward()
            optimiser.step()

    def _keep(self, best_weights: Weights, better: Any) -> None:
        """Copy the weights of the tests that became better."""
        import torch

        networks = torch.zeros(self._n, dtype=torch.bool)
        for (test, _), place in self._places.items():
            networks[place] = better[test]
        for name, weight in self.weights.items():
            mask = better if name.startswith("head") else networks
            best_weights[name][mask] = weight.detach()[mask]

    def only(self, test: int) -> Networks:
        """The networks of one test."""
        import torch

        alone = Networks([self.tests[test]], self.channels, precision=self.precision)
        places = [self._places[place] for place in self._places if place[0] == test]
        outputs = self.tests[test].values
        with torch.no_grad():
            for name, weight in self.weights.items():
                own = weight[[test]] if name.startswith("head") else weight[places]
                alone.weights[name] = (own[..., :outputs] if name in _LAST else own).clone()
        return alone


def class_weights(weights: Any, positive: Any) -> Any:
    """float32 tensor [m]: ``P(path | e) / (2 P(class | path))``, by which both classes weigh the same."""
    total = weights.sum().clamp_min(_LEAST)
    share = ((weights * positive).sum() / total).clamp(_LEAST, 1 - _LEAST)
    return weights / (2 * (positive * share + (1 - positive) * (1 - share)))


def cross_entropy(holds: Any, positive: Any, importance: Any) -> Any:
    """float32 tensor [tests]: minus the weighted sum of ``log P(test | e)``; for negatives of its negation.

    Args:
        holds: [tests, m], P(test | example).
        positive: [m], 1 for examples of the positive class.
        importance: [m], `class_weights`.
    """
    right = positive * holds + (1 - positive) * (1 - holds)
    return -(importance * right.clamp_min(_LEAST).log()).sum(dim=1)


def _shapes(channels: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
    """Shape of each weight of one network."""
    return {
        "conv1": (6, channels, 5, 5),
        "conv_bias1": (6,),
        "conv2": (16, 6, 5, 5),
        "conv_bias2": (16,),
        "linear1": (256, 120),
        "bias1": (120,),
        "linear2": (120, 84),
        "bias2": (84,),
        "linear3": (84, outputs),
        "bias3": (outputs,),
    }


_LAST = ("linear3", "bias3")
"""Weights of the last layer, whose outputs are as many as the test's values."""

_FAN_IN = {"conv1": 25, "conv2": 150, "linear1": 256, "linear2": 120, "linear3": 84}
"""Inputs of a unit of each layer; those of the first are for each channel."""


def _first_weights(channels: int, outputs: int, seed: int) -> Weights:
    """PyTorch's usual first weights: uniform within one over the root of a unit's inputs."""
    fan = {name: n * (channels if name == "conv1" else 1) for name, n in _FAN_IN.items()}
    bounds = {}
    for name, n in fan.items():
        bounds[name] = bounds[name.replace("conv", "conv_bias").replace("linear", "bias")] = n**-0.5
    return _uniform(_shapes(channels, outputs), bounds, seed)


def _first_head(seed: int) -> Weights:
    inputs, hidden = 2 * FEATURES, _HIDDEN
    shapes = {"head1": (inputs, hidden), "head_bias1": (hidden,), "head2": (hidden, 1), "head_bias2": (1,)}
    bounds = {name: (hidden if name.endswith("2") else inputs) ** -0.5 for name in shapes}
    return _uniform(shapes, bounds, seed)


_HIDDEN = 16
"""Units of a head."""


def _uniform(shapes: Mapping[str, tuple[int, ...]], bounds: Mapping[str, float], seed: int) -> Weights:
    import torch

    rng = torch.Generator().manual_seed(seed % 2**63)
    return {name: (torch.rand(shape, generator=rng) * 2 - 1) * bounds[name] for name, shape in shapes.items()}
