"""Perception trained through the known rule: the loss is the label's exact probability under the rule.

Xu, Zhang, Friedman, Liang, Van den Broeck: "A Semantic Loss Function for Deep Learning with Symbolic
Knowledge" (ICML 2018). The weighted models are counted in the rule's truth table, so it must be small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK
from nsl_bench.learners.images import thumbnails
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.perceivers import two_convolutions
from nsl_bench.learners.truth_tables import truth_tables
from nsl_bench.learners.view import View

_TOGETHER = 256
_ENOUGH = 0.01


class SemanticLoss(HasOptions):
    """One network for all images, trained by the probability of the labels under the known rule.

    Steps of a sequence are taken together. Only rules with a small truth table can be taken: at most 20,000
    combinations of concepts for an example.
    """

    name = "semantic_loss"
    version = "3"
    track: Track = "known_rules"
    fixed_size = False
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (3e-4, 1e-3, 3e-3), "batch": (8, 32)}
    )

    epochs: int = option(
        200,
        "passes over the train set, at most. Training ends when the mean loss of a pass is below 0.01",
        least=1,
    )
    learning_rate: float = option(1e-3, "learning rate of Adam", above=0)
    batch: int = option(16, "examples in a minibatch", least=1)
    seed: int = option(0, "seed of weights and of the order of examples")

    def fit(self, train: View) -> SemanticLoss:
        """Train the network on the labels."""
        import torch

        images = thumbnails(train)
        tables = truth_tables(train, _blank(images))
        rows = tables.rows
        labels = train.labels
        with seeded(self.seed):
            self._net = _network(images.shape[2], len(train.concept_space))
            optimiser = torch.optim.Adam(self._net.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                total = 0.0
                for chosen in torch.split(torch.randperm(len(rows)), self.batch):
                    loss = torch.zeros(())
                    for table, mine in tables.apart(chosen.numpy()):
                        asked = labels[rows[mine]]
                        worlds = _worlds(self._seen(images, rows[mine]), table.choices)
                        agrees = (table.labels[None] == asked[:, None]).all(axis=2)
                        loss = (
                            loss - (worlds * torch.as_tensor(agrees)).sum(dim=1).clamp_min(1e-12).log().sum()
                        )
                    optimiser.zero_grad()
                    (loss / len(chosen)).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    total += float(loss.detach())
                if total < _ENOUGH * len(rows):
                    break
        self._net.eval()
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: label probabilities under the rule, given that some label follows."""
        import torch

        result = np.zeros((len(test), test.n_labels))
        if not len(test):
            return result
        images = thumbnails(test)
        tables = truth_tables(test, _blank(images))
        rows = tables.rows
        with torch.inference_mode(), seeded(self.seed):
            for start in range(0, len(rows), _TOGETHER):
                for table, mine in tables.apart(np.arange(start, min(start + _TOGETHER, len(rows)))):
                    worlds = np.asarray(_worlds(self._seen(images, rows[mine]), table.choices))
                    for step, own in enumerate(table.labels.T):
                        for label in np.unique(own[own >= 0]):
                            result[rows[mine, step], label] = worlds[:, own == label].sum(axis=1)
        total = result.sum(axis=1, keepdims=True)
        return result / np.where(total > 0, total, 1)

    def predict_concepts(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, slots, concepts]: what the network sees in each image."""
        import torch

        images = thumbnails(test)
        with torch.inference_mode(), seeded(self.seed):
            parts = [self._net(_floats(part.flatten(0, 1))).softmax(1) for part in images.split(_TOGETHER)]
        return np.asarray(torch.cat(parts), np.float64).reshape(len(test), len(test.slots), -1)

    def _seen(self, images: Any, rows: npt.NDArray[np.int64]) -> Any:
        """Tensor [examples, steps * slots, concepts]: probabilities of concepts."""
        shown = images[rows.ravel()].flatten(0, 1)
        return self._net(_floats(shown)).softmax(dim=1).reshape(len(rows), -1, self._net[-1].out_features)


def _worlds(seen: Any, choices: Sequence[npt.NDArray[np.int64]]) -> Any:
    """Tensor [examples, worlds]: the probability of each combination of concepts."""
    import torch

    result = torch.ones((len(seen), 1))
    for image, choice in enumerate(choices):
        if choice[0] != BLANK:
            own = seen[:, image, torch.as_tensor(choice)]
            result = (result[:, :, None] * own[:, None, :]).flatten(1)
    return result


def _blank(images: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(images.flatten(2).amax(dim=2) == 0)


def _floats(images: Any) -> Any:
    return images.float() / 255


def _network(channels: int, concepts: int) -> Any:
    """A network for images of 28 by 28, as in the experiments on MNIST addition."""
    from torch import nn

    return nn.Sequential(
        *two_convolutions(channels, 6, 16),
        nn.Flatten(),
        nn.Linear(256, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, concepts),
    )
