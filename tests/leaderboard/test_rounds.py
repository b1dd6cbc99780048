"""A sealed round played through: an organiser, entrants by predictions and by code, a forger, an outsider."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mutations import contest
from nsl_bench.leaderboard.accepted import take
from nsl_bench.leaderboard.reading import read_manifest
from nsl_bench.leaderboard.rounds import model
from nsl_bench.leaderboard.rounds.model import Taken, manifest_digest, read_file, read_round
from nsl_bench.leaderboard.rounds.reveal import check_receipt
from nsl_bench.leaderboard.score_report import ScoreReport
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import MANIFEST, RUNS, digest
from packed import edit_predictions, edit_rows, lines_of, pack, unpacked
from sealed import Played, answer, call, edit, enter, resign, right, still_open

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.sealing import commitment_of

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="a sealed round needs Landlock")


def scores(played: Played, name: str) -> list[dict[str, float]]:
    """Of standard and of shifted examples."""
    runs = [line for line in lines_of(played.accepted / name / "scores.jsonl.zst") if "run" in line]
    return [line["metrics"] for line in sorted(runs, key=lambda line: line["percent"])]


def test_the_round_can_be_played(played: Played, tmp_path: Path) -> None:
    """What an outsider has: the public folder. Scores follow from it, and so does the site."""
    public = Path(shutil.copytree(played.public, tmp_path / "copied"))
    words = ["--submissions", public / "submissions", "--board", public / "board.toml"]
    said = right(call("leaderboard", "verify-round", "autumn", *words))
    assert said.count("ok: ") == 6 and "No problems found." in said, said
    secret = played.seed.read_text().strip()
    assert read_round("autumn", public / "board.toml").secret == secret
    said = right(call("leaderboard", "build", *words, "--no-pictures", "--out", tmp_path / "site"))
    assert "3 entries, 6 runs" in said
    overview = pd.read_csv(tmp_path / "site/data/tables/overview.csv")
    assert set(overview["standing"]) == {"verified"} and set(overview["contest"]) == {"autumn--grids"}
    assert set(pd.read_csv(tmp_path / "site/data/tables/autumn--grids.csv")["standing"]) == {"verified"}
    text = (tmp_path / "site/data/runs/autumn-by-code/autumn--grids.js").read_text()
    assert '"standing":"verified"' in text and "run by the board in the sandbox" in text
    assert "verified" in (tmp_path / "site/learner/autumn-by-rule.html").read_text()


def test_scores_are_those_of_the_sealed_answers(played: Played, mine: Path) -> None:
    """Who answers for the public seed is at chance."""
    standard, rotated = scores(played, "autumn--by-rule")
    assert standard["framework_accuracy"] > 0.95 and standard["agreement"] == 1.0
    assert standard["hypothesis_accuracy"] == 1.0 and standard["atoms"] > 0
    assert rotated["framework_accuracy"] < 0.7
    assert {"hypothesis_accuracy", "framework_accuracy"} <= set(scores(played, "autumn--by-code")[0])
    for metrics in scores(played, "autumn--public-answers"):
        assert abs(metrics["framework_accuracy"] - 0.5) < 5 * (0.25 / 1000) ** 0.5
    said = right(call("score-submission", mine, *played.board))
    assert "Verified: sealed round autumn, predictions sent before it was revealed." in said


def test_rules_that_are_not_what_is_answered_do_not_count(mine: Path, played: Played, tmp_path: Path) -> None:
    """Who answers with one label and hands in the rule that everybody knows."""
    found = read_round("autumn", played.public / "board.toml")
    sent = Path(shutil.copytree(mine, tmp_path / "sent"))
    answer = {"predicted": [0] * 1000, "probabilities": [1.0, 0.0] * 1000}
    edit_predictions(sent, lambda rows: [row.update(answer) for row in rows])
    resign(sent)
    entry = replace(found.entries[0], salt="", digest=manifest_digest(read_manifest(sent)))
    report = score(sent, (), rounds=(replace(found, entries=(entry,)),))
    assert report.accepted and any("and do not count" in note for note in report.notes)
    for run in report.runs:
        assert "atoms" not in run.metrics and "hypothesis_accuracy" not in run.metrics
        assert run.metrics["framework_accuracy"] == 0.5


def test_what_is_public_before_the_reveal_are_salted_digests(played: Played) -> None:
    """Nobody who guesses what was sent can check a guess against them."""
    before, now = (read_round("autumn", played.folder / name / "board.toml") for name in ("before", "public"))
    kept = played.folder / "before" / "withheld"
    assert not (played.public / "withheld").joinpath("autumn--by-code").exists()
    assert not kept.stat().st_mode & 0o077 and (kept / ".gitignore").read_text() == "*\n"
    public = (played.folder / "before" / "sealed" / "autumn.json").read_text()
    for entry, shown in zip(before.entries, now.entries, strict=True):
        manifest = read_manifest(kept / entry.folder)
        guesses = {manifest_digest(manifest), digest(kept / entry.folder / MANIFEST)}
        assert not entry.salt and shown.salt not in public and entry.digest not in guesses
        assert entry.digest == shown.digest == manifest_digest(manifest, shown.salt)
        receipt = json.loads((kept / f"{entry.folder}.receipt.json").read_text())
        assert receipt["salt"] == (shown.salt if entry.by == "predictions" else "")


def test_entries_that_were_taken_meanwhile_are_kept(sealed: Played, mine: Path, tmp_path: Path) -> None:
    """Two are scored at the same time, and then taken."""
    board = still_open(sealed, tmp_path)
    verdicts = []
    for name in ("One", "Two"):
        sent = Path(shutil.copytree(mine, tmp_path / name))
        edit(sent, MANIFEST, lambda values, name=name: values.update(name=name))  # type: ignore[misc]
        verdicts.append((ScoreReport(name, (), manifest=read_manifest(sent)), sent))
    for report, sent in verdicts:
        take(report, sent, tmp_path / "accepted", "predictions", board)
    assert [entry.name for entry in read_round("autumn", board).entries] == ["One", "Two"]
    with pytest.raises(UserError, match="already has an entry One"):
        take(*verdicts[0], tmp_path / "accepted", "predictions", board)
    revealed = replace(read_round("autumn", board), secret=sealed.seed.read_text().strip())
    model.write_round(revealed, board)
    with pytest.raises(UserError, match="is already revealed and takes no more entries"):
        take(*verdicts[0], tmp_path / "accepted", "predictions", board)


def chained(entries: list[dict[str, Any]], played: Played) -> list[dict[str, Any]]:
    """Entries with the links that a cheat would compute for them."""
    found = replace(read_round("autumn", played.public / "board.toml"), entries=())
    for entry in entries:
        found = found.taking(Taken(**entry))
    return [asdict(entry) for entry in found.entries]


Entries = list[dict[str, Any]]


CHEATS: dict[str, tuple[Callable[[Entries], object], str]] = {
    "late": (
        lambda e: e.insert(1, {**e[0], "name": "Late", "folder": "late", "digest": "1" * 64}),
        "'Late' was added late",
    ),
    "dropped": (lambda e: e.pop(1), "'By code' was dropped"),
    "moved": (lambda e: e.insert(0, e.pop(1)), "'By rule' was moved: 'By code' is in its place"),
    "altered": (lambda e: e[0].update(digest="2" * 64), "'By rule' was altered"),
    "last_dropped": (lambda e: e.pop(), "'Public answers' was dropped"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_an_organiser_who_cheats(played: Played, tmp_path: Path, cheat: str) -> None:
    """Without new links the chain is broken; with new ones the receipts say what happened."""
    change, sentence = CHEATS[cheat]
    folder = Path(shutil.copytree(played.folder / "before", tmp_path / "public"))
    receipt = folder / "withheld" / "autumn--public-answers.receipt.json"
    file = folder / "sealed" / "autumn.json"
    words = ["leaderboard", "verify-round", "autumn", "--board", folder / "board.toml", "--receipt", receipt]
    fine = right(call(*words))
    assert "its 3 entries are the first of the round autumn, in their order" in fine
    values = json.loads(file.read_text())
    change(values["entries"])
    file.write_text(json.dumps(values))
    said = right(call(*words), 1)
    broken = "does not follow from what is before it" in said
    assert sentence in said and broken == (cheat != "last_dropped")
    file.write_text(json.dumps({**values, "entries": chained(values["entries"], played)}))
    said = right(call(*words), 1)
    assert sentence in said and "does not follow" not in said


def test_what_came_after_the_reveal_and_what_was_sealed_otherwise(played: Played, tmp_path: Path) -> None:
    """An earlier copy of the round's file is as good as a receipt."""
    file = played.public / "sealed" / "autumn.json"
    values = json.loads(file.read_text())
    late = {**values["entries"][0], "name": "Late", "folder": "late", "digest": "1" * 64}
    entries = chained([*values["entries"], late], played)
    changed = tmp_path / "autumn.json"
    changed.write_text(json.dumps({**values, "entries": entries}))
    (said,) = map(str, check_receipt(read_file(changed), file))
    assert said == f"wrong: {file}: the entry 'Late' was added late."
    receipt = played.folder / "before" / "withheld" / "autumn--by-rule.receipt.json"
    (contest,) = values["contests"]
    (place, *_) = contest["places"]
    for part, value in [
        ({"sealed": "2020-01-01"}, values),
        ({"test_task": "follow_suit"}, contest),
        ({"setting": "train"}, contest),
        ({"size": "large"}, contest),
        ({"examples": 999}, place),
        ({"test": ["3" * 64]}, place),
    ]:
        before = dict(value)
        value.update(part)
        changed.write_text(json.dumps(values))
        for told in (receipt, played.folder / "before" / "sealed" / "autumn.json"):
            first = str(next(check_receipt(read_file(changed), told)))
            assert "what was sealed was changed" in first, part
        value.update(before)


def test_folders_without_the_entries(played: Played, tmp_path: Path) -> None:
    words = ["leaderboard", "verify-round", "autumn", *played.board, "--submissions"]
    said = right(call(*words, tmp_path), 1)
    none = f"not checked: 3 entries scored again: {tmp_path} contains none of them; name the right folder"
    assert none in said and "wrong" not in said
    shutil.copytree(played.accepted / "autumn--by-rule", tmp_path / "autumn--by-rule")
    said = right(call(*words, tmp_path), 1)
    assert f"not checked: By code: accepted before the reveal, scored again: {tmp_path} does not" in said
    assert "ok: By rule" in said and "wrong" not in said
    shutil.copytree(played.accepted / "autumn--by-rule", tmp_path / "autumn--by-code")
    said = right(call(*words, tmp_path), 1)
    assert "wrong: By code: accepted before the reveal" in said
    assert "contains another entry, 'By rule'" in said


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        (RUNS, lambda run: run["job"].update(sealed="0" * 64), "belongs to a contest of the round autumn"),
        (RUNS, lambda run: run["job"].update(sealed=""), "belongs to a contest of the round autumn"),
        (RUNS, lambda run: run["content_hash"].update(test="0" * 64), "content hash of the test set"),
        (MANIFEST, lambda values: values.update(round="autum"), "Did you mean 'autumn'?"),
        (MANIFEST, lambda values: values.update(round=""), "belongs to a contest of the board"),
        (MANIFEST, lambda values: values.update(round=7), "submission.json: round must be one line"),
    ],
)
def test_forged_words(
    sealed: Played, mine: Path, tmp_path: Path, file: str, change: Callable[[Any], object], words: str
) -> None:
    sent = edit(Path(shutil.copytree(mine, tmp_path / "forged")), file, change)
    said = right(call("score-submission", sent, "--board", still_open(sealed, tmp_path)), 1)
    assert words in " ".join(said.replace("\\", "").split()) and said.count("\n- ") == 1, said


def test_hypothesis_predictions_are_refused(sealed: Played, mine: Path, tmp_path: Path) -> None:
    sent = Path(shutil.copytree(mine, tmp_path / "sent"))
    edit_rows(sent, lambda rows: rows.extend([row | {"evaluation": "hypothesis"} for row in rows]))
    resign(sent)
    said = right(call("score-submission", sent, "--board", still_open(sealed, tmp_path)), 1)
    assert "provides no true concepts" in said


def test_what_comes_or_changes_after_the_reveal_is_refused(
    played: Played, mine: Path, tmp_path: Path
) -> None:
    sent = Path(shutil.copytree(mine, tmp_path / "forged"))
    edit(sent, MANIFEST, lambda values: values.update(name="Late"))
    said = right(call("score-submission", sent, *played.board), 1)
    assert "not of the 3 accepted before. It came later, or was changed." in said
    public = Path(shutil.copytree(played.public, tmp_path / "copied"))
    words = ["--submissions", public / "submissions", "--board", public / "board.toml"]
    entry = public / "submissions" / "autumn--public-answers"
    edit(entry, RUNS, lambda run: run.update(started="2020"))
    known = public / "submissions" / "autumn--by-rule" / "scores.jsonl.zst"
    pack(known, unpacked(known).replace('"framework_accuracy": ', '"framework_accuracy": 1'))
    shutil.copytree(public / "submissions" / "autumn--by-rule", public / "submissions" / "extra")
    said = right(call("leaderboard", "verify-round", "autumn", *words), 1)
    assert "wrong: Public answers: accepted before the reveal, scored again: The round autumn was" in said
    assert "wrong: By rule: accepted before the reveal, scored again: 2 of 2 runs have different" in said
    assert "wrong: extra: has scores, but is not an entry of the round autumn." in said
    assert "3 problems found." in said


def test_a_seed_that_was_not_committed_to(played: Played, sealed: Played, tmp_path: Path) -> None:
    """Neither by another file nor by changing what is public."""
    (tmp_path / "seed").write_text("z" * 40)
    done = call("leaderboard", "reveal", "autumn", "--data-seed-file", tmp_path / "seed", *played.board)
    assert "contains another seed than the round autumn committed to" in str(done.exception)
    found = json.loads((model.folder_of(played.public / "board.toml") / "autumn.json").read_text())
    (tmp_path / "sealed").mkdir()
    shutil.copy(played.public / "board.toml", tmp_path)
    file = tmp_path / "sealed" / "autumn.json"
    file.write_text(json.dumps({**found, "secret": "z" * 40}))
    done = call("leaderboard", "verify-round", "autumn", "--board", tmp_path / "board.toml")
    assert "the revealed seed is not the one that the round committed to." in str(done.exception)
    file.write_text(json.dumps({**found, "secret": "z" * 40, "commitment": commitment_of("z" * 40)}))
    words = ["--submissions", tmp_path, "--board", tmp_path / "board.toml"]
    said = right(call("leaderboard", "verify-round", "autumn", *words), 1)
    assert "wrong: grids: 2 places generated again from the seed: commitment or examples differ at" in said


CONTEST = contest(
    *("sums", "addition:test=12"),
    version=registry.create("benchmark", "addition").version,
    percents=[50],
    repeats=1,
    size="20",
    test_task="addition:digits=4,test=12",
)

LEARNER = """
import numpy as np

class Majority:
    version = "1"

    def fit(self, train):
        self.counts = np.bincount(train.labels, minlength=train.n_labels)
        return self

    def predict_proba(self, test):
        return np.tile(self.counts / self.counts.sum(), (len(test), 1))
"""


@pytest.fixture(scope="module")
def summed(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A round with two entries, revealed: by predictions and by code."""
    summed = Played(tmp_path_factory.mktemp("sums"))
    summed.public.mkdir()
    (summed.public / "board.toml").write_text(CONTEST)
    seed = ["--data-seed-file", summed.seed]
    network = ["--network", "softmax:images_per_concept=20,epochs=5"]
    right(call("leaderboard", "seal", "autumn", *seed, *network, "--out", summed.package(), *summed.board))
    own = Path(shutil.copytree(summed.package(), summed.folder / "own"))
    sent = enter(answer(own, added_up), "Adds up", summed.folder / "sent")
    taken = ["--accept", summed.accepted, *summed.board]
    assert "Adds up: accepted" in right(call("score-submission", sent, *taken))
    (summed.folder / "learner.py").write_text(LEARNER)
    code = ["--learner", f"{summed.folder / 'learner.py'}:Majority", "--name", "By code", "--licence", "MIT"]
    out = ["--out", summed.folder / "results"]
    said = right(call("leaderboard", "run-entry", "autumn", *code, *seed, *out, *taken))
    assert "By code: accepted" in said
    right(call("leaderboard", "reveal", "autumn", *seed, "--submissions", summed.accepted, *summed.board))
    return summed


def added_up(folder: Path, test: pd.DataFrame) -> list[str]:
    """The true rule on what the network sees."""
    answers, carry = [], 0
    for step, concepts in zip(test["step"], test["concepts"], strict=True):
        total = sum(map(int, concepts)) + (carry if step > 1 else 0)
        carry = total // 10
        answers.append(str(total % 10))
    return answers


def test_rows_are_steps_of_longer_sequences(summed: Played) -> None:
    (test,) = summed.package().glob("*/*/test.parquet")
    shown = pd.read_parquet(test)
    assert "label" not in shown and shown["step"].tolist() == [1, 2, 3, 4] * 12
    assert shown["sequence"].tolist() == sorted([*range(12)] * 4)
    assert len(pd.read_parquet(test.parent / "train.parquet")) == 20 * 3


def test_an_outsider_checks_it(summed: Played, tmp_path: Path) -> None:
    words = ["leaderboard", "verify-round", "autumn", "--submissions", summed.accepted, *summed.board]
    package = Path(shutil.copytree(summed.package(), tmp_path / "package"))
    said = right(call(*words, "--package", package))
    assert said.count("ok: ") == 7 and "ok: sums: 1 folder matches those of the round" in said, said
    (test,) = package.glob("*/*/test.parquet")
    table = pd.read_parquet(test)
    table.assign(step=[2, 1, 3, 4] * 12).to_parquet(test)
    assert "1 differ, first addition" in right(call(*words, "--package", package), 1)


def test_scores_are_those_of_longer_sequences(summed: Played) -> None:
    lines = lines_of(summed.accepted / "autumn--adds-up" / "scores.jsonl.zst")
    (metrics,) = [line["metrics"] for line in lines if "run" in line]
    assert metrics["sequence_accuracy"] <= metrics["framework_accuracy"]


def test_the_site_shows_the_accuracy_of_sequences(summed: Played, tmp_path: Path) -> None:
    right(call("leaderboard", "build", "--submissions", summed.accepted, "--out", tmp_path, *summed.board))
    pages = ["index.html", "benchmark/autumn--sums.html", "learner/autumn-adds-up.html"]
    index, contest, learner = ((tmp_path / page).read_text(encoding="utf-8") for page in pages)
    assert "effective image accuracy" in contest and "sequence accuracy" in learner
    assert "12 sequences of addition" in contest and "20 sequences, 1 train split" in contest
    assert "sequence accuracy" not in index
