"""Neural baselines on symbols: a fully connected network, and a convolution with an LSTM for sequences.

Default settings follow the FFNSL paper's section 5 and its published code (Adam, lr 0.0001, eps 1e-7, batches
of 8 in file order); `nsl_bench.learners.papers.nsl` has those of the NSL paper. Their rules are those of a
surrogate tree.
"""

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self, get_args

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Floats, Hypothesis
from nsl_bench.learners.networks import Passes
from nsl_bench.learners.trees import surrogate
from nsl_bench.learners.view import Inputs, View
from nsl_bench.perception.training import kept_memory

_EPSILON = 1e-7


class GradientLearner(HasOptions, ABC):
    """A network trained by cross-entropy until the loss on a validation set no longer falls, and its answers.

    Attributes:
        epochs_: passes that were made.
    """

    track: Track = "pretrained"
    answers_alike = True
    _together: ClassVar[int]
    """Examples that are answered at once."""

    epochs: int = option(50, "passes over the train set", least=1)
    learning_rate: float = option(1e-3, "learning rate of Adam", above=0)
    batch: int = option(32, "examples in a batch", least=1)
    seed: int = option(0, "seed of weights and of all chance in training")
    patience: int = option(
        0,
        "epochs without a smaller validation loss after which training stops, or near the time limit, "
        "with the weights of the best epoch; 0 to disable",
        least=0,
    )

    @property
    def takes_validation(self) -> bool:
        """Whether a validation set decides when training stops."""
        return self.patience > 0

    @abstractmethod
    def _start(self, train: View) -> tuple[Any, Any]:
        """A new network, a module, and what it sees of the train set."""

    @abstractmethod
    def _read(self, view: View) -> Any:
        """What the network sees of a view."""

    @abstractmethod
    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        """The network's outputs [*rows, labels] for rows of what it sees."""

    def _rows(self, view: View) -> Any:
        """int64 tensor [units, ...]: the rows of what is put into batches."""
        import torch

        return torch.arange(len(view))

    def _ordered(self, rows: Any) -> Any:
        """The units in the order of a pass."""
        import torch

        return rows[torch.randperm(len(rows))]

    def _step(self, net: Any, batches: int) -> Callable[[Any], None]:
        """A step of the optimiser against a loss, in passes of so many batches."""
        import torch

        optimiser = torch.optim.Adam(self._groups(net), lr=self.learning_rate)

        def step(loss: Any) -> None:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

        return step

    def _groups(self, net: Any) -> list[dict[str, Any]]:
        """The network's parameters in groups, some with a learning rate of their own."""
        return [{"params": list(net.parameters())}]

    def _seen_in(self, epoch: int, seen: Any) -> Any:
        """What the network sees in a pass."""
        return seen

    def _loss(self, net: Any, seen: Any, rows: Any, labels: Any) -> Any:
        """The mean cross-entropy of rows, a scalar."""
        import torch

        logits = self._logits(net, seen, rows).flatten(0, -2)
        return torch.nn.functional.cross_entropy(logits, labels[rows].flatten())

    def _validation_loss(self, net: Any, seen: Any, rows: Any, labels: Any) -> float:
        return float(self._loss(net, seen, rows, labels))

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Train the network from scratch; with patience until the loss on `validation` is least."""
        import torch

        rows, labels = self._rows(train), torch.as_tensor(train.labels)
        with seeded(self.seed):
            net, seen = self._start(train)
            held_out: tuple[Any, ...] | None = None
            if validation is not None and self.patience:
                targets = torch.as_tensor(validation.labels)
                held_out = self._read(validation), self._rows(validation), targets
            step = self._step(net, max(1, len(rows) // self.batch))
            passes = Passes(net, train, self.epochs, self.patience)
            for epoch in passes:
                net.train()
                seen_now, losses = self._seen_in(epoch, seen), list[Any]()
                for some in self._ordered(rows).split(self.batch):
                    loss = self._loss(net, seen_now, some, labels)
                    step(loss)
                    losses.append(loss.detach() * len(some))
                if not self.patience:
                    continue
                net.eval()
                passes.loss = float(sum(losses)) / len(rows)
                if held_out is not None:
                    with torch.inference_mode():
                        passes.loss = self._validation_loss(net, *held_out)
            self.epochs_ = passes.made
        self._net = net.eval()
        return self

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: softmax of the network's outputs."""
        return self._probabilities(test, self._together)

    def _probabilities(self, view: View, together: int) -> Floats:
        import torch

        result = np.zeros((len(view), view.n_labels))
        if len(view):
            with torch.inference_mode(), seeded(self.seed):
                seen = self._read(view)
                for rows in self._rows(view).split(together):
                    answers = self._logits(self._net, seen, rows).softmax(dim=-1).flatten(0, -2)
                    result[rows.reshape(-1)] = np.asarray(answers, np.float64)
        return result


class _OnSymbols(GradientLearner):
    """A network on the concepts of an example, trained in batches of 8 in the order of the train set."""

    version = "1"
    search_space: Mapping[str, Sequence[Any]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "epochs": (5, 20, 50, 100), "dropout": (0.01, 0.1, 0.3)}
    )
    _together = 4096

    learning_rate = 1e-4
    batch: int = option(8, "examples in a batch", least=1, after="patience")

    @abstractmethod
    def _network(self, train: View) -> Any:
        """A new network; it maps what it reads, [m, ...], to logits [m, labels]."""

    def _start(self, train: View) -> tuple[Any, Any]:
        self._train = train
        return self._network(train), self._read(train)

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        return net(seen[rows])

    def _ordered(self, rows: Any) -> Any:
        return rows

    def _step(self, net: Any, batches: int) -> Callable[[Any], None]:
        return Adam(net.parameters(), self.learning_rate, _EPSILON).step

    def rules(self) -> Hypothesis:
        """The rules of a decision tree fitted to the predictions on the train set."""
        train = self._train
        predicted = self._probabilities(train, self.batch).argmax(axis=1)
        return surrogate(train.features, predicted, train.feature_names(), train.label_names)


class FCN(_OnSymbols):
    """Linear layers on the benchmark's features, three unless `layers` is set."""

    name = "fcn"
    search_space = MappingProxyType({**_OnSymbols.search_space, "inputs": get_args(Inputs)})

    hidden: int = option(74, "units of the hidden layers after the first", least=1)
    dropout: float = option(0.1, "dropout after each hidden layer", least=0, most=1)
    first: int = option(
        0, "units of the first layer; 0 for as many as there are inputs", least=0, after="batch"
    )

    inputs: Inputs = option(
        "concepts", "the task's features of the most probable concepts, probabilities, or both", after="first"
    )
    published: bool = option(
        False, "whether ReLU follows the last layer, too, as in the FFNSL paper and its code", after="inputs"
    )
    layers: int = option(2, "hidden layers", least=1, after="published")

    def _read(self, view: View) -> Any:
        import torch

        return torch.as_tensor(view.inputs(self.inputs, view.features))

    def _network(self, train: View) -> Any:
        from torch import nn

        n = self._read(train).shape[1]
        sizes = [n, self.first or n, *[self.hidden] * (self.layers - 1)]
        hidden = [
            part
            for pair in itertools.pairwise(sizes)
            for part in (nn.Linear(*pair), nn.ReLU(), nn.Dropout(self.dropout))
        ]
        last = [nn.Linear(sizes[-1], train.n_labels), *([nn.ReLU()] if self.published else [])]
        return nn.Sequential(*hidden, *last)


class CNNLSTM(_OnSymbols):
    """A convolution and an LSTM over the sequence of an example's concepts.

    Embedding 96, convolution of 64 channels and width 3, ReLU, max-pool 2, dropout, LSTM 96, dropout, dense.
    With two labels there is one output with a sigmoid, as in the papers.
    """

    name = "cnn_lstm"
    version = "2"
    embedding: int = option(96, "size of a concept's vector", least=1)
    channels: int = option(64, "channels of the convolution", least=1)
    hidden: int = option(96, "units of the LSTM", least=1)
    dropout: float = option(0.01, "dropout before and after the LSTM", least=0, most=1)
    epochs = 5
    published: bool = option(
        False,
        "whether to use the network of the paper's published code (`sequence.PublishedNetwork`), which "
        "differs from the one in its text",
        after="learning_rate",
    )
    padded: bool = option(
        False,
        "whether the convolution has an output for each slot (zeros beyond the ends), as in the NSL paper; "
        "without `published` only",
        after="batch",
    )

    def __post_init__(self) -> None:
        if self.published and self.padded:
            raise UserError("cnn_lstm: published=true and padded=true exclude each other; leave out one.")

    @property
    def fixed_size(self) -> bool | tuple[str, ...]:
        """Any number of slots, unless the published network's layers have the size of an example."""
        return self.published or ("labels",)

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: softmax of the outputs; the published network answers one by one."""
        return self._probabilities(test, 1 if self.published else self._together)

    def _read(self, view: View) -> Any:
        import torch

        return torch.as_tensor(view.concept_ids.astype(np.int64) + 1)

    def _network(self, train: View) -> Any:
        from nsl_bench.learners.modules import PublishedNetwork, SequenceNetwork

        length, concepts, labels = len(train.slots), len(train.concept_space) + 1, train.n_labels
        sizes = (self.embedding, self.channels, self.hidden, self.dropout)
        if self.published:
            return PublishedNetwork(length, concepts, *sizes, labels)
        return SequenceNetwork(length, concepts, *sizes, labels, self.padded)


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


class Adam:
    """Adam with the default decay rates (Kingma and Ba, ICLR 2015), on a CPU: torch's arithmetic alone.

    `torch.optim.Adam` imports torch's compiler, two seconds of CPU time, and takes as long as the arithmetic
    itself for hooks and checks in every step. Its functional form gives the same bits.
    """

    def __init__(self, parameters: Iterable[Any], learning_rate: float, epsilon: float) -> None:
        import torch

        self._parameters = list(parameters)
        self._learning_rate, self._epsilon = learning_rate, epsilon
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._steps = [torch.zeros(()) for _ in self._parameters]

    def step(self, loss: Any) -> None:
        """Change the parameters by the gradient of a loss, a scalar tensor that depends on all of them."""
        import torch
        from torch.optim.adam import adam

        for each in self._parameters:
            each.grad = None
        loss.backward()
        with torch.no_grad():
            adam(
                self._parameters,
                [each.grad for each in self._parameters],
                self._means,
                self._squares,
                [],
                self._steps,
                foreach=False,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._learning_rate,
                weight_decay=0.0,
                eps=self._epsilon,
                maximize=False,
            )
