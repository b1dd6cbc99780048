"""Our Adam gives torch's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nsl_bench.learners.modules import PublishedNetwork, SequenceNetwork
from nsl_bench.learners.neural import Adam


def fully_connected() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(5, 13), torch.nn.ReLU(), torch.nn.Linear(13, 3))


@pytest.mark.parametrize(
    ("build", "inputs"),
    [
        (fully_connected, lambda: torch.rand(40, 5)),
        (lambda: SequenceNetwork(9, 6, 7, 5, 11, 0.1, 3), lambda: torch.randint(0, 6, (40, 9))),
        (lambda: PublishedNetwork(9, 6, 7, 5, 11, 0.1, 3), lambda: torch.randint(0, 6, (40, 9))),
    ],
    ids=["fully connected", "CNN-LSTM", "published CNN-LSTM"],
)
def test_the_same_weights_as_by_torch(build: Callable[[], Any], inputs: Callable[[], torch.Tensor]) -> None:
    found = []
    for ours in (True, False):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(4)
            net, batches, targets = build(), inputs(), torch.randint(0, 3, (40,))
            theirs = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-7)
            mine = Adam(net.parameters(), 1e-3, 1e-7)
            for start in range(0, 40, 8):
                part = slice(start, start + 8)
                loss = torch.nn.functional.cross_entropy(net(batches[part]), targets[part])
                if ours:
                    mine.step(loss)
                else:
                    theirs.zero_grad()
                    loss.backward()
                    theirs.step()
            found.append([each.detach().clone() for each in net.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
