"""Score predictions made elsewhere: export a folder for each run, and score the predictions in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from nsl_bench.core.declared import parse_json
from nsl_bench.core.errors import UserError, refusing
from nsl_bench.learners import task_folders
from nsl_bench.learners.d2k import learning_task
from nsl_bench.learners.folder_formats import Format
from nsl_bench.run.bench import Bench, Outcome
from nsl_bench.run.job import Job
from nsl_bench.sandbox.command import FolderLearner
from nsl_bench.sandbox.limits import Limits


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
