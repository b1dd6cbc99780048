"""Named presets are the learners that they stand for, with a paper's settings."""

from __future__ import annotations

import pytest
import torch

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import hypothesis_of
from nsl_bench.learners.modules import SequenceNetwork
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
