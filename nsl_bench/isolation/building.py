"""Make the virtual environment of a learner once, with uv or else with venv and pip.

Environments are in the cache folder, named by a hash of the requirements and the interpreter. A lock file
keeps two processes from making the same one. The file ``environment.json`` is written last, so a folder
without it is half-made and is removed, whatever stopped the process that made it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsl_bench import cache
from nsl_bench.environments import REQUIREMENTS, Entrant, entrant, is_environment
from nsl_bench.errors import UserError
from nsl_bench.isolation import kernel
from nsl_bench.isolation.limits import Failure

__all__ = ["KIND", "Environment", "built", "described", "installed", "interpreter", "prepared"]

KIND = "environments"
"""Subfolder of the cache folder."""

_FAILURES_KEPT_SECONDS = 600.0
_START_SECONDS = 60.0
_LINES = 10
_LONGEST_LINE = 1000
_NO_REASONS = ("Ignored the following", "ResolutionImpossible")
"""What pip prints as errors beside the reason: versions for other Pythons, and a link to its pages."""
_OFFERED = re.compile(r" \(from versions: [^)]*\)")
_NO_CONNECTION = re.compile(
    r"connection broken by|NewConnectionError|Temporary failure in name resolution|dns error|"
    r"error sending request"
)
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2], '%d.%d.%d' % sys.version_info[:3])"
_PACKAGES = """
import json, platform
from importlib.metadata import distributions
import numpy
told = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
print(json.dumps({"python": platform.python_version(), "packages": told}))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment that is complete.

    Attributes:
        folder: where it is.
        versions: version of Python (``"python"``), and of every package in it.
    """

    folder: Path
    versions: Mapping[str, str]

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return _python(self.folder)


def prepared(specs: Iterable[str], heard: Callable[[str], None]) -> None:
    """Make the environments that learners need, one after the other. One that fails costs its own runs only.

    Args:
        specs: specs of learners; those without an environment are skipped.
        heard: called with a sentence before something that takes long.
    """
    for spec in dict.fromkeys(specs):
        if is_environment(spec):
            with contextlib.suppress(Failure, UserError):
                built(entrant(spec), again=True, heard=heard)


def described(name: str) -> str:
    """One line: what is installed in the environment of ``env:NAME``, or what would be."""
    try:
        found = entrant(f"env:{name}")
        environment = installed(found)
    except (UserError, Failure) as error:
        return f"env:{name}: {error}"
    pinned = [line.partition(";")[0].strip() for line in found.requirements]
    if environment is not None:
        told = f"installed, Python {environment.versions['python']}"
    else:
        told = f"not installed; the first run makes it, with Python {interpreter(found)[1]}"
    return f"env:{name}: {told}: {', '.join(pinned)}"


def interpreter(entrant: Entrant) -> tuple[str, str]:
    """The program and the full version of the Python from which an environment is made.

    This process's own Python if the manifest names its version, else the first named one on the PATH.

    Raises:
        Failure: there is none of the versions that the manifest names.
    """
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if own in entrant.python:
        return sys.executable, ".".join(map(str, sys.version_info[:3]))
    for version in entrant.python:
        program = shutil.which(f"python{version}")
        if program is None:
            continue
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            done = subprocess.run(
                [program, "-c", _VERSION], capture_output=True, text=True, timeout=_START_SECONDS, check=True
            )
            short, full = done.stdout.split()
            if short == version:
                return program, full
    wanted = " or ".join(entrant.python)
    raise Failure(
        "failed",
        f"The environment of {entrant.name} needs Python {wanted}; this is Python {own}, and none of "
        f"{', '.join(f'python{version}' for version in entrant.python)} on the PATH works.",
    )


def installed(entrant: Entrant) -> Environment | None:
    """The environment of a learner; None if it has not been made.

    Raises:
        Failure: there is no interpreter for it.
    """
    return _complete(_folder(entrant, interpreter(entrant)[1]))


def built(
    entrant: Entrant, *, again: bool = False, heard: Callable[[str], None] = lambda sentence: None
) -> Environment:
    """The environment of a learner, made now unless there is one.

    Args:
        entrant: the learner.
        again: try again even if making it failed a short while ago.
        heard: called with a sentence before something that takes long.

    Raises:
        Failure: it cannot be made; the output has the last lines of the log.
        UserError: the cache folder cannot be written.
    """
    program, version = interpreter(entrant)
    folder = _folder(entrant, version)
    if (found := _complete(folder)) is not None:
        return found
    note = folder.with_suffix(".failed")
    with cache.lock(folder):
        if (found := _complete(folder)) is not None:
            return found
        if again:
            note.unlink(missing_ok=True)
        _raise_noted(note)
        shutil.rmtree(folder, ignore_errors=True)  # what a killed process left behind
        heard(f"Making the environment of {entrant.name} with Python {version}; this happens once.")
        try:
            _make(entrant, folder, program)
        except Failure as failure:
            note.write_text(json.dumps([str(failure), failure.output]), encoding="utf-8")
            raise
        finally:
            if _complete(folder) is None:
                shutil.rmtree(folder, ignore_errors=True)
    found = _complete(folder)
    assert found is not None
    return found


def _folder(entrant: Entrant, version: str) -> Path:
    return cache.folder(KIND) / cache.key(entrant.environment_key, version, sys.platform)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _complete(folder: Path) -> Environment | None:
    try:
        told = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        return Environment(folder, {"python": told["python"], **told["packages"]})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _raise_noted(note: Path) -> None:
    """The failure of a short while ago, which other runs need not wait for again."""
    with contextlib.suppress(OSError, ValueError):
        if time.time() - note.stat().st_mtime < _FAILURES_KEPT_SECONDS:
            message, output = json.loads(note.read_text(encoding="utf-8"))
            raise Failure("failed", message, output)


def _make(entrant: Entrant, folder: Path, program: str) -> None:
    uv = shutil.which("uv")
    python = str(_python(folder))
    if uv is not None:
        make = [uv, "venv", "--quiet", "--no-project", "--python", program, str(folder)]
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    else:
        make = [program, "-m", "venv", str(folder)]
        install = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        install += ["--retries", "2"]
    _do(entrant, make)
    if entrant.requirements:
        _do(entrant, [*install, "-r", REQUIREMENTS])
    try:
        told = _do(entrant, [python, "-P", "-s", "-c", _PACKAGES], logged=False)
    except Failure as failure:
        if "No module named 'numpy'" not in failure.output:
            raise
        raise Failure(
            "failed",
            f"The environment of {entrant.name} has no numpy, which every adapter needs; add it to "
            f"{entrant.folder / REQUIREMENTS}.",
            failure.output,
        ) from None
    with cache.replacing(folder / "environment.json") as temporary:
        temporary.write_text(told, encoding="utf-8")


def _do(entrant: Entrant, words: Sequence[str], *, logged: bool = True) -> str:
    """Run a program to its end; what it printed.

    Raises:
        Failure: it failed.
    """
    try:
        process = subprocess.Popen(
            words,
            cwd=entrant.folder,
            env=_surroundings(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if logged else subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_end_with_us if kernel.LINUX else None,
        )
    except OSError as error:
        raise Failure("failed", f"{words[0]} cannot be executed: {error.strerror}.") from error
    try:
        told, errors = process.communicate()
    except BaseException:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode:
        lines = [line for line in (errors or told).splitlines() if line.strip()][-_LINES:]
        message = f"The environment of {entrant.name} cannot be created: {_reason(lines)}."
        raise Failure("failed", message, "\n".join(line[:_LONGEST_LINE] for line in lines))
    return told


def _reason(lines: Sequence[str]) -> str:
    """Why an installer failed, from its last lines, without a full stop."""
    errors = [line for line in lines if line.startswith(("ERROR:", "error:"))]
    telling = [line for line in errors if not any(words in line for words in _NO_REASONS)]
    why = next(iter(telling or errors or lines[-1:]), "")
    why = _OFFERED.sub("", " ".join(why.removeprefix("ERROR:").split()))
    reason = why[:300].rstrip(".") or "no reason was printed"
    if any(_NO_CONNECTION.search(line) for line in lines):
        reason += " (the package index cannot be reached)"
    return reason


def _surroundings() -> dict[str, str]:
    """The environment variables without those that lead Python or pip elsewhere."""
    led = (
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_USER",
        "PIP_REQUIRE_VIRTUALENV",
    )
    return {name: value for name, value in os.environ.items() if name not in led}


def _end_with_us() -> None:
    """In the child process: end when the process that started it is killed."""
    with contextlib.suppress(OSError):
        kernel.die_with_parent(signal.SIGKILL)
