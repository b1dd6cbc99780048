"""Bound a learner's memory by a control group of Linux, where this user may make one.

The kernel then counts all memory that the processes take, its own for them included, and ends them at once.
Counting (`nsl_bench.core.processes.memory`) stays, and has the lower limit, so that a learner gets the same
limit on every machine. Version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html; version 1:
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nsl_bench.core.folders import remove, remove_for_sure

MOST_PROCESSES = 512
"""Processes that a learner may have."""

_ROOT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_MORE_MEMORY = 256 << 20
"""Bytes beyond the limit that is counted: the kernel's own memory, and files that are being read."""

_REMOVING_SECONDS = 2.0


@dataclass(frozen=True)
class ControlGroup:
    """A group of processes with a limit.

    Attributes:
        version: of the kernel's interface: 1 or 2.
    """

    folder: Path
    version: int

    @classmethod
    def made(cls, memory: int, register: Callable[[Path], None]) -> Self | None:
        """A new group; None where this user may make none.

        Args:
            memory: the limit that is counted, in bytes.
            register: called with the folder before it is made, to have it removed if this process is killed.
        """
        most = str(memory + _MORE_MEMORY)
        remove_left(0.1)
        for version, parent in _parents():
            group = cls(parent / f"nsl-bench-{os.getpid()}-{secrets.token_hex(4)}", version)
            limit = {1: "memory.limit_in_bytes", 2: "memory.max"}[version]
            more = {
                1: {"memory.memsw.limit_in_bytes": most},
                2: {"memory.swap.max": "0", "memory.oom.group": "1", "pids.max": str(2 * MOST_PROCESSES)},
            }[version]
            register(group.folder)
            try:
                group.folder.mkdir()
                (group.folder / limit).write_text(most, encoding="ascii")
            except OSError:  # read-only, another user's, or without the controller of memory
                remove(group.folder)
                continue
            for name, value in more.items():
                with contextlib.suppress(OSError):  # a kernel may lack it
                    (group.folder / name).write_text(value, encoding="ascii")
            return group
        return None

    @property
    def entry(self) -> Path:
        """The file to which a process writes ``0`` to join."""
        return self.folder / "cgroup.procs"

    @property
    def exceeded(self) -> bool:
        """Whether the kernel ended a process at the limit, not because the machine lacked memory."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            if self.version == 2:
                lines = (self.folder / "memory.events").read_text(encoding="ascii").splitlines()
                return int(dict(line.split() for line in lines)["oom"]) > 0
            most, limit = (
                int((self.folder / f"memory.{name}_in_bytes").read_text()) for name in ("max_usage", "limit")
            )
            return most >= limit and "oom_kill 0" not in (self.folder / "memory.oom_control").read_text()
        return False

    def close(self) -> None:
        """End the processes that are left, and remove it."""
        if self.version == 2:
            with contextlib.suppress(OSError):
                (self.folder / "cgroup.kill").write_text("1", encoding="ascii")
        remove_for_sure(self.folder, _REMOVING_SECONDS)  # it is in use until the last process is gone


def remove_left(seconds: float = _REMOVING_SECONDS) -> None:
    """Remove the groups whose makers are gone, and with them the processes that should have done so.

    Args:
        seconds: how long to wait for each, while its last processes end.
    """
    for _, parent in _parents():
        for folder in parent.glob("nsl-bench-*-*"):
            maker = folder.name.split("-")[2]
            if maker.isdigit() and not Path("/proc", maker).exists():
                remove_for_sure(folder, seconds)


def _parents() -> Iterator[tuple[int, Path]]:
    """Groups in which this user may be able to make one: its own, and the one around that.

    In version 2 a group with processes of its own cannot bound groups inside it, so the one around it comes
    into question, too; systemd hands it over to users (``Delegate=yes``).
    """
    with contextlib.suppress(OSError, ValueError):
        for line in sorted(_OWN.read_text(encoding="utf-8").splitlines()):
            number, controllers, path = line.split(":", 2)
            if number == "0":
                for root in (_ROOT, _ROOT / "unified"):
                    own = root / path.lstrip("/")
                    if (own / "cgroup.procs").exists():
                        yield 2, own
                        if own != root:
                            yield 2, own.parent
            elif "memory" in controllers.split(","):
                yield 1, _ROOT / "memory" / path.lstrip("/")
