"""The five papers: a page each, their curves, and the table of what became of every published figure.

    python benchmarks/papers.py --data DATA            pages from results/NAME, else from kept runs
    python benchmarks/papers.py --data DATA ntoc2023   only this one, and the table
    python benchmarks/papers.py --data DATA --reasons  only reasons of differences, from results/NAME

The runs are those of `nsl-bench reproduce NAME --preset paper --data DATA --out results/NAME`. Without that
folder a page is made from the runs that the repository keeps; runs of an earlier protocol count as runs of
today, and the table says so. Figures that neither has stay as they are in the last report, so that a paper
can be run in parts. With `--reasons` all figures stay, and those that differ without a reason get the one
that the runs give, e.g. of one training of each network where the figure is of three.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pictures
from pages import DOCS, Top, kept, markdown, write

from nsl_bench.perception.trained_networks import Figures
from nsl_bench.report.networks import draw_histograms
from nsl_bench.report.published import papers
from nsl_bench.report.published.ffnsl import CONFIDENCES, borne_out
from nsl_bench.report.published.figures import Figure
from nsl_bench.report.published.pages import coverage, read_figures, write_report
from nsl_bench.report.published.reproduce import reproduction
from nsl_bench.run.job import Job
from nsl_bench.run.store import Store

KEPT = {"ntoc2023": ("ntoc",), "neuid3": ("neuid3_eleusis", "neuid3_uci")}
"""Folders of docs/results/runs with runs of a paper."""

METHOD = """\
*Published* counts the rows of the tables that come with nsl-bench; NSL printed curves only, and its rows are
statements of the text. *Not run* figures can be compared, but have no runs yet: they are of NeuID3's trees on
images of the UCI tables `mushroom` and `german`, whose runs were stopped after 36 and 10 minutes. Large train
sets of Sudoku 9x9 are no copies of the paper's ([what stands for them](ffnsl2023.md)). *Undecidable* figures
could not be decided by all of the paper's train splits. The state *before* is that of means alone: neither
the paper's values in each split nor its images were used. Each figure counts once, however often it is
measured.

Hours are those that the option `--dry-run` of `reproduce` estimates from the CPU time of single runs, for two
runs at once on two cores; an hour for each tree on images of `mushroom` and `german` is a guess. Networks
that are not trained yet come besides."""

PARTS = ("reproduced", "different, tested reason", "different", "not decided", "undecidable", "not run")
"""Columns of the table that are parts of the picture."""

CURVES = ("hypothesis_accuracy", "framework_accuracy")


KEPT_RUNS = "Made from kept runs, some of an earlier protocol or version."

VERSIONS = {"protocol", "benchmark_version", "learner_version", "network_version", "source_fingerprint"}


def as_now(job: Job) -> str:
    """What a job is, whatever version made it and wherever its images were."""
    fields = {name: value for name, value in asdict(job).items() if name not in VERSIONS}
    return str({**fields, "source": job.source.partition(":")[0]})


def _says_more(new: Figure, old: Figure) -> bool:
    """Whether a figure replaces that of the last report, not if it just lacks the runs of a reason."""
    unexplained = new.badge == old.badge == "differs" and bool(old.reason) and not new.reason
    return new.repeats > old.repeats or (new.repeats == old.repeats and not unexplained)


def figures_of(
    name: str, data: Path, results: Path, docs: Path, *, only_reasons: bool = False
) -> tuple[list[Figure], str]:
    """A paper's figures, and a sentence on where they come from.

    Figures of the last report stay where the runs lack them, have fewer train splits or lack those that
    gave a reason, unless they are of a task that the paper's runs do not have any more. With `only_reasons`
    all stay.
    """
    whole, store = reproduction(name, "paper", data), None
    if (results / name / "store.json").is_file():
        store = Store(results / name)
    elif name in KEPT and not only_reasons:
        store = Store(results / f"{name}-kept")
        jobs = {as_now(job): job for job in whole.jobs}
        for folder in KEPT[name]:
            for record in Store(docs / "runs" / folder, must_exist=True).latest().values():
                job = jobs.get(as_now(record.job))
                if job is not None:
                    store.add(replace(record, job=job, key=job.key()))
        return whole.compare(store), KEPT_RUNS
    report, tasks = docs / name / "report.csv", {job.benchmark for job in whole.jobs}
    last = read_figures(report) if report.is_file() else []
    figures = {one.which: one for one in last if one.benchmark in tasks or not one.repeats}
    new = {one.which: one for one in (whole.compare(store) if store else [])}
    if only_reasons:
        open_ = {k for k, one in figures.items() if one.badge == "differs" and not one.reason}
        new = {k: replace(figures[k], reason=new[k].reason) for k in open_ & new.keys()}
    new = {k: one for k, one in new.items() if k not in figures or _says_more(one, figures[k])}
    if not new:
        return list(figures.values()), "Made from the last report." if figures else "No runs yet."
    every = borne_out([*(figures | new).values()])
    told = f"{len(new):,} of {len(every):,} lines of the report made from runs, the others kept."
    return every, told if len(new) < len(every) else ""


def curves(figures: Sequence[Figure], path: Path) -> None:
    """Measured and published curves over the share of shifted examples, a panel a task, network, metric."""
    rows = [
        {"panel": f"{f.benchmark}, {f.network}, {f.metric.replace('_', ' ')}{more}", "share": f.percent}
        | {"line": line + last}
        | {"mean": mean, "error": error}
        for f in figures
        if f.metric in CURVES and f.network != "true concepts" and f.repeats and f.counting == "paper"
        for more in [", fifty splits" if f.published_repeats > 5 else ""]
        for name in ["ffnsl" if f.learner.startswith("ffnsl_") else f.learner]
        for line in [", ".join(filter(None, (name, f.penalties, f.size)))]
        for last, mean, error in (
            ("", f.measured, f.measured_std_err),
            (pictures.PAPER, f.published, f.published_std_err),
        )
    ]
    found = pd.DataFrame(rows)
    if len(found) and found["share"].nunique() > 1:
        pictures.lines(found.sort_values(["panel", "line", "share"]), path, columns=2)


def histograms(figures: Sequence[Figure], path: Path) -> None:
    """Published and measured histograms of confidence without and with shift, a panel a task and network."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for f in figures:
        if f.metric in (*CONFIDENCES, "concept_accuracy_train") and f.percent in (0, 100):
            for side, value in (("published", f.published), ("measured", f.measured)):
                panel = f"{f.benchmark}, {f.network}, {f.percent:g} % shifted"
                found.setdefault((side, panel), {})[f.metric] = value
    drawn = {
        key: Figures(0, one["concept_accuracy_train"], np.nan, np.nan, tuple(one[c] for c in CONFIDENCES))
        for key, one in sorted(found.items(), key=lambda item: item[0][1])
    }
    if drawn:
        draw_histograms(drawn, path)


def hours(name: str, data: Path) -> dict[str, object]:
    """How many runs a paper has in each preset, and their hours on two cores."""
    row: dict[str, object] = {"paper": name}
    for preset in ("paper", "quick"):
        whole = reproduction(name, preset, data)
        told = f"{whole.minutes(whole.jobs) / 120:.1f}"
        row |= {f"runs, {preset}": len(whole.jobs), f"hours, {preset}": told}
    return row


def main() -> None:
    """Write the pages and the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("papers", nargs="*", help=f"of {', '.join(papers.names())}; all by default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="as in docs/leaderboard.md")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--reasons", action="store_true", help="only reasons of differences")
    options = parser.parse_args()
    docs, rows = options.docs, []
    before = pd.read_csv(docs / "papers" / "before.csv").set_index("paper")
    for name in papers.names():
        figures, source = figures_of(name, options.data, options.results, docs, only_reasons=options.reasons)
        figures = [replace(one, reason=one.reason.replace(str(options.data), "DATA")) for one in figures]
        if figures and (not options.papers or name in options.papers):
            command = f"nsl-bench reproduce {name} --preset paper --data DATA --out results/{name}"
            curves(figures, docs / name / "curves.png")
            histograms(figures, docs / name / "histograms.png")
            write_report(figures, docs / name, command, docs / f"{name}.md", name=name)
        rows.append({"paper": name, "state": "before", **before.loc[name].to_dict()})
        rows.append({"paper": name, "state": "now", **coverage(name, figures), "runs": source})
    kept(docs, "papers", "fates", rows)
    times = [hours(name, options.data) for name in papers.names()]
    kept(docs, "papers", "hours", times)
    parts = pd.DataFrame([row for row in rows if row["state"] == "now"]).set_index("paper")[list(PARTS)]
    pictures.fates(parts, docs / "papers" / "fates.png")
    after = [row for row in rows if row["state"] == "now"]
    told = sum(int(row["reproduced"]) for row in after), sum(int(row["compared"]) for row in after)
    write(
        docs,
        "papers",
        Top(
            "Five papers, figure by figure",
            "What became of every figure that the five papers publish?",
            f"Of {told[1]} figures that are compared {told[0]} are reproduced.",
            "python benchmarks/papers.py --data DATA",
            "What became of the figures of each paper that can be compared",
            "papers/fates.png",
        ),
        markdown(rows),
        "## Hours of the runs",
        markdown(times),
        "## Method",
        METHOD,
        "## Tables",
        "* [fates.csv](papers/fates.csv): what became of the figures.",
        "* [hours.csv](papers/hours.csv): runs and hours of each paper.",
    )


if __name__ == "__main__":
    main()
