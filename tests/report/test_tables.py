"""Tables say what the runs say."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from PIL import Image

from nsl_bench.errors import UserError
from nsl_bench.report.curves import draw
from nsl_bench.report.tables import area_under_shift, render, short_names, summarise


@pytest.fixture
def runs() -> pd.DataFrame:
    rows = []
    for learner, gain in (("ffnsl", 0.3), ("random_forest", 0.0)):
        for shift, percent in (("standard", 0.0), ("noir", 50.0), ("comic", 50.0)):
            for repeat in (1, 2, 3):
                rows.append(
                    {
                        **{"benchmark": "b", "benchmark_version": "1", "source": "s", "size": "small"},
                        **{"splits": None, "seed": 0, "track": "pretrained", "network": "softmax"},
                        **{"learner": learner, "shift": shift, "percent": percent, "repeat": repeat},
                        **{"status": "ok", "framework_accuracy": 0.5 + gain + repeat / 100, "atoms": 3.0},
                    }
                )
    return pd.DataFrame([*rows, {**rows[0], "status": "failed", "framework_accuracy": 9.0}])


def test_mean_and_standard_error(runs: pd.DataFrame) -> None:
    table = summarise(runs)
    row = table[(table["learner"] == "ffnsl") & (table["shift"] == "noir") & (table["percent"] == 50)]
    row = row[row["metric"] == "framework_accuracy"].iloc[0]
    assert row["mean"] == pytest.approx(0.82)
    assert row["std_err"] == pytest.approx(0.01 / np.sqrt(3))
    assert row["n"] == 3


def test_the_standard_point_belongs_to_every_shift(runs: pd.DataFrame) -> None:
    table = summarise(runs)
    assert set(zip(table["shift"], table["percent"], strict=True)) == {
        (shift, percent) for shift in ("noir", "comic") for percent in (0.0, 50.0)
    }
    areas = area_under_shift(runs)
    assert len(areas) == 2 * 2 * 2


@pytest.mark.parametrize("form", ["markdown", "csv", "latex"])
def test_every_format_has_every_learner(runs: pd.DataFrame, form: str) -> None:
    text = render(runs, form)  # type: ignore[arg-type]
    assert "ffnsl" in text and ("0.820" in text or "0.82" in text)
    if form == "csv":
        assert len(pd.read_csv(io.StringIO(text))) == 16
    else:
        assert "framework accuracy" in text


def test_an_unknown_metric_is_named(runs: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="Did you mean 'atoms'"):
        summarise(runs, ["atom"])


def test_curves_are_pictures(runs: pd.DataFrame, tmp_path: Path) -> None:
    (path,) = draw(runs, tmp_path / "curves")
    with Image.open(path) as picture:
        assert picture.format == "PNG" and min(picture.size) > 300


def test_other_peoples_curves_are_dashed(
    runs: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    plot = Axes.plot
    monkeypatch.setattr(Axes, "plot", lambda *a, **k: drawn.append((a[1:], k)) or plot(*a, **k))
    theirs = pd.DataFrame(
        {"learner": "ffnsl", "network": "softmax", "shift": "noir", "metric": "framework_accuracy"}
        | {"percent": [100, 0], "mean": [0.4, 1.0]}
    )
    draw(runs, tmp_path, ["framework_accuracy"], theirs)
    dashed = [list(points[1]) for points, how in drawn if how.get("ls") == "--" and len(points[1])]
    assert dashed == [[1.0, 0.4]]


def test_short_names_stay_different() -> None:
    assert short_names(["softmax:epochs=2", "edl_gen"]) == {
        "softmax:epochs=2": "softmax",
        "edl_gen": "edl_gen",
    }
    assert short_names(["softmax:epochs=2", "softmax"]) == {
        "softmax:epochs=2": "softmax:epochs=2",
        "softmax": "softmax",
    }
