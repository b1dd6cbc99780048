"""``nsl-bench doctor``: what this machine has, and what is missing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

from nsl_bench import __version__, cache, registry
from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]

_PACKAGES = (
    "clingo",
    "datasets",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pillow",
    "pyarrow",
    "python-sat",
    "safetensors",
    "scikit-learn",
    "torch",
    "torchvision",
)


@click.command(cls=Command, examples=["nsl-bench doctor"])
def command() -> int:
    """Say what is installed, where the cache is, and whether ILASP and FastLAS are there.

    Exits with 1 if something that is needed does not work.
    """
    wrong = 0
    click.echo(f"nsl-bench {__version__}, Python {platform.python_version()}, {platform.platform()}")
    click.echo(f"cores: {os.cpu_count()}")
    for name in _PACKAGES:
        try:
            click.echo(f"{name}: {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name}: missing; pip install {name}")
            wrong += 1
    try:
        import torch
        import torchvision  # noqa: F401 - a pair of builds that do not fit fails here

        gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none, the CPU is used"
        click.echo(f"GPU: {gpu}")
    except (ImportError, RuntimeError) as error:
        click.echo(f"torch and torchvision do not work together ({error}); install both from the same build.")
        wrong += 1
    try:
        click.echo(f"cache: {cache.folder()} (set {cache.VARIABLE} to move it)")
    except UserError as error:
        click.echo(str(error))
        wrong += 1
    for kind in registry.KINDS:
        for name in registry.names(kind):
            try:
                registry.factory(kind, name)
            except UserError as error:
                click.echo(str(error))
                wrong += 1
    for line in _isolation():
        click.echo(line)
    from nsl_bench.las.adapters.programs import describe

    for line in describe():
        click.echo(line)
    click.echo("No problems found." if not wrong else f"{wrong} problem{'s' * (wrong > 1)} found.")
    return 1 if wrong else 0


def _isolation() -> list[str]:
    """How learners are kept apart on this machine."""
    from nsl_bench.isolation.limits import Failure, Limits
    from nsl_bench.isolation.process import Process

    try:
        process = Process(Limits())
    except (UserError, Failure) as error:
        return [f"isolation of learners: {error}"]
    force = process.force
    process.close()
    lines = [
        f"isolation of learners: processes by {force['processes']}, network by {force['network']}, files by "
        f"{force['files']}, mounts {force['mounts']}, system calls by {force['calls']}"
    ]
    if force["files"] == "none":
        lines.append("This system has no Landlock (Linux 5.13): learners can read and write what you can.")
    if force["network"] == "open":
        lines.append("This system permits neither namespaces nor seccomp: learners can open sockets.")
    return lines
