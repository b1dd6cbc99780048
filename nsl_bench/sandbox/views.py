"""A view in a learner's process, whose content the harness has.

`card_of` is what is sent at the start. `RemoteView` asks for the rest through a `Channel`, and `answer` is
the harness's side: the real view answers, and refuses what its track does not allow. Which attributes are
sent and which are asked for is stated in `nsl_bench.learners.view` alone.
"""

import inspect
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, cast, get_type_hints

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.processes import messages
from nsl_bench.learners.images import Images, Slots
from nsl_bench.learners.view import ASKED, BATCH, Asked, TrackError, View

_MOST = 1 << 40
_CASTS: dict[Any, Callable[[Any], Any]] = {
    **{kind: kind for kind in (int, float, bool, str)},
    Sequence[int]: lambda values: [int(value) for value in values],
    Sequence[str]: lambda values: [str(value) for value in values],
}
"""How an argument of a question becomes one of its type; what has another type, such as arrays, stays."""

_KINDS = {"track": TrackError, "not_applicable": NotApplicable, "user": UserError}


def card_of(view: View) -> dict[str, Any]:
    """The content of a view that a learner's process gets at the start."""
    card = {name: getattr(view, name) for name in View.__annotations__}
    columns = {name: np.asarray(column) for name, column in view.metadata.items()}
    fixed = {name: each.astype(str) if each.dtype.kind == "O" else each for name, each in columns.items()}
    return {**card, "metadata": fixed, "view": id(view)}


def answer(view: View, question: dict[str, Any]) -> dict[str, Any]:
    """Answer a question of a learner's process about a view, or refuse it.

    Args:
        question: ``ask``, a name in `nsl_bench.learners.view.ASKED`, and the arguments by name.
    """
    try:
        member = ASKED.get(str(question["ask"]))
        if member is None:
            raise UserError(f"A view has no '{str(question['ask'])[:50]}'.")
        value = getattr(view, member.function.__name__)
        if callable(value):
            hints = get_type_hints(member.function)
            names = [name for name in inspect.signature(value).parameters if name in question]
            value = value(**{name: _CASTS.get(hints[name], _same)(question[name]) for name in names})
        return {"answer": value}
    except UserError as error:
        kind = next(kind for kind, family in _KINDS.items() if isinstance(error, family))
        return {"error": str(error), "kind": kind}
    except Exception as error:  # the question may be anything
        return {"error": f"{type(error).__name__}: {error}", "kind": "other"}


def _same(value: Any) -> Any:
    return value


class Channel:
    """Questions to the harness; learners may ask from several threads and processes.

    Processes of a learner take turns by the system's own lock and not by `nsl_bench.core.cache.lock`, which
    polls: a question would wait for the next poll. This runs only where processes can be forked, so `fcntl`
    exists.
    """

    def __init__(self, descriptor: int, scratch: Path) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.decoder = messages.Decoder(_MOST)
        self._threads = threading.RLock()
        self._turn = scratch / ".turn"

    def ask(self, what: str, **given: Any) -> Any:
        """The harness's answer.

        Raises:
            UserError: the view refuses it (`TrackError`, `NotApplicable`).
            RuntimeError: it failed for another reason.
        """
        import fcntl

        with self._threads, self._turn.open("w") as turn:
            fcntl.lockf(turn, fcntl.LOCK_EX)
            messages.send(self.socket, {"ask": what, **given})
            reply = messages.receive(self.socket, self.decoder)
        if "error" in reply:
            raise _KINDS.get(reply["kind"], RuntimeError)(reply["error"])
        return reply["answer"]


class RemoteView(View):
    """A view whose content is requested from the harness."""

    def __init__(self, card: dict[str, Any], channel: Channel) -> None:
        self._id, self._channel = card["view"], channel
        for name, kind in get_type_hints(View).items():
            setattr(self, name, messages.restored(kind, card[name]))
        self.reported, self.begun = (), perf_counter()
        self._answers: dict[Any, Any] = {}
        self._benchmark = cast(Benchmark, None)  # all that needs it is asked for
        self._images = _RemoteImages(self) if self.has_images else None

    def _ask(self, name: str, member: Asked, given: dict[str, Any]) -> Any:
        key = (name, self.is_bare, *given.items()) if member.once else None
        if key is None or key not in self._answers:
            bare = {"unlabelled": True} if self.is_bare else {}
            value = self._channel.ask(name, view=self._id, **bare, **given)
            value = messages.restored(get_type_hints(member.function)["return"], value)
            if key is None:
                return value
            self._answers[key] = value
        return self._answers[key]


def _remote(name: str, member: Asked) -> Any:
    """The member of `RemoteView` in place of one of `View`."""
    function = member.function
    hints, signature = get_type_hints(function), inspect.signature(function)

    def ask(self: RemoteView, *positional: Any, **named: Any) -> Any:
        given = signature.bind(self, *positional, **named).arguments
        given.pop("self")
        return self._ask(
            name, member, {each: _CASTS.get(hints[each], _same)(value) for each, value in given.items()}
        )

    ask.__name__, ask.__doc__ = function.__name__, function.__doc__
    kind = type(vars(View)[function.__name__])
    if kind is cached_property:
        remembered = cached_property(ask)
        remembered.__set_name__(RemoteView, function.__name__)
        return remembered
    return property(ask) if kind is property else ask


for _name, _member in ASKED.items():
    setattr(RemoteView, _member.function.__name__, _remote(_name, _member))


class _RemoteImages(Images):
    """Images that the harness renders when asked for."""

    def __init__(self, view: RemoteView) -> None:
        self._view = view

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            rows = range(*i.indices(len(self)))
            return [slots for k in range(0, len(rows), BATCH) for slots in self._rows(rows[k : k + BATCH])]
        if not -len(self) <= i < len(self):
            raise IndexError(f"example {i} of {len(self)}")
        return self._rows([int(i) % len(self)])[0]

    def __iter__(self) -> Iterator[Slots]:
        for start in range(0, len(self), BATCH):
            yield from self._rows(range(start, min(start + BATCH, len(self))))

    def _rows(self, rows: Sequence[int]) -> list[Slots]:
        sent = self._view.rendered(rows)
        images = iter(sent["images"])
        return [[next(images) if there else None for there in row] for row in sent["present"].tolist()]
