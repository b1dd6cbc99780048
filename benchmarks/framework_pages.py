"""The pages of `framework`: networks, learners over the share of shift beside the paper's, errors, rules.

What a page says in words, and which of the paper's shifts is beside which of ours, is in framework.toml.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import framework_verdicts as verdicts
import pandas as pd
from studies import number, table

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.shift import STANDARD, resolve
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import figures, trained
from nsl_bench.report import analysis
from nsl_bench.report.curves import draw
from nsl_bench.report.networks import draw_histograms, frame, markdown
from nsl_bench.report.published.papers import ffnsl2023
from nsl_bench.report.published.papers import table as published_table
from nsl_bench.report.reliability import draw_reliability
from nsl_bench.report.tables import area_under_shift, short_names, summarise
from nsl_bench.run.store import Store

__all__ = ["CONSTANT", "FFNSL", "summary", "write"]

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


def write(benchmark: str, seen: Seen, store: Store, docs: Path) -> Path:
    """Write a task's page with its pictures, from what is in its store."""
    words, runs, beside = Words.of(benchmark), _short(store.frame()), paper(benchmark)
    folder = docs / "framework" / benchmark
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pieces = [
        f"# {words.title}",
        f"Made by `python benchmarks/framework.py {benchmark}`.",
        words.text.strip(),
    ]
    for shift in seen.shifts:
        pieces += [f"## Where FFNSL is behind: `{shift}`", verdicts.against_baselines(runs, shift)]
    used = set(store.frame()["network"])
    known = replace(seen, networks=tuple(spec for spec in seen.networks if spec in used))
    pieces += ["## Networks", networks(benchmark, known, folder)]
    errors = _short(analysis.error_shares(Results(store.folder)))
    frequent = _short(analysis.frequent_shares(analysis.perceived_shares(Results(store.folder))))
    rules = _short(analysis.rule_shares(Results(store.folder), words.predicates))
    curves = draw(runs, folder, _CURVES, beside if words.paper else None)
    dashed = "Dashed curves are the paper's." if words.paper else ""
    pieces += ["## Curves", dashed, shown(curves)]
    for shift in seen.shifts:
        pieces += [f"## Shift `{shift}`", *tables(runs, shift, beside)]
    pieces += ["## Beside the paper", words.setting.strip()]
    for shift in seen.shifts:
        compared = verdicts.beside_paper(benchmark, runs, shift, beside) if words.paper else ""
        pieces += [f"### On `{shift}`", compared] if compared else []
    pieces += [prose(benchmark)]
    pieces += ["## Causes of errors", causes(errors), shown(analysis.draw_errors(errors, folder))]
    pieces += ["## Learned rules", learned(rules, runs, words.predicates)]
    pieces += [shown(analysis.draw_shares(rules, words.predicates, folder, "rules"))]
    pieces += ["## Predicted concepts of the train images", perceived(frequent)]
    pieces += [shown(analysis.draw_perceived(frequent, folder))]
    pieces += ["## Reliability", shown(draw_reliability(Results(store.folder), folder))]
    path = docs / f"{benchmark}.md"
    path.write_text("\n\n".join(piece for piece in pieces if piece) + "\n", encoding="utf-8")
    return path


def summary(stores: dict[str, Store], docs: Path) -> Path:
    """Write the page of all tasks: means over all shares of shift."""
    pieces = [
        "# All tasks, all shares of shifted examples",
        "Made by `python benchmarks/framework.py`. The tables have means over the shares of shifted examples "
        "that all learners of a task have in common, with standard errors over train splits. Each task's "
        "page has the curves, where FFNSL is behind, and the paper's numbers next to ours.",
    ]
    for benchmark, store in stores.items():
        rows = []
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
            rows.append(
                {"shift": shift, "learner": f"{learner} ({network})", "repeats": group["n"].max(), **cells}
            )
        stated = f"Means over {', '.join(f'{percent:g}' for percent in common)} % shifted examples:"
        pieces += [f"## [{benchmark}]({benchmark}.md)", stated, table(rows)]
    path = docs / "framework.md"
    path.write_text("\n\n".join(pieces) + "\n", encoding="utf-8")
    return path


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose networks have names without options, and FFNSL one without its time limit."""
    networks = short_names(frame["network"].dropna().unique())
    return frame.replace({"network": networks, "learner": _NAMES})


def _whole(runs: pd.DataFrame) -> pd.DataFrame:
    """The repeats in which a learner's runs are all there: a mean over some shares of shift would mislead."""
    count = runs.groupby(["learner", "network", "repeat"])["key"].transform("size")
    most = count.groupby([runs["learner"], runs["network"]]).transform("max")
    return runs[count == most]


def networks(benchmark: str, seen: Seen, folder: Path) -> str:
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
    picture = folder / "networks.png"
    draw_histograms(found, picture)
    text = "On held-out images (pool B); the last columns are a histogram of confidence:"
    return "\n\n".join([text, markdown(frame(found)), shown([picture])])


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


def tables(runs: pd.DataFrame, shift: str, beside: pd.DataFrame) -> list[str]:
    """For each metric a row a learner and network, the paper's below, a column a percentage."""
    means = summarise(runs, _SHOWN)
    means = means[means["shift"] == shift]
    pieces = []
    for metric, group in means.groupby(means["metric"].astype(str), sort=False):
        rows = []
        lines = dict(list(group.groupby(["learner", "network"])))
        for learner, network in sorted(lines, key=_ffnsl_first):
            mine = lines[learner, network]
            rows.append(_row(f"{learner} ({network})", mine, metric, _repeats(mine["n"])))
            theirs = beside[
                (beside["learner"] == learner)
                & (beside["network"] == network)
                & (beside["shift"] == shift)
                & (beside["metric"] == metric)
                & beside["percent"].isin(mine["percent"])
            ]
            if len(theirs):
                rows.append(_row("— the paper", theirs, metric, _repeats(theirs["repeats"])))
        pieces.append(
            (list(_SHOWN).index(metric), f"### {METRICS[metric].title.capitalize()}\n\n{table(rows)}")
        )
    return [text for _, text in sorted(pieces)]


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


def causes(errors: pd.DataFrame) -> str:
    """Shares of test examples by what would repair their error."""
    rows = [
        {
            "shift": row["shift"],
            "shifted (%)": f"{row['percent']:g}",
            "learner": f"{row['learner']} ({row['network']})",
            **{title: f"{row[name]:.3f}" for name, title in _CAUSES.items()},
        }
        for _, row in errors[errors["percent"].isin(_AT)].iterrows()
    ]
    return "Share of all test examples with an error, by what would correct it:\n\n" + table(rows)


def learned(shares: pd.DataFrame, runs: pd.DataFrame, predicates: Sequence[str]) -> str:
    """Share of repeats whose hypothesis holds a rule about each predicate, or is the true rule."""
    place = ["shift", "percent", "learner", "network"]
    true = summarise(runs, ["equivalent"]).set_index(place)["mean"]
    rows = [
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
    return "Share of train splits whose hypothesis has a rule with a predicate:\n\n" + table(rows)


def perceived(frequent: pd.DataFrame) -> str:
    """The most frequent predictions of each network, a column a percentage."""
    rows = []
    concepts = list(frequent.columns[frequent.columns.get_loc("percent") + 1 : -1])
    for (shift, network), group in frequent.groupby(["shift", "network"], sort=True):
        group = group.sort_values("percent")
        for concept in [c for c in concepts if group[c].notna().all()]:
            cells = {f"{p:g} %": f"{s:.1%}" for p, s in zip(group["percent"], group[concept], strict=True)}
            rows.append({"shift": shift, "network": network, "predicted": concept, **cells})
        bits = {f"{p:g} %": f"{e:.2f}" for p, e in zip(group["percent"], group["entropy"], strict=True)}
        rows.append({"shift": shift, "network": network, "predicted": "entropy (bits)", **bits})
    return "Shares of the most frequent predictions, over all train splits:\n\n" + table(rows)


def prose(benchmark: str) -> str:
    """What the paper says of a task in its text, where it prints no table."""
    if Words.of(benchmark).paper:
        return ""
    said = published_table("ffnsl2023-prose")
    said = said[said["task"] == benchmark].drop(columns="task").astype(object)
    rows = said.where(said.notna(), "").to_dict("records")
    return "Numbers in the paper's text:\n\n" + table(rows)


def shown(pictures: Sequence[Path]) -> str:
    """Links to pictures in the task's folder."""
    return "\n\n".join(f"![{path.stem}]({'/'.join(path.parts[-3:])})" for path in pictures)
