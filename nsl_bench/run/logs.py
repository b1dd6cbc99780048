"""Logs of a sweep: functions that are called with each record. Packages are imported when asked for."""

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
    "annotation",
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
        name: ``"csv"``: a row a run in ``log.csv``. ``"tensorboard"``: each metric as a curve over the share
            of shifted examples, a run for each learner and train split. ``"wandb"``: a run of Weights &
            Biases for each record, in the project ``nsl-bench``.
        folder: where files are written; created if it does not exist.

    Raises:
        UserError: an unknown name, a package that is not installed, or a folder that cannot be made.
    """
    if name not in LOGS:
        raise unknown("log", name, LOGS)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return LOGS[name](Path(folder))
    except ImportError as error:
        needs = f"The log {name} needs the package {name}: pip install 'nsl-bench[{name}]'"
        raise UserError(f"{needs} ({error}).") from error
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be created: {error.strerror}.") from error


def _about(record: Record) -> dict[str, Any]:
    job = {**asdict(record.job), "shift": record.job.shift, "percent": record.job.percent}
    return {"key": record.key, "status": record.status, **{name: job[name] for name in _ABOUT}}


def _csv(folder: Path) -> Log:
    metrics = (name for name, metric in METRICS.items() if metric.per_label is None)
    columns = ("key", "status", *_ABOUT, "seconds", *metrics)

    def log(record: Record) -> None:
        with (folder / "log.csv").open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            if not file.tell():
                writer.writeheader()
            writer.writerow({**record.metrics, **_about(record), "seconds": record.seconds})

    return log


def _tensorboard(folder: Path) -> Log:
    writer_of = importlib.import_module("torch.utils.tensorboard").SummaryWriter

    def log(record: Record) -> None:
        job = record.job
        line = "-".join(map(str, filter(None, (job.learner, job.network, job.repeat, job.learner_draw))))
        where = " ".join(filter(None, (job.benchmark, job.test_task, job.size, job.shift, job.annotation)))
        with writer_of(str(folder / "tensorboard" / line.replace("/", "_"))) as writer:
            for name, value in record.metrics.items():
                writer.add_scalar(f"{name}/{where}", value, round(job.percent))

    return log


def _wandb(folder: Path) -> Log:
    wandb = importlib.import_module("wandb")

    def log(record: Record) -> None:
        asked = {"project": "nsl-bench", "name": str(record.job), "dir": str(folder)}
        with wandb.init(**asked, config=_about(record)) as run:
            run.log(dict(record.metrics))

    return log


LOGS: Mapping[str, Callable[[Path], Log]] = {"csv": _csv, "tensorboard": _tensorboard, "wandb": _wandb}
"""What makes a log in a folder, by its name."""
