"""docs/results/ffnsl2023.md with its picture, from the figures that the repository keeps.

    python benchmarks/reproduced.py

`nsl-bench reproduce ffnsl2023 --data ../shared/data --out results/ffnsl2023` makes the figures, report.csv,
which `--figures` takes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pages import DOCS

from nsl_bench.report.published.pages import read_figures, write_report


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--figures", type=Path, default=DOCS / "ffnsl2023" / "report.csv")
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    command = "nsl-bench reproduce ffnsl2023 --data ../shared/data --out results/ffnsl2023"
    figures = read_figures(options.figures)
    print(*write_report(figures, options.docs / "ffnsl2023", command, options.docs / "ffnsl2023.md"))


if __name__ == "__main__":
    main()
