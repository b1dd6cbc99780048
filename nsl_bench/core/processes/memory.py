"""Memory of processes, as the kernel tells it."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

_OUT_OF_MEMORY = r"(?i)MemoryError|bad_alloc|allocate memory|unable to allocate|out of memory|outofmemory"
_SHARED = rb"(?m)^([0-9a-f]+)-([0-9a-f]+) ..[-x]s \S+ \S+ (\d+) +/dev/zero \(deleted\)"
_MEMORY_FOLDER = "dev/shm"
_FEW_BUFFERS = 64
"""So many pipes and sockets count nothing."""

_PIPE, _SOCKET, _THREAD = 1 << 16, 1 << 18, 1 << 15
"""Bytes that the kernel may hold for one of the size that it has by default; the sandbox permits no other
(`nsl_bench.sandbox.kernel.deny_calls`)."""


def starved(text: str) -> bool:
    """Whether a message says that memory could not be allocated."""
    return re.search(_OUT_OF_MEMORY, text) is not None


def own_data() -> int:
    """Bytes of data that this process has mapped, as ``RLIMIT_DATA`` counts them; 0 if unknown."""
    return _pages("self", 5)


def resident(process: int) -> int:
    """Resident memory of a process, in bytes; 0 if it has ended."""
    if Path("/proc/self/statm").exists():
        return _pages(str(process), 1)
    import psutil

    try:
        return int(psutil.Process(process).memory_info().rss)
    except psutil.Error:
        return 0


def _pages(process: str, column: int) -> int:
    try:
        fields = Path(f"/proc/{process}/statm").read_bytes().split()
        return int(fields[column]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError, AttributeError):
        return 0


def memory_of(processes: Iterable[int]) -> int:
    """Bytes that processes hold together, with what they share counted once.

    Resident and swapped pages, the page tables that lead to them, and all that they share: files in the
    memory folder ``/dev/shm`` that is theirs alone, whether they are mapped or not, and shared mappings
    without a file, which keep what was written to them even while no page of them is mapped. Threads, and
    pipes and sockets if there are many, count as what the kernel may hold for them.

    Args:
        processes: ids of processes of one sandbox; those that have ended count nothing.
    """
    if not Path("/proc/self/smaps_rollup").exists():  # not Linux, or one without it
        return sum(map(resident, processes))
    own = mapped = 0
    shared: dict[bytes, int] = {}
    folders: dict[int, int] = {}
    buffers: dict[str, int] = {}
    for process in processes:
        with contextlib.suppress(OSError, ValueError, LookupError):  # it may end at any moment
            place = Path("/proc", str(process))
            sizes = _kilobytes(place / "smaps_rollup")
            status = _kilobytes(place / "status")
            pages = sizes.get("Pss_Shmem", 0)
            mapped += pages
            own += sizes["Pss"] - pages + sizes.get("SwapPss", 0)
            own += status.get("VmPTE", 0) + status.get("HugetlbPages", 0)
            threads = (place / "task").stat().st_nlink - 2  # a folder has two links, and one a subfolder
            own += (threads - 1) * _THREAD // 1024
            buffers |= _buffers(place)
            maps = (place / "maps").read_bytes()
            if b"/dev/zero (deleted)" in maps:
                for start, end, number in re.findall(_SHARED, maps):
                    shared[number] = max(shared.get(number, 0), int(end, 16) - int(start, 16))
            folders |= _memory_folder(place)
    together = max(1024 * mapped, sum(shared.values()) + sum(folders.values()))
    return 1024 * own + together + (sum(buffers.values()) if len(buffers) > _FEW_BUFFERS else 0)


def _buffers(place: Path) -> dict[str, int]:
    """The pipes and sockets that a process has open, and the bytes that each may hold."""
    buffers = {}
    for link in (place / "fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(link.readlink())
            if target.startswith(("pipe:", "socket:")):
                buffers[target] = _PIPE if target.startswith("pipe:") else _SOCKET
    return buffers


def _kilobytes(place: Path) -> dict[str, int]:
    """The sizes in a file of ``/proc``, in KiB."""
    sizes: dict[str, int] = {}
    for line in place.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            sizes[name] = int(value.split()[0])
    return sizes


def _memory_folder(place: Path) -> dict[int, int]:
    """The device of the memory folder that a process sees, and the bytes in it, unless it is this one's."""
    here = Path("/", _MEMORY_FOLDER).stat().st_dev
    path = place / "root" / _MEMORY_FOLDER
    device = path.stat().st_dev
    if device == here:
        return {}
    sizes = os.statvfs(path)
    return {device: (sizes.f_blocks - sizes.f_bfree) * sizes.f_frsize}
