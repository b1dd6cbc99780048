"""Calls measured one by one: a process that has imported all there is forks itself for each.

`Calls` is the test's side. The process makes its preparations, then hears a line of JSON a call and answers
with one: what the function gave, the signal that ended it, seconds, and the peak of memory, its children's
among both.
"""

import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 60
"""A call that takes longer is ended by SIGALRM."""

_ROOM = 4 << 30
"""More memory than this is refused to a call, should it ask for so much at once."""


class Calls:
    """The process, from the test's side.

    Args:
        place: an empty folder for its files.
        prepare: ``"module:function"``, called once before all others.
        arguments: of `prepare`.

    Attributes:
        prepared: what `prepare` gave.
    """

    def __init__(self, place: Path, prepare: str, *arguments: Any) -> None:
        quiet = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._log = place / "log"
        with self._log.open("wb") as log:
            words, env = [sys.executable, __file__, str(place)], {**os.environ, **quiet}
            self._process = subprocess.Popen(words, stdin=-1, stdout=-1, stderr=log, env=env, text=True)
        self.prepared = self._answer(prepare, *arguments)

    def call(self, function: str, *arguments: Any) -> dict[str, Any]:
        """Call a function (``"module:function"``) in a fork, with arguments that JSON can say.

        Returns:
            ``given`` (what it gave, as JSON), ``signal`` (0 if none ended it), ``trace`` (of what it raised),
            ``wall`` and ``cpu`` in seconds, ``more``, the bytes that the call took itself, and ``peak``, in
            which those are counted that the process had before.
        """
        found: dict[str, Any] = self._answer(function, *arguments)
        return found

    def _answer(self, *words: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the process died of {words}: {self._log.read_text()[-2000:]}"
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _forked(told: Path, function: Callable[..., Any], arguments: list[Any]) -> dict[str, Any]:
    began, base = time.monotonic(), _resident()
    process = os.fork()
    if process == 0:
        try:
            _call(told, function, arguments)
        finally:
            os._exit(70)
    _, status, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    found: dict[str, Any] = {"given": None, "trace": f"exit code {code}", "more": used.ru_maxrss * 1024}
    if code == 0:
        found = json.loads(told.read_text())
    return {
        **found,
        "signal": max(0, -code),
        "wall": time.monotonic() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": base + found["more"],
    }


def _call(told: Path, function: Callable[..., Any], arguments: list[Any]) -> None:
    import traceback

    from nsl_bench.logic.guarded import call

    base = _resident()  # less than the parent's: not all of it is mapped at once
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (base + _ROOM, base + _ROOM))
    given, trace = None, ""
    try:
        given = function(*arguments)
    except BaseException:
        trace = traceback.format_exc()
    call._pool.close()  # the children's memory and time are known once they are gone
    signal.alarm(0)
    own, below = (resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, -1))
    # What a child shares with this process is counted once.
    more = max(0, own - base) + max(0, below - base)
    told.write_text(json.dumps({"given": given, "trace": trace, "more": more}))
    os._exit(0)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _main(place: Path) -> None:
    from nsl_bench.logic.guarded import call

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, *arguments = json.loads(sys.stdin.readline())
    call._in_place = True  # what is imported and kept here is there in every fork
    print(json.dumps(_function(name)(*arguments)), file=out, flush=True)
    call._in_place = False
    gc.collect()
    gc.freeze()  # collecting would copy every page of every fork
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(_forked(place / "told", _function(name), arguments)), file=out, flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
