"""Recognise errors that come from the sandbox, and name the option that allows what was denied."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsl_bench.sandbox.limits import Limits

_NO_NETWORK = {
    *(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
}
_TEMPORARY = "No usable temporary directory"
_PRINTED = {
    "write": re.compile(r"Read-only file system(?:: ?['\"](?P<path>[^'\"\n]+)['\"])?"),
    "network": re.compile(
        r"Network is unreachable|Temporary failure in name resolution|ENETUNREACH|EAI_AGAIN"
    ),
    "read": re.compile(r"Permission ?[Dd]enied(?:: ?['\"](?P<path>[^'\"\n]+)['\"])?|PermissionError|EACCES"),
}
_MISSING = re.compile(r"No such file or directory: ?['\"](?P<path>[^'\"\n]+)['\"]")
_LONGEST_PATH = 300


def denied_by(error: BaseException) -> dict[str, str]:
    """What the sandbox denied, if that caused an exception.

    Returns:
        ``what``: ``"read"``, ``"write"``, ``"network"`` or ``"temporary"``; ``path`` if it is known. Empty if
        the exception has another cause.
    """
    for each in _chain(error):
        if isinstance(each, OSError):
            what = _denied(each)
            if what:
                path = each.filename if isinstance(each.filename, str) else ""
                return {"what": what, "path": path[:_LONGEST_PATH]}
    return {}


def missing_by(error: BaseException) -> dict[str, Any]:
    """Which file was not found, if that caused an exception; for `hidden`.

    Returns:
        ``path``; ``folder``: whether its folder was found. Empty if the exception has another cause.
    """
    for each in _chain(error):
        if isinstance(each, FileNotFoundError) and isinstance(each.filename, str):
            folder = _exists(Path(each.filename).parent)
            return {"path": each.filename[:_LONGEST_PATH], "folder": folder}
    return {}


def hidden(missing: Any) -> dict[str, str]:
    """What the sandbox denied by hiding it, seen by a process that sees all files; see `denied_by`.

    Args:
        missing: the result of `missing_by`, from an untrusted process.
    """
    if not isinstance(missing, Mapping) or not (path := str(missing.get("path", ""))[:_LONGEST_PATH]):
        return {}
    if _exists(path):
        return {"what": "read", "path": path}
    if not missing.get("folder") and _exists(Path(path).parent):
        return {"what": "write", "path": path}
    return {}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, its causes, and the exceptions during whose handling these were raised."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _denied(error: OSError) -> str:
    if _TEMPORARY in str(error):
        return "temporary"
    if error.errno == errno.EROFS:
        return "write"
    if isinstance(error, socket.gaierror) or error.errno in _NO_NETWORK:
        return "network"
    if isinstance(error, PermissionError):
        if error.filename is None:
            return "network"
        return "read" if _exists(error.filename) else "write"
    return ""


def _exists(path: Any) -> bool:
    try:
        return Path(path).exists()
    except (OSError, TypeError, ValueError):
        return True


def denied_in(lines: str) -> dict[str, str]:
    """What the sandbox denied, according to the last lines of a process's output; see `denied_by`."""
    for what, pattern in _PRINTED.items():
        matches = list(pattern.finditer(lines))
        if matches:
            paths = [match.groupdict().get("path") or "" for match in matches]
            return {"what": what, "path": max(paths, key=len)}
    missing = [match["path"] for match in _MISSING.finditer(lines)]
    return hidden({"path": missing[-1], "folder": True}) if missing else {}


def advice(denied: Any, limits: Limits) -> str:
    """The sentence that names the option, with a leading space; empty if nothing was denied.

    Args:
        denied: the result of `denied_by` or `denied_in`, from an untrusted process.
    """
    if not isinstance(denied, Mapping):
        return ""
    what, path = denied.get("what"), str(denied.get("path", ""))[:_LONGEST_PATH]
    if what == "network" and not limits.network:
        return " The sandbox has no network; --allow network opens it."
    if what == "temporary":
        return " Temporary files belong in the folder that the environment variable TMPDIR names."
    if what == "write":
        where = f"write={Path(path).absolute().parent}" if path else "write=PATH"
        return (
            " In the sandbox a learner can write only in the folder that the environment variable TMPDIR "
            f"names; --allow {where} opens another one."
        )
    if what == "read":
        if path and any(map(Path(path).absolute().is_relative_to, limits.hidden)):
            return " It holds data or results of the benchmark, which no learner may read."
        where = str(Path(path).absolute()) if path else "PATH"
        return (
            " In the sandbox a learner can read only its code and what is installed; "
            f"--allow read={where} opens more."
        )
    return ""
