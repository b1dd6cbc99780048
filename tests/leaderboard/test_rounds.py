"""A sealed round played through: an organiser, entrants by predictions and by code, a forger, an outsider."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from mutations import Edit, change, edits
from nsl_bench.leaderboard import rerun
from nsl_bench.leaderboard.accepted import take
from nsl_bench.leaderboard.board import read_board
from nsl_bench.leaderboard.contests import BOARD, Cell, read_contests
from nsl_bench.leaderboard.reading import read_manifest
from nsl_bench.leaderboard.rounds.model import (
    Taken,
    folder_of,
    manifest_digest,
    place_seed,
    read_file,
    read_round,
    read_rounds,
    to_json,
    write_round,
)
from nsl_bench.leaderboard.rounds.package import folder_digest, jobs_in_package, part_digest
from nsl_bench.leaderboard.rounds.reveal import check_receipt
from nsl_bench.leaderboard.score_report import ScoreReport
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.site.pages import overview_rows
from nsl_bench.leaderboard.standing import Again, read_again
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, digest, write_submission
from packed import COMMITTED, edit_predictions, pack, unpacked
from sealed import Played, answer, call, enter, right

from nsl_bench import registry
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.errors import UserError
from nsl_bench.isolation import kernel
from nsl_bench.learners import task_folders
from nsl_bench.learners.view import View
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep
from nsl_bench.sealing import commitment_of
from nsl_bench.types import Part, Predictions

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="a sealed round needs Landlock")

Labels = npt.NDArray[np.bool_]

TASK = "sudoku_4x4"
CONTESTS = f"""\
[[contest]]
name = "grids"
benchmark = "{TASK}"
version = "{registry.create("benchmark", TASK).version}"
source = "sklearn_digits"
shifts = ["rotate90"]
percents = [0, 100]
repeats = 1
"""
LEARNER = '''
import numpy as np

class FromConcepts:
    """Knows nothing of Sudoku: the labels of the most similar train examples."""

    version = "1"

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, train):
        self.seen, self.labels = train.features, train.labels
        return self

    def predict_proba(self, test):
        near = [np.abs(self.seen - row).sum(axis=1).argsort()[:5] for row in test.features]
        return np.array([np.bincount(self.labels[k], minlength=test.n_labels) / 5 for k in near])
'''


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A round that is sealed and has no entries."""
    played = Played(tmp_path_factory.mktemp("played with 'odd' $names"))
    played.public.mkdir()
    (played.public / "board.toml").write_text(CONTESTS)
    words = ["--data-seed-file", played.seed, "--out", played.package()]
    said = right(call("leaderboard", "seal", "autumn", *words, *played.board))
    assert played.seed.read_text().strip() not in said
    return played


def still_open(played: Played, folder: Path) -> Path:
    """The board as it was when the round was sealed."""
    (folder / "sealed").mkdir()
    shutil.copy(played.public / "board.toml", folder)
    shutil.copy(played.package() / "round.json", folder / "sealed" / "autumn.json")
    return folder / "board.toml"


def is_valid(concepts: list[str | None]) -> bool:
    """The rule of Sudoku, on what a network sees."""
    grid = np.array([c or "" for c in concepts]).reshape(4, 4)
    blocks = [grid[a : a + 2, b : b + 2].ravel() for a in (0, 2) for b in (0, 2)]
    units = [[c for c in unit if c] for unit in (*grid, *grid.T, *blocks)]
    return all(len(unit) == len(set(unit)) for unit in units)


def by_rule(folder: Path, test: pd.DataFrame) -> list[str]:
    return ["valid" if is_valid(list(row)) else "invalid" for row in test["concepts"]]


def edit(folder: Path, file: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a submission's lines, and sign it again as a cheat would."""
    if file == MANIFEST:
        values = json.loads((folder / MANIFEST).read_text())
        change(values)
        (folder / MANIFEST).write_text(json.dumps(values))
        return
    lines = [json.loads(line) for line in unpacked(folder / RUNS).splitlines()]
    for line in lines:
        change(line)
    pack(folder / RUNS, "".join(json.dumps(line) + "\n" for line in lines))
    resign(folder)


def resign(folder: Path) -> None:
    files = {name: digest(folder / name) for name in (RUNS, PREDICTIONS)}
    edit(folder, MANIFEST, lambda values: values.update(files=files))


@pytest.fixture(scope="module")
def mine(sealed: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission by predictions, with the rule that everybody knows."""
    folder = tmp_path_factory.mktemp("mine")
    package = Path(shutil.copytree(sealed.package(), folder / "package"))
    rule = registry.create("benchmark", TASK).true_rule
    return enter(answer(package, by_rule, rule), "By rule", folder / "sent")


@pytest.fixture(scope="module")
def played(sealed: Played, mine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The round with three entries, revealed: by predictions, by code, and of public answers."""
    folder = tmp_path_factory.mktemp("entrants")
    taken = ["--accept", sealed.accepted, *sealed.board]
    assert "By rule: accepted" in right(call("score-submission", mine, *taken))
    (folder / "learner.py").write_text(LEARNER)
    code = ["--learner", f"{folder / 'learner.py'}:FromConcepts", "--name", "By code", "--licence", "MIT"]
    seed = ["--data-seed-file", sealed.seed]
    words = [*code, *seed, "--out", folder / "results", *taken]
    said = right(call("leaderboard", "run-entry", "autumn", *words))
    assert "By code: accepted" in said and "scored when the round autumn is revealed" in said
    package = Path(shutil.copytree(sealed.package(), folder / "package"))
    public = enter(answer(package, of_public_seed), "Public answers", folder / "public")
    right(call("score-submission", public, *taken))
    before = read_round("autumn", sealed.public / "board.toml")
    assert not before.secret and [entry.by for entry in before.entries] == [
        "predictions",
        "code",
        "predictions",
    ]
    assert not sealed.accepted.exists(), "predictions and scores before the reveal tell of the answers"
    shutil.copytree(sealed.public, sealed.folder / "before")
    words = ["--submissions", sealed.accepted, *sealed.board]
    said = right(call("leaderboard", "reveal", "autumn", *seed, *words))
    assert "By code (code): 2 runs scored" in said
    line = said.splitlines()[-1].partition("Anyone can check it with: ")[2]
    assert "No problems found." in right(call(*shlex.split(line)[1:]))  # word for word
    yield sealed


def of_public_seed(folder: Path, test: pd.DataFrame) -> list[str]:
    """The answers that everybody can make: those of the public seed."""
    task = registry.create("benchmark", TASK)
    return [task.labels.names[k] for k in symbolic_split(task, "test", seed=0).labels]


def scores(played: Played, name: str) -> list[dict[str, float]]:
    """Of standard and of shifted examples."""
    lines = map(json.loads, unpacked(played.accepted / name / "scores.jsonl.zst").splitlines())
    runs = [line for line in lines if "run" in line]
    return [line["metrics"] for line in sorted(runs, key=lambda line: line["percent"])]


# What entrants get.


def test_the_folders_hold_no_answers(sealed: Played) -> None:
    secret = sealed.seed.read_text().strip().encode()
    for file in sealed.package().rglob("*"):
        if file.is_file():
            assert secret not in file.read_bytes()
    assert not sealed.seed.stat().st_mode & 0o077
    for test in sealed.package().glob("*/*/test.parquet"):
        file = pq.ParquetFile(test)
        assert set(file.schema_arrow.names) == {"example", "concepts", "probabilities", "facts", "images"}
        assert not file.metadata.metadata or set(file.metadata.metadata) == {b"ARROW:schema"}
        assert file.read(["example"])["example"].to_pylist() == [f"test-{k}" for k in range(1000)]


def test_nothing_in_a_file_depends_on_what_it_does_not_show(tmp_path: Path) -> None:
    """Other labels, other true concepts, other places in the order of shifting: the same bytes."""
    task = registry.create("benchmark", TASK)
    source = make_source(task)
    split = make_split(task, source, "test", seed="x" * 40).take(np.arange(60))
    seen = Predictions.certain(split.concepts, len(task.concept_space))
    rng = np.random.default_rng(0)
    for k in range(2):
        other = split
        if k:
            concepts = rng.permutation(split.concepts.copy())
            other = replace(split, concepts=concepts, labels=1 - split.labels, ranks=split.ranks[::-1])
        view = View(other, task, "pretrained", predictions=seen, source=source, labelled=False)
        task_folders.write(tmp_path / str(k), view, view, about={})
    for file in (tmp_path / "0").iterdir():
        assert file.read_bytes() == (tmp_path / "1" / file.name).read_bytes(), file.name


def test_the_order_of_secret_data_tells_nothing() -> None:
    """Not even where a task's own order is that of the labels."""
    task = registry.create("benchmark", TASK)
    made = task.generate

    def in_order(*words: Any, **named: Any) -> Any:
        split = made(*words, **named)
        return split.take(np.argsort(split.labels, kind="stable"))

    task.generate = in_order
    assert (np.diff(symbolic_split(task, "test", seed=0).labels) >= 0).all()
    parts: tuple[Part, ...] = ("test", "train")
    for part in parts:
        labels = symbolic_split(task, part, seed="y" * 40).labels
        half = len(labels) // 2
        assert abs(labels[:half].mean() - labels[half:].mean()) < 5 * (0.5 / half) ** 0.5


def test_shares_have_no_examples_in_common(sealed: Played) -> None:
    """Who is shown the same grids standard and rotated could answer for the rotated ones with the others."""
    task = registry.create("benchmark", TASK)
    secret = sealed.seed.read_text().strip()
    grids = []
    for cell in (Cell("standard", 0.0, 1), Cell("rotate90", 100.0, 1)):
        split = symbolic_split(task, "test", seed=place_seed(secret, "autumn", "grids", cell))
        grids.append({row.tobytes() for row in split.concepts})
    assert len(grids[0] & grids[1]) < 100  # of 1,000, by chance


def by_position(folder: Path, n: int) -> list[Labels]:
    """What most of the sets that everybody can make have at each place."""
    task = registry.create("benchmark", TASK)
    return [np.mean([symbolic_split(task, "test", seed=k).labels for k in range(5)], axis=0) > 0.5]


def by_train_part(folder: Path, n: int) -> list[Labels]:
    """The labels of the train examples, one after the other."""
    return [np.resize(pd.read_parquet(folder / "train.parquet")["label"] == "invalid", n)]


def by_halves(folder: Path, n: int) -> list[Labels]:
    return [np.arange(n) < n // 2, np.arange(n) % 2 > 0]


def by_what_is_public(folder: Path, n: int) -> list[Labels]:
    """Every hash and word that was published, taken for the seed."""
    text = (folder.parents[1] / "round.json").read_text() + (folder / "task.json").read_text()
    task = registry.create("benchmark", TASK)
    words = sorted(set(re.findall(r"[0-9a-f]{64}|(?<=seed\": )\d+", text)))
    assert len(words) > 6
    return [symbolic_split(task, "test", seed=word).labels > 0 for word in words]


def by_bytes(folder: Path, n: int) -> list[Labels]:
    """Sums of the bytes of rows, of the file, and of the names of examples."""
    test = pd.read_parquet(folder / "test.parquet")
    rows = [b"".join(image or b"" for image in images) for images in test["images"]]
    file = (folder / "test.parquet").read_bytes()
    names = [hashlib.sha256(name.encode()).digest()[0] for name in test["example"]]
    found = [[hashlib.sha256(row).digest()[0] for row in rows], list(file[:n]), list(file[-n:]), names]
    return [np.array(values) % 2 > 0 for values in found]


@pytest.mark.parametrize("cheat", [by_position, by_train_part, by_halves, by_what_is_public, by_bytes])
def test_cheats_on_what_was_handed_out(cheat: Callable[[Path, int], list[Labels]], sealed: Played) -> None:
    """None answers better than chance, nor worse, which would tell as much."""
    task, secret = registry.create("benchmark", TASK), sealed.seed.read_text().strip()
    jobs = jobs_in_package(sealed.package() / "grids")
    assert len(jobs) == 2
    for folder, job in jobs.items():
        cell = Cell(job.shift, job.percent, 1)
        labels = symbolic_split(task, "test", seed=place_seed(secret, "autumn", "grids", cell)).labels > 0
        for guess in cheat(folder, len(labels)):
            assert abs(np.mean(guess == labels) - 0.5) < 5 * (0.25 / len(labels)) ** 0.5


# Entries.


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


def test_scores_are_those_of_the_sealed_answers(played: Played) -> None:
    standard, rotated = scores(played, "autumn--by-rule")
    assert standard["framework_accuracy"] > 0.95 and standard["agreement"] == 1.0
    assert standard["hypothesis_accuracy"] == 1.0 and standard["atoms"] > 0
    assert rotated["framework_accuracy"] < 0.7
    assert {"hypothesis_accuracy", "framework_accuracy"} <= set(scores(played, "autumn--by-code")[0])


def test_public_answers_are_at_chance(played: Played) -> None:
    for metrics in scores(played, "autumn--public-answers"):
        assert abs(metrics["framework_accuracy"] - 0.5) < 5 * (0.25 / 1000) ** 0.5


def test_the_comment_says_that_it_is_verified(played: Played, mine: Path) -> None:
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
    assert report.accepted and any("they do not count" in note for note in report.notes)
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


# The organiser.


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
    assert list(map(str, check_receipt(read_file(changed), file))) == [
        f"wrong: {file}: the entry 'Late' was added late."
    ]
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


# Forgers.


def forged(mine: Path, tmp_path: Path, file: str, change: Callable[[dict[str, Any]], object]) -> Path:
    sent = Path(shutil.copytree(mine, tmp_path / "forged"))
    edit(sent, file, change)
    return sent


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
    sealed: Played,
    mine: Path,
    tmp_path: Path,
    file: str,
    change: Callable[[dict[str, Any]], object],
    words: str,
) -> None:
    sent = forged(mine, tmp_path, file, change)
    said = right(call("score-submission", sent, "--board", still_open(sealed, tmp_path)), 1)
    assert words in " ".join(said.replace("\\", "").split()) and said.count("\n- ") == 1, said


def test_hypothesis_predictions_are_refused(sealed: Played, mine: Path, tmp_path: Path) -> None:
    sent = Path(shutil.copytree(mine, tmp_path / "sent"))
    table = pq.read_table(sent / PREDICTIONS)
    rows = [{**row, "evaluation": name} for row in table.to_pylist() for name in ("framework", "hypothesis")]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), sent / PREDICTIONS)
    resign(sent)
    said = right(call("score-submission", sent, "--board", still_open(sealed, tmp_path)), 1)
    assert "provides no true concepts" in said


def test_what_comes_or_changes_after_the_reveal_is_refused(
    played: Played, mine: Path, tmp_path: Path
) -> None:
    sent = forged(mine, tmp_path, MANIFEST, lambda values: values.update(name="Late"))
    said = right(call("score-submission", sent, *played.board), 1)
    assert "not one of the 3 entries accepted before. It came later, or was changed." in said
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
    found = json.loads((folder_of(played.public / "board.toml") / "autumn.json").read_text())
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


def test_a_package_that_is_not_what_was_sealed(sealed: Played, tmp_path: Path) -> None:
    package = Path(shutil.copytree(sealed.package(), tmp_path / "package"))
    board = still_open(sealed, tmp_path)
    words = ["leaderboard", "verify-round", "autumn", "--board", board, "--package", package]
    assert "ok: grids: 2 folders match those of the round" in right(call(*words))
    (train,) = package.glob("grids/*rotate90*/train.parquet")
    table = pd.read_parquet(train)
    table.assign(label=table["label"].iloc[::-1].to_numpy()).to_parquet(train)
    assert "1 differ, first sudoku_4x4-rotate90" in right(call(*words), 1)


# Doing runs again.


def test_a_reveal_leaves_the_front_page_of_the_public_contests_as_it_was(
    played: Played, reported: tuple[Path, Path], tmp_path: Path
) -> None:
    accepted = Path(shutil.copytree(played.accepted, tmp_path / "all"))
    shutil.copytree(reported[1], accepted / "majority")
    board = read_board(accepted, played.public / "board.toml")
    rows = {row.entry.title: row for row in overview_rows(board) if row.contest is None}
    assert len(rows) == 4
    for title, row in rows.items():
        assert row.areas["framework_accuracy"] and (row.entered, row.open) == (1, 1), title
        assert row.rank is not None, title


@pytest.fixture
def reported(sealed: Played, tmp_path: Path) -> tuple[Path, Path]:
    """A public entry: the folder of accepted submissions, and its own."""
    store, contests = Store(tmp_path / "results"), read_contests(sealed.public / "board.toml")
    sweep(plan(TASK, ["majority"], shifts=["rotate90"], percents=[0, 100]), store, Bench())
    write_submission(store, tmp_path / "sent", contests, name="Majority", licence="MIT")
    words = ["--accept", tmp_path / "accepted", *sealed.board]
    said = right(call("score-submission", tmp_path / "sent", *words))
    assert "Self-reported: the submitter made the predictions" in said
    return tmp_path / "accepted", tmp_path / "accepted" / "majority"


def test_runs_are_done_again(sealed: Played, reported: tuple[Path, Path], tmp_path: Path) -> None:
    accepted, entry = reported
    said = right(call("leaderboard", "rerun", entry, "--runs", "1", "--seed", "3", *sealed.board))
    assert "Verified: 1 of 2 runs were done again" in said and "no number by more than 0 (" in said
    kept = json.loads((entry / "rerun.json").read_text())
    assert kept["same"] and kept["seed"] == 3 and kept["differing_labels"] == 0
    words = ["--submissions", accepted, "--no-pictures", "--out", tmp_path / "site", *sealed.board]
    right(call("leaderboard", "build", *words))
    assert set(pd.read_csv(tmp_path / "site/data/tables/overview.csv")["standing"]) == {"verified"}
    assert "1 of 2 runs were done again" in (tmp_path / "site/learner/majority.html").read_text()
    # It is about these very files.
    edit(entry, RUNS, lambda run: run.update(started="2020"))
    (entry_now,) = read_board(accepted, sealed.public / "board.toml").entries
    assert entry_now.standing.word == "self-reported"


def test_a_run_with_an_older_network_is_not_compared_with_the_installed_one() -> None:
    entry = COMMITTED / "ffnsl"
    done = call("leaderboard", "rerun", entry, "--runs", "1")
    assert isinstance(done.exception, UserError)
    assert re.search(r"used version \d of the network \w+, and version \d, which is", str(done.exception))


def test_runs_are_done_again_in_their_time_and_failed_ones_are_not(
    sealed: Played, reported: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted, entry = reported
    words = ["--runs", "2", *sealed.board]
    edit(
        entry,
        RUNS,
        lambda run: run["environment"].update(time_limit=77.5 if run["job"]["test_percent"] else ""),
    )
    right(call("leaderboard", "rescore", entry.name, "--submissions", accepted, *sealed.board))
    built = ["--submissions", accepted, "--no-pictures", "--out", tmp_path / "site", *sealed.board]
    right(call("leaderboard", "build", *built))
    for page in ("learner/majority.html", "data/runs/majority/grids.js"):
        text = re.sub("<[^>]*>", "", (tmp_path / "site" / page).read_text())
        assert "--time-limit 77.5 --out results/" in text, page
    limits = []
    with monkeypatch.context() as patched:
        patched.setattr(
            "nsl_bench.leaderboard.rerun._run", lambda bench, *_: limits.append(bench.limits.time)
        )
        for given in (60, 90):
            said = right(call("leaderboard", "rerun", entry, *words, "--time-limit", given), 1)
            assert "Not verified: 2 of 2 runs done again failed" in said
    assert sorted(limits) == [60, 60, 77.5, 90]
    edit(entry, RUNS, lambda run: run["environment"].update(time_limit="nan"))
    edit(entry, RUNS, lambda run: run.update(status="timeout" if run["job"]["test_percent"] else "ok"))
    assert "Verified: 1 of 1 runs" in right(call("leaderboard", "rerun", entry, *words))
    edit(entry, RUNS, lambda run: run.update(status="timeout"))
    done = call("leaderboard", "rerun", entry, *words)
    assert "has no run of a contest of the board that did not fail" in str(done.exception)


def test_runs_that_come_out_otherwise(sealed: Played, reported: tuple[Path, Path]) -> None:
    _, entry = reported
    words = ["--runs", "1", "--seed", "3", *sealed.board]
    said = right(call("leaderboard", "rerun", entry, *words, "--learner", "random_forest:trees=3"), 1)
    assert "Not verified: 1 of 2 runs" in said
    assert json.loads((entry / "rerun.json").read_text())["same"] is False
    edit(entry, MANIFEST, lambda values: values.update(learner="../their.py:Learner"))
    done = call("leaderboard", "rerun", entry, *words)
    assert "is not installed; give the submitter's file" in str(done.exception)


@pytest.mark.parametrize(
    ("claimed", "made", "differs", "slower"),
    [
        ({"atoms": 2, "learning_time": 10}, {"atoms": 8, "learning_time": 10}, 0.75, 1.0),
        ({"learning_time": 1, "prediction_time": 1}, {"learning_time": 1, "prediction_time": 59}, 0.0, 30.0),
        ({"learning_time": 0.01}, {"learning_time": 0.9}, 0.0, 0.0),
        ({"atoms": 0}, {"atoms": 0}, 0.0, 0.0),
    ],
)
def test_atoms_and_times_are_compared(claimed: Any, made: Any, differs: float, slower: float) -> None:
    rows = {"framework": np.zeros(3)}
    record = SimpleNamespace(metrics=made)
    labels, differences, times = rerun._compared(record, rows, rows, claimed)  # type: ignore[arg-type]
    assert (labels, differences["atoms"], times) == (0.0, differs, slower)


def test_entries_by_code_are_done_again_too(played: Played, tmp_path: Path) -> None:
    entry = Path(shutil.copytree(played.accepted / "autumn--by-code", tmp_path / "entry"))
    (tmp_path / "learner.py").write_text(LEARNER)
    learner = ["--learner", f"{tmp_path / 'learner.py'}:FromConcepts"]
    said = right(call("leaderboard", "rerun", entry, "--runs", "1", *learner, *played.board))
    assert "Verified: 1 of 2 runs" in said and "at most 0 %" in said


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_during_sealing_leaves_nothing(sealed: Played, tmp_path: Path, name: str) -> None:
    """Neither a seed nor half a package: the same command can be given again."""
    still_open(sealed, tmp_path)
    words = [sys.executable, "-m", "nsl_bench", "leaderboard", "seal", "next", "--data-seed-file", "seed"]
    words += ["--out", "package", "--board", "board.toml"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob(".sealing-*/package/*/*/*.json")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=60)
    assert process.returncode == (143 if name == "SIGTERM" else 130) and b"Traceback" not in errors, errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.toml", "sealed"]


# Wrong use.


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["seal", "Big", "--data-seed-file", "new", "--out", "new"], "inner dashes; got 'Big'"),
        (["seal", "a--b", "--data-seed-file", "new", "--out", "new"], "inner dashes; got 'a--b'"),
        (
            ["seal", "autumn", "--data-seed-file", "new", "--out", "new"],
            "sealed round 'autumn' already exists",
        ),
        (
            ["seal", "b", "--contest", "grid", "--data-seed-file", "new", "--out", "new"],
            "Did you mean 'grids'?",
        ),
        (["seal", "b", "--data-seed-file", "board.toml", "--out", "new"], "board.toml already exists"),
        (["seal", "b", "--data-seed-file", "new", "--out", "sealed"], "sealed already exists"),
        (["seal", "b", "--data-seed-file", "/proc/x/y", "--out", "new"], "/proc/x/y cannot be written"),
        (
            ["seal", "b", "--network", "softmx", "--data-seed-file", "new", "--out", "new"],
            "Did you mean 'softmax'",
        ),
        (["reveal", "autum"], "Unknown sealed round 'autum'. Did you mean 'autumn'?"),
        (["reveal", "autumn"], "is not revealed yet; give its seed with --data-seed-file"),
        (["verify-round", "autumn"], "is not revealed yet"),
        (["verify-round", "autumn", "--package", "sealed"], "round.json is missing"),
        (["run-entry", "autumn", "--out", "new"], "--learner or --learner-command"),
        (
            ["run-entry", "autumn", "--learner", "majority", "--out", "new"],
            "is not revealed yet; give its seed",
        ),
    ],
)
def test_wrong_use_gets_one_sentence(
    sealed: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    still_open(sealed, tmp_path)
    monkeypatch.chdir(tmp_path)
    done = call("leaderboard", *words, "--board", "board.toml")
    assert isinstance(done.exception, UserError) and sentence in str(done.exception), done.exception
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.toml", "sealed"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entries": 3}, "entries must be a list; got 3"),
        ({"commitment": "x"}, "commitment must be 64 hexadecimal digits"),
        ({"contests": []}, "a round must have at least one contest"),
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"schema": 9}, "schema must be 1"),
    ],
)
def test_a_damaged_file_of_a_round(
    sealed: Played, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    values = json.loads((sealed.package() / "round.json").read_text())
    (tmp_path / "round.json").write_text(json.dumps({**values, **change}))
    with pytest.raises(UserError, match=r"round.json: .*\.$") as error:
        read_file(tmp_path / "round.json")
    assert words in str(error.value)


@settings(max_examples=150, deadline=None)
@given(changes=edits())
def test_whatever_is_changed_in_a_file(sealed: Played, played: Played, changes: list[Edit]) -> None:
    """Of a round, or of what doing runs again gave: it is used, or gets one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "round.json")
        again = Again({RUNS: "0" * 64}, 1, ("ab" * 10,), 4, 1, 0.02, 0.0, {"brier_score": 0.1}, True)
        known: list[tuple[str, Callable[[Path], object]]] = [
            (to_json(read_round("autumn", played.public / "board.toml")), used),
            (json.dumps(again.to_plain()), lambda path: read_again(path).told()),
        ]
        for text, use in known:
            file.write_text(text)
            for one in changes:
                change(file, one)
            try:
                use(file)
            except UserError as error:
                assert str(error).endswith((".", "?")) and "\n" not in str(error) and len(str(error)) < 900


def used(file: Path) -> None:
    found = read_file(file)
    for contest in found.board_contests("code"):
        for cell in contest.cells:
            assert contest.hashes(cell) and contest.data_seed(cell) and contest.command("x", cell=cell)


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
    write_round(revealed, board)
    with pytest.raises(UserError, match="is already revealed and takes no more entries"):
        take(*verdicts[0], tmp_path / "accepted", "predictions", board)


def test_a_file_of_a_round_is_read_as_it_was_written(sealed: Played) -> None:
    text = (sealed.package() / "round.json").read_text()
    assert to_json(read_file(sealed.package() / "round.json")) == text


def test_wrong_folders(sealed: Played, tmp_path: Path) -> None:
    words = ["--name", "X", "--licence", "MIT", "--out", tmp_path / "out"]
    package = Path(shutil.copytree(sealed.package(), tmp_path / "package"))
    done = call("leaderboard", "enter", package, *words)
    assert "contains answers; write predictions.parquet into each" in str(done.exception)
    one = next(package.glob("*/*/task.json")).parent
    (one / "predictions.parquet").write_bytes(b"PAR1")
    done = call("leaderboard", "enter", package, *words)
    assert "must be in all 2 folders of the contest or in none; got 1" in str(done.exception)
    answer(package, by_rule)
    (one / "predictions.parquet").write_bytes(b"PAR1")
    done = call("leaderboard", "enter", package, *words)
    assert f"{one}: predictions.parquet is not a parquet file" in str(done.exception)
    done = call("leaderboard", "enter", package, *words, "--track", "symbolic")
    assert "Send the learner's code instead" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_the_boards_own_rounds_can_be_read() -> None:
    assert all(found.name for found in read_rounds(BOARD))


def test_a_part_has_one_hash_in_memory_and_in_its_file(tmp_path: Path) -> None:
    """In colour and with meta-data, too."""
    task = registry.create("benchmark", "crop_yield")
    source = make_source(task)
    split = make_split(task, source, "train", seed="x" * 40).take(np.arange(20))
    view = View(split, task, "end_to_end", source=source)
    task_folders.write(tmp_path, view, view, about={})
    assert folder_digest(tmp_path / "train.parquet") == part_digest(split, source, None, task.labels.names)
