"""Learners that go wrong in every way that there is."""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.processes import messages
from nsl_bench.core.types import Hypothesis, WeightedExample
from nsl_bench.logic.guarded.child import Ended


class _Bad:
    track = "pretrained"

    def fit(self, train):
        self.go_wrong(train)
        return self

    def go_wrong(self, train):
        pass

    def predict_proba(self, test):
        return np.full((len(test), test.n_labels), 1 / test.n_labels)


class Raises(_Bad):
    def go_wrong(self, train):
        print("about to fail")
        raise ValueError("no good")


class Speaks(_Bad):
    """To the terminal, and with half a character, which no file can hold."""

    version = "1\udc80\x1b[2J"

    def fit(self, train):
        print("\x1b]0;mine\x07 10 %\r20 %\r\n\x9b2J\x7f", flush=True)
        raise UserError("\x1b[2J \U0001f600\udc80\nnsl-bench: \u009b ok")


class HasNoText(_Bad):
    def fit(self, train):
        class Mine(Exception):
            def __str__(self):
                return str(self)

        raise Mine


class FindsNothing(_Bad):
    def go_wrong(self, train):
        raise Ended("timeout", "no answer yet")


class Segfaults(_Bad):
    def go_wrong(self, train):
        os.kill(os.getpid(), signal.SIGSEGV)


class KillsItself(_Bad):
    def go_wrong(self, train):
        os.kill(os.getpid(), signal.SIGKILL)


class Leaves(_Bad):
    def go_wrong(self, train):
        os._exit(3)


class Quits(_Bad):
    def go_wrong(self, train):
        sys.exit(0)


class Hangs(_Bad):
    def go_wrong(self, train):
        print("going to sleep")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(10)


class HangsInPredict(_Bad):
    def predict_proba(self, test):
        while True:
            pass


class EatsMemory(_Bad):
    def go_wrong(self, train):
        self.kept = []
        while True:
            self.kept.append(np.ones(1 << 22))


class EatsMemoryInChildren(_Bad):
    def go_wrong(self, train):
        for _ in range(4):
            if os.fork() == 0:
                kept = np.ones(20 << 20)
                time.sleep(600 + kept[0])
        time.sleep(600)


class EatsSharedMemory(_Bad):
    """What no process has mapped any more, and yet is kept."""

    def go_wrong(self, train):
        self.kept = []
        for _ in range(12):
            memory = mmap.mmap(-1, 64 << 20)
            for k in range(0, len(memory), 4096):
                memory[k] = 1
            memory.madvise(mmap.MADV_DONTNEED)
            self.kept.append(memory)
        time.sleep(600)


class EatsMemoryFiles(_Bad):
    def go_wrong(self, train):
        for k in range(12):
            with Path(f"/dev/shm/file-{k}").open("wb") as file:
                file.write(b"x" * (20 << 20))
        time.sleep(600)


class EatsPageTables(_Bad):
    """Reads a byte of each two megabytes of a file without content, over and over."""

    def go_wrong(self, train):
        self.kept = []
        for _ in range(2000):
            memory = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for k in range(0, len(memory), 2 << 20):
                memory[k]
            self.kept.append(memory)
        time.sleep(600)


class EatsSockets(_Bad):
    """Memory that sockets hold, which are as large as they may be made."""

    def fit(self, train):
        if any(os.fork() == 0 for _ in range(8)):
            kept = [one for _ in range(200) for one in socket.socketpair()]
            for one in kept:
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        one.send(bytes(1 << 16))
        time.sleep(60)
        return self


class EatsPipes(_Bad):
    """Memory in pipes, which no process has any more."""

    def fit(self, train):
        size, (_, end) = 1 << 21, os.pipe()
        place = ctypes.create_string_buffer(b"x" * size)
        libc = ctypes.CDLL(None, use_errno=True)
        given = struct.pack("PN", ctypes.addressof(place), size)
        refused = [libc.vmsplice(end, given, ctypes.c_ulong(1), 0) < 0 and ctypes.get_errno() == errno.EACCES]
        try:
            fcntl.fcntl(end, 1031, 1 << 20)
        except PermissionError:
            refused.append(True)
        raise OSError(f"refused: {refused}")


class EatsThreads(_Bad):
    def fit(self, train):
        threading.stack_size(1 << 15)
        for _ in range(20_000):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        time.sleep(60)
        return self


class EatsMemoryWithoutProcess(_Bad):
    """In files without a name, and in segments that belong to nobody: there are none."""

    def go_wrong(self, train):
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            os.memfd_create("mine")
        except OSError as error:
            print("memfd", error.errno == errno.ENOSYS)
        print("segment", libc.shmget(0, 1 << 20, 0o1600) < 0)
        raise RuntimeError("refused")


class PrintsGigabytes(_Bad):
    def go_wrong(self, train):
        print("first line")
        line = b"x" * 65535 + b"\n"
        for _ in range(1 << 12):
            os.write(1, line)
        print("last line")


class ForksChildren(_Bad):
    """Children that leave its session and outlive it, were they let."""

    def go_wrong(self, train):
        for _ in range(5):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=False)
                os._exit(0)


class _Gives(_Bad):
    def predict_proba(self, test):
        return self.given(len(test), test.n_labels)


_GIVEN = {
    "WrongShape": lambda n, labels: np.ones((3, 3)),
    "NotANumber": lambda n, labels: np.full((n, labels), np.nan),
    "TooCertain": lambda n, labels: np.ones((n, labels)),
    "Strings": lambda n, labels: [["a"] * labels] * n,
    "Nothing": lambda n, labels: None,
    "AnswersTooMany": lambda n, labels: np.ones((25_000_000, 1), np.bool_),
}
globals().update({name: type(name, (_Gives,), {"given": staticmethod(f)}) for name, f in _GIVEN.items()})


class WrongLabels(_Bad):
    def predict(self, test):
        return np.full(len(test), 7)


class _Told(_Bad):
    def rules(self):
        return self.told


_RULES = {
    "NoRules": ["this is no rule"],
    "OddRules": ["invalid :- digit(A,N), digit(B,N), A ≠ B."],
    "DeepRules": [f"a({'f(' * 200_000}1{')' * 200_000})."],
    "EndlessRules": ["differ :- n(3).", "n(0).", "n(X+1) :- n(X)."],
}
globals().update({name: type(name, (_Told,), {"told": told}) for name, told in _RULES.items()})


class SaysNonsense(_Bad):
    """Writes to its channel what is no message."""

    def go_wrong(self, train):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\xff" * 64)
            except OSError:
                continue
        time.sleep(600)


class AnswersTooMuch(_Bad):
    """Says that 200 MB of lists follow, and sends some of them."""

    def predict_proba(self, test):
        socket = test._channel.socket
        socket.sendall(struct.pack("!QQ", 200_000_000, 0) + b"[" + b"[]," * 100_000)
        time.sleep(600)


class HasNoAnswers(_Bad):
    predict_proba = property()


class ClaimsLabelsAlone(_Bad):
    """Says in its own process that it has no probabilities, and sends no labels."""

    def predict_proba(self, test):
        messages.send(test._channel.socket, {"done": {"gives_probabilities": False}})
        time.sleep(600)


class CannotFit:
    def predict_proba(self, test):
        return np.zeros((len(test), test.n_labels))


class _Claims(_Bad):
    claim = ()

    def rules(self):
        return Hypothesis(**{"rules": ("a :- b.",), "atoms": 2, "language": "tree", **dict([self.claim])})


_CLAIMS = {
    "ClaimsManyAtoms": ("atoms", 10**400),
    "ClaimsLessThanNoAtoms": ("atoms", -1),
    "ClaimsHalfAnAtom": ("atoms", float("nan")),
    "ClaimsAGreatScore": ("score", 10**400),
    "ClaimsFidelity": ("fidelity", float("inf")),
}


class _Generates(_Bad):
    change = ("penalty", 1)

    def go_wrong(self, train):
        fields = {"id": "e", "penalty": 1, "inclusions": ("a",), "exclusions": (), "context": ()}
        self.examples_ = [WeightedExample(**{**fields, **dict([self.change])})]


_GENERATED = {
    "ClaimsNegativePenalty": ("penalty", -5),
    "ClaimsNoPenalty": ("penalty", float("nan")),
    "ClaimsHugePenalty": ("penalty", 10**400),
    "ClaimsNumbersAsContext": ("context", (3,)),
}
globals().update({name: type(name, (_Claims,), {"claim": claim}) for name, claim in _CLAIMS.items()})
globals().update({name: type(name, (_Generates,), {"change": told}) for name, told in _GENERATED.items()})


class ClaimsNoExamples(_Bad):
    examples_ = 3


class ClaimsTrials(_Bad):
    def go_wrong(self, train):
        self.tuning_ = {"trials": -1}


class ClaimsAccuracy(_Bad):
    def go_wrong(self, train):
        self.tuning_ = {"validation_accuracy": float("nan")}


class SendsExamples(_Bad):
    """Past the check in its own process."""

    def go_wrong(self, train):
        send = messages.send
        told = [{"id": "e", "penalty": float("inf"), "inclusions": [], "exclusions": [], "context": []}]
        self.examples_ = []
        messages.send = lambda to, what: send(to, {"done": told} if what == {"done": []} else what)


class AsksForEveryImage(_Bad):
    track = "end_to_end"

    def go_wrong(self, train):
        train._channel.ask("images", view=train._id, rows=[0] * 1000)


class AsksOddly(_Bad):
    def go_wrong(self, train):
        train._channel.ask("background", view=[])


class SendsEmptyLists(_Bad):
    """As many as its text may have."""

    def fit(self, train):
        text = b"[" + b"[]," * 2_000_000 + b"[]]"
        train._channel.socket.sendall(struct.pack("!QQ", len(text), 0) + text)
        return self


class Late(_Bad):
    """Reports the true rule, then never ends."""

    def go_wrong(self, train):
        train.report(["differ :- patch(left,X), patch(right,Y), unlike(X,Y)."])
        while True:
            time.sleep(10)
