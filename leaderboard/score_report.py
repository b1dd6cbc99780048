"""The report on a submission: its scored runs or its problems, as data and as a Markdown comment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError, counted
from nsl_bench.core.metrics import METRICS
from nsl_bench.core.types import Status

from .contests import Cell
from .packing import opened_lines, write_lines
from .submission import Manifest

SCORES = "scores.jsonl.zst"

COMPARED = ("framework_accuracy", "hypothesis_accuracy", "brier_score")
"""The metrics by which learners are compared example by example."""


TEN_THOUSAND = 10_000
"""Scores of test examples are written as so many parts of 1."""


@dataclass(frozen=True)
class Look:
    """A summary of the predictions of one evaluation, so that they need not be read again.

    Attributes:
        digest: hash of labels and probabilities, 32 hexadecimal digits.
        contrary: share of labels that are not the most probable ones.
        labels: the labels as characters (`predictions.LETTERS`); not written, since the predictions
            have them.
    """

    digest: str
    contrary: float
    labels: str = ""


@dataclass(frozen=True)
class ScoredRun:
    """A scored run.

    What the submitter reports about the run, such as its rules, stays in the submission.

    Attributes:
        run: the submitter's name of the run.
        contest: name of its contest.
        shift, percent, repeat: its cell.
        network: perception network; empty in tracks without one.
        metrics: all metrics, computed by the board, except `learning_time` and `prediction_time`, which the
            submitter reports.
        status: how the run ended; a failed run has the metrics of the majority class.
        looks: summaries of its predictions, by evaluation; none of a failed run.
    """

    run: str
    contest: str
    shift: str
    percent: float
    repeat: int
    network: str
    metrics: Mapping[str, float]
    status: Status = "ok"
    looks: Mapping[str, Look] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> ScoredRun:
        """Make a run from the values of `asdict`."""
        looks = {evaluation: Look(**look) for evaluation, look in values["looks"].items()}
        return cls(**{**values, "looks": looks})

    @property
    def cell(self) -> Cell:
        """Its position in the contest's grid."""
        return Cell(self.shift, self.percent, self.repeat)


@dataclass(frozen=True)
class Spread:
    """Interval and standard error of a metric's mean over shares (`nsl_bench.run.statistics`).

    Attributes:
        contest, network, metric: what the mean is about.
        low, high: ends of the 95 % interval.
        components: standard error due to each factor alone.
    """

    contest: str
    network: str
    metric: str
    low: float
    high: float
    std_err: float
    components: Mapping[str, float]


@dataclass(frozen=True)
class ExampleScores:
    """Each test example's mean score over shares, from which learners' differences have their intervals.

    Attributes:
        contest, network, metric: what the scores are about, a metric of `COMPARED`.
        scores: by train split, a number of ten-thousandths for each example.
    """

    contest: str
    network: str
    metric: str
    scores: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ScoreReport:
    """The report on a submission.

    Attributes:
        name: name of the submission, if it could be read.
        problems: reasons why it is not accepted, one sentence each; empty if it is accepted.
        notes: further remarks.
        manifest: the submission's manifest; None if it could not be read.
        standing: whether it is verified, and how, as a sentence.
        spreads: intervals of the means over shares.
        examples: scores of the test examples.
    """

    name: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    runs: tuple[ScoredRun, ...] = ()
    manifest: Manifest | None = None
    standing: str = ""
    spreads: tuple[Spread, ...] = ()
    examples: tuple[ExampleScores, ...] = ()

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> ScoreReport:
        """Make a report from the values of `asdict`, with lists for tuples."""
        manifest = values["manifest"]
        if manifest is not None:
            manifest = {**manifest, "not_applicable": tuple(manifest["not_applicable"])}
        return cls(
            values["name"],
            tuple(values["problems"]),
            tuple(values["notes"]),
            tuple(ScoredRun.from_plain(run) for run in values["runs"]),
            None if manifest is None else Manifest(**manifest),
            spreads=tuple(Spread(**spread) for spread in values["spreads"]),
            examples=tuple(ExampleScores(**line) for line in values["examples"]),
        )

    @property
    def accepted(self) -> bool:
        """Whether the board accepts the submission."""
        return not self.problems


def write_scores(report: ScoreReport, path: Path) -> None:
    """Write the scores as lines of JSON: the scored runs, then what belongs to means over shares."""
    try:
        plain = [asdict(run) for run in report.runs]
        plain += [asdict(spread) for spread in report.spreads] + [asdict(line) for line in report.examples]
        for look in (look for line in plain for look in line.get("looks", {}).values()):
            del look["labels"]
        write_lines(path, (json.dumps(line, allow_nan=False) for line in plain))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error


def numbers_in(path: Path) -> dict[str, Mapping[str, float]]:
    """The metrics of each run in a file of scores."""
    with opened_lines(path) as file:
        lines = [json.loads(line) for line in file]
    return {line["run"]: line["metrics"] for line in lines if "run" in line}


def comment(report: ScoreReport) -> str:
    """The report as a Markdown comment for a pull request. The submitter's words are escaped."""
    lines = [f"### {_plain(report.name)}: {'accepted' if report.accepted else 'not accepted'}", ""]
    if report.problems:
        lines += [*(f"- {_plain(problem)}" for problem in report.problems), ""]
    if report.runs:
        lines += [_table(report.runs), ""]
    if report.notes:
        lines += [*(f"- {_plain(note)}" for note in report.notes), ""]
    if report.manifest is not None:
        track, licence = report.manifest.track, _plain(report.manifest.licence)
        scored = f", {counted(len(report.runs), 'run')} scored from their predictions" if report.runs else ""
        lines.append(f"Track `{track}`, licence {licence}{scored}.")
    if report.standing:
        lines += ["", _plain(report.standing)]
    return "\n".join(lines).rstrip() + "\n"


def _plain(text: str) -> str:
    """Text in which nothing is Markdown or HTML, and nothing speaks to a terminal."""
    text = "".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text)
    table: dict[str, Any] = {mark: f"\\{mark}" for mark in "\\`*_[]|#$~"}
    table.update({"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "@\u200b"})
    return " ".join(text.translate(str.maketrans(table)).split())


_TOLD = (
    *("hypothesis_accuracy", "hypothesis_sequence_accuracy", "framework_accuracy", "sequence_accuracy"),
    *("learner_concept_accuracy", "concept_collapse", "brier_score", "atoms", "learning_time"),
    "prediction_time",
)
"""Metrics in the comment on a submission, where it has them."""


def _table(runs: Sequence[ScoredRun]) -> str:
    import pandas as pd

    rows = [{"contest": r.contest, "network": _plain(r.network), "runs": r.run, **r.metrics} for r in runs]
    frame = pd.DataFrame(rows)
    columns = [name for name in _TOLD if name in frame]
    groups = frame.groupby(["contest", "network"], as_index=False)
    table = groups.agg({"runs": "count", **dict.fromkeys(columns, "mean")})
    # A mean is that of all runs: those without rules may be the ones whose rules would be longest.
    table[columns] = table[columns].where(groups[columns].count()[columns].eq(table["runs"], axis=0))
    titles = {name: METRICS[name].title for name in columns}
    return str(
        table.rename(columns=titles).to_markdown(
            index=False, tablefmt="github", floatfmt=".3f", disable_numparse=[0, 1]
        )
    )
