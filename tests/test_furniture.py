"""The files at the root say what is so: version, citation, workflows, lock file."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import nsl_bench

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ELSEWHERE = {"test", "python", "pip", "gh"}
"""Programs of other people, whose arguments are theirs."""


def parsed(path: Path) -> Any:
    """A YAML file; ``on`` is a text there, not a truth value."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def test_there_is_one_version() -> None:
    cited = parsed(ROOT / "CITATION.cff")
    assert nsl_bench.__version__ == PROJECT["version"] == cited["version"]


def test_the_citation_is_one() -> None:
    cited = parsed(ROOT / "CITATION.cff")
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software" and cited["message"]
    assert cited["authors"] == [{"name": "The nsl-bench authors"}]
    assert cited["license"] == PROJECT["license"]
    (paper,) = cited["references"]
    assert paper["doi"] == "10.1007/s10994-022-06278-6" and len(paper["authors"]) == 4


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in parsed(workflow)["jobs"].values():
        assert {"runs-on", "steps"} <= set(job)
        yield from job["steps"]


def test_there_are_workflows() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"comment", "docs", "release", "submission", "tests"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_there_is(workflow: Path) -> None:
    assert parsed(workflow)["on"] and parsed(workflow)["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@(release/)?v\d+", step["uses"])
        for line in step.get("run", "").splitlines():
            first, *others = shlex.split(line)
            if first == "make":
                assert set(others) <= targets(), line
            elif first == "nsl-bench":
                assert others[0] in PROJECT["entry-points"]["nsl_bench.commands"], line
            else:
                assert first in ELSEWHERE, line
            for word in others:
                assert not word.startswith("tests/") or (ROOT / word).exists(), line


def test_only_jobs_that_run_no_code_of_others_can_write() -> None:
    may = {}
    for path in WORKFLOWS:
        for name, job in parsed(path)["jobs"].items():
            may[path.stem, name] = job.get("permissions")
            if may[path.stem, name]:
                used = " ".join(step.get("uses", "") + step.get("run", "") for step in job["steps"])
                assert not re.search(r"checkout|make |pip |nsl-bench|\.py", used)
    assert {one: given for one, given in may.items() if given} == {
        ("comment", "comment"): {"actions": "read", "pull-requests": "write"},
        ("docs", "publish"): {"pages": "write", "id-token": "write"},
        ("release", "publish"): {"id-token": "write"},
    }


def acted(name: str, job: str, folder: Path, **variables: str) -> list[int]:
    """The exit codes of the steps of an action that install nothing, run in a folder."""
    lines = [
        step["run"]
        for step in parsed(ROOT / f".github/workflows/{name}.yml")["jobs"][job]["steps"]
        if "run" in step
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, **variables}
    return [
        subprocess.run(["bash", "-ec", line], cwd=folder, env=env, check=False).returncode
        for line in lines
        if "pip install" not in line
    ]


@pytest.mark.parametrize(
    "more", [None, pytest.param("ffnsl-on-true-concepts", marks=pytest.mark.slow)], ids=["broken", "right"]
)
def test_a_pull_request_is_scored_and_gets_its_comment(more: str | None, tmp_path: Path) -> None:
    (tmp_path / ".github").symlink_to(ROOT / ".github")
    ours, theirs = (tmp_path / part / "leaderboard" / "submissions" for part in ("", "theirs"))
    accepted = ROOT / "leaderboard" / "submissions"
    for place, names in ((ours, ["majority"]), (theirs, ["majority", *([more] if more else [])])):
        for name in names:
            shutil.copytree(accepted / name, place / name)
    (theirs / "broken").mkdir()
    assert acted("submission", "score", tmp_path, NUMBER="7") == [1]
    text = (tmp_path / "comment" / "comment.md").read_text()
    assert ("FFNSL on true concepts: accepted" in text) == bool(more)
    assert "not accepted" in text and "ajority" not in text
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text('#!/bin/sh\necho abc\necho "$@" >> "$LOG"\n')
    gh.chmod(0o755)
    given = tmp_path / "comment"
    (given / "bin").symlink_to(tmp_path / "bin")
    assert acted("comment", "comment", given, SHA="abc", LOG=str(tmp_path / "log")) == [0, 0]
    assert (
        "pr comment 7 --edit-last --create-if-none --body-file comment.md" in (tmp_path / "log").read_text()
    )
    assert acted("comment", "comment", given, SHA="other", LOG=str(tmp_path / "log"))[0] == 1


def test_pages_are_the_documentation_with_the_board() -> None:
    _, _, build, upload, _ = steps(ROOT / ".github/workflows/docs.yml")
    line = ["make", "-n", "-B", *build["run"].split()[1:]]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    path = upload["with"]["path"]
    assert re.search(rf"sphinx .* docs {path}$", done.stdout, re.MULTILINE)
    assert f"nsl-bench leaderboard build --out {path}/board" in done.stdout


@pytest.mark.parametrize(
    "path", [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"], ids=lambda path: path.name
)
def test_forms_are_yaml(path: Path) -> None:
    assert isinstance(parsed(path), dict)


def test_notebooks_are_opened_and_installed_from_the_repository() -> None:
    repository = PROJECT["urls"]["Repository"]
    colab = repository.replace("github.com", "colab.research.google.com/github")
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        cells = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
        assert f"({colab}/blob/main/docs/notebooks/{path.name})" in cells[0]
        assert f'git+{repository}"' in cells[1]


def test_what_is_needed_without_torch_is_the_rest() -> None:
    lines = (ROOT / "requirements-no-torch.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == [word for word in PROJECT["dependencies"] if not word.startswith("torch")]


def test_the_lock_file_has_all_that_developers_need() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {name.lower() for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    names = {re.split(r"[><=\[; ]", word)[0].lower() for word in asked}
    assert names <= locked
    assert "file:" not in text and not re.search(r"(?<![\w./-])/\w", text)


def test_the_page_on_logic_names_what_there_is() -> None:
    logic = ROOT / "nsl_bench" / "logic"
    paths = re.findall(r"`((?:asp|las|inference|guarded)/[\w/.]*)`", (logic / "README.md").read_text("utf-8"))
    assert len(paths) > 20 and [path for path in paths if not (logic / path).exists()] == []


def test_the_page_on_architecture_names_what_there_is() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:nsl_bench|generators|leaderboard|tests)/[\w/.]*)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    names = re.findall(r"`([\w/]+\.\w+)` \| `(.+)` \|", text)
    assert len(names) == 20
    assert all(re.search(rf"(def |class |\n){name}\b", (ROOT / path).read_text()) for path, name in names)
    rooms = {path.parent.name for path in (ROOT / "nsl_bench").glob("*/__init__.py")}
    assert rooms <= set(re.findall(r"[│┤►] (\w+) ", text))
