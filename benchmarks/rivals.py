"""Who is better than FFNSL on the board, and where, as docs/results/rivals.md and the tables beside it.

    python benchmarks/rivals.py [--submissions FOLDER --board FILE]

Reads the accepted submissions, which `benchmarks/reference.py` makes. A learner's number is its mean over the
shares of shifted data; differences to FFNSL and their intervals are the board's (`Board.differences`).
They are compared with those of the board before, which had three train splits: `rivals/earlier.csv`.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pictures
from nsl_bench.leaderboard.board import SUBMISSIONS, Board, read_board
from nsl_bench.leaderboard.contests import BOARD, Contest
from nsl_bench.leaderboard.entries import Entry
from nsl_bench.leaderboard.predictions import rows_of
from nsl_bench.leaderboard.reading import Tunings
from nsl_bench.leaderboard.site.supervision import given as given_to
from nsl_bench.leaderboard.site.supervision import words_of
from nsl_bench.leaderboard.submission import PREDICTIONS
from nsl_bench.leaderboard.truth import Truth
from pages import DOCS, Top, kept, listed, points, write
from reference import SECONDS, TRIALS

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import task_of_split
from nsl_bench.learners.environments import entrant
from nsl_bench.run.true_rule import is_true_rule

MAIN = {
    "framework_accuracy": "accuracy on images",
    "hypothesis_accuracy": "accuracy on true concepts",
    "brier_score": "Brier score",
}
"""What the matrix compares, the metric of the question first."""

MEANS = MAIN | {
    "atoms": "atoms",
    "learning_time": "seconds of learning",
    "learner_concept_accuracy": "accuracy of its concepts",
    "concept_collapse": "collapse of its concepts",
}
SHOWN = (0.0, 40.0, 60.0, 80.0)
"""Shares whose rules are kept."""

SEEN_SPLITS = 3
"""Train splits whose test answers had been seen before methods were changed; folds of Zoo were all seen."""

SEEN = ("follow_suit", "sudoku_4x4", "sudoku_9x9", "crop_yield", "indoor_scene")
"""Contests in which they were seen, on the networks of today."""


@dataclass(frozen=True)
class Difference:
    """FFNSL beside another entry, in a metric of a contest.

    Attributes:
        lead: of FFNSL's mean; above 0 where FFNSL is better, whatever the direction of the metric.
        low, high: ends of its 95 % interval; NaN where the runs cannot say.
        word: whether the other is ``"better"``, ``"worse"`` or a ``"tie"``, corrected over the contest's
            learners; empty if not known.
    """

    contest: str
    metric: str
    learner: str
    track: str
    ours: bool
    ffnsl: float
    other: float
    lead: float
    low: float
    high: float
    word: str


def differences(board: Board, contest: Contest) -> Iterator[Difference]:
    """All entries of a contest beside FFNSL, without those told the answer, which are no rivals."""
    reference = board.reference(contest)
    if reference is None:
        return
    for metric in MAIN:
        mine = reference.repeats(contest, metric)
        for entry, d in board.differences(contest, metric).items():
            theirs = entry.repeats(contest, metric)
            means = (float(values.mean()) if len(values) else float("nan") for values in (mine, theirs))
            about = contest.name, metric, entry.title, words_of(entry.track), entry.is_ours
            yield Difference(*about, *means, -d.mean, -d.high, -d.low, d.word)


def losses(found: Sequence[Difference], metric: str) -> dict[str, tuple[list[Difference], int]]:
    """By contest: the other methods that are better than FFNSL, the best first, and how many there are."""
    own = [one for one in found if one.metric == metric and not one.ours and one.word]
    by_contest = {name: list(group) for name, group in itertools.groupby(own, key=lambda one: one.contest)}
    return {
        name: (sorted((one for one in group if one.word == "better"), key=lambda one: one.lead), len(group))
        for name, group in by_contest.items()
    }


def sentence(found: Sequence[Difference], metric: str) -> str:
    """Where FFNSL loses by a metric, to how many, and where most."""
    by_contest = losses(found, metric)
    lost = {name: (better, n) for name, (better, n) in by_contest.items() if better}
    if not by_contest:
        return f"In {MAIN[metric]} nothing is compared yet."
    if not lost:
        return f"In {MAIN[metric]} no learner is better than FFNSL on any of {len(by_contest)} tasks."
    places = [f"{name} ({len(better)} of {n} learners)" for name, (better, n) in lost.items()]
    most = min((better[0] for better, _ in lost.values()), key=lambda one: one.lead)
    rest = [name for name in by_contest if name not in lost]
    none = f" None is better on {listed(rest)}." if rest else ""
    return (
        f"In {MAIN[metric]} FFNSL loses on {listed(places)}. It loses most to {most.learner} on "
        f"{most.contest}: {points(most.lead, most.low, most.high)}.{none}"
    )


def answer(found: Sequence[Difference]) -> str:
    """The answer in few words."""
    by_contest = losses(found, next(iter(MAIN)))
    lost = [name for name, (better, _) in by_contest.items() if better]
    if not lost:
        return f"No learner beats FFNSL in accuracy on images on any of {len(by_contest)} tasks."
    where = f"on {listed(lost)}" if len(lost) < 5 else f"on {len(lost)} of {len(by_contest)} tasks"
    return f"FFNSL loses in accuracy on images {where}."


def primary(found: Sequence[Difference]) -> str:
    """The question of each task, asked before any run, and its answer."""
    lines = []
    metric = next(iter(MAIN))
    for name, (better, n) in losses(found, metric).items():
        words = [one.word for one in found if (one.contest, one.metric, one.ours) == (name, metric, False)]
        who = listed([f"{one.learner} ({points(one.lead, one.low, one.high)})" for one in better])
        said = f"Yes, {len(better)} of {n}: {who}." if better else f"No, none of {n}."
        rest = f" {words.count('worse')} are worse, {words.count('tie')} tie."
        lines.append(f"* **{name}**: is a learner better than FFNSL in {MAIN[metric]}? {said}{rest}")
    return "\n".join(lines)


def best(board: Board, contest: Contest, track: str) -> Entry | None:
    """The other method of a track that is best in accuracy on images, the first of several."""
    entries = [e for e in board.of(contest, track) if not e.is_ours and e.can_rank(contest)]
    return max(entries, key=lambda e: e.repeats(contest, "framework_accuracy").mean(), default=None)


def three(board: Board, contest: Contest) -> dict[str, Entry]:
    """FFNSL, the best learner from predicted concepts, and the best from images to labels, by what it is."""
    found = {
        "FFNSL": board.reference(contest),
        "best tabular": best(board, contest, "pretrained"),
        "best end to end": best(board, contest, "end_to_end"),
    }
    return {name: entry for name, entry in found.items() if entry is not None}


def curves(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """Accuracy on images by shift and share, of three entries."""
    for (role, entry), shift in itertools.product(three(board, contest).items(), contest.shifts):
        for share, mean, error in entry.curve(contest, shift, "framework_accuracy"):
            about = {"contest": contest.name, "shift": shift, "role": role, "learner": entry.title}
            yield {**about, "share": share, "mean": mean, "std_err": error}


def miscalibration(
    probabilities: npt.NDArray[np.floating], labels: npt.NDArray[np.integer], bins: int = 15
) -> float:
    """The part of the Brier score that is lost where a label is as frequent as another probability says.

    It is the sum over labels of the reliability term of Murphy's partition ("A New Vector Partition of the
    Probability Score", 1973), over equal-width bins of the label's probability.
    """
    lost = 0.0
    for label, given in enumerate(np.asarray(probabilities, np.float64).T):
        bin_of = np.clip(np.ceil(given * bins).astype(int) - 1, 0, bins - 1)
        count = np.bincount(bin_of, minlength=bins)
        excess = np.bincount(bin_of, given - (labels == label), minlength=bins)
        lost += float((excess**2 / np.maximum(count, 1)).sum())
    return lost / len(labels)


def brier_parts(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """The Brier score of three entries, parted into miscalibration and the error that is left."""
    for role, entry in three(board, contest).items():
        runs = dict(zip(entry.runs[contest.name], contest.cells_of(entry.track), strict=True))
        jobs, parts = entry.submitted(), []
        for run, evaluation, (_, probabilities) in rows_of(entry.folder / PREDICTIONS):
            if run in runs and evaluation == "framework" and probabilities is not None:
                labels = Truth(jobs[run].job, contest, runs[run]).labels
                parts.append(miscalibration(probabilities, labels))
        if parts:
            score = float(entry.repeats(contest, "brier_score").mean())
            wrong = sum(parts) / len(parts)
            about = {"contest": contest.name, "role": role, "learner": entry.title, "brier_score": score}
            yield {**about, "miscalibration": wrong, "error": score - wrong}


def fresh(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """FFNSL's lead in accuracy on images, on splits seen before methods were changed and on fresh ones."""
    reference, metric = board.reference(contest), next(iter(MAIN))
    if reference is None or contest.repeats <= SEEN_SPLITS or contest.name not in SEEN:
        return
    for entry in board.differences(contest, metric):
        values = (reference.repeats(contest, metric), entry.repeats(contest, metric))
        if entry.is_ours or not all(map(len, values)):
            continue
        leads = values[0] - values[1]
        about = {"contest": contest.name, "learner": entry.title, "track": words_of(entry.track)}
        yield {**about, "seen": leads[:SEEN_SPLITS].mean(), "fresh": leads[SEEN_SPLITS:].mean()}


def on_fresh(rows: pd.DataFrame) -> str:
    """What fresh splits say, in a sentence."""
    turned = rows[np.sign(rows["seen"]) != np.sign(rows["fresh"])]
    named = [f"{row['learner']} on {row['contest']}" for row in turned.to_dict("records")]
    gap = float((rows["fresh"] - rows["seen"]).mean())
    return (
        f"FFNSL's lead has another sign on the fresh splits in {len(turned)} of {len(rows)} comparisons"
        f"{': ' + listed(named) if named else ''}. On average it is larger there by {points(gap)} than on "
        "splits that had been seen."
    )


def changed(found: Sequence[Difference], earlier: Path) -> tuple[str, pd.DataFrame]:
    """What the board before said otherwise: a sentence, and a table with both."""
    keys = ["contest", "metric", "learner"]
    both = pd.DataFrame([vars(one) for one in found]).merge(
        pd.read_csv(earlier), on=keys, suffixes=("", " before")
    )
    both = both.dropna(subset=["lead", "lead before"]).fillna({"word": "", "word before": ""})
    sign = np.sign(both["lead"]) != np.sign(both["lead before"])
    word = both["word"] != both["word before"]
    counts = both[sign]["metric"].value_counts()
    each = [f"{counts.get(metric, 0)} in {name}" for metric, name in MAIN.items()]
    told = (
        f"Of {len(both)} leads that both boards have, {sign.sum()} changed sign ({listed(each)}), and "
        f"{word.sum()} their word."
    )
    return told, both.loc[sign | word, [*keys, "lead before", "word before", "lead", "low", "high", "word"]]


def means(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """For each entry of a contest its means, what it has without shift, and its failed runs."""
    for entry in board.of(contest):
        row: dict[str, object] = {
            "contest": contest.name,
            "learner": entry.title,
            "track": words_of(entry.track),
        }
        for metric in MEANS:
            values = entry.repeats(contest, metric)
            row[metric] = float(values.mean()) if len(values) else None
        row["accuracy without shift"] = entry.without_shift(contest, "framework_accuracy")
        row["runs"], row["failed runs"] = len(entry.runs[contest.name]), entry.failures(contest)
        row["accuracy without failed runs"] = entry.succeeded(contest, "framework_accuracy")
        records = [record for _, record in entry.records(contest, entry.submitted())]
        row["not started"] = sum(record["started"] == "" for record in records)
        row["without rules"] = sum(record["metrics"].get("atoms") == 0 for record in records)
        yield row


def failed(rows: pd.DataFrame) -> str:
    """The entries with failed runs: their means with the majority class for these, and without them."""
    own = rows[rows["failed runs"] > 0]
    told = pd.DataFrame(
        {
            "task": own["contest"],
            "learner": own["learner"],
            "failed": [f"{f} of {n}" for f, n in zip(own["failed runs"], own["runs"], strict=True)],
            "accuracy on images": own["framework_accuracy"].map("{:.3f}".format),
            "without failed runs": [
                "" if pd.isna(value) else f"{value:.3f}" for value in own["accuracy without failed runs"]
            ],
        }
    )
    return told.to_markdown(index=False, disable_numparse=True) if len(told) else "No run failed."


NEAR = 0.7
"""A run that learned for this share of its time or longer may have ended because of the time: learners end
before four fifths of it. The passes that were made are not in a submission."""


def budget(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """What each entry of a contest could use, what tuning chose, and how many runs the time ended."""
    for entry in board.of(contest):
        submitted = entry.submitted()
        runs = [submitted[name] for name in entry.runs[contest.name] if name in submitted]
        tunings, limits = Tunings.of(runs), {run.time_limit for run in runs if run.time_limit}
        ended = [run for run in runs if run.status == "ok" and run.time_limit]
        least = entry.manifest.tuning_trials if tunings is None else tunings.trials[0]
        yield {
            "contest": contest.name,
            "learner": entry.title,
            "track": words_of(entry.track),
            "seconds": int(max(limits)) if limits else "",
            "cores": max((int(run.environment.get("threads", 1)) for run in runs), default=1),
            "most passes": passes(entry.manifest.learner),
            "least trials": least,
            "most trials": entry.manifest.tuning_trials if tunings is None else tunings.trials[1],
            "tuned by": "" if tunings is None else ", ".join(tunings.metrics),
            "runs": len(runs),
            "kept its own settings": "" if tunings is None else tunings.kept,
            "chosen most often": "" if tunings is None else tunings.often[0],
            "so often": "" if tunings is None else tunings.often[1],
            "timeouts": sum(run.status == "timeout" for run in runs),
            "near the limit": sum((run.learning_time or 0) > NEAR * (run.time_limit or 0) for run in ended),
            "minutes": sum((run.learning_time or 0) + (run.prediction_time or 0) for run in runs) / 60,
        }


def passes(spec: str) -> int | str:
    """The most passes that a learner makes over its train set; empty for a learner without passes."""
    base = registry.Spec.parse(spec).args[0] if spec.startswith("tuned:") else spec
    if base.startswith("env:"):
        code = entrant(base).folder / "adapter.py"
        found = re.search(r"epochs: int = (\d+)", code.read_text(encoding="utf-8"))
        return int(found[1]) if found else ""
    return int(getattr(registry.create("learner", base), "epochs", 0)) or ""


def used(rows: pd.DataFrame) -> str:
    """The table of budgets, a row a learner: of all its tasks together."""
    groups = rows.groupby(["track", "learner"], sort=True)
    told = []
    for (track, learner), group in groups:
        passed = [str(value) for value in sorted({value for value in group["most passes"] if value != ""})]
        trials = sorted({int(group["least trials"].min()), int(group["most trials"].max())} - {0})
        told.append(
            {"learner": learner, "track": track}
            | {"seconds": max(group["seconds"], key=str), "cores": group["cores"].max()}
            | {"most passes": ", ".join(passed), "trials": " to ".join(map(str, trials))}
            | {
                name: f"{group[name].sum()} of {group['runs'].sum()}"
                for name in ("timeouts", "near the limit")
            }
            | {"minutes": f"{group['minutes'].sum():.0f}"}
        )
    return pd.DataFrame(told).to_markdown(index=False, disable_numparse=True)


def kept_own(rows: pd.DataFrame) -> str:
    """Tuned entries, a row a learner: how many runs kept its own settings, and what others chose."""
    told = []
    for learner, group in rows[rows["tuned by"] != ""].groupby("learner", sort=True):
        most = group.loc[group["so often"].astype(int).idxmax()]
        chosen = f"{most['chosen most often']} ({most['so often']} of {most['runs']} on {most['contest']})"
        told.append(
            {"learner": learner, "tuned by": ", ".join(sorted(set(group["tuned by"]))).replace("_", " ")}
            | {"kept its own settings": f"{group['kept its own settings'].sum()} of {group['runs'].sum()}"}
            | {"chosen most often instead": chosen if most["so often"] else ""}
        )
    nothing = "The trials of these entries were not kept."
    return pd.DataFrame(told).to_markdown(index=False, disable_numparse=True) if told else nothing


def supervision(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """What each entry of a contest was given."""
    for entry in board.of(contest):
        about = {"contest": contest.name, "learner": entry.title, "track": words_of(entry.track)}
        yield {**about, **given_to(entry, contest)}


def spans(rows: pd.DataFrame) -> str:
    """The table of supervision with a row a learner: the least and the greatest number over its tasks."""

    def span(values: pd.Series) -> str:
        known = sorted({value for value in values if value != "" and not pd.isna(value)})
        ends = [f"{value:,}" if isinstance(value, int) else str(value) for value in known]
        if not values.map(lambda value: isinstance(value, int)).all():
            return ", ".join(ends)
        return ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"

    groups = rows.groupby(["track", "learner"], sort=True)
    told = [
        {"learner": learner, "track": track, **{name: span(group[name]) for name in rows.columns[3:]}}
        for (track, learner), group in groups
    ]
    return pd.DataFrame(told).to_markdown(index=False, disable_numparse=True)


def equivalent(hypothesis: tuple[str, ...], language: str, task: Benchmark) -> str:
    """Whether a hypothesis is equivalent to the true rule: yes, no, or why it is not known."""
    if not task.true_rule:
        return "no true rule"
    if language != "asp":
        return "not ASP"
    try:
        return "yes" if is_true_rule(hypothesis, task) else "no"
    except UserError:
        return "not decided"


def rules(board: Board, contest: Contest) -> Iterator[dict[str, object]]:
    """What entries learned from the first train split at some shares: atoms, equivalence, rules."""
    task = task_of_split(registry.create("benchmark", contest.benchmark), 1, contest.seed)
    for entry in board.of(contest):
        for cell, record in entry.records(contest, entry.submitted()):
            if cell.repeat != 1 or cell.percent not in SHOWN or not record["rules"]:
                continue
            if cell.percent and cell.shift != contest.shifts[0]:
                continue
            yield {
                "contest": contest.name,
                "learner": entry.title,
                "share (%)": cell.percent,
                "atoms": record["metrics"].get("atoms"),
                "equivalent": equivalent(tuple(record["rules"]), record["language"], task),
                "begins with": " ".join(" ".join(record["rules"]).split())[:100],
            }


METHOD = f"""\
FFNSL learns from the contest's main network. A lead is FFNSL's mean over shares of shifted examples less the
other's, in hundredths (*points*), positive where FFNSL is better, for Brier scores too. Intervals (95 %)
cover train splits and test examples. The question of a task is asked in accuracy on images and corrected over
learners by Holm's method. *Better*, *worse* and *tie* are corrected, intervals are not; all but the questions
is descriptive. FFNSL with other networks or options is in the matrix and no rival.

Learning and answering may take {SECONDS:g} seconds each. Where a learner took longer in all runs at 0 %, its
other runs were not started. *Tuned* learners try at most {TRIALS} settings, and as many as four fifths of the
time allow, on validation examples; of equal accuracies the smaller Brier score wins. Networks train until a
loss no longer falls or the time is up; where that takes most of the time, nothing is tuned. Entries ran on
several days, so that seconds compare them roughly.

After we had seen answers for test examples we changed how the adapters of LTN and ABLkit answer, how LEN is
asked for formulas, how long networks train and how large they see images, the patches of the vision
transformer, and that learners with the known rule answer given that some label follows from it."""


def page(board: Board, docs: Path) -> Path:
    """Write the page, its pictures and its tables."""
    found = [one for contest in board.contests for one in differences(board, contest)]
    found.sort(key=lambda one: list(MAIN).index(one.metric))
    frames = {
        name: pd.DataFrame([row for contest in board.contests for row in make(board, contest)])
        for name, make in {
            "means": means,
            "curves": curves,
            "brier": brier_parts,
            "supervision": supervision,
            "budget": budget,
            "rules": rules,
            "fresh": fresh,
        }.items()
    }
    frames["differences"] = pd.DataFrame([vars(one) for one in found])
    turned, frames["changed"] = changed(found, docs / "rivals" / "earlier.csv")
    links = {name: kept(docs, "rivals", name, frame) for name, frame in frames.items()}
    folder = docs / "rivals"
    shown = {
        name: f"![{what}]({picture.relative_to(docs).as_posix()})"
        for name, what, picture in (
            ("curves", "accuracy over share", pictures.curves(frames["curves"], folder / "curves.png")),
            ("brier", "Brier scores in parts", pictures.brier(frames["brier"], folder / "brier.png")),
            ("atoms", "accuracy against atoms", pictures.atoms(frames["means"], folder / "atoms.png")),
        )
    }
    pictures.matrix(frames["differences"], MAIN, folder / "matrix.png")
    pictures.front(frames["curves"], folder / "front.png")
    kept_out = [
        f"{contest.name}: {listed([entry.title for entry in board.kept_out(contest)])}."
        for contest in board.contests
        if board.kept_out(contest)
    ]
    top = Top(
        "FFNSL and its rivals",
        "Which learners are better than FFNSL under shift?",
        answer(found),
        "python benchmarks/rivals.py",
        "FFNSL's lead over each learner in each task, in points",
        "rivals/matrix.png",
    )
    return write(
        docs,
        "rivals",
        top,
        "FFNSL's lead over each learner, in points: blue ahead, red behind, grey where the interval holds 0, "
        "white where the runs cannot say; bold where the difference holds after correction. "
        f"All numbers: {links['differences']}.",
        *(sentence(found, metric) for metric in MAIN),
        "## The question of each task",
        primary(found),
        "## Accuracy over share",
        shown["curves"],
        f"*Tabular* learners get the concepts that the network predicts. Numbers: {links['curves']}.",
        "## Brier scores: error and miscalibration",
        shown["brier"],
        "Miscalibration is what the score would lose if each label's probability were replaced, bin by bin, "
        f"by how often the label is true; error is the rest. Numbers: {links['brier']}.",
        "## Accuracy against atoms",
        shown["atoms"],
        "## Supervision",
        spans(frames["supervision"]),
        f"The least and the greatest number over tasks; by task: {links['supervision']}. A perceiver's "
        "concept labels are the images that it was trained on. A network from images to labels with as many "
        "labels: [100 times the data](data.md).",
        "## Budget",
        used(frames["budget"]),
        f"*Timeouts* count as failed. *Near the limit* are other runs that learned for more than {NEAR:.0%} "
        "of the seconds, so that the time may have ended them before the validation loss stopped falling. "
        "Networks make at most so many passes and keep the best one; trials are those of a run. Minutes are "
        "those of learning and answering in all runs, on one core. "
        f"By task: {links['budget']}.",
        "## What tuning chose",
        kept_own(frames["budget"]),
        "## Failed runs",
        "A failed run counts as the majority class, and no better than the learner's worst other run.",
        failed(frames["means"]),
        "## What changed against the board before",
        "The board before had three train splits and shares in steps of ten, and on Zoo each machine's own "
        f"network. {turned} They are in {links['changed']}.",
        "## How it was compared",
        METHOD,
        f"{on_fresh(frames['fresh'])} By learner: {links['fresh']}.",
        f"All means, with seconds and failed runs: {links['means']}. Learned rules: {links['rules']}. "
        "Not applicable to: " + " ".join(kept_out),
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=Path, default=SUBMISSIONS)
    parser.add_argument("--board", type=Path, default=BOARD)
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    page(read_board(options.submissions, options.board), options.docs)


if __name__ == "__main__":
    main()
