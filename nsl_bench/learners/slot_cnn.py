"""A network from images to labels: an encoder for each slot, and a decoder over all of them.

It is the neural baseline of "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762), section 6.2: each
encoder is a network for MNIST with three linear layers, and the decoder gives the labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.learners.neuid3.questions import images_of
from nsl_bench.learners.neural import Stopper, seeded
from nsl_bench.learners.view import View
from nsl_bench.types import Track

__all__ = ["SlotCNN"]

_TOGETHER = 512


class SlotCNN:
    """Encoders of each slot's image and a decoder, trained together on labels alone.

    Args:
        outputs: outputs of each encoder.
        hidden: units of the decoder's hidden layer.
        epochs: passes over the train set.
        learning_rate: learning rate of Adam.
        batch: examples in a minibatch.
        seed: seed of weights and of the order of examples.
        patience: epochs without a smaller validation loss after which training stops, with the weights of the
            best epoch; 0 to disable.
    """

    version = "1"
    answers_alike = True
    track: Track = "end_to_end"
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "hidden": (32, 64, 256), "outputs": (2, 8, 32)}
    )

    def __init__(
        self,
        outputs: int = 32,
        hidden: int = 64,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        batch: int = 32,
        seed: int = 0,
        patience: int = 0,
    ) -> None:
        """Set up the learner.

        Raises:
            UserError: an option out of range.
        """
        for name, value in (("outputs", outputs), ("hidden", hidden), ("epochs", epochs), ("batch", batch)):
            if value < 1:
                raise UserError(f"slot_cnn: {name} must be 1 or more; got {value}.")
        if learning_rate <= 0:
            raise UserError(f"slot_cnn: learning_rate must be above 0; got {learning_rate:g}.")
        if patience < 0:
            raise UserError(f"slot_cnn: patience must be 0 or more; got {patience}.")
        self.outputs, self.hidden, self.epochs = outputs, hidden, epochs
        self.learning_rate, self.batch, self.seed, self.patience = learning_rate, batch, seed, patience
        self.takes_validation = patience > 0

    def fit(self, train: View, validation: View | None = None) -> SlotCNN:
        """Train the network from scratch; with patience until the loss on `validation` is least."""
        import torch

        images, targets = images_of(train), torch.as_tensor(train.labels)
        with seeded(self.seed):
            net = _network(images.shape[1], images.shape[2], self.outputs, self.hidden, train.n_labels)
            optimiser = torch.optim.Adam(net.parameters(), lr=self.learning_rate)
            stopper = Stopper(self.patience, None if validation is None else _flat(images_of(validation)))
            for epoch in range(self.epochs):
                self.epochs_ = epoch + 1
                net.train()
                order = torch.randperm(len(images))
                for rows in torch.split(order, self.batch):
                    loss = torch.nn.functional.cross_entropy(net(_flat(images[rows])), targets[rows])
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
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
            parts = torch.split(images_of(test), _TOGETHER)
            said = torch.cat([self._net(_flat(part)).softmax(dim=1) for part in parts])
        return np.asarray(said, np.float64)


def _flat(images: Any) -> Any:
    """float32 tensor [m, slots * channels, 28, 28], 0 to 1."""
    import torch

    return (images.flatten(1, 2).float() / 255).contiguous(memory_format=torch.channels_last)


def _network(slots: int, channels: int, outputs: int, hidden: int, labels: int) -> Any:
    """A network from `_flat` images to logits [m, labels]; layers in groups, one a slot."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(slots * channels, slots * 6, 5, groups=slots),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(slots * 6, slots * 16, 5, groups=slots),
        nn.MaxPool2d(2),
        nn.ReLU(),
        # A linear layer for each slot is a convolution over the whole of its image.
        nn.Conv2d(slots * 16, slots * 120, 4, groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 120, slots * 84, 1, groups=slots),
        nn.ReLU(),
        nn.Conv2d(slots * 84, slots * outputs, 1, groups=slots),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(slots * outputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, labels),
    )
