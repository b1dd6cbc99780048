"""The way out of a sandbox without a network: a proxy in the harness, which reaches public addresses only.

An installer needs the package index. Its process has a network of its own, in which nothing answers but a
socket that this proxy accepts on. So it reaches neither the services of this machine and its local network
nor sockets without a file, whichever way it connects. The usual index and the hosts of the user's index
settings are reached wherever they are. The user's own proxy, if there is one, is asked for the rest.
"""

import base64
import contextlib
import ipaddress
import re
import select
import socket
import threading
import urllib.request
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

_SECONDS = 60.0
_MOST_CONNECTIONS = 64
_LONGEST_HEAD = 1 << 16
_REQUEST = re.compile(rb"([A-Z]+) (\S+) (HTTP/1\.[01])\r\n")
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_USUAL = ("pypi.org", "files.pythonhosted.org")
"""The index that nobody needs to name, which a site may answer for itself."""

_INDEXES = ("PIP_", "UV_")
_HOP = (b"proxy-", b"connection:", b"keep-alive:")
_PORTS = {"http": 80, "https": 443}


class Gate:
    """A proxy for one sandbox, until it is closed.

    Args:
        listener: a socket in the sandbox's network, which listens.
        settings: environment variables of installers; the hosts of the indexes that they name are allowed.
            A proxy is not among them: it would reach this machine's network for whoever asks.
    """

    def __init__(self, listener: socket.socket, settings: Mapping[str, str]) -> None:
        self._listener = listener
        indexes = [value for name, value in settings.items() if name.startswith(_INDEXES)]
        words = [word for value in indexes for word in value.split()]
        addresses = [urlsplit(word) for word in words if "://" in word]
        self._named = {(url.hostname, _port(url)) for url in addresses if url.hostname}
        self._named |= {(host, _PORTS["https"]) for host in _USUAL}
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            if self._free.acquire(blocking=False):
                threading.Thread(target=self._answer, args=(caller,), daemon=True).start()
            else:
                caller.close()

    def _answer(self, caller: socket.socket) -> None:
        try:
            with caller, contextlib.suppress(OSError, ValueError):
                caller.settimeout(_SECONDS)
                head = b""
                while (
                    b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD and (data := caller.recv(1 << 14))
                ):
                    head += data
                self._forward(caller, head)
        finally:
            self._free.release()

    def _forward(self, caller: socket.socket, head: bytes) -> None:
        request = _REQUEST.match(head)
        if request is None:
            raise ValueError("no request")
        tunnel = request[1] == b"CONNECT"
        url = urlsplit(("//" if tunnel else "") + request[2].decode("ascii"))
        scheme, host = ("https" if tunnel else "http"), url.hostname or ""
        port = _port(url, scheme)
        upstream = urllib.request.getproxies().get(scheme)
        if upstream is not None and not urllib.request.proxy_bypass(host):
            if not self._may_name(host, port):
                caller.sendall(_REFUSED)
                return
            proxy = urlsplit(upstream)
            with socket.create_connection((proxy.hostname or "", proxy.port or 80), _SECONDS) as other:
                line, _, rest = head.partition(b"\r\n")
                other.sendall(line + b"\r\n" + _authorization(proxy) + rest)
                _pump(caller, other)
            return
        address = self._address(host, port)
        if address is None:
            caller.sendall(_REFUSED)
            return
        with socket.create_connection(address, timeout=_SECONDS) as other:
            if tunnel:
                caller.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                other.sendall(head.partition(b"\r\n\r\n")[2])
            else:  # one request a connection, as another one could name another host
                path = (url.path or "/") + (f"?{url.query}" if url.query else "")
                lines = [
                    line for line in head[request.end() :].split(b"\r\n") if not line.lower().startswith(_HOP)
                ]
                first = request[1] + b" " + path.encode("ascii") + b" HTTP/1.1\r\nConnection: close\r\n"
                other.sendall(first + b"\r\n".join(lines))
            _pump(caller, other)

    def _may_name(self, host: str, port: int) -> bool:
        """Whether the user's proxy may be asked for a host: not for one of this machine or its network."""
        if (host, port) in self._named:
            return True
        with contextlib.suppress(OSError):
            return all(map(_is_public, _addresses(host, port)))
        return "." in host and not host.replace(".", "").isdigit()

    def _address(self, host: str, port: int) -> tuple[str, int] | None:
        """The address of a host, looked up once, so that another answer later counts for nothing."""
        addresses = _addresses(host, port)
        allowed = addresses if (host, port) in self._named else [one for one in addresses if _is_public(one)]
        return (allowed[0], port) if allowed else None


def _port(url: SplitResult, scheme: str = "") -> int:
    return url.port or _PORTS.get(url.scheme or scheme, 443)


def _addresses(host: str, port: int) -> list[str]:
    return [str(result[4][0]) for result in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _is_public(address: str) -> bool:
    result = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(result, "ipv4_mapped", None) or getattr(result, "sixtofour", None) or result
    return bool(inner.is_global and result.is_global and not inner.is_multicast)


def _authorization(url: SplitResult) -> bytes:
    if url.username is None:
        return b""
    words = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return b"Proxy-Authorization: Basic " + base64.b64encode(words.encode()) + b"\r\n"


def _pump(one: socket.socket, other: socket.socket) -> None:
    """Hand on what either side says, until one has nothing more to say or both are silent for long."""
    while True:
        ready, _, _ = select.select([one, other], [], [], _SECONDS)
        if not ready:
            return
        for place in ready:
            data = place.recv(1 << 16)
            if not data:
                return
            (other if place is one else one).sendall(data)
