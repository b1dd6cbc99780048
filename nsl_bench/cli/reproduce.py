"""``nsl-bench reproduce``: a paper's grid run again, and its figures beside the published ones."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.cli.board_options import DEVICE, FOLDER, JOBS, Choice, out_option


@click.command(
    cls=Command,
    examples=[
        "nsl-bench reproduce ffnsl2023 --data ../shared/data --out results/ffnsl2023",
        "nsl-bench reproduce ffnsl2023 --task sudoku_9x9 --preset paper --data DATA --out results/ffnsl2023",
    ],
)
@click.argument("paper", type=Choice(["ffnsl2023"]))
@click.option(
    "--task",
    "tasks",
    multiple=True,
    type=Choice(["follow_suit", "sudoku_4x4", "sudoku_9x9"]),
    help="Task to reproduce. Repeatable. Default: all.",
)
@click.option("--preset", type=Choice(["quick", "paper"]), default="quick", show_default=True)
@click.option(
    "--data",
    default=Path("../shared/data"),
    show_default=True,
    type=FOLDER,
    help="Folder with ffnsl_splits/ (the paper's examples) and, for Sudoku on images, mnist/.",
)
@click.option(
    "--images/--no-images",
    default=True,
    show_default=True,
    help="Also run Sudoku on MNIST, if it is available.",
)
@JOBS
@DEVICE
@out_option("Results folder. An existing one is resumed.")
def command(
    paper: str,
    tasks: tuple[str, ...],
    preset: str,
    data: Path,
    images: bool,
    jobs: int,
    device: str,
    out: Path,
) -> int:
    """Run PAPER's grid and write a report with published and measured figures side by side.

    Results are kept in OUT. Run the same command again to resume.
    """
    from nsl_bench.report.published.pages import summary, write_report
    from nsl_bench.report.published.reproduce import PRESETS, TASKS, compare, grid
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import Executor, sweep

    if device != "auto":
        from nsl_bench.perception.training import pick_device

        pick_device(device)
    mnist = data / "mnist" if images and (data / "mnist").is_dir() else None
    todo = grid(tasks or TASKS, PRESETS[preset], data / "ffnsl_splits", mnist)
    store = Store(out)
    tally = sweep(
        todo,
        store,
        Bench(device),
        lambda record: click.echo(f"{record.status}: {record.job}: {record.message}", err=True),
        executor=Executor(jobs),
    )
    figures = compare(todo, store)
    words = ["nsl-bench", "reproduce", paper, *(word for task in tasks for word in ("--task", task))]
    words += ["--preset", preset, *([] if images else ["--no-images"])]
    for path in write_report(figures, out, shlex.join([*words, "--data", str(data), "--out", str(out)])):
        click.echo(path)
    click.echo(f"{tally}. {summary(figures)}")
    return tally.exit_code
