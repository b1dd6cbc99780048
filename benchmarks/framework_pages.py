"""The pages of `framework`: learners over the share of shift beside the paper's, networks, errors, rules.

A page's tables are CSV files beside it, docs/results/TASK/*.csv: `measure` writes them from runs, and `write`
the page and its picture from them. What a page says in words, and which of the paper's shifts is beside which
of ours, is in framework.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import framework_verdicts as verdicts
import pandas as pd
import pictures
from pages import (
    INTERVALS,
    Top,
    by_share,
    kept,
    kept_table,
    listed,
    losses,
    markdown,
    mean_of,
    number,
    page,
    points,
    sampled,
    shares_in,
    spread,
)

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import figures, trained
from nsl_bench.report import analysis
from nsl_bench.report.networks import frame
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.published.papers import table as published_table
from nsl_bench.report.tables import short_names, summarise, with_standard
from nsl_bench.run.store import Store

__all__ = ["CONSTANT", "FFNSL", "measure", "measure_means", "summary", "write"]

FFNSL = "ffnsl:time_limit=30"
"""As on the board."""

CONSTANT = "ffnsl:penalty=constant,time_limit=30"
"""FFNSL with the same penalty for every example."""

_NAMES = {FFNSL: "ffnsl", CONSTANT: "ffnsl:penalty=constant"}

_SHOWN = (
    *("hypothesis_accuracy", "framework_accuracy", "framework_accuracy_probabilistic", "brier_score"),
    *("calibration_error", "atoms", "learning_time", "weight_penalty_ratio", "incorrect_examples"),
)
_MEANS = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "calibration_error")
_IMAGES = 1000
_AT = (0, 50, 90, 95, 100)
_CAUSES = {
    "error_concepts": "true concepts",
    "error_rule": "true rule",
    "error_either": "either",
    "error_both": "only both",
    "error_inference": "most probable label",
}


@dataclass(frozen=True)
class Words:
    """What a page says, from framework.toml.

    Attributes:
        title: of the page.
        text: the method; ``{train}`` and ``{test}`` are numbers of examples.
        predicates: those whose rules are counted.
        setting: facts in which the setting differs from the paper's, a sentence each.
        paper: our shifts to the paper's; empty where it prints no numbers.
    """

    title: str
    text: str
    predicates: tuple[str, ...]
    setting: str
    paper: dict[str, str]

    @classmethod
    def of(cls, benchmark: str) -> Words:
        """Those of a task."""
        values = tomllib.loads(Path(__file__).with_name("framework.toml").read_text("utf-8"))[benchmark]
        return cls(**{**values, "predicates": tuple(values["predicates"])})


@dataclass(frozen=True)
class Seen:
    """What a task's learners see.

    Attributes:
        source: images; None for the embedded ones.
        networks: specs.
        shifts: short names.
    """

    source: str | None
    networks: tuple[str, ...]
    shifts: tuple[str, ...]


Rows = list[dict[str, object]]


def measure(benchmark: str, seen: Seen, store: Store, docs: Path) -> None:
    """Write a task's tables and pictures from what is in its store."""
    words, runs, beside = Words.of(benchmark), _short(store.frame()), paper(benchmark)
    used = set(store.frame()["network"])
    known = replace(seen, networks=tuple(spec for spec in seen.networks if spec in used))
    errors = _short(analysis.error_shares(Results(store.folder)))
    frequent = _short(analysis.frequent_shares(analysis.perceived_shares(Results(store.folder))))
    rules = _short(analysis.rule_shares(Results(store.folder), words.predicates))
    tables = {
        "behind": _each(seen.shifts, lambda shift: verdicts.against_baselines(runs, shift)),
        "networks": networks(benchmark, known),
        "curves": _each(seen.shifts, lambda shift: curves(runs, shift, beside)),
        "errors": causes(errors),
        "rules": learned(rules, runs, words.predicates),
        "perceived": perceived(frequent),
    }
    if words.paper:
        tables["paper"] = _each(
            seen.shifts, lambda shift: verdicts.beside_paper(benchmark, runs, shift, beside)
        )
    else:
        tables["paper"] = said(benchmark)
    for name, rows in tables.items():
        kept(docs, benchmark, name, rows)


def _each(shifts: Sequence[str], make: Callable[[str], Rows]) -> Rows:
    return [{"shift": shift, **row} for shift in shifts for row in make(shift)]


def answer(behind: pd.DataFrame, tested: int) -> str:
    """At how many shares a baseline is ahead of FFNSL with Softmax, in accuracy on images and Brier score."""
    behind = behind[behind["FFNSL with"] == "softmax"]
    counts = []
    for metric in ("framework_accuracy", "brier_score"):
        mine = behind.loc[behind["metric"] == METRICS[metric].title, ["shift", "behind at"]]
        lost = {
            (shift, share) for shift, text in mine.to_numpy() for share in shares_in(text, verdicts.TESTED)
        }
        counts.append(len(lost))
    accuracy, brier = counts
    return f"A baseline beats FFNSL in accuracy at {accuracy}, Brier score at {brier} of {tested} shares."


def leads(benchmark: str, docs: Path) -> list[dict[str, Any]]:
    """FFNSL's leads over the baselines of a task, with the ends of their intervals."""
    task = registry.create("benchmark", benchmark)
    means = by_share(kept_table(docs, benchmark, "curves"))
    repeats = means.set_index("learner")["repeats"].str.split("-").str[0].astype(float)
    over_shares = means.groupby(["shift", "metric", "learner"])["mean"].mean()
    rows = []
    for row in kept_table(docs, benchmark, "behind").to_dict("records"):
        most = 2.0 if row["metric"] == METRICS["brier_score"].title else 1.0
        difference, error = mean_of(row["FFNSL's lead"])
        both = f"ffnsl ({row['FFNSL with']})", f"{row['baseline']} (softmax)"
        errors = [(error, repeats[both[0]].min() - 1)]
        errors += [
            sampled(over_shares[row["shift"], row["metric"], one], task.test_size, most) for one in both
        ]
        shown = {name: row[name] for name in ("shift", "metric", "FFNSL with", "baseline")}
        rows.append({**shown, "lead": spread(difference, errors), "behind at (%)": row["behind at"]})
    return rows


def write(benchmark: str, docs: Path) -> Path:
    """Write a task's page and picture from its tables."""
    words, task = Words.of(benchmark), registry.create("benchmark", benchmark)
    behind, lines = (kept_table(docs, benchmark, name) for name in ("behind", "curves"))
    found = by_share(lines)
    titles = [METRICS[name].title for name in _MEANS[:3]]
    found = found[found["metric"].isin(titles)].assign(line=found["learner"])
    found["panel"] = found["metric"] + ", " + found["shift"]
    picture = pictures.lines(found, docs / benchmark / "curves.png")
    compared = kept_table(docs, benchmark, "paper")
    beside = {"paper": "numbers in the paper's text"}
    if words.paper:
        beside = {"paper": "the shares at which a mean is as in the paper or differs from it"}
    tested = len([name for name in lines.columns if name.endswith(" %")])
    return page(
        docs,
        benchmark,
        Top(
            words.title,
            f"Where do baselines beat FFNSL on {words.title}?",
            answer(behind, tested * behind["shift"].nunique()),
            f"python benchmarks/framework.py {benchmark} --page",
            f"Lines of {listed(titles)} over the share of shifted examples, one for each learner",
        ),
        picture,
        losses(leads(benchmark, docs)),
        f"{words.text.strip().format(train=task.size('small'), test=task.test_size)}\n\n{INTERVALS} "
        "Leads are means over shares.",
        {
            "behind": "FFNSL beside each baseline, and the shares at which it is behind and ahead",
            "curves": "means with standard errors over train splits by share",
            "networks": "accuracy and confidence of networks on held-out images (pool B)",
            "errors": "share of test examples with an error, by what would correct it",
            "rules": "share of train splits whose hypothesis has a rule with a predicate",
            "perceived": "the most frequent predictions for the train images",
            **beside,
        },
        {"Beside the paper": "\n\n".join([words.setting.strip(), *_compared(words, compared)])},
    )


def _compared(words: Words, compared: pd.DataFrame) -> list[str]:
    """How many means are as in the paper, where that prints a table. Its lines in the picture are dashed."""
    dashed = "Dashed lines of the picture are the paper's."
    return [verdicts.counted(compared), verdicts.BESIDE, dashed] if words.paper else []


def measure_means(stores: dict[str, Store], docs: Path) -> None:
    """Write the table of all tasks: means over the shares that all learners of a task have in common."""
    found = []
    for benchmark, store in stores.items():
        runs = _whole(_short(store.frame()))
        shares = runs.groupby(["learner", "network"])["percent"].agg(set)
        common = sorted(set.intersection(*shares))
        done = with_standard(runs[runs["percent"].isin(common)])
        metrics = [m for m in _MEANS if m in done and done[m].notna().any()]
        splits = done.groupby(["shift", "learner", "network", "repeat"])[metrics].mean()
        for (shift, learner, network), each in splits.groupby(level=[0, 1, 2]):
            there = [m for m in metrics if each[m].notna().any()]
            cells = {METRICS[m].title: number(each[m].mean(), each[m].sem()) for m in there}
            about = {"task": benchmark, "shift": shift, "learner": f"{learner} ({network})"}
            found.append({**about, "repeats": int(each.count().max()), **cells})
    kept(docs, "framework", "means", found)


def summary(docs: Path) -> Path:
    """Write the page of all tasks from their tables: FFNSL beside the best baseline."""
    means, rows, drawn, behind = kept_table(docs, "framework", "means"), [], [], 0
    titles = [METRICS[name].title for name in ("framework_accuracy", "brier_score")]
    places = list(means.groupby(["task", "shift"], sort=False).groups)
    for task, shift in places:
        found = [r for r in leads(task, docs) if (r["shift"], r["FFNSL with"]) == (shift, "softmax")]
        row: dict[str, object] = {"task": f"[{task}]({task}.md)", "shift": shift}
        for title in titles:
            least = min((r for r in found if r["metric"] == title), key=lambda r: r["lead"])
            row[title] = f"{least['baseline']}: {points(*least['lead'])}"
            behind += title == titles[0] and least["lead"][0] < 0
        rows.append(row)
    for row in means[~means["learner"].str.contains("penalty")].to_dict("records"):
        for title in titles:
            mean, error = mean_of(row[title])
            drawn.append(
                {"panel": title, "row": f"{row['task']}, {row['shift']}", "series": row["learner"]}
                | {"mean": mean, "error": error}
            )
    order = pd.DataFrame(drawn).sort_values(
        "series", key=lambda names: ~names.str.startswith("ffnsl"), kind="stable"
    )
    picture = pictures.dots(
        order.dropna(subset=["mean"]), docs / "framework" / "means.png", "mean over shares"
    )
    return page(
        docs,
        "framework",
        Top(
            "All tasks, all shares of shifted examples",
            "Is FFNSL ahead of the paper's baselines over all shares?",
            f"FFNSL is behind in mean accuracy on images on {behind} of {len(rows)} shifts.",
            "python benchmarks/framework.py --page",
            f"Means of {listed(titles)} of each learner by task and shift",
        ),
        picture,
        "FFNSL's lead (Softmax) over the baseline that is the best or nearest, in each task and metric:\n\n"
        + markdown(rows),
        "Each task's page has the curves. The picture has means over the shares of shifted examples that all "
        f"learners of a task have in common, with standard errors over train splits. {INTERVALS}",
        {"means": "means over shares with standard errors over train splits, all learners and networks"},
    )


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose networks have names without options, and FFNSL one without its time limit."""
    networks = short_names(frame["network"].dropna().unique())
    return frame.replace({"network": networks, "learner": _NAMES})


def _whole(runs: pd.DataFrame) -> pd.DataFrame:
    """The repeats in which a learner's runs are all there: a mean over some shares of shift would mislead."""
    count = runs.groupby(["learner", "network", "repeat"])["key"].transform("size")
    most = count.groupby([runs["learner"], runs["network"]]).transform("max")
    return runs[count == most]


def networks(benchmark: str, seen: Seen) -> Rows:
    """Accuracy, calibration error and confidence of each network on held-out images."""
    task = registry.create("benchmark", benchmark)
    images = make_source(task, seen.source)
    names = short_names(seen.networks)
    ready = {names[spec]: trained(spec, task, images) for spec in seen.networks}
    found = {
        (name, shift): figures(network, images, resolve(shift, task, images), limit=_IMAGES)
        for shift in (STANDARD, *seen.shifts)
        for name, network in ready.items()
    }
    return list(frame(found).astype(str).to_dict("records"))


def paper(benchmark: str) -> pd.DataFrame:
    """The paper's main results on small train sets, with our names of learners, metrics and shifts.

    Its point at 0 % is there for each shift.
    """
    ours = {theirs: own for own, theirs in Words.of(benchmark).paper.items()}
    found = ffnsl2023(benchmark)
    found = found[(found["size"] == "small") & found["shift"].isin([*ours, STANDARD])]
    constant = found["penalties"] == "constant"
    found = found.assign(
        learner=found["learner"].where(~constant, _NAMES[CONSTANT]),
        metric=found["metric"].replace("framework_accuracy_problog", "framework_accuracy_probabilistic"),
    )
    standard = found[found["percent"] == 0]
    shifted = found[found["percent"] > 0].assign(shift=lambda rows: rows["shift"].map(ours))
    return pd.concat([shifted, *(standard.assign(shift=own) for own in ours.values())], ignore_index=True)


def curves(runs: pd.DataFrame, shift: str, beside: pd.DataFrame) -> Rows:
    """For each metric a row a learner and network, the paper's below, a column a percentage."""
    means = summarise(runs, _SHOWN)
    means = means[means["shift"] == shift]
    rows = []
    for metric in [metric for metric in _SHOWN if (means["metric"] == metric).any()]:
        group, title = means[means["metric"] == metric], {"metric": METRICS[metric].title}
        lines = dict(list(group.groupby(["learner", "network"])))
        for learner, network in sorted(lines, key=_ffnsl_first):
            mine = lines[learner, network]
            rows.append(title | _row(f"{learner} ({network})", mine, metric, _repeats(mine["n"])))
            theirs = beside[
                (beside["learner"] == learner)
                & (beside["network"] == network)
                & (beside["shift"] == shift)
                & (beside["metric"] == metric)
                & beside["percent"].isin(mine["percent"])
            ]
            if len(theirs):
                own = f"{learner} ({network}), the paper"
                rows.append(title | _row(own, theirs, metric, _repeats(theirs["repeats"])))
    return rows


def _ffnsl_first(line: tuple[str, str]) -> tuple[bool, str, bool]:
    learner, network = line
    return not learner.startswith("ffnsl"), learner, network != "softmax"


def _row(name: str, means: pd.DataFrame, metric: str, repeats: str) -> dict[str, object]:
    digits = METRICS[metric].digits
    cells = {
        f"{row.percent:g} %": number(row.mean, row.std_err, digits)
        for row in means.sort_values("percent").itertuples()
    }
    return {"learner": name, "repeats": repeats, **cells}


def _repeats(counts: pd.Series) -> str:
    least, most = int(counts.min()), int(counts.max())
    return str(most) if least == most else f"{least}-{most}"


def causes(errors: pd.DataFrame) -> Rows:
    """Shares of test examples by what would repair their error."""
    return [
        {
            "shift": row["shift"],
            "shifted (%)": f"{row['percent']:g}",
            "learner": f"{row['learner']} ({row['network']})",
            **{title: f"{row[name]:.3f}" for name, title in _CAUSES.items()},
        }
        for _, row in errors[errors["percent"].isin(_AT)].iterrows()
    ]


def learned(shares: pd.DataFrame, runs: pd.DataFrame, predicates: Sequence[str]) -> Rows:
    """Share of repeats whose hypothesis holds a rule about each predicate, or is the true rule."""
    place = ["shift", "percent", "learner", "network"]
    true = summarise(runs, ["equivalent"]).set_index(place)["mean"]
    return [
        {
            "shift": row["shift"],
            "shifted (%)": f"{row['percent']:g}",
            "learner": f"{row['learner']} ({row['network']})",
            "repeats": row["n"],
            **{f"with {p}": f"{row[p]:.0%}" for p in predicates},
            "equivalent to the true rule": f"{true[tuple(row[place])]:.0%}",
        }
        for _, row in shares[shares["percent"].isin(_AT)].iterrows()
    ]


def perceived(frequent: pd.DataFrame) -> Rows:
    """The most frequent predictions of each network, a column a percentage."""
    rows: Rows = []
    concepts = list(frequent.columns[frequent.columns.get_loc("percent") + 1 : -1])
    for (shift, network), group in frequent.groupby(["shift", "network"], sort=True):
        group = group.sort_values("percent")
        for concept in [c for c in concepts if group[c].notna().all()]:
            cells = {f"{p:g} %": f"{s:.1%}" for p, s in zip(group["percent"], group[concept], strict=True)}
            rows.append({"shift": shift, "network": network, "predicted": concept, **cells})
        bits = {f"{p:g} %": f"{e:.2f}" for p, e in zip(group["percent"], group["entropy"], strict=True)}
        rows.append({"shift": shift, "network": network, "predicted": "entropy (bits)", **bits})
    return rows


def said(benchmark: str) -> Rows:
    """Numbers in the paper's text about a task for which it prints no table."""
    found = published_table("ffnsl2023-prose")
    return list(found[found["task"] == benchmark].drop(columns="task").to_dict("records"))
