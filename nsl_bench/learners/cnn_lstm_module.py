"""The CNN-LSTM's networks, torch modules; imported when one is built."""

from __future__ import annotations

import torch
from torch import nn


class SequenceNetwork(nn.Module):
    """Embedding, convolution, pooling, LSTM and a dense layer over a sequence of concepts.

    Args:
        length: of the sequences.
        symbols: how many there are, the blank included.
        embedding: size of a symbol's vector.
        channels: of the convolution.
        hidden: units of the LSTM.
        dropout: before and after the LSTM.
        labels: outputs.
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
        self.dense = nn.Linear(hidden, labels)

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
        length: of the sequences.
        symbols: how many there are, the blank included.
        embedding: size of a symbol's vector.
        channels: of the convolution.
        hidden: units of the LSTM, in each direction.
        dropout: before and after the LSTM.
        labels: outputs.
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
        self.dense = nn.Linear(2 * hidden * channels, labels)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """Logits [m, labels] of sequences of symbols, int64 [m, length]."""
        m, length = sequence.shape
        steps = self.embedding(sequence).reshape(m, -1, length)
        examples, _ = self.lstm(self.dropout(self.pool(torch.relu(self.convolution(steps)))))
        logits: torch.Tensor = self.dense(self.dropout(examples).flatten(1))
        return logits
