"""The report of a reproduction: published and measured side by side, as Markdown and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from nsl_bench import cache
from nsl_bench.run.metrics import METRICS

from .published import paper
from .reproduce import Badge, Figure

__all__ = ["summary", "write_report"]

_SIGNS: dict[Badge, str] = {
    "reproduced": "✓ reproduced",
    "differs": "✗ differs",
    "not comparable": "- not comparable",
}


def summary(figures: Sequence[Figure]) -> str:
    """How many figures have which badge, and how the points at 0 % stand."""
    count = Counter(figure.badge for figure in figures)
    zero = [f for f in figures if f.percent == 0 and f.badge != "not comparable"]
    close = sum(f.badge == "reproduced" for f in zero)
    explained = sum(f.badge == "differs" and bool(f.reason) for f in zero)
    parts = [f"{count[badge]} {badge}" for badge in _SIGNS if count[badge]]
    text = f"{len(figures)} figures: {', '.join(parts) or 'none'}."
    if zero:
        share = (close + explained) / len(zero)
        text += (
            f" At 0 % shift {close} of {len(zero)} comparable figures are within two standard errors and "
            f"{explained} more are explained: {share:.0%}."
        )
    return text


def write_report(figures: Sequence[Figure], out: Path, command: str) -> list[Path]:
    """Write ``report.md`` and ``report.csv``.

    Args:
        figures: in the order in which they are shown.
        out: folder.
        command: that makes the report again.
    """
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    about = paper("ffnsl2023")
    pieces = [
        "# The FFNSL paper reproduced",
        f"Made by `{command}`. {about.title} ({', '.join(about.authors)}; {about.venue} {about.year}).",
        f"**{summary(figures)}**",
        "A figure is *reproduced* if it is within two standard errors (of the difference) of the published "
        "one. Standard errors are over train sets; where test images are drawn anew, their error is added. "
        "Whatever counts differently here and in the paper is shown both ways.",
    ]
    for benchmark in dict.fromkeys(figure.benchmark for figure in figures):
        mine = [figure for figure in figures if figure.benchmark == benchmark]
        pieces += [f"## {benchmark}", _table(mine)]
    pieces += [
        "## How the paper counts",
        "\n".join(f"- *{k.replace('_', ' ')}*: {v}" for k, v in about.counting.items()),
    ]
    report, numbers = out / "report.md", out / "report.csv"
    with cache.replacing(report) as temporary:
        temporary.write_text("\n\n".join(pieces) + "\n", encoding="utf-8")
    rows = [{**asdict(figure), "difference": figure.difference} for figure in figures]
    with cache.replacing(numbers) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False)
    return [report, numbers]


def _table(figures: Sequence[Figure]) -> str:
    import pandas as pd

    rows = []
    for f in figures:
        metric = METRICS.get(f.metric)
        digits = max(3, metric.digits) if metric is not None and metric.digits != 1 else 1
        title = metric.title if metric is not None else f.metric.replace("_", " ")
        rows.append(
            {
                "learner": f.learner
                if f.penalties in ("", "network")
                else f"{f.learner}, constant penalties",
                "from": f.network,
                "train": f.size,
                "shift": "none" if f.percent == 0 else f"{f.shift} {f.percent:g} %",
                "figure": title if f.counting == "paper" else f"{title}, our counting",
                "published": f"{f.published:.{digits}f} ± {f.published_std_err:.{digits}f}",
                "measured": f"{f.measured:.{digits}f} ± {f.measured_std_err:.{digits}f}",
                "n": str(f.repeats),
                "difference": f"{f.difference:+.{digits}f}",
                "badge": _SIGNS[f.badge] + (f" ({f.reason})" if f.reason else ""),
            }
        )
    return str(pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True))
