"""Command lines of the documentation, of the present one and of earlier ones, are understood."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("command_lines.txt").read_text(encoding="utf-8").splitlines()
EARLIER = [line for line in LISTED if line and not line.startswith("#")]
PLACES = ["folders", "grids", "autumn-2026"]
PLACES += [f"leaderboard/submissions/{name}" for name in ("theirs", "ffnsl")]
FILES = ("recipe.toml", "grids/manifest.json", "autumn.seed")


def blocks(page: Path) -> Iterator[str]:
    """The lines of a page's code blocks, with continued ones joined, and its commands in running text."""
    text = re.sub(r"[ \t]*\\\n\s*", " ", page.read_text(encoding="utf-8"))
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
    if page.parent.name == "results":
        yield from re.findall(r"`((?:nsl-bench|python|make) [^`\n]+)`", text)


def shown(pages: list[Path]) -> list[str]:
    """The command lines of some pages, each once."""
    lines = (line for page in pages for line in blocks(page))
    return sorted({line for line in lines if re.match(r"(nsl-bench|python benchmarks/|make) ?[a-z]", line)})


def understood(line: str) -> None:
    """Parse a command line, without doing anything."""
    words = shlex.split(re.sub(r"\s[>|].*", "", line), comments=True)
    words = [word.replace("~/", "") for word in words if word != "..."]
    context, command = main.make_context(words[0], words[1:]), main
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        context, command = found.make_context(name, rest, parent=context), found  # type: ignore[assignment]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder that holds the files that command lines name."""
    monkeypatch.chdir(tmp_path)
    for name in PLACES:
        (tmp_path / name).mkdir(parents=True)
    for name in FILES:
        (tmp_path / name).write_text("0" * 64, encoding="utf-8")


@pytest.mark.parametrize("line", [line for line in EARLIER if line.startswith("nsl-bench")])
def test_an_earlier_command_line_is_understood(line: str, elsewhere: None) -> None:
    try:
        understood(line)
    except UserError as error:
        assert "now called" in str(error)


@pytest.mark.parametrize("line", shown([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]))
def test_a_command_line_of_the_documentation_is_understood(line: str, elsewhere: None) -> None:
    if not line.startswith("nsl-bench"):
        check_elsewhere(line)
        return
    try:
        understood(line)
    except (UserError, click.ClickException) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        if not re.search(r"does not exist|no (?:file|folder)|is not there", said):
            raise


def check_elsewhere(line: str) -> None:
    """Of a script or a target of make: that it is there."""
    program, what = line.split()[:2]
    if program == "python":
        assert (ROOT / what).is_file()
    else:
        assert f"\n{what}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", [line for line in EARLIER if not line.startswith("nsl-bench")])
def test_an_earlier_script_or_target_is_there(line: str) -> None:
    check_elsewhere(line)


def test_an_unknown_option_is_noticed() -> None:
    with pytest.raises(click.NoSuchOption):
        understood("nsl-bench run sudoku_4x4 --learner ffnsl --percentages 5 --out results/")
    with pytest.raises(UserError, match="Unknown command 'ran'"):
        understood("nsl-bench ran sudoku_4x4")
