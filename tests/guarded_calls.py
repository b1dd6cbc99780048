"""Functions for a guard's child to call."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded.worker import inside, stage, tell
from nsl_bench.run.mock_tasks import Patches

_create = registry.create

JOIN = "m(1..5000). s :- m(A), m(B), m(C), A+B+C = -1."


def create_with_patches(kind: Any, spec: Any, **extra: Any) -> Any:
    """`registry.create` that knows the task patches."""
    return Patches() if (kind, str(spec)) == ("benchmark", "patches") else _create(kind, spec, **extra)


def said(value: Any) -> Any:
    return value


def where() -> tuple[int, bool]:
    return os.getpid(), inside()


def doubled(array: Any) -> Any:
    return {"array": 2 * np.asarray(array)}


def refuses() -> None:
    raise UserError("No such thing.")


def fails() -> None:
    raise KeyError("x")


def told() -> int:
    for k in range(3):
        tell({"step": k})
    return 3


def prints() -> None:
    print("a line")
    print("another", file=sys.stderr)


def killed(number: int) -> None:
    os.kill(os.getpid(), number)


def aborts(*given: Any) -> None:
    """Dies as pyarrow does of a damaged file."""
    os.kill(os.getpid(), signal.SIGABRT)


def starved() -> int:
    return sum(map(len, [b"x" * (1 << 24) for _ in range(1 << 10)]))


def refused_memory() -> None:
    raise MemoryError("std::bad_alloc")


def grounded(text: str, pid: Path | None = None) -> int:
    import clingo

    if pid is not None:
        pid.write_text(str(os.getpid()))
    control = clingo.Control(["--warn=none"], logger=lambda *_: None)
    control.add("base", [], text)
    control.ground([("base", [])])
    return len(control.symbolic_atoms)


def slow_stages() -> None:
    stage("Walking", 5)
    time.sleep(0.3)
    stage("Running", 0.2)
    time.sleep(10)


def heeding() -> str:
    """Ends well on the first Ctrl-C."""
    tell("ready")
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        return "heard"
    return "slept"


def ignoring() -> None:
    """Hears no Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tell("ready")
    time.sleep(60)


def sent(value: Any) -> Any:
    return object()
