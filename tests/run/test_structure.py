"""Structural shift: trained on one member of a family, tested on another; tasks that are not applicable."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from nsl_bench.generators.tasks.eleusis import Eleusis
from nsl_bench.generators.tasks.follow_suit import FollowSuit
from nsl_bench.generators.tasks.sudoku_folds import sudoku_4x4, sudoku_9x9

import nsl_bench
from nsl_bench.cli.report import report as report_command
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.run.bench import Bench
from nsl_bench.run.check import check
from nsl_bench.run.grid import Options
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.structural_shift import changed_sizes, covering, member_of, with_concepts
from nsl_bench.sandbox.limits import Limits


def jobs(task: str, learner: str, *tested: str, **more: Any) -> list[Job]:
    return plan(task, [learner], test_tasks=tested, **{"track": "symbolic", **more})


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(limits=None)


@pytest.mark.parametrize(
    ("task", "size", "tested"),
    [
        ("follow_suit", "small", ["follow_suit:players=3", "follow_suit:players=5", "follow_suit:players=6"]),
        ("sudoku_4x4", "small", ["sudoku_9x9"]),
    ],
)
def test_rules_learned_from_true_concepts_hold_on_all_sizes(
    bench: Bench, task: str, size: str, tested: list[str]
) -> None:
    bench.fits.start()
    try:
        records = [bench.run(job).record for job in jobs(task, "ffnsl", "", *tested, sizes=[size])]
    finally:
        bench.fits.release()
    assert [record.status for record in records] == ["ok"] * len(records)
    assert {record.metrics["hypothesis_accuracy"] for record in records} == {1.0}
    assert {record.hypothesis for record in records} == {records[0].hypothesis}
    assert [record.job.test_task for record in records] == ["", *tested]
    assert len({record.content_hash["test"] for record in records}) == len(records)
    assert len({record.content_hash["train"] for record in records}) == 1


def test_a_learner_of_fixed_size_is_not_applicable(bench: Bench) -> None:
    (job,) = jobs("follow_suit", "random_forest", "follow_suit:players=3")
    outcome = bench.run(job)
    assert outcome.record.status == "not_applicable" and outcome.predictions is None
    assert not outcome.record.metrics
    assert "follow_suit:players=3 has 3 slots instead of 4" in outcome.record.message


def test_jobs_without_a_test_task_keep_their_keys() -> None:
    (job,) = jobs("follow_suit", "ffnsl", "follow_suit", track="own")
    assert job.test_task == "" and job.key() == plan("follow_suit", ["ffnsl"])[0].key()
    assert not {name for name in job.identity() if name.startswith("test_t")}
    (other,) = jobs("follow_suit", "ffnsl", "follow_suit:players=3", track="own")
    assert other.key() != job.key() and other.fit_key() == job.fit_key()
    assert Job.from_dict(asdict(other)) == other


@pytest.mark.parametrize(
    ("task", "tested", "said"),
    [
        ("follow_suit", "sudoku_9x9", "not in the family of follow_suit; members are follow_suit:players=3"),
        ("crop_yield", "sudoku_9x9", "crop_yield has one size only"),
        ("follow_suit", "follow_suit:players=20", "players must be between 2 and 13"),
        ("follow_suit", "folow_suit", "Did you mean 'follow_suit'"),
    ],
)
def test_other_test_tasks_are_refused(task: str, tested: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        jobs(task, "majority", tested)
    with pytest.raises(UserError, match="leave out the test task follow_suit:players=3"):
        jobs("follow_suit", "majority", "follow_suit:players=3", splits=tmp_path)


def test_both_sets_have_the_concepts_of_the_larger_member(bench: Bench) -> None:
    (job,) = jobs("sudoku_4x4", "ffnsl", "sudoku_9x9")
    material = bench.material(job)
    assert covering(sudoku_4x4(), sudoku_9x9()).name == "sudoku_9x9"
    train, test = material.view(material.train), next(iter(material.tests().values()))
    assert len(train.concept_space) == len(test.concept_space) == 9
    assert train.concept_ids.max() == 3 and test.concept_ids.max() == 8
    assert train.probabilities.shape[2] == test.probabilities.shape[2] == 9
    assert len(train.slots) == 16 and len(test.slots) == 81
    (plain,) = plan("sudoku_4x4", ["ffnsl"], track="symbolic")
    assert bench.material(plain).train.content_hash == material.train.content_hash


def test_concepts_keep_their_names_in_another_space() -> None:
    small, large = Eleusis(ranks=8), Eleusis(ranks=10)
    assert member_of(small, "eleusis:ranks=10").spec == "eleusis:ranks=10"
    split = small.generate("train", "20", 1, np.random.default_rng(0))
    names = [*small.concept_space.concepts, None]
    wider = with_concepts(split, large.concept_space)
    others = [*large.concept_space.concepts, None]
    told = [[others[c] for c in row] for row in wider.concepts]
    assert told == [[names[c] for c in row] for row in split.concepts]
    blank = with_concepts(replace(split, concepts=np.full_like(split.concepts, BLANK)), large.concept_space)
    assert (blank.concepts == BLANK).all()


def test_what_changes_is_said_only_where_it_is_fixed() -> None:
    four, three = FollowSuit(), FollowSuit(players=3)
    assert changed_sizes(four, three, ()) == []
    assert len(changed_sizes(four, three, ("slots", "labels"))) == 2
    assert changed_sizes(sudoku_4x4(), sudoku_9x9(), ("labels",)) == []


def test_families_name_members_that_exist() -> None:
    for name in ("follow_suit", "sudoku_4x4", "sudoku_9x9:knowledge=reduced", "eleusis:concept=suit_order"):
        task = registry.create("benchmark", name)
        assert task.family is not None
        for member in task.family.members:
            other = member_of(task, member)
            assert other.spec == member and other.family == task.family


def test_evaluate_and_tables_have_the_test_tasks(tmp_path: Path) -> None:
    tasks = {"test_task": ["follow_suit", "follow_suit:players=3"], "options": Options(limits=None, jobs=1)}
    learners, out = ["majority", "random_forest"], tmp_path / "out"
    found = nsl_bench.evaluate(learners, "follow_suit", repeats=1, symbolic=True, out=out, **tasks)
    table = found.table()
    assert table.count("\n## ") == 0 and "| follow_suit:players=3 | majority" in table
    assert table.count("| not applicable") > 3 and "failed" not in repr(found)
    three = found.where(test_task="follow_suit:players=3")
    assert set(three.frame["status"]) == {"ok", "not_applicable"}
    by_task = found.table(["hypothesis_accuracy"], layout="wide")
    header = [word.strip() for word in by_task.splitlines()[4].split("|")]
    assert header[1:4] == ["learner", "follow_suit:players=3", "follow_suit"]
    assert by_task.count("| not applicable") == 1
    assert {path.name for path in found.curves(tmp_path / "curves")} >= {
        "follow_suit-follow_suit-players-3-drawn_decks-small.png",
        "structure-follow_suit-drawn_decks-small.png",
    }


# Learners that cannot take a task at all: not applicable, which is no failure.

LIMITS = Limits(time=240)
isolated = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
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


def evaluated(folder: Path, *learners: str) -> nsl_bench.Results:
    options = Options(limits=None, jobs=1)
    return nsl_bench.evaluate(learners, "follow_suit", repeats=1, symbolic=True, out=folder, options=options)


def reported(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(report_command, [str(folder), *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_report_leaves_it_out_of_comparisons(tmp_path: Path) -> None:
    evaluated(tmp_path, "random_forest_knowledge", "majority")
    with pytest.raises(UserError, match="have a run in common that is applicable to both"):
        reported(tmp_path, "--against", "random_forest_knowledge")


def test_a_report_on_nothing_else_says_so(tmp_path: Path) -> None:
    results = evaluated(tmp_path, "random_forest_knowledge")
    assert "1 run is not applicable to its learner" in results.table()
    assert "1 run is not applicable to its learner" in reported(tmp_path)


def test_a_comparison_of_runs_on_true_concepts_is_of_the_hypotheses(tmp_path: Path) -> None:
    results = evaluated(tmp_path, "random_forest_knowledge", "majority", "random_forest:trees=3")
    compared = results.compare("random_forest:trees=3", "majority")
    assert len(compared) == 1 and compared["n"].tolist() == [1]
    said = reported(tmp_path, "--against", "majority", "--no-curves")
    assert "## Hypothesis accuracy on follow_suit, compared with majority" in said


@isolated
def test_it_is_none_in_a_process_of_its_own_either() -> None:
    (job,) = plan("follow_suit", ["random_forest_knowledge"], track="symbolic")
    record = Bench(limits=LIMITS).run(job).record
    assert (record.status, record.message) == ("not_applicable", "follow_suit has no knowledge features.")


@isolated
def test_check_notes_it_and_finds_no_problem(tmp_path: Path) -> None:
    (tmp_path / "declines.py").write_text(DECLINES)
    found = list(check(f"{tmp_path}/declines.py:Declines", LIMITS))
    assert not [one for one in found if one.wrong]
    assert "not applicable: Declines takes sequences only." in [one.sentence for one in found]


@isolated
def test_check_notes_a_true_rule_that_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsl_bench.run.check.MOCKS", ())
    (tmp_path / "declines.py").write_text(
        DECLINES.replace(":\n    def", ':\n    track = "known_rules"\n    def')
    )
    (found,) = check(f"{tmp_path}/declines.py:Declines", LIMITS, ["zoo"])
    assert not found.wrong and found.sentence.startswith("not applicable: zoo")
    assert "has no true rule" in found.sentence
