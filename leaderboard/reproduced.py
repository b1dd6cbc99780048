"""The report of a reproduction: published and measured side by side, as Markdown and CSV."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from nsl_bench import cache
from nsl_bench.metrics import METRICS

from .equivalence import LEVEL, POWER
from .margins import MARGINS, Margin
from .published import paper
from .reproduce import Badge, Figure

__all__ = ["summary", "write_report"]

_SIGNS: dict[Badge, str] = {
    "reproduced": "✓ reproduced",
    "differs": "✗ differs",
    "undecided": "? undecided",
    "not enough data": "? not enough data",
    "not comparable": "- not comparable",
}

_BADGES = f"""\
Each figure is compared with the published one by two tests at the level of {LEVEL:.0%}: two one-sided tests
of equivalence within a margin, and Welch's test of difference. Both use means and standard errors over train
sets, with Satterthwaite's degrees of freedom. Where test images are drawn anew, their error is added. No p
value is corrected for the number of figures: by chance alone one in twenty equal figures differs.

- *reproduced*: equivalent within the margin, by a test with a power of at least {POWER:.0%};
- *differs*: Welch's test shows a difference, and the others do not show that it is below the margin;
- *undecided*: neither, although equal figures would have been shown to be equivalent with that power;
- *not enough data*: neither, and the repeats are too few for that power. *n needed* says how many of ours
  would do; "-" says that none would, because the error of the paper's figure or of the test images is too
  large;
- *not comparable*: another thing was measured; the reason says which.

A difference has a reason only if the reason was tested: the runs were done again under its condition, which
moved the figure significantly (paired t test) to where it no longer differs. The repeats learn from the
paper's own train sets. Paired tests would take that into account, but means alone do not allow them."""


def summary(figures: Sequence[Figure]) -> str:
    """How many figures have which badge, in all and at 0 %."""
    zero = [figure for figure in figures if figure.percent == 0]
    text = f"{len(figures)} figures: {_counted(figures)}."
    return f"{text} At 0 % shift, {len(zero)} figures: {_counted(zero)}." if zero else text


def _counted(figures: Sequence[Figure]) -> str:
    count = Counter(figure.badge for figure in figures)
    reasons = sum(figure.badge == "differs" and bool(figure.reason) for figure in figures)
    parts = {badge: f"{count[badge]} {badge}" for badge in _SIGNS if count[badge]}
    if reasons:
        parts["differs"] += f" ({reasons} with a tested reason)"
    return ", ".join(parts.values()) or "none"


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
        _BADGES,
        "Margins follow from what the paper reports:",
        "\n".join(_margin(margin) for margin in MARGINS),
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


def _margin(margin: Margin) -> str:
    share = f", or {margin.share:.0%} of the published value if that is more" if margin.share else ""
    return f"- *{margin.about}*: {margin.least:g}{share}. {margin.why}"


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
                "margin": _told(f.margin, ".3g"),
                "p equivalent": _told(f.p_equivalent, ".3f"),
                "p different": _told(f.p_different, ".3f"),
                "power": _told(f.power, ".2f"),
                "n needed": _told(f.needed, ".0f", "-" if f.badge != "not comparable" else ""),
                "badge": _SIGNS[f.badge] + (f" ({f.reason})" if f.reason else ""),
            }
        )
    return str(pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True))


def _told(value: float, form: str, missing: str = "") -> str:
    return missing if math.isnan(value) else f"{value:{form}}"
