"""A sweep: its grid, and how its runs are done. Each field is declared here, and nowhere else.

The options of ``nsl-bench run``, ``plan`` and ``export``, the arguments of `nsl_bench.evaluate` and the keys
of plan files are made of the fields of `Grid`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nsl_bench.core.declared import Declared, Is

if TYPE_CHECKING:
    from nsl_bench.sandbox.limits import Limits
    from nsl_bench.sandbox.sealing import DataSeed

_SHARE = Annotated[float, Is("a number between 0 and 100", least=0, most=100)]
_NATURAL = Annotated[int, Is("a whole number of 0 or more", least=0)]
_REPEAT = Annotated[int, Is("a whole number of 1 or more", least=1)]
_TEXTS = Annotated[tuple[str, ...], Is("a list of at least one string", shortest=1)]
_SHARES = Annotated[tuple[_SHARE, ...], Is("a list of numbers between 0 and 100", shortest=1)]
_NATURALS = Annotated[tuple[_NATURAL, ...], Is("a list of whole numbers of 0 or more", shortest=1)]
_REPEATS = Annotated[tuple[_REPEAT, ...], Is("a list of whole numbers of 1 or more", shortest=1)]


def _about(meaning: str, *flags: str) -> Mapping[str, Any]:
    """What a field means, and its names on the command line; the first one also names the argument."""
    return {"meaning": meaning, "flags": flags}


def _option(default: Any, meaning: str, *flags: str) -> Any:
    """A field with a default."""
    return field(default=default, metadata=_about(meaning, *flags))


@dataclass(frozen=True)
class Grid(Declared):
    """A grid of runs: every combination of its lists."""

    benchmark: str = field(metadata=_about("Task."))
    learners: _TEXTS = field(metadata=_about("Learner: name, module:Class or file.py:Class.", "--learner"))
    shifts: _TEXTS = _option(("standard",), "Shift, as a short name or spec.", "--shift")
    percents: _SHARES = _option(
        (0,), "Shares of shifted examples (%) in both train and test set.", "--shares", "--percents"
    )
    train_shifts: _TEXTS = _option((), "Shift of the train images, instead of --shift.", "--train-shift")
    train_percents: _SHARES = _option(
        (),
        "Shares of shifted train examples (%). Each is combined with each of --test-shares.",
        "--train-shares",
    )
    test_shifts: _TEXTS = _option((), "Shift of the test images, instead of --shift.", "--test-shift")
    test_percents: _SHARES = _option((), "Shares of shifted test examples (%).", "--test-shares")
    annotations: _TEXTS = _option(
        (),
        "Shares (%) of labels that are changed, e.g. wrong_labels=10,missing_labels=5. Dials: wrong_labels, "
        "missing_labels, wrong_concepts, missing_concepts; train_cue and test_cue tie shift to the label.",
        "--annotation",
    )
    sizes: _TEXTS = _option(("small",), "Train size.", "--size")
    repeats: _REPEATS = _option((1, 2, 3, 4, 5), "Number of train splits.", "--repeats")
    sources: _TEXTS = _option(
        (),
        "Image source: mnist:FOLDER, decks:FOLDER,standard=DECK ... Default: the embedded one.",
        "--source",
    )
    networks: _TEXTS = _option(("softmax",), "Perception network.", "--network")
    network_seeds: _NATURALS = _option(
        (), "Seeds of each network. Default: the network's own.", "--network-seeds"
    )
    learner_draws: _NATURALS = _option((0,), "Seeds of each learner, counted from 0.", "--learner-seeds")
    track: Annotated[Literal["own", "symbolic"], Is('"own" or "symbolic"')] = _option(
        "own",
        "own: the learner's track. symbolic: learners see true concepts instead of network predictions.",
        "--track",
    )
    seed: Annotated[int, Is("a whole number of 64 bits", least=-(2**63), most=2**63 - 1)] = _option(
        0, "Seed of the data, from which the learners' seeds are derived.", "--seed"
    )
    splits: str = _option(
        "",
        "Folder of existing splits (test.csv, small/train_1.csv ...) to use instead of generating them.",
        "--splits",
    )
    preset: str = _option(
        "",
        "Shares by name, 0 to 100 % in steps of 10, of the task's first shift unless one is named: shift "
        "(train and test examples alike), run-time-shift (test only) or train-shift. Or test tasks by "
        "name: longer, longer-seen-images (addition), more-disks, more-disks-longer (hanoi).",
        "--preset",
    )
    test_tasks: _TEXTS = _option(
        (),
        "Task of the same family to test on, e.g. sudoku_9x9 for sudoku_4x4. Default: the task itself.",
        "--test-task",
    )


Rerun = Literal["missing", "failed", "all"]
"""Which jobs are done: those without a record, also those whose last record is a failure, or all."""


def _limits() -> Limits:
    from nsl_bench.sandbox.limits import Limits

    return Limits()


@dataclass(frozen=True)
class Options:
    """How the runs of a sweep are done.

    Attributes:
        limits: resources of each learner in its sandbox; None to run learners in this process, without
            limits.
        device: device for networks (``auto``, ``cpu`` or ``cuda``) and, unless ``auto``, for learners.
        jobs: number of parallel runs; one per processor core by default.
        scheduler: address of the Dask scheduler, e.g. tcp://127.0.0.1:8786; this machine by default.
        rerun: which runs to do: those without a record, also those that failed, or all.
        data_seed: secret seed for the data, used instead of the public one.
        interventions: also test with the true concepts of this many slots of each test example, e.g. 1,2,4.
    """

    limits: Limits | None = field(default_factory=_limits)
    device: str = "auto"
    jobs: int | None = None
    scheduler: str | None = None
    rerun: Rerun = "missing"
    data_seed: DataSeed | None = None
    interventions: tuple[int, ...] = ()
