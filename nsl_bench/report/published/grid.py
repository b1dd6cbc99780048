"""The runs of the FFNSL papers.

The grid of "FFNSL: Feed-Forward Neural-Symbolic Learner" (Cunnington, Law, Lobo, Russo; Machine Learning
2023): its own splits, Sudoku on MNIST, playing cards on true concepts at 0 % (the photographs are not
public) and, in the preset ``paper``, on drawn decks that stand for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError
from nsl_bench.run.job import Job
from nsl_bench.run.plan import Made, plan, seeded

from .papers import ffnsl2023
from .reasons import AS_PUBLISHED, PUBLISHED_CODE

TASKS = ("follow_suit", "sudoku_4x4", "sudoku_9x9")
"""The paper's tasks whose examples are public."""

STAND_INS = {
    "noir": "batman_joker",
    "comic": "captain_america",
    "adversarial_noir": "adversarial_batman_joker",
    "adversarial_comic": "adversarial_captain_america",
    "adversarial_standard": "adversarial_standard",
}
"""Shifts of the drawn decks, and the paper's decks for which they stand."""

_BASELINES = {
    "follow_suit": ("random_forest", "fcn:published=true"),
    "sudoku_4x4": ("random_forest", "cnn_lstm", PUBLISHED_CODE),
    "sudoku_9x9": ("random_forest", "random_forest_knowledge", "cnn_lstm", PUBLISHED_CODE),
}

REDUCED = ":knowledge=reduced"
"""Option of the tasks on which the paper's FFNSL knows integer division only."""

ABLATED = {
    REDUCED: "ffnsl_reduced_background_knowledge",
    ":knowledge=rows_columns": "ffnsl_without_block",
    ":knowledge=rows": "ffnsl_without_block_col",
    ":knowledge=cells": "ffnsl_without_block_col_row",
}
"""The paper's name of FFNSL on tasks with such an option."""

DRAWN = "ffnsl_drawn"
"""Folder beside that of the paper's splits with large train sets that stand for those of the paper."""

_OF_2021 = "ffnsl:penalty=floor"


@dataclass(frozen=True)
class Preset:
    """The part of the grid to run.

    Attributes:
        baseline_percents: shares of shifted examples for the baselines, where there are images; FFNSL is run
            at all of the paper's.
        repeats: of runs with images; runs on true concepts have all five.
        whole: whether baselines also learn from the large train sets, FFNSL is also run with constant
            penalties, at 95 to 99 %, too, with less background knowledge and, at high shares, on fifty train
            splits, and cards are also run on drawn decks.
        trainings: of each network, with seeds from 0 on. All but the first tell how trainings differ.
        softmax, edl_gen: specs of the networks on MNIST.
    """

    baseline_percents: tuple[float, ...]
    repeats: int
    whole: bool
    trainings: int = 1
    softmax: str = "softmax"
    edl_gen: str = "edl_gen"


PERCENTS = tuple(range(0, 101, 10))
"""The paper's shares of shifted examples."""

HIGH_PERCENTS = tuple(range(95, 101))
"""Those of baselines and constant penalties in place of 100 alone."""

PRESETS: Mapping[str, Preset] = {
    "quick": Preset((0, 50, 100), 3, whole=False, softmax="softmax:images_per_concept=4000,epochs=8"),
    "paper": Preset(
        (*PERCENTS[:-1], *HIGH_PERCENTS),
        5,
        whole=True,
        trainings=3,
        softmax="softmax:preset=paper",
        edl_gen="edl_gen:preset=paper",
    ),
}


def grid(tasks: Sequence[str], preset: Preset, splits: Path, mnist: Path | None = None) -> list[Job]:
    """The paper's runs for which the data are available.

    Args:
        splits: folder of the paper's splits, one folder a task.
        mnist: torchvision's folder of MNIST; without it Sudoku is run on true concepts.
    """
    jobs: list[Job] = []
    made: Made = {}
    for task in tasks:
        folder = splits / task
        if not folder.is_dir():
            raise UserError(
                f"--data: the folder of splits {folder} does not exist; the paper's splits are in "
                "examples/*/data of github.com/DanCunnington/FFNSL."
            )
        images = f"mnist:{mnist}" if mnist is not None and task.startswith("sudoku") else None
        if images and names_images(folder):
            images += ",whole=true"
        large = [one for one in (folder, splits.with_name(DRAWN) / task) if (one / "large").is_dir()]
        sized = [("small", folder), *(("large", one) for one in large[:1] if preset.whole)]
        given: dict[str, Any] = {"splits": folder, "made": made}
        symbolic = {"track": "symbolic", "repeats": range(1, 6), **given}
        ours = ["ffnsl", *(["ffnsl:penalty=constant"] if preset.whole else [])]
        jobs += plan(task, ours, **symbolic)
        for size, at in sized:
            jobs += plan(task, _BASELINES[task], sizes=size, **symbolic | {"splits": at})
        shifted = {"repeats": range(1, preset.repeats + 1), **given}
        if images is not None:
            shifted |= {"sources": images, "shifts": ["rotate90"]}
            networks = (preset.softmax, preset.edl_gen)
            jobs += plan(task, ours, networks=networks, percents=PERCENTS, **shifted)
            jobs += plan(task, ours[1:], networks=networks, percents=HIGH_PERCENTS, **shifted)
            baselines = {**shifted, "networks": preset.softmax, "percents": preset.baseline_percents}
            for size, at in sized:
                jobs += plan(task, _BASELINES[task], sizes=size, **baselines | {"splits": at})
            if preset.whole and task == "sudoku_4x4":
                jobs += plan(task + REDUCED, ["ffnsl"], networks=preset.edl_gen, percents=PERCENTS, **shifted)
                tested = [AS_PUBLISHED[one] for one in ours]  # rules without digits are learned at the end
                jobs += plan(task, tested, networks=networks, percents=(90, *HIGH_PERCENTS), **shifted)
                ours += tested
            if preset.whole and task == "sudoku_9x9":
                seen = {"networks": preset.softmax, "percents": PERCENTS[:-1], **shifted}
                for option in list(ABLATED)[1:]:
                    jobs += plan(task + option, ["ffnsl"], **seen)
            if preset.whole and (folder / "small" / "train_50.csv").is_file():
                fifty = sorted(set(ffnsl2023(task, "more_repeats")["percent"]))
                shifted |= {"repeats": range(1, 51), "percents": fifty}
                jobs += plan(task, ours, networks=networks, **shifted)
        elif preset.whole and task == "follow_suit":
            jobs += plan(task, ["ffnsl"], shifts=list(STAND_INS), percents=PERCENTS, **shifted)
    first = tuple(jobs)
    for seed in range(1, preset.trainings):
        jobs += [of_seed(job, seed) for job in first if _again(job)]
    return list({job.key(): job for job in jobs}.values())


def _again(job: Job) -> bool:
    """Whether a run is repeated with other trainings: on small train sets, and on one large one."""
    return job.source.startswith("mnist") and (job.size == "small" or job.repeat == 1)


def of_seed(job: Job, seed: int) -> Job:
    """A run with another training of its network."""
    return replace(job, network=seeded(job.network, seed)) if job.network else job


def of_workshop(jobs: Sequence[Job]) -> list[Job]:
    """What the version of 2021 has of the runs: FFNSL on Sudoku, with its own penalties."""
    seen = [job for job in jobs if job.network and job.percent in PERCENTS and job.repeat <= 5]
    theirs = {"ffnsl": _OF_2021, AS_PUBLISHED["ffnsl"]: AS_PUBLISHED[_OF_2021]}
    ours = [job for job in seen if job.learner in theirs and job.benchmark in TASKS[1:]]
    return [replace(job, learner=theirs[job.learner]) for job in ours]


def names_images(splits: Path) -> bool:
    """Whether a task's splits name the paper's own images."""
    with (splits / "test.csv").open(encoding="utf-8") as file:
        return "images" in file.readline()
