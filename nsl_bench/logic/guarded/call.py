"""Call functions in a separate process, because untrusted rules and files can hang or crash a process.

Grounding of rules may never terminate, and clingo cannot always be stopped meanwhile. An integer division
that overflows crashes clingo's process. A damaged parquet file can crash the process that reads it. `guarded`
therefore calls a function in a child process with limits on wall time and memory, which is kept for the next
call. Rules and tables are not code, so the child has no sandbox (`nsl_bench.sandbox.sandbox`).

If processes cannot be forked (Windows), functions run in this process, with their own limits only.
"""

import atexit
import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

from nsl_bench.core.processes.memory import resident
from nsl_bench.logic.guarded import worker
from nsl_bench.logic.guarded.child import Advice, Allowance, Child

_MOST_KEPT = 1 << 30
"""A child that holds more between two calls is replaced, in bytes."""

_CHILDREN = hasattr(os, "fork")
"""Whether a child process can be held to limits; Windows has neither sockets to inherit nor groups to end."""

RULES = Advice(
    "rules with fewer variables, or smaller numbers in them, need less",
    "crashed clingo",
    {
        "SIGFPE": "an integer division overflows or divides by zero, as in -2147483648 / -1 or 1 \\ 0",
        "SIGSEGV": "terms and statements that are nested less deep may help",
    },
)
"""For functions that ground rules."""


def guarded(
    function: Callable[..., Any] | str,
    /,
    *arguments: Any,
    doing: str,
    allowance: Allowance | None = None,
    on_event: Callable[[Any], None] | None = None,
    interruptible: bool = False,
    advice: Advice = RULES,
    **named: Any,
) -> Any:
    """Call ``function(*arguments, **named)`` in a separate process.

    Args:
        function: a function of a module, or ``"module:function"``, which only the child imports. It must
            return JSON values, arrays or dataclasses (`nsl_bench.core.processes.messages.restored`). Modules
            that its own lines import are imported before its time begins.
        arguments: arguments that can be pickled.
        doing: description of the call, which starts a message, e.g. ``"Grounding the hypothesis"``.
        allowance: resource limits.
        on_event: called with the values that the function passes to `nsl_bench.logic.guarded.worker.tell`.
        advice: further parts of a message.
        interruptible: whether the function handles the first Ctrl-C itself, and only a second one ends it.
        named: further arguments, by name.
    """
    if not _CHILDREN or _in_place or worker.inside():
        with worker.sending_to(on_event):
            return worker.function_of(function)(*arguments, **named)
    call = pickle.dumps((function, arguments, named), pickle.HIGHEST_PROTOCOL)
    with _pool.child() as child:
        return child.call(
            call, doing, allowance or Allowance(), on_event, advice, interruptible=interruptible
        )


def prepare() -> None:
    """Start a child process now, to save time later."""
    if _CHILDREN and not _in_place and not worker.inside():
        with _pool.child():
            pass


def call_here() -> None:
    """From now on, let `guarded` call functions in this process, without a child."""
    global _in_place
    _in_place = True


_in_place = False


class _Pool:
    """The children that are not busy; a call takes one, or starts one, for as long as it lasts."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._idle: list[Child] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def child(self) -> Iterator[Child]:
        """A child for the block."""
        child = self._take() or Child()
        try:
            yield child
        finally:
            if child.channel.fileno() < 0:
                pass
            elif resident(child.process) > _MOST_KEPT:
                child.close()
            else:
                with self._lock:
                    self._idle.append(child)

    def _take(self) -> Child | None:
        with self._lock:
            if self._owner != os.getpid():  # forked: the parent's children are not ours
                self._owner, self._idle = os.getpid(), []
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                child.close()
        return None

    def close(self) -> None:
        """End the children."""
        if self._owner == os.getpid():
            while (child := self._take()) is not None:
                child.close()


_pool = _Pool()
atexit.register(_pool.close)
