"""Messages between processes: JSON with arrays, which cannot execute code.

A message is a length, a JSON header, and the bytes of the arrays. Arrays can have numbers, booleans and
fixed-width strings. Tuples travel as lists and dataclasses as objects (`restored`). The sender may be
hostile, so messages of another form or above the permitted length raise a `ValueError`.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from itertools import islice
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import numpy as np

_HEAD = struct.Struct("!QQ")
_KINDS = frozenset("biufU")
_KEY = "__array__"
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{,]', re.DOTALL)
_UNPRINTABLE = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u000[9aA]"  # these two are kept
    r"|(?P<unprintable>\\u(?:[dD][89a-fA-F]..|00[0189][0-9a-fA-F]|007[fF])|\\[bfr]|[\x7f-\x9f])|\\.",
    re.DOTALL,
)
"""In JSON: characters that command a terminal, and halves of characters, which no file can hold."""

_SMALL, _BYTES_EACH = 1 << 20, 16
"""A longer text has at most one string, bracket or comma for each 16 bytes allowed."""


def encode(message: Any) -> bytes:
    """Encode a message as bytes.

    Raises:
        TypeError: a value is neither a JSON value, a dataclass nor an array of plain values.
    """
    arrays: list[np.ndarray[Any, Any]] = []

    def pack(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        np = sys.modules.get("numpy")
        if np is None:
            raise TypeError(f"a {type(value).__name__} cannot be sent")
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in _KINDS:
                raise TypeError(f"an array of {value.dtype} cannot be sent")
            # the byte order is the machine's on both sides
            arrays.append(np.ascontiguousarray(value.astype(value.dtype.newbyteorder("="), copy=False)))
            return {_KEY: [len(arrays) - 1, value.dtype.str.lstrip("<>=|"), list(value.shape)]}
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"a {type(value).__name__} cannot be sent")

    header = json.dumps(message, default=pack).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return _HEAD.pack(len(header), len(body)) + header + body


class Decoder:
    """Decodes messages from the pieces in which they arrive.

    Args:
        most: maximum size of a message in bytes.
        strange: whether the sender is a stranger, whose texts may be printed and stored: in these, characters
            that are not printable become U+FFFD, except line ends and tabs.

    Attributes:
        most: maximum size of the next message in bytes.
        most_text: maximum size of its part that is not the content of arrays, which takes many times the
            memory once it is read; None for no other limit.
        sizes: of that part, and of the arrays' content, in the last message.
    """

    def __init__(self, most: int, *, strange: bool = False) -> None:
        self.most, self._strange = most, strange
        self.most_text: int | None = None
        self.sizes = (0, 0)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add the next piece."""
        self._buffer += data

    def clear(self) -> None:
        """Forget what has arrived."""
        self._buffer.clear()

    def next(self) -> Any:
        """The next complete message; None if it has not arrived yet.

        Raises:
            ValueError: the data is not a message.
        """
        if len(self._buffer) < _HEAD.size:
            return None
        header_size, body_size = _HEAD.unpack_from(self._buffer)
        if header_size + body_size > self.most:
            raise ValueError(f"a message of {header_size + body_size} bytes; {self.most} are allowed")
        if self.most_text is not None and header_size > self.most_text:
            raise ValueError(f"a message with a text of {header_size} bytes; {self.most_text} are allowed")
        end = _HEAD.size + header_size + body_size
        if len(self._buffer) < end:
            return None
        taken, self._buffer = self._buffer, self._buffer[end:]
        self.sizes = header_size, body_size
        content = memoryview(taken)[_HEAD.size : end]
        header = bytes(content[:header_size])
        if self.most_text is not None and header_size > _SMALL:
            most = self.most_text // _BYTES_EACH  # a list of empty lists takes 20 times its text
            if next(islice(_TOKEN.finditer(header), most, None), None) is not None:
                raise ValueError(f"a message of more than {most} values and brackets")
        text = header.decode("utf-8", "replace" if self._strange else "surrogatepass")
        return _decode(_UNPRINTABLE.sub(_printable, text) if self._strange else text, content[header_size:])


def _printable(match: re.Match[str]) -> str:
    unprintable = match["unprintable"]
    return ("\\n" if unprintable == "\\r" else "\\ufffd") if unprintable else match[0]


def _decode(header: str, body: memoryview) -> Any:
    offsets: dict[int, int] = {}
    position = 0

    def unpack(value: dict[str, Any]) -> Any:
        nonlocal position
        if _KEY not in value:
            return value
        import numpy as np  # only where there are arrays: small commands do without it

        number, code, shape = value[_KEY]
        dtype = np.dtype(code)
        if dtype.kind not in _KINDS or number != len(offsets) or any(side < 0 for side in shape):
            raise ValueError("an array of a forbidden form")
        size = dtype.itemsize
        for side in shape:
            size *= side
        if position + size > len(body):
            raise ValueError("an array longer than its message")
        offsets[number] = position
        count = size // dtype.itemsize if dtype.itemsize else 0
        array = np.frombuffer(body, dtype, count=count, offset=position)
        position += size
        return array.reshape(shape).copy()

    try:
        return json.loads(header, object_hook=unpack)
    except (TypeError, KeyError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"no message: {error}") from error


def restored(kind: Any, value: Any) -> Any:
    """A value that was sent, as what it was before: tuples, lists and dataclasses of plain values.

    Args:
        kind: its type, as an annotation says it.
        value: what arrived.

    Raises:
        TypeError: it is something else; or another error, if the sender is hostile.
    """
    make = _maker(kind)
    return value if make is None else make(value)


@lru_cache(maxsize=256)
def _maker(kind: Any) -> Callable[[Any], Any] | None:
    """A function that turns a received value into one of a type; None where nothing is to be done."""
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if outer in (Union, UnionType):
        makers = [make for one in inner if one is not NoneType and (make := _maker(one))]
        return (lambda value: None if value is None else makers[0](value)) if makers else None
    if outer is tuple and inner and inner[-1] is not ...:
        kinds = inner
        return lambda value: tuple(restored(one, each) for one, each in zip(kinds, value, strict=True))
    if outer in (tuple, list) and inner:
        make = _maker(inner[0])
        if make is None:
            return tuple if outer is tuple else None
        each_made = make
        return lambda value: outer(map(each_made, value))
    if is_dataclass(kind):
        return partial(_dataclass, outer, get_type_hints(kind))
    return None


def _dataclass(kind: Any, hints: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, kind):  # from a function that was called in this process
        return value
    return kind(**{name: restored(hints[name], each) for name, each in value.items()})


def send(channel: socket.socket, message: Any) -> None:
    """Send a message; blocks until the other side has received it."""
    channel.sendall(encode(message))


def receive(channel: socket.socket, decoder: Decoder) -> Any:
    """Wait for the next message.

    Raises:
        EOFError: the other side has closed the connection.
    """
    while (message := decoder.next()) is None:
        data = channel.recv(1 << 20)
        if not data:
            raise EOFError
        decoder.feed(data)
    return message
