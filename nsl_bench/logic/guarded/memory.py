"""Memory use of a process."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["own_data", "resident"]


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
        fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return int(fields[column]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError, AttributeError):
        return 0
