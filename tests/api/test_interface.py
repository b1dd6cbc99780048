"""The Python interface: what notebooks and other programs call."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench import Results, UserError
from nsl_bench.api import main_job
from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.learners.trees import Majority
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.sandbox.limits import Limits

HERE = nsl_bench.Options(limits=None, device="cpu", jobs=1)
TASK = "crop_yield"


class Share:
    """Label shares of the train split, with a dial."""

    track = "symbolic"

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, train):  # type: ignore[no-untyped-def]
        counts = np.bincount(train.labels, minlength=train.n_labels) ** self.power
        self.share = counts / counts.sum()
        return self

    def predict_proba(self, test):  # type: ignore[no-untyped-def]
        return np.tile(self.share, (len(test), 1))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three learners: by name, as an object, and as another object under a name."""
    out = tmp_path_factory.mktemp("results") / "r"
    learners = {"majority": "majority", "Share": Share(), "sharp shares": Share(4.0)}
    return nsl_bench.evaluate(learners, TASK, symbolic=True, repeats=3, out=out, options=HERE)


def test_learners_are_taken_as_they_are(found: Results) -> None:
    assert sorted(found.frame["learner"]) == sorted(["majority", "Share", "sharp shares"] * 3)
    assert (found.frame["status"] == "ok").all() and len(found) == 9
    assert "9 runs; crop_yield; majority" in repr(found)


def test_the_same_call_does_only_what_is_missing(found: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Share()
    monkeypatch.setattr(Share, "fit", lambda self, train: pytest.fail("it was run before"))
    again = nsl_bench.evaluate(learner, TASK, symbolic=True, repeats=3, out=found.folder, options=HERE)
    assert len(again) == 3 and set(again.frame["learner"]) == {"Share"}


def test_another_option_is_another_run(found: Results) -> None:
    versions = found.frame.groupby("learner")["learner_version"].first()
    assert versions["Share"] != versions["sharp shares"]


def test_a_class_of_an_installed_learner_is_that_learner(tmp_path: Path) -> None:
    made = nsl_bench.evaluate(Majority, TASK, symbolic=True, repeats=1, out=tmp_path / "r", options=HERE)
    assert list(made.frame["learner"]) == ["majority"]


def test_results_live_without_a_folder() -> None:
    made = nsl_bench.evaluate("majority", TASK, symbolic=True, repeats=[2], options=HERE)
    assert list(made.frame["repeat"]) == [2] and made.folder.is_dir()
    assert made.where(repeat=2).folder.is_dir()


def test_the_folder_is_read_once(found: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    records = Store.__iter__

    def counted(store: Store) -> Iterator[Record]:
        read.append(store.folder)
        return records(store)

    monkeypatch.setattr(Store, "__iter__", counted)
    fresh = nsl_bench.results(found.folder)
    few = fresh.where(learner="majority").where(repeat=2)
    assert len(fresh.frame) == len(fresh.latest()) == 9 and len(few.latest()) == len(few.frame) == 1
    assert len(read) == 1 and len(fresh.refresh().frame) == 9 and len(read) == 2


def test_tables(found: Results) -> None:
    long = found.table()
    assert "hypothesis accuracy" in long and "sharp shares" in long
    wide = found.table(["hypothesis_accuracy", "atoms"], layout="wide")
    assert wide.count("| learner") == 1 and "| hypothesis accuracy " in wide and "| atoms" in wide
    assert "\\toprule" in found.table(["hypothesis_accuracy"], "latex", "wide")
    assert "<table" in found._repr_html_() and "<table" in found.table(["atoms"], "html", "wide") + "<table"
    assert set(found.summary(["brier_score"])["metric"]) == {"brier_score"}


def test_named_results(found: Results) -> None:
    shown = nsl_bench.results(found.folder, names={"majority": "Majority class"})
    assert "Majority class" in shown.table() and "majority" in set(shown.frame["learner"])
    assert len(shown.where(learner="Majority class")) == len(shown.where(learner="majority")) == 3
    assert len(shown.compare("Share", "Majority class", "brier_score")) == 1


def test_several_folders(found: Results, tmp_path: Path) -> None:
    more = nsl_bench.evaluate("majority", TASK, symbolic=True, repeats=[4], out=tmp_path / "r", options=HERE)
    both = nsl_bench.results(found.folder, more.folder, found.folder)
    assert len(both) == 10 and len(both.where(learner="majority", repeat=[3, 4])) == 2


def test_a_comparison_is_paired(found: Results) -> None:
    table = found.compare("sharp shares", "majority", "brier_score")
    assert list(table["n"]) == [3] and table["difference"].iloc[0] > 0
    assert table["low"].iloc[0] < table["difference"].iloc[0] < table["high"].iloc[0]
    ours, theirs = (
        found.where(learner=name).frame.sort_values("repeat")["brier_score"].to_numpy()
        for name in ("sharp shares", "majority")
    )
    assert table["difference"].iloc[0] == pytest.approx((ours - theirs).mean())


def test_a_comparison_covers_test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only train splits, where all have one test set."""
    learners = ["random_forest:trees=3", "majority"]
    runs = nsl_bench.evaluate(learners, "sudoku_4x4", symbolic=True, repeats=3, out=tmp_path, options=HERE)
    both = runs.compare(*learners).iloc[0]
    monkeypatch.setattr("nsl_bench.report.intervals.example_scores", lambda *_: None)
    alone = runs.compare(*learners).iloc[0]
    assert both["difference"] == pytest.approx(alone["difference"]) and both["low"] < both["high"]
    assert both["low"] != pytest.approx(alone["low"])


def test_runs_that_saw_through_different_networks_make_no_pair(
    found: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (found.where(learner=name) for name in ("sharp shares", "majority"))
    for name, side in (("a", first), ("b", second)):
        seen = {k: replace(r, environment={"network_fingerprint": name}) for k, r in side.latest().items()}
        monkeypatch.setattr(side, "latest", lambda seen=seen: seen)
    with pytest.raises(UserError, match="saw through different networks"):
        nsl_bench.compare(first, second)


def test_metrics_that_runs_lack_are_computed_from_their_predictions(
    found: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = nsl_bench.results(found.folder)
    before = late.frame["macro_f1"].tolist()
    late.frame = late.frame.drop(columns="macro_f1")
    assert late.named(["macro_f1"])["macro_f1"].tolist() == pytest.approx(before)
    assert "macro F1" in late.table(["macro_f1"])


def test_the_f1_of_each_class_is_named(found: Results) -> None:
    names = registry.create("benchmark", TASK).labels.names
    assert {f"F1 of {name}" in found.table(["f1"]) for name in names} == {True}
    assert set(found.summary(["f1"])["metric"]) == {f"f1_{name}" for name in names}
    without = nsl_bench.results(found.folder)
    without.frame = without.frame.drop(columns=[f"f1_{name}" for name in names])
    assert without.summary(["f1"])["mean"].tolist() == pytest.approx(found.summary(["f1"])["mean"].tolist())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.where(leaner="majority"), "did you mean 'learner'"),
        (lambda r: r.where(learner="majorty"), "No run has the learner 'majorty'. Did you mean"),
        (lambda r: r.where(share=33), "No run has the share 33; these runs have 0"),
        (lambda r: r.table(["accuracy"]), "metric"),
        (lambda r: r.table(["sequence_accuracy"]), "No run has a value of sequence_accuracy"),
        (lambda r: r.compare("majority", "nobody"), "No run has the learner 'nobody'"),
        (lambda r: nsl_bench.compare(r, r), "must have results of one learner with one network; first has 3"),
        (lambda r: nsl_bench.evaluate([], TASK), "learners is empty"),
        (lambda r: nsl_bench.evaluate(3, TASK), "must have a method fit; got 3"),
        (lambda r: nsl_bench.evaluate("majority", TASK, shares=120), "between 0 and 100; got 120"),
        (lambda r: nsl_bench.evaluate("majority", TASK, repeats=0), "whole number of 1 or more"),
        (lambda r: nsl_bench.evaluate([Share(), Share(2.0)], TASK), "Two learners are named 'Share'"),
        (lambda r: nsl_bench.evaluate("majorty", TASK, symbolic=True, repeats=1), "majority"),
    ],
)
def test_wrong_calls_are_one_sentence(found: Results, call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=f"(?i){words}"):
        call(found)


def test_a_file_learner_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import os, numpy as np\n"
        "class Mine:\n"
        "    track = 'symbolic'\n"
        "    def fit(self, train): self.n = train.n_labels\n"
        "    def predict_proba(self, test): return np.full((len(test), self.n), 1 / self.n)\n"
    )
    limits = nsl_bench.Options(limits=Limits(time=60), device="cpu", jobs=1)
    made = nsl_bench.evaluate(f"{file}:Mine", TASK, symbolic=True, repeats=1, options=limits)
    record = made.record(made.frame["key"].iloc[0])
    assert record.status == "ok" and record.environment["isolation"]


def test_tasks_are_listed() -> None:
    told = {task.name: task for task in nsl_bench.list_tasks()}
    assert {"follow_suit", "sudoku_4x4", "crop_yield"} <= told.keys() and not any("@" in n for n in told)
    assert told["follow_suit"].slots[0] == "player_1" and "Train small" in str(told["follow_suit"])


def test_every_name_is_there() -> None:
    for name in nsl_bench.__all__:
        assert getattr(nsl_bench, name) is not None
    assert set(nsl_bench.__all__) <= set(dir(nsl_bench))
    with pytest.raises(AttributeError, match="evaluat"):
        nsl_bench.evaluat  # noqa: B018


def test_the_import_is_light() -> None:
    code = "import sys, nsl_bench; nsl_bench.UserError; "
    code += "print([m for m in ('torch', 'datasets', 'pandas', 'matplotlib', 'scipy') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


# The main job.


def test_its_parts_are_there() -> None:
    tasks = [task for task, _, _ in main_job.GRIDS]
    assert tasks == ["follow_suit", "sudoku_4x4", "sudoku_9x9"]
    assert all({"ffnsl", "majority"} < set(learners) for _, _, learners in main_job.GRIDS)


def test_the_command_prints_a_table_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_job, "GRIDS", (("sudoku_4x4", "rotate90", ("majority",)),))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # no worker is started
    words = ["bench", "--repeats", "1", "--out", str(tmp_path / "bench")]
    first, again = (CliRunner().invoke(main, words, standalone_mode=False) for _ in range(2))
    assert first.return_value == 0, first.output
    assert "3 runs done, 0 failed, 0 already done" in first.stderr and "| majority" in first.stdout
    assert "0 runs done, 0 failed, 3 already done" in again.stderr
    assert again.stdout.splitlines()[:-1] == first.stdout.splitlines()[:-1]
    assert [path.suffix for path in (tmp_path / "bench" / "curves").iterdir()] == [".png"]


def test_no_repeats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"repeats must be 1 or more; got 0\."):
        main_job.run_main_job(tmp_path / "bench", repeats=0)
