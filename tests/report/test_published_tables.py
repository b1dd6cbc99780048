"""Published numbers are those of the papers, and rows of their tables are compared with runs."""

import fnmatch
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.report.published import papers as published
from nsl_bench.report.published.figures import Figure
from nsl_bench.report.published.pages import coverage, write_report
from nsl_bench.report.published.reproduce import minutes, reproduction
from nsl_bench.report.published.tabulated import causes, compare_rows, planned
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .conftest import Script


def test_every_paper_says_where_its_numbers_come_from() -> None:
    assert published.names() == ["ffnsl2021", "ffnsl2023", "neuid3", "nsl2020", "ntoc2023"]
    for name in published.names():
        paper = published.paper(name)
        assert paper.title and paper.authors and paper.source and paper.licence and paper.counting


@pytest.mark.parametrize(
    ("name", "comparable"),
    [
        pytest.param("nsl2020", 35, marks=pytest.mark.slow),
        pytest.param("ntoc2023", 27, marks=pytest.mark.slow),
        ("neuid3", 0),
    ],
)
def test_every_published_row_has_its_runs_or_a_reason(
    name: str, comparable: int, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NSL_BENCH_UCI", str(shared / "data" / "uci"))
    rows = planned(name, "quick", shared / "data")
    with_runs = [row for row in rows if row.jobs]
    assert len(rows) == len(published.table(name)) and all(row.jobs or row.reason for row in rows)
    assert len(with_runs) >= comparable and all(row.rule.margin or row.others for row in with_runs)
    jobs = [job for row in with_runs for job in row.jobs]
    assert {job.repeat for job in jobs} == {1, 2, 3} and minutes(name, jobs) > 0
    tasks = {job.benchmark for job in jobs}
    assert all(fnmatch.filter(tasks, pattern.split()[0]) for pattern in published.paper(name).minutes)
    quick = {job.key() for job in reproduction(name, "quick", shared / "data").jobs}
    assert {job.key() in quick for job in jobs if minutes(name, [job]) > 10} <= {False}


def test_tables_have_the_papers_numbers_of_bits(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSL_BENCH_UCI", str(shared / "data" / "uci"))
    rule = next(rule for rule in published.paper("neuid3").rules if "one_hot" in rule.where.get("input", ""))
    rows = published.table("neuid3").query("metric == 'n_attributes'")
    others = {}
    for theirs, count in zip(rows["dataset"], rows["mean"].astype(int), strict=True):
        if theirs not in ("diabetes", "blood-transfusion", "yeast"):  # which the folder lacks
            task = rule.benchmark.format(dataset=rule.names["dataset"].get(theirs, theirs))
            ours = len(registry.create("benchmark", task).slots)
            others |= {theirs: (count, ours)} if ours != count else {}
    no_bins = {"breast-cancer": (43, 27), "hepatitis": (51, 31), "statlog-german": (64, 71)}
    assert others == {"mushroom": (22, 21), **no_bins}, "one column of mushroom has one value"


def test_means_and_statements_of_a_table_are_compared(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean over test tasks against a number, a lead over the shares against what the text says, a ratio."""
    store, table = Store(tmp_path / "runs"), published.table

    def filled(
        name: str, which: int, number: Callable[[Job], float], preset: str = "quick"
    ) -> dict[str, Figure]:
        monkeypatch.setattr("nsl_bench.report.published.tabulated.table", lambda n: table(n).iloc[[which]])
        rows = planned(name, preset, shared / "data")
        jobs = {job.key(): job for row in rows for job in chain(row.jobs, row.others, *row.under)}
        for job in jobs.values():
            store.add(Record(job, "ok", metrics={row.rule.metric: number(job) for row in rows}))
        return {figure.shift: figure for figure in compare_rows(rows, store)}

    seven = filled("ntoc2023", 33, lambda job: 0.8607 + (0.1 if "=7" in str(job.test_task) else -0.1))
    hanoi = seven["tower_of_hanoi, disks_5_to_7_or_9, ntoc"]
    assert hanoi.measured == pytest.approx(86.07) and hanoi.badge == "reproduced" and hanoi.margin == 3
    told = filled(
        "nsl2020", 1, lambda job: 0.9 - 0.3 * job.learner.startswith("random") + 0.001 * job.repeat**2
    )
    lead = next(f for f in told.values() if "random_forest, above" in f.shift)
    assert lead.badge == "reproduced" and lead.measured == pytest.approx(0.3)
    rows = table("neuid3")
    of_suits = (
        (rows["table"].astype(str) == "4")
        & (rows["dataset"] == "suit_order")
        & (rows["tests"] == "neural_facts")
    )
    which = int(np.flatnonzero(of_suits)[0])
    (over,) = filled("neuid3", which, lambda job: 0.8 if "optimal" in job.learner else 0.79).values()
    assert over.badge == "reproduced" and over.measured == pytest.approx(0.79 / 0.8)
    assert over.metric == "f1_violated as a ratio" and over.learner == "neuid3:tests=nf,named=true"
    (none,) = filled("neuid3", which, lambda job: 0.8 * (job.repeat == 1), "paper").values()
    assert none.badge == "undecidable" and none.repeats == 1, "the divisor is 0 in the other six"

    def stuck(job: Job) -> float:
        return 0.8 if "starts=5" in job.learner or "optimal" in job.learner else 0.4 + 0.01 * (job.repeat % 3)

    (once,) = filled("neuid3", which, stuck, "paper").values()
    assert once.badge == "differs"
    assert "starts=5 on eleusis:concept=suit_order of drawn_symbols it is 1 " in once.reason
    of_facts = (
        (rows["table"].astype(str) == "3") & (rows["dataset"] == "increase_suits") & (rows["method"] == "ndt")
    )

    for part, reason in (
        ("tint=ranks", "increase_suits,tint=ranks of drawn_symbols it is"),
        ("starts=5", "starts=5 on eleusis:concept=increase_suits of drawn_symbols it is"),
        ("emnist", "named=true on eleusis:concept=increase_suits of emnist it is"),
    ):

        def nearer(job: Job, part: str = part) -> float:
            return (0.95 if part in str(job) + job.source else 0.2) + 0.02 * (job.repeat % 3)

        (suits,) = filled("neuid3", int(np.flatnonzero(of_facts)[0]), nearer, "paper").values()
        assert suits.badge == "differs" and reason in suits.reason
    for figure, sentence in (
        (hanoi, "Margins, in the unit of the figures: sequence accuracy 3."),
        (lead, "Statements are tested one-sided."),
    ):
        page, *_ = write_report([figure], tmp_path, "command", name="nsl2020")
        assert f"\n\n{sentence}\n\n" in page.read_text()


def test_what_became_of_every_published_figure() -> None:
    assert causes("ffnsl2023").total() == 8762
    for name in published.names():
        fates = coverage(name, [])
        assert fates["published"] == fates["not run"] + fates["not comparable"] > 0


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
