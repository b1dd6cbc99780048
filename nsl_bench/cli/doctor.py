"""``nsl-bench doctor``: check the installation on this machine."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version

import click

from nsl_bench import __version__
from nsl_bench.cli import problems_found
from nsl_bench.cli.declared import declared
from nsl_bench.core import cache, registry
from nsl_bench.core.errors import UserError

_OTHER_PACKAGES = ("datasets", "matplotlib", "pandas", "pyarrow", "safetensors")
"""Packages besides those that results depend on."""


@declared(examples=["nsl-bench doctor"])
def command() -> int:
    """Print what is installed and missing: packages, cache folder, sandbox, ILASP, FastLAS, environments.

    Exit code 1 if a required part does not work.
    """
    from nsl_bench.run.environment import LIBRARIES

    wrong = 0
    click.echo(f"nsl-bench {__version__}, Python {platform.python_version()}, {platform.platform()}")
    click.echo(f"cores: {os.cpu_count()}")
    for line in _processor():
        click.echo(line)
    for name in sorted((*LIBRARIES, *_OTHER_PACKAGES)):
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
        for line in _torch():
            click.echo(line)
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
    from nsl_bench.logic.las.adapters.programs import describe

    for line in describe():
        click.echo(line)
    from nsl_bench.learners.environments import entrants
    from nsl_bench.sandbox.building import described

    for name in entrants():
        click.echo(described(name))
    click.echo(problems_found(wrong))
    return 1 if wrong else 0


def _processor() -> list[str]:
    """Describe the processor and the variables by which libraries choose its instructions and threads."""
    from nsl_bench.run.environment import VARIABLES, environment, processor

    result = [f"{name}: {value}" for name, value in processor().items()]
    chosen = environment().get("variables") or f"none set ({', '.join(VARIABLES)})"
    return [*result, f"variables: {chosen}"]


def _torch() -> list[str]:
    """Describe what torch computes with: its kernels, its libraries, its threads."""
    import torch

    built = torch.__config__.show()
    told = {"MKL": r"Math Kernel Library Version ([\d.]+)", "oneDNN": r"MKL-DNN v([\d.]+)"}
    result = {name: re.search(pattern, built) for name, pattern in told.items()}
    named = ", ".join(f"{name} {match[1]}" for name, match in result.items() if match) or "no MKL, no oneDNN"
    return [
        f"torch: {torch.backends.cpu.get_cpu_capability()} kernels, {named}",
        f"torch: {torch.get_num_threads()} threads by default; training uses a fixed number",
    ]


def _isolation() -> list[str]:
    """Describe the sandbox of learners on this machine."""
    from nsl_bench.sandbox.limits import Failure, Limits
    from nsl_bench.sandbox.process import Process

    try:
        process = Process(Limits())
    except (UserError, Failure) as error:
        return [f"sandbox for learners: {error}"]
    force = process.force
    process.close()
    lines = [
        f"sandbox for learners: processes by {force['processes']}, network by {force['network']}, files by "
        f"{force['files']}, mounts {force['mounts']}, system calls by {force['calls']}, "
        f"memory by {force['memory']}"
    ]
    if force["files"] == "none":
        lines.append("Landlock (Linux 5.13 or later) is missing: learners can read and write all your files.")
    if force["mounts"] != "read-only":
        lines.append(
            "Namespaces are unavailable: learners can see which files there are, and have no sockets at all, "
            "which torch's DataLoader needs for its workers; --allow network permits them."
        )
    if force["network"] == "open":
        lines.append("Namespaces and seccomp are both unavailable: learners can use the network.")
    return lines
