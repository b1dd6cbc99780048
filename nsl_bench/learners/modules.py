"""Torch modules of the neural baselines, imported when one is built.

The differentiable neural computer, an LSTM that writes to and reads from a memory, is that of Graves et al.:
"Hybrid computing using a neural network with dynamic external memory", Nature 538 (2016), section Methods.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from nsl_bench.learners.perceivers import convolved, two_convolutions
from nsl_bench.perception.training import Precision


class LSTM(nn.Module):
    """Maps sequences [n, steps, inputs] to logits [n, steps, labels]."""

    def __init__(self, inputs: int, labels: int, hidden: int) -> None:
        super().__init__()
        self.steps = nn.LSTM(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, labels)

    def forward(self, sequences: Tensor) -> Tensor:
        logits: Tensor = self.out(self.steps(sequences)[0])
        return logits


class CNNTransformer(nn.Module):
    """Maps images of sequences to logits [n, steps, labels].

    Args:
        metadata: numbers of meta-data of a step.
        layers: of the transformer, with 4 heads each.
    """

    def __init__(
        self, channels: int, metadata: int, labels: int, hidden: int, layers: int, precision: Precision
    ) -> None:
        super().__init__()
        self.hidden, self.precision = hidden, precision
        self.see = nn.Sequential(*two_convolutions(channels, 16, 32))
        self.see.to(memory_format=torch.channels_last)
        self.whole = nn.Sequential(nn.Flatten(), nn.Linear(512, hidden))
        self.of_slot = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden))
        self.told = nn.Linear(metadata, hidden) if metadata else None
        layer = nn.TransformerEncoderLayer(hidden, 4, 4 * hidden, dropout=0.0, batch_first=True)
        self.steps = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(hidden, labels)

    def forward(self, which: Tensor, images: Tensor, metadata: Tensor) -> Tensor:
        """Logits.

        Args:
            which: int64 [n, steps, slots], indices into `images`; -1 for a blank slot.
            images: float32 [m, channels, 28, 28].
            metadata: float32 [n, steps, metadata].
        """
        n, steps, slots = which.shape
        filled = which >= 0
        different, back = torch.unique(which[filled], return_inverse=True)
        vectors = images.new_zeros((n, steps, slots, self.hidden))
        codes = sinusoids(slots, self.hidden).expand(n, steps, -1, -1)
        seen = self.whole(convolved(self.see, images[different], self.precision))
        vectors[filled] = self.of_slot(seen[back] + codes[filled])
        vectors_of_steps = vectors.sum(dim=2) + sinusoids(steps, self.hidden)
        if self.told is not None:
            vectors_of_steps = vectors_of_steps + self.told(metadata)
        ahead = nn.Transformer.generate_square_subsequent_mask(steps)
        logits: Tensor = self.out(self.steps(vectors_of_steps, mask=ahead, is_causal=True))
        return logits


def sinusoids(count: int, width: int) -> Tensor:
    """float32 [count, width]: sines and cosines of places (Vaswani et al. 2017)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angle = torch.arange(count)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)


_SMALL = 1e-6


@dataclass(frozen=True)
class Memory:
    """The state of the memory of n sequences, with N places of W numbers and R read heads.

    Attributes:
        content: [n, N, W].
        usage: [n, N], how much each place is in use.
        precedence: [n, N], how much each place was the last one written to.
        link: [n, N, N], whether place i was written after place j.
        write: [n, N], where the last write went.
        reads: [n, R, N], where the last reads went.
    """

    content: Tensor
    usage: Tensor
    precedence: Tensor
    link: Tensor
    write: Tensor
    reads: Tensor

    @classmethod
    def empty(cls, n: int, places: int, width: int, heads: int) -> Self:
        """A memory that nothing was written to."""
        zeros = torch.zeros
        return cls(
            zeros(n, places, width),
            zeros(n, places),
            zeros(n, places),
            zeros(n, places, places),
            zeros(n, places),
            zeros(n, heads, places),
        )

    def free(self, gates: Tensor) -> Self:
        """The memory with the usage after the last write and after what free gates [n, R] release."""
        retained = (1 - gates[:, :, None] * self.reads).prod(dim=1)
        return replace(self, usage=(self.usage + self.write - self.usage * self.write) * retained)

    def allocation(self) -> Tensor:
        """[n, N]: weights of a write to free places, the least used first."""
        order = self.usage.argsort(dim=1)
        used = _SMALL + (1 - _SMALL) * self.usage.gather(1, order)
        before = torch.cat([torch.ones_like(used[:, :1]), used[:, :-1].cumprod(dim=1)], dim=1)
        return torch.zeros_like(used).scatter(1, order, (1 - used) * before)

    def lookup(self, keys: Tensor, strengths: Tensor) -> Tensor:
        """[n, k, N]: softmax over places of the similarity with keys [n, k, W] times strengths [n, k]."""
        normed = nn.functional.normalize(self.content, dim=2, eps=_SMALL)
        wanted = nn.functional.normalize(keys, dim=2, eps=_SMALL)
        return (strengths[:, :, None] * (wanted @ normed.transpose(1, 2))).softmax(dim=2)

    def written(self, where: Tensor, erase: Tensor, value: Tensor) -> Self:
        """The memory after a write of value [n, W] at where [n, N], which erases [n, W] first."""
        content = self.content * (1 - where[:, :, None] * erase[:, None]) + where[:, :, None] * value[:, None]
        link = (1 - where[:, :, None] - where[:, None]) * self.link
        link = link + where[:, :, None] * self.precedence[:, None]
        link = link * (1 - torch.eye(link.shape[1]))
        precedence = (1 - where.sum(dim=1, keepdim=True)) * self.precedence + where
        return replace(self, content=content, link=link, precedence=precedence, write=where)

    def read(self, modes: Tensor, by_content: Tensor) -> Self:
        """The memory after reads in modes [n, R, 3]: backward, by content [n, R, N], forward."""
        back, ahead = self.reads @ self.link, self.reads @ self.link.transpose(1, 2)
        ways = torch.stack([back, by_content, ahead], dim=2)
        return replace(self, reads=(modes[:, :, :, None] * ways).sum(dim=2))


@dataclass(frozen=True)
class Interface:
    """What the controller asks of the memory, cut from its output.

    Attributes:
        read_keys, read_strengths: [n, R, W] and [n, R].
        write_key, write_strength: [n, 1, W] and [n, 1].
        erase, value: [n, W].
        free: [n, R], free gates.
        allocation, write: [n, 1], gates.
        modes: [n, R, 3].
    """

    read_keys: Tensor
    read_strengths: Tensor
    write_key: Tensor
    write_strength: Tensor
    erase: Tensor
    value: Tensor
    free: Tensor
    allocation: Tensor
    write: Tensor
    modes: Tensor

    @staticmethod
    def size(width: int, heads: int) -> int:
        """Numbers that it is cut from."""
        return heads * width + 3 * width + 5 * heads + 3

    @classmethod
    def of(cls, numbers: Tensor, width: int, heads: int) -> Self:
        """Cut [n, size] into its parts, each brought into its range."""
        sizes = [heads * width, heads, width, 1, width, width, heads, 1, 1, 3 * heads]
        keys, strengths, key, strength, erase, value, free, allocation, write, modes = torch.split(
            numbers, sizes, 1
        )
        n = len(numbers)
        return cls(
            keys.reshape(n, heads, width),
            1 + nn.functional.softplus(strengths),
            key[:, None],
            1 + nn.functional.softplus(strength),
            erase.sigmoid(),
            value,
            free.sigmoid(),
            allocation.sigmoid(),
            write.sigmoid(),
            modes.reshape(n, heads, 3).softmax(dim=2),
        )


class DNC(nn.Module):
    """Maps sequences [n, steps, inputs] to outputs [n, steps, outputs].

    Args:
        inputs, outputs: numbers of a step.
        hidden: units of the controller, an LSTM.
        places: places of the memory, N.
        width: numbers of a place, W.
        heads: read heads, R.
    """

    def __init__(
        self, inputs: int, outputs: int, hidden: int, places: int = 16, width: int = 16, heads: int = 2
    ) -> None:
        super().__init__()
        self.places, self.width, self.heads = places, width, heads
        self.controller = nn.LSTMCell(inputs + heads * width, hidden)
        self.interface = nn.Linear(hidden, Interface.size(width, heads))
        self.out = nn.Linear(hidden + heads * width, outputs)

    def forward(self, sequences: Tensor) -> Tensor:
        n = len(sequences)
        memory = Memory.empty(n, self.places, self.width, self.heads)
        read = torch.zeros(n, self.heads * self.width)
        state: Any = None
        outputs = []
        for step in sequences.unbind(dim=1):
            state = self.controller(torch.cat([step, read], dim=1), state)
            memory = self._asked(memory, Interface.of(self.interface(state[0]), self.width, self.heads))
            read = (memory.reads @ memory.content).flatten(1)
            outputs.append(self.out(torch.cat([state[0], read], dim=1)))
        return torch.stack(outputs, dim=1)

    @staticmethod
    def _asked(memory: Memory, ask: Interface) -> Memory:
        """The memory after one write and the reads."""
        memory = memory.free(ask.free)
        by_content = memory.lookup(ask.write_key, ask.write_strength).squeeze(1)
        where = ask.write * (ask.allocation * memory.allocation() + (1 - ask.allocation) * by_content)
        memory = memory.written(where, ask.erase, ask.value)
        return memory.read(ask.modes, memory.lookup(ask.read_keys, ask.read_strengths))


def _dense(inputs: int, labels: int) -> nn.Module:
    """The last layer: for two labels one output, of which a sigmoid is the second one's probability.

    Softmax of two outputs would say the same and learn about twice as fast.
    """
    if labels != 2:
        return nn.Linear(inputs, labels)
    return nn.Sequential(nn.Linear(inputs, 1), nn.ZeroPad1d((1, 0)))


class SequenceNetwork(nn.Module):
    """Embedding, convolution, pooling, LSTM and a dense layer over a sequence of concepts.

    Args:
        symbols: how many there are, the blank included.
        dropout: before and after the LSTM.
        padded: whether zeros beyond the ends give the convolution an output for each symbol.
    """

    def __init__(
        self,
        length: int,
        symbols: int,
        embedding: int,
        channels: int,
        hidden: int,
        dropout: float,
        labels: int,
        padded: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, embedding)
        # A sequence shorter than the kernel, such as the one image of a crop, needs padding.
        self.convolution = nn.Conv1d(embedding, channels, 3, padding=int(padded or length < 3))
        self.pool = nn.MaxPool1d(2, ceil_mode=True)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(channels, hidden, batch_first=True)
        self.dense = _dense(hidden, labels)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """Logits [m, labels] of sequences of symbols, int64 [m, length]."""
        steps = self.embedding(sequence).transpose(1, 2)
        steps = self.pool(torch.relu(self.convolution(steps))).transpose(1, 2)
        _, (last, _) = self.lstm(self.dropout(steps))
        logits: torch.Tensor = self.dense(self.dropout(last[-1]))
        return logits


class PublishedNetwork(nn.Module):
    """The network of the FFNSL paper's published code, which is not the one that its text describes.

    The vectors [length, embedding] of an example are read as [embedding, length] without turning them, which
    mixes symbols and positions. The LSTM, in both directions, runs over the examples of a batch; a channel's
    pooled values are the features of a step, and the channels lie where a batch would. The dense layer takes
    everything that the LSTM gives. So what is said of an example depends on the batch that it is in.

    Args:
        hidden: units of the LSTM, in each direction.
    """

    def __init__(
        self,
        length: int,
        symbols: int,
        embedding: int,
        channels: int,
        hidden: int,
        dropout: float,
        labels: int,
    ) -> None:
        super().__init__()
        padding = int(length < 3)
        self.embedding = nn.Embedding(symbols, embedding)
        self.convolution = nn.Conv1d(embedding, channels, 3, padding=padding)
        self.pool = nn.MaxPool1d(2, ceil_mode=length < 4)
        self.dropout = nn.Dropout(dropout)
        features = max(1, (length + 2 * padding - 2) // 2)
        self.lstm = nn.LSTM(features, hidden, bidirectional=True)
        self.dense = _dense(2 * hidden * channels, labels)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """Logits [m, labels] of sequences of symbols, int64 [m, length]."""
        m, length = sequence.shape
        steps = self.embedding(sequence).reshape(m, -1, length)
        examples, _ = self.lstm(self.dropout(self.pool(torch.relu(self.convolution(steps)))))
        logits: torch.Tensor = self.dense(self.dropout(examples).flatten(1))
        return logits
