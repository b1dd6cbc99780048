"""Linux calls that Python's library lacks, through ctypes: namespaces, Landlock, seccomp, capabilities.

Landlock: https://docs.kernel.org/userspace-api/landlock.html. Seccomp filters:
https://docs.kernel.org/userspace-api/seccomp_filter.html. None of them needs to be root. All raise an
`OSError` where the system lacks or denies them.
"""

import contextlib
import ctypes
import os
import platform
import struct
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

LINUX = sys.platform == "linux"

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

SAFE = 0x2 | 0x4
"""Flags of a mount without set-user-id programs and devices."""

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_SETATTR = -100, 0x8000, 442
_ATTR_RDONLY, _ATTR_NOATIME, _ATTR_ATIME = 0x1, 0x10, 0x70
_MS_BIND, _MS_REC = 0x1000, 0x4000
_OPEN_TREE, _MOVE_MOUNT = 428, 429
_CLONE, _CLOEXEC, _FROM_DESCRIPTOR = 0x1, 0x80000, 0x4

_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL

_CALLS: Mapping[str, Mapping[str, Sequence[int]]] = tomllib.loads(
    Path(__file__).with_name("calls.toml").read_text(encoding="utf-8")
)
"""Numbers of system calls that are not answered as usual: (x86_64, aarch64)."""
_ABSENT = -1

# More of them: (x86_64, aarch64).
_FCNTL_CALL, _SETSOCKOPT_CALL = (72, 25), (54, 208)
_SET_PIPE_SIZE, _SOL_SOCKET, _SO_SNDBUF = 1031, 1, 7
"""What gives a pipe or a socket more room than `nsl_bench.core.processes.memory` takes it to have."""

_CLONE_CALL = (56, 220)
_NEW_NAMESPACES = 0x7E020000
"""Flags of ``clone`` for namespaces of any kind."""

_IOCTL_CALL = (16, 29)
_SETS_ATTRIBUTES = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602)
"""Requests of ``ioctl`` that change a file's flags, extended attributes or version."""
_TERMINAL = (0x5412, 0x5414, 0x541C, 0x541D, 0x540E, 0x5423, 0x5402, 0x5403, 0x5404)
"""Requests of ``ioctl`` that type into a terminal, take it over, or change its size or settings."""
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def _called(name: str, *arguments: int | str | Path | bytes | None) -> int:
    """The result of a function of the C library."""
    texts = [str(each) if isinstance(each, Path) else each for each in arguments]
    values = [
        ctypes.c_long(each)
        if isinstance(each, int)
        else ctypes.c_char_p(each.encode())
        if isinstance(each, str)
        else each
        for each in texts
    ]
    result = int(getattr(ctypes.CDLL(None, use_errno=True), name)(*values))
    if result < 0:
        number = ctypes.get_errno()
        what = " ".join(str(each) for each in (name, *texts) if isinstance(each, int | str))
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, *values: int) -> None:
    _called("prctl", option, *(*values, 0, 0, 0, 0)[:4])


def unshare(flags: int) -> None:
    """Enter new namespaces."""
    _called("unshare", flags)


def set_namespace(descriptor: int, kind: int) -> None:
    """Enter the namespace of an open file of ``/proc/PID/ns``."""
    _called("setns", descriptor, kind)


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount a file system."""
    _called("mount", source, target, kind, flags, options)


def unmount(place: Path) -> None:
    """Take away what was mounted last at a place, once nothing of it is used."""
    _called("umount2", place, 2)


def bind(place: Path) -> None:
    """Make a folder or file a mount of its own, whose attributes can differ from its parent's."""
    mount(str(place), str(place), "none", _MS_BIND | _MS_REC)


def open_tree(place: Path) -> int:
    """The descriptor of a copy of what is mounted at and below a folder or file, for `move_tree`.

    The copy is not yet part of the file system.
    """
    return _called("syscall", _OPEN_TREE, _AT_FDCWD, place, _CLONE | _CLOEXEC | _AT_RECURSIVE)


def move_tree(descriptor: int, place: Path) -> None:
    """Put the copy of `open_tree` over a folder or file that exists."""
    _called("syscall", _MOVE_MOUNT, descriptor, "", _AT_FDCWD, place, _FROM_DESCRIPTOR)


def make_read_only(place: Path, but: Sequence[Path] = ()) -> None:
    """Make everything below `place` read-only: content, attributes and access times (Linux 5.12).

    Args:
        place: a mount of this process's namespace.
        but: mounts below it that stay writable.
    """
    try:
        _set_mount(place, _AT_RECURSIVE, _ATTR_RDONLY | _ATTR_NOATIME, _ATTR_ATIME)
    except PermissionError:  # in a user namespace how access times are kept may be fixed
        _set_mount(place, _AT_RECURSIVE, _ATTR_RDONLY, 0)
    for mount_of in but:
        _set_mount(mount_of, 0, 0, _ATTR_RDONLY)


def _set_mount(place: Path, flags: int, given: int, taken: int) -> None:
    attributes = struct.pack("=QQQQ", given, taken, 0, 0)
    _called("syscall", _MOUNT_SETATTR, _AT_FDCWD, place, flags, attributes, len(attributes))


def no_new_privileges() -> None:
    """Prevent programs that this process executes from gaining privileges."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent(signal: int) -> None:
    """Have a signal sent to this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, signal)


def be_subreaper() -> None:
    """Make this process the parent of its orphaned descendants."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """Give up all privileges of the superuser except those over its own files."""
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            break
    _called("capset", struct.pack("=Ii", 0x20080522, 0), bytes(24))


def landlock_version() -> int:
    """The version of the kernel's Landlock; 0 if it is not available."""
    if LINUX:
        with contextlib.suppress(OSError):
            return _called("syscall", _LANDLOCK_CREATE, None, 0, 1)
    return 0


def landlock(readable: Sequence[Path], listable: Sequence[Path], writable: Sequence[Path]) -> None:
    """Deny this process and its children access to all files but these, permanently.

    They can no longer trace processes outside nor, from Landlock version 6 on, send signals to them.

    Args:
        readable: files and folders that may be read and executed.
        listable: folders whose entries may be listed.
        writable: files and folders with all rights except creating devices.
    """
    version = landlock_version()
    if not version:
        raise OSError("no Landlock")
    handled = (1 << 13) - 1
    handled |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled |= _IOCTL if version >= 5 else 0
    scoped = 3 if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", handled, 0, scoped)[:size]
    ruleset = _called("syscall", _LANDLOCK_CREATE, attributes, size, 0)
    try:
        rules = [(path, _READ) for path in readable] + [(path, _READ_DIR) for path in listable]
        rules += [(path, handled & ~_MAKE_DEVICES) for path in writable]
        for path, access in rules:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                allowed = access & handled & (-1 if path.is_dir() else _OF_FILES)
                _called("syscall", _LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
            finally:
                os.close(place)
        no_new_privileges()
        _called("syscall", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def deny_calls(*, sockets: bool, local: bool = False, attributes: bool = False) -> None:
    """Deny this process and its children system calls that affect other processes, permanently.

    Namespaces, terminals, message queues, and memory that belongs to no process are always denied.

    Args:
        sockets: also deny sockets, except those between processes of this machine.
        local: with `sockets`, deny these, too, except pairs of them.
        attributes: also deny changes of extended attributes. Changes of files' modes, owners and times are
            ignored instead of denied, because programs that copy files need them to succeed.
    """
    if platform.machine() not in _ARCHITECTURES:
        raise OSError(f"no filters of system calls for {platform.machine()}")
    column, architecture = _ARCHITECTURES[platform.machine()]
    load, equal, at_least, any_of, stop = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse, unsupported, pretend = 0x7FFF0000, 0x00050000 | 13, 0x00050000 | 95, 0x00050000
    unknown = 0x00050000 | 38
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (stop, 0, 0, refuse), (load, 0, 0, 0)]
    program += [(at_least, 0, 1, 0x40000000), (stop, 0, 0, refuse)]
    answers = [(refuse, "refused"), (refuse, "kept"), (unknown, "unknown")]
    answers += [(unsupported, "attributes"), (pretend, "ownership")] if attributes else []
    for answer, kind in answers:
        for name, numbers in _CALLS[kind].items():
            if name != "socket" and numbers[column] != _ABSENT:
                program += [(equal, 0, 1, numbers[column]), (stop, 0, 0, answer)]
    program += [(equal, 0, 4, _CLONE_CALL[column]), (load, 0, 0, 16), (any_of, 0, 1, _NEW_NAMESPACES)]
    program += [(stop, 0, 0, refuse), (stop, 0, 0, allow)]
    program += [(equal, 0, 4, _FCNTL_CALL[column]), (load, 0, 0, 24), (equal, 0, 1, _SET_PIPE_SIZE)]
    program += [(stop, 0, 0, refuse), (load, 0, 0, 0)]
    program += [(equal, 0, 6, _SETSOCKOPT_CALL[column]), (load, 0, 0, 24), (equal, 0, 3, _SOL_SOCKET)]
    program += [(load, 0, 0, 32), (equal, 0, 1, _SO_SNDBUF), (stop, 0, 0, pretend), (load, 0, 0, 0)]
    if sockets:
        family = 0 if local else 1  # of AF_UNIX; 0 is that of no socket
        program += [
            (equal, 0, 4, _CALLS["refused"]["socket"][column]),
            (load, 0, 0, 16),
            (equal, 1, 0, family),
        ]
        program += [(stop, 0, 0, refuse), (stop, 0, 0, allow)]
    requests = dict.fromkeys(_TERMINAL, refuse)
    requests |= dict.fromkeys(_SETS_ATTRIBUTES, unsupported) if attributes else {}
    program += [(equal, 0, 2 * len(requests) + 2, _IOCTL_CALL[column]), (load, 0, 0, 24)]
    for request, answer in requests.items():
        program += [(equal, 0, 1, request), (stop, 0, 0, answer)]
    program += [(stop, 0, 0, allow), (stop, 0, 0, allow)]
    _install(program)


def _install(program: Sequence[tuple[int, int, int, int]]) -> None:
    """Filter this process's system calls by a program of the kernel's packet filter."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    no_new_privileges()
    _called("prctl", _PR_SET_SECCOMP, 2, struct.pack("@HP", len(program), ctypes.addressof(code)), 0, 0)
