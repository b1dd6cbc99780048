"""Modules of the neural baselines on sequences: an LSTM, and a transformer over convolutional networks."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from nsl_bench.learners.perceivers import convolved
from nsl_bench.perception.training import Precision


class LSTM(nn.Module):
    """Maps sequences [n, steps, inputs] to logits [n, steps, labels]."""

    def __init__(self, inputs: int, labels: int, hidden: int) -> None:
        super().__init__()
        self.steps = nn.LSTM(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, labels)

    def forward(self, sequences: Tensor) -> Tensor:
        said: Tensor = self.out(self.steps(sequences)[0])
        return said


class CNNTransformer(nn.Module):
    """Maps images of sequences to logits [n, steps, labels].

    Args:
        channels: of an image.
        told: numbers besides that a step is told.
        labels: number of labels.
        hidden: numbers of a step's vector.
        layers: of the transformer, with 4 heads each.
        precision: what convolutions compute in.
    """

    def __init__(
        self, channels: int, told: int, labels: int, hidden: int, layers: int, precision: Precision
    ) -> None:
        super().__init__()
        self.hidden, self.precision = hidden, precision
        self.see = nn.Sequential(
            nn.Conv2d(channels, 16, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
        ).to(memory_format=torch.channels_last)
        self.whole = nn.Sequential(nn.Flatten(), nn.Linear(512, hidden))
        self.of_slot = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden))
        self.told = nn.Linear(told, hidden) if told else None
        layer = nn.TransformerEncoderLayer(hidden, 4, 4 * hidden, dropout=0.0, batch_first=True)
        self.steps = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(hidden, labels)

    def forward(self, which: Tensor, images: Tensor, told: Tensor) -> Tensor:
        """Logits.

        Args:
            which: int64 [n, steps, slots], indices into `images`; -1 for a blank slot.
            images: float32 [m, channels, 28, 28].
            told: float32 [n, steps, told].
        """
        n, steps, slots = which.shape
        shown = which >= 0
        different, back = torch.unique(which[shown], return_inverse=True)
        vectors = images.new_zeros((n, steps, slots, self.hidden))
        codes = sinusoids(slots, self.hidden).expand(n, steps, -1, -1)
        seen = self.whole(convolved(self.see, images[different], self.precision))
        vectors[shown] = self.of_slot(seen[back] + codes[shown])
        found = vectors.sum(dim=2) + sinusoids(steps, self.hidden)
        if self.told is not None:
            found = found + self.told(told)
        ahead = nn.Transformer.generate_square_subsequent_mask(steps)
        said: Tensor = self.out(self.steps(found, mask=ahead, is_causal=True))
        return said


def sinusoids(count: int, width: int) -> Tensor:
    """float32 [count, width]: sines and cosines of places (Vaswani et al. 2017)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angle = torch.arange(count)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)
