from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.perception import trained_networks
from nsl_bench.perception.network import header_of

QUICK = ["train", "sudoku_4x4", "--images-per-concept", "4", "--epochs", "1"]


def test_train_prints_accuracies_and_lists_the_file(tmp_path: Path) -> None:
    (tmp_path / trained_networks.INDEX).write_text("[]")
    out = tmp_path / "small.safetensors"
    result = CliRunner().invoke(main, [*QUICK, "--seed", "3", "--out", str(out)])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert [line[0] for line in lines[:2]] == ["standard", "rotate90"]
    assert all(0 <= float(line[1]) <= 1 for line in lines[:2])
    header = header_of(out)
    assert header["details"]["training"]["images"] == 16
    assert header["details"]["accuracy"]["standard"] == pytest.approx(float(lines[0][1]), abs=1e-4)
    assert "seed=3" in (tmp_path / trained_networks.INDEX).read_text()


def test_train_leaves_the_network_where_runs_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nsl_bench.core import cache, registry
    from nsl_bench.data.splits import make_source

    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert CliRunner().invoke(main, QUICK).exit_code == 0
    benchmark = registry.create("benchmark", "sudoku_4x4")
    trained_networks.trained("softmax:images_per_concept=4,epochs=1", benchmark, make_source(benchmark))
    assert "Training" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sudoku_4"], "Unknown benchmark 'sudoku_4'"),
        (["sudoku_4x4", "--network", "softmx"], "Unknown network 'softmx'"),
        (["sudoku_4x4", "--network", "softmax:epoch=3"], "has no option 'epoch'"),
        (["sudoku_4x4", "--out", "nowhere/w.safetensors"], "the folder nowhere does not exist"),
        (["sudoku_4x4", "--device", "abacus", "--epochs", "1"], "device 'abacus' cannot be used"),
        (["sudoku_4x4", "--network", "softmax:seed=-1"], "softmax: seed must be between 0"),
    ],
)
def test_bad_input(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        CliRunner().invoke(main, ["train", *arguments], catch_exceptions=False)
