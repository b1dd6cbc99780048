"""A process that lacks what Windows lacks, and does there what needs no sandbox.

`tests/test_platforms.py` runs it as a program in an empty folder. It writes ``told.json``: what could not be
imported, and how each command ended. What Python's and others' libraries for Linux cannot be imported without
stays, e.g. ``os.uname`` and ``os.statvfs``; `subprocess` and `psutil` are imported before anything is
taken away.
"""

import builtins
import contextlib
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil  # noqa: F401

MODULES = ("fcntl", "grp", "pwd", "resource", "syslog")
OF_TERMINALS = ("pty", "termios", "tty")
"""Hidden from nsl-bench alone: huggingface-hub imports them wherever the system is not Windows."""

OF_OS = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "WNOHANG", "chown", "fchmod", "fchown", "fork"),
    *("forkpty", "getloadavg", "getpgid", "killpg", "lchown", "mkfifo"),
    *("memfd_create", "nice", "posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite"),
    *("sched_getaffinity", "sched_setaffinity", "setsid", "sysconf", "wait3", "wait4"),
)
OF_SIGNAL = ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "pthread_kill", "pthread_sigmask", "setitimer")
OF_SOCKET = ("recv_fds", "send_fds")

TASK = """
#modeh(p). #modeh(q). #modeb(r). #modeb(not r).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(one@5, {p}, {q}, {r.}).
#pos(two@5, {q}, {p}, {}).
"""

RUN = [
    *("run", "sudoku_4x4", "--learner", "majority", "--track", "symbolic"),
    *("--repeats", "1", "--jobs", "1", "--out", "results"),
]

COMMANDS = {
    "list": ["list"],
    "doctor": ["doctor"],
    "learn": ["learn", "task.las", "--json", "--time-limit", "60", "--memory-limit", "4000"],
    "sandboxed run": RUN,
    "run": [*RUN, "--isolation", "none"],
    "report": ["report", "results", "--no-curves"],
    "compact": ["store", "compact", "results"],
}


def restrict() -> None:
    """Take away what is not there on every system."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    plain = builtins.__import__

    def ours(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name in OF_TERMINALS and str((globals or {}).get("__name__")).startswith("nsl_bench"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return plain(name, globals, locals, fromlist, level)

    builtins.__import__ = ours

    def run(*_: Any, **__: Any) -> None:
        raise OSError("Linux's subprocess starts nothing without what is taken away")

    subprocess.run = run
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def imports() -> dict[str, str]:
    """The modules of the package that cannot be imported, and why."""
    import nsl_bench

    failed = {}
    for found in pkgutil.walk_packages(nsl_bench.__path__, "nsl_bench.", onerror=lambda name: None):
        if found.name != "nsl_bench.__main__":
            try:
                importlib.import_module(found.name)
            except Exception as error:
                failed[found.name] = repr(error)
    return failed


def command(run: Callable[[list[str]], None], words: list[str]) -> dict[str, object]:
    """How a command ends, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(words)
        except SystemExit as ended:
            code = ended.code
        except BaseException as error:
            code = repr(error)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def first_rows() -> object:
    """What the first two examples of a task show, or why they cannot be loaded."""
    try:
        from nsl_bench import load

        rows = load("sudoku_4x4", split="train")
        return [rows[i]["concepts"] for i in range(2)]
    except Exception:
        return traceback.format_exc()


def main() -> None:
    restrict()
    Path("task.las").write_text(TASK, encoding="utf-8")
    from nsl_bench.cli import main as program
    from nsl_bench.cli import run

    told: dict[str, object] = {"imports": imports()}
    names = program.list_commands(None)  # type: ignore[arg-type]
    told["helps"] = {name: command(run, [name, "--help"]) for name in names}
    told["done"] = {name: command(run, words) for name, words in COMMANDS.items()}
    told["rows"] = first_rows()
    Path("told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
