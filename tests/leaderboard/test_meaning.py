"""Submissions that can be read and mean something else: they are refused, or shown for what they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from nsl_bench.leaderboard.accepted import with_name
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.interface import score_submission
from nsl_bench.leaderboard.likeness import likenesses
from nsl_bench.leaderboard.names import normalised, skeleton
from nsl_bench.leaderboard.predictions import contradictions
from nsl_bench.leaderboard.score_report import SCORES, ScoreReport, comment, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import MANIFEST, RUNS, place_of, slug
from packed import COMMITTED, edit_predictions, pack, unpacked

from nsl_bench.cli import main

Change = Callable[[Path], object]


@pytest.fixture
def forest(good: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(good["random_forest"], tmp_path / "submission"))


def problem(report: ScoreReport) -> str:
    (sentence,) = report.problems
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 400, sentence
    return sentence


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (MANIFEST, '"name":', '"name": "other", "name":', "the key 'name' is given twice"),
        (
            MANIFEST,
            '"runs.jsonl.zst":',
            '"runs.jsonl.zst": "a", "runs.jsonl.zst":',
            "the key 'runs.jsonl.zst' is given twice",
        ),
        (RUNS, '"run":', '"run": "abababab", "run":', "not valid JSON (the key 'run' is given twice)"),
        (RUNS, '"seed":', '"seed": 0, "seed":', "line 1: not valid JSON (the key 'seed' is given twice)"),
    ],
)
def test_a_key_is_there_once(
    forest: Path, contests: tuple[Contest, ...], resign: Change, file: str, old: str, new: str, words: str
) -> None:
    text = unpacked(forest / file) if file == RUNS else (forest / file).read_text()
    assert old in text
    if file == RUNS:
        pack(forest / file, text.replace(old, new, 1))
        resign(forest)
    else:
        (forest / file).write_text(text.replace(old, new, 1))
    assert words in problem(score(forest, contests))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"repeat": True}, "job.repeat must be a whole number of 1 or more; got true"),
        ({"repeat": 1.0}, "job.repeat must be a whole number of 1 or more; got 1.0"),
        ({"seed": False}, "job.seed must be a whole number; got false"),
        ({"seed": 0.0}, "job.seed must be a whole number; got 0.0"),
        ({"train_percent": True}, "job.train_percent must be a number between 0 and 100; got true"),
        ({"train_percent": "0"}, "job.train_percent must be a number between 0 and 100; got '0'"),
        ({"splits": ["a"]}, "job.splits must be"),
        ({"learner": None}, "job.learner must be a string; got null"),
    ],
)
def test_types_are_strict(
    forest: Path, contests: tuple[Contest, ...], resign: Change, values: dict[str, Any], words: str
) -> None:
    lines = [json.loads(line) for line in unpacked(forest / RUNS).splitlines()]
    lines[0]["job"].update(values)
    pack(forest / RUNS, "".join(json.dumps(line) + "\n" for line in lines))
    resign(forest)
    assert f"runs.jsonl.zst, line 1: {words}" in problem(score(forest, contests))


# Names.


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "must have a letter or a digit"),
        ("...", "must have a letter or a digit"),
        (" - ", "must have a letter or a digit"),
        ("a/b", "has the character '/'"),
        ("FFNSL\u3164", "invisible characters"),
        ("\u115fFFNSL", "invisible characters"),
        ("FF\u2800NSL", "invisible characters"),
        ("FF\u200bNSL", "invisible characters"),
        ("FF\u00adNSL", "invisible characters"),
        ("\u202eLSNFF", "invisible characters"),
        ("FFNSL\ufe0f", "invisible characters"),
        ("\uffa0", "invisible characters"),
        ("FFNSL\n", "invisible characters"),
        ("FF\u039dSL", "letters of GREEK and LATIN"),
        ("M\u0430jority", "letters of CYRILLIC and LATIN"),
        ("q\u0301\u0302\u0303", "more than 2 accents"),
        ("a \u0301", "more than 2 accents on one letter"),
        ("\N{FACE WITH TEARS OF JOY}", "has the character"),
        ("\ufdfa" * 8, "at most 80"),
    ],
)
def test_names_that_nobody_can_read_are_refused(
    forest: Path, contests: tuple[Contest, ...], name: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        normalised(name)
    known = json.loads((forest / MANIFEST).read_text())
    (forest / MANIFEST).write_text(json.dumps({**known, "name": name}))
    sentence = problem(score(forest, contests))
    assert sentence.startswith("submission.json: name") and words in sentence


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("FFNSL", "FFNSL"),
        ("  My   learner ", "My learner"),
        ("\uff26\uff26\uff2e\uff33\uff2c", "FFNSL"),
        ("k-NN (k=5), *new*", "k-NN (k=5), *new*"),
        ("E\u0301cole", "\u00c9cole"),
        ("学习者", "学习者"),
        ("規則カード", "規則カード"),
        ("Обучение 2", "Обучение 2"),
    ],
)
def test_names_are_kept_in_one_form(given: str, kept: str) -> None:
    assert normalised(given) == kept == normalised(kept)


@pytest.mark.parametrize(
    "name",
    ["ffnsl", "FF-NSL", "FFN SL", "F.F.N.S.L", "\uff26FNSL", "FFNS\u0141", "F\u0307FNSL", "FFNS1", "FFNSI"],
)
def test_names_that_look_alike_are_one(name: str) -> None:
    assert skeleton(name) == skeleton("FFNSL")


def test_scripts_that_look_alike_are_one() -> None:
    assert skeleton("\u0421\u041e\u0420\u0415") == skeleton("COPE") and skeleton(
        "\u039f\u03a1\u0395"
    ) == skeleton("OPE")
    assert skeleton("Majority") != skeleton("Minority") and skeleton("C") != skeleton("C+")
    assert place_of("学习者") != place_of("学者") and place_of("FFNSL") == "ffnsl"


@pytest.mark.parametrize(
    "name", ["Majority", "MAJ0RITY", "maj-ority", "\u041c\u0430\u0458\u043er\u0456\u0442\u0443"]
)
def test_a_name_that_is_taken_is_refused(
    forest: Path,
    contests: tuple[Contest, ...],
    board_file: Path,
    tmp_path: Path,
    good: dict[str, Path],
    name: str,
) -> None:
    accepted = tmp_path / "accepted"
    words = ["score-submission", "--board", board_file, "--accept", accepted]
    first = CliRunner().invoke(main, [*map(str, words), str(good["majority"])], standalone_mode=False)
    assert first.return_value == 0, first.output
    known = json.loads((forest / MANIFEST).read_text())
    (forest / MANIFEST).write_text(json.dumps({**known, "name": name}))
    second = CliRunner().invoke(main, [*map(str, words), str(forest)], standalone_mode=False)
    if name == "Majority":
        assert "already exists" in str(second.exception)
    elif name.isascii():
        assert second.return_value == 1 and "The name looks like 'majority'" in second.output
    else:
        assert second.return_value == 1 and "write it in one script" in second.output
    assert [path.name for path in accepted.iterdir()] == ["majority"]


def test_a_name_of_the_board_is_noted(forest: Path, contests: tuple[Contest, ...]) -> None:
    known = json.loads((forest / MANIFEST).read_text())
    (forest / MANIFEST).write_text(json.dumps({**known, "name": "FF-NSL"}))
    report = with_name(score(forest, contests), None)
    assert report.accepted and "that of the submission ffnsl ('FFNSL')" in report.notes[-1]


# Labels and probabilities.


def test_what_contradicts_itself() -> None:
    codes = np.array([0, 1, 1, 1, -1, -1, -2, 0], np.int8)
    values = [[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [1, 0], [0, 0], [1, 0], [0.5, 0.5], [0.4999, 0.5001]]
    contrary, impossible = contradictions((codes, np.array(values, np.float32)))
    assert contrary.tolist() == [False, True, False, True, False, True, False, False]
    assert impossible.tolist() == [False, False, False, True, False, True, False, False]


def test_labels_that_cannot_go_with_their_probabilities_are_refused(
    forest: Path, contests: tuple[Contest, ...], resign: Change
) -> None:
    def certain(rows: list[dict[str, Any]]) -> None:
        rows[0]["probabilities"][:2] = [0.0, 1.0]
        rows[0]["predicted"][0] = 0

    edit_predictions(forest, certain)
    resign(forest)
    sentence = problem(score(forest, contests))
    assert "contradict each other for 1 of 1000 examples, first for example 0" in sentence


def test_labels_that_are_not_the_most_probable_are_counted(
    forest: Path, contests: tuple[Contest, ...], resign: Change, board_file: Path
) -> None:
    def unlikely(rows: list[dict[str, Any]]) -> None:
        for k in range(100):
            rows[0]["probabilities"][2 * k : 2 * k + 2] = [0.25, 0.75]
            rows[0]["predicted"][k] = 0

    edit_predictions(forest, unlikely)
    resign(forest)
    report = score(forest, contests)
    assert report.accepted and "In 1 of 8 rows some labels are not the most probable" in report.notes[0]
    write_scores(report, forest / SCORES)
    (said,) = likenesses(read_board(forest.parent, board_file)).values()
    assert list((said.contrary or {}).values()) == [pytest.approx(0.025)]
    build_site(read_board(forest.parent, board_file), forest.parent / "site", pictures=False)
    page = (forest.parent / "site/learner/submission.html").read_text()
    assert "2.5 % of the predicted labels are not the most probable label" in page


# Copies.


def with_a_copy(accepted: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Accepted submissions, one more of which is a copy by another name; their folder and the copy's."""
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    copy = Path(shutil.copytree(folder / "random_forest", folder / "mine"))
    known = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps({**known, "name": "Mine"}))
    return folder, copy


def test_the_predictions_of_another_entry_are_named(
    accepted: Path,
    board_file: Path,
    contests: tuple[Contest, ...],
    tmp_path: Path,
    resign: Callable[[Path], None],
) -> None:
    folder, copy = with_a_copy(accepted, tmp_path)
    edit_predictions(copy, lambda rows: rows[0]["probabilities"].__setitem__(slice(0, 2), [0.5, 0.5]))
    resign(copy)
    write_scores(score(copy, contests), copy / SCORES)
    board = read_board(folder, board_file)
    said = likenesses(board)
    assert [(one.title, one.runs) for one in said["mine"].alike] == [("random_forest", 3)]
    assert [(one.title, one.runs) for one in said["random-forest"].alike] == [("Mine", 3)]
    assert said["majority"].alike == () and said["mine"].runs == 4
    build_site(board, tmp_path / "site", pictures=False)
    page = (tmp_path / "site/learner/mine.html").read_text()
    assert 'identical to those of <a href="random-forest.html">random_forest</a> in 3 of 4 runs' in page
    assert "identical" not in (tmp_path / "site/learner/majority.html").read_text()


def test_a_copy_with_a_few_labels_changed_is_said(
    accepted: Path,
    board_file: Path,
    contests: tuple[Contest, ...],
    tmp_path: Path,
    resign: Callable[[Path], None],
) -> None:
    folder, copy = with_a_copy(accepted, tmp_path)

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            for k in range(0, 1000, 250):
                row["predicted"][k] = 1 - row["predicted"][k]
                row["probabilities"][2 * k : 2 * k + 2] = row["probabilities"][2 * k : 2 * k + 2][::-1]

    edit_predictions(copy, change)
    resign(copy)
    report = score_submission(copy, accepted=folder, board=board_file)
    agree = (
        "Labels on grids agree with those of random_forest on 99.6 % of all examples, and on 99 % of those"
    )
    assert [agree in note for note in report.notes] == [True], report.notes
    assert "- Labels on grids agree" in comment(report)
    write_scores(report, copy / SCORES)
    (again,) = score_submission(copy, accepted=folder, board=board_file).notes
    assert agree in again  # it is not compared with itself
    board = read_board(folder, board_file)
    said = likenesses(board)
    (pair,) = said["mine"].near
    assert (pair.title, pair.contest, pair.equal) == ("random_forest", "grids", pytest.approx(0.996))
    assert 0.98 < pair.where_wrong < 0.996 and [one.slug for one in said["random-forest"].near] == ["mine"]
    assert said["majority"].near == () and said["mine"].alike == ()
    build_site(board, tmp_path / "site", pictures=False)
    page = (tmp_path / "site/learner/mine.html").read_text()
    assert 'agree with those of <a href="random-forest.html">random_forest</a> on 99.6 % of all' in page


def test_the_committed_board_has_no_copies() -> None:
    said = likenesses(read_board(COMMITTED))
    ours = {"FFNSL (softmax)", "FFNSL (edl_gen)", "FFNSL on true concepts", "FFNSL", "FFNSL with FastLAS"}
    alike = {
        (entry, slug(a.title), a.runs)
        for entry, one in said.items()
        for a in one.alike
        if a.title not in ours
    }
    # Tuning may choose the defaults.
    alike = {found for found in alike if len({name.removesuffix("-tuned") for name in found[:2]}) > 1}
    # From true concepts, who finds the rule predicts what it says.
    found_it = {"ripper": 3, "ripper-tuned": 4, "figs-tuned": 1, "streed-tuned": 1, "ebm": 6, "ebm-tuned": 6}
    assert alike == {("ffnsl-on-true-concepts", *found) for found in found_it.items()}


def test_the_tree_of_a_stranger_is_held_against_the_predictions(
    forest: Path, contests: tuple[Contest, ...], resign: Callable[[Path], None]
) -> None:
    """A forest's first tree, which counts for the forest that comes with nsl-bench."""
    lines = [json.loads(line) for line in unpacked(forest / RUNS).splitlines()]
    assert all("atoms" in run.metrics for run in score(forest, contests).runs)
    for line in lines:
        line["job"]["learner"] = "theirs.py:Forest"
        line["hypothesis"]["rules"] = line["hypothesis"]["rules"][:1]
    manifest = json.loads((forest / MANIFEST).read_text())
    (forest / MANIFEST).write_text(json.dumps({**manifest, "learner": "theirs.py:Forest"}))
    pack(forest / RUNS, "".join(json.dumps(line) + "\n" for line in lines))
    resign(forest)
    report = score(forest, contests)
    assert report.accepted, report.problems
    assert not any({"atoms", "rules"} & set(run.metrics) for run in report.runs)
    assert any("the rules are not shown to be what the learner answers with" in note for note in report.notes)


def test_rules_that_are_not_what_is_answered_do_not_count(
    good: dict[str, Path], contests: tuple[Contest, ...], tmp_path: Path, resign: Callable[[Path], None]
) -> None:
    folder = shutil.copytree(good["ffnsl"], tmp_path / "entry")
    honest = {run.run: run.metrics for run in score(folder, contests).runs}
    lines = [json.loads(line) for line in unpacked(folder / RUNS).splitlines()]
    for line in lines:
        line["hypothesis"]["rules"] = line["hypothesis"]["rules"][:1]
    pack(folder / RUNS, "".join(json.dumps(line) + "\n" for line in lines))
    resign(folder)
    report = score(folder, contests)
    assert report.accepted
    for run in report.runs:
        assert run.metrics["agreement"] < 0.99 and "atoms" not in run.metrics
        assert run.metrics["hypothesis_accuracy"] == honest[run.run]["hypothesis_accuracy"]
    assert any("not shown to be what the learner answers with" in note for note in report.notes)
