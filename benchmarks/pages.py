"""Pages of results: question, answer, command, picture, losses, method, tables; docs/results.md lists them.

    python benchmarks/pages.py                      the table of docs/results.md, from its pages' first lines

Tables are CSV files in a folder of the page's name. A script measures them, and writes the page from them,
with `--page` also where the runs are not kept. A mean in a cell stands before its error: ``0.981 ± 0.010``.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from nsl_bench.run.statistics import half_width

MOST_WORDS = 15
"""Of an answer."""

DOCS = Path("docs/results")
_TOP = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<question>[^\n]+\?)\n\n\*\*(?P<answer>[^\n]+)\*\*\n\n"
    r"Made by `(?P<command>[^\n]+)`\.\n(?:\n!\[(?P<alt>[^\n]*)\]\((?P<picture>[^)]+)\)\n)?"
)
INTERVALS = (
    "A lead is in points, hundredths of a score, and positive where its owner is better. Its 95 % interval "
    "covers train splits, and test examples as if each learner had had its own."
)
_NUMBER = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?")
_TABLE = re.compile(r"(?<=\n\n)\| page \|.*?\n(?=\n)", re.DOTALL)


@dataclass(frozen=True)
class Top:
    """What a page begins with.

    Attributes:
        answer: to the question, one sentence.
        command: that makes the page.
        alt: what the picture shows.
        picture: its path from the page's folder; empty for none.
    """

    title: str
    question: str
    answer: str
    command: str
    alt: str = ""
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
    first += [f"![{top.alt or top.title}]({top.picture})"] if top.picture else []
    path = docs / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(piece for piece in (*first, *pieces) if piece) + "\n", encoding="utf-8")
    print(path)
    return path


def page(
    docs: Path,
    name: str,
    top: Top,
    picture: Path,
    losses: str,
    method: str,
    tables: Mapping[str, str],
    more: Mapping[str, str] | None = None,
    *,
    first: str = "Where FFNSL loses",
    again: str = "",
) -> Path:
    """Write a page in the form that all have.

    Args:
        picture: in a folder beside the page.
        losses: what the method is worst in, with at most a short table.
        method: a paragraph.
        tables: what each CSV file in the page's folder has, by its name.
        more: texts of further sections by heading.
        first: heading of the losses.
        again: command that makes the tables anew, if it is not that of the page without ``--page``.
    """
    links = [f"* [{file}.csv]({name}/{file}.csv): {words}." for file, words in tables.items()]
    anew = f"`{again or top.command.removesuffix(' --page')}` does the runs and makes the tables anew."
    sections = {first: losses, **(more or {}), "Method": f"{method.strip()} {anew}"}
    sections["Tables"] = "\n".join(links)
    top = replace(top, picture=picture.relative_to(docs).as_posix())
    pieces = [
        piece for heading, text in sections.items() for piece in (f"## {heading}", text.strip()) if text
    ]
    return write(docs, name, top, *pieces)


def kept(docs: Path, page: str, name: str, rows: pd.DataFrame | Sequence[Mapping[str, object]]) -> str:
    """Write a table beside a page as CSV; a link to it."""
    path = docs / page / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return f"[{page}/{name}.csv]({page}/{name}.csv)"


def kept_table(docs: Path, page: str, name: str) -> pd.DataFrame:
    """A table beside a page, as texts."""
    path = docs / page / f"{name}.csv"
    if not path.is_file():
        raise SystemExit(f"{path} does not exist; leave out --page, so that it is measured.")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def with_kept(
    docs: Path, page: str, name: str, rows: Sequence[Mapping[str, object]], keys: Sequence[str], **types: Any
) -> pd.DataFrame:
    """These rows, behind those of a table beside a page that have other keys; `types` are for reading it."""
    frame, path = pd.DataFrame(rows), docs / page / f"{name}.csv"
    if not path.is_file():
        return frame
    old = pd.read_csv(path, **types)
    if frame.empty:
        return old
    again = pd.MultiIndex.from_frame(old[[*keys]]).isin(pd.MultiIndex.from_frame(frame[[*keys]]))
    return pd.concat([old[~again], frame], ignore_index=True)


def in_order(frame: pd.DataFrame, orders: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The rows whose columns have the values of these orders, sorted by them."""
    for name, order in orders.items():
        frame = frame[frame[name].isin(order)]
    return frame.sort_values([*orders], key=lambda column: column.map(orders[column.name].index))


def markdown(rows: pd.DataFrame | Sequence[Mapping[str, object]]) -> str:
    """A table for people."""
    cells = pd.DataFrame(rows).fillna("")
    return str(cells.to_markdown(index=False, tablefmt="github", disable_numparse=True))


def mean_of(text: object) -> tuple[float, float]:
    """A cell's mean and what stands behind ±; NaN for what is not there."""
    mean, _, error = str(text).partition(" ± ")
    return tuple(float(part) if _NUMBER.fullmatch(part) else math.nan for part in (mean, error))  # type: ignore


def by_share(table: pd.DataFrame) -> pd.DataFrame:
    """A table with a row for each cell of a share, ``10 %``: its columns, share, mean and error."""
    shares = [name for name in table.columns if name.endswith(" %")]
    others = [name for name in table.columns if name not in shares]
    found = table.melt(others, shares, "share")
    found["share"] = found["share"].str[:-2].astype(float)
    found[["mean", "error"]] = [mean_of(text) for text in found["value"]]
    return found.dropna(subset=["mean"])


def number(mean: float, error: float = float("nan"), digits: int = 3) -> str:
    """A mean with its standard error."""
    return f"{mean:.{digits}f}" if pd.isna(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def ranges(shares: Sequence[float], tested: Sequence[float]) -> str:
    """Shares in words: ``0 to 40, 95`` for those from 0 to 40 between which no tested share is missing."""
    places = {share: i for i, share in enumerate(sorted(tested))}
    runs: list[list[float]] = []
    for share in sorted(shares):
        if runs and places[share] == places[runs[-1][-1]] + 1:
            runs[-1].append(share)
        else:
            runs.append([share])
    return ", ".join(
        f"{run[0]:g} to {run[-1]:g}" if len(run) > 2 else ", ".join(f"{share:g}" for share in run)
        for run in runs
    )


def shares_in(text: str, tested: Sequence[float]) -> list[float]:
    """The shares that `ranges` put into words."""
    found: list[float] = []
    for part in filter(None, text.split(", ")):
        low, _, high = part.partition(" to ")
        found += [share for share in tested if float(low) <= share <= float(high or low)]
    return found


def before(docs: Path, page: str) -> str:
    """What learners had before a change that was made after test results were seen, as a sentence."""
    rows = (
        pd.read_csv(docs / "runs" / "before.csv", dtype=str)
        if (docs / "runs" / "before.csv").is_file()
        else []
    )
    own = rows[rows["page"] == page].to_dict("records") if len(rows) else []
    told = [f"{row['learner']} had {row['value']} on {row['setting']} ({row['metric']})" for row in own]
    return f" Before, {listed(told)}." if told else ""


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def points(mean: float, low: float = math.nan, high: float = math.nan) -> str:
    """A difference in hundredths with its interval, if it has one."""
    interval = f", {100 * low:+.1f} to {100 * high:+.1f}" if low == low else ""
    return f"{100 * mean:+.1f} points{interval}"


def spread(mean: float, errors: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """A mean and the ends of its 95 % interval, from standard errors with their degrees of freedom."""
    parts = [(error**2, df) for error, df in errors if error > 0]
    total = sum(part for part, _ in parts)
    if not total:
        return mean, math.nan, math.nan
    rest = sum(part**2 / df for part, df in parts)
    reach = half_width(total**0.5, total**2 / rest if rest else math.inf)
    return mean, mean - reach, mean + reach


def sampled(mean: float, tested: float, most: float = 1.0) -> tuple[float, float]:
    """The largest standard error that the mean of so many test scores between 0 and `most` can have."""
    return max(0.0, mean * (most - mean) / tested) ** 0.5, math.inf


def lead(
    own: object,
    other: object,
    runs: int,
    tested: float,
    *,
    deviations: bool = False,
    most: float = 1.0,
    overlap: float = 0.0,
    unit: float = 1.0,
) -> tuple[float, float, float]:
    """How far one cell of a table is ahead of another, with the ends of the interval.

    Args:
        runs: behind each mean.
        tested: test examples behind each mean.
        deviations: whether cells have standard deviations in place of standard errors.
        most: the largest score; 2 for Brier scores, where less is better.
        overlap: test examples for each train example, where train splits are folds.
        unit: what cells call 1; 100 for percent.
    """
    cells = [(mean / unit, error / unit) for mean, error in map(mean_of, (own, other))]
    scale = (1 / runs + overlap) ** 0.5 if deviations else (1 + runs * overlap) ** 0.5
    errors = [(error * scale, runs - 1) for _, error in cells]
    errors += [sampled(mean, tested, most) for mean, _ in cells]
    mean, low, high = spread((cells[0][0] - cells[1][0]) * (-1 if most == 2 else 1), errors)
    return mean, max(low, -most), min(high, most)


def losses(
    rows: Sequence[Mapping[str, Any]], loser: str = "FFNSL", most: int = 6, at: str = "behind at (%)"
) -> str:
    """In how many comparisons somebody is behind, and a table of the largest losses.

    Args:
        rows: what is compared, and ``lead``: that of `loser` with the ends of its interval.
        most: losses in the table.
        at: column of the shares at which `loser` is behind, if there is one.
    """
    behind = [row for row in rows if row["lead"][0] < 0]
    clear = sum(row["lead"][2] < 0 for row in behind)
    told = (
        f"{loser} is behind in {len(behind)} of {len(rows)} comparisons, in {clear} with an interval below 0"
    )
    lost = sorted((row for row in rows if row["lead"][0] < 0 or row.get(at)), key=lambda row: row["lead"][0])
    if len(lost) > len(behind):
        told += f", and at some shares in {len(lost) - len(behind)} others"
    if not lost:
        return f"{told}."
    shown = [
        {(f"{loser}'s {name}" if name == "lead" else name): value for name, value in row.items()}
        for row in ({**row, "lead": points(*row["lead"])} for row in lost[:most])
    ]
    return f"{told}. {'The worst of them' if len(lost) > most else 'They are'}:\n\n{markdown(shown)}"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    docs = options.docs
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
