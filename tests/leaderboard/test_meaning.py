"""Submissions that can be read and mean something else: they are refused, or shown for what they are."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsl_bench.leaderboard.accepted import with_name
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.interface import score_submission
from nsl_bench.leaderboard.likeness import likenesses
from nsl_bench.leaderboard.names import normalised, skeleton
from nsl_bench.leaderboard.packing import MOST_LABELS, column_types, row_of
from nsl_bench.leaderboard.predictions import contradictions, letters_in, letters_of, rows_of, text_of
from nsl_bench.leaderboard.score_report import SCORES, ScoreReport, comment, write_scores
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, place_of, slug
from packed import COMMITTED, Rows, Scored, edit_manifest, edit_predictions, edit_runs, pack, unpacked
from sealed import call, resign, right

Change = Callable[[Path], object]


def problem(report: ScoreReport) -> str:
    (sentence,) = report.problems
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 400, sentence
    return sentence


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (MANIFEST, '"name":', '"name": "other", "name":', "the key 'name' is given twice"),
        (MANIFEST, '"runs.jsonl.zst":', '"runs.jsonl.zst": "", "runs.jsonl.zst":', "zst' is given twice"),
        (RUNS, '"run":', '"run": "abababab", "run":', "not valid JSON (the key 'run' is given twice)"),
        (RUNS, '"seed":', '"seed": 0, "seed":', "line 1: not valid JSON (the key 'seed' is given twice)"),
    ],
)
def test_a_key_is_there_once(forest: Path, scored: Scored, file: str, old: str, new: str, words: str) -> None:
    text = unpacked(forest / file) if file == RUNS else (forest / file).read_text()
    assert old in text
    if file == RUNS:
        pack(forest / file, text.replace(old, new, 1))
        resign(forest)
    else:
        (forest / file).write_text(text.replace(old, new, 1))
    assert words in problem(scored(forest))


# Names.


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "must have a letter or a digit"),
        ("...", "must have a letter or a digit"),
        (" - ", "must have a letter or a digit"),
        ("a/b", "has the character '/'"),
        ("<script>alert(1)</script>", "has the character '<'"),
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
def test_names_that_nobody_can_read_are_refused(forest: Path, scored: Scored, name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        normalised(name)
    edit_manifest(forest, name=name)
    sentence = problem(scored(forest))
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
    assert skeleton("\u0421\u041e\u0420\u0415") == skeleton("COPE")
    assert skeleton("\u039f\u03a1\u0395") == skeleton("OPE")
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
    right(call(*words, good["majority"]))
    edit_manifest(forest, name=name)
    second = call(*words, forest)
    if name == "Majority":
        assert "already exists" in str(second.exception)
    elif name.isascii():
        assert second.return_value == 1 and "The name looks like 'majority'" in second.output
    else:
        assert second.return_value == 1 and "write it in one script" in second.output
    assert [path.name for path in accepted.iterdir()] == ["majority"]


def test_a_name_of_the_board_is_noted(forest: Path, scored: Scored) -> None:
    edit_manifest(forest, name="FF-NSL")
    report = with_name(scored(forest), None)
    assert report.accepted and "that of the submission ffnsl ('FFNSL')" in report.notes[-1]


# Labels and probabilities.


def test_what_contradicts_itself() -> None:
    codes = np.array([0, 1, 1, 1, -1, -1, -2, 0], np.int8)
    values = [[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [1, 0], [0, 0], [1, 0], [0.5, 0.5], [0.4999, 0.5001]]
    contrary, impossible = contradictions((codes, np.array(values, np.float32)))
    assert contrary.tolist() == [False, True, False, True, False, True, False, False]
    assert impossible.tolist() == [False, False, False, True, False, True, False, False]


@pytest.mark.parametrize("n", [2, 62, 63, 127, 128, 199, MOST_LABELS])
@pytest.mark.parametrize("sure", [False, True])
def test_labels_of_any_number_come_back(n: int, sure: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(n)
    labels = np.concatenate([rng.integers(-2, n, 50), [-2, -1, 0, n - 1]]).astype(np.int16)
    given = rng.dirichlet(np.ones(n), len(labels)).astype(np.float32) if sure else None
    row = row_of("run", "framework", labels, given)
    columns = {name: pa.array([row[name]], kind) for name, kind in column_types().items()}
    pq.write_table(pa.table(columns), tmp_path / PREDICTIONS)
    ((_, _, (read, _)),) = rows_of(tmp_path / PREDICTIONS)
    assert read.tolist() == labels.tolist()
    assert letters_in(text_of(read)).tolist() == letters_of(labels).tolist()
    assert len(set(text_of(np.arange(-2, n)))) == n + 2
    assert f"length: {MOST_LABELS - 62} }}" in (COMMITTED.parent / "site/static/run.js").read_text(), (
        "the site has the same letters"
    )


def test_labels_that_cannot_go_with_their_probabilities_are_refused(forest: Path, scored: Scored) -> None:
    def certain(rows: list[dict[str, Any]]) -> None:
        rows[0]["probabilities"][:2] = [0.0, 1.0]
        rows[0]["predicted"][0] = 0

    edit_predictions(forest, certain)
    sentence = problem(scored(resign(forest)))
    assert "contradict each other for 1 of 1000 examples, first for example 0" in sentence


def test_labels_that_are_not_the_most_probable_are_counted(
    forest: Path, scored: Scored, board_file: Path, tmp_path: Path
) -> None:
    def unlikely(rows: list[dict[str, Any]]) -> None:
        for k in range(100):
            rows[0]["probabilities"][2 * k : 2 * k + 2] = [0.25, 0.75]
            rows[0]["predicted"][k] = 0

    edit_predictions(forest, unlikely)
    report = scored(resign(forest))
    assert report.accepted and "In 1 of 8 rows some labels are not the most probable" in report.notes[0]
    write_scores(report, forest / SCORES)
    (said,) = likenesses(read_board(forest.parent, board_file)).values()
    assert list((said.contrary or {}).values()) == [pytest.approx(0.025)]
    build_site(read_board(forest.parent, board_file), tmp_path / "site", pictures=False)
    page = (tmp_path / "site/learner/forest.html").read_text()
    assert "2.5 % of the predicted labels are not the most probable label" in page


# Copies.


def with_a_copy(accepted: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Accepted submissions, one more of which is a copy by another name; their folder and the copy's."""
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    copy = Path(shutil.copytree(folder / "random_forest", folder / "mine"))
    edit_manifest(copy, name="Mine")
    return folder, copy


def test_the_predictions_of_another_entry_are_named(
    accepted: Path, board_file: Path, scored: Scored, tmp_path: Path
) -> None:
    folder, copy = with_a_copy(accepted, tmp_path)
    edit_predictions(copy, lambda rows: rows[0]["probabilities"].__setitem__(slice(0, 2), [0.5, 0.5]))
    write_scores(scored(resign(copy)), copy / SCORES)
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
    accepted: Path, board_file: Path, contests: tuple[Contest, ...], tmp_path: Path
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
    pairs = {(entry, slug(a.title)) for entry, one in said.items() for a in one.alike}
    alike = {pair for pair in pairs if not pair[1].startswith("ffnsl")}
    # Tuning may choose the defaults.
    alike = {pair for pair in alike if len({name.partition("-tuned")[0] for name in pair}) > 1}
    # From true concepts, who finds the rule predicts what it says.
    assert {entry for entry, _ in alike} == {"ffnsl-on-true-concepts"}


@pytest.mark.parametrize("theirs", [False, True])
def test_rules_that_are_not_what_is_answered_do_not_count(
    forest: Path, rules: Path, scored: Scored, theirs: bool
) -> None:
    """A part of the learned rules, and a forest's first tree as the whole of a stranger's learner."""
    folder = forest if theirs else rules
    honest = {run.run: run.metrics for run in scored(folder).runs}
    assert all("atoms" in metrics for metrics in honest.values())

    def cut(lines: Rows) -> None:
        for line in lines:
            line["hypothesis"]["rules"] = line["hypothesis"]["rules"][:1]
            line["job"]["learner"] = "theirs.py:Forest" if theirs else line["job"]["learner"]

    edit_runs(folder, cut)
    if theirs:
        edit_manifest(folder, learner="theirs.py:Forest")
    report = scored(resign(folder))
    assert report.accepted, report.problems
    for run in report.runs:
        assert not {"atoms", "rules"} & set(run.metrics)
        if not theirs:
            assert run.metrics["agreement"] < 0.99
            assert run.metrics["hypothesis_accuracy"] == honest[run.run]["hypothesis_accuracy"]
    assert any("the rules are not shown to be what the learner answers with" in note for note in report.notes)
