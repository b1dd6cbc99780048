"""Count the memory of a learner's processes, as the kernel tells it (Linux)."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["memory_of"]

_SHARED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) ..[-x]s \S+ \S+ (\d+) +/dev/zero \(deleted\)", re.MULTILINE)
_MEMORY_FOLDER = "dev/shm"
_FEW_BUFFERS = 64
"""So many pipes and sockets count nothing."""

_PIPE, _SOCKET, _THREAD = 1 << 16, 1 << 18, 1 << 15
"""Bytes that the kernel may hold for one, if it is no larger than by default (`kernel.deny_calls`)."""


def memory_of(processes: Iterable[int]) -> int:
    """Bytes that processes hold together, with what they share counted once.

    Resident and swapped pages, the page tables that lead to them, and all that they share: files in the
    memory folder ``/dev/shm`` that is theirs alone, whether they are mapped or not, and shared mappings
    without a file, which keep what was written to them even while no page of them is mapped. Threads, and
    pipes and sockets if there are many, count as what the kernel may hold for them.

    Args:
        processes: ids of processes of one sandbox; those that have ended count nothing.
    """
    own = mapped = 0
    shared: dict[bytes, int] = {}
    folders: dict[int, int] = {}
    buffers: dict[str, int] = {}
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):  # it may end at any moment
            place = Path("/proc", str(process))
            told = _kilobytes(place / "smaps_rollup")
            about = _kilobytes(place / "status")
            pages = told.get("Pss_Shmem", 0)
            mapped += pages
            own += told["Pss"] - pages + told.get("SwapPss", 0)
            own += about.get("VmPTE", 0) + about.get("HugetlbPages", 0)
            own += (
                ((place / "task").stat().st_nlink - 3) * _THREAD // 1024
            )  # of a folder: two, and its folders
            buffers |= _buffers(place)
            maps = (place / "maps").read_bytes()
            if b"/dev/zero (deleted)" in maps:
                for start, end, number in _SHARED.findall(maps):
                    shared[number] = max(shared.get(number, 0), int(end, 16) - int(start, 16))
            folders |= _memory_folder(place)
    together = max(1024 * mapped, sum(shared.values()) + sum(folders.values()))
    return 1024 * own + together + (sum(buffers.values()) if len(buffers) > _FEW_BUFFERS else 0)


def _buffers(place: Path) -> dict[str, int]:
    """The pipes and sockets that a process has open, and the bytes that each may hold."""
    found = {}
    for link in (place / "fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(link.readlink())
            if target.startswith(("pipe:", "socket:")):
                found[target] = _PIPE if target.startswith("pipe:") else _SOCKET
    return found


def _kilobytes(place: Path) -> dict[str, int]:
    """The sizes in a file of ``/proc``, in KiB."""
    found: dict[str, int] = {}
    for line in place.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            found[name] = int(value.split()[0])
    return found


def _memory_folder(place: Path) -> dict[int, int]:
    """The device of the memory folder that a process sees, and the bytes in it, unless it is this one's."""
    here = Path("/", _MEMORY_FOLDER).stat().st_dev
    path = place / "root" / _MEMORY_FOLDER
    device = path.stat().st_dev
    if device == here:
        return {}
    told = os.statvfs(path)
    return {device: (told.f_blocks - told.f_bfree) * told.f_frsize}
