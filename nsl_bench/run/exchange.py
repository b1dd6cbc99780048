"""Score predictions made elsewhere: export a folder for each run, and score the predictions in it."""

import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.declared import parse_json
from nsl_bench.core.errors import UserError, refusing
from nsl_bench.core.shift import STANDARD, resolve, short_name
from nsl_bench.core.types import PoolPart
from nsl_bench.data.content import chunks, image_digest, png, render
from nsl_bench.data.splits import make_source
from nsl_bench.learners import task_folders
from nsl_bench.learners.d2k import learning_task
from nsl_bench.learners.folder_formats import Format
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.grid import Grid
from nsl_bench.run.job import Job
from nsl_bench.sandbox.command import FolderLearner
from nsl_bench.sandbox.limits import Limits

_POOLS: tuple[PoolPart, ...] = ("a", "b")


def export(
    jobs: Sequence[Job], out: Path, bench: Bench, *, images: bool, form: Format = "parquet"
) -> Iterator[Path]:
    """Write a folder for each job, in a format; existing folders are not changed.

    Learners with concepts also get FFNSL's learning task, ``train.las``.

    Yields:
        Each folder as soon as it is written.
    """
    for job in jobs:
        folder = out / _name(job)
        if (folder / "task.json").is_file():
            continue
        train, validation, test = bench.views(job)
        about = {"seed": job.learner_seed(), "job": asdict(job)}
        with refusing(f"The folder {folder} cannot be written"):
            task_folders.write(folder, train, test, validation, images=images, about=about, form=form)
            if train.track in ("symbolic", "pretrained"):
                task = learning_task(train)
                # Names that FastLAS and ILASP read.
                named = tuple(replace(one, id=one.id.replace("-", "_")) for one in task.examples)
                las = replace(task, examples=named).to_las()
                (folder / "train.las").write_text(las, encoding="utf-8")
        yield folder


def _name(job: Job) -> str:
    """A folder's name: readable, and one for each job."""
    tasks = [job.benchmark, *([job.test_task] if job.test_task else [])]
    words = "-".join([*tasks, str(job.shift_pair), job.size, str(job.repeat), job.key()[:8]])
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in words)


def jobs_in(out: Path, name: str | None = None) -> dict[Path, Job]:
    """The jobs of exported folders.

    Args:
        out: a folder with exported folders, or one of them.
        name: name of the learner, instead of the exported one.
    """
    result: dict[Path, Job] = {}
    for task in sorted([*out.glob("task.json"), *out.glob("*/task.json")]):
        try:
            job = Job.from_dict(parse_json(task.read_bytes())["job"])
        except (OSError, ValueError, KeyError, TypeError, UserError) as error:
            raise UserError(f"{task} is damaged; write its folder again with `nsl-bench export`.") from error
        result[task.parent] = replace(job, learner=name or job.learner)
    if not result:
        raise UserError(f"{out} contains no exported folders; write them with `nsl-bench export`.")
    return result


def score(folder: Path, job: Job, bench: Bench, limits: Limits | None) -> Outcome:
    """Score the predictions in a folder."""
    return bench.run(job, FolderLearner(folder, job.learner, limits))


def export_images(grid: Grid, out: Path) -> int:
    """Write the images of pools A and B, standard and under each shift of a grid, for a network elsewhere.

    Images are ``images/HASH.png``, each once. ``images.csv`` says of each hash what it is, and
    ``classes.json`` names the classes. `nsl_bench.perception.networks.given` reads the predictions.

    Returns:
        The number of images.
    """
    task: Benchmark = registry.create("benchmark", grid.benchmark)
    named = dict.fromkeys((STANDARD, *grid.shifts, *grid.train_shifts, *grid.test_shifts))
    with refusing(f"The folder {out} cannot be written"):
        (out / "images").mkdir(parents=True, exist_ok=True)
        names = json.dumps(task.concept_space.concepts, ensure_ascii=False, indent=1)
        (out / "classes.json").write_text(f"{names}\n", encoding="utf-8")
        with (out / "images.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["hash", "source", "pool", "image", "shift"])
            known = set[str]()
            for spec in grid.sources or (task.sources[0],):
                source = make_source(task, spec)
                shifts = [resolve(name, task, source) for name in named]
                for part, shift in itertools.product(_POOLS, shifts):
                    for some in chunks(np.arange(len(source.labels(part)))):
                        for row, image in zip(some, render(source, shift, part, some), strict=True):
                            name = image_digest(image).hex()
                            if name not in known:
                                known.add(name)
                                (out / "images" / f"{name}.png").write_bytes(png(image))
                                what = short_name(shift, task, source)
                                writer.writerow([name, source.name, part, row, what])
    return len(known)
