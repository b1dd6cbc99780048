"""The board's entries: the project's own learners and its rivals in every contest, scored like anybody's.

    python benchmarks/reference.py --out results/reference
    python benchmarks/reference.py --only ffnsl ripper ripper-tuned

FFNSL with FastLAS or ILASP is an entry where the program is installed. Rivals are learners of other packages
(`entrants/`), each in its own environment, with its package's defaults, and tuned on validation examples.
All have the same seconds for a run, `SECONDS`. Runs are done contest by contest, kept and
resumed, on another machine, too: those that a learner has on the board are not done again. Then each
learner's runs become a submission, which is scored and, if accepted, put into leaderboard/submissions in
place of the one that was there. With `--contest` the runs of that contest are done, and submitted with what
the learner has on the board. `make reference` calls it and builds the site; `benchmarks/rivals.py` writes
what was found.

Where all runs of a learner at 0 % of a contest take longer than the time limit, its other runs there are not
started and count as timeouts, too. Nor are those of a learner that cannot take the task.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from nsl_bench.leaderboard.board import SUBMISSIONS
from nsl_bench.leaderboard.contests import BOARD, Contest, read_contests
from nsl_bench.leaderboard.reading import read_runs
from nsl_bench.leaderboard.score_report import SCORES, comment, write_scores
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import RUNS, slug, write_submission
from nsl_bench.leaderboard.truth import Truth

from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Status
from nsl_bench.learners.environments import entrant
from nsl_bench.logic.las.adapters.programs import PROGRAMS, find
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record, versions
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Executor, Tally, sweep
from nsl_bench.sandbox.limits import Limits


@dataclass(frozen=True)
class Reference:
    """A learner of the project on the board.

    Attributes:
        learner: its spec.
        name: on the board.
        description: what it does, a sentence.
        contests: which it enters; all by default.
        track: in which it runs.
        networks: whose predictions it learns from, each an entry of its own.
        package: licence and citation of the package that a rival comes from; empty for ours.
    """

    learner: str
    name: str
    description: str
    contests: tuple[str, ...] = ()
    track: Track = "pretrained"
    networks: tuple[str, ...] = ("softmax",)
    package: str = ""


SECONDS = 60.0
"""Time limit of learning, and of answering, on one core, the same for all: with it the whole board takes some
17 hours of one core. Who trains until a loss no longer falls, or tunes, ends before four fifths of it."""

EDL_GEN = ("follow_suit", "sudoku_4x4")
"""Contests on whose images an EDL-GEN is shipped, without 9x9 grids, where inference over predictions as
unsure as its own takes minutes a run."""

WITH_DEFAULT = ("follow_suit", "crop_yield", "indoor_scene", "zoo")
"""Contests in which rules can derive no label: in the others, the absence of the label's atom is one."""

NEIGHBOURS = ("visudo_4x4", "addition_sum", "addition_sum_2", "kandinsky")
"""Contests on tasks of other papers."""

TRIALS = 32
"""Most settings of a tuned rival; fewer where `SECONDS` end."""


def tuned(
    reference: Reference, contests: tuple[str, ...] = (), metric: str = "accuracy"
) -> Iterator[Reference]:
    """A learner with the best of some settings, in contests where one training leaves time for more."""
    brier = metric != "accuracy"
    yield replace(
        reference,
        learner=f"tuned:{reference.learner},trials={TRIALS}{',metric=brier_score' if brier else ''}",
        name=f"{reference.name}, tuned{' for Brier' if brier else ''}",
        description=f"{reference.description} The best of at most {TRIALS} settings by the "
        f"{'Brier score' if brier else 'accuracy'} on validation examples.",
        contests=contests or reference.contests,
    )


FOREST = Reference("random_forest", "Random forest", "100 trees on the predicted concepts.")
FCN = Reference(
    "fcn",
    "FCN",
    "A fully connected network on the predicted concepts.",
    ("follow_suit", "crop_yield", "indoor_scene", "zoo"),
)
CNN = Reference("slot_cnn", "CNN", "A convolutional network from images to labels.", track="end_to_end")
VIT = Reference("vit", "Vision transformer", "A small one, from images to labels.", track="end_to_end")

REFERENCES = (
    Reference(
        "ffnsl",
        "FFNSL",
        "Rules learned from a network's predictions, each weighted by its confidence.",
        networks=("softmax", "edl_gen"),
    ),
    Reference(
        "ffnsl:answers=recalibrated",
        "FFNSL, recalibrated",
        "FFNSL's rules and labels; label probabilities are recalibrated on validation examples.",
    ),
    Reference(
        "ffnsl:answers=default",
        "FFNSL, default label",
        "FFNSL with a rule for the most frequent train label where no other label is derived.",
        WITH_DEFAULT,
    ),
    Reference(
        "ffnsl:answers=most_probable",
        "FFNSL, most probable label",
        "FFNSL with the most probable label where its rules derive none or several.",
        WITH_DEFAULT,
    ),
    Reference(
        "ffnsl",
        "FFNSL on true concepts",
        "The same learner without perception: the upper bound.",
        track="symbolic",
    ),
    *(
        Reference(
            f"ffnsl:rule_learner={name}",
            f"FFNSL with {program.name}",
            f"FFNSL with {program.name} as its rule learner, in all the time that a run has.",
        )
        for name, program in PROGRAMS.items()
        if find(program)
    ),
    FOREST,
    *tuned(FOREST),
    *tuned(FOREST, metric="brier_score"),
    Reference(
        "random_forest_knowledge",
        "Random forest with knowledge",
        "100 trees on features that hold part of the solution.",
        ("sudoku_9x9",),
    ),
    FCN,
    *tuned(FCN),
    Reference(
        "cnn_lstm",
        "CNN-LSTM",
        "A convolutional and recurrent network on the predicted digits.",
        ("sudoku_4x4", "sudoku_9x9"),
    ),
    CNN,
    *tuned(CNN, contests=("follow_suit", "crop_yield", "zoo")),
    VIT,
    Reference(
        "semantic_loss",
        "Semantic loss",
        "Perception trained by the label's probability under the known rule.",
        ("crop_yield", "indoor_scene", "zoo"),
        track="known_rules",
    ),
    Reference(
        "nsil",
        "NSIL",
        "Rules and perception learned together, from labels alone.",
        NEIGHBOURS,
        track="label_only",
    ),
    Reference("majority", "Majority", "The most frequent label of the train set."),
)


def rival(name: str, words: str, *metrics: str) -> Iterator[Reference]:
    """An entrant with its package's defaults, and tuned by metrics if one training takes little time."""
    found = entrant(f"env:{name}")
    package = f"{found.licence}; {found.citation}"
    reference = Reference(f"env:{name}", words, found.description, track=found.track, package=package)
    yield reference
    for metric in metrics:
        yield from tuned(reference, metric=metric)


RIVALS = (
    *rival("ripper", "RIPPER", "accuracy"),
    *rival("figs", "FIGS", "accuracy", "brier_score"),
    *rival("streed", "STreeD", "accuracy"),
    *rival("xgboost", "XGBoost", "accuracy", "brier_score"),
    *rival("ebm", "EBM", "accuracy"),
    *rival("len", "LEN", "accuracy"),
    *rival("ruleopt", "RuleOpt", "accuracy"),
    *rival("gosdt", "GOSDT", "accuracy"),
    *rival("contree", "ConTree"),
    *rival("xhail", "XHAIL"),
    *rival("dcr", "DCR"),
    *rival("cbm", "CBM"),
    *rival("efficientnet", "EfficientNet"),
    *rival("ltn", "LTN"),
    *rival("abl", "ABLkit"),
    *rival("deepproblog", "DeepProbLog"),
)

ENTRIES = (*REFERENCES, *RIVALS)

GIVEN_UP = f"Not started: all runs at 0 % took longer than {SECONDS:g} s."


def jobs_of(reference: Reference, contest: Contest) -> Iterator[Job]:
    """The runs of a learner in a contest."""
    if reference.contests and contest.name not in reference.contests:
        return
    symbolic = reference.track == "symbolic"
    for network in reference.networks:
        if network == "edl_gen" and contest.name not in EDL_GEN:
            continue
        for pair in dict.fromkeys(map(contest.shift_pair, contest.cells_of(reference.track))):
            yield from plan(
                contest.task,
                [reference.learner],
                **pair.lists(),
                repeats=range(1, contest.repeats + 1),
                sizes=[contest.size],
                sources=contest.source,
                networks=network,
                track="symbolic" if symbolic else "own",
                seed=contest.seed,
                test_tasks=[contest.test_task],
            )


def data_of(job: Job) -> tuple[str, float, str, int]:
    """What runs share, so that those of one data set are done one after the other."""
    return (job.network or "", job.percent, job.shift, job.repeat)


def on_the_board(place: Path) -> tuple[dict[str, Status], set[str]]:
    """The runs of an entry, by key, and how they ended; the learner's versions."""
    runs = read_runs(place) if (place / RUNS).is_file() else []
    return {run.id: run.status for run in runs}, {run.job.learner_version for run in runs}


def run(
    contest: Contest,
    jobs: Sequence[Job],
    store: Store,
    bench: Bench,
    executor: Executor,
    before: Mapping[str, Status] = MappingProxyType({}),
) -> Tally:
    """Do the runs of a contest, those at 0 % first, and the others of learners that can take it in time.

    Those of `before` are on the board and not done again.
    """

    def told(record: Record) -> None:
        print(record.job, record.message, file=sys.stderr)

    def who(job: Job) -> tuple[str, str | None, str]:
        return job.learner, job.network, job.track

    first = [job for job in jobs if job.percent == 0]
    tally = sweep([job for job in first if job.key() not in before], store, bench, told, executor=executor)
    statuses = {**before, **store.statuses()}
    ended: dict[tuple[str, str | None, str], set[str]] = {}
    for job in first:
        ended.setdefault(who(job), set()).add(statuses[job.key()])
    for job in jobs:
        if ended[who(job)] == {"timeout"} and job.key() not in statuses:
            cell = contest.cell(job)
            assert cell is not None
            given_up = Record(
                job,
                status="timeout",
                content_hash=Truth(job, contest, cell).hashes,
                versions=versions(),
                message=GIVEN_UP,
            )
            store.add(given_up)
    rest = [
        job
        for job in jobs
        if job.percent and ended[who(job)] != {"not_applicable"} and job.key() not in before
    ]
    return tally + sweep(rest, store, bench, told, executor=executor)


def publish(
    reference: Reference, store: Store, contests: Sequence[Contest], submissions: Path, *, kept: bool
) -> bool:
    """Submit and score a learner's runs, with those that it has on the board if they are `kept`.

    Returns:
        Whether they were accepted.
    """
    made = store.folder / "submissions" / slug(reference.name)
    place = submissions / slug(reference.name)
    shutil.rmtree(made, ignore_errors=True)
    write_submission(
        store,
        made,
        contests,
        name=reference.name,
        licence="MIT",
        learner=reference.learner,
        track=reference.track,
        authors="The nsl-bench authors" + (f", with: {reference.package}" if reference.package else ""),
        description=reference.description,
        date=datetime.now(UTC).date().isoformat(),
        earlier=place if kept else None,
    )
    report = score(made, contests)
    print(comment(report))
    if report.accepted:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made, place)
        write_scores(report, place / SCORES)
    return report.accepted


def main() -> int:
    """Run, submit, score, accept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/reference"))
    parser.add_argument("--board", type=Path, default=BOARD)
    parser.add_argument("--submissions", type=Path, default=SUBMISSIONS)
    names = [slug(one.name) for one in ENTRIES]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--contest", action="append", help="repeatable; do the runs of this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    clock = time.perf_counter()
    everything = read_contests(options.board)
    contests = [c for c in everything if not options.contest or c.name in options.contest]
    entries = [one for one in ENTRIES if not options.only or slug(one.name) in options.only]
    store, bench, failed = Store(options.out), Bench(limits=Limits(time=SECONDS)), 0
    planned = {one: {c.name: list(jobs_of(one, c)) for c in contests} for one in entries}
    before = {one: on_the_board(options.submissions / slug(one.name)) for one in entries}
    done = {key: status for statuses, _ in before.values() for key, status in statuses.items()}
    for contest in contests:
        jobs = sorted((job for one in entries for job in planned[one][contest.name]), key=data_of)
        tally = run(contest, jobs, store, bench, Executor(options.jobs), done)
        failed += tally.failed + tally.failed_before
        took = time.perf_counter() - clock
        print(f"{contest.name}: {tally}; {took:.0f} s", flush=True)
    accepted, present = [], store.statuses()
    for reference in entries:
        own = [job for jobs in planned[reference].values() for job in jobs]
        if not any(job.key() in present for job in own):
            print(f"{reference.name} has these runs on the board already.")
            continue
        kept = before[reference][1] == {job.learner_version for job in own}
        if options.contest and before[reference][1] and not kept:
            print(f"{reference.name} is on the board in another version: do all contests.", file=sys.stderr)
            accepted.append(False)
            continue
        try:
            accepted.append(publish(reference, store, everything, options.submissions, kept=kept))
        except UserError as error:  # the other entries go on
            print(f"{reference.name}: {error}", file=sys.stderr)
            accepted.append(False)
    print(f"{sum(accepted)} of {len(accepted)} accepted in {time.perf_counter() - clock:.0f} s.")
    return 0 if all(accepted) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
