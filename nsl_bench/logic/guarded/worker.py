"""The child's side of `nsl_bench.logic.guarded.call`: calls functions on request until its parent ends.

A request is a length and a pickle, and can only come from the parent. Answers are messages of
`nsl_bench.logic.guarded.wire`, which cannot execute code. A separate thread listens, so the process notices
the end of its parent even while clingo grounds.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.logic.guarded import wire
from nsl_bench.logic.guarded.memory import own_data

__all__ = ["HEAD", "inside", "main", "needing", "serve", "stage", "tell", "told_to"]

HEAD = struct.Struct("!Q")
"""How a request begins: its length."""

F = TypeVar("F", bound=Callable[..., Any])

_NEEDS = "needs"
_OUT_OF_MEMORY = ("bad_alloc", "allocate memory", "out of memory")
_LONGEST_ERROR = 4000


class _State:
    """What this process is, and who hears the function that runs."""

    channel: socket.socket | None = None
    heard: Callable[[Any], None] | None = None


def inside() -> bool:
    """Whether this process is a child started by `nsl_bench.logic.guarded.call`."""
    return _State.channel is not None


def needing(*modules: str) -> Callable[[F], F]:
    """Declare modules that a function needs, to import them before its time limit starts."""

    def marked(function: F) -> F:
        setattr(function, _NEEDS, modules)
        return function

    return marked


def tell(event: Any) -> None:
    """Send a value to the caller of the running function before it returns.

    Args:
        event: a JSON value, possibly with arrays.
    """
    if _State.channel is not None:
        _send(_State.channel, {"event": event})
    elif _State.heard is not None:
        _State.heard(event)


def stage(doing: str, seconds: float | None, grace: float = 0.0) -> None:
    """Start the next stage of the running function, with a time limit of its own.

    Args:
        doing: description of the stage, which starts a message, e.g. ``"Grounding the hypothesis"``.
        seconds: time limit in seconds (wall time); None for no limit.
        grace: further seconds before it is ended.
    """
    if _State.channel is not None:
        _send(_State.channel, {"stage": doing, "seconds": seconds, "grace": grace})


@contextlib.contextmanager
def told_to(heard: Callable[[Any], None] | None) -> Iterator[None]:
    """Within the block, pass the values of `tell` to `heard`, for functions that run in this process."""
    before, _State.heard = _State.heard, heard
    try:
        yield
    finally:
        _State.heard = before


def serve(channel: socket.socket) -> NoReturn:
    """Answer requests until the parent ends, then end this process."""
    _State.channel = channel
    _be_deaf()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, requests), daemon=True).start()
    while True:
        reply = {**_reply(requests.get()), "spent": _has_abandoned()}
        try:
            _send(channel, reply)
        except TypeError as error:
            _send(channel, {"error": f"TypeError: {error}", "kind": "other", "trace": ""})


def _has_abandoned() -> bool:
    """Whether a function has left work behind that goes on in a thread
    (`nsl_bench.core.budget.abandonable`)."""
    return any(not each.daemon and each is not threading.main_thread() for each in threading.enumerate())


def _be_deaf() -> None:
    # A handler, unlike SIG_IGN, is not handed on to the programs that a function starts.
    signal.signal(signal.SIGINT, lambda number, frame: None)


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    with uninterrupted(), contextlib.suppress(OSError):
        wire.send(channel, message)


def _listen(channel: socket.socket, requests: queue.SimpleQueue[bytes]) -> None:
    buffer = bytearray()
    while True:
        try:
            data = channel.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            os._exit(0)
        buffer += data
        while len(buffer) >= HEAD.size:
            (size,) = HEAD.unpack_from(buffer)
            if len(buffer) < HEAD.size + size:
                break
            requests.put(bytes(buffer[HEAD.size : HEAD.size + size]))
            del buffer[: HEAD.size + size]


def _reply(request: bytes) -> dict[str, Any]:
    """What a function gives, or why it gives nothing."""
    try:
        try:
            folder, path, room, call = pickle.loads(request)
            os.chdir(folder)
            sys.path[:] = path
            _hold(room)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            function, arguments, named = pickle.loads(call)
            for name in getattr(function, _NEEDS, ()):
                importlib.import_module(name)
            if _State.channel is not None:
                _send(_State.channel, {"begun": True})
            return {"done": function(*arguments, **named)}
        finally:
            _be_deaf()
            sys.stdout.flush()
            sys.stderr.flush()
    except UserError as error:
        return {"error": str(error), "kind": "user"}
    except KeyboardInterrupt:
        return {"error": "", "kind": "interrupt"}
    except BaseException as error:  # clingo raises RuntimeError for whatever it cannot do
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST_ERROR]
        starved = isinstance(error, MemoryError) or any(word in text.lower() for word in _OUT_OF_MEMORY)
        lines = traceback.format_exc()[-_LONGEST_ERROR:]
        return {"error": text, "kind": "memory" if starved else "other", "trace": lines}


def _hold(room: int) -> None:
    """Refuse memory far beyond what the parent allows, should it be slow to look."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        bound = own_data() + room
        if most == resource.RLIM_INFINITY or bound < most:
            resource.setrlimit(resource.RLIMIT_DATA, (bound, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(descriptor: int) -> None:
    """Serve on an inherited socket."""
    serve(socket.socket(fileno=descriptor))
