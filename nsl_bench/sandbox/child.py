"""The learner's side of the sandbox: a process that creates a learner, gives it views and returns its output.

The harness has the data. It sends some of a view's content at the start. The process requests the rest over
the channel (`nsl_bench.sandbox.views`), and the harness sends what the view's track allows.
"""

import contextlib
import importlib
import importlib.abc
import importlib.util
import os
import random
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from nsl_bench.core import budget, registry
from nsl_bench.core.code_files import modules_used, specs_in
from nsl_bench.core.errors import NotApplicable, UserError, named
from nsl_bench.core.processes import messages
from nsl_bench.core.processes.child import detach
from nsl_bench.core.processes.memory import starved
from nsl_bench.core.types import Hypothesis, WeightedExample
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import (
    InvalidOutput,
    check_examples,
    fixed_sizes,
    method_of,
    takes_validation,
    tuning_of,
    version_of,
    without_answers,
    without_fit,
)
from nsl_bench.logic.guarded import call
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.sandbox import denied, sandbox
from nsl_bench.sandbox.views import Channel, RemoteView

_ENVIRONMENT = dict(os.environ)
"""What the fork server was started with; what it imports later may change its own."""

PRELOADED = (
    *("clingo", "clingo.ast", "numba", "pandas", "pyarrow.parquet", "pysat.solvers", "scipy.sparse"),
    *("sklearn.ensemble", "sklearn.tree", "torch"),
    *("nsl_bench.logic.inference.crisp", "nsl_bench.logic.asp.program"),
    *("nsl_bench.logic.las.enumeration.kernels", "nsl_bench.logic.las.solver"),
    "nsl_bench.logic.las.clingo_tiers.one_shot",
    *("nsl_bench.learners.ffnsl", "nsl_bench.learners.neural", "nsl_bench.learners.rules"),
    "nsl_bench.learners.trees",
)
"""Modules that later processes start with once a learner has imported them; none of it is a user's code."""

_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

_LONGEST_ERROR = 10_000


class _Host:
    """Does what the harness asks of the learner."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.learner: Any = None

    def make(self, learner: str, seed: int, tuned: dict[str, str] | None = None) -> dict[str, Any]:
        if tuned is None:
            self.learner = registry.create("learner", learner, seed=seed)
        else:  # an adapter, in whose interpreter `tuned` has no entry point
            spec = registry.Spec("nsl_bench.learners.tuned:Tuned", (learner,), tuned)
            self.learner = registry.create("learner", spec, seed=seed)
        kind = type(self.learner)
        if not callable(getattr(self.learner, "fit", None)):
            raise UserError(without_fit(kind.__name__))
        track = getattr(self.learner, "track", "pretrained")
        version = version_of(self.learner, learner)
        description: dict[str, Any] = {"name": kind.__name__, "track": str(track), "version": version}
        description["fixed_size"] = list(fixed_sizes(self.learner))
        used = tuple(dict.fromkeys(name for each in specs_in(learner) for name in modules_used(each)))
        # Libraries that are imported inside `fit` are imported now, so that its time is that of learning.
        for name in used:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        more = {"loaded": self.loaded(), "libraries": _versions(used)}
        return {**description, **more, "validation": takes_validation(self.learner)}

    def fit(self, view: dict[str, Any], validation: dict[str, Any] | None = None) -> dict[str, Any]:
        more = {} if validation is None else {"validation": RemoteView(validation, self.channel)}
        fit = method_of(self.learner, "fit", "train", **dict.fromkeys(more, ""))
        fitted = fit(RemoteView(view, self.channel), **more)
        self.learner = answering(self.learner if fitted is None else fitted)
        if not (hasattr(self.learner, "predict") or hasattr(self.learner, "predict_proba")):
            raise UserError(without_answers(type(self.learner).__name__))
        return {
            "predicts": hasattr(self.learner, "predict"),
            "examples": hasattr(self.learner, "examples_"),
            "timed_out": bool(getattr(self.learner, "timed_out_", False)),
            "tuning": tuning_of(self.learner),
            "concepts": hasattr(self.learner, "predict_concepts"),
        }

    def predict(self, view: dict[str, Any]) -> dict[str, Any]:
        seen = RemoteView(view, self.channel)
        answer: dict[str, Any] = {"gives_probabilities": hasattr(self.learner, "predict_proba")}
        if answer["gives_probabilities"]:
            answer["probabilities"] = _plain(
                method_of(self.learner, "predict_proba", "test")(seen), len(seen) * seen.n_labels
            )
            answer["gives_probabilities"] = bool(getattr(self.learner, "gives_probabilities", True))
        if hasattr(self.learner, "predict"):
            answer["labels"] = _plain(method_of(self.learner, "predict", "test")(seen), len(seen))
        return answer

    def concepts(self, view: dict[str, Any]) -> Any:
        seen = RemoteView(view, self.channel)
        concepts = method_of(self.learner, "predict_concepts", "test")(seen)
        if concepts is None:
            return {"none": True}
        return {"concepts": _plain(concepts, len(seen) * len(seen.slots) * len(seen.concept_space.concepts))}

    def rules(self) -> dict[str, Any]:
        rules = getattr(self.learner, "rules", None)
        result = method_of(self.learner, "rules")() if callable(rules) else rules
        if isinstance(result, Hypothesis):
            return {"hypothesis": result}
        if result is None or (isinstance(result, list | tuple) and all(isinstance(r, str) for r in result)):
            return {"rules": result}
        return {"wrong": type(result).__name__}

    def examples(self) -> list[WeightedExample]:
        check_examples(self.learner.examples_, type(self.learner).__name__)
        return list(self.learner.examples_)

    def read_predictions(self, path: str, n: int, names: list[str]) -> dict[str, Any]:
        from nsl_bench.learners.task_folders import read_predictions

        try:
            answers = read_predictions(Path(path), n, names)
        except InvalidOutput as error:
            return {"wrong": str(error)}
        return {"probabilities": answers.probabilities, "labels": answers.labels}

    def loaded(self) -> list[str]:
        return [name for name in PRELOADED if name in sys.modules]


def _versions(modules: Sequence[str]) -> dict[str, str]:
    """The versions of the libraries that modules are part of, by their names on the package index."""
    versions = {}
    for top in dict.fromkeys(name.partition(".")[0] for name in modules):
        try:
            versions[top] = version(top)
        except PackageNotFoundError:
            for name in packages_distributions().get(top, ()):
                versions[name] = version(name)
    return versions


def _plain(answer: Any, most: int) -> Any:
    """An answer as an array that can travel; anything else, and more than `most` numbers, as what it is."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu()
    if answer is None:
        return {"wrong": "None instead of numbers"}
    try:
        array = np.asarray(answer)
    except Exception as error:  # a learner's object may raise anything here
        return {"wrong": f"no array of numbers ({named(error).rstrip('.')})"}
    if array.dtype.kind not in "biuf":
        return {"wrong": f"an array of {array.dtype} instead of numbers"}
    if array.size > most:
        return {"wrong": f"an array of shape {array.shape}, which is more than {most} numbers"}
    return array.astype(np.float64) if array.dtype.itemsize > 8 else array


def live(request: Mapping[str, Any], channel: int, output: int, force: dict[str, str]) -> NoReturn:
    """Serve the harness's requests for a learner until it sends no more."""
    detach(output, channel)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    scratch = Path(request["scratch"])
    own = {"TMPDIR": str(scratch), "HOME": str(scratch), "XDG_CACHE_HOME": str(scratch)}
    os.environ.update(own)
    _forget_folders()
    os.chdir(request["cwd"])
    _seed(request["seed"])
    readable, listable, writable = (
        tuple(map(Path, request[kind])) for kind in ("readable", "listable", "writable")
    )
    reach = sandbox.Reach(readable, listable, writable)
    network = request["network"] or request["outward"]
    force.update(sandbox.apply(reach, network=network, entered=force))
    if force["network"] == "open" and force["calls"] == "seccomp":
        force["network"] = "seccomp"
    call.call_here()
    budget.allowed = request["memory"]
    line = Channel(channel, scratch)
    messages.send(line.socket, {"done": force})
    if request["interpreter"]:
        os.set_inheritable(line.socket.fileno(), True)
        words = [*request["interpreter"], str(channel), str(scratch), str(request["seed"])]
        _execute(words, {**_unled(request["interpreter"][0]), **own})
    if request["command"]:
        line.socket.close()
        given = _ENVIRONMENT if request["environment"] is None else request["environment"]
        proxy = request.get("proxy")
        proxies = {**dict.fromkeys(_PROXIES, proxy), "no_proxy": "", "NO_PROXY": ""} if proxy else {}
        _execute(request["command"], {**given, **proxies, **own})
    _serve(line)


def serve(channel: int, scratch: Path, seed: int) -> NoReturn:
    """Serve the harness's requests in an interpreter that has just started in the sandbox."""
    _seed(seed)
    _serve(Channel(channel, scratch))


def _serve(line: Channel) -> NoReturn:
    host = _Host(line)
    while True:
        try:
            message = messages.receive(line.socket, line.decoder)
        except (EOFError, OSError):
            os._exit(0)
        messages.send(line.socket, _answer(host, message))


def _unled(python: str) -> dict[str, str]:
    """The environment variables for another interpreter, without those that lead to this one's modules."""
    led = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    variables = {name: value for name, value in _ENVIRONMENT.items() if name not in led}
    return {**variables, "PATH": f"{Path(python).parent}{os.pathsep}{variables.get('PATH', '')}"}


def _answer(host: _Host, message: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": getattr(host, message.pop("do"))(**message)}
    except BaseException as error:  # a learner may raise anything, SystemExit too
        short = str(error) if isinstance(error, UserError) else named(error)
        short = short[:_LONGEST_ERROR]
        with contextlib.suppress(Exception):
            if not isinstance(error, UserError):
                trace = error.__traceback__
                while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
                    trace = trace.tb_next
                traceback.print_exception(type(error), error, trace)
            sys.stdout.flush()
        status = "out_of_memory" if isinstance(error, MemoryError) or starved(short) else "crashed"
        if isinstance(error, NotApplicable):
            status = "not_applicable"
        elif isinstance(error, Ended):
            status = error.status
        elif isinstance(error, InvalidOutput):
            status = "invalid_output"
        why: dict[str, Any] = {}
        with contextlib.suppress(Exception):
            why = {"denied": denied.denied_by(error), "missing": denied.missing_by(error)}
        return {"error": short, "status": status, **why}


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    else:
        sys.meta_path.insert(0, _SeedingTorch(seed))


class _SeedingTorch(importlib.abc.MetaPathFinder):
    """Seeds torch's global generator once it is imported, as it is where torch was there before."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Found by the others; its loader seeds it at the end."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            module.manual_seed(self._seed)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _forget_folders() -> None:
    """Have temporary files made in the learner's folder, wherever the fork server made its own.

    A library that an earlier learner used may have asked for the folder when the server imported it.
    """
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process()._config.pop("tempdir", None)


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        print(f"{command[0]} cannot be executed: {error.strerror}.", file=sys.stderr, flush=True)
        os._exit(127)
