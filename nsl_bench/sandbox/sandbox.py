"""Restrict a learner's process: its files, its network and its system calls.

The sandbox has three layers, each used if the system supports it:

* *Namespaces* (Linux, if unprivileged ones are permitted) give the process a network without devices, its own
  processes, message queues and shared memory, and devices without a terminal. It sees only the files that it
  can read (`nsl_bench.sandbox.shown`), so it finds no socket of another program. The file system is
  read-only except for its scratch folder, including the times and attributes of files.
* *Landlock* (Linux 5.13) denies all files except the learner's code, the Python installation, the system's
  programs and the scratch folder.
* A *seccomp filter* denies sockets, new namespaces, terminals, memory that belongs to no process, system
  calls that inspect other processes, and, without namespaces, changes of attributes and sockets between
  processes of this machine.

Every record (``environment.isolation``) and ``nsl-bench doctor`` say which layers are in force.

Two channels remain open. Learners that run at the same time can signal to each other through shared state,
such as the machine's load or locks on a file that both can read. A run can also measure traces of an earlier
run in the page cache and in the kernel's counters.
"""

import functools
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nsl_bench.core import registry
from nsl_bench.core.code_files import code_files, code_roots, comes_with_us, specs_in
from nsl_bench.core.imported import without_class
from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.limits import Limits

SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix", "/etc", "/proc", "/sys")
"""Where the system's programs are, and what it says of itself: readable for all."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "shm", "dri", "kfd")
"""What a learner finds in ``/dev``, besides those of NVIDIA. No terminal is among them."""

_SETTINGS = ("/etc", "/usr/local/etc")
_MOST_SETTINGS = 20_000
_CODE = frozenset({".py", ".pyc", ".so", ".pyd", ".dylib", ".pth"})
_FOLDERS_OF_CODE = ("__pycache__",)
_ARCHIVES = (".whl", ".tar.gz", ".zip")
_METADATA = (".dist-info", ".egg-info", ".libs")
NETWORK = ("/etc/resolv.conf", "/etc/ssl/certs")
"""What names and certificates are looked up in; both may be links that lead out of /etc."""

_LARGEST_FILE = 16 << 30
_MOST_OPEN_FILES, _UNLIMITED = 1024, 1 << 63
_MOST_PARTS = 1000


@dataclass(frozen=True)
class Reach:
    """Files that a process can access.

    Attributes:
        readable: files and folders that it may read and execute.
        listable: folders whose entries it may list.
        writable: files and folders that it may change.
        links: symbolic links on the way to them, and what they hold.
    """

    readable: tuple[Path, ...]
    listable: tuple[Path, ...]
    writable: tuple[Path, ...]
    links: tuple[tuple[Path, str], ...] = ()


def reach_of(
    limits: Limits,
    scratch: Path,
    code: Iterable[Path] = (),
    packages: Iterable[Path] = (),
    *,
    secrets: bool = False,
) -> Reach:
    """The files that a learner's process may access.

    Args:
        limits: further files that the user allows.
        scratch: its scratch folder.
        code: files or packages of its code, besides installed packages.
        packages: folders whose entries may be listed, and of which archives of packages may be read.
        secrets: leave out the system's secrets, where they are not covered.
    """
    search = (os.environ.get("PATH", ""), tuple(sys.path), str(Path.cwd()))
    installed, folders, links = _installed(*search)
    readable, listable = [*installed], [*folders]
    named = [*code, *packages, *limits.read, *limits.write]
    for place in packages:
        readable += [path for path in place.iterdir() if path.name.endswith(_ARCHIVES)]
        listable.append(place)
    for place in code:
        place = place.resolve()
        if place.is_dir():
            readable.append(place)
        else:
            readable += [place, *code_of(place.parent)]
            if place.suffix and place.suffix not in _CODE:
                readable += place.parent.glob(f"*{place.suffix}")
            listable.append(place.parent)
    readable += [path.resolve() for path in limits.read]
    readable += [Path(path).resolve() for path in NETWORK if limits.network]
    hidden = [*(path.resolve() for path in limits.hidden), *(system_secrets() if secrets else ())]
    visible = [piece for path in dict.fromkeys(readable) for piece in _without(path, hidden)]
    writable = [scratch, *(path.resolve() for path in limits.write), *devices()]
    links = (*links, *(link for path in named for link in _links(path)))
    return Reach(tuple(visible), tuple(dict.fromkeys(listable)), tuple(writable), tuple(dict.fromkeys(links)))


@functools.cache
def system_secrets() -> tuple[Path, ...]:
    """Files and folders of the system's settings that not everybody may read: passwords, keys, tokens.

    A learner runs as the user, who may be their owner.
    """
    secrets: list[Path] = []
    waiting = [path for path in map(Path, _SETTINGS) if not path.is_symlink()]
    count = 0
    while waiting and count < _MOST_SETTINGS:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    continue
                if not mode & (stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH):
                    secrets.append(Path(entry.path))
                elif stat.S_ISDIR(mode):
                    waiting.append(Path(entry.path))
    return tuple(secrets)


def devices() -> list[Path]:
    """The devices that a learner may use."""
    return [Path("/dev", name) for name in _DEVICES] + sorted(Path("/dev").glob("nvidia*"))


@functools.lru_cache(maxsize=8)
def _installed(
    programs: str, modules: tuple[str, ...], here: str
) -> tuple[tuple[Path, ...], tuple[Path, ...], tuple[tuple[Path, str], ...]]:
    """What is installed: what can be read of it, which folders can be listed, and links on the way there.

    Args:
        programs: the ``PATH``.
        modules: where Python looks for modules.
        here: the working folder, to which relative ones lead.
    """
    import nsl_bench
    from nsl_bench import generators  # an editable install has them elsewhere

    packages = [*nsl_bench.__path__, *generators.__path__]
    readable = [*SYSTEM, sys.prefix, sys.base_prefix, sys.exec_prefix, *packages]
    listable: list[Path] = []
    for folder in map(Path, filter(None, programs.split(os.pathsep))):
        if folder.is_absolute() and folder.name in ("bin", "sbin"):
            readable.append(str(folder))
    for entry in map(Path, filter(None, modules)):
        if entry.name in ("site-packages", "dist-packages") or not entry.is_dir():
            readable.append(str(entry))
        else:
            readable += map(str, code_of(entry.resolve()))
            listable.append(entry.resolve())
    named = [sys.executable, *modules, *readable]
    links = [link for path in named if path for link in _links(Path(path))]
    return (
        tuple(dict.fromkeys(Path(path).resolve() for path in readable)),
        tuple(listable),
        tuple(dict.fromkeys(links)),
    )


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    """The symbolic links through which a path leads, and what they hold."""
    left = list(reversed(path.absolute().parts[1:]))
    place = Path("/")
    for _ in range(_MOST_PARTS):
        if not left:
            break
        part = left.pop()
        if part == "..":
            place = place.parent
            continue
        try:
            target = str((place / part).readlink())
        except OSError:  # not a link, or nothing there
            place = place / part
            continue
        yield place / part, target
        if target.startswith("/"):
            place = Path("/")
        left += [piece for piece in reversed(Path(target).parts) if piece != "/"]


def code_of(folder: Path) -> Iterator[Path]:
    """The Python files and packages in a folder, without other files."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if (
                entry.suffix in _CODE
                or entry.name in _FOLDERS_OF_CODE
                or entry.name.endswith(_METADATA)
                or (entry.is_dir() and (entry / "__init__.py").is_file())
            ):
                yield entry


def _without(path: Path, hidden: list[Path]) -> Iterator[Path]:
    """A path, or where something hidden lies in it, the rest of what lies there."""
    if any(path == secret or secret in path.parents for secret in hidden):
        return
    if not any(path in secret.parents for secret in hidden):
        yield path
        return
    with suppress(OSError):
        for entry in path.iterdir():
            yield from _without(entry, hidden)


def program(path: Path) -> list[Path]:
    """The files that a program outside the system's folders needs: itself and its installation prefix."""
    places = []
    for place in (path.absolute(), path.resolve()):
        places.append(place)
        prefix = place.parent.parent
        if place.parent.name in ("bin", "sbin", "shims") and prefix not in (Path.home(), Path("/")):
            places.append(prefix)
    return places


def code_places(learner: str) -> list[Path]:
    """The files and packages of a learner's code, found without running it."""
    places: dict[Path, None] = {}
    for spec in specs_in(learner):
        name = registry.learner_spec(spec).name
        if name.endswith(".py"):
            raise without_class(Path(name))
        places |= dict.fromkeys([*code_roots(spec), *code_files(spec)])
    return list(places)


def files_named(learner: str) -> list[Path]:
    """The files named by the options of a built-in learner: ``rules:FILE``, ``neuid3:reuse=FILE+FILE``."""
    return [Path(word).absolute() for word in _words(learner) if os.path.isfile(word)]  # noqa: PTH113


def programs_of(learner: str) -> tuple[list[Path], list[Path]]:
    """The files of the rule learner's program that a built-in learner calls, and the folders it writes in."""
    files: list[Path] = []
    folders: list[Path] = []
    named = [word for word in _words(learner) if word in registry.names("rule_learner")]
    if not named:  # most learners: neither clingo nor the rule learner need be loaded for them
        return files, folders
    from nsl_bench.logic.las.adapters.programs import PROGRAMS, find

    for word in named:
        place = find(PROGRAMS[word]) if word in PROGRAMS else None
        if place is not None:
            files += program(place)
            folders += map(Path, PROGRAMS[word].writes)
    return files, folders


def _words(learner: str) -> list[str]:
    """The values of a built-in learner's options, and their parts that a plus joins."""
    if not comes_with_us(learner):
        return []
    specs = map(registry.learner_spec, specs_in(learner))
    values = [value for spec in specs for value in (*spec.args, *spec.kwargs.values())]
    return list(dict.fromkeys(word for value in values for word in (value, *value.split("+"))))


def apply(reach: Reach, *, network: bool, entered: Mapping[str, str]) -> dict[str, str]:
    """Restrict this process permanently.

    Args:
        reach: files that it can access.
        network: whether it may open sockets.
        entered: the namespaces that it is in, as reported by `nsl_bench.sandbox.fork_server_process`.

    Returns:
        The restrictions in force: ``files`` and ``calls``.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = _LARGEST_FILE if most == resource.RLIM_INFINITY else min(most, _LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most if soft == resource.RLIM_INFINITY else min(soft, most), most)
    )
    force = {"files": "none", "calls": "none"}
    if not kernel.LINUX:
        return force
    with suppress(OSError):
        kernel.drop_capabilities()
    with suppress(OSError):
        kernel.landlock(reach.readable, reach.listable, reach.writable)
        force["files"] = f"landlock {kernel.landlock_version()}"
    with suppress(OSError):
        alone = entered.get("mounts") == "read-only"  # and other programs' sockets are hidden
        kernel.deny_calls(sockets=not network, local=not alone, attributes=not alone)
        force["calls"] = "seccomp"
    return force
