"""The report of a reproduction: published and measured side by side, as Markdown and CSV."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from nsl_bench.core import cache
from nsl_bench.core.metrics import METRICS

from .equivalence import LEVEL, POWER
from .papers import Margin, paper
from .reproduce import Badge, Figure

_SIGNS: dict[Badge, str] = {
    "reproduced": "✓ reproduced",
    "differs": "✗ differs",
    "undecided": "? undecided",
    "not enough data": "? not enough data",
    "not comparable": "- not comparable",
}

_BADGES = f"""\
Each figure is compared with the published one by two tests with a significance level of {LEVEL:.0%}: two
one-sided tests (TOST) of equivalence within a margin, and Welch's test of difference. Both use means and
standard errors over train splits, with Satterthwaite's degrees of freedom. If the test images differ from the
paper's, their sampling error is added. P values are not corrected for the number of figures, so one in twenty
equal figures is expected to differ.

- *reproduced*: equivalent within the margin, by a test with a power of at least {POWER:.0%};
- *differs*: Welch's test shows a difference, and no test shows that it is below the margin;
- *undecided*: neither, although the power for equal figures is sufficient;
- *not enough data*: neither, and the power is too low. *n needed* is the number of train splits that would
  suffice; "-" means that none does, because the error of the paper's figure or of the test images is too
  large;
- *not comparable*: different quantities; the reason is given.

A reason for a difference is only given if it was tested: the runs were repeated under its condition, and the
figure then changed significantly (paired t test) and no longer differed. Train splits are the paper's own.
Paired tests would use this, but they are not possible with published means."""


def summary(figures: Sequence[Figure]) -> str:
    """How many figures have which badge, in all and at 0 %."""
    zero = [figure for figure in figures if figure.percent == 0]
    text = f"{len(figures)} figures: {_counted(figures)}."
    return f"{text} Without shift, {len(zero)} figures: {_counted(zero)}." if zero else text


def _counted(figures: Sequence[Figure]) -> str:
    count = Counter(figure.badge for figure in figures)
    reasons = sum(figure.badge == "differs" and bool(figure.reason) for figure in figures)
    parts = {badge: f"{count[badge]} {badge}" for badge in _SIGNS if count[badge]}
    if reasons:
        parts["differs"] += f" ({reasons} with a tested reason)"
    return ", ".join(parts.values()) or "none"


def write_report(figures: Sequence[Figure], out: Path, command: str) -> list[Path]:
    """Write ``report.md`` and ``report.csv``."""
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    about = paper("ffnsl2023")
    pieces = [
        "# The FFNSL paper reproduced",
        f"Made by `{command}`. {about.title} ({', '.join(about.authors)}; {about.venue} {about.year}).",
        f"**{summary(figures)}**",
        _BADGES,
        "The margins are derived from what the paper reports:",
        "\n".join(_margin(margin) for margin in about.margins),
        "Metrics that nsl-bench and the paper count differently are shown in both ways.",
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
