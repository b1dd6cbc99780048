"""With a secret data seed nobody who cheats is better than chance, and nothing reaches the next run."""

import json
import os
import secrets
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nsl_bench.generators
import numpy as np
import pandas as pd
import pytest
from nsl_bench.leaderboard.contests import Cell
from nsl_bench.leaderboard.rounds.model import place_seed

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import symbolic_split
from nsl_bench.learners.base import About
from nsl_bench.learners.command import spec_of
from nsl_bench.run.bench import Bench
from nsl_bench.run.exchange import export, score
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.fork_server import pool
from nsl_bench.sandbox.limits import Limits
from nsl_bench.sandbox.sealing import DataSeed, check_in_force, commitment_of

CHEATERS = Path(__file__).with_name("cheaters.py")
TASK = "crop_yield"
LOOK = (
    *("MakesTheTestSetAgain", "UsesItsSeed", "TriesSeeds", "ReadsTheSeedFile", "LinksTheSeedFile"),
    *("ReadsCaches", "ReadsResults", "ReadsTheEnvironment", "ReadsParents", "ReadsDescriptors"),
    *("LooksAtTheView", "AsksForMore", "KnowsTheOrder", "ReadsTheRound"),
)
REMEMBER = ("Attributes", "Times", "Modes", "Flags", "Files", "Modules", "Messages", "Sockets")

pytestmark = pytest.mark.skipif(
    not kernel.landlock_version(), reason="A secret data seed requires Linux with Landlock"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a secret seed, and results that tell it."""
    folder = tmp_path_factory.mktemp("round")
    secret = secrets.token_hex(32)
    (folder / "seed").write_text(secret + "\n")
    (folder / "results").mkdir()
    (folder / "results" / "records.jsonl").write_text(secret)
    return folder


@pytest.fixture(scope="module")
def bench(place: Path) -> Bench:
    """Runs on the data of a place of a sealed round, whose seed follows from the round's."""
    installed = map(Path, nsl_bench.generators.__path__)  # as where it is not installed from a checkout
    read, hidden = (*installed, place / "round.json"), (place / "seed", place / "results")
    limits = Limits(time=120, read=read, hidden=hidden)
    secret = DataSeed.read(place / "seed")
    seed = DataSeed(place_seed(secret.secret, "autumn", TASK, Cell("standard", 0.0, 1)), secret.file)
    public = {"commitment": secret.commitment, "places": [seed.commitment, seed.commitment[::-1]]}
    (place / "round.json").write_text(json.dumps(public))
    return Bench(limits=limits, data_seed=seed)


def cheater(name: str, place: Path) -> str:
    """The learner's spec; it knows in which folder to look."""
    known = {"ReadsTheSeedFile": "seed", "LinksTheSeedFile": "seed", "ReadsResults": "results"}
    where = {**known, "ReadsTheRound": "round.json"}.get(name, ".")
    file = place / f"{name.lower()}.py"
    file.write_text(CHEATERS.read_text().replace('PLACE = ""', f"PLACE = {str(place / where)!r}"))
    return f"{file}:{name}"


def job(learner: str, bench: Bench, repeat: int = 1) -> Job:
    assert bench.data_seed is not None
    sealed = bench.data_seed.commitment
    of, about = {"repeats": [repeat], "sealed": sealed}, About("symbolic", "1")
    (job,) = plan(TASK, [learner], **of, describe=lambda _: about)
    return job


def is_chance(accuracy: float) -> bool:
    """Whether guesses may be as good as that; the labels of 60 seeds agree in 0.34, in at most 0.45."""
    return accuracy < 0.5


def test_with_a_public_seed_the_test_set_can_be_made_again(place: Path, bench: Bench) -> None:
    public = replace(job(cheater("MakesTheTestSetAgain", place), bench), sealed="")
    assert bench.run(public).record.metrics["hypothesis_accuracy"] == 1.0


@pytest.mark.parametrize("name", LOOK)
def test_who_looks_for_the_answers_does_not_find_them(name: str, place: Path, bench: Bench) -> None:
    outcome = bench.run(job(cheater(name, place), bench))
    assert outcome.record.status == "ok", outcome.record.message
    assert is_chance(outcome.record.metrics["hypothesis_accuracy"]), outcome.log


@pytest.mark.parametrize("name", REMEMBER)
def test_who_knew_the_answers_cannot_tell_the_next_run(name: str, place: Path, bench: Bench) -> None:
    assert bench.limits is not None
    known = set(pool.get(bench.limits)._preloaded)
    for repeat in (1, 2):
        outcome = bench.run(job(cheater(name, place), bench, repeat))
        assert outcome.record.status == "ok", outcome.record.message
        assert is_chance(outcome.record.metrics["hypothesis_accuracy"]), outcome.log
    new = pool.get(bench.limits)._preloaded - known
    assert not new & {"torch", "pysat.solvers", "sklearn.ensemble", "nsl_bench.learners.neural"}


COMMAND = """
import json, sys
from pathlib import Path
import pandas as pd
from {module} import {name}
folder = Path(sys.argv[-1])
task = json.loads((folder / "task.json").read_text())
names = [label["name"] for label in task["labels"]]
train, test = (pd.read_parquet(folder / (part + ".parquet"), columns=None) for part in ("train", "test"))
class View:
    labels = train["label"].map(names.index).to_numpy()
    n_labels = len(names)
    def __len__(self):
        return len(test)
probabilities = {name}(seed=task["seed"]).fit(View()).predict_proba(View())
labels = [names[k] for k in probabilities.argmax(axis=1)]
pd.DataFrame({{"example": test["example"], "label": labels}}).to_parquet(folder / "predictions.parquet")
"""


@pytest.mark.parametrize("name", ["UsesItsSeed", "ReadsTheSeedFile", "ReadsTheEnvironment", "ReadsParents"])
def test_commands_do_not_find_them_either(name: str, place: Path, bench: Bench) -> None:
    module = Path(cheater(name, place).rpartition(":")[0]).stem
    script = place / f"command_{module}.py"
    script.write_text(COMMAND.format(module=module, name=name))
    spec = spec_of(f"symbolic={sys.executable} {script}")
    outcome = bench.run(job(spec, bench))
    assert outcome.record.status == "ok", outcome.record.message + outcome.record.output
    assert is_chance(outcome.record.metrics["hypothesis_accuracy"])


def test_exported_folders_do_not_tell_them(place: Path, bench: Bench, tmp_path: Path) -> None:
    of_mine = job("mine", bench)
    (folder,) = export([of_mine], tmp_path, bench, images=True)
    assert bench.data_seed is not None
    for file in folder.iterdir():
        assert bench.data_seed.secret.encode() not in file.read_bytes()
    task = json.loads((folder / "task.json").read_text())
    test = pd.read_parquet(folder / "test.parquet")
    assert "label" not in test
    names = np.array([label["name"] for label in task["labels"]])
    again = registry.create("benchmark", TASK)
    for seed in (task["seed"], task["job"]["seed"], task["job"]["sealed"], str(folder)):
        labels = names[symbolic_split(again, "test", seed=seed).labels]
        answers = pd.DataFrame({"example": test["example"], "label": labels})
        answers.to_parquet(folder / "predictions.parquet")
        accuracy = score(folder, of_mine, bench, bench.limits).record.metrics["hypothesis_accuracy"]
        assert is_chance(accuracy)


def test_a_sealed_run_needs_its_seed(place: Path, bench: Bench, tmp_path: Path) -> None:
    sealed = job("majority", bench)
    with pytest.raises(UserError, match="is not given; give its file with --data-seed-file"):
        Bench(limits=bench.limits).run(sealed)
    other = tmp_path / "other"
    other.write_text("x" * 40)
    with pytest.raises(UserError, match="other contains another seed"):
        Bench(limits=bench.limits, data_seed=DataSeed.read(other)).run(sealed)
    again = Bench(limits=bench.limits, data_seed=bench.data_seed).run(sealed)
    assert again.record.content_hash == bench.run(sealed).record.content_hash
    assert bench.data_seed is not None
    assert bench.data_seed.secret not in again.record.to_json() + repr(bench.options)


@pytest.mark.parametrize(
    ("limits", "way"),
    [
        (None, "--isolation none"),
        (Limits(network=True), "--allow network"),
        (Limits(write=(Path("/tmp"),)), "--allow write="),
    ],
)
def test_ways_out_are_closed_first(limits: Limits | None, way: str, bench: Bench) -> None:
    with pytest.raises(UserError, match=f"leave out {way}"):
        Bench(limits=limits, data_seed=bench.data_seed).run(job("majority", bench))


def test_a_system_that_cannot_keep_learners_apart_is_refused() -> None:
    enough = {"files": "landlock 7", "mounts": "read-only", "calls": "none", "network": "namespace"}
    check_in_force(enough)
    check_in_force({**enough, "mounts": "shared", "calls": "seccomp"})
    for lacking in ({"files": "none"}, {"mounts": "shared"}, {"network": "open"}):
        with pytest.raises(UserError, match="requires Linux with Landlock"):
            check_in_force({**enough, **lacking})


@pytest.mark.parametrize(
    ("text", "found"), [("7", "1 characters"), ("a b" * 20, "something else"), ("", "0 characters")]
)
def test_what_is_no_secret_seed(text: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "seed").write_text(text)
    with pytest.raises(UserError, match=f"must contain one line of 32 to 256 .* contains {found}"):
        DataSeed.read(tmp_path / "seed")


def test_the_commitment_is_what_it_is_said_to_be() -> None:
    assert commitment_of("a" * 32) == ("8fd761ad6044a45f9386acd990b7b94d18df763320f943ea20fcf8d850130f8f")


def test_without_namespaces_calls_that_change_attributes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    before = file.stat()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            kernel.deny_calls(sockets=True, attributes=True)
            file.chmod(0o600)
            os.utime(file, ns=(1, 1))
            shutil.copy2(file, tmp_path / "copy")
            try:
                os.setxattr(file, "user.answers", b"1")
            except OSError:
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    after = file.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert (tmp_path / "copy").read_text() == "x"


@pytest.mark.parametrize("task", [TASK, "sudoku_4x4", "zoo"])
def test_what_follows_from_a_secret_seed_takes_more_than_128_bits(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is drawn for a secret seed; what is drawn for a public one is as it was."""
    drawn: list[int] = []
    benchmark = registry.create("benchmark", task)
    made = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: drawn.append(seed) or made(seed))
    for part in ("train", "test"):
        symbolic_split(benchmark, part, seed=secrets.token_hex(32))
    assert drawn and min(seed.bit_length() for seed in drawn) > 128
    drawn.clear()
    symbolic_split(benchmark, "train", seed=7)
    assert max(seed.bit_length() for seed in drawn) <= 64
