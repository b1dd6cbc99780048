"""Make the virtual environment of a learner once, with uv or else with venv and pip.

Environments are in the cache folder, named by a hash of the learner's folder and the interpreter. A lock file
keeps two processes from making the same one. The file ``KEY.json`` beside one is written last, so a folder
without it is half-made and is removed, whatever stopped the process that made it.

Packages execute code when they are built, and some whenever Python starts, so the installer works in the
sandbox, too. It reaches public addresses only (`nsl_bench.sandbox.outward`), and can change nothing but the
new environment and its scratch folder, into which the learner's folder is copied. It works in an empty
folder, by an isolated Python, with no file of settings and few environment variables: nothing that lies in a
learner's folder or in the user's home leads it. The caches of pip and uv stay closed to it, as what it leaves
there would be installed elsewhere.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.folders import remove
from nsl_bench.learners.environments import NOT_COPIED, REQUIREMENTS, Entrant, entrant, is_environment
from nsl_bench.sandbox import sandbox
from nsl_bench.sandbox.fork_server import scratch_folder
from nsl_bench.sandbox.limits import GIB, Failure, Limits
from nsl_bench.sandbox.process import REMOVING_SECONDS, Process

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
_HANDED_ON = (
    *("PATH", "LANG", "LC_ALL", "http_proxy", "https_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST"),
    *("PIP_CERT", "PIP_DEFAULT_TIMEOUT"),
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    *("UV_FIND_LINKS", "UV_NO_INDEX", "UV_OFFLINE", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT", "UV_NATIVE_TLS"),
    *("UV_SYSTEM_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""The user's environment variables that installers get: the index, the way there, and certificates."""

_FIXED = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "PYTHONNOUSERSITE": "1"}
_SECONDS, _MEMORY = 3600.0, 16 * GIB
"""What one program of an installer may take."""

_LINKS = re.compile(r"^ *(?:-f|--find-links)[ =]+(\S+)", re.MULTILINE)
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2], '%d.%d.%d' % sys.version_info[:3])"
_PACKAGES = """
import json, platform
from importlib.metadata import distributions
import numpy
packages = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
print("\\n" + json.dumps({"python": platform.python_version(), "packages": packages}))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment that is complete.

    Attributes:
        program: the Python that it was made from.
        versions: version of Python (``"python"``), and of every package in it.
    """

    folder: Path
    program: Path
    versions: Mapping[str, str]

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return _python(self.folder)

    @property
    def readable(self) -> tuple[Path, ...]:
        """What its interpreter needs to read. No link inside is followed, as strangers' packages made it."""
        return self.folder, *sandbox.program(self.program)


def prepared(specs: Iterable[str], announce: Callable[[str], None]) -> None:
    """Make the environments that learners need, one after the other. One that fails costs its own runs only.

    Args:
        specs: specs of learners; those without an environment are skipped.
        announce: called with a sentence before something that takes long.
    """
    for spec in dict.fromkeys(specs):
        if is_environment(spec):
            with contextlib.suppress(Failure, UserError):
                built(entrant(spec), again=True, announce=announce)


def described(name: str) -> str:
    """One line: what is installed in the environment of ``env:NAME``, or what would be."""
    try:
        learner = entrant(f"env:{name}")
        environment = installed(learner)
    except (UserError, Failure) as error:
        return f"env:{name}: {error}"
    if environment is not None:
        state = f"installed, Python {environment.versions['python']}"
    else:
        state = f"not installed; the first run makes it, with Python {interpreter(learner)[1]}"
    return f"env:{name}: {state}, {len(learner.requirements)} packages ({learner.folder / REQUIREMENTS})"


def interpreter(entrant: Entrant) -> tuple[str, str]:
    """The program and the full version of the Python from which an environment is made.

    This process's own Python if the manifest names its version, else the first named one on the PATH.
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
    versions = " or ".join(entrant.python)
    raise Failure(
        "failed",
        f"The environment of {entrant.name} needs Python {versions}; this is Python {own}, and none of "
        f"{', '.join(f'python{version}' for version in entrant.python)} on the PATH works.",
    )


def installed(entrant: Entrant) -> Environment | None:
    """The environment of a learner; None if it has not been made."""
    program, version = interpreter(entrant)
    return _complete(_folder(entrant, version), program)


def built(
    entrant: Entrant, *, again: bool = False, announce: Callable[[str], None] = lambda sentence: None
) -> Environment:
    """The environment of a learner, made now unless there is one.

    Args:
        again: try again even if making it failed a short while ago.

    Raises:
        Failure: it cannot be made; the output has the last lines of the log.
        UserError: the cache folder cannot be written.
    """
    program, version = interpreter(entrant)
    folder = _folder(entrant, version)
    if (environment := _complete(folder, program)) is not None:
        return environment
    note = folder.with_suffix(".failed")
    with cache.lock(folder):
        if (environment := _complete(folder, program)) is not None:
            return environment
        if again:
            note.unlink(missing_ok=True)
        _raise_noted(note)
        scratch = scratch_folder(Limits(), f"{folder.name}.scratch-", folder.parent)
        _set_aside(folder, scratch)  # what a killed process left behind
        announce(f"Making the environment of {entrant.name} with Python {version}; this happens once.")
        try:
            _make(entrant, folder, program, scratch)
        except Failure as failure:
            note.write_text(json.dumps([str(failure), failure.output]), encoding="utf-8")
            raise
        finally:
            if _complete(folder, program) is None:
                _set_aside(folder, scratch)
            remove(scratch, REMOVING_SECONDS)  # what takes longer, the fork server removes at the end
    environment = _complete(folder, program)
    assert environment is not None
    return environment


def _folder(entrant: Entrant, version: str) -> Path:
    return cache.folder(KIND) / cache.key(entrant.environment_key, version, sys.platform, size=16)


def _set_aside(folder: Path, scratch: Path) -> None:
    """Move what there is of an environment to what will be removed; nobody waits until it is."""
    with contextlib.suppress(OSError):
        folder.rename(scratch / secrets.token_hex(8))


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _complete(folder: Path, program: str) -> Environment | None:
    try:
        if not _python(folder).exists():
            return None
        listed = json.loads(folder.with_suffix(".json").read_text(encoding="utf-8"))
        return Environment(folder, Path(program), {"python": listed["python"], **listed["packages"]})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _raise_noted(note: Path) -> None:
    """The failure of a short while ago, which other runs need not wait for again."""
    with contextlib.suppress(OSError, ValueError):
        if abs(time.time() - note.stat().st_mtime) < _FAILURES_KEPT_SECONDS:  # the clock may be set back
            message, output = json.loads(note.read_text(encoding="utf-8"))
            raise Failure("failed", message, output)


def _make(entrant: Entrant, folder: Path, program: str, scratch: Path) -> None:
    uv = shutil.which("uv")
    python = str(_python(folder))
    if uv is not None:
        make = [uv, "venv", "--quiet", "--no-project", "--no-config", "--python", program, str(folder)]
        install = [uv, "pip", "install", "--no-config", "--quiet", "--compile-bytecode"]
        install += ["--python", python]
    else:
        make = [program, "-I", "-m", "venv", str(folder)]
        install = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
        install += ["--disable-pip-version-check"]
        install += ["--retries", "2", "--no-cache-dir"]
    work, empty = scratch / entrant.name, scratch / "empty"
    if work == empty:
        work = scratch / "folder"
    try:
        folder.mkdir(parents=True)
        empty.mkdir(parents=True)
        shutil.copytree(entrant.folder, work, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
    except OSError as error:
        first = error.args[0][0][-1] if isinstance(error, shutil.Error) else error
        message = f"The environment of {entrant.name} cannot be created: {entrant.folder} cannot be copied."
        raise Failure("failed", message, str(first)) from error
    programs = [place for word in (program, uv) if word for place in sandbox.program(Path(word))]
    readable = (*programs, *_named_places(), *map(Path, sandbox.NETWORK))
    do = _Installer(entrant.name, empty, scratch, folder, readable, tuple(_wheels(entrant)))
    do(make, network=False)
    if entrant.requirements:
        do([*install, "-r", str(_written(entrant, work))])
    try:
        printed = do([python, "-I", "-c", _PACKAGES], network=False)
        contents = json.loads(printed.splitlines()[-1])
        versions = {str(name)[:100]: str(version)[:100] for name, version in contents["packages"].items()}
        listed = json.dumps({"python": str(contents["python"])[:100], "packages": versions})
    except Failure as failure:
        if "No module named 'numpy'" not in failure.output:
            raise
        raise Failure(
            "failed",
            f"The environment of {entrant.name} has no numpy, which every adapter needs; add it to "
            f"{entrant.folder / REQUIREMENTS}.",
            failure.output,
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"The environment of {entrant.name} does not list its packages, but prints something else."
        raise Failure("failed", message, printed[-_LONGEST_LINE:]) from error
    with cache.replacing(folder.with_suffix(".json")) as temporary:
        temporary.write_text(listed, encoding="utf-8")


@dataclass(frozen=True)
class _Installer:
    """Executes the programs that make an environment, in the sandbox.

    Attributes:
        empty: the working folder.
        scratch: what it may change besides the environment.
        folder: the environment.
        readable: what else it may read.
        wheels: folders of which it may read the packages.
    """

    name: str
    empty: Path
    scratch: Path
    folder: Path
    readable: tuple[Path, ...]
    wheels: tuple[Path, ...]

    def __call__(self, words: Sequence[str], *, network: bool = True) -> str:
        """Execute a program to its end; what it printed."""
        limits = Limits(time=_SECONDS, memory=_MEMORY, read=self.readable, write=(self.folder,))
        process = Process(
            limits,
            command=words,
            scratch=self.scratch,
            cwd=self.empty,
            packages=self.wheels,
            environment=_environment(self.scratch),
            outward=network,
        )
        try:
            process.run()
        except Failure as failure:
            lines = [line for line in process.output.text().splitlines() if line.strip()][-_LINES:]
            why = _reason(lines) if failure.status == "crashed" else str(failure).rstrip(".")
            output = "\n".join(line[:_LONGEST_LINE] for line in lines)
            message = f"The environment of {self.name} cannot be created: {why}."
            raise Failure("failed", message, output) from failure
        finally:
            process.close()
        return process.output.text()


def _environment(scratch: Path) -> dict[str, str]:
    """The environment variables of installers, which read no file with settings."""
    handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {**handed_on, **_FIXED, "UV_CACHE_DIR": str(scratch / "uv")}


def _named_places() -> Iterator[Path]:
    """Files and folders that the user's settings of installers name."""
    for name in _HANDED_ON[2:]:
        for word in os.environ.get(name, "").split():
            place = Path(word.removeprefix("file://"))
            if place.is_absolute() and place.exists():
                yield place


def _written(entrant: Entrant, work: Path) -> Path:
    """The requirements with the places of packages in the folder written out, as no installer works there."""
    path = work / REQUIREMENTS
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    local = {line for line in entrant.requirements if line.startswith((".", "/"))}
    lines = []
    for raw in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        lines.append((work / line).resolve().as_uri() if line in local else line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _wheels(entrant: Entrant) -> Iterator[Path]:
    """The folders of packages that the requirements name."""
    text = (entrant.folder / REQUIREMENTS).read_text(encoding="utf-8")
    for word in _LINKS.findall(text):
        place = Path(word.removeprefix("file://"))
        if place.is_absolute() and place.is_dir():
            yield place


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
