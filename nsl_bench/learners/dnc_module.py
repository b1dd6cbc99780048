"""The differentiable neural computer: an LSTM that writes to and reads from a memory.

Graves et al.: "Hybrid computing using a neural network with dynamic external memory", Nature 538 (2016);
equations of its section Methods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

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
    def empty(cls, n: int, places: int, width: int, heads: int) -> Memory:
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

    def free(self, gates: Tensor) -> Memory:
        """The memory with the usage after the last write and after what free gates [n, R] release."""
        kept = (1 - gates[:, :, None] * self.reads).prod(dim=1)
        return replace(self, usage=(self.usage + self.write - self.usage * self.write) * kept)

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

    def written(self, where: Tensor, erase: Tensor, value: Tensor) -> Memory:
        """The memory after a write of value [n, W] at where [n, N], which erases [n, W] first."""
        content = self.content * (1 - where[:, :, None] * erase[:, None]) + where[:, :, None] * value[:, None]
        link = (1 - where[:, :, None] - where[:, None]) * self.link
        link = link + where[:, :, None] * self.precedence[:, None]
        link = link * (1 - torch.eye(link.shape[1]))
        precedence = (1 - where.sum(dim=1, keepdim=True)) * self.precedence + where
        return replace(self, content=content, link=link, precedence=precedence, write=where)

    def read(self, modes: Tensor, found: Tensor) -> Memory:
        """The memory after reads in modes [n, R, 3]: backward, by content [n, R, N], forward."""
        back, ahead = self.reads @ self.link, self.reads @ self.link.transpose(1, 2)
        ways = torch.stack([back, found, ahead], dim=2)
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
    def of(cls, numbers: Tensor, width: int, heads: int) -> Interface:
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
        said = []
        for step in sequences.unbind(dim=1):
            state = self.controller(torch.cat([step, read], dim=1), state)
            memory = self._asked(memory, Interface.of(self.interface(state[0]), self.width, self.heads))
            read = (memory.reads @ memory.content).flatten(1)
            said.append(self.out(torch.cat([state[0], read], dim=1)))
        return torch.stack(said, dim=1)

    @staticmethod
    def _asked(memory: Memory, ask: Interface) -> Memory:
        """The memory after one write and the reads."""
        memory = memory.free(ask.free)
        by_content = memory.lookup(ask.write_key, ask.write_strength).squeeze(1)
        where = ask.write * (ask.allocation * memory.allocation() + (1 - ask.allocation) * by_content)
        memory = memory.written(where, ask.erase, ask.value)
        return memory.read(ask.modes, memory.lookup(ask.read_keys, ask.read_strengths))
