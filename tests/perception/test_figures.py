from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from nsl_bench.cli.networks import networks as command
from nsl_bench.core import cache
from nsl_bench.core.metrics.predictions import calibration_error
from nsl_bench.perception import trained_networks
from nsl_bench.perception.trained_networks import BINS, figures, histogram
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative


def test_the_histogram_has_the_papers_bins() -> None:
    confidence = np.array([0.25, 0.26, 0.5, 0.75, 0.76, 0.9, 0.95, 0.951, 1.0, 1.0])
    assert np.allclose(histogram(confidence), [0.1, 0.2, 0.1, 0.2, 0.1, 0.3])
    assert len(BINS) == 6 and histogram(np.empty(0)) == (0.0,) * 6


def test_figures_are_those_of_the_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    source = PatchSource()
    network = trained_networks.train_network("softmax:epochs=12,dense=16", Patches(), source)
    standard, shifted = figures(network, source), figures(network, source, Negative(), limit=30)
    probabilities = network.predict_proba(source.render("b", np.arange(60)))
    assert standard.images == 60 and shifted.images == 30
    assert standard.accuracy > 0.9 > shifted.accuracy
    assert standard.calibration_error == calibration_error(probabilities, source.labels("b"))
    assert abs(standard.confidence - probabilities.max(axis=1).mean()) < 1e-6
    assert standard.sure == (probabilities.max(axis=1) > 0.95).mean()


def test_the_command_writes_table_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    options = ["sudoku_4x4", "--network", "softmax", "--network", "mc_dropout:samples=2", "--limit", "40"]
    result = CliRunner().invoke(command, [*options, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Training" not in result.output
    lines = (tmp_path / "out" / "networks.csv").read_text().splitlines()
    assert lines[0].startswith("network,images,n,accuracy,calibration error,mean confidence,0-0.25")
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["softmax", "standard", "40"],
        ["mc_dropout:samples=2", "standard", "40"],
        ["softmax", "rotate90", "40"],
        ["mc_dropout:samples=2", "rotate90", "40"],
    ]
    assert Image.open(tmp_path / "out" / "confidence.png").size[0] > 500
