"""Neural baselines on sequences: ``lstm``, ``dnc``, and ``cnn_transformer`` from images.

The NTOC paper (AAAI 2023) compares an LSTM and a differentiable neural computer and publishes no settings.
Those here were chosen by us; `search_space` has those that `tuned` tries on the validation set.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.sequences import grid
from nsl_bench.core.types import Track
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.perceivers import Pictures, SlotPerceiver, perceiver_for, pretrain, read, true_symbols
from nsl_bench.learners.view import View
from nsl_bench.perception.training import Precision

__all__ = ["DNCLearner", "LSTMLearner", "TransformerLearner"]

_TOGETHER = 256
"""Sequences that are answered at once."""


class _SequenceLearner(ABC):
    """Training on whole sequences by cross-entropy, and prediction.

    Args:
        hidden: units of a step's state.
        epochs: passes over the sequences.
        learning_rate: Adam's.
        batch: sequences in a minibatch.
        patience: passes without a smaller loss on the validation set after which training stops, with the
            weights of the best pass; 0: all passes.
        seed: seed of weights and of the order of sequences.
        precision: what convolutions compute in.

    Attributes:
        epochs_: passes that were made.
    """

    version = "4"
    answers_alike = True
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (3e-4, 1e-3, 3e-3), "hidden": (32, 64, 128)}
    )
    _name: str
    _warm = 0
    """Passes in which what comes before the steps' network stays as it is."""

    def __init__(
        self,
        hidden: int,
        epochs: int,
        learning_rate: float,
        batch: int,
        patience: int,
        seed: int,
        precision: Precision,
    ) -> None:
        for name, count in (("hidden", hidden), ("epochs", epochs), ("batch", batch)):
            if count < 1:
                raise UserError(f"{self._name}: {name} must be 1 or more; got {count}.")
        if learning_rate <= 0:
            raise UserError(f"{self._name}: learning_rate must be above 0; got {learning_rate:g}.")
        if patience < 0:
            raise UserError(f"{self._name}: patience must be 0 or more; got {patience}.")
        self.hidden, self.epochs, self.learning_rate = hidden, epochs, learning_rate
        self.batch, self.patience, self.seed = batch, patience, seed
        self.precision: Precision = precision
        self.takes_validation = patience > 0

    @abstractmethod
    def _start(self, train: View) -> Any:
        """Make the network; a module."""

    def _rates(self, net: Any) -> list[dict[str, Any]]:
        """The network's parameters in groups, some with a learning rate of their own."""
        return [{"params": list(net.parameters())}]

    @abstractmethod
    def _read(self, view: View) -> Any:
        """What the network sees of a view."""

    def _before_training(self, seen: Any) -> Any:
        """What the steps' network sees while what comes before it stays as it is."""
        return seen

    @abstractmethod
    def _said(self, seen: Any, rows: Any) -> Any:
        """Logits [sequences, steps, labels] for rows [sequences, steps] of what `_read` gave."""

    def fit(self, train: View, validation: View | None = None) -> Any:
        """Train the network from scratch; with patience until the loss on `validation` is least."""
        import torch

        places = torch.as_tensor(grid(train.steps))
        labels = torch.as_tensor(train.labels)
        with seeded(self.seed):
            self._labels = train.n_labels
            net = self._start(train)
            seen = self._read(train)
            first = self._before_training(seen) if self._warm else seen
            held_out = None if validation is None else (self._read(validation), validation)
            optimiser = torch.optim.Adam(self._rates(net), lr=self.learning_rate)
            best, since, weights = math.inf, 0, None
            for epoch in range(self.epochs):
                self.epochs_ = epoch + 1
                net.train()
                for some in torch.split(torch.randperm(len(places)), self.batch):
                    rows = places[some]
                    loss = self._loss(first if epoch < self._warm else seen, rows, labels)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                if held_out is None or not self.patience:
                    continue
                loss_now = self._held_out(net, *held_out)
                since += 1
                if loss_now < best:
                    best, since = loss_now, 0
                    weights = {name: value.clone() for name, value in net.state_dict().items()}
                if since >= self.patience:
                    break
            if weights is not None:
                net.load_state_dict(weights)
        self._net = net.eval()
        return self

    def _loss(self, seen: Any, rows: Any, labels: Any) -> Any:
        import torch

        said = self._said(seen, rows)
        return torch.nn.functional.cross_entropy(said.flatten(0, 1), labels[rows].flatten())

    def _held_out(self, net: Any, seen: Any, view: View) -> float:
        """Loss on a validation set."""
        import torch

        net.eval()
        places, labels = torch.as_tensor(grid(view.steps)), torch.as_tensor(view.labels)
        with torch.inference_mode():
            parts = [
                float(self._loss(seen, rows, labels)) * len(rows) for rows in torch.split(places, _TOGETHER)
            ]
        return sum(parts) / len(places)

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
        """float64 [n, n_labels]: softmax of the network's outputs."""
        import torch

        result = np.zeros((len(test), test.n_labels))
        if not len(test):
            return result
        with torch.inference_mode(), seeded(self.seed):
            seen = self._read(test)
            for rows in torch.split(torch.as_tensor(grid(test.steps)), _TOGETHER):
                said = self._said(seen, rows).softmax(dim=2).flatten(0, 1)
                result[rows.reshape(-1)] = np.asarray(said, np.float64)
        return result


class _OnSymbols(_SequenceLearner):
    """A recurrent network on what a perceiver sees."""

    version = "5"

    def __init__(
        self,
        hidden: int = 64,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        batch: int = 64,
        patience: int = 0,
        perceiver: Literal["given", "own"] = "given",
        pretraining: int = 0,
        warm: int = 5,
        perceiver_rate: float = 0.0,
        seed: int = 0,
        precision: Precision = "float32",
    ) -> None:
        """Set up the learner.

        Raises:
            UserError: an option out of range.
        """
        super().__init__(hidden, epochs, learning_rate, batch, patience, seed, precision)
        if perceiver_rate < 0:
            raise UserError(f"{self._name}: perceiver_rate must be 0 or more; got {perceiver_rate:g}.")
        for name, count in (("pretraining", pretraining), ("warm", warm)):
            if count < 0:
                raise UserError(f"{self._name}: {name} must be 0 or more; got {count}.")
        self.perceiver, self.pretraining, self.warm = perceiver, pretraining, warm
        self.perceiver_rate = perceiver_rate
        self._warm = warm if perceiver == "own" else 0
        self.track: Track = "pretrained" if perceiver == "given" else "few_labels"
        self.fixed_size: bool | tuple[str, ...] = perceiver == "given" or ("labels",)

    @abstractmethod
    def _recurrent(self, inputs: int, labels: int) -> Any:
        """A module from [n, steps, inputs] to logits [n, steps, labels]."""

    def _start(self, train: View) -> Any:
        from torch import nn

        self._eyes: Any = None
        before = train.n_labels if "previous" in train.metadata else 0
        if self.perceiver == "given":
            inputs = len(train.slots) * len(train.concept_space)
            self._steps = self._recurrent(inputs + before, train.n_labels)
            return self._steps
        few = train.few_labels
        self._eyes = perceiver_for(few, self.precision)
        single = isinstance(self._eyes, SlotPerceiver)
        pretrain(self._eyes, few, self.pretraining)
        inputs = sum(few.values) * (len(train.slots) if single else 1)
        self._steps = self._recurrent(inputs + before, train.n_labels)
        return nn.ModuleList([self._steps, self._eyes.net])

    def _rates(self, net: Any) -> list[dict[str, Any]]:
        """The steps' network, and the own perceiver at its own rate."""
        if self._eyes is None:
            return super()._rates(net)
        usual = self.learning_rate if isinstance(self._eyes, SlotPerceiver) else self._eyes.pretraining.rate
        return [
            {"params": list(self._steps.parameters())},
            {"params": list(self._eyes.net.parameters()), "lr": self.perceiver_rate or usual},
        ]

    def _read(self, view: View) -> Any:
        import torch

        before = torch.zeros((len(view), 0))
        if "previous" in view.metadata:
            told = torch.as_tensor(np.asarray(view.metadata["previous"], np.int64))
            before = torch.nn.functional.one_hot(told + 1, self._labels + 1)[:, 1:].float()
        if self._eyes is not None and view.has_images:
            return read(view), before
        if self._eyes is None or isinstance(self._eyes, SlotPerceiver):
            return torch.as_tensor(view.probabilities).flatten(1), before
        return torch.cat(true_symbols(view), dim=1), before

    def _perceived(self, pictures: Pictures, rows: Any) -> Any:
        """Tensor [rows, symbols' values]: what the own perceiver sees."""
        import torch

        return torch.cat([one.softmax(dim=1) for one in self._eyes.logits(pictures.take(rows))], dim=1)

    def _before_training(self, seen: Any) -> Any:
        import torch

        shown, before = seen
        if not isinstance(shown, Pictures):
            return seen
        with torch.no_grad():
            parts = [
                self._perceived(shown, rows) for rows in torch.split(torch.arange(len(shown)), _TOGETHER)
            ]
        return torch.cat(parts), before

    def _said(self, seen: Any, rows: Any) -> Any:
        import torch

        shown, before = seen
        flat = rows.reshape(-1)
        inputs = self._perceived(shown, flat) if isinstance(shown, Pictures) else shown[flat]
        return self._steps(torch.cat([inputs, before[flat]], dim=1).reshape(*rows.shape, -1))


class LSTMLearner(_OnSymbols):
    """An LSTM over the steps of a sequence, on what a perceiver sees in each.

    Args:
        hidden: units of the LSTM.
        epochs: passes over the sequences.
        learning_rate: learning rate of Adam.
        batch: sequences in a minibatch.
        patience: passes without a smaller validation loss after which training stops; 0 to disable.
        perceiver: ``given``: a pre-trained network's probabilities; ``own``: a perceiver that starts from the
            few labelled images and is trained with the LSTM.
        pretraining: passes over the few labelled images; 0 for 30, or 200 where symbols are properties of
            rows.
        warm: passes in which the own perceiver stays as it was pre-trained. Trained from the start with a
            network that knows nothing yet, it forgets what it was taught.
        perceiver_rate: learning rate of the own perceiver; 0 for `learning_rate`, or 0.0001, that of its
            pre-training, where symbols are properties of rows.
        seed: seed of weights and of the order of sequences.
        precision: what the own perceiver's convolutions compute in; ``bfloat16`` is faster on some
            processors.
    """

    _name = "lstm"

    def _recurrent(self, inputs: int, labels: int) -> Any:
        from nsl_bench.learners.recurrent_modules import LSTM

        return LSTM(inputs, labels, self.hidden)


class DNCLearner(_OnSymbols):
    """A differentiable neural computer over the steps of a sequence, on what a perceiver sees in each.

    Args:
        hidden: units of the controller, an LSTM.
        places: places of its memory.
        width: numbers of a place.
        heads: read heads.
        epochs: passes over the sequences.
        learning_rate: learning rate of Adam.
        batch: sequences in a minibatch.
        patience: passes without a smaller validation loss after which training stops; 0 to disable.
        perceiver: ``given``: a pre-trained network's probabilities; ``own``: a perceiver that starts from the
            few labelled images and is trained with the computer.
        pretraining: passes over the few labelled images; 0 for 30, or 200 where symbols are properties of
            rows.
        warm: passes in which the own perceiver stays as it was pre-trained. Trained from the start with a
            network that knows nothing yet, it forgets what it was taught.
        perceiver_rate: learning rate of the own perceiver; 0 for `learning_rate`, or 0.0001, that of its
            pre-training, where symbols are properties of rows.
        seed: seed of weights and of the order of sequences.
        precision: what the own perceiver's convolutions compute in; ``bfloat16`` is faster on some
            processors.
    """

    _name = "dnc"

    def __init__(
        self,
        hidden: int = 64,
        places: int = 16,
        width: int = 16,
        heads: int = 2,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        batch: int = 64,
        patience: int = 0,
        perceiver: Literal["given", "own"] = "given",
        pretraining: int = 0,
        warm: int = 5,
        perceiver_rate: float = 0.0,
        seed: int = 0,
        precision: Precision = "float32",
    ) -> None:
        """Set up the learner.

        Raises:
            UserError: an option out of range.
        """
        told = (perceiver, pretraining, warm, perceiver_rate)
        super().__init__(hidden, epochs, learning_rate, batch, patience, *told, seed, precision)
        for name, count in (("places", places), ("width", width), ("heads", heads)):
            if count < 1:
                raise UserError(f"dnc: {name} must be 1 or more; got {count}.")
        self.places, self.width, self.heads = places, width, heads

    def _recurrent(self, inputs: int, labels: int) -> Any:
        from nsl_bench.learners.dnc_module import DNC

        return DNC(inputs, labels, self.hidden, self.places, self.width, self.heads)


class TransformerLearner(_SequenceLearner):
    """A convolutional network for each image and a transformer over the steps, from images to labels.

    A step sees itself and the steps before it. The vectors of a step's images, each with a code of its slot,
    are summed.

    Args:
        hidden: numbers of a step's vector, a multiple of 4.
        layers: layers of the transformer, with 4 heads each.
        epochs: passes over the sequences.
        learning_rate: learning rate of Adam.
        batch: sequences in a minibatch.
        patience: passes without a smaller validation loss after which training stops; 0 to disable.
        seed: seed of weights and of the order of sequences.
        precision: what convolutions compute in; ``bfloat16`` is faster on processors that have it.
    """

    _name = "cnn_transformer"
    track: Track = "end_to_end"
    fixed_size = ("labels",)

    def __init__(
        self,
        hidden: int = 64,
        layers: int = 2,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        batch: int = 64,
        patience: int = 0,
        seed: int = 0,
        precision: Precision = "float32",
    ) -> None:
        """Set up the learner.

        Raises:
            UserError: an option out of range.
        """
        super().__init__(hidden, epochs, learning_rate, batch, patience, seed, precision)
        if hidden % 4:
            raise UserError(f"cnn_transformer: hidden must be a multiple of 4; got {hidden}.")
        if layers < 1:
            raise UserError(f"cnn_transformer: layers must be 1 or more; got {layers}.")
        self.layers = layers

    def _start(self, train: View) -> Any:
        from nsl_bench.learners.recurrent_modules import CNNTransformer

        channels = next((one.shape[2] for one in train.images[0] if one is not None), 1)
        before = train.n_labels if "previous" in train.metadata else 0
        self._whole = CNNTransformer(
            channels, before, train.n_labels, self.hidden, self.layers, self.precision
        )
        return self._whole

    def _read(self, view: View) -> Any:
        import torch

        before = torch.zeros((len(view), 0))
        if "previous" in view.metadata:
            told = torch.as_tensor(np.asarray(view.metadata["previous"], np.int64))
            before = torch.nn.functional.one_hot(told + 1, self._labels + 1)[:, 1:].float()
        return read(view), before

    def _said(self, seen: Any, rows: Any) -> Any:
        pictures, before = seen
        return self._whole(pictures.which[rows], pictures.images, before[rows])
