"""The report of a reproduction: a page with one picture and a table by group, and all figures as CSV."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.core import cache
from nsl_bench.core.metrics import METRICS
from nsl_bench.report.style import COLOURS, legend, save, subplots

from .equivalence import LEVEL, POWER
from .figures import TRUE_CONCEPTS, Badge, Figure
from .papers import Margin, paper, table
from .tabulated import causes

if TYPE_CHECKING:
    import pandas as pd

_COLOURS: dict[Badge, str] = {
    "reproduced": COLOURS[2],
    "differs": COLOURS[1],
    "undecided": COLOURS[3],
    "not enough data": COLOURS[5],
    "undecidable": COLOURS[4],
    "not comparable": "#bbbbbb",
}
_PICTURES = {
    "curves.png": "The paper's curves, dashed, and measured ones",
    "histograms.png": "Histograms of the networks' confidence, published and measured",
}
"""Further pictures of a page, by file, and what they show."""

_WIDE = ("atoms", "rules", "learning_time")
"""Metrics on logarithmic axes."""

_BADGES = f"""\
Each figure is compared with the published one by two tests with a significance level of {LEVEL:.0%}: two
one-sided tests (TOST) of equivalence within a margin, and a t test of difference. Where runs have the paper's
own train splits and its values for each are published, both use the differences in each split. Elsewhere, and
where the power of these is below {POWER:.0%} and that of means over all splits is greater, they use means and
standard errors, with Satterthwaite's degrees of freedom. If the test images differ from the
paper's, their sampling error is added: on the paper's own test examples, only that of images of the same
example. The paper's perception network is one training. Where there are three of ours, figures are means over
them, and what one training more would differ from that mean is a part of both tests, with two degrees of
freedom. P values are not corrected for the number of figures, so one in twenty equal figures is expected to
differ.

- *reproduced*: equivalent within the margin, by a test with a power of at least {POWER:.0%};
- *differs*: the t test shows a difference, and no test shows that it is below the margin;
- *undecided*: neither, although the power for equal figures is sufficient;
- *not enough data*: neither, and the power is too low. The column `needed` has the number of train splits
  that would suffice;
- *undecidable*: neither, and all of the paper's train splits would not suffice, because the error of its
  figure, of the test images or of trainings is too large, or a ratio's divisor is 0 on most of them;
- *not comparable*: different quantities; the reason is given.

A reason for a difference is only given if it was tested under its condition: the figure then changed
significantly (paired t test), no longer differed or was equivalent, and less than half of the difference was
left."""


def summary(figures: Sequence[Figure]) -> str:
    """How many figures have which badge, in all and at 0 %."""
    zero = [figure for figure in figures if figure.percent == 0]
    text = f"{len(figures)} figures: {_counted(figures)}."
    return f"{text} Without shift, {len(zero)} figures: {_counted(zero)}." if zero else text


def _counted(figures: Sequence[Figure]) -> str:
    count = Counter(figure.badge for figure in figures)
    reasons = sum(figure.badge == "differs" and bool(figure.reason) for figure in figures)
    parts = {badge: f"{count[badge]} {badge}" for badge in _COLOURS if count[badge]}
    if reasons:
        parts["differs"] += f" ({reasons} with a tested reason)"
    return ", ".join(parts.values()) or "none"


def one_each(figures: Sequence[Figure]) -> list[Figure]:
    """The figures without those that measure a published figure in a second way.

    True concepts are left out where a network's predictions are there, and learners as the paper's code has
    them where those of its text are.
    """
    chosen: dict[tuple[object, ...], Figure] = {}
    for f in sorted(figures, key=lambda f: (f.network == TRUE_CONCEPTS, len(f.learner))):
        learner, network = f.learner.partition(":")[0], "softmax" if f.network == TRUE_CONCEPTS else f.network
        where = (f.benchmark, learner, f.penalties, network, f.size, f.shift, str(f.percent))
        chosen.setdefault((*where, f.metric, f.counting, f.published_repeats), f)
    kept = set(map(id, chosen.values()))
    return [figure for figure in figures if id(figure) in kept]


def coverage(name: str, figures: Sequence[Figure]) -> dict[str, int]:
    """How many figures of a paper are published, and what became of them, each counted once."""
    figures = one_each(figures)
    count = Counter(figure.badge for figure in figures if figure.counting == "paper")
    reasons = sum(f.badge == "differs" and bool(f.reason) for f in figures if f.counting == "paper")
    if name.startswith("ffnsl"):
        known = causes(name)
        published, never = known.total(), known.total() - known[""]
    else:
        published, never = len(table(name)), count["not comparable"]
    compared = count.total() - count["not comparable"]
    return {
        "published": published,
        "compared": compared,
        "reproduced": count["reproduced"],
        "different, tested reason": reasons,
        "different": count["differs"] - reasons,
        "not decided": count["undecided"] + count["not enough data"],
        "undecidable": count["undecidable"],
        "not run": max(0, published - never - compared),
        "not comparable": never,
    }


def _by_cause(name: str, figures: Sequence[Figure]) -> str:
    """How many figures differ or cannot be compared for which reason, as a list."""
    reasons = [re.split("; | it is ", f.reason)[0] for f in figures if _told(f)]
    count = Counter(reason or "different, without a reason" for reason in reasons)
    if name.startswith("ffnsl"):
        count.update({reason: n for reason, n in causes(name).items() if reason})
    return "\n".join(f"- {n}: {reason}" for reason, n in count.most_common())


def _told(figure: Figure) -> bool:
    """Whether a figure's cause is listed: a difference, or what is no figure of the paper's table of runs."""
    return figure.badge == "differs" or (figure.badge == "not comparable" and not figure.repeats)


def read_figures(path: Path) -> list[Figure]:
    """The figures of a ``report.csv``."""
    import pandas as pd

    texts = [field.name for field in fields(Figure) if field.type in (str, Badge)]
    table = pd.read_csv(path, dtype=dict.fromkeys(texts, "str"), na_values={})
    table[texts] = table[texts].fillna("")
    rows = table.to_dict("records")
    return [Figure(**{str(name): value for name, value in row.items()}) for row in rows]


def write_report(
    figures: Sequence[Figure], out: Path, command: str, page: Path | None = None, *, name: str = "ffnsl2023"
) -> list[Path]:
    """Write ``report.md``, ``report.png`` and ``report.csv``.

    Args:
        command: that makes the report again.
        page: the page, if it is not ``report.md``. It also shows those of `_PICTURES` that are in `out`.
        name: of the paper.
    """
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    report, numbers, picture = page or out / "report.md", out / "report.csv", out / "report.png"
    there = Path(os.path.relpath(out, report.parent))
    about, counted = paper(name), one_each(figures)
    groups = by_group(counted)
    fates = pd.DataFrame([coverage(name, figures)]).to_markdown(index=False, disable_numparse=True)
    pieces = [
        f"# The {about.short} paper reproduced",
        f"Which figures of the {about.short} paper are reproduced?",
        f"**{_answer(counted)}**",
        f"Made by `{command}`.",
        f"![Published against measured figures]({(there / picture.name).as_posix()})",
        *(
            f"![{told}]({(there / file).as_posix()})"
            for file, told in _PICTURES.items()
            if (out / file).is_file()
        ),
        _most_different(groups),
        f"{summary(counted)} All of them: [{numbers.name}]({(there / numbers.name).as_posix()}).",
        fates,
        f"## Causes\n\n{_by_cause(name, counted)}",
        "## By task and metric",
        groups.to_markdown(index=False, disable_numparse=True),
        "## How figures are compared",
        f"{about.title} ({', '.join(about.authors)}; {about.venue} {about.year}).",
        _BADGES,
        *(["The margins are derived from what the paper reports:"] if about.margins else []),
        "\n".join(_margin(margin) for margin in about.margins) or _margins(figures),
        "Metrics that nsl-bench and the paper count differently are shown in both ways.",
        "## How the paper counts",
        "\n".join(f"- *{k.replace('_', ' ')}*: {v}" for k, v in about.counting.items()),
    ]
    _draw(figures, picture)
    with cache.replacing(report) as temporary:
        temporary.write_text("\n\n".join(pieces) + "\n", encoding="utf-8")
    with cache.replacing(numbers) as temporary:
        few = dict.fromkeys(("p_equivalent", "p_different", "power"), 4)
        pd.DataFrame(map(asdict, figures)).round(few).to_csv(temporary, index=False, float_format="%.6g")
    return [report, picture, numbers]


def _answer(figures: Sequence[Figure]) -> str:
    count = Counter(figure.badge for figure in figures)
    compared = len(figures) - count["not comparable"]
    decided = count["reproduced"], count["differs"]
    return (
        f"Of {compared} comparable figures {decided[0]} are reproduced, {decided[1]} differ and "
        f"{compared - sum(decided)} are not decided."
    )


def by_group(figures: Sequence[Figure]) -> pd.DataFrame:
    """How many figures of each task and metric are compared, and have which badge."""
    import pandas as pd

    compared = [figure for figure in figures if figure.badge != "not comparable"]
    names = ("compared", "reproduced", "different", "not decided", "undecidable")
    rows = []
    for task, title in dict.fromkeys((figure.benchmark, _title(figure)) for figure in compared):
        count = Counter(f.badge for f in compared if (f.benchmark, _title(f)) == (task, title))
        undecided = count["undecided"] + count["not enough data"]
        found = (count.total(), count["reproduced"], count["differs"], undecided, count["undecidable"])
        rows.append((task, title, *found))
    return pd.DataFrame(rows, columns=["task", "metric", *names])


def _most_different(groups: pd.DataFrame) -> str:
    """A sentence on where the measured figures differ most often."""
    differing = groups[groups["different"] > 0].sort_values("different", ascending=False, kind="stable")
    named = [
        f"{row['metric']} on {row['task']} ({row['different']} of {row['compared']})"
        for row in differing.head(3).to_dict("records")
    ]
    return f"Most differences: {', '.join(named)}." if named else "No figure differs."


def _title(figure: Figure) -> str:
    metric = METRICS.get(figure.metric)
    return metric.title if metric is not None else figure.metric.replace("_", " ")


def _draw(figures: Sequence[Figure], path: Path) -> None:
    """Published against measured, a panel a metric, coloured by badge; of statements, the difference."""
    metrics = list(dict.fromkeys(figure.metric for figure in figures if figure.repeats)) or [""]
    columns = min(3, len(metrics))
    lines = -(-len(metrics) // columns)
    drawn, axes = subplots(lines, columns, figsize=(3.1 * columns, 2.5 * lines))
    handles = {}
    for axis, metric in zip(axes.flat, metrics, strict=False):
        mine = [figure for figure in figures if figure.metric == metric]
        stated = any(math.isnan(f.margin) and f.badge != "not comparable" for f in mine)
        for badge, colour in _COLOURS.items():
            points = [
                (f.difference, -row) if stated else (f.published, f.measured)
                for row, f in enumerate(mine)
                if f.badge == badge and f.repeats
            ]
            if points:
                handles[badge] = axis.scatter(*zip(*points, strict=True), s=9, color=colour)
        scale = "linear" if metric not in _WIDE else "symlog" if stated else "log"
        if stated:
            axis.axvline(0, color="black", lw=0.6, zorder=0)
            axis.set(xscale=scale, yticks=[])
        else:
            axis.axline((1, 1), slope=1, color="black", lw=0.6, zorder=0)
            axis.set(xscale=scale, yscale=scale)
        axis.set_title(_title(mine[0]) if mine else "nothing measured", fontsize=9)
        axis.tick_params(which="both", labelsize=7)
        axis.set_xlabel("measured difference" if stated else "published", fontsize=8)
        axis.set_ylabel("statements" if stated else "measured", fontsize=8)
    for axis in axes.flat[len(metrics) :]:
        axis.remove()
    legend(drawn, {badge: handles[badge] for badge in _COLOURS if badge in handles})
    save(drawn, path)


def _margin(margin: Margin) -> str:
    share = f", or {margin.share:.0%} of the published value if that is more" if margin.share else ""
    return f"- *{margin.about}*: {margin.least:g}{share}. {margin.why}"


def _margins(figures: Sequence[Figure]) -> str:
    """The margins of figures, where their rules have them, a sentence."""
    margins = sorted({(figure.metric, figure.margin) for figure in figures if not math.isnan(figure.margin)})
    told = ", ".join(f"{metric.replace('_', ' ')} {margin:g}" for metric, margin in margins)
    stated = any(math.isnan(figure.margin) and not math.isnan(figure.p_equivalent) for figure in figures)
    sentences = {
        f"Margins, in the unit of the figures: {told}.": bool(told),
        "Statements are tested one-sided.": stated,
    }
    return " ".join(sentence for sentence, applies in sentences.items() if applies)
