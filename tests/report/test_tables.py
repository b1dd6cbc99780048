"""Tables say what the runs say."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

from nsl_bench.api.results import Results
from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.report.curves import Series, draw, draw_series
from nsl_bench.report.escaping import csv_text
from nsl_bench.report.intervals import intervals
from nsl_bench.report.ordering import in_order
from nsl_bench.report.tables import Layout, short_names, summarise, tables
from nsl_bench.report.typeset import written
from nsl_bench.run.bench import Bench
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import PROTOCOL, Job, ShiftPair
from nsl_bench.run.plan import plan, shift_pairs
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import keep


def job(learner: str, pair: ShiftPair, repeat: int, **more: Any) -> Job:
    where = (pair.train_shift, pair.train_percent, pair.test_shift, pair.test_percent)
    return replace(
        Job("b", "1", "s", "f", *where, "small", repeat, learner, "pretrained", "softmax", protocol=PROTOCOL),
        **more,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    kept = Store(tmp_path / "results")
    for learner, gain in (("ffnsl", 0.3), ("random_forest", 0.0)):
        for pair in shift_pairs(Grid("follow_suit", (), ("noir", "comic"), (0, 50))):
            for repeat in (1, 2, 3):
                numbers = {"framework_accuracy": 0.5 + gain + repeat / 100, "atoms": 3.0}
                kept.add(Record(job(learner, pair, repeat), "ok", numbers))
    kept.add(Record(job("ffnsl", ShiftPair(), 4), "failed"))
    return kept


@pytest.fixture
def runs(store: Store) -> pd.DataFrame:
    return store.frame()


SLY = {name: f"'{name}" for name in ("=1+1", "@SUM(A1)", "\t-2", "-cmd", " =2", "\uff1d3")}
NAMES = ["my_learner", "a|b`c*", "<img src=x>", r"\input{/etc/passwd}", "50 % & $x$ #1", "-2.5", *SLY]


def render(runs: pd.DataFrame, form: Any = "markdown", metrics: Any = (), layout: Layout = "long") -> str:
    """What a report prints of runs whose predictions were not kept."""
    metrics = metrics or [name for name in METRICS if name in runs]
    return (
        csv_text(summarise(runs, metrics)) if form == "csv" else written(tables(runs, metrics, layout), form)
    )


@pytest.mark.parametrize("form", ["markdown", "csv", "latex", "html"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_names_are_text_in_every_form(runs: pd.DataFrame, form: Any, layout: Layout) -> None:
    """Not a command, a formula, markup or the end of a cell, whatever learners and folders are called."""
    first = runs[runs["learner"] == "ffnsl"]
    named = pd.concat([first.assign(learner=name, network=name, splits=name) for name in NAMES])
    text = render(named, form, ["framework_accuracy"], layout)
    if form == "csv":
        cells = {cell for row in csv.reader(io.StringIO(text)) for cell in row}
        assert {SLY.get(name, name) for name in NAMES} <= cells and not cells & set(SLY)
    if form == "html":
        assert "&lt;img src=x&gt;" in text and "<img" not in text
    if form == "latex":
        assert r"my\_learner" in text
        assert r"\input" not in text and "$x$" not in text
    if form == "markdown":
        assert r"a\|b\`c\*" in text and "<img" not in text and "my_learner" in text
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_failed_runs_count_with_what_was_imputed(store: Store) -> None:
    pair = ShiftPair("noir", 50.0, "noir", 50.0)
    store.add(Record(job("ffnsl", pair, 4), "timeout", {"framework_accuracy": 0.25}))
    table = summarise(store.frame(), ["framework_accuracy", "atoms"])
    row = table[(table["learner"] == "ffnsl") & (table["shift"] == "noir") & (table["percent"] == 50)]
    assert row["n"].tolist() == [4, 3]
    assert row["mean"].iloc[0] == pytest.approx((3 * 0.82 + 0.25) / 4)
    said = CliRunner().invoke(main, ["report", str(store.folder)]).stdout
    assert re.search(r"ffnsl 2 of 11 \(failed, timeout\), framework accuracy 0\.\d+ without them\.", said)


def test_seeds_add_to_the_standard_error(tmp_path: Path) -> None:
    store = Store(tmp_path / "seeds")
    for repeat in (1, 2):
        for seed, network in ((0, "softmax"), (1, "softmax:seed=1")):
            own = job("ffnsl", ShiftPair(), repeat, network=network)
            store.add(Record(own, "ok", {"framework_accuracy": 0.1 * repeat + 0.2 * seed}))
    table = summarise(store.frame(), ["framework_accuracy"])
    assert table["n"].tolist() == [4]
    assert table["std_err"].item() == pytest.approx(np.hypot(0.05, 0.1))


def test_intervals_name_what_varied(tmp_path: Path) -> None:
    store = Store(tmp_path / "intervals")
    jobs = plan("sudoku_4x4", ["majority"], repeats=[1, 2])
    bench = Bench("cpu")
    for one in jobs:
        keep(store, bench.run(one))
    (row,) = intervals(Results(store.folder)).to_dict("records")
    assert row["accuracy"] == 0.5 and row["runs"] == 2 and row["train splits"] == 0.0
    # The digits are few, so that their images are what was sampled.
    assert row["test images"] == row["std_err"] > 0.016 and row["low"] < 0.5 < row["high"]
    assert "test examples" not in row


def test_curves_of_train_and_test_shift(store: Store) -> None:
    shares = {"train_percents": (0, 50), "test_percents": (0, 50, 100)}
    for pair in shift_pairs(Grid("follow_suit", (), ("noir",), **shares)):
        store.add(Record(job("grid", pair, 1), "ok", {"framework_accuracy": 0.5}))
    table = summarise(store.frame(), ["framework_accuracy"])
    grid = table[table["learner"] == "grid"].groupby("shift")["percent"].agg(list).to_dict()
    assert grid["train: noir"] == grid["noir"] == [0, 50]
    assert grid["test: noir"] == grid["noir 50 % -> noir"] == [0, 50, 100]


def test_runs_of_several_versions_are_not_averaged(store: Store) -> None:
    for repeat in (1, 2):
        newer = job("ffnsl", ShiftPair(), repeat, learner_version="2")
        store.add(Record(newer, "ok", {"framework_accuracy": 0.1}))
    table = summarise(store.frame(), ["framework_accuracy"])
    assert table[table["learner"] == "ffnsl"]["mean"].tolist() == [pytest.approx(0.1)] * 2
    older = job("ffnsl", ShiftPair(), 1, learner_version="2", protocol=1)
    store.add(Record(older, "ok", {"framework_accuracy": 0.9}))
    assert "protocol 1" in render(store.frame(), layout="wide")


def test_folders_and_seeds_of_networks_do_not_part_runs(tmp_path: Path) -> None:
    store = Store(tmp_path / "other")
    for place, seed in (("/a/mnist", ""), ("../mnist", ":seed=1")):
        own = job("ffnsl", ShiftPair(), 1, source=f"mnist:{place}", network=f"softmax{seed}")
        store.add(Record(own, "ok", {"framework_accuracy": 0.5}))
    table = summarise(store.frame(), ["framework_accuracy"])
    assert table["n"].tolist() == [2] and table["source"].tolist() == ["mnist:../mnist"]
    here, there = (job("x", ShiftPair(), 1, source=f"mnist:{place}") for place in ("/a", "/b"))
    other = job("x", ShiftPair(), 1, source="mnist:/a", source_fingerprint="g")
    assert here.key() == there.key() != other.key()


def test_mean_and_standard_error(runs: pd.DataFrame) -> None:
    table = summarise(runs)
    row = table[(table["learner"] == "ffnsl") & (table["shift"] == "noir") & (table["percent"] == 50)]
    row = row[row["metric"] == "framework_accuracy"].iloc[0]
    assert row["mean"] == pytest.approx(0.82)
    assert row["std_err"] == pytest.approx(0.01 / np.sqrt(3))
    assert row["n"] == 3
    # The standard point belongs to every shift.
    found = set(zip(table["shift"], table["percent"], strict=True))
    assert found == {(shift, percent) for shift in ("noir", "comic") for percent in (0.0, 50.0)}
    for text in (render(runs), render(runs, "latex")):
        assert "ffnsl" in text and "0.82" in text and "framework accuracy" in text
    assert len(pd.read_csv(io.StringIO(render(runs, "csv")))) == 16
    with pytest.raises(UserError, match="Did you mean 'atoms'"):
        summarise(runs, ["atom"])


def test_curves_are_pictures(runs: pd.DataFrame, tmp_path: Path) -> None:
    (path,) = draw(runs, tmp_path / "curves")
    with Image.open(path) as picture:
        assert picture.format == "PNG" and min(picture.size) > 300
    both = [Series("", ((0.0, 1.0, 0.0), (100.0, 0.4, 0.0)), 0, theirs) for theirs in (False, True)]
    ours, published = draw_series(Figure().subplots(), both, unit=True, logarithmic=False)
    assert ours.get_linestyle() != published.get_linestyle() == "--"


def test_short_names_stay_different() -> None:
    for other, short in (("edl_gen", "softmax"), ("softmax", "softmax:epochs=2")):
        found = short_names(["softmax:epochs=2", other])
        assert found == {"softmax:epochs=2": short, other: other}


def test_numbers_in_names_count_as_numbers_and_test_tasks_go_by_size(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    options = ("disks=9", "disks=3", "window=5", "test=50,disks=7", "window=1")
    tasks = ["", *(f"hanoi:{one}" for one in options)]
    for test_task in tasks:
        for size in ("1000", "200"):
            one = job("ffnsl", ShiftPair(), 1, test_task=test_task, size=size)
            kept.add(Record(one, "ok", {"framework_accuracy": 0.5}))
    table = summarise(kept.frame(), ["framework_accuracy"])
    ordered = ["", *(f"hanoi:{o}" for o in ("disks=3", "window=1", "window=5", "test=50,disks=7", "disks=9"))]
    assert list(dict.fromkeys(table["test_task"])) == ordered
    assert table["size"].tolist() == ["200", "1000"] * len(tasks)


@pytest.mark.parametrize(
    "ordered",
    [
        ["addition:digits=2", "addition", "addition:digits=5", "addition:digits=10,test=9"],
        ["addition", "addition:digits=5", "addition:digits=10", "addition:digits=20"],
        ["follow_suit:players=2", "follow_suit:players=3", "follow_suit", "follow_suit:players=10"],
        ["sudoku_4x4", "sudoku:block_rows=2,block_columns=3", "sudoku_9x9"],
        ["eleusis:ranks=6", "eleusis:ranks=7", "eleusis", "eleusis:ranks=10"],
        ["gone:size=5", "gone:size=10", "gone:size=10,x=0.25", "gone:size=10,x=0.5"],
    ],
)
def test_the_order_of_test_tasks(ordered: list[str]) -> None:
    assert in_order(reversed(ordered)) == ordered


def test_runs_without_shift_have_one_row_over_test_tasks(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    for test_task in ("", "hanoi:disks=7"):
        for pair in shift_pairs(Grid("follow_suit", (), ("noir", "comic"), (0, 50))):
            one = job("ffnsl", pair, 1, test_task=test_task)
            kept.add(Record(one, "ok", {"framework_accuracy": 0.5}))
    text = render(kept.frame(), "markdown", ["framework_accuracy"], "wide")
    assert re.findall(r"\*(.*?)\*", text) == [
        "no shift, 0 % shifted",
        "shift comic, 50 % shifted",
        "shift noir, 50 % shifted",
    ]
    assert text.count("| ffnsl") == 3 and text.count("\n## ") == 0
