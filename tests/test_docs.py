"""What the documentation shows works."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
import venv
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from packages import installed

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import answers_of
from nsl_bench.testing.toy import patches, view

ROOT = Path(__file__).parents[1]
isolated = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(*commands: Sequence[str | Path], env: dict[str, str]) -> str:
    """Run commands of the program, in one process with another package's folder on the path."""
    lines = json.dumps([[str(word) for word in words] for words in commands])
    words = [sys.executable, "-c", ALL, lines]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


ALL = """
import json, sys
from nsl_bench.cli import main
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import answers_of
from nsl_bench.testing.toy import patches, view
for words in json.loads(sys.argv[1]):
    assert not main(words, standalone_mode=False)
"""


def example(code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "page.py").write_text(code)
    runpy.run_path(str(folder / "page.py"), run_name="__main__")
    return capsys.readouterr().out


@pytest.fixture
def other_package(tmp_path: Path) -> dict[str, str]:
    """Another package, installed, that adds the task and the shifts of docs/extending.md."""
    for name, code in zip(("task", "shift", "option"), python_blocks("docs/extending.md"), strict=True):
        (tmp_path / f"my_{name}.py").write_text(code)
    shifts = {"negative": "my_shift:Negative", "darker": "my_option:Darker"}
    tasks = {"left_is_larger": "my_task:LeftIsLarger"}
    return installed(tmp_path, {"nsl_bench.benchmarks": tasks, "nsl_bench.shifts": shifts})


def test_a_fifth_task_is_one_module_and_one_entry_point(
    other_package: dict[str, str], tmp_path: Path
) -> None:
    sweep = ["run", "left_is_larger", "--learner", "ffnsl", "--learner", "random_forest", "--repeats", "1"]
    sweep += ["--jobs", "1", "--track", "symbolic", "--out", str(tmp_path / "results")]
    report = ["report", tmp_path / "results", "--no-curves", "--metric", "hypothesis_accuracy"]
    said = run(sweep, report, ["list", "tasks"], env=other_package)
    assert re.search(r"ffnsl +\| 1\.000", said), said
    assert "left_is_larger" in said.rpartition("| ffnsl")[2]


def test_a_shift_in_ten_lines(other_package: dict[str, str], tmp_path: Path) -> None:
    words = ["generate", "sudoku_4x4", "--repeats", "1", "--train", "9", "--test", "9"]
    words += ["--shift", "negative+darker:share=0.2", "--out", str(tmp_path / "grids")]
    run(words, env=other_package)


def test_the_readme_learner_runs(tmp_path: Path) -> None:
    (guess,) = (block for block in python_blocks("README.md") if "class Guess" in block)
    (tmp_path / "guess.py").write_text(guess)
    words = ["run", "follow_suit", "--learner", f"{tmp_path / 'guess.py'}:Guess", "--track", "symbolic"]
    words += ["--repeats", "1", "--jobs", "1", "--out", str(tmp_path / "results")]
    result = CliRunner().invoke(main, words, standalone_mode=False)
    assert result.return_value == 0, result.output


@pytest.mark.parametrize(
    ("page", "of_blocks", "printed"),
    [
        ("README.md", "nsl_bench.load", ()),
        ("docs/python.md", "", ("sharp shares", "p_value")),
        ("docs/structure.md", "", ("| follow_suit:players=3 | random_forest | not applicable", "('my_game:")),
        ("docs/tasks.md", "annotation", ("20 of 200 train labels are wrong",)),
    ],
)
def test_examples_of_a_page_run(
    page: str, of_blocks: str, printed: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = example("\n".join(b for b in python_blocks(page) if of_blocks in b), tmp_path, capsys)
    assert all(words in said for words in printed)


def test_the_pytorch_page_learns_concepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = python_blocks("docs/pytorch.md")
    assert len(code.splitlines()) < 40
    lines = example(code, tmp_path, capsys).splitlines()
    standard, shifted = (float(line.rpartition(" ")[2]) for line in lines)
    assert standard > 0.9 > 0.6 > shifted


def test_the_page_on_tables_prints_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "docs/how-to/learn-rules-from-a-table.md"
    monkeypatch.chdir(tmp_path)
    (code,), (_, shown) = python_blocks(page), (ROOT / page).read_text(encoding="utf-8").split("```text\n")
    assert example(code, tmp_path, capsys).startswith(shown.partition("```")[0])


def test_a_learner_with_rules_alone() -> None:
    (code,) = (block for block in python_blocks("docs/learners.md") if "class SameShade" in block)
    scope: dict[str, Any] = {}
    exec(code, scope)
    test = patches("test")
    labels, _ = answers_of(answering(scope["SameShade"]().fit(None)), view(test, labelled=False))
    assert labels.tolist() == test.labels.tolist()


def test_predictions_from_elsewhere_need_no_torch(tmp_path: Path) -> None:
    page = (
        (ROOT / "docs" / "networks.md").read_text(encoding="utf-8").partition("## Predictions of your own")[2]
    )
    lines = re.findall(r"^\$ nsl-bench (.*)$", page, re.MULTILINE)[:2]
    (code,) = (block for block in python_blocks("docs/networks.md") if "pools/" in block)
    export, run = (f"assert not main({shlex.split(line)}, standalone_mode=False)" for line in lines)
    start = "import sys\nsys.modules['torch'] = None\nfrom nsl_bench.cli import main"
    script = "\n".join([start, export, code, run])
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=600)
    records = nsl_bench.results(tmp_path / "results").frame
    assert list(records["status"]) == ["ok", "ok"] and records["network_version"].str.startswith("1+").all()


class StandIn(BaseHTTPRequestHandler):
    """A language model that makes a mistake in ASP, then forgets two rules, then has them all."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({**given, "key": self.headers["Authorization"], "path": self.path})
        rule = "invalid :- digit(A, N), digit(B, N), neq(A, B), {0}(A, G), {0}(B, G).\n"
        every = "".join(map(rule.format, ("row", "col", "block")))
        answers = ["I think:\n```asp\ninvalid :-\n```", rule.format("row"), f"```\n{every}```"]
        answer = {"choices": [{"message": {"content": answers[len(self.asked) - 1]}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


def test_a_language_model_is_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = python_blocks("docs/language-models.md")
    assert example(code, tmp_path, capsys).startswith("0.")
    script = runpy.run_path(str(ROOT / "examples" / "language_model.py"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = HTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with server:
        words = ["sudoku_4x4", "--model", "m", "--url", url, "--track", "symbolic", "--examples", "5"]
        assert script["main"](words) == 1.0
        server.shutdown()
    first, second, third = StandIn.asked
    assert first["path"] == "/v1/chat/completions" and first["key"] == "Bearer secret"
    prompt = first["messages"][0]["content"]
    assert prompt.count(" => ") == 6 and " [1.00]" in prompt and "#modeh(invalid)" in prompt
    assert "syntax error" in second["messages"][-1]["content"]
    assert "must follow: invalid." in third["messages"][-1]["content"] and len(third["messages"]) == 5
    with pytest.raises(SystemExit, match="gave no answer: URLError"):
        script["ask"](url, "m", [])


def test_every_package_is_installed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for top in ("nsl_bench", "generators", "leaderboard")
        for init in (ROOT / top).rglob("__init__.py")
    }
    found = {name if name.startswith("nsl_bench") else f"nsl_bench.{name}" for name in found}
    assert set(listed) == found


# docs/add-a-learner.md, followed word by word, gives a table with the new learner beside FFNSL.


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new user's folder, with what the page shows from the repository."""
    folder = tmp_path_factory.mktemp("user")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (learner,) = python_blocks("docs/add-a-learner.md")
    (folder / "my_learner.py").write_text(learner)
    return folder


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    """A fresh virtual environment in which nsl-bench is installed (its dependencies from this one)."""
    place = home / "env"
    venv.create(place, with_pip=False, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    install = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet"]
    install += ["--no-deps", "--no-build-isolation", "--force-reinstall", str(ROOT)]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"there is no pip here that can install: {done.stderr[-200:]}")
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": str(place)}


@isolated
@pytest.mark.slow
def test_the_page_word_by_word(home: Path, environment: dict[str, str]) -> None:
    page = (ROOT / "docs" / "add-a-learner.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (nsl-bench .*)$", page, re.MULTILINE)
    assert len(lines) == 7
    for line in lines:
        if line.startswith("nsl-bench score"):
            for folder in (home / "folders").iterdir():
                answer = [str(home / "env" / "bin" / "python"), "examples/command_nearest.py", str(folder)]
                subprocess.run(answer, cwd=home, env=environment, check=True, capture_output=True)
        shell = ["sh", "-c", line]
        done = subprocess.run(shell, cwd=home, env=environment, capture_output=True, text=True, timeout=900)
        print(f"$ {line}\n{done.stdout}{done.stderr}")
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if line.startswith("nsl-bench check"):
            assert done.stdout.splitlines()[-1] == "No problems found."
        if line.startswith("nsl-bench report"):
            rows = [row for row in done.stdout.splitlines() if row.startswith("|")]
            for learner in ("my_learner.py:Nearest", "ffnsl"):
                assert sum(f"| {learner} " in row for row in rows) == 2


@isolated
def test_the_page_in_short(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's learner beside FFNSL, with true concepts and in this environment."""
    monkeypatch.chdir(home)
    sweep = "run sudoku_4x4 --track symbolic --learner my_learner.py:Nearest --learner ffnsl "
    sweep += "--repeats 1 --jobs 1 --out short/"
    for line in (sweep, "report short/ --no-curves"):
        result = CliRunner().invoke(main, line.split(), standalone_mode=False)
        assert not result.exception and not result.return_value, result.output
    assert "| my_learner.py:Nearest " in result.stdout and "| ffnsl " in result.stdout
