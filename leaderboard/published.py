"""Published numbers of papers, as data files with their sources and counting rules.

``paper/NAME.toml`` has the source of a paper's numbers and how they are counted; ``paper/NAME*.csv`` have the
numbers. `benchmarks/restate_paper.py` makes the CSV files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.core.errors import UserError, unknown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FOLDER", "Paper", "ffnsl2023", "names", "paper", "table"]

FOLDER = Path(__file__).parent / "paper"


@dataclass(frozen=True)
class Paper:
    """A paper with published numbers.

    Attributes:
        name: short name, e.g. ``"ffnsl2023"``.
        title, authors, venue, year, url: bibliographic data.
        licence: licence of the numbers.
        source: where the numbers were read, and how they were checked.
        counting: how the paper counts each metric.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    url: str
    licence: str
    source: str
    counting: Mapping[str, str]


def names() -> list[str]:
    """The names of all papers."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def paper(name: str) -> Paper:
    """A paper by its name.

    Raises:
        UserError: an unknown name, or a damaged file.
    """
    path = FOLDER / f"{name}.toml"
    if name not in names():
        raise unknown("paper", name, names())
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        return Paper(
            name,
            values["title"],
            tuple(values["authors"]),
            values["venue"],
            values["year"],
            values["url"],
            values["licence"],
            values["source"].strip(),
            {metric: text.strip() for metric, text in values["counting"].items()},
        )
    except (KeyError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}.") from error


@cache
def table(file: str) -> pd.DataFrame:
    """A CSV file by its stem, e.g. ``"ffnsl2023-follow_suit"``; empty cells are ``""`` or NaN.

    Raises:
        UserError: an unknown name.
    """
    import pandas as pd

    path = FOLDER / f"{file}.csv"
    if not path.is_file():
        raise unknown("table of published numbers", file, (p.stem for p in FOLDER.glob("*.csv")))
    read = pd.read_csv(path)
    text = [column for column in read.columns if not pd.api.types.is_numeric_dtype(read[column])]
    return read.fillna(dict.fromkeys(text, ""))


def ffnsl2023(benchmark: str, run: str = "main") -> pd.DataFrame:
    """The FFNSL paper's results on a benchmark; no rows for one on which it gives no numbers.

    Returns:
        Columns learner, network, penalties, size, shift, percent, metric, mean, std_err, repeats, run.
        For learners that have both, constant penalties are among the rows.
    """
    file = f"ffnsl2023-{benchmark}"
    if not (FOLDER / f"{file}.csv").is_file():
        return table("ffnsl2023-follow_suit").iloc[:0]
    found = table(file)
    return found[found["run"] == run].reset_index(drop=True)
