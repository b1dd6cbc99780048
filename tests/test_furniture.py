"""The files at the root say what is so: version, citation, workflows, lock file."""

import re
import shlex
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
ELSEWHERE = {"test", "python", "pip"}
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
    assert {path.stem for path in WORKFLOWS} >= {"docs", "release", "tests"}


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


def test_only_the_publishing_job_can_publish() -> None:
    jobs = parsed(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "build": None,
        "publish": {"id-token": "write"},
    }


@pytest.mark.parametrize(
    "path", [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"], ids=lambda path: path.name
)
def test_forms_are_yaml(path: Path) -> None:
    assert isinstance(parsed(path), dict)


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
