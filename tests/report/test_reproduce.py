"""The paper reproduced: counted as the paper counts, and badges that say what the numbers say."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from nsl_bench.generators.tasks.follow_suit import read_csv

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Hypothesis
from nsl_bench.data.splits import symbolic_split
from nsl_bench.report.published import papers as published
from nsl_bench.report.published.equivalence import Mean, compare_means
from nsl_bench.report.published.pages import read_figures, summary, write_report
from nsl_bench.report.published.papers import margin_of
from nsl_bench.report.published.reasons import check_reason, misread
from nsl_bench.report.published.reproduce import PRESETS, Figure, badge_of, compare, grid, paper_atoms
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep

from .conftest import Script

CARDS = Hypothesis(
    (
        "winner(X) :- player(X), not p1(X).",
        "p1(V1) :- V2 != V3, suit(V1,V2), suit(1,V3), player(V1), suit(V2), suit(V3).",
        "p1(V1) :- suit(V2,V3), suit(1,V3), rank_higher(V2,V1), player(V1), player(V2), suit(V3).",
    ),
    10,
)
GRIDS = Hypothesis(
    tuple(
        f"invalid :- neq(V1,V2), digit(V1,V3), digit(V2,V3), {kind}(V1,V4), {kind}(V2,V4), cell(V1), "
        f"cell(V2), num(V3), {kind}(V4)."
        for kind in ("row", "col", "block")
    ),
    18,
)


def test_atoms_are_counted_as_in_the_paper() -> None:
    """13 and 15 are what the paper's files hold for the correct hypotheses."""
    assert paper_atoms("follow_suit", CARDS) == 13
    assert paper_atoms("sudoku_4x4", GRIDS) == paper_atoms("sudoku_9x9", GRIDS) == 15
    tree = Hypothesis(("a if x <= 1", "b if x > 1"), 2, language="tree")
    assert paper_atoms("follow_suit", tree) == 2


_ONE_ROW = {
    "follow_suit": "player_1,player_2,player_3,player_4,winner\n2h,3h,4h,5h,player_4\n",
    "sudoku_4x4": f"puzzle,label\n{' '.join('0' * 16)},valid\n",
    "sudoku_9x9": f"puzzle,label\n{' '.join('0' * 81)},valid\n",
}


def write_splits(folder: Path, task: str) -> Path:
    """Splits of one example each in the layout of the published files; returns `folder`."""
    names = [f"{size}/train_{k}.csv" for size in ("small", "large") for k in range(1, 6)]
    for name in (*names, "test.csv"):
        path = folder / task / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_ONE_ROW[task], encoding="utf-8")
    return folder


@pytest.fixture
def splits(tmp_path: Path) -> Path:
    return write_splits(tmp_path / "splits", "follow_suit")


def figures_of(
    splits: Path, folder: Path, learner: str, metrics: Callable[[Job], dict[str, float]]
) -> dict[tuple[str, str], Figure]:
    jobs = [job for job in grid(["follow_suit"], PRESETS["quick"], splits) if job.learner == learner]
    jobs = [job for job in jobs if job.percent == 0]
    store = Store(folder)
    rules = CARDS if learner == "ffnsl" else None
    for job in jobs:
        store.add(Record(job, "ok", metrics=metrics(job), hypothesis=rules))
    return {(figure.metric, figure.counting): figure for figure in compare(jobs, store)}


def test_a_network_with_options_is_compared_with_the_published_one(tmp_path: Path) -> None:
    splits = write_splits(tmp_path / "splits", "sudoku_9x9")
    jobs = [job for job in grid(["sudoku_9x9"], PRESETS["quick"], splits) if job.learner == "ffnsl"]
    jobs = [replace(job, track="pretrained", network="softmax:epochs=2") for job in jobs]
    store = Store(tmp_path / "runs")
    for job in jobs:
        seen = {"framework_accuracy": 0.8, "hypothesis_accuracy": 1.0, "concept_accuracy_test": 0.975}
        store.add(Record(job, "ok", metrics=seen, hypothesis=GRIDS))
    figures = {figure.metric: figure for figure in compare(jobs, store)}
    assert figures["hypothesis_accuracy"].badge == "reproduced"
    worse = figures["framework_accuracy"]
    assert (worse.network, worse.published, worse.badge) == ("softmax", 0.943, "differs")
    assert worse.reason == "", "another network is no tested reason"


def test_the_published_value_is_reproduced(splits: Path, tmp_path: Path) -> None:
    numbers = {"hypothesis_accuracy": 1.0, "atoms": 10.0, "learning_time": 1.0}
    figures = figures_of(splits, tmp_path / "runs", "ffnsl", lambda job: numbers)
    assert figures["hypothesis_accuracy", "paper"].badge == "reproduced"
    assert figures["atoms", "paper"].badge == "reproduced" and figures["atoms", "paper"].measured == 13
    ours = figures["atoms", "ours"]
    assert (ours.badge, ours.measured) == ("not comparable", 10)
    assert ours.reason == "counted differently in the paper"
    assert figures["learning_time", "paper"].badge == "not comparable"
    assert "machine" in figures["learning_time", "paper"].reason


def test_another_value_differs_and_near_is_not_yet_reproduced(splits: Path, tmp_path: Path) -> None:
    def figure(name: str, accuracy: float) -> Figure:
        metrics = lambda job: {"hypothesis_accuracy": accuracy + 0.01 * (job.repeat - 3)}  # noqa: E731
        return figures_of(splits, tmp_path / name, "random_forest", metrics)["hypothesis_accuracy", "paper"]

    other, near = figure("other", 0.53), figure("near", 0.68)
    assert other.badge == "differs" and other.difference == pytest.approx(0.53 - 0.686713)
    assert other.measured_std_err == pytest.approx(0.01 * (2.5 / 5) ** 0.5)
    assert near.badge == "not enough data" and near.margin == 0.02
    assert near.power < 0.1 and np.isnan(near.needed), "the paper's standard error is 0.02, too"


def test_two_repeats_tell_nothing(splits: Path, tmp_path: Path) -> None:
    jobs = [job for job in grid(["follow_suit"], PRESETS["quick"], splits) if job.learner == "ffnsl"]
    store = Store(tmp_path / "runs")
    for job in jobs:
        if job.repeat <= 2:
            store.add(Record(job, "ok", metrics={"hypothesis_accuracy": 1.0}))
    (figure,) = compare(jobs, store)
    assert figure.badge == "not enough data" and figure.needed == 3


def test_neither_equal_nor_different(tmp_path: Path) -> None:
    """A difference of about the margin that precise repeats cannot tell from it."""
    compared = compare_means(Mean(0.511, 0.005, 5), Mean(0.5, 0.003, 5), 0.02)
    assert badge_of(compared, 5) == "undecided" and compared.power >= 0.8
    assert badge_of(compared, 2) == "not enough data"


def test_margins_are_in_the_papers_units() -> None:
    assert margin_of("framework_accuracy", "random_forest", 0.5) == 0.02
    assert margin_of("brier_score", "ffnsl", 0.5) == 0.04
    assert margin_of("atoms", "ffnsl:penalty=constant", 13) == 1
    assert margin_of("rules", "random_forest", 60) == 6 and margin_of("rules", "fcn", 2) == 1
    with pytest.raises(KeyError):
        margin_of("learning_time", "ffnsl", 1.0)


def test_a_reason_holds_if_its_condition_moves_the_figure_to_the_published_one() -> None:
    theirs, plain = Mean(0.522, 0.007, 5), {k: 0.55 + 0.002 * k for k in range(1, 6)}
    moved = {k: value - 0.035 + 0.001 * (k % 2) for k, value in plain.items()}
    holds = check_reason("the other network", plain, moved, theirs, 0.02)
    assert holds is not None and holds.holds and "with the other network it is 0.5216" in str(holds)
    unmoved = {k: v + 0.001 * (-1) ** k for k, v in plain.items()}
    still = check_reason("nothing", plain, unmoved, theirs, 0.02)
    assert still is not None and not still.holds, "it does not move the figure"
    beyond = check_reason("too much", plain, {k: v - 0.2 for k, v in moved.items()}, theirs, 0.02)
    assert beyond is not None and not beyond.holds, "it moves it past the published one"
    assert check_reason("one", plain, {1: 0.5}, theirs, 0.02) is None


@pytest.mark.parametrize("of_code", [0.52, 0.56])
def test_the_network_of_the_code_is_a_reason_only_where_it_reproduces(
    splits: Path, tmp_path: Path, of_code: float
) -> None:
    write_splits(splits, "sudoku_4x4")
    jobs = [job for job in grid(["sudoku_4x4"], PRESETS["quick"], splits) if "cnn_lstm" in job.learner]
    store = Store(tmp_path / "runs")
    for job in jobs:
        base = of_code if "published" in job.learner else 0.57
        value = base + 0.002 * (job.repeat - 3) + 0.001 * (-1) ** (job.repeat + len(job.learner))
        store.add(Record(job, "ok", metrics={"hypothesis_accuracy": value}))
    figures = {figure.learner: figure for figure in compare(jobs, store)}
    assert figures["cnn_lstm"].badge == "differs"
    assert ("cnn_lstm:published=true" in figures["cnn_lstm"].reason) == (of_code == 0.52)
    assert figures["cnn_lstm:published=true"].reason == ""


def test_the_grid_is_the_papers(splits: Path) -> None:
    quick = grid(["follow_suit"], PRESETS["quick"], splits)
    assert {(job.learner, job.track, job.percent) for job in quick} == {
        (learner, "symbolic", 0.0) for learner in ("ffnsl", "random_forest", "fcn")
    }
    paper = grid(["follow_suit"], PRESETS["paper"], splits)
    assert {job.size for job in paper} == {"small", "large"}
    assert {job.percent for job in paper} == set(range(0, 101, 10))
    with pytest.raises(UserError, match="DanCunnington/FFNSL"):
        grid(["sudoku_4x4"], PRESETS["quick"], splits)


def test_the_report(splits: Path, tmp_path: Path) -> None:
    numbers = {"hypothesis_accuracy": 0.25, "atoms": 10.0}
    found = figures_of(splits, tmp_path / "runs", "ffnsl", lambda job: numbers)
    figures = [*found.values(), replace(found["atoms", "paper"], badge="differs", reason="a good reason")]
    text = summary(figures)
    assert "4 figures: 1 reproduced, 2 differs (1 with a tested reason), 1 not comparable." in text
    report, picture, table = write_report(figures, tmp_path, "nsl-bench reproduce ffnsl2023")
    page = report.read_text()
    assert "**Of 3 comparable figures 1 are reproduced, 2 differ and 0 are not decided.**" in page
    assert re.search(r"Most differences: [\w ]+ on follow_suit \(1 of \d\)", page) and picture.is_file()
    assert pd.read_csv(table)["difference"].min() == pytest.approx(-3)
    assert summary(read_figures(table)) == text and read_figures(table)[-1].reason == "a good reason"


def test_forests_on_the_papers_tricks(shared: Path, tmp_path: Path) -> None:
    """A real reproduction: the paper's splits and its learner."""
    jobs = grid(["follow_suit"], PRESETS["quick"], shared / "data" / "ffnsl_splits")
    jobs = [job for job in jobs if job.learner == "random_forest"]
    store = Store(tmp_path / "runs")
    assert sweep(jobs, store, Bench()).failed == 0
    figures = {(f.metric, f.counting): f for f in compare(jobs, store)}
    accuracy = figures["hypothesis_accuracy", "paper"]
    assert accuracy.published == 0.686713 and accuracy.measured == pytest.approx(0.687, abs=0.003)
    for metric in ("hypothesis_accuracy", "atoms", "rules"):
        assert figures[metric, "paper"].badge == "not enough data"


def test_misread_digits_explain_trees_with_knowledge_alone(shared: Path, tmp_path: Path) -> None:
    """On true concepts they are smaller than the paper's; the other forest's accuracy is but spread."""
    jobs = grid(["sudoku_9x9"], PRESETS["quick"], shared / "data" / "ffnsl_splits")
    jobs = [job for job in jobs if job.learner.startswith("random_forest")]
    store = Store(tmp_path / "runs")
    assert sweep(jobs, store, Bench()).failed == 0
    figures = {(f.learner, f.metric): f for f in compare(jobs, store)}
    rules = figures["random_forest_knowledge", "rules"]
    assert rules.badge == "differs" and "misread" in rules.reason and "moved, p = " in rules.reason
    assert figures["random_forest", "hypothesis_accuracy"].reason == ""


def test_examples_are_misread_until_so_many_are_spoilt(shared: Path) -> None:
    task = registry.create("benchmark", "sudoku_9x9")
    split = symbolic_split(task, "train", "small", 1, splits=shared / "data/ffnsl_splits/sudoku_9x9")
    read = misread(split, task, 0.08, np.random.default_rng(0))
    changed = (read.concepts != split.concepts).sum(axis=1)
    invalid = split.labels == task.labels.names.index("invalid")
    spoilt = task.knowledge_features(read.concepts, split.metadata).any(axis=1) != invalid
    assert changed.max() == 1 and spoilt.sum() == round(0.08 * len(split)) < changed.sum()
    assert ((read.concepts == BLANK) == (split.concepts == BLANK)).all()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'p1,winner\n"' + b"x" * 200_000])
def test_splits_that_are_no_csv(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train_2.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"train_2\.csv must be a CSV file"):
        read_csv(tmp_path / "train_2.csv", ["p1", "winner"])


# The published numbers are the ones that were copied from the papers.


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
    row = table.query(
        "learner == 'fcn' and size == 'small' and shift == 'adversarial_batman_joker' and percent == 10 "
        "and metric == 'framework_accuracy'"
    )
    assert row["mean"].tolist() == [0.434565] and row["std_err"].tolist() == [0.0248247]
    assert set(table["run"]) == {"main"}
    assert published.ffnsl2023("crop_yield").empty


def test_shares_are_fractions() -> None:
    for benchmark in ("follow_suit", "sudoku_4x4", "sudoku_9x9"):
        table = published.ffnsl2023(benchmark)
        names = ["incorrect_examples", "hypothesis_accuracy", "framework_accuracy"]
        shares = table[table["metric"].isin(names)]
        assert shares["mean"].between(0, 1).all() and len(shares)


def test_no_number_is_lost_or_changed(script: Script, shared: Path, tmp_path: Path) -> None:
    for made in script("restate_paper").write(shared, tmp_path):
        assert made.read_text() == (published.FOLDER / made.name).read_text()
    raw = pd.read_csv(shared / "paper" / "ffnsl_results.csv")
    kept = [published.table(path.stem) for path in published.FOLDER.glob("ffnsl2023-[fs]*.csv")]
    assert sum(map(len, kept)) == len(raw)
