"""Neural baselines on sequences: ``lstm``, ``dnc``, and ``cnn_transformer`` from images.

The NTOC paper (AAAI 2023) compares an LSTM and a differentiable neural computer and publishes no settings.
Those here were chosen by us; `search_space` has those that `tuned` tries on the validation set.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from nsl_bench.core.options import option
from nsl_bench.core.sequences import grid
from nsl_bench.core.tracks import Track
from nsl_bench.learners.neural import GradientLearner
from nsl_bench.learners.perceivers import Pictures, SlotPerceiver, perceiver_for, pretrain, read, true_symbols
from nsl_bench.learners.view import View
from nsl_bench.perception.training import PRECISION, Precision


class _SequenceLearner(GradientLearner):
    """A network on whole sequences."""

    version = "4"
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (3e-4, 1e-3, 3e-3), "hidden": (32, 64, 128)}
    )
    _together = 256

    hidden: int = option(64, "units of a step's state", least=1)
    epochs: int = option(50, "passes over the sequences", least=1)
    batch: int = option(64, "sequences in a minibatch", least=1)
    patience: int = option(
        0,
        "passes without a smaller validation loss after which training stops, with the weights of the best "
        "pass; 0 to disable",
        least=0,
        after="batch",
    )
    precision: Precision = option("float32", PRECISION, after="seed")

    @abstractmethod
    def _network(self, train: View) -> Any:
        """Make the network; a module."""

    def _start(self, train: View) -> tuple[Any, Any]:
        self._labels, self._length = train.n_labels, grid(train.steps).shape[1]
        return self._network(train), self._read(train)

    def _rows(self, view: View) -> Any:
        """int64 tensor [sequences, steps]."""
        import torch

        return torch.as_tensor(grid(view.steps))

    def _validation_loss(self, net: Any, seen: Any, rows: Any, labels: Any) -> float:
        parts = [
            float(self._loss(net, seen, some, labels)) * len(some) for some in rows.split(self._together)
        ]
        return sum(parts) / len(rows)

    def _previous(self, view: View) -> Any:
        """Float tensor [n, labels]: the label before a sequence, where it is told; [n, 0] elsewhere."""
        import torch

        if "previous" not in view.metadata:
            return torch.zeros((len(view), 0))
        labels = torch.as_tensor(np.asarray(view.metadata["previous"], np.int64))
        return torch.nn.functional.one_hot(labels + 1, self._labels + 1)[:, 1:].float()


class _OnSymbols(_SequenceLearner):
    """A recurrent network on what a perceiver sees."""

    version = "5"

    perceiver: Literal["given", "own"] = option(
        "given",
        "``given``: a pre-trained network's probabilities; ``own``: a perceiver that starts from the few "
        "labelled images and is trained with the recurrent network",
        after="patience",
    )
    pretraining: int = option(
        0,
        "passes over the few labelled images; 0 for 30, or 200 where symbols are properties of rows",
        least=0,
    )
    warm: int = option(
        5,
        "passes in which the own perceiver stays as it was pre-trained. Trained from the start with a "
        "network that knows nothing yet, it forgets what it was taught",
        least=0,
    )
    perceiver_rate: float = option(
        0.0,
        "learning rate of the own perceiver; 0 for `learning_rate`, or 0.0001, that of its pre-training, "
        "where symbols are properties of rows",
        least=0,
    )

    def __post_init__(self) -> None:
        self.track: Track = "pretrained" if self.perceiver == "given" else "few_labels"
        self.fixed_size: bool | tuple[str, ...] = self.perceiver == "given" or ("labels",)

    @abstractmethod
    def _recurrent(self, inputs: int, labels: int) -> Any:
        """A module from [n, steps, inputs] to logits [n, steps, labels]."""

    def _network(self, train: View) -> Any:
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

    def _start(self, train: View) -> tuple[Any, Any]:
        net, seen = super()._start(train)
        self._early = self._perceived_once(seen) if self.warm and self._eyes is not None else seen
        return net, seen

    def _seen_in(self, epoch: int, seen: Any) -> Any:
        """What the perceiver saw before training while it stays as it is."""
        return self._early if epoch < self.warm else seen

    def _groups(self, net: Any) -> list[dict[str, Any]]:
        """The steps' network, and the own perceiver at its own rate."""
        if self._eyes is None:
            return super()._groups(net)
        usual = self.learning_rate if isinstance(self._eyes, SlotPerceiver) else self._eyes.pretraining.rate
        return [
            {"params": list(self._steps.parameters())},
            {"params": list(self._eyes.net.parameters()), "lr": self.perceiver_rate or usual},
        ]

    def _read(self, view: View) -> Any:
        import torch

        before = self._previous(view)
        if self._eyes is not None and view.has_images:
            return read(view), before
        if self._eyes is None or isinstance(self._eyes, SlotPerceiver):
            return torch.as_tensor(view.probabilities).flatten(1), before
        return torch.cat(true_symbols(view), dim=1), before

    def _perceived(self, pictures: Pictures, rows: Any) -> Any:
        """Tensor [rows, symbols' values]: what the own perceiver sees."""
        import torch

        return torch.cat([one.softmax(dim=1) for one in self._eyes.logits(pictures.take(rows))], dim=1)

    def _perceived_once(self, seen: Any) -> Any:
        """What the perceiver, as it is, sees of all rows."""
        import torch

        given, before = seen
        if not isinstance(given, Pictures):
            return seen
        with torch.no_grad():
            parts = [
                self._perceived(given, rows) for rows in torch.split(torch.arange(len(given)), self._together)
            ]
        return torch.cat(parts), before

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        import torch

        pictures, before = seen
        flat = rows.reshape(-1)
        inputs = self._perceived(pictures, flat) if isinstance(pictures, Pictures) else pictures[flat]
        return self._steps(torch.cat([inputs, before[flat]], dim=1).reshape(*rows.shape, -1))


class LSTMLearner(_OnSymbols):
    """An LSTM over the steps of a sequence, on what a perceiver sees in each."""

    name = "lstm"

    def _recurrent(self, inputs: int, labels: int) -> Any:
        from nsl_bench.learners.modules import LSTM

        return LSTM(inputs, labels, self.hidden)


class DNCLearner(_OnSymbols):
    """A differentiable neural computer over the steps of a sequence, on what a perceiver sees in each.

    The controller is an LSTM of `hidden` units.
    """

    name = "dnc"
    places: int = option(16, "places of its memory; 0 for one a train step", least=0, after="hidden")
    width: int = option(16, "numbers of a place", least=1)
    heads: int = option(2, "read heads", least=1)

    def _recurrent(self, inputs: int, labels: int) -> Any:
        from nsl_bench.learners.modules import DNC

        return DNC(inputs, labels, self.hidden, self.places or self._length, self.width, self.heads)


class TransformerLearner(_SequenceLearner):
    """A convolutional network for each image and a transformer over the steps, from images to labels.

    A step sees itself and the steps before it. The vectors of a step's images, each with a code of its slot,
    are summed.
    """

    name = "cnn_transformer"
    track: Track = "end_to_end"
    fixed_size = ("labels",)
    hidden: int = option(
        64,
        "numbers of a step's vector, a multiple of 4",
        least=1,
        test=lambda hidden: hidden % 4 == 0,
        words="a multiple of 4",
    )
    layers: int = option(2, "layers of the transformer, with 4 heads each", least=1)

    def _network(self, train: View) -> Any:
        from nsl_bench.learners.modules import CNNTransformer

        channels = next((one.shape[2] for one in train.images[0] if one is not None), 1)
        before = train.n_labels if "previous" in train.metadata else 0
        return CNNTransformer(channels, before, train.n_labels, self.hidden, self.layers, self.precision)

    def _read(self, view: View) -> Any:
        return read(view), self._previous(view)

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        pictures, before = seen
        return net(pictures.which[rows], pictures.images, before[rows])
