"""Publishing to the Hub and loading from it, against a stand-in for its HTTP interface."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest
import yaml
from click.testing import CliRunner
from forked import Calls
from huggingface_hub import parse_eval_result_entries

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.core.errors import UserError
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.generate import generate
from nsl_bench.data.hub import publish as send
from nsl_bench.data.hub import publish_copy
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import Recipe
from nsl_bench.data.verify import verify

from .stand_in import TOKEN, Hub, running

REPOSITORY = "someone/grids"


@pytest.fixture(scope="module")
def server() -> Iterator[Hub]:
    with running() as stand_in:
        yield stand_in


@pytest.fixture
def hub(server: Hub) -> Hub:
    """The stand-in, as it was at first."""
    vars(server).update(vars(Hub(server.url)))
    return server


@pytest.fixture(scope="module")
def warm(server: Hub, grids: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    """A process that forks itself for each command: settings of the Hub's library are read at its import."""
    place = tmp_path_factory.mktemp("warm")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings(server, place).items():
            patch.setenv(name, value)
        warm = Calls(place, "mutations:said", [["publish", str(grids), "--repo", REPOSITORY, "--dry-run"]])
    yield warm
    warm.close()


def settings(hub: Hub, place: Path) -> dict[str, str]:
    """The environment of a program that talks to the stand-in."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HOME": str(place / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "NSL_BENCH_CACHE": str(place / "cache"),
    }


def run(hub: Hub, tmp_path: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, which reads its settings from the environment."""
    env = {**os.environ, **settings(hub, tmp_path), **more}
    line = [sys.executable, *map(str, words)]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=120)


def publish(warm: Calls, folder: Path, *more: str) -> tuple[int, str]:
    """The exit code of the command, and what it says."""
    done = warm.call("mutations:said", [["publish", str(folder), "--repo", REPOSITORY, *more]])
    assert not done["signal"] and not done["given"]["trace"], done
    return done["given"]["code"], "\n".join(done["given"]["said"])


LOAD = """
import sys, nsl_bench
for words in sys.argv[1:]:
    name, shift, percent, repeat = words.split()
    try:
        data = nsl_bench.load(name, shift=shift, percent=float(percent), repeat=int(repeat))
        print(data.info.description[-64:])
    except nsl_bench.UserError as error:
        print(error)
"""


def load(hub: Hub, tmp_path: Path, *words: str, **more: str) -> list[str]:
    """What loading each of these prints: a name, a shift, its share and a repeat."""
    done = run(hub, tmp_path, "-c", LOAD, *words, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_dry_run_sends_nothing(hub: Hub, warm: Calls, grids: Path) -> None:
    code, said = publish(warm, grids, "--dry-run")
    assert code == 0, said
    assert hub.requests == []
    for path in Manifest.read(grids).files:
        assert path in said
    assert f"to {REPOSITORY}, tagged v1.0.0" in said and "Would send" in said


def test_everything_goes_up_in_one_commit_and_is_tagged(
    hub: Hub, warm: Calls, tmp_path: Path, grids: Path
) -> None:
    code, said = publish(warm, grids)
    assert code == 0, said
    ((files, message),) = hub.commits[REPOSITORY]
    on_disk = {str(p.relative_to(grids)): p.read_bytes() for p in grids.rglob("*") if p.is_file()}
    assert files == on_disk and message == "sudoku_4x4 1.0.0"
    assert hub.tags[REPOSITORY] == {"v1.0.0": 0}
    assert len(hub.blobs) == len({data for path, data in files.items() if path.endswith(".parquet")})

    code, said = publish(warm, grids)
    assert code == 2 and f"{REPOSITORY} already has version v1.0.0" in said
    assert len(hub.commits[REPOSITORY]) == 1

    configs = Manifest.read(grids).configs
    stated = configs["rotate90"]["train_2"].percents["50"]
    mixed = f"{REPOSITORY}@v1.0.0 rotate90 50 2"
    assert load(hub, tmp_path, mixed) == [stated]
    fetched = {request.rsplit("/", 1)[1] for request in hub.requests if request.startswith("GET /datasets/")}
    assert "manifest.json" in fetched and "network-00000-of-00001.parquet" not in fetched

    # What was fetched once is there without a network; what was not is told in one sentence.
    shutil.rmtree(tmp_path / "cache" / "datasets")
    others = [f"{REPOSITORY}@v1.0.0 standard 0 2", "someone/else@v1.0.0 standard 0 1"]
    others += [f"{REPOSITORY}@v1.0.0 standard 0 1"]
    kept, plain, strange, part = load(hub, tmp_path, mixed, *others, HF_HUB_OFFLINE="1")
    assert kept == stated and plain == configs["standard"]["train_2"].content_hash
    assert strange.startswith("The Hub cannot be reached for someone/else at v1.0.0; connect once, or ")
    assert "connect once, or copy the data set's folder here" in part


def test_what_the_hub_does_not_have(hub: Hub, tmp_path: Path) -> None:
    hub.commits[REPOSITORY], hub.tags[REPOSITORY] = [({"README.md": b"x"}, "first")], {"v0": 0}
    names = ("someone/nothing@v1.0.0", f"{REPOSITORY}@v9", REPOSITORY, f"{REPOSITORY}@v0")
    assert load(hub, tmp_path, *(f"{name} rotate90 50 2" for name in names)) == [
        "The data set someone/nothing at v1.0.0 does not exist on the Hub, or is private; "
        "check the name, or log in with `hf auth login`.",
        f"The revision does not exist on the Hub: {REPOSITORY} at v9.",
        f"{REPOSITORY} needs a revision (tag or commit), so that results stay reproducible; write "
        f"'{REPOSITORY}@v1.0.0'.",
        f"{REPOSITORY} at v0 on the Hub is not an nsl-bench data set: manifest.json is missing.",
    ]


def test_a_refusal_gets_one_sentence(hub: Hub, tmp_path: Path, grids: Path) -> None:
    words = ("-m", "nsl_bench", "publish", grids, "--repo", REPOSITORY)
    done = run(hub, tmp_path, *words, HF_TOKEN="hf_other")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "log in with `hf auth login`" in done.stderr
    assert hub.commits == {}


def test_a_version_is_tagged_again_if_that_failed(hub: Hub, warm: Calls, grids: Path) -> None:
    hub.broken = "/tag/"
    code, said = publish(warm, grids)
    assert code == 2 and "The Hub returned an error" in said, said
    hub.broken = None
    assert publish(warm, grids)[0] == 0
    assert set(hub.tags[REPOSITORY]) == {"v1.0.0"}


@pytest.mark.parametrize(
    ("broken", "answer", "sentence"),
    [
        ("/upload/", (403, b"no"), "The Hub denied access to someone/grids; log in"),
        ("/upload/", (409, b"no"), "The Hub returned an error for someone/grids"),
        *(
            (step, (200, b"<html>Log in</html>"), "The answer for someone/grids did not come from the Hub")
            for step in ("/create", "/refs", "/batch", "/commit")
        ),
    ],
)
def test_a_broken_step_gets_one_sentence(
    hub: Hub, warm: Calls, grids: Path, broken: str, answer: tuple[int, bytes], sentence: str
) -> None:
    hub.broken, hub.answer = broken, answer
    code, said = publish(warm, grids)
    assert code == 2 and "Traceback" not in said
    assert sentence in said
    assert not any(hub.commits.values()) and not any(hub.tags.values())


def test_files_of_an_earlier_version_are_taken_away(hub: Hub, warm: Calls, grids: Path) -> None:
    stale = {"manifest.json": b"{}", "standard/train-00000-of-00002.parquet": b"old", ".gitattributes": b"x"}
    hub.commits[REPOSITORY], hub.tags[REPOSITORY] = [(stale, "first")], {"v0": 0}
    assert publish(warm, grids)[0] == 0
    files, _ = hub.commits[REPOSITORY][1]
    assert set(files) == {*Manifest.read(grids).files, "manifest.json", ".gitattributes"}
    assert hub.commits[REPOSITORY][0] == (stale, "first")


def test_a_repository_without_a_commit_has_no_files(hub: Hub, warm: Calls, grids: Path) -> None:
    hub.broken, hub.answer = "/tree/", (404, b'{"error": "none"}')
    assert publish(warm, grids)[0] == 0
    assert set(hub.commits[REPOSITORY][0][0]) == {*Manifest.read(grids).files, "manifest.json"}


def test_what_is_no_data_set_is_not_taken_away(hub: Hub, warm: Calls, grids: Path) -> None:
    hub.commits[REPOSITORY], hub.tags[REPOSITORY] = [({"thesis.pdf": b"x"}, "first")], {}
    code, said = publish(warm, grids)
    assert code == 2 and f"{REPOSITORY} contains thesis.pdf and is not an" in said
    assert len(hub.commits[REPOSITORY]) == 1


@pytest.mark.parametrize(
    "name", ["grids", "a/b c", "a/b.git", "a/x--y", "ö/ü", "a/..", "a/b/c", "a/", f"a/{'b' * 120}"]
)
def test_a_name_that_the_hub_does_not_take(grids: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"^--repo: '.*' is not a valid Hub repository. Write owner/name"):
        send(grids, name, dry_run=True)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        with pytest.raises(UserError, match=r"is not a valid Hub repository. Write owner/name"):
            nsl_bench.load(f"{name}@v1")


def test_a_spoiled_data_set_is_not_published(hub: Hub, warm: Calls, copied: Path) -> None:
    (copied / "README.md").write_text("Better.")
    code, said = publish(warm, copied)
    assert code == 2 and "was edited after it was generated" in said
    assert hub.requests == []


def test_a_copy_is_whole_and_takes_nothings_place(grids: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["publish", str(grids), "--to", str(tmp_path / "copy")])
    assert done.exit_code == 0 and "version v1.0.0" in done.output
    assert verify(tmp_path / "copy") == Manifest.read(grids)
    with pytest.raises(UserError, match="already exists; name a folder that is new or empty"):
        publish_copy(grids, str(tmp_path / "copy"))
    with pytest.raises(UserError, match=r"--to: nowhere://bucket/a cannot be written"):
        publish_copy(grids, "nowhere://bucket/a")


def test_it_is_published_to_s3(grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
            monkeypatch.setenv(name, "us-east-1")
        system = s3fs.S3FileSystem()
        system.mkdir("bucket")
        publish_copy(grids, "s3://bucket/sets/grids")
        system.get("bucket/sets/grids", str(tmp_path / "back"), recursive=True)
        assert verify(tmp_path / "back") == Manifest.read(grids)
        with pytest.raises(UserError, match="s3://bucket/sets/grids already exists"):
            publish_copy(grids, "s3://bucket/sets/grids")
        with pytest.raises(UserError, match="s3://nobody/grids cannot be written"):
            publish_copy(grids, "s3://nobody/grids")
    finally:
        server.stop()


@pytest.mark.parametrize("benchmark", ["", "addition"])
def test_the_card_says_how_to_mix_without_nsl_bench(
    grids: Path, benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if benchmark:
        grids = tmp_path / "sums"
        generate(Recipe("addition:digits=3", train=4, test=7, repeats=1, shifts=("rotate90",)), grids)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    blocks = re.findall(r"```python\n(.*?)```", (grids / "README.md").read_text(), re.DOTALL)
    known = {"FOLDER_OR_REPOSITORY": str(grids)}
    exec(blocks[1], known)
    wanted = nsl_bench.load(grids, split="test", shift="rotate90", percent=60)
    assert wanted.info.description.endswith(dataset_hash(known["mixed"]))
    assert [line for line in blocks[1].splitlines() if line][5:] == []


def test_scores_are_files_that_the_hub_reads(grids: Path, tmp_path: Path) -> None:
    learners = ["majority", "random_forest"]
    results = tmp_path / "results"
    nsl_bench.evaluate(learners, "sudoku_4x4", shift="rotate90", shares=[0, 90], repeats=2, out=results)
    words = ["publish", str(results), "--data", "sudoku_4x4=some/grids"]
    several = CliRunner().invoke(main, [*words, "--to", "x"])
    assert "one learner with finished runs; there are: majority, random_forest" in str(several.exception)
    done = CliRunner().invoke(main, [*words, "--learner", "majority", "--to", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    (file,) = (tmp_path / "model" / ".eval_results").iterdir()
    entries = parse_eval_result_entries(yaml.safe_load(file.read_text()))
    tasks = {one["id"]: one for one in yaml.safe_load((grids / "eval.yaml").read_text())["tasks"]}
    assert {one.dataset_id for one in entries} == {"some/grids"}
    assert [e.task_id for e in entries] == ["standard", "rotate90_90"]
    for entry in entries:
        assert tasks[entry.task_id]["split"] == "test" and 40 < entry.value < 100
        assert "2 train splits" in str(entry.notes)
    for task in tasks.values():
        assert task["config"] in Manifest.read(grids).configs
