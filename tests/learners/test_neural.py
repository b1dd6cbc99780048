"""Neural learners: presets with a paper's settings, and an Adam that gives torch's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import hypothesis_of
from nsl_bench.learners.modules import PublishedNetwork, SequenceNetwork
from nsl_bench.learners.neural import Adam
from nsl_bench.testing.toy import patches, view


@pytest.mark.parametrize("options", ["", ":penalty=constant"])
def test_nsl_is_ffnsl(options: str) -> None:
    preset, itself = (
        registry.create("learner", f"{name}{options}").fit(view(patches())) for name in ("nsl", "ffnsl")
    )
    assert hypothesis_of(preset) == hypothesis_of(itself)
    assert preset.examples_ == itself.examples_


def test_the_paper_s_layers() -> None:
    net = registry.create("learner", "nsl_fnn:epochs=1", seed=0).fit(view(patches()))._net
    layers = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in layers] == [12, 8, 2]
    grids = registry.create("learner", "nsl_cnn_lstm:epochs=1", seed=0).fit(view(patches()))._net
    assert grids.embedding.embedding_dim == grids.convolution.out_channels == 32
    assert grids.lstm.hidden_size == 100 and grids.convolution.padding == (1,)


def test_a_padded_convolution_has_an_output_for_each_slot() -> None:
    for padded, length in ((False, 14), (True, 16)):
        net = SequenceNetwork(16, 5, 8, 8, 8, 0.0, 2, padded)
        assert net.convolution(torch.zeros(1, 8, 16)).shape[2] == length


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("nsl:t_norm=product", "has no option 't_norm'"),
        ("cnn_lstm:published=true,padded=true", "exclude each other; leave out one"),
    ],
)
def test_options_out_of_range(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("learner", spec)


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
def test_adam_gives_torch_s_weights(build: Callable[[], Any], inputs: Callable[[], torch.Tensor]) -> None:
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
