"""Pages of results: each begins with its question, answer, command and picture; docs/results.md lists them.

    python benchmarks/pages.py    the table of docs/results.md, from the first lines of its pages

Long tables are CSV files in a folder of the page's name.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

MOST_WORDS = 15
"""Of an answer."""

DOCS = Path("docs/results")
_TOP = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<question>[^\n]+\?)\n\n\*\*(?P<answer>[^\n]+)\*\*\n\n"
    r"Made by `(?P<command>[^\n]+)`\.\n(?:\n!\[[^\n]*\]\((?P<picture>[^)]+)\)\n)?"
)
_TABLE = re.compile(r"(?<=\n\n)\| page \|.*?\n(?=\n)", re.DOTALL)


@dataclass(frozen=True)
class Top:
    """What a page begins with.

    Attributes:
        answer: to the question, one sentence.
        command: that makes the page.
        picture: its path from the page's folder; empty for none.
    """

    title: str
    question: str
    answer: str
    command: str
    picture: str = ""

    @classmethod
    def of(cls, page: Path) -> Top:
        """That of a page."""
        found = _TOP.match(page.read_text(encoding="utf-8"))
        if found is None:
            raise SystemExit(f"{page} does not begin with title, question, answer and command.")
        return cls(**{name: text or "" for name, text in found.groupdict().items()})


def write(docs: Path, name: str, top: Top, *pieces: str) -> Path:
    """Write a page."""
    if len(top.answer.split()) > MOST_WORDS:
        raise SystemExit(f"{name}: the answer has more than {MOST_WORDS} words: {top.answer}")
    first = [f"# {top.title}", top.question, f"**{top.answer}**", f"Made by `{top.command}`."]
    first += [f"![{top.title}]({top.picture})"] if top.picture else []
    path = docs / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(piece for piece in (*first, *pieces) if piece) + "\n", encoding="utf-8")
    print(path)
    return path


def kept(docs: Path, page: str, name: str, rows: pd.DataFrame | Sequence[dict[str, object]]) -> str:
    """Write a table beside a page as CSV; a link to it."""
    path = docs / page / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return f"[{page}/{name}.csv]({page}/{name}.csv)"


def kept_table(docs: Path, page: str, name: str) -> pd.DataFrame:
    """A table beside a page, as texts."""
    return pd.read_csv(docs / page / f"{name}.csv", dtype=str, keep_default_na=False)


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def points(mean: float, low: float = math.nan, high: float = math.nan) -> str:
    """A difference in hundredths with its interval, if it has one."""
    interval = f", {100 * low:+.1f} to {100 * high:+.1f}" if low == low else ""
    return f"{100 * mean:+.1f} points{interval}"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=Path, default=DOCS)
    docs = parser.parse_args().docs
    index = docs.with_suffix(".md")
    text = index.read_text(encoding="utf-8")
    rows = []
    for name in re.findall(rf"^{docs.name}/(\w+)$", text, re.MULTILINE):
        top = Top.of(docs / f"{name}.md")
        rows.append(
            {
                "page": f"[{name}]({docs.name}/{name}.md)",
                "question": top.question,
                "answer": top.answer,
                "picture": f"[picture]({docs.name}/{top.picture})" if top.picture else "",
                "command": f"`{top.command}`",
            }
        )
    lines = ["| " + " | ".join(row) + " |" for row in ([*rows[0]], ["---"] * 5, *(r.values() for r in rows))]
    index.write_text(_TABLE.sub(lambda _: "\n".join(lines) + "\n", text, count=1), encoding="utf-8")
    print(index)


if __name__ == "__main__":
    main()
