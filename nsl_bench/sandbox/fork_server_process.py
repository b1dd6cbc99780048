"""The fork server: a process with imported libraries, from which learners' processes are forked.

The harness starts it once (`python -m nsl_bench.sandbox.fork_server_process`). It imports the libraries
that learners need, enters namespaces, and forks processes on request. It never gets any data. Its control
socket receives ``spawn`` (with two descriptors: the learner's channel and its output), ``temporary`` (a
folder to remove at the end), ``kill`` and ``preload``, and sends ``ready`` and ``exit``. When the harness
ends, in whatever way, it ends its children, removes the folders, and ends itself.

Between a learner's process and the fork server is a supervisor, the first process of the learner's namespace.
When the supervisor ends, all processes that the learner started end too.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from nsl_bench.core.folders import remove, remove_for_sure
from nsl_bench.core.processes.child import detach
from nsl_bench.sandbox import kernel, shown
from nsl_bench.sandbox.child import live
from nsl_bench.sandbox.sandbox import devices, system_secrets

_SET_FLAGS, _IFF_UP = 0x8914, 1
"""Request of ``ioctl`` that changes a network device, and the flag of one that is up."""

_REMOVING_SECONDS = 2.0
"""After so long the harness does not wait for scratch folders to be removed."""

_MS_REC_PRIVATE = 0x4000 | 0x40000


class _Server:
    def __init__(self, control: socket.socket, *, network: bool) -> None:
        self.control = control
        self.force = _enter(network=network)
        self.own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY) if kernel.LINUX else -1
        self.own_space = kernel.LINUX and self._processes_apart()
        self.force["processes"] = "namespace" if self.own_space else "process group"
        self.received = b""
        self.handed: list[int] = []
        self.alive: dict[int, int] = {}
        """Read end of a pipe that a supervisor holds open, to its process id."""
        self.temporary: set[str] = set()
        """Scratch folders that must not outlive the harness."""

    def _processes_apart(self) -> bool:
        try:
            self._new_space()
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            kernel.set_namespace(self.own_processes, kernel.CLONE_NEWPID)
        except OSError:
            return False
        return True

    def _new_space(self) -> None:
        kernel.set_namespace(self.own_processes, kernel.CLONE_NEWPID)
        kernel.unshare(kernel.CLONE_NEWPID)

    def serve(self) -> None:
        self._send({"ready": self.force})
        while True:
            control = self.control.fileno()
            readable, _, _ = select.select([control, *self.alive], [], [])
            for descriptor in readable:
                if descriptor != control:
                    self._bury(descriptor)
            if control in readable:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self.control, 1 << 20, 2)
                except ConnectionResetError:  # the harness left without reading what was said last
                    break
                if not data:
                    break
                self.handed += descriptors
                *messages, self.received = (self.received + data).split(b"\n")
                for message in messages:
                    self._do(json.loads(message))
        for process in self.alive.values():
            self._kill(process)
        for descriptor in list(self.alive):
            os.read(descriptor, 1)  # until the supervisor is gone
        remove_at_last(sorted(self.temporary))

    def _do(self, request: dict[str, Any]) -> None:
        if "spawn" in request:
            channel, output, *self.handed = self.handed
            self._spawn(request["spawn"], channel, output)
        elif "temporary" in request:
            self.temporary = {folder for folder in self.temporary if os.path.lexists(folder)}
            self.temporary.add(request["temporary"])
        elif "kill" in request:
            self._kill(request["kill"])
        elif "preload" in request:
            for name in request["preload"]:
                with contextlib.suppress(ImportError):
                    module = importlib.import_module(name)
                    getattr(module, "warm_up", int)()

    def _spawn(self, request: dict[str, Any], channel: int, output: int) -> None:
        if self.own_space:
            self._new_space()
        ended, held = os.pipe()
        process = os.fork()
        if process and self.own_space:
            kernel.set_namespace(self.own_processes, kernel.CLONE_NEWPID)
        if process == 0:
            try:
                # The learner must not be able to talk to the fork server.
                for descriptor in (self.control.fileno(), self.own_processes, ended, *self.alive):
                    if descriptor >= 0:
                        os.close(descriptor)
                _supervise(request, channel, output, held, force=self.force)
            finally:
                os._exit(70)
        for descriptor in (channel, output, held):
            os.close(descriptor)
        self.alive[ended] = process
        self._send({"spawned": process})

    def _bury(self, descriptor: int) -> None:
        process = self.alive.pop(descriptor)
        os.close(descriptor)
        _, status, used = os.wait4(process, 0)
        seconds = used.ru_utime + used.ru_stime
        self._send({"exit": process, "code": os.waitstatus_to_exitcode(status), "cpu": seconds})

    def _kill(self, process: int) -> None:
        if process in self.alive.values():
            # Where the kernel ends a namespace with its first process nothing can escape; elsewhere
            # the supervisor ends its descendants before itself.
            os.kill(process, signal.SIGKILL if self.own_space else signal.SIGTERM)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps(message).encode() + b"\n")


def remove_at_last(folders: Sequence[str], seconds: float = _REMOVING_SECONDS) -> None:
    """Remove folders; what takes longer is left to a process of its own, for which nobody waits."""
    deadline = time.monotonic() + seconds
    left = [folder for folder in map(Path, folders) if not remove(folder, deadline - time.monotonic())]
    if left and os.fork() == 0:
        try:
            os.setsid()
            detach(os.open(os.devnull, os.O_WRONLY))  # whoever reads what we print must not wait for it
            for folder in left:
                remove_for_sure(folder)
        finally:
            os._exit(0)


def _enter(*, network: bool) -> dict[str, str]:
    """Enter namespaces where that is permitted; what came of it."""
    force = {"network": "allowed" if network else "open", "mounts": "shared"}
    if not kernel.LINUX:
        return force
    wanted = kernel.CLONE_NEWNS | (0 if network else kernel.CLONE_NEWNET)
    user, group = os.geteuid(), os.getegid()
    for own_users in (False, True) if user == 0 else (True,):
        try:
            kernel.unshare(wanted | (kernel.CLONE_NEWUSER if own_users else 0))
        except OSError:
            continue
        try:
            if own_users:
                Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
                Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
                Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
            kernel.mount("none", "/", "none", _MS_REC_PRIVATE)
            shown.own_devices(devices())
            shown.cover(system_secrets())
            force["mounts"] = "namespace"
        except OSError:
            pass
        if not network:
            force["network"] = "namespace"
        break
    return force


def _supervise(
    request: dict[str, Any], channel: int, output: int, held: int, *, force: dict[str, str]
) -> NoReturn:
    """Start the learner's process, wait for it, and end what it leaves behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):  # the user's terminal, perhaps, which the learner would find below /proc
        os.dup2(nothing, descriptor)
    os.close(nothing)
    force["memory"] = "counting" if request["memory"] else "unbounded"
    if request["group"]:
        entry, version = request["group"]
        with contextlib.suppress(OSError):
            Path(entry).write_text("0", encoding="ascii")
            force["memory"] = f"control group {version} and counting"
    if request["outward"]:
        request["proxy"] = _open_outward(channel, apart=force["network"] == "namespace")
    if kernel.LINUX:
        kernel.die_with_parent(signal.SIGKILL)
        kernel.be_subreaper()
        with contextlib.suppress(OSError):  # should memory run out, the system ends learners before others
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        with contextlib.suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWIPC)
            force["messages"] = "namespace"
        with contextlib.suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWNS)
            if force["processes"] == "namespace":
                with contextlib.suppress(OSError):
                    kernel.mount("proc", "/proc", "proc", kernel.SAFE)
            kernel.mount("none", "/dev/shm", "tmpfs", kernel.SAFE, f"size={request['memory'] or 0}")
            shown.show_only(request)
            shown.freeze([Path(folder) for folder in request["folders"]])
            force["mounts"] = "read-only"
    learner = os.fork()
    if learner == 0:
        try:
            os.close(held)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            live(request, channel, output, force)
        finally:
            os._exit(70)
    signal.signal(signal.SIGTERM, lambda number, frame: _end_all())
    os.close(channel)
    os.close(output)
    while True:
        try:
            process, status = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(70)
        if process == learner:
            code = os.waitstatus_to_exitcode(status)
            if force["processes"] != "namespace":
                _end_all()
            os._exit(code if code >= 0 else 128 - code)


def _open_outward(channel: int, *, apart: bool) -> str:
    """Enter a network of its own, and hand the harness a socket in it to accept on; the socket's address."""
    import fcntl

    with socket.socket(fileno=os.dup(channel)) as line:
        if not apart:
            line.sendall(b"-")
            return ""
        kernel.unshare(kernel.CLONE_NEWNET)
        with socket.socket() as listener:
            up = struct.pack("16sh22x", b"lo", _IFF_UP)
            fcntl.ioctl(listener, _SET_FLAGS, up)
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            socket.send_fds(line, [b"+"], [listener.fileno()])
            return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _end_all() -> None:
    """Kill all descendants of this process."""
    import psutil

    while True:
        below = psutil.Process().children(recursive=True)
        living = [process for process in below if process.status() != psutil.STATUS_ZOMBIE]
        if not living:
            break
        for process in living:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        for process in living:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def main() -> None:
    """Serve on the descriptor given by the first argument. A second argument ``network`` allows sockets."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    _Server(control, network="network" in sys.argv[2:]).serve()


if __name__ == "__main__":
    main()
