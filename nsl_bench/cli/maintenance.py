"""``nsl-bench doctor``, ``list``, ``cache`` and ``store``: what is installed, and what lies on the disk."""

from __future__ import annotations

import os
import platform
import re
import textwrap
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from nsl_bench import __version__
from nsl_bench.cli import CPU_TORCH, problems_found
from nsl_bench.cli.declared import declared
from nsl_bench.core.errors import UserError, unknown

if TYPE_CHECKING:
    from nsl_bench.api.parts import PartInfo


_OTHER_PACKAGES = ("datasets", "matplotlib", "pandas", "pyarrow", "safetensors")
"""Packages besides those that results depend on."""


@declared()
def doctor() -> int:
    """Print what is installed and missing: packages, cache folder, sandbox, ILASP, FastLAS, environments.

    Exit code 1 if a required part does not work.
    """
    from nsl_bench.core import cache, registry
    from nsl_bench.run.record import LIBRARIES

    wrong = 0
    click.echo(f"nsl-bench {__version__}, Python {platform.python_version()}, {platform.platform()}")
    click.echo(f"cores: {os.cpu_count()}")
    for line in _processor():
        click.echo(line)
    for name in sorted((*LIBRARIES, *_OTHER_PACKAGES)):
        try:
            click.echo(f"{name}: {version(name)}")
        except PackageNotFoundError:
            how = CPU_TORCH if name.startswith("torch") else f"pip install {name}"
            click.echo(f"{name}: missing; {how}")
            wrong += not name.startswith("torch")
    try:
        import torch
        import torchvision  # noqa: F401 - a pair of builds that do not fit fails here

        gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none, the CPU is used"
        click.echo(f"GPU: {gpu}")
        if torch.version.cuda and not torch.cuda.is_available():
            click.echo(f"torch is built for CUDA, which takes 5 GB and finds no GPU. {CPU_TORCH}")
        for line in _torch():
            click.echo(line)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "torchvision"):
            raise
        click.echo(f"Without torch, rules, reports, scores and boards work, networks do not. {CPU_TORCH}")
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
    from nsl_bench.run.record import VARIABLES, environment, processor

    result = [f"{name}: {value}" for name, value in processor().items()]
    chosen = environment().get("variables") or f"none set ({', '.join(VARIABLES)})"
    return [*result, f"variables: {chosen}"]


def _torch() -> list[str]:
    """Describe what torch computes with: its kernels, its libraries, its threads."""
    import torch

    built = torch.__config__.show()
    patterns = {"MKL": r"Math Kernel Library Version ([\d.]+)", "oneDNN": r"MKL-DNN v([\d.]+)"}
    result = {name: re.search(pattern, built) for name, pattern in patterns.items()}
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


_WIDTH = 100


@declared(name="list")
def listing(kind: str | None = None, name: str | None = None) -> None:
    """List tasks, sources, shifts, networks, learners, rule learners, engines, executors and metrics.

    Give KIND, one of these words (rule_learners with an underscore), to see the options of each part with
    their defaults. Give NAME as well to see what each option means.
    """
    from nsl_bench.api.parts import KINDS, list_parts, part_info

    if kind is not None and name is not None:
        _show(part_info(kind, name))
        return
    for word in KINDS if kind is None else (kind,):
        parts = list_parts(word)
        click.echo(word.replace("_", " ").capitalize())
        width = max((len(part.name) for part in parts), default=0) + 2
        for part in parts:
            click.echo(f"  {part.name:<{width}}{_wrapped(part.summary, width + 2).lstrip()}")
            if kind is not None and part.options:
                options_line = f"Options: {', '.join(map(str, part.options))}"
                click.echo(_wrapped(options_line, width + 2))
        click.echo()


def _show(part: PartInfo) -> None:
    """A part with all that its docstring says of it."""
    click.echo(f"{part.name}\n\n{_wrapped(part.summary, 2)}\n")
    for paragraph in filter(None, part.description.split("\n\n")):
        click.echo(f"{_wrapped(paragraph, 2)}\n")
    if not part.options:
        click.echo("It takes no options.")
        return
    if part.kind == "executors":
        given = " ".join(f"--{o.name} ..." for o in part.options)
        click.echo(f"Options, given as nsl-bench run --executor {part.name} {given}")
    else:
        given = ",".join(f"{o.name}={o.default or '...'}" for o in part.options[:2])
        click.echo(f"Options, given as {part.name}:{given}")
    width = max(len(str(option)) for option in part.options) + 4
    for option in part.options:
        sentences = [option.meaning[:1].upper() + option.meaning[1:]] if option.meaning else []
        if option.default is None:
            sentences.append("Must be given.")
        if option.choices:
            sentences.append(f"One of: {', '.join(option.choices)}.")
        lines = _wrapped(" ".join(sentences), width).strip()
        click.echo(f"  {option!s:<{width - 2}}{lines}".rstrip())


def _wrapped(text: str, indent: int) -> str:
    margin = " " * indent
    width = max(_WIDTH, indent + 50)
    plain = text.replace("`", "")
    return textwrap.fill(
        plain,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


@declared(name="cache")
def cached(action: Annotated[str, click.Choice(["list", "clear"])] = "list", kind: str | None = None) -> None:
    """List or clear the cache folder, or only one KIND of its files (datasets, hub, predictions ...).

    The environment variable NSL_BENCH_CACHE sets the folder. It is safe to clear: everything in it can be
    made or downloaded again. Files that another process is writing are kept.
    """
    from nsl_bench.core import cache

    result = cache.contents()
    if kind is not None:
        if kind not in result:
            raise (
                unknown("kind of cached files", kind, result) if result else UserError("The cache is empty.")
            )
        result = {kind: result[kind]}
    if action == "clear":
        for name in result:
            cache.clear(name)
    click.echo(f"{'Cleared' if action == 'clear' else 'Cache'}: {cache.folder()}")
    for name, (files, size) in result.items():
        click.echo(f"  {name:<14} {files:>6} files {size / 1e6:>10.1f} MB")


@declared()
def store(action: Annotated[str, click.Choice(["compact", "schema"])], results: Path | None = None) -> None:
    """Compact RESULTS into a few parquet files, or print the JSON Schema of records.

    A compacted folder works like any other. You can compact it while runs are being added.
    """
    from nsl_bench.run.record import SCHEMA_FILE
    from nsl_bench.run.store import Store

    if action == "schema":
        click.echo(SCHEMA_FILE.read_text(encoding="utf-8"), nl=False)
        return
    if results is None:
        raise UserError("RESULTS is missing; write nsl-bench store compact results/.")
    count = Store(results, must_exist=True).compact()
    click.echo(f"{count} records compacted in {results}.")
