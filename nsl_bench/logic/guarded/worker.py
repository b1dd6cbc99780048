"""The child's side of `nsl_bench.logic.guarded.call`: calls functions on request until its parent ends.

A request is a length and a pickle, and can only come from the parent. Answers are messages of
`nsl_bench.core.processes.messages`, which cannot execute code. A separate thread listens, so the process
notices the end of its parent even while clingo grounds.
"""

import contextlib
import dis
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
from typing import Any, NoReturn

from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import uninterrupted
from nsl_bench.core.processes import messages
from nsl_bench.core.processes.memory import own_data, starved

HEAD = struct.Struct("!Q")
"""How a request begins: its length."""

_LONGEST_ERROR = 4000


class _State:
    """What this process is, and who hears the function that runs."""

    channel: socket.socket | None = None
    on_event: Callable[[Any], None] | None = None


def inside() -> bool:
    """Whether this process is a child started by `nsl_bench.logic.guarded.call`."""
    return _State.channel is not None


def function_of(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """The function that ``"module:function"`` names; a function is itself."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    resolved: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return resolved


def _import_for(function: Callable[..., Any]) -> None:
    """Import the modules that the lines of a function import."""
    if code := getattr(function, "__code__", None):
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                with contextlib.suppress(ImportError):
                    importlib.import_module(step.argval)


def tell(event: Any) -> None:
    """Send a value to the caller of the running function before it returns.

    Args:
        event: a JSON value, possibly with arrays.
    """
    if _State.channel is not None:
        _send(_State.channel, {"event": event})
    elif _State.on_event is not None:
        _State.on_event(event)


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
def sending_to(on_event: Callable[[Any], None] | None) -> Iterator[None]:
    """Within the block, pass the values of `tell` to `on_event`, for functions that run in this process."""
    before, _State.on_event = _State.on_event, on_event
    try:
        yield
    finally:
        _State.on_event = before


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
        messages.send(channel, message)


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
            named_function, arguments, named = pickle.loads(call)
            function = function_of(named_function)
            _import_for(function)
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
        kind = "memory" if isinstance(error, MemoryError) or starved(text) else "other"
        lines = traceback.format_exc()[-_LONGEST_ERROR:]
        return {"error": text, "kind": kind, "trace": lines}


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
