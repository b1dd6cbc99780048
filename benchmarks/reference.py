"""The board's reference submissions: the project's own learners in every contest, scored like anybody's.

    python benchmarks/reference.py --out results/reference

Runs are kept and resumed; then each learner's runs become a submission, which is scored and, if accepted,
put into leaderboard/submissions in place of the one that was there. `make reference` calls it and builds
the site.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nsl_bench.leaderboard.board import SUBMISSIONS
from nsl_bench.leaderboard.contests import BOARD, Contest, read_contests
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import slug, write_submission
from nsl_bench.leaderboard.verdict import SCORES, comment, write_scores

from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import Job, plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import Engine, sweep
from nsl_bench.types import Track


@dataclass(frozen=True)
class Reference:
    """A learner of the project on the board.

    Attributes:
        learner: its spec.
        name: on the board.
        description: what it does, a sentence.
        contests: which it enters; all by default.
        track: in which it runs.
    """

    learner: str
    name: str
    description: str
    contests: tuple[str, ...] = ()
    track: Track = "pretrained"


REFERENCES = (
    Reference(
        "ffnsl", "FFNSL", "Rules learned from a network's predictions, each weighted by its confidence."
    ),
    Reference(
        "ffnsl",
        "FFNSL on true concepts",
        "The same learner without perception: the upper bound.",
        track="symbolic",
    ),
    Reference("random_forest", "Random forest", "100 trees on the predicted concepts."),
    Reference(
        "random_forest_knowledge",
        "Random forest with knowledge",
        "100 trees on features that hold part of the solution.",
        ("sudoku_9x9",),
    ),
    Reference(
        "fcn",
        "FCN",
        "A fully connected network on the predicted concepts.",
        ("follow_suit", "crop_yield", "indoor_scene"),
    ),
    Reference(
        "cnn_lstm",
        "CNN-LSTM",
        "A convolutional and recurrent network on the predicted digits.",
        ("sudoku_4x4", "sudoku_9x9"),
    ),
    Reference("majority", "Majority", "The most frequent label of the train set."),
)


def jobs_of(reference: Reference, contests: tuple[Contest, ...]) -> list[Job]:
    """The runs of a learner in its contests."""
    jobs: list[Job] = []
    for contest in contests:
        if reference.contests and contest.name not in reference.contests:
            continue
        symbolic = reference.track == "symbolic"
        jobs += plan(
            contest.benchmark,
            [reference.learner],
            shifts=("standard",) if symbolic else contest.shifts,
            percents=(0,) if symbolic else contest.percents,
            repeats=range(1, contest.repeats + 1),
            sizes=[contest.size],
            source=contest.source,
            symbolic=symbolic,
            seed=contest.seed,
        )
    return jobs


def publish(reference: Reference, store: Store, contests: tuple[Contest, ...], submissions: Path) -> bool:
    """Submit and score a learner's runs; whether they were accepted."""
    made = store.folder / "submissions" / slug(reference.name)
    shutil.rmtree(made, ignore_errors=True)
    write_submission(
        store,
        made,
        contests,
        name=reference.name,
        licence="MIT",
        learner=reference.learner,
        track=reference.track,
        authors="The nsl-bench authors",
        description=reference.description,
        date=datetime.now(UTC).date().isoformat(),
    )
    verdict = score(made, contests)
    print(comment(verdict))
    if verdict.accepted:
        place = submissions / slug(reference.name)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made, place)
        write_scores(verdict, place / SCORES)
    return verdict.accepted


def main() -> int:
    """Run, submit, score, accept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/reference"))
    parser.add_argument("--board", type=Path, default=BOARD)
    parser.add_argument("--submissions", type=Path, default=SUBMISSIONS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    clock = time.perf_counter()
    contests = read_contests(options.board)
    store, bench, failed = Store(options.out), Bench(), 0
    todo = {reference: jobs_of(reference, contests) for reference in REFERENCES}
    todo = {reference: jobs for reference, jobs in todo.items() if jobs}
    for reference, jobs in todo.items():
        tally = sweep(
            jobs,
            store,
            bench,
            lambda record: print(record.job, record.message, file=sys.stderr),
            engine=Engine(options.jobs),
        )
        failed += tally.failed
        took = time.perf_counter() - clock
        print(
            f"{reference.name}: {tally.done} runs done, {tally.before} were there; {took:.0f} s", flush=True
        )
    accepted = [publish(reference, store, contests, options.submissions) for reference in todo]
    print(f"{sum(accepted)} of {len(accepted)} accepted in {time.perf_counter() - clock:.0f} s.")
    return 0 if all(accepted) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
