"""Learners that are commands in any language, and predictions made elsewhere.

A command gets a folder (`nsl_bench.learners.task_folders`) and writes its predictions there. It learns and
predicts in one call, so the true concepts of the test examples are never in its folder. In hypothesis
evaluation the rules that it wrote give the predictions. A separate process reads its files.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.budget import MEBIBYTE
from nsl_bench.core.errors import UserError
from nsl_bench.core.folders import remove
from nsl_bench.core.types import Floats, Ints16, one_hot
from nsl_bench.learners import task_folders
from nsl_bench.learners.base import InvalidOutput, Unanswered, probabilities_of
from nsl_bench.learners.command import command_of, format_of
from nsl_bench.learners.folder_formats import ANSWERS, answered
from nsl_bench.learners.rules import Rules
from nsl_bench.learners.view import View
from nsl_bench.sandbox import sandbox
from nsl_bench.sandbox.fork_server import scratch_folder
from nsl_bench.sandbox.host import IsolatedLearner, vet
from nsl_bench.sandbox.limits import GIB, Failure, Limits, Lost
from nsl_bench.sandbox.process import Process, Usage

_REMOVING_SECONDS = 10.0
_SECONDS = 300.0
"""What reading answers and answering with rules may take."""


class FolderLearner:
    """A learner whose predictions, rules, or both are in a folder.

    Args:
        folder: folder with predictions (parquet, CSV or JSON), ``hypothesis.lp``, or both.
        limits: resource limits of the processes that read the files; None to read them in this process.
    """

    def __init__(self, folder: Path, name: str, limits: Limits | None) -> None:
        self.folder = folder
        self.stands_for = name
        self.timed_out_ = False
        self.isolation: dict[str, str] = {}
        self._limits = limits
        self.takes_validation = False
        self.fixed_size = False
        self.gives_probabilities = True
        self._train: View | None = None
        self._validation: View | None = None
        self._first: View | None = None
        self._answers: task_folders.Answers | None = None
        self._rules: list[str] | None = None
        self._derived: tuple[Ints16, Floats]

    def fit(self, train: View, validation: View | None = None) -> FolderLearner:
        """Keep the examples, for the background knowledge of rules and for the command's folder."""
        self._train, self._validation = train, validation
        return self

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: label probabilities.

        Raises:
            InvalidOutput: the folder has no predictions, or invalid ones.
            Unanswered: hypothesis evaluation without rules.
        """
        if self._first is None:
            self._first = test
            self._rules = task_folders.read_rules(self.folder / "hypothesis.lp")
            if self._rules and self._limits is not None and self._train is not None:
                vet(self._rules, [self._train, test], self._limits)
            if answered(self.folder).exists() or self._rules is None:
                self._answers = self._read(test)
        if test is self._first and self._answers is not None:
            self.gives_probabilities = self._answers.probabilities is not None
            if self._answers.probabilities is not None:
                return self._answers.probabilities
            return one_hot(self.predict(test), test.n_labels)
        if self._rules is None:
            raise Unanswered
        self._by_rules(test)
        return self._derived[1]

    def predict(self, test: View) -> Ints16:
        """int16 [n]: predicted labels."""
        if test is self._first and self._answers is not None:
            return self._answers.predicted
        return self._derived[0]

    def rules(self) -> list[str] | None:
        """The rules of ``hypothesis.lp``."""
        return self._rules

    def _read(self, test: View) -> task_folders.Answers:
        path = answered(self.folder)
        if self._limits is None:
            return task_folders.read_predictions(path, len(test), test.label_names)
        limits = Limits(time=_SECONDS, memory=2 * GIB, read=(path,))
        process = Process(limits)
        n, names = len(test), test.label_names
        most = 8 * n * (len(names) + 1)  # of numbers of eight bytes
        try:
            reply = process.call("read_predictions", path=str(path), n=n, names=names, most_arrays=most)
        except Lost:
            raise
        except Failure as failure:
            raise InvalidOutput(f"{path.name} cannot be read: {failure}") from failure
        finally:
            process.close()
        if "wrong" in reply:
            raise InvalidOutput(str(reply["wrong"]))
        return task_folders.Answers(reply["probabilities"], reply["labels"])

    def _by_rules(self, test: View) -> None:
        assert self._train is not None and self._rules is not None
        with tempfile.TemporaryDirectory(prefix="nsl-bench-") as place:
            path = Path(place) / "hypothesis.lp"
            path.write_text("\n".join(self._rules) + "\n", encoding="utf-8")
            if self._limits is None:
                learner: Any = Rules(path)
                learner.fit(self._train)
                self._derived = learner.predict(test), learner.predict_proba(test)
                return
            limits = replace(self._limits, time=_SECONDS, read=(path,))
            with contextlib.closing(IsolatedLearner(f"rules:{path}", 0, limits)) as apart:
                apart.fit(self._train)
                probabilities = probabilities_of(apart, test)
                self._derived = np.asarray(apart.predict(test)).astype(np.int16), probabilities

    def effort(self) -> dict[str, float]:
        """The known costs. The costs of predictions made elsewhere are unknown."""
        return {}

    def log(self) -> str:
        """All output."""
        return ""

    def last_lines(self) -> str:
        """The last lines of the output."""
        return ""

    def close(self) -> None:
        """Do nothing; the folder stays."""


class CommandLearner(FolderLearner):
    """A learner that is a command, which gets a folder.

    Args:
        spec: the learner's spec, from `nsl_bench.learners.command.spec_of`.
        seed: random seed, which the command gets.

    Attributes:
        learning_time: wall time of the command in seconds, for learning and prediction.
    """

    def __init__(self, spec: str, seed: int, limits: Limits | None) -> None:
        self.track, self._words = command_of(spec)
        self._form = format_of(spec)
        self._seed = seed
        self._log = ""
        self.learning_time = 0.0
        self._usage: Usage | None = None
        folder = Path(tempfile.mkdtemp(prefix="nsl-bench-")) if limits is None else scratch_folder(limits)
        super().__init__(folder, Path(self._words[0]).name, limits)
        self.takes_validation = True

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: label probabilities. The first call runs the command."""
        if self._first is None:
            self._run(test)
        return super().predict_proba(test)

    def _run(self, test: View) -> None:
        assert self._train is not None
        seconds = None if self._limits is None else self._limits.time
        about = {"seed": self._seed, "time_limit": seconds}
        images = self._train.track not in ("symbolic", "pretrained")
        task_folders.write(
            self.folder, self._train, test, self._validation, images=images, about=about, form=self._form
        )
        words = [word.replace("{folder}", str(self.folder)) for word in self._words]
        if words == self._words:
            words.append(str(self.folder))
        clock = time.perf_counter()
        try:
            self._execute(words)
        except Failure as failure:
            if failure.status != "timeout" or not (self.folder / "hypothesis.lp").is_file():
                raise
            self.timed_out_ = True
            for name in ANSWERS:
                (self.folder / name).unlink(missing_ok=True)
        finally:
            self.learning_time = time.perf_counter() - clock

    def _execute(self, words: list[str]) -> None:
        if self._limits is None:
            try:
                done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            except OSError as error:
                raise Failure("crashed", f"{words[0]} cannot be executed: {error.strerror}.") from error
            self._log = done.stdout + done.stderr
            if done.returncode:
                message = f"The command left with exit code {done.returncode}."
                raise Failure("crashed", message, "\n".join(self._log.splitlines()[-10:]))
            return
        code = [Path(word) for word in self._words[1:] if Path(word).is_file()]
        command = found(words)
        limits = replace(self._limits, read=(*self._limits.read, *sandbox.program(Path(command[0]))))
        process = Process(limits, code=code, seed=self._seed, command=command, scratch=self.folder)
        try:
            self.isolation = dict(process.force)
            process.run()
        finally:
            self._usage = process.usage()
            process.close()
            self._log = process.output.text()

    def effort(self) -> dict[str, float]:
        """The command's costs, all counted as learning, because it learns and predicts in one call."""
        costs = {"learning_time": self.learning_time}
        if self._usage is not None:
            costs["learning_cpu_time"] = self._usage.cpu_seconds
            costs["peak_memory"] = self._usage.peak_memory / MEBIBYTE
        return costs

    def log(self) -> str:
        """What the command printed."""
        return self._log

    def last_lines(self) -> str:
        """What the command printed last."""
        return "\n".join(line for line in self._log.splitlines()[-10:] if line.strip())

    def close(self) -> None:
        """Remove its folder."""
        remove(self.folder, _REMOVING_SECONDS)


def found(words: list[str]) -> list[str]:
    """The command with the program's place; one that is missing is an error at once."""
    place = shutil.which(words[0])
    if place is None:
        raise UserError(
            f"The command {words[0]} of the learner was not found; install it or put it on the PATH."
        )
    return [str(Path(place).absolute()), *words[1:]]
