"""Learners that cannot take a task at all: not applicable, which is no failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.cli.report import report as report_command
from nsl_bench.run.bench import Bench
from nsl_bench.run.check import check
from nsl_bench.run.grid import Options
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.limits import Limits

LIMITS = Limits(time=240)
DECLINES = """
from nsl_bench.core.errors import NotApplicable
class Declines:
    def fit(self, train):
        raise NotApplicable("Declines takes sequences only.")
"""


@pytest.mark.parametrize(
    ("task", "learner", "said"),
    [
        ("follow_suit", "random_forest_knowledge", "follow_suit has no knowledge features."),
        ("follow_suit", "cart:knowledge=true", "follow_suit has no knowledge features."),
        ("zoo", "true_rule", "the rule that labels the data of zoo"),
    ],
)
def test_what_a_task_lacks_is_no_failure(task: str, learner: str, said: str) -> None:
    (job,) = plan(task, [learner], track="symbolic")
    outcome = Bench(limits=None).run(job)
    assert outcome.record.status == "not_applicable" and said in outcome.record.message
    assert outcome.predictions is None and not outcome.record.metrics


def test_a_report_leaves_it_out_of_comparisons(tmp_path: Path) -> None:
    nsl_bench.evaluate(
        ["random_forest_knowledge", "majority"],
        "follow_suit",
        repeats=1,
        symbolic=True,
        out=tmp_path / "out",
        options=Options(limits=None, jobs=1),
    )
    words = [str(tmp_path / "out"), "--against", "random_forest_knowledge", "--no-curves"]
    done = CliRunner().invoke(report_command, words, catch_exceptions=False)
    assert done.exit_code == 0 and "not applicable" in done.output
    assert "have no run in common that is applicable to both" in done.output


def test_a_report_on_nothing_else_says_so(tmp_path: Path) -> None:
    results = nsl_bench.evaluate(
        ["random_forest_knowledge"],
        "follow_suit",
        repeats=1,
        symbolic=True,
        out=tmp_path / "out",
        options=Options(limits=None, jobs=1),
    )
    assert "not applicable" in results.table() and not results.structure()
    done = CliRunner().invoke(report_command, [str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0 and "1 runs are not applicable to their learners" in done.output


def test_a_comparison_of_runs_on_true_concepts_is_of_the_hypotheses(tmp_path: Path) -> None:
    results = nsl_bench.evaluate(
        ["random_forest_knowledge", "majority", "random_forest:trees=3"],
        "follow_suit",
        repeats=1,
        symbolic=True,
        out=tmp_path / "out",
        options=Options(limits=None, jobs=1),
    )
    compared = results.compare("random_forest:trees=3", "majority")
    assert len(compared) == 1 and compared["n"].tolist() == [1]
    words = [str(tmp_path / "out"), "--against", "majority", "--no-curves"]
    done = CliRunner().invoke(report_command, words, catch_exceptions=False)
    assert done.exit_code == 0 and "hypothesis accuracy" in done.output.partition("minus majority")[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
def test_it_is_none_in_a_process_of_its_own_either() -> None:
    (job,) = plan("follow_suit", ["random_forest_knowledge"], track="symbolic")
    record = Bench(limits=LIMITS).run(job).record
    assert (record.status, record.message) == ("not_applicable", "follow_suit has no knowledge features.")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
def test_check_notes_it_and_finds_no_problem(tmp_path: Path) -> None:
    (tmp_path / "declines.py").write_text(DECLINES)
    found = list(check(f"{tmp_path}/declines.py:Declines", LIMITS))
    assert not [one for one in found if one.wrong]
    assert "not applicable: Declines takes sequences only." in [one.sentence for one in found]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
def test_check_notes_a_true_rule_that_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsl_bench.run.check.MOCKS", ())
    (tmp_path / "declines.py").write_text(
        DECLINES.replace(":\n    def", ':\n    track = "known_rules"\n    def')
    )
    (found,) = check(f"{tmp_path}/declines.py:Declines", LIMITS, ["zoo"])
    assert not found.wrong and found.sentence.startswith("not applicable: zoo")
    assert "has no true rule" in found.sentence
