"""What the board says to a submission: its scored runs or its problems, as a record and as a comment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nsl_bench.errors import UserError
from nsl_bench.metrics import METRICS
from nsl_bench.types import Status

from .contests import Cell
from .submission import Manifest

__all__ = ["SCORES", "Look", "ScoreReport", "ScoredRun", "Spread", "comment", "numbers_in", "write_scores"]

SCORES = "scores.jsonl"


@dataclass(frozen=True)
class Look:
    """What is kept of the predictions of one evaluation, so that they need not be read again.

    Attributes:
        digest: of labels and probabilities, 32 hexadecimal digits; equal predictions have the same.
        contrary: share of labels that are not the most probable ones.
        shown: what a run's page shows of them (`nsl_bench.leaderboard.shown`), packed; the board in memory
            has none of it.
    """

    digest: str
    contrary: float
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoredRun:
    """One run as the board keeps it.

    Attributes:
        run: the submitter's name of it.
        contest: name of its contest.
        shift, percent, repeat: its cell.
        network: perception network, empty in tracks without.
        metrics: every number, computed here; `learning_time` as the submitter says.
        command: that does it again.
        status: how it ended; one that did not end well has the numbers of the majority class.
        looks: evaluation to what is kept of its predictions; empty in scores of before.

    What the submitter says of the run, its rules among it, stays in the submission.
    """

    run: str
    contest: str
    shift: str
    percent: float
    repeat: int
    network: str
    metrics: Mapping[str, float]
    command: str
    status: Status = "ok"
    looks: Mapping[str, Look] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> ScoredRun:
        """The run of the values that `asdict` makes of it."""
        looks = {evaluation: Look(**look) for evaluation, look in values.get("looks", {}).items()}
        return cls(**{**values, "looks": looks})

    @property
    def cell(self) -> Cell:
        """Its place in the contest's grid."""
        return Cell(self.shift, self.percent, self.repeat)


@dataclass(frozen=True)
class Spread:
    """How sure a metric's mean over shares is (`nsl_bench.run.statistics`).

    Attributes:
        contest, network, metric: whose.
        low, high: ends of the 95 % interval.
        std_err: of the mean.
        components: the standard error that each thing that varied has alone.
    """

    contest: str
    network: str
    metric: str
    low: float
    high: float
    std_err: float
    components: Mapping[str, float]


@dataclass(frozen=True)
class ScoreReport:
    """What the board says to a submission.

    Attributes:
        name: of the submission, as far as it could be read.
        problems: why it is not taken, a sentence each; empty if it is.
        notes: what is worth knowing.
        runs: the scored runs.
        manifest: who submits what.
        standing: whether it is verified, and how, as a sentence.
        spreads: how sure the means over shares are.
    """

    name: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    runs: tuple[ScoredRun, ...] = ()
    manifest: Manifest | None = None
    standing: str = ""
    spreads: tuple[Spread, ...] = ()

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> ScoreReport:
        """The report of the values that `asdict` makes of it, lists for tuples."""
        manifest = values["manifest"]
        return cls(
            values["name"],
            tuple(values["problems"]),
            tuple(values["notes"]),
            tuple(ScoredRun.from_plain(run) for run in values["runs"]),
            None if manifest is None else Manifest(**manifest),
            spreads=tuple(Spread(**spread) for spread in values["spreads"]),
        )

    @property
    def accepted(self) -> bool:
        """Whether the board takes it."""
        return not self.problems


def write_scores(report: ScoreReport, path: Path) -> None:
    """The board's record: one scored run a line, then one mean over shares a line.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            plain = [asdict(run) for run in report.runs] + [asdict(spread) for spread in report.spreads]
            file.writelines(json.dumps(line, allow_nan=False) + "\n" for line in plain)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error


def numbers_in(path: Path) -> dict[str, Mapping[str, float]]:
    """The metrics of each run in a board's record.

    Raises:
        OSError, ValueError, KeyError, TypeError: the file is not there, or broken.
    """
    with path.open("rb") as file:
        lines = [json.loads(line) for line in file]
    return {line["run"]: line["metrics"] for line in lines if "components" not in line}


def comment(report: ScoreReport) -> str:
    """What to write under a pull request, Markdown; a stranger's words stand in it as plain text."""
    lines = [f"### {_plain(report.name)}: {'accepted' if report.accepted else 'not accepted'}", ""]
    if report.problems:
        lines += [*(f"- {_plain(problem)}" for problem in report.problems), ""]
    if report.runs:
        lines += [_table(report.runs), ""]
    if report.notes:
        lines += [*(f"- {_plain(note)}" for note in report.notes), ""]
    if report.manifest is not None:
        track, licence = report.manifest.track, _plain(report.manifest.licence)
        scored = f", {len(report.runs)} runs scored from their predictions" if report.runs else ""
        lines.append(f"Track `{track}`, licence {licence}{scored}.")
    if report.standing:
        lines += ["", _plain(report.standing)]
    return "\n".join(lines).rstrip() + "\n"


def _plain(text: str) -> str:
    """Text in which nothing is Markdown or HTML, and nothing speaks to a terminal."""
    text = "".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text)
    table: dict[str, Any] = {mark: f"\\{mark}" for mark in "\\`*_[]|#"}
    table.update({"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "@\u200b"})
    return " ".join(text.translate(str.maketrans(table)).split())


def _table(runs: Sequence[ScoredRun]) -> str:
    import pandas as pd

    rows = [{"contest": r.contest, "network": _plain(r.network), "runs": r.run, **r.metrics} for r in runs]
    shown = ["hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time"]
    frame = pd.DataFrame(rows)
    columns = [name for name in shown if name in frame]
    table = frame.groupby(["contest", "network"], as_index=False).agg(
        {"runs": "count", **dict.fromkeys(columns, "mean")}
    )
    titles = {name: METRICS[name].title for name in columns}
    return str(
        table.rename(columns=titles).to_markdown(
            index=False, tablefmt="github", floatfmt=".3f", disable_numparse=[0, 1]
        )
    )
