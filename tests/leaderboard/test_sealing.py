"""What is sealed and handed out tells nothing, and what is given wrongly gets one sentence."""

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from mutations import Edit, change, edits
from nsl_bench.leaderboard.contests import BOARD, Cell
from nsl_bench.leaderboard.rounds.model import place_seed, read_file, read_round, read_rounds, to_json
from nsl_bench.leaderboard.rounds.package import folder_digest, part_digest
from nsl_bench.leaderboard.standing import Again
from nsl_bench.leaderboard.submission import RUNS
from sealed import TASK, Played, answer, by_rule, call, right, still_open

from nsl_bench.core import registry
from nsl_bench.core.declared import read_json
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Part, Predictions, Split
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.learners import task_folders
from nsl_bench.learners.view import View
from nsl_bench.run.exchange import jobs_in
from nsl_bench.sandbox import kernel

pytestmark = pytest.mark.skipif(not kernel.landlock_version(), reason="a sealed round needs Landlock")

Labels = npt.NDArray[np.bool_]


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


def sealed_split(played: Played, shift: str, percent: float) -> Split:
    """The test set of a place of the round."""
    secret, cell = played.seed.read_text().strip(), Cell(shift, percent, 1)
    seed = place_seed(secret, "autumn", "grids", cell)
    return symbolic_split(registry.create("benchmark", TASK), "test", seed=seed)


def test_shares_have_no_examples_in_common(sealed: Played) -> None:
    """Who is shown the same grids standard and rotated could answer for the rotated ones with the others."""
    splits = sealed_split(sealed, "standard", 0.0), sealed_split(sealed, "rotate90", 100.0)
    plain, rotated = ({row.tobytes() for row in split.concepts} for split in splits)
    assert len(plain & rotated) < 100  # of 1,000, by chance


def by_order(folder: Path, n: int) -> list[Labels]:
    """Halves, the train examples one after the other, and what most sets that all can make have there."""
    task = registry.create("benchmark", TASK)
    train = np.resize(pd.read_parquet(folder / "train.parquet")["label"] == "invalid", n)
    known = np.mean([symbolic_split(task, "test", seed=k).labels for k in range(5)], axis=0) > 0.5
    return [np.arange(n) < n // 2, np.arange(n) % 2 > 0, train, known]


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


@pytest.mark.parametrize("cheat", [by_order, by_what_is_public, by_bytes])
def test_cheats_on_what_was_handed_out(cheat: Callable[[Path, int], list[Labels]], sealed: Played) -> None:
    """None answers better than chance, nor worse, which would tell as much."""
    jobs = jobs_in(sealed.package() / "grids")
    assert len(jobs) == 2
    for folder, job in jobs.items():
        labels = sealed_split(sealed, job.shift, job.percent).labels > 0
        for guess in cheat(folder, len(labels)):
            assert abs(np.mean(guess == labels) - 0.5) < 5 * (0.25 / len(labels)) ** 0.5


def test_a_package_that_is_not_what_was_sealed(sealed: Played, tmp_path: Path) -> None:
    package = Path(shutil.copytree(sealed.package(), tmp_path / "package"))
    board = still_open(sealed, tmp_path)
    words = ["leaderboard", "verify-round", "autumn", "--board", board, "--package", package]
    assert "ok: grids: 2 folders match those of the round" in right(call(*words))
    (train,) = package.glob("grids/*rotate90*/train.parquet")
    table = pd.read_parquet(train)
    table.assign(label=table["label"].iloc[::-1].to_numpy()).to_parquet(train)
    assert "1 differ, first sudoku_4x4-rotate90" in right(call(*words), 1)
    shutil.rmtree(train.parent)
    said = right(call(*words), 1)
    assert f"not checked: grids: 2 folders match those of the round: {package / 'grids'} lacks 1 of" in said
    (other,) = package.glob("grids/*/train.parquet")
    shutil.copytree(other.parent, package / "grids" / "twice")
    assert "wrong: grids: 2 folders match those of the round: 1 differ, first twice" in right(call(*words), 1)
    file = package / "round.json"
    file.write_text(file.read_text().replace('"sealed": "20', '"sealed": "19'))
    assert f"wrong: {file}: what was sealed was changed" in right(call(*words), 1)


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


NEW = ["--data-seed-file", "new", "--out", "new"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["seal", "Big", *NEW], "inner dashes; got 'Big'"),
        (["seal", "a--b", *NEW], "inner dashes; got 'a--b'"),
        (["seal", "autumn", *NEW], "sealed round 'autumn' already exists"),
        (["seal", "b", "--contest", "grid", *NEW], "Did you mean 'grids'?"),
        (["seal", "b", "--network", "softmx", *NEW], "Did you mean 'softmax'"),
        (["seal", "b", *NEW[:1], "board.toml", *NEW[2:]], "board.toml already exists"),
        (["seal", "b", *NEW[:3], "sealed"], "sealed already exists"),
        (["seal", "b", *NEW[:1], "/proc/x/y", *NEW[2:]], "/proc/x/y cannot be written"),
        (["reveal", "autum"], "Unknown sealed round 'autum'. Did you mean 'autumn'?"),
        (["reveal", "autumn"], "is not revealed yet; give its seed with --data-seed-file"),
        (["verify-round", "autumn"], "is not revealed yet"),
        (["verify-round", "autumn", "--package", "sealed"], "round.json is missing"),
        (["run-entry", "autumn", "--out", "new"], "--learner or --learner-command"),
        (["run-entry", "autumn", "--learner", "majority", *NEW[2:]], "is not revealed yet; give its seed"),
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
def test_a_damaged_file_of_a_round(sealed: Played, tmp_path: Path, change: Any, words: str) -> None:
    text = (sealed.package() / "round.json").read_text()
    assert to_json(read_file(sealed.package() / "round.json")) == text
    values = json.loads(text)
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
            (json.dumps(asdict(again)), lambda path: read_json(Again, path).sentence()),
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
