"""Show a process only the files that it can reach, in a mount namespace.

Landlock denies opening files, but not looking up their sizes and times, nor connecting to the sockets that
lie among them: those of a terminal multiplexer, an agent with keys, or a container engine, each of which
executes what it is told. So all folders at the root except the system's are covered by empty ones, which get
what the process can reach, at the places where it was.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nsl_bench.sandbox import kernel
from nsl_bench.sandbox.sandbox import SYSTEM

_MOST_NAMES = 10_000
_ROOT = Path("/")
_STREAMS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def freeze(folders: Sequence[Path]) -> None:
    """Make all files read-only except those in `folders`: a file's attributes are as good as its content."""
    for place in folders:
        if not place.is_mount():
            kernel.bind(place)
    kernel.make_read_only(_ROOT, but=[*folders, Path("/dev/shm")])


def own_devices(places: Iterable[Path]) -> None:
    """Cover ``/dev`` by a folder with a few devices, none of which is a terminal, and an empty ``shm``."""
    trees = {place: (place.is_dir(), kernel.open_tree(place)) for place in places if place.exists()}
    kernel.mount("none", "/dev", "tmpfs", kernel.SAFE, "size=64k,mode=755")
    for place, (is_folder, tree) in trees.items():
        _make(place, is_folder)
        kernel.move_tree(tree, place)
        os.close(tree)
    for name, target in _STREAMS.items():
        Path("/dev", name).symlink_to(target)


def cover(places: Iterable[Path]) -> None:
    """Put something empty that nobody may read over files and folders."""
    files = [place for place in places if not place.is_dir()]
    for place in places:
        if place.is_dir():
            kernel.mount("none", str(place), "tmpfs", kernel.SAFE, "size=4k,mode=000")
    if not files:
        return
    empty = Path("/dev/shm")
    kernel.mount("none", str(empty), "tmpfs", kernel.SAFE, "size=4k,mode=700")
    (empty / "empty").touch(mode=0o000)
    for place in files:
        tree = kernel.open_tree(empty / "empty")
        kernel.move_tree(tree, place)
        os.close(tree)
    kernel.unmount(empty)


def show_only(request: Mapping[str, Any]) -> None:
    """Hide all files outside the system's folders that a process cannot reach.

    The folders ``named``, which may be listed, and the working folder keep their entries' names. Such a file
    is empty and may not be read, so that reading it fails for want of permission, and not because it is
    missing.

    Args:
        request: what `nsl_bench.sandbox.process.Process` asks the fork server for.
    """
    # Unlike Path.exists, os.path.exists is no error in a folder that the process may not enter.
    reachable = [Path(text) for kind in ("readable", "folders") for text in request[kind]]
    visible = [place for place in _outermost(reachable) if os.path.exists(place)]  # noqa: PTH110
    hidden = [
        Path(top.path)
        for top in os.scandir(_ROOT)
        if top.is_dir(follow_symlinks=False) and top.path not in (*SYSTEM, "/dev")
    ]
    if _ROOT in visible:
        return
    hidden = [top for top in hidden if top not in visible]
    visible = [place for place in visible if any(top in place.parents for top in hidden)]
    named = {Path(text): _names(Path(text)) for text in request["named"]}
    trees = {place: (place.is_dir(), kernel.open_tree(place)) for place in visible}
    for top in hidden:
        kernel.mount("none", str(top), "tmpfs", kernel.SAFE, "size=16m,mode=755")
    for place, (is_folder, tree) in trees.items():
        _make(place, is_folder)
        kernel.move_tree(tree, place)
        os.close(tree)
    for text, target in request["links"]:
        link = Path(text)
        if not os.path.lexists(link):
            with suppress(OSError):  # inside what is visible
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
    for folder, names in named.items():
        if not any(place == folder or place in folder.parents for place in (*visible, *map(Path, SYSTEM))):
            folder.mkdir(parents=True, exist_ok=True)
            for name, is_folder in names:
                if not os.path.lexists(folder / name):
                    _make(folder / name, is_folder)


def _outermost(places: Iterable[Path]) -> list[Path]:
    """The places that lie in no other one."""
    outermost: dict[Path, None] = {}
    for place in sorted(dict.fromkeys(places), key=lambda place: len(place.parts)):
        if not any(parent in outermost for parent in place.parents):
            outermost[place] = None
    return list(outermost)


def _names(folder: Path) -> list[tuple[str, bool]]:
    """The names of a folder's first entries, and whether they are folders."""
    listed: list[tuple[str, bool]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if len(listed) == _MOST_NAMES:
                break
            listed.append((entry.name, os.path.isdir(entry)))  # noqa: PTH112
    return listed


def _make(place: Path, is_folder: bool) -> None:
    """An empty folder or file."""
    (place if is_folder else place.parent).mkdir(parents=True, exist_ok=True)
    if not is_folder:
        place.touch()
