"""Messages and help texts are plain technical English, in sentences that are read once."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nsl_bench.cli import main
from nsl_bench.core.errors import UserError, did_you_mean

ROOT = Path(__file__).parents[1]
PACKAGES = ("nsl_bench", "generators", "leaderboard")
REPORTS = tuple(f"nsl_bench/report/published/{name}.py" for name in ("ffnsl", "figures", "pages"))
"""Their words are those of pages in docs/results."""

ERRORS = ("UserError", "Rejected", "InvalidOutput", "TrackError", "BadParameter", "UsageError", "Interrupted")

REFUSED = re.compile(
    r", but (?:is (?!not)|are|it is|they are|should be|there are|at least) "
    r"|\blies? between|there must be|thing\(s\)|\blest\b|none of which|that there are not"
    r"|\bis no (?!longer)|\bare no \b|\bbe no \b|there (?:is|are) no\b|\bis none\b|, found "
    r"|(?<!Input )should (?:be|hold|have) "
    r"|is there (?:already|twice)|\bnot there\b|\bis there\b|\bwere there\b|cannot be made(?! safe)"
    r"|\bmakes one\b|of its own\b|in place of|\bto mend\b|All is (?:well|right)|as it was written"
    r"|percents? of shift|shares? of shift\b",
    re.IGNORECASE,
)
"""Inversions, riddles, and words for which the field has others."""

MOST_WORDS = {"help": 25, "error": 35}
"""In a sentence; errors carry paths and values, so theirs may be longer."""


def text_of(node: ast.AST) -> str | None:
    """A string of the code; each value put into it is one word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{x}" for part in node.values)
        return "".join(map(str, parts))
    return None


def named(call: ast.expr) -> str:
    return ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""


def texts_of(tree: ast.Module) -> list[tuple[str, int, str]]:
    """Kind (error or other), line and text of each string that a user may see."""
    found: list[tuple[str, int, str]] = []
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            hidden.add(id(node.value))  # docstrings
        elif isinstance(node, ast.JoinedStr):
            hidden.update(map(id, node.values))
        elif isinstance(node, ast.Call) and named(node) in ERRORS:
            found += [("error", node.lineno, text) for one in node.args if (text := text_of(one))]
        if id(node) not in hidden and (text := text_of(node)) and len(text.split()) > 2:
            found.append(("other", getattr(node, "lineno", 0), text))
    return found


def helps() -> Iterator[tuple[str, str, str]]:
    """Kind, place and text of what ``--help`` says of each command and option."""
    todo: list[tuple[str, click.Command]] = [("nsl-bench", main)]
    while todo:
        name, command = todo.pop()
        texts = {"": command.help or ""} | {
            str(one.name): getattr(one, "help", None) or "" for one in command.params
        }
        for option, text in texts.items():
            yield from (("help", f"{name} {option}", " ".join(p.split())) for p in text.split("\n\n") if p)
        if isinstance(command, click.Group):
            context = click.Context(command)
            known = {word: command.get_command(context, word) for word in command.list_commands(context)}
            todo += [(f"{name} {word}", sub) for word, sub in known.items() if sub is not None]


@functools.cache
def texts() -> tuple[tuple[str, str, str], ...]:
    return *helps(), *(
        (kind, f"{path.relative_to(ROOT)}:{line}", text)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in REPORTS
        for kind, line, text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
    )


def listed(wrong: list[tuple[str, str]]) -> str:
    return "\n".join(f"{place}: {text}" for place, text in wrong)


def test_there_are_errors_and_helps() -> None:
    kinds = [kind for kind, _, _ in texts()]
    assert kinds.count("error") > 400 and kinds.count("help") > 150


def test_nothing_reads_as_translated() -> None:
    wrong = [(place, text) for _, place, text in texts() if REFUSED.search(text)]
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("kind", MOST_WORDS)
def test_sentences_are_short(kind: str) -> None:
    wrong = [
        (place, one)
        for found, place, text in texts()
        for one in re.split(r"(?<=[.;:?!])\s+", text)
        if found == kind and len(one.split()) > MOST_WORDS[kind]
    ]
    assert not wrong, listed(wrong)


def test_helps_are_sentences() -> None:
    said = [(place, text) for kind, place, text in texts() if kind == "help"]
    wrong = [(place, text) for place, text in said if not text.endswith((".", ")"))]
    assert not wrong, listed(wrong)


def test_errors_end_in_one_mark() -> None:
    said = [(place, text) for kind, place, text in texts() if kind == "error"]
    wrong = [
        (place, text) for place, text in said if not re.search(r"(?<![.,;:?!])[.?!)]$|\}$|\.\.\.$", text)
    ]
    assert not wrong, listed(wrong)
    quoted = {
        "It says a..": "It says a.",
        "b?.": "b?",
        "c:.": "c.",
        "x:n=...": "x:n=...",
        "Did you?": "Did you?",
    }
    assert {text: str(UserError(text)) for text in quoted} == quoted


def test_a_word_of_a_name_is_enough() -> None:
    names = ["h_accuracy", "atoms", "f_accuracy"]
    assert did_you_mean("acuracy", names) == " Did you mean 'h_accuracy' or 'f_accuracy'?"
    assert did_you_mean("atom", names) == " Did you mean 'atoms'?"
    assert did_you_mean("xyz", names) == " Known: atoms, f_accuracy, h_accuracy."
