"""A process that has imported and read all there is, and forks itself for each case of the mutation test.

`Worker` is the test's side. The process hears a line of JSON a case and answers with one: what the program
said, the signal that ended it, its wall seconds and its peak of memory, its children's among it.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mutations import COMMANDS, answer, materials

__all__ = ["SECONDS", "Worker"]

SECONDS = 60
"""A case that takes longer is ended by SIGALRM."""

_ROOM = 4 << 30
"""More memory than this is refused to a case, should it ask for so much at once."""


class Worker:
    """The process, from the test's side.

    Args:
        top: where the materials are made.
    """

    def __init__(self, top: Path) -> None:
        quiet = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with (top / "worker.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(top)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **quiet},
                text=True,
            )
        self.plain: dict[str, dict[str, Any]] = self._hear(top)

    def ask(self, kind: str, folder: Path, which: int) -> dict[str, Any]:
        """The program's answer to a changed folder.

        Args:
            kind: of the material.
            folder: where it is.
            which: of the commands of a results folder is given, besides the first.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([kind, str(folder), which]) + "\n")
        self._process.stdin.flush()
        return self._hear(folder)

    def _hear(self, about: Path) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the worker died of {about}"
        heard: dict[str, Any] = json.loads(line)
        return heard

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)


def _commands(kind: str, which: int) -> list[list[str]]:
    first, *others = COMMANDS[kind]
    return [first, others[which % len(others)]] if others else [first]


def _said(top: Path, kind: str, folder: str, commands: list[list[str]]) -> dict[str, Any]:
    found = answer(commands, folder, str(top / "board.toml"))
    scores = Path(f"{folder}.scores")
    return {**found, "scores": scores.read_text() if scores.is_file() else ""}


def _forked(top: Path, kind: str, folder: str, which: int) -> dict[str, Any]:
    """The answer to one case, given in a process of its own."""
    told, began, base = Path(f"{folder}.told"), time.monotonic(), _resident()
    process = os.fork()
    if process == 0:
        try:
            _be_case(top, kind, folder, which, told, base)
        finally:
            os._exit(70)
    _, status, used = os.wait4(process, 0)
    ended = os.waitstatus_to_exitcode(status)
    found: dict[str, Any] = {
        "code": 70,
        "said": [],
        "trace": f"it ended with {ended}",
        "scores": "",
        "peak": 0,
    }
    if ended == 0:
        found = json.loads(told.read_text())
    found["signal"] = max(0, -ended)
    found["seconds"] = time.monotonic() - began
    found["peak"] = max(found.get("peak", 0), used.ru_maxrss * 1024)
    return found


def _be_case(top: Path, kind: str, folder: str, which: int, told: Path, base: int) -> None:
    from nsl_bench.isolation import guard

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (base + _ROOM, base + _ROOM))
    found = _said(top, kind, folder, _commands(kind, which))
    guard._pool.close()
    signal.alarm(0)
    mine, below = (resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, -1))
    # What a child shares with this process is counted once.
    found["peak"] = mine + max(0, below - base)
    told.write_text(json.dumps(found))
    os._exit(0)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(top: Path) -> None:
    """Make the materials, read them all once in this process, and then fork for each case."""
    from nsl_bench.isolation import guard

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    materials(top)
    plain = {}
    guard._in_place = True  # what is imported and kept here is there in every fork
    for kind, commands in COMMANDS.items():
        folder = shutil.copytree(top / kind, top / "plain" / kind)
        plain[kind] = _said(top, kind, str(folder), commands)
    guard._in_place = False
    gc.collect()
    gc.freeze()  # collecting would copy every page of every fork
    print(json.dumps(plain), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(_forked(top, *json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
