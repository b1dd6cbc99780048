"""Logs of a sweep beside its results folder: a function that is called with each record as it is known.

``csv`` appends a row to a file. ``tensorboard`` and ``wandb`` need their package, which is imported when they
are asked for.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.metrics import METRICS
from nsl_bench.run.record import Record

_ABOUT = (
    "benchmark",
    "test_task",
    "learner",
    "network",
    "shift",
    "percent",
    "size",
    "repeat",
    "learner_draw",
)
Log = Callable[[Record], None]


def logger(name: str, folder: str | Path) -> Log:
    """A function that logs each record that it is called with.

    Args:
        name: ``"csv"``: a row a run in ``log.csv``. ``"tensorboard"``: event files, in which each metric is a
            curve over the share of shifted examples, with a run for each learner and train split.
            ``"wandb"``: a run of Weights & Biases for each record, in the project ``nsl-bench``.
        folder: where files are written; created if it does not exist.

    Raises:
        UserError: an unknown name, or a package that is not installed.
    """
    if name not in LOGS:
        raise unknown("log", name, LOGS)
    return LOGS[name](Path(folder))


def _module(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"The log {name} needs the package {name}: pip install 'nsl-bench[{name}]' ({error})."
        ) from error


def _about(record: Record) -> dict[str, Any]:
    job = record.job
    known = {**asdict(job), "shift": job.shift, "percent": job.percent}
    return {name: known[name] for name in _ABOUT}


def _csv(folder: Path) -> Log:
    path = folder / "log.csv"
    columns = ("key", "status", "seconds", *_ABOUT, *(n for n, m in METRICS.items() if m.per_label is None))

    def log(record: Record) -> None:
        row = {"key": record.key, "status": record.status, "seconds": record.seconds}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, columns, extrasaction="ignore")
                if not file.tell():
                    writer.writeheader()
                writer.writerow({**record.metrics, **_about(record), **row})
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}.") from error

    return log


def _tensorboard(folder: Path) -> Log:
    _module("tensorboard", "tensorboard")
    writer_of = _module("tensorboard", "torch.utils.tensorboard").SummaryWriter

    def log(record: Record) -> None:
        job = record.job
        line = "-".join(
            str(part) for part in (job.learner, job.network, job.repeat, job.learner_draw) if part
        )
        with writer_of(str(folder / "tensorboard" / line.replace("/", "_"))) as writer:
            for name, value in record.metrics.items():
                where = " ".join(filter(None, (job.benchmark, job.test_task, job.size, job.shift)))
                writer.add_scalar(f"{name}/{where}", value, round(job.percent))

    return log


def _wandb(folder: Path) -> Log:
    wandb = _module("wandb", "wandb")

    def log(record: Record) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        about = {**_about(record), "key": record.key, "status": record.status}
        with wandb.init(project="nsl-bench", name=str(record.job), config=about, dir=str(folder)) as run:
            run.log(dict(record.metrics))

    return log


LOGS: Mapping[str, Callable[[Path], Log]] = {"csv": _csv, "tensorboard": _tensorboard, "wandb": _wandb}
"""What makes a log in a folder, by its name."""
