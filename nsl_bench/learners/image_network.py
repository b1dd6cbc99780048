"""What networks from an example's images to its label share: training on labels alone, and prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Track
from nsl_bench.learners.images import thumbnails
from nsl_bench.learners.neural import Stopper, seeded
from nsl_bench.learners.view import View

__all__ = ["ImageNetwork"]


class ImageNetwork(ABC):
    """Training of one network by cross-entropy, and prediction.

    Args:
        sizes: options that must be 1 or more.
        epochs: passes over the train set.
        learning_rate: of the optimiser.
        batch: examples in a minibatch.
        seed: seed of weights and of the order of examples.
        patience: epochs without a smaller validation loss after which training stops, with the weights of the
            best epoch; 0 to disable.

    Attributes:
        epochs_: passes that were made.
    """

    track: Track = "end_to_end"
    answers_alike = True
    _name: str
    _together: int
    """Examples that are answered at once."""

    def __init__(
        self,
        sizes: dict[str, int],
        *,
        epochs: int,
        learning_rate: float,
        batch: int,
        seed: int,
        patience: int,
    ) -> None:
        for name, value in (*sizes.items(), ("epochs", epochs), ("batch", batch)):
            if value < 1:
                raise UserError(f"{self._name}: {name} must be 1 or more; got {value}.")
        if learning_rate <= 0:
            raise UserError(f"{self._name}: learning_rate must be above 0; got {learning_rate:g}.")
        if patience < 0:
            raise UserError(f"{self._name}: patience must be 0 or more; got {patience}.")
        self.epochs, self.learning_rate, self.batch = epochs, learning_rate, batch
        self.seed, self.patience = seed, patience
        self.takes_validation = patience > 0

    @abstractmethod
    def _network(self, slots: int, channels: int, labels: int) -> Any:
        """A module from what `_read` gives to logits [m, labels]."""

    @abstractmethod
    def _optimised(self, net: Any, batches: int) -> tuple[Any, Callable[[], None]]:
        """The optimiser of a network, for so many minibatches a pass, and what follows each of its steps."""

    @staticmethod
    @abstractmethod
    def _read(images: Any) -> Any:
        """Float tensor, 0 to 1, of images, uint8 [m, slots, channels, 28, 28]."""

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Train the network from scratch; with patience until the loss on `validation` is least."""
        import torch

        images, targets = thumbnails(train), torch.as_tensor(train.labels)
        with seeded(self.seed):
            net = self._network(images.shape[1], images.shape[2], train.n_labels)
            optimiser, after = self._optimised(net, max(1, len(images) // self.batch))
            held_out = None if validation is None else self._read(thumbnails(validation))
            stopper = Stopper(self.patience, held_out)
            for epoch in range(self.epochs):
                self.epochs_ = epoch + 1
                net.train()
                for rows in torch.split(torch.randperm(len(images)), self.batch):
                    loss = torch.nn.functional.cross_entropy(net(self._read(images[rows])), targets[rows])
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    after()
                if validation is not None and stopper.stops(net, validation.labels):
                    break
            stopper.restore(net)
        self._net = net.eval()
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: softmax of the network's outputs."""
        import torch

        if not len(test):
            return np.zeros((0, test.n_labels))
        with torch.inference_mode(), seeded(self.seed):
            parts = torch.split(thumbnails(test), self._together)
            said = torch.cat([self._net(self._read(part)).softmax(dim=1) for part in parts])
        return np.asarray(said, np.float64)
