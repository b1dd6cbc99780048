"""Learners that try to reach what is none of their business; each says what it got."""

import os
import socket
from pathlib import Path

import numpy as np


class _Hostile:
    track = "pretrained"
    tried = 0

    def __init__(self, place: str = "", seed: int = 0) -> None:
        self.place = os.environ.get("NSL_TEST_PLACE", "")

    def attempts(self, train):
        return []

    def fit(self, train):
        got = []
        for attempt in self.attempts(train):
            try:
                got.append(repr(attempt())[:60])
            except (OSError, AttributeError, RuntimeError) as error:
                print(type(error).__name__)
        if got:
            raise SystemExit(f"got {got}")
        return self

    def predict_proba(self, test):
        got = []
        for name in ("labels", "_split", "true_rule"):
            try:
                value = getattr(test, name)
                got.append((name, value))
            except AttributeError:
                pass
        if test._labels is not None or hasattr(test._benchmark, "true_rule"):
            got.append("hidden")
        if got:
            raise SystemExit(f"got {got}")
        return np.full((len(test), test.n_labels), 1 / test.n_labels)


class ReadsLabels(_Hostile):
    def attempts(self, train):
        place = Path(self.place)
        return [
            lambda: (place / "splits" / "test.csv").read_text(),
            lambda: (place / "results" / "records.jsonl").read_text(),
            lambda: (place / "notes.txt").read_text(),
            lambda: (place / "splits" / ".." / "splits" / "test.csv").read_text(),
            lambda: os.link(place / "splits" / "test.csv", Path(os.environ["TMPDIR"]) / "mine"),
            lambda: os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY),
            lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes() or None,
        ]


class Writes(_Hostile):
    def attempts(self, train):
        place = Path(self.place)
        return [
            lambda: (place / "stolen.txt").write_text("x"),
            lambda: (place / "results" / "records.jsonl").write_text("x"),
            lambda: Path(__file__).write_text("x"),
            lambda: (place / "splits" / "test.csv").unlink(),
            lambda: (place / "splits").rename(place / "gone"),
            lambda: Path("/tmp/nsl-bench-stolen.txt").write_text("x"),
            lambda: (Path.home().parent / "nsl-bench-stolen.txt").write_text("x"),
        ]


def _connects(place):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(place))
    return "connected"


class LooksAround(_Hostile):
    """Sizes, times and sockets of what it may not open."""

    def attempts(self, train):
        place = Path(self.place)
        return [
            lambda: (place / "results" / "records.jsonl").stat(),
            lambda: (place / "splits" / "test.csv").stat(),
            lambda: (place.parent / "elsewhere.txt").stat(),
            *(
                lambda way=way: Path(f"/proc/{way}{place}/results/records.jsonl").stat()
                for way in ("1/root", f"{os.getppid()}/root", f"{os.environ['NSL_TEST_PID']}/root")
            ),
            lambda: _connects(place / "results" / "agent.sock"),
            lambda: _connects("\0nsl-bench-test"),
        ]


class AsksForMore(_Hostile):
    """Asks the harness itself for what its view does not show."""

    track = "end_to_end"

    def attempts(self, train):
        from nsl_bench.core.processes import messages

        def ask(what):
            asked = {"ask": what, "view": train._id, "rows": [0], "knowledge": True}
            messages.send(train._channel.socket, asked)
            told = messages.receive(train._channel.socket, train._channel.decoder)
            if "answer" in told and told["answer"] is not None:
                return told["answer"]
            raise RuntimeError(told)

        names = ["predictions", "concept_space", "facts", "background", "bias", "features", "contexts"]
        names += ["labels", "true_rule", "__class__", "_split"]
        return [lambda name=name: ask(name) for name in names]
