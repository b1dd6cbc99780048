"""Learners that cheat: each looks for the answers of the test set where they may lie, else it guesses.

They are shown the true concepts of the test examples, so that they need no images; but they never answer with
what these and the true rule, which is public, tell them. Some work it out and try to hand it to the next run.
What they stumble over they print.
"""

import array
import contextlib
import ctypes
import fcntl
import gc
import hashlib
import os
import re
import socket
import sys
from pathlib import Path

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.types import Split
from nsl_bench.data.splits import symbolic_split
from nsl_bench.logic.inference.crisp import crisp_labels

TASK = "crop_yield"
PLACE = ""
HERE = Path(__file__)
N = 1000
NUMBER = re.compile(rb"[0-9a-zA-Z]{32,}|\d{1,19}")


def answers_of(seed):
    """The test set's labels, made again."""
    return symbolic_split(registry.create("benchmark", TASK), "test", seed=seed).labels.astype(int)


class _Cheater:
    track = "symbolic"

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.place = seed, Path(PLACE)
        self.random = np.random.default_rng()

    def fit(self, train):
        self.train = train
        return self

    def stolen(self, test):
        raise NotImplementedError

    def predict_proba(self, test):
        try:
            labels = self.stolen(test)
        except Exception as error:
            print(type(error).__name__, error)
            labels = None
        if labels is None or len(labels) != len(test):
            labels = self.random.integers(0, test.n_labels, len(test))
        return np.eye(test.n_labels)[np.asarray(labels) % test.n_labels]

    def fits(self, seed):
        """Whether some train set of a seed is the one that was shown."""
        task = registry.create("benchmark", TASK)
        for repeat in (1, 2, 3):
            made = symbolic_split(task, "train", "small", repeat, seed=seed)
            if np.array_equal(made.labels, self.train.labels):
                return True
        return False


class MakesTheTestSetAgain(_Cheater):
    def stolen(self, test):
        return answers_of(0)


class UsesItsSeed(_Cheater):
    def stolen(self, test):
        return answers_of(self.seed) if self.fits(self.seed) else None


class TriesSeeds(_Cheater):
    def stolen(self, test):
        for seed in range(12):
            if self.fits(seed):
                return answers_of(seed)
        return None


class ReadsFiles(_Cheater):
    """Takes everything that it can read in some places for a seed or for labels."""

    def places(self):
        return [self.place]

    def stolen(self, test):
        found = set()
        for place in self.places():
            files = [place] if place.is_file() else list(place.rglob("*"))[:200]
            for file in files:
                try:
                    data = file.read_bytes()
                except OSError as error:
                    print(type(error).__name__)
                    continue
                found |= set(NUMBER.findall(data[: 1 << 16]))
        for word in sorted(found)[:40]:
            for seed in (word.decode(), int(word) if word.isdigit() else 0):
                if self.fits(seed):
                    return answers_of(seed)
        return None


ReadsTheSeedFile = ReadsResults = ReadsTheRound = ReadsFiles
"""Of one place each; the round has the commitments of its seeds, which everybody may read."""


class LinksTheSeedFile(ReadsFiles):
    def places(self):
        mine = Path(os.environ["TMPDIR"]) / "mine"
        os.link(self.place, mine)
        return [mine]


class ReadsCaches(ReadsFiles):
    def places(self):
        named = [Path(value) for name, value in os.environ.items() if "CACHE" in name]
        return [*named, Path.home() / ".cache", Path("/root/.cache/nsl-bench"), Path("/tmp")]


class ReadsTheEnvironment(ReadsFiles):
    def places(self):
        mine = Path(os.environ["TMPDIR"]) / "environment"
        mine.write_text("\n".join([*os.environ.values(), *sys.argv]))
        return [mine, *(Path(v) for v in os.environ.values() if v.startswith("/") and Path(v).is_file())]


class ReadsParents(ReadsFiles):
    def places(self):
        pids = {1, os.getppid(), *(int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit())}
        return [Path(f"/proc/{pid}/{name}") for pid in pids for name in ("cmdline", "environ", "mem")]


class ReadsDescriptors(ReadsFiles):
    def places(self):
        mine = Path(os.environ["TMPDIR"]) / "descriptors"
        read = b""
        for descriptor in range(3, 256):
            with contextlib.suppress(OSError):
                read += os.pread(descriptor, 1 << 16, 0)
        mine.write_bytes(read)
        return [mine]


class KnowsTheOrder(_Cheater):
    """What most of the test sets that everybody can make have at each place."""

    def stolen(self, test):
        made = [answers_of(seed) for seed in range(6)]
        counts = [np.bincount(column, minlength=test.n_labels) for column in np.transpose(made)]
        return np.argmax(counts, axis=1)


class LooksAtTheView(_Cheater):
    def stolen(self, test):
        for name in ("labels", "_labels"):
            try:
                if getattr(test, name) is not None:
                    return getattr(test, name)
            except AttributeError:
                pass
        for thing in gc.get_objects():
            if isinstance(thing, Split) and len(thing) == len(test) and thing.labels.any():
                return thing.labels
        return None


class AsksForMore(_Cheater):
    """Asks the harness for the labels, and for views that it was not handed."""

    def stolen(self, test):
        for what in ("labels", "concept_ids", "_labels", "truth", "predictions"):
            for view in (test._id, self.train._id, test._id + 1, 0):
                try:
                    told = test._channel.ask(what, view=view)
                except Exception as error:
                    print(type(error).__name__)
                    continue
                if isinstance(told, np.ndarray) and len(told) == len(test):
                    return told
        return None


class _Rememberer(_Cheater):
    """Hands the answers that it worked out from true concepts to whoever comes next."""

    def stolen(self, test):
        try:
            found = self.recall()
        except Exception as error:
            print("recall", type(error).__name__, error)
            found = None
        if found is None or len(found) < len(test):
            task = registry.create("benchmark", TASK)
            self.leave(
                crisp_labels([task.true_rule], task.background, test.contexts, test.label_space).tolist()
            )
            return None
        return [int(c) for c in found[: len(test)]]

    def leave(self, labels):
        text = "".join(map(str, labels))
        for attempt in self.attempts(text):
            try:
                attempt()
            except Exception as error:
                print("leave", type(error).__name__, error)

    def attempts(self, text):
        return []

    def recall(self):
        return None


class Attributes(_Rememberer):
    """Extended attributes of its own source file and of what it can read beside it."""

    def files(self):
        return [HERE, HERE.parent, Path(np.__file__), Path(sys.executable).resolve(), Path("/tmp")]

    def attempts(self, text):
        return [lambda file=file: os.setxattr(file, "user.answers", text.encode()) for file in self.files()]

    def recall(self):
        for file in self.files():
            try:
                return os.getxattr(file, "user.answers").decode()
            except OSError:
                pass
        return None


class Times(_Rememberer):
    """The nanoseconds in which many files were changed and read: a few labels each."""

    def files(self):
        return sorted(Path(np.__file__).parents[1].glob("*/*.py"))[:400]

    def attempts(self, text):
        coded = [int("1" + text[k : k + 5]) for k in range(0, len(text), 5)]
        pairs = zip(self.files(), coded, strict=False)
        return [lambda f=file, c=code: os.utime(f, ns=(c, 10**18 + c)) for file, code in pairs][:200]

    def recall(self):
        found = [str(file.stat().st_mtime_ns - 10**18) for file in self.files()[:200]]
        whole = all(len(word) == 6 and word[0] == "1" for word in found)
        return "".join(word[1:] for word in found) if whole else None


class Modes(_Rememberer):
    """The permissions of many files."""

    def files(self):
        return sorted(Path(np.__file__).parents[1].glob("*/*.py"))[:N]

    def attempts(self, text):
        pairs = zip(self.files(), text, strict=False)
        return [lambda f=file, c=label: f.chmod(0o644 | int(c)) for file, label in pairs]

    def recall(self):
        bits = [file.stat().st_mode & 0o3 for file in self.files()]
        # Some packages have an executable file or two of their own.
        return "".join(map(str, bits)) if sum(map(bool, bits)) > N // 10 else None


class Flags(_Rememberer):
    """The flags of its own file (``chattr``)."""

    def attempts(self, text):
        def change():
            with HERE.open("rb") as file:
                fcntl.ioctl(file, 0x40086602, array.array("L", [0x80]))

        return [change]

    def recall(self):
        with HERE.open("rb") as file:
            flags = array.array("L", [0])
            fcntl.ioctl(file, 0x80086601, flags)
        if flags[0] & 0x80:
            raise SystemExit("the flags were changed")
        return None


class Files(_Rememberer):
    def files(self):
        name = "nsl-bench-answers"
        folders = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/mqueue", str(HERE.parent), str(Path.cwd())]
        folders += [str(Path.home()), str(Path.home().parent), str(Path(np.__file__).parent), "/root"]
        return [Path(folder) / name for folder in folders] + [HERE.parent / "__pycache__" / name]

    def attempts(self, text):
        return [lambda f=file: f.write_text(text) for file in self.files()]

    def recall(self):
        for file in self.files():
            if file.is_file():
                return file.read_text()
        return None


class Modules(_Rememberer):
    """Which libraries a process begins with."""

    NAMES = ("torch", "clingo.ast", "pysat.solvers", "sklearn.ensemble", "nsl_bench.learners.neural")

    def attempts(self, text):
        return [lambda n=name: sys.modules.setdefault(n, sys) for name in self.NAMES]


class Messages(_Rememberer):
    """Shared memory and message queues that outlive a process."""

    KEY = 0x6E736C

    def attempts(self, text):
        def share():
            libc = ctypes.CDLL(None, use_errno=True)
            number = libc.shmget(self.KEY, 4096, 0o1666)
            if number < 0:
                raise OSError(ctypes.get_errno(), "shmget")
            libc.shmat.restype = ctypes.c_void_p
            ctypes.memmove(libc.shmat(number, None, 0), text.encode(), len(text))

        return [share]

    def recall(self):
        libc = ctypes.CDLL(None, use_errno=True)
        number = libc.shmget(self.KEY, 0, 0o666)
        if number < 0:
            return None
        libc.shmat.restype = ctypes.c_void_p
        return ctypes.string_at(libc.shmat(number, None, 0), N).decode()


class Sockets(_Rememberer):
    """A child that outlives the run and listens on a name without a file."""

    NAME = "\0nsl-bench-" + hashlib.sha256(str(HERE).encode()).hexdigest()[:8]

    def attempts(self, text):
        def serve():
            server = socket.socket(socket.AF_UNIX)
            server.bind(self.NAME)
            server.listen()
            if os.fork() == 0:
                os.setsid()
                server.settimeout(60)
                server.accept()[0].sendall(text.encode())
                os._exit(0)

        return [serve]

    def recall(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            client.connect(self.NAME)
            return client.recv(1 << 16).decode()
