"""Where FFNSL loses on the board, to whom, and where it wins, as docs/results/rivals.md.

    python benchmarks/rivals.py

Reads the accepted submissions, which `benchmarks/reference.py` makes. Every number is a mean over the shares
of shifted data; differences are paired by train split. An interval that does not contain 0 counts as a
difference, of many that are looked at: the board corrects for that, this page does not.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from nsl_bench.leaderboard.board import SUBMISSIONS, Board, read_board
from nsl_bench.leaderboard.contests import BOARD, Contest
from nsl_bench.leaderboard.entries import Entry
from reference import BUDGET, TRIALS

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.registry import create
from nsl_bench.data.splits import task_of_split
from nsl_bench.run.statistics import paired_interval
from nsl_bench.run.true_rule import is_true_rule

COMPARED = {
    "framework_accuracy": "accuracy on images",
    "hypothesis_accuracy": "accuracy on true concepts",
    "brier_score": "Brier score",
    "atoms": "atoms",
    "learning_time": "seconds of learning",
}
OF_CONCEPTS = {
    "learner_concept_accuracy": "accuracy of its concepts",
    "concept_collapse": "collapse of its concepts",
}
FFNSL = "ffnsl"
SHOWN = (0.0, 50.0, 90.0)
"""Shares whose rules are shown."""


@dataclass(frozen=True)
class Difference:
    """FFNSL against another entry, in a metric of a contest.

    Attributes:
        contest: its name.
        metric: its name.
        entry: the other one.
        ffnsl: mean of FFNSL.
        other: mean of the other.
        low: lower end of the 95 % interval of FFNSL's advantage; above 0 where FFNSL is better.
        high: its upper end.
    """

    contest: str
    metric: str
    entry: Entry
    ffnsl: float
    other: float
    low: float
    high: float

    @property
    def wins(self) -> bool:
        """Whether FFNSL is better."""
        return self.low > 0

    @property
    def loses(self) -> bool:
        """Whether the other is better."""
        return self.high < 0

    @property
    def advantage(self) -> str:
        """FFNSL's advantage and its interval."""
        return f"{(self.low + self.high) / 2:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"

    def __str__(self) -> str:
        return f"{self.entry.title} ({words_of(self.entry.track)}) {self.other:.3g}: {self.advantage}"


def words_of(track: str) -> str:
    """A track as people write it."""
    return track.replace("_", " ")


def differences(board: Board, contest: Contest, ours: Entry) -> Iterator[Difference]:
    """All other entries of a contest against FFNSL, without metrics that either lacks, and failed entries."""
    for metric in COMPARED:
        mine = ours.repeats(contest, metric)
        for entry in board.of(contest):
            if not _is_rival(entry, ours, metric) or not entry.whole(contest) or entry.all_failed(contest):
                continue
            theirs = entry.repeats(contest, metric)
            if len(theirs) != len(mine) or not len(mine):
                continue
            better = mine - theirs if METRICS[metric].higher_is_better else theirs - mine
            low, high = paired_interval(better)
            yield Difference(contest.name, metric, entry, float(mine.mean()), float(theirs.mean()), low, high)


def _is_rival(entry: Entry, ours: Entry, metric: str) -> bool:
    """Whether it is another learner, FFNSL with another rule learner too, and has something to compare."""
    learner = entry.manifest.learner
    learns = learner != "majority" or metric not in ("atoms", "learning_time")
    return learner != ours.manifest.learner and learns and not entry.manifest.told_the_answer


def grouped(found: list[Difference]) -> Iterator[tuple[str, list[Difference]]]:
    """Contest, metric and FFNSL's mean in words, and what belongs to them."""
    for (contest, metric), group in itertools.groupby(found, key=lambda one: (one.contest, one.metric)):
        own = list(group)
        yield f"**{contest}, {COMPARED[metric]}** (FFNSL {own[0].ffnsl:.3g})", own


def listed(found: list[Difference], what: str) -> str:
    """A list, contest by contest and metric by metric, with numbers."""
    lines = [f"* {words}: " + "; ".join(map(str, own)) + "." for words, own in grouped(found)]
    return "\n".join(lines) or f"No entry {what}."


def named(found: list[Difference], all_of: list[Difference], what: str) -> str:
    """A list of names, contest by contest and metric by metric, and how many of all they are."""
    lines = []
    for words, own in grouped(found):
        n = sum((one.contest, one.metric) == (own[0].contest, own[0].metric) for one in all_of)
        names = "" if len(own) == n else ": " + "; ".join(one.entry.title for one in own)
        lines.append(f"* {words}: {len(own)} of {n}{names}.")
    return "\n".join(lines) or f"No entry {what}."


def matrix(found: list[Difference], metric: str) -> str:
    """A row for each rival, a column for each contest: its mean, and FFNSL's advantage with its interval."""
    own = [one for one in found if one.metric == metric]
    tracks = {one.entry.title: words_of(one.entry.track) for one in own}
    rows = []
    for title in sorted(tracks, key=lambda title: (tracks[title], title)):
        cells = {one.contest: one for one in own if one.entry.title == title}
        row = {"learner": title, "track": tracks[title]}
        for contest in dict.fromkeys(one.contest for one in own):
            one = cells.get(contest)
            mark = "**" if one and one.loses else ""
            row[contest] = f"{one.other:.3g}: {mark}{one.advantage}{mark}" if one else ""
        rows.append(row)
    return pd.DataFrame(rows).to_markdown(index=False)


def means(board: Board, contest: Contest) -> pd.DataFrame:
    """A row for each entry of a contest, with its means."""
    rows = []
    for entry in board.of(contest):
        row: dict[str, object] = {"learner": entry.title, "track": words_of(entry.track)}
        for metric, words in (COMPARED | OF_CONCEPTS).items():
            values = entry.repeats(contest, metric)
            row[words] = f"{values.mean():.3g}" if len(values) else ""
        row["failed runs"] = entry.failures(contest)
        records = [record for _, record in entry.records(contest, entry.submitted())]
        row["not started"] = sum(record["started"] == "" for record in records)
        row["without rules"] = sum(record["metrics"].get("atoms") == 0 for record in records)
        rows.append(row)
    return pd.DataFrame(rows)


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


def rules(board: Board, contest: Contest) -> str:
    """What entries learned from the first train split at some shares: atoms, equivalence, first rules."""
    rows = []
    task = task_of_split(create("benchmark", contest.benchmark), 1, contest.seed)
    for entry in board.of(contest):
        submitted = entry.submitted()
        for cell, record in entry.records(contest, submitted):
            if cell.repeat != 1 or cell.percent not in SHOWN or not record["rules"]:
                continue
            if cell.percent and cell.shift != contest.shifts[0]:
                continue
            text = " ".join(" ".join(record["rules"]).split()).replace("|", r"\|")
            rows.append(
                {
                    "learner": entry.title,
                    "share (%)": cell.percent,
                    "atoms": record["metrics"].get("atoms", ""),
                    "equivalent": equivalent(tuple(record["rules"]), record["language"], task),
                    "begins with": f"`{text[:100]}`",
                }
            )
    return pd.DataFrame(rows).to_markdown(index=False) if rows else "No entry has rules."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=Path, default=SUBMISSIONS)
    parser.add_argument("--board", type=Path, default=BOARD)
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    board = read_board(options.submissions, options.board)
    found: list[Difference] = []
    for contest in board.contests:
        ours = [
            e for e in board.of(contest, "pretrained") if e.folder.name == FFNSL and e.network == "softmax"
        ]
        found += [one for entry in ours for one in differences(board, contest, entry)]
    found.sort(key=lambda one: list(COMPARED).index(one.metric))
    pages = [
        "# What we found: FFNSL and its rivals",
        "## Where FFNSL loses",
        "FFNSL's mean over shifts and shares of shifted data, then each better learner's, and FFNSL's "
        "advantage with its 95 % interval, paired by train split.",
        listed([one for one in found if one.loses], "is better than FFNSL"),
        "## Where FFNSL wins",
        "Of the learners that are compared, how many it is ahead of; their numbers are below.",
        named([one for one in found if one.wins], found, "is worse than FFNSL"),
        "## Where the intervals contain 0",
        named([one for one in found if not one.wins and not one.loses], found, "is close to FFNSL"),
        "## How it was compared",
        "Made by `python benchmarks/rivals.py` from the board's entries. FFNSL learns from the Softmax "
        "network. An advantage is positive where FFNSL is better. FFNSL with other perception, and the "
        "majority class's rules and time, are not compared. Entries were run on different days, on two "
        "cores, so that seconds compare them roughly.",
        "Learning and answering may take 120 seconds each. Where a learner took longer in all runs at 0 "
        "%, its other runs were not started; failed runs count as the majority class, and learners all "
        f"of whose runs failed are in the tables only. *Tuned* rivals try at most {TRIALS} settings, and as "
        f"many as {BUDGET} seconds allow, on validation examples; their defaults come first, and win ties. "
        "Where one training takes about as long or longer, nothing is tuned: LTN, DeepProbLog, the CNN on "
        "9x9 grids, the vision transformer except on Follow Suit and Crop Yield. DCR has not been tuned yet. "
        "The learners that the paper "
        "compares FFNSL to are not tuned either. No rules count as no "
        "atoms; the tables say how many runs of a learner of rules have none. Failed runs have no learning "
        "time, so that seconds are means of the others.",
        "We changed how the adapters of LTN and ABLkit answer after we had seen answers for test "
        "examples of Crop Yield. LEN had no formulas at first, because our adapter asked the package for "
        "them wrongly. Its explanations name at most the 100 literals with most attention, as those of "
        "Sudoku do not fit into the limits otherwise. FastLAS can have no answer in time; such runs "
        "counted at first as having learned nothing, and are timeouts now. "
        "The vision transformer had finer patches at first, with which it could not take Sudoku in the "
        "limits. DeepProbLog and LTN have no default number of passes. At first they made "
        "5 and 20, and their train losses were far from level; now they make as many as the slowest task "
        "that they can take allows in 80 of the 120 seconds, by which their train losses still fall. "
        "Nor has DCR; the 50 passes that it makes are too few: with 200, and everything else the same, its "
        "mean accuracy on images without shift (three train splits) is 0.879 in place of 0.604 on Crop "
        "Yield, and 0.585 in place of 0.402 on Follow Suit, but Indoor Scene then does not fit into the 120 "
        "seconds. "
        "ABLkit has its default of 50 turns, and a variant with 250. Learners with the known rule answer "
        "given that some label follows from it; DeepProbLog and semantic loss did not, until we had seen "
        "on Crop Yield that most of their probability went to no label.",
        "## All comparisons",
        "The mean of each learner, and FFNSL's advantage over it; bold where FFNSL loses.",
    ]
    for metric, words in COMPARED.items():
        pages += [f"### {words[0].upper()}{words[1:]}", matrix(found, metric)]
    for contest in board.contests:
        pages += [f"## {contest.name}", means(board, contest).to_markdown(index=False)]
        kept_out = "; ".join(entry.title for entry in board.kept_out(contest))
        pages += [f"Not applicable: {kept_out}."] if kept_out else []
        pages += [f"Rules of the first train split, {contest.shifts[0]}:", rules(board, contest)]
    options.docs.mkdir(parents=True, exist_ok=True)
    (options.docs / "rivals.md").write_text("\n\n".join(pages) + "\n", encoding="utf-8")
    print(options.docs / "rivals.md")


if __name__ == "__main__":
    main()
