"""The documentation as a site: pages are reached, links lead somewhere, notebooks run, Sphinx is content."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")])
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
"""The one picture from elsewhere; without it, its link has words."""

AT_THE_ROOT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "llms.txt")]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def text(path: Path) -> str:
    """The Markdown of a page or of a notebook's cells."""
    found = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return found
    cells = json.loads(found)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def prose(path: Path) -> str:
    return re.sub(r"^(`{3,})[^\n]*\n.*?^\1", "", text(path), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> set[str]:
    """What can stand behind # in a link to a page, as GitHub names headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def reached(page: Path) -> Iterator[Path]:
    """A page and all below it in the tables of contents."""
    yield page
    for block in re.findall(r"```\{toctree\}\n(.*?)```", text(page), re.DOTALL):
        for entry in (line for line in block.splitlines() if line and not line.startswith(":")):
            places = [page.parent / f"{entry}{end}" for end in (".md", ".ipynb")]
            (file,) = [place for place in places if place.is_file()]
            yield from reached(file)


def test_every_page_is_in_one_table_of_contents() -> None:
    assert sorted(reached(DOCS / "index.md")) == PAGES


@pytest.mark.parametrize("page", [*AT_THE_ROOT, *PAGES], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        assert file.exists() and ROOT in file.parents, f"{name(page)} links to {target}: not there"
        if anchor:
            assert anchor in anchors(file), f"{name(page)} links to {target}; {place} has no such heading."


def test_llms_txt_names_every_page_but_results() -> None:
    named = set(re.findall(r"\]\(([^)]+)\)", text(ROOT / "llms.txt")))
    ours = {name(page) for page in PAGES if DOCS / "results" not in page.parents}
    assert ours - named == {"docs/index.md", "docs/changelog.md", "docs/contributing.md"}


def test_the_glossary_defines_each_term_once() -> None:
    terms = re.findall(r"^(.+)\n: ", text(DOCS / "glossary.md"), re.MULTILINE)
    assert len({term.lower() for term in terms}) == len(terms) > 40


SHOWN = {
    "leaderboard": "2 entries, 8 runs",
    "own-learner": "",
    "shifted-data-pytorch": "100 % shifted",  # its code is also that of docs/pytorch.md
}


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, marks=pytest.mark.slow) if "pytorch" in path.stem else path for path in NOTEBOOKS],
    ids=name,
)
def test_notebooks_run(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = ModuleType("IPython.display")  # IPython is no dependency
    shown.HTML = shown.Image = lambda *what, **how: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, shown.__name__, shown)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), names)
    assert SHOWN[notebook.stem] in capsys.readouterr().out


def commands_and_files(page: Path) -> Iterator[tuple[str, str]]:
    """What a reader of a page does in turn: a command of the shell, Python to run, or a file to save."""
    saved = None
    for before, language, code in re.findall(
        r"([^\n]*)\n\n```(console|python|toml)\n(.*?)```", text(page), re.DOTALL
    ):
        saved = re.search(r"[Ss]ave this as `(.+?)`", before)
        if saved:
            yield saved[1], code
        elif language == "console":
            for line in re.sub(r"\\\n\s*", "", code).splitlines():
                yield "", line.removeprefix("$ ")
        else:
            yield "page.py", code
            yield "", f"{sys.executable} page.py"


@pytest.mark.slow
@pytest.mark.parametrize("page", HOW_TO, ids=name)
def test_how_to_guides_word_for_word(page: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for file, words in commands_and_files(page):
        if file:
            (tmp_path / file).write_text(words)
        elif not words.startswith("pip "):
            how = {"cwd": tmp_path, "env": env, "capture_output": True, "text": True, "timeout": 900}
            done = subprocess.run(["sh", "-c", words], **how)
            assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", sorted((DOCS / "reference").glob("*.md")), ids=name)
def test_the_reference_names_what_there_is(page: Path) -> None:
    for named in re.findall(r"^\.\. auto\w+:: (\S+)", text(page), re.MULTILINE):
        assert pkgutil.resolve_name(named) is not None, named


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_works_from_the_disk(tmp_path: Path) -> None:
    for package in ("sphinx", "furo", "myst_nb", "sphinx_copybutton"):
        pytest.importorskip(package, reason="the extra 'docs' is not installed")
    site = tmp_path / "site"
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html"]
    words += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(site)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()
    for target in re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text()):
        assert (site / target).is_file(), target
    for page in site.rglob("*.html"):
        address = r"<(?:script|img|link rel=\"stylesheet\")[^>]*(?:src|href)=\"(\w+:[^\"]+)"
        loaded = re.findall(address, page.read_text())
        elsewhere = [address for address in loaded if not address.startswith(("data:", BADGE))]
        assert elsewhere == [], page
    assert 'href="board/index.html">The board</a>' in (site / "index.html").read_text()
    functions = (site / "reference" / "functions.html").read_text()
    assert "nsl_bench.evaluate" in functions and "nsl_bench.Results.compare" in functions
    assert "nsl-bench-leaderboard-build" in (site / "reference" / "commands.html").read_text()
