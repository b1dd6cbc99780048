"""The pages of `framework`: networks, learners over the share of shift beside the paper's, errors, rules.

A page's tables are CSV files beside it, docs/results/TASK/*.csv: `measure` writes them from runs, and `write`
the page from them. What a page says in words, and which of the paper's shifts is beside which of ours, is in
framework.toml.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import framework_verdicts as verdicts
import pandas as pd
from pages import Top, kept, kept_table
from pages import write as write_page
from studies import number, shares_in, table

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import figures, trained
from nsl_bench.report import analysis
from nsl_bench.report.curves import draw
from nsl_bench.report.networks import draw_histograms, frame
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.published.papers import table as published_table
from nsl_bench.report.tables import area_under_shift, short_names, summarise
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
_CURVES = ("hypothesis_accuracy", "framework_accuracy", "brier_score", "calibration_error")
_MEANS = ("hypothesis_accuracy", *_CURVES[1:])
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
        text: what it begins with.
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
    folder = docs / "framework" / benchmark
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    used = set(store.frame()["network"])
    known = replace(seen, networks=tuple(spec for spec in seen.networks if spec in used))
    errors = _short(analysis.error_shares(Results(store.folder)))
    frequent = _short(analysis.frequent_shares(analysis.perceived_shares(Results(store.folder))))
    rules = _short(analysis.rule_shares(Results(store.folder), words.predicates))
    tables = {
        "behind": _each(seen.shifts, lambda shift: verdicts.against_baselines(runs, shift)),
        "networks": networks(benchmark, known, folder),
        "curves": _each(seen.shifts, lambda shift: curves(runs, shift, beside)),
        "errors": causes(errors),
        "rules": learned(rules, runs, words.predicates),
        "perceived": perceived(frequent),
    }
    if words.paper:
        tables["paper"] = _each(
            seen.shifts, lambda shift: verdicts.beside_paper(benchmark, runs, shift, beside)
        )
    for name, rows in tables.items():
        kept(docs, benchmark, name, rows)
    draw(runs, folder, _CURVES, beside if words.paper else None)
    analysis.draw_errors(errors, folder)
    analysis.draw_shares(rules, words.predicates, folder, "rules")
    analysis.draw_perceived(frequent, folder)


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


def write(benchmark: str, docs: Path) -> Path:
    """Write a task's page from its tables and pictures."""
    words = Words.of(benchmark)
    found = {path.stem: kept_table(docs, benchmark, path.stem) for path in (docs / benchmark).glob("*.csv")}
    link = {name: f"[{name}.csv]({benchmark}/{name}.csv)" for name in found}
    folder = docs / "framework" / benchmark
    (picture,) = folder.glob(f"{benchmark}-*.png")
    behind = found["behind"]
    tested = len(found["curves"].columns) - 4
    compared = found.get("paper")
    top = Top(
        words.title,
        f"Where do baselines beat FFNSL on {words.title}?",
        answer(behind, tested * behind["shift"].nunique()),
        f"python benchmarks/framework.py {benchmark}",
        picture.relative_to(docs).as_posix(),
    )
    return write_page(
        docs,
        benchmark,
        top,
        "Dashed curves are the paper's." if words.paper else "",
        "## Where FFNSL is behind",
        verdicts.AGAINST,
        table(behind.to_dict("records")),
        "## Setting",
        words.text.strip(),
        f"Curves as numbers: {link['curves']}. Networks on held-out images (pool B): {link['networks']}.",
        "## Beside the paper",
        words.setting.strip(),
        *(
            [verdicts.counted(compared), f"{verdicts.BESIDE} All: {link['paper']}."]
            if compared is not None
            else []
        ),
        prose(benchmark),
        "## Causes of errors",
        f"Share of all test examples with an error, by what would correct it: {link['errors']}.",
        shown(docs, folder, "errors"),
        "## Learned rules",
        f"Share of train splits whose hypothesis has a rule with a predicate: {link['rules']}.",
        shown(docs, folder, "rules"),
        "## Predicted concepts of the train images",
        f"Shares of the most frequent predictions, over all train splits: {link['perceived']}.",
        shown(docs, folder, "perceived"),
        "## Networks on held-out images",
        shown(docs, folder, "networks"),
    )


def measure_means(stores: dict[str, Store], docs: Path) -> None:
    """Write the table of all tasks: means over the shares that all learners of a task have in common."""
    found = []
    for benchmark, store in stores.items():
        runs = _whole(_short(store.frame()))
        shares = runs.groupby(["learner", "network"])["percent"].agg(set)
        common = sorted(set.intersection(*shares))
        means = area_under_shift(runs[runs["percent"].isin(common)], _MEANS)
        for (shift, learner, network), group in means.groupby(["shift", "learner", "network"], sort=True):
            values = group.set_index(group["metric"].astype(str))
            cells = {
                METRICS[m].title: number(values["mean"][m], values["std_err"][m])
                for m in _MEANS
                if m in values.index
            }
            about = {"task": benchmark, "shift": shift, "learner": f"{learner} ({network})"}
            found.append({**about, "repeats": group["n"].max(), **cells})
    kept(docs, "framework", "means", found)


def summary(docs: Path) -> Path:
    """Write the page of all tasks from its table: FFNSL beside the best baseline of each metric."""
    means = kept_table(docs, "framework", "means")
    rows, behind = [], 0
    for (task, shift), group in means.groupby(["task", "shift"], sort=False):
        row: dict[str, object] = {"task": f"[{task}]({task}.md)", "shift": shift}
        own = group[group["learner"] == "ffnsl (softmax)"]
        others = group[~group["learner"].str.startswith("ffnsl")]
        for metric in _MEANS:
            title = METRICS[metric].title
            there = others[others[title] != ""]
            values = there[title].str.split().str[0].astype(float)
            best = there.loc[values.idxmax() if METRICS[metric].higher_is_better else values.idxmin()]
            row[title] = f"{own[title].iloc[0]}; {best['learner'].split()[0]} {best[title]}"
            mine, theirs = (float(text.split()[0]) for text in (own[title].iloc[0], best[title]))
            behind += metric == "framework_accuracy" and mine < theirs
        rows.append(row)
    top = Top(
        "All tasks, all shares of shifted examples",
        "Is FFNSL ahead of the paper's baselines over all shares?",
        f"FFNSL is behind in mean accuracy on images on {behind} of {len(rows)} shifts.",
        "python benchmarks/framework.py",
    )
    return write_page(
        docs,
        "framework",
        top,
        "FFNSL with the Softmax network, then the best baseline: means over the shares of shifted examples "
        "that all learners of a task have in common, with standard errors over train splits. All learners "
        "and networks: [framework/means.csv](framework/means.csv). Each task's page has the curves.",
        table(rows),
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


def networks(benchmark: str, seen: Seen, folder: Path) -> Rows:
    """Accuracy, calibration error and confidence of each network on held-out images, with a picture."""
    task = registry.create("benchmark", benchmark)
    images = make_source(task, seen.source)
    names = short_names(seen.networks)
    ready = {names[spec]: trained(spec, task, images) for spec in seen.networks}
    found = {
        (name, shift): figures(network, images, resolve(shift, task, images), limit=_IMAGES)
        for shift in (STANDARD, *seen.shifts)
        for name, network in ready.items()
    }
    draw_histograms(found, folder / "networks.png")
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


def prose(benchmark: str) -> str:
    """What the paper says of a task in its text, where it prints no table."""
    if Words.of(benchmark).paper:
        return ""
    said = published_table("ffnsl2023-prose")
    said = said[said["task"] == benchmark].drop(columns="task").astype(object)
    rows = said.where(said.notna(), "").to_dict("records")
    return "Numbers in the paper's text:\n\n" + table(rows)


def shown(docs: Path, folder: Path, name: str) -> str:
    """Links to the pictures in a task's folder whose names begin so."""
    found = sorted(folder.glob(f"{name}*.png"))
    return "\n\n".join(f"![{path.stem}]({path.relative_to(docs).as_posix()})" for path in found)
