"""What strangers' learners attempt against the machine that runs them; each attempt is to be refused."""

import ctypes
import errno
import fcntl
import os
import pty
import socket
import struct
import time
from pathlib import Path

import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)
CALLS = {"x86_64": (56, 435, 272, 308), "aarch64": (220, 435, 97, 268)}[os.uname().machine]
SIZE = 0x5414


class _Stranger:
    track = "pretrained"

    def __init__(self, seed: int = 0) -> None:
        pass

    def attempts(self):
        return {}

    def fit(self, train):
        for name, attempt in self.attempts().items():
            try:
                print(name, "got", repr(attempt())[:80])
            except OSError as error:
                print(name, errno.errorcode.get(error.errno or 0, "OSError"))
        return self

    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)


def called(number, *given):
    result = LIBC.syscall(ctypes.c_long(number), *(ctypes.c_ulong(value) for value in given))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    if result == 0 and number in CALLS[:2]:
        os._exit(0)
    return result


def resized(descriptor):
    return fcntl.ioctl(descriptor, SIZE, struct.pack("HHHH", 1, 2, 3, 4))


def opened(path):
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
    if not os.isatty(descriptor):
        raise OSError(errno.ENOTTY, "no terminal")
    os.write(descriptor, b"here")
    return path


class Terminals(_Stranger):
    def attempts(self):
        terminal = os.environ["NSL_TEST_TERMINAL"]
        places = [terminal, "/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/ptmx"]
        places += [f"/proc/{pid}/fd/{k}" for pid in (1, os.getppid(), "self") for k in range(3)]
        return {
            **{place: lambda place=place: opened(place) for place in places},
            **{f"size {k}": lambda k=k: resized(k) for k in range(3)},
            **{f"push {k}": lambda k=k: fcntl.ioctl(k, 0x5412, b"x") for k in range(3)},
            "pty": pty.openpty,
        }


def variable(name):
    if name not in os.environ:
        raise OSError(errno.ENOENT, "left out")
    return os.environ[name]


class Reaches(_Stranger):
    """For files, secrets of the system, sockets and processes."""

    def attempts(self):
        place, port = Path(os.environ["NSL_TEST_PLACE"]), int(os.environ["NSL_TEST_PORT"])
        secrets = [f"/etc/{name}" for name in ("shadow", "gshadow", "sudoers", "ssh/ssh_host_rsa_key")]
        return {
            **{name: lambda name=name: Path(name).read_bytes() for name in [*secrets, "/root/.bashrc"]},
            "file": lambda: (place / "secret").read_bytes(),
            "folder": lambda: list(place.iterdir()),
            "write": lambda: (place / "mine").write_text("x"),
            "token": lambda: variable("NSL_TEST_TOKEN"),
            "address": lambda: variable("NSL_TEST_ADDRESS"),
            "internet": lambda: socket.socket(socket.AF_INET),
            "internet 6": lambda: socket.socket(socket.AF_INET6),
            "link": lambda: socket.socket(17, socket.SOCK_RAW),
            "local": lambda: socket.socket(socket.AF_UNIX).connect(str(place / "agent")),
            "abstract": lambda: socket.socket(socket.AF_UNIX).connect("\0nsl-bench-strangers"),
            "memory": lambda: Path(f"/proc/{os.getppid()}/mem").open("rb"),
            "environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
            "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW),
            "connection": lambda: socket.create_connection(("127.0.0.1", port), 5),
            "signal": lambda: os.kill(int(os.environ["NSL_TEST_PID"]), 0),
            "signal to the parent": lambda: os.kill(os.getppid(), 0),
        }


class Folders(_Stranger):
    """A nest that no path reaches, and folders that nobody may enter."""

    depth = int(os.environ.get("NSL_TEST_DEPTH", "1100"))

    def fit(self, train):
        place = Path(os.environ["TMPDIR"])
        for mode in (0o000, 0o500):
            folder = place / f"closed-{mode}"
            (folder / "in" / "it").mkdir(parents=True)
            (folder / "link").symlink_to("/usr")
            folder.chmod(mode)
        here = os.open(place, os.O_RDONLY)
        for _ in range(self.depth):
            os.mkdir("d" * 20, dir_fd=here)
            below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        print(place)
        if self.late:
            time.sleep(600)
        return self

    late = False


class FoldersLate(Folders):
    late = True


class Namespaces(_Stranger):
    def attempts(self):
        clone, clone3, unshare, setns = CALLS
        flags = [1 << k for k in (17, 25, 26, 27, 28, 29, 30)]
        place = os.open("/proc/self/ns/user", os.O_RDONLY)
        given = ctypes.create_string_buffer(struct.pack("=11Q", 1 << 28, *([0] * 3), 17, *([0] * 6)))
        return {
            **{f"clone {flag:x}": lambda flag=flag: called(clone, flag | 17, 0, 0, 0, 0) for flag in flags},
            **{f"unshare {flag:x}": lambda flag=flag: called(unshare, flag) for flag in flags},
            "clone3": lambda: called(clone3, ctypes.addressof(given), 88),
            "setns": lambda: called(setns, place, 0),
        }
