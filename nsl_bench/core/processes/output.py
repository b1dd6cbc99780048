"""Output of a process. However long it is, only its beginning and its last lines are kept."""

import os
import re

_HEAD = 1 << 18
_TAIL = 1 << 16
_COMMANDS = re.compile(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]")


class Output:
    """The read end of a process's standard output and error."""

    def __init__(self) -> None:
        self.descriptor, self.sink = os.pipe()
        os.set_blocking(self.descriptor, False)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def drain(self) -> bool:
        """Read the available output, at most 4 MiB; False if all writers have closed it."""
        if self.descriptor < 0:
            return False
        for _ in range(64):
            try:
                data = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._total += len(data)
            room = _HEAD - len(self._head)
            self._head += data[:room]
            self._tail += data[room:] if room > 0 else data
            if len(self._tail) > 2 * _TAIL:
                del self._tail[:-_TAIL]
        return True

    def text(self) -> str:
        """The kept output, in which nothing commands a terminal."""
        tail = self._tail[-_TAIL:]
        left_out = self._total - len(self._head) - len(tail)
        note = f"\n[{left_out} bytes left out]\n".encode() if left_out > 0 else b""
        lines = bytes(self._head + note + tail).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return _COMMANDS.sub("\ufffd", lines.decode("utf-8", "replace"))

    def take(self) -> str:
        """Return the kept output and clear it."""
        text = self.text()
        self._head.clear()
        self._tail.clear()
        self._total = 0
        return text

    def last_lines(self, count: int = 10, width: int = 300) -> str:
        """The last lines that are not empty, at most `count`, each cut to `width` characters."""
        lines = [line.rstrip()[:width] for line in self.text().splitlines() if line.strip()]
        return "\n".join(lines[-count:])

    def close_sink(self) -> None:
        """Close the writers' end here, once the process has it."""
        if self.sink >= 0:
            os.close(self.sink)
        self.sink = -1

    def close(self) -> None:
        """Close both ends, after reading what is there."""
        self.close_sink()
        if self.descriptor >= 0:
            self.drain()
            os.close(self.descriptor)
        self.descriptor = -1
