"""Learners with an interpreter of their own: a folder with an adapter, a manifest and pinned requirements.

========================  ==================================================================
``learner.toml``          the manifest, `Entrant`: class, track, Python, licence, citation
``adapter.py``            the class, a learner like any other (`nsl_bench.learners.base`)
``requirements.txt``      what its virtual environment holds, each with its version
========================  ==================================================================

A spec ``env:FOLDER`` or ``env:FOLDER:OPTION=VALUE`` names it, and ``tuned:env:FOLDER`` has it tuned.
``env:NAME`` is ``entrants/NAME`` in the working folder or in nsl-bench's repository. Nothing here runs the
adapter or installs anything; that is the work of `nsl_bench.sandbox.building` and
`nsl_bench.sandbox.foreign`.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from nsl_bench.core import cache, imported, registry
from nsl_bench.core.code_files import code_files
from nsl_bench.core.declared import Declared, Is, checked, read_toml
from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.core.tracks import Track

NOT_COPIED = ("__pycache__", ".git", ".venv")
"""What an installer does not see of a learner's folder."""

ADAPTER, MANIFEST, REQUIREMENTS = "adapter.py", "learner.toml", "requirements.txt"

_FOLDER = "entrants"
_TUNED = "tuned:"
_MOST_FILES, _MOST_BYTES, _DEEPEST = 10_000, 1 << 30, 64
_LEAST_PYTHON = (3, 11)
_PINNED = re.compile(r"[A-Za-z0-9][\w.-]*(\[[^\]]*\])? *(===?[^=*,\s]+|@ *\S+)( *;.*)?( *--hash=.*)?")
_OPTION = re.compile(
    r"(-f|-i|--(find-links|index-url|extra-index-url|no-index|only-binary|no-binary|prefer-binary))\b"
)


def _are_versions(texts: tuple[str, ...]) -> bool:
    versions = [tuple(map(int, text.split("."))) for text in texts if re.fullmatch(r"3\.\d+", text)]
    return len(versions) == len(texts) > 0 and min(versions) >= _LEAST_PYTHON


_Text = Annotated[str, Is("a text that is not empty", shortest=1)]


@dataclass(frozen=True)
class _Manifest(Declared):
    """What ``learner.toml`` says.

    Attributes:
        learner: name of the class in ``adapter.py``.
        track: supervision that it uses.
        licence: licence of the package behind it.
        citation: what to cite.
        description: one sentence on the method.
        python: versions of Python that it runs with, the preferred one first.
    """

    learner: Annotated[str, Is("the name of a class in adapter.py", test=str.isidentifier)]
    track: Track
    licence: _Text
    citation: _Text
    description: _Text
    python: Annotated[
        tuple[str, ...],
        Is('a list of Python versions from 3.11 on, such as ["3.11", "3.12"]', test=_are_versions),
    ]
    version: _Text = "1"


@dataclass(frozen=True, kw_only=True)
class Entrant(_Manifest):
    """A learner in a folder, with an interpreter of its own: what its manifest says, and what its files are.

    Attributes:
        folder: where it is, absolute.
        version: version of the adapter, with a hash of its files.
        requirements: the lines of ``requirements.txt`` that install something.
        environment_key: hash of all that is in the folder, which the installer sees.
    """

    folder: Path
    requirements: tuple[str, ...]
    environment_key: str = field(repr=False)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name


def is_environment(spec: str) -> bool:
    """Whether a learner's spec names one with an interpreter of its own."""
    return spec.strip().removeprefix(_TUNED).startswith(imported.ENVIRONMENT)


def tuning(spec: str) -> dict[str, str] | None:
    """The options of ``tuned:env:FOLDER,OPTION=VALUE``; None for a learner that is not tuned."""
    return dict(registry.Spec.parse(spec).kwargs) if spec.strip().startswith(_TUNED) else None


def _untuned(spec: str) -> str:
    """The spec ``env:FOLDER:OPTIONS`` without what tunes it."""
    if not spec.strip().startswith(_TUNED):
        return spec.strip()
    result = registry.Spec.parse(spec).args
    if len(result) != 1:
        raise UserError(f"tuned needs one learner, such as tuned:env:figs,trials=8; got '{spec}'.")
    return result[0]


def entrant(spec: str) -> Entrant:
    """Read the folder that a spec names."""
    inner = _untuned(spec)
    folder = _folder(registry.learner_spec(inner).name.removeprefix(imported.ENVIRONMENT))
    for name in (MANIFEST, ADAPTER, REQUIREMENTS):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a learner's folder: it has no {name}.")
    path = folder / MANIFEST
    manifest = checked(_Manifest, read_toml(path, "The manifest"), f"{path}: ")
    code = code_files(f"{folder / ADAPTER}:{manifest.learner}")
    version = f"{manifest.version}+{cache.content_key(*code, path, folder / REQUIREMENTS)}"
    return Entrant(
        **{**vars(manifest), "version": version if inner == spec.strip() else f"1+{version}"},
        folder=folder,
        requirements=_requirements(folder / REQUIREMENTS),
        environment_key=cache.key(sorted(_contents(folder)), size=32),
    )


def adapter_spec(spec: str, environment: Entrant) -> str:
    """The spec ``FOLDER/adapter.py:CLASS:OPTIONS`` by which the adapter is created in its own interpreter."""
    _, _, options = _untuned(spec).removeprefix(imported.ENVIRONMENT).partition(":")
    return f"{environment.folder / ADAPTER}:{environment.learner}" + (f":{options}" if options else "")


def entrants() -> list[str]:
    """The names that ``env:NAME`` finds here, sorted."""
    return sorted({path.parent.name for place in _places() for path in place.glob(f"*/{MANIFEST}")})


def _places() -> Iterator[Path]:
    """Where ``env:NAME`` is looked for: the working folder, then nsl-bench's repository."""
    import nsl_bench

    yield Path.cwd() / _FOLDER
    yield Path(nsl_bench.__file__).resolve().parents[1] / _FOLDER


def _folder(name: str) -> Path:
    given = Path(name).expanduser()
    named = [place / name for place in _places()] if given.name == name else []
    for folder in (given, *named):
        if name and folder.is_dir():
            return folder.resolve()
    guess = did_you_mean(name, entrants()) if given.name == name else ""
    raise UserError(
        f"The learner '{imported.ENVIRONMENT}{name}' was not found: the folder {name} does not exist.{guess}"
    )


def _requirements(path: Path) -> tuple[str, ...]:
    """The lines that install something, each with its version."""
    try:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    result = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if not line or _OPTION.match(line):
            continue
        if line.startswith((".", "/")) and (path.parent / line).exists():
            if not (path.parent / line).resolve().is_relative_to(path.parent.resolve()):
                raise UserError(
                    f"{path}, line {number}: the package {line} is outside of the learner's folder; "
                    "put it there."
                )
        elif _PINNED.fullmatch(line) is None:
            raise UserError(
                f"{path}, line {number}: every requirement needs its version, such as numpy==2.1.0; "
                f"got '{line}'."
            )
        result.append(line)
    return tuple(result)


def _contents(folder: Path) -> Iterator[list[str]]:
    """What an installer sees of a folder: of each entry its path, kind, mode, and content or target."""
    count = size = 0
    waiting = [(folder, 0)]
    try:
        while waiting:
            here, depth = waiting.pop()
            for entry in os.scandir(here):
                if entry.name in NOT_COPIED:
                    continue
                count += 1
                about = entry.stat(follow_symlinks=False)
                size += about.st_size
                if count > _MOST_FILES or size > _MOST_BYTES or depth > _DEEPEST:
                    raise UserError(
                        f"{folder} is too large for a learner's folder: at most {_MOST_FILES} files, "
                        f"{_MOST_BYTES >> 20} MiB and {_DEEPEST} levels are allowed; move data elsewhere."
                    )
                content = ""
                if stat.S_ISLNK(about.st_mode):
                    content = os.readlink(entry.path)  # noqa: PTH115
                elif stat.S_ISDIR(about.st_mode):
                    waiting.append((Path(entry.path), depth + 1))
                elif stat.S_ISREG(about.st_mode):
                    with Path(entry.path).open("rb") as file:
                        content = hashlib.file_digest(file, "sha256").hexdigest()
                path = Path(entry.path).relative_to(folder)
                yield [os.fsencode(path).hex(), oct(about.st_mode), content]
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be read: {error.strerror}.") from error
