"""The published numbers are the ones that were copied from the papers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.report.published import papers as published

ROOT = Path(__file__).parents[2]


def test_every_paper_says_where_its_numbers_come_from() -> None:
    assert published.names() == ["ffnsl2023", "neuid3", "ntoc"]
    for name in published.names():
        paper = published.paper(name)
        assert paper.title and paper.authors and paper.source and paper.licence and paper.counting


def test_an_unknown_paper_is_named() -> None:
    with pytest.raises(UserError, match="Did you mean 'ffnsl2023'"):
        published.paper("ffnsl2032")


def test_a_published_number() -> None:
    table = published.ffnsl2023("follow_suit")
    row = table[
        (table["learner"] == "fcn")
        & (table["size"] == "small")
        & (table["shift"] == "adversarial_batman_joker")
        & (table["percent"] == 10)
        & (table["metric"] == "framework_accuracy")
    ]
    assert row["mean"].tolist() == [0.434565] and row["std_err"].tolist() == [0.0248247]
    assert set(table["run"]) == {"main"}
    assert published.ffnsl2023("crop_yield").empty


def test_shares_are_fractions() -> None:
    for benchmark in ("follow_suit", "sudoku_4x4", "sudoku_9x9"):
        table = published.ffnsl2023(benchmark)
        shares = table[
            table["metric"].isin(["incorrect_examples", "hypothesis_accuracy", "framework_accuracy"])
        ]
        assert shares["mean"].between(0, 1).all() and len(shares)


def test_no_number_is_lost_or_changed(shared: Path, tmp_path: Path) -> None:
    path = ROOT / "benchmarks" / "restate_paper.py"
    spec = importlib.util.spec_from_file_location("restate_paper", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for made in script.write(shared, tmp_path):
        assert made.read_text() == (published.FOLDER / made.name).read_text()
    raw = pd.read_csv(shared / "paper" / "ffnsl_results.csv")
    kept = [published.table(path.stem) for path in published.FOLDER.glob("ffnsl2023-[fs]*.csv")]
    assert sum(map(len, kept)) == len(raw)
