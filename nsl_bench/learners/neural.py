"""Neural baselines on symbols: a fully connected network, and a convolution with an LSTM for sequences.

Default settings follow the FFNSL paper's section 5 and its published code (Adam, lr 0.0001, eps 1e-7, batches
of 8 in file order); `nsl_bench.learners.papers.nsl` has those of the NSL paper. Their rules are those of a
surrogate tree.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis, Track
from nsl_bench.learners.adam import Adam
from nsl_bench.learners.trees import surrogate
from nsl_bench.learners.view import View
from nsl_bench.perception.memory import kept_memory

__all__ = ["CNNLSTM", "FCN", "Stopper", "seeded"]

_BATCH = 8
_EPSILON = 1e-7


class _NeuralLearner(ABC):
    """Training and prediction that the neural baselines share.

    Args:
        epochs: passes over the train set.
        learning_rate: Adam's.
        seed: of weights and dropout.
        patience: epochs without a smaller loss on the validation set after which training stops, with the
            weights of the best epoch; 0: all epochs.
        batch: examples in a batch.

    Attributes:
        epochs_: passes that were made.
    """

    version = "1"
    track: Track = "pretrained"
    answers_alike = True
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "epochs": (5, 20, 50, 100), "dropout": (0.01, 0.1, 0.3)}
    )
    _together = 4096
    """How many examples are predicted at once."""

    def __init__(self, epochs: int, learning_rate: float, seed: int, patience: int, batch: int) -> None:
        if patience < 0:
            raise UserError(f"patience must be 0 or more; got {patience}.")
        if epochs < 1:
            raise UserError(f"epochs must be 1 or more; got {epochs}.")
        if batch < 1:
            raise UserError(f"batch must be 1 or more; got {batch}.")
        if learning_rate <= 0:
            raise UserError(f"learning_rate must be above 0; got {learning_rate}.")
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.seed = seed
        self.patience = patience
        self.batch = batch
        self.takes_validation = patience > 0

    @abstractmethod
    def _inputs(self, view: View) -> Any:
        """The network's inputs, a tensor [n, ...]."""

    @abstractmethod
    def _network(self, inputs: Any, concepts: int, labels: int) -> Any:
        """A new network; it maps inputs [m, ...] to logits [m, labels]."""

    def fit(self, train: View, validation: View | None = None) -> Any:
        """Train the network from scratch; with patience until the loss on `validation` is least."""
        import torch

        inputs = self._inputs(train)
        targets = torch.as_tensor(train.labels)
        with seeded(self.seed):
            net = self._network(inputs, len(train.concept_space), train.n_labels)
            optimiser = Adam(net.parameters(), self.learning_rate, _EPSILON)
            stopper = Stopper(self.patience, None if validation is None else self._inputs(validation))
            for epoch in range(self.epochs):
                self.epochs_ = epoch + 1
                net.train()
                for start in range(0, len(inputs), self.batch):
                    logits = net(inputs[start : start + self.batch])
                    loss = torch.nn.functional.cross_entropy(logits, targets[start : start + self.batch])
                    optimiser.step(loss)
                if validation is not None and stopper.stops(net, validation.labels):
                    break
            stopper.restore(net)
        self._net = net.eval()
        self._train = train
        return self

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: softmax of the network's outputs."""
        return self._said(test, self._together)

    def rules(self) -> Hypothesis:
        """The rules of a decision tree fitted to the predictions on the train set."""
        train = self._train
        predicted = self._said(train, self.batch).argmax(axis=1)
        return surrogate(train.features, predicted, train.feature_names(), train.label_names)

    def _said(self, view: View, batch: int) -> npt.NDArray[np.float64]:
        import torch

        with torch.inference_mode(), seeded(self.seed):
            parts = self._inputs(view).split(batch) if len(view) else ()
            chunks = [self._net(part).softmax(dim=1) for part in parts]
        return np.concatenate([np.empty((0, view.n_labels)), *(np.asarray(c, np.float64) for c in chunks)])


class Stopper:
    """Stops training where the loss on validation examples no longer falls, and keeps the best weights.

    Args:
        patience: epochs without a smaller loss; 0: never stops.
        inputs: of the validation examples, a tensor [n, ...].
    """

    def __init__(self, patience: int, inputs: Any) -> None:
        self._patience, self._inputs = patience, inputs
        self._best, self._since = float("inf"), 0
        self._weights: dict[str, Any] = {}

    def stops(self, net: Any, labels: npt.NDArray[np.int64]) -> bool:
        """Whether training is over, asked after each epoch."""
        import torch

        net.eval()
        with torch.inference_mode():
            loss = float(torch.nn.functional.cross_entropy(net(self._inputs), torch.as_tensor(labels)))
        self._since += 1
        if loss < self._best:
            self._best, self._since = loss, 0
            self._weights = {name: weight.clone() for name, weight in net.state_dict().items()}
        return 0 < self._patience <= self._since

    def restore(self, net: Any) -> None:
        """Take the best epoch's weights, if there was a validation set."""
        if self._weights:
            net.load_state_dict(self._weights)


class FCN(_NeuralLearner):
    """Three linear layers on the benchmark's features.

    Args:
        hidden: units of the second layer.
        dropout: dropout after the first two layers.
        epochs: passes over the train set.
        learning_rate: learning rate of Adam.
        seed: seed of weights and dropout.
        patience: epochs without a smaller validation loss after which training stops; 0 to disable.
        batch: examples in a batch.
        first: units of the first layer; 0 for as many as there are inputs.
    """

    def __init__(
        self,
        hidden: int = 74,
        dropout: float = 0.1,
        epochs: int = 50,
        learning_rate: float = 1e-4,
        seed: int = 0,
        patience: int = 0,
        batch: int = _BATCH,
        first: int = 0,
    ) -> None:
        super().__init__(epochs, learning_rate, seed, patience, batch)
        if first < 0:
            raise UserError(f"fcn: first must be 0 or more; got {first}.")
        self.hidden = hidden
        self.dropout = dropout
        self.first = first

    def _inputs(self, view: View) -> Any:
        import torch

        return torch.as_tensor(view.features)

    def _network(self, inputs: Any, concepts: int, labels: int) -> Any:
        from torch import nn

        n = inputs.shape[1]
        first = self.first or n
        return nn.Sequential(
            nn.Linear(n, first),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(first, self.hidden),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.hidden, labels),
        )


class CNNLSTM(_NeuralLearner):
    """A convolution and an LSTM over the sequence of an example's concepts.

    Embedding 96, convolution of 64 channels and width 3, ReLU, max-pool 2, dropout, LSTM 96, dropout, dense.
    With two labels the softmax of two outputs is the sigmoid of their difference.

    Args:
        embedding: size of a concept's vector.
        channels: channels of the convolution.
        hidden: units of the LSTM.
        dropout: dropout before and after the LSTM.
        epochs: passes over the train set.
        learning_rate: learning rate of Adam.
        published: whether to use the network of the paper's published code (`sequence.PublishedNetwork`),
            which differs from the one in its text.
        seed: seed of weights and dropout.
        patience: epochs without a smaller validation loss after which training stops; 0 to disable.
        batch: examples in a batch.
        padded: whether the convolution has an output for each slot (zeros beyond the ends), as in the NSL
            paper; without `published` only.
    """

    def __init__(
        self,
        embedding: int = 96,
        channels: int = 64,
        hidden: int = 96,
        dropout: float = 0.01,
        epochs: int = 5,
        learning_rate: float = 1e-4,
        published: bool = False,
        seed: int = 0,
        patience: int = 0,
        batch: int = _BATCH,
        padded: bool = False,
    ) -> None:
        super().__init__(epochs, learning_rate, seed, patience, batch)
        if published and padded:
            raise UserError("cnn_lstm: published=true and padded=true exclude each other; leave out one.")
        self.published = published
        self.padded = padded
        if published:
            self._together = 1
        self.embedding = embedding
        self.channels = channels
        self.hidden = hidden
        self.dropout = dropout

    @property
    def fixed_size(self) -> bool | tuple[str, ...]:
        """Any number of slots, unless the published network's layers have the size of an example."""
        return self.published or ("labels",)

    def _inputs(self, view: View) -> Any:
        import torch

        return torch.as_tensor(view.concept_ids.astype(np.int64) + 1)

    def _network(self, inputs: Any, concepts: int, labels: int) -> Any:
        from nsl_bench.learners.cnn_lstm_module import PublishedNetwork, SequenceNetwork

        length = inputs.shape[1]
        sizes = (self.embedding, self.channels, self.hidden, self.dropout)
        if self.published:
            return PublishedNetwork(length, concepts + 1, *sizes, labels)
        return SequenceNetwork(length, concepts + 1, *sizes, labels, self.padded)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch with its own seed, one thread (faster if small) and kept memory; restored afterwards."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kept_memory(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
