"""The learner's side of the sandbox: a process that creates a learner, gives it views and returns its output.

The harness has the data. It sends some of a view's content at the start. The process requests the rest over
the channel, and the harness sends what the view's track allows.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.util
import os
import random
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.code_files import modules_used, specs_in
from nsl_bench.errors import NotApplicable, UserError, named
from nsl_bench.guarded import call, wire
from nsl_bench.isolation import denied, sandbox
from nsl_bench.learners.asp_rules import FeatureTest
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
from nsl_bench.learners.known_rule import KnownRule
from nsl_bench.learners.view import Images, LabelledImages, Slots, TrackError, View
from nsl_bench.types import ConceptSpace, Hypothesis, LabelSpace, Predictions

__all__ = ["BATCH", "PRELOADED", "RemoteView", "live", "serve"]

_MOST = 1 << 40
_ENVIRONMENT = dict(os.environ)
"""What the fork server was started with; what it imports later may change its own."""

PRELOADED = (
    *("clingo", "clingo.ast", "numba", "pandas", "pyarrow.parquet", "pysat.solvers", "scipy.sparse"),
    *("sklearn.ensemble", "sklearn.tree", "torch"),
    *("nsl_bench.inference.crisp", "nsl_bench.asp.program", "nsl_bench.las.enumeration.kernels"),
    *("nsl_bench.las.solver", "nsl_bench.las.clingo_tiers.one_shot"),
    *(
        f"nsl_bench.learners.{name}"
        for name in ("ffnsl", "majority", "neural", "random_forest", "rules", "trees")
    ),
)
"""Modules that later processes start with once a learner has imported them; none of it is a user's code."""

_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
BATCH = 64
"""Most examples whose images are requested at once."""

_LONGEST_ERROR = 10_000


class _Channel:
    """Questions to the harness; learners may ask from several threads and processes.

    Processes of a learner take turns by the system's own lock and not by `nsl_bench.cache.lock`, which polls:
    a question would wait for the next poll. This runs only where processes can be forked, so `fcntl` exists.
    """

    def __init__(self, descriptor: int, scratch: Path) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.decoder = wire.Decoder(_MOST)
        self._threads = threading.RLock()
        self._turn = scratch / ".turn"

    def ask(self, what: str, **given: Any) -> Any:
        import fcntl

        with self._threads, self._turn.open("w") as turn:
            fcntl.lockf(turn, fcntl.LOCK_EX)
            wire.send(self.socket, {"ask": what, **given})
            reply = wire.receive(self.socket, self.decoder)
        if "error" in reply:
            kinds = {"track": TrackError, "user": UserError, "not_applicable": NotApplicable}
            raise kinds.get(reply["kind"], RuntimeError)(reply["error"])
        return reply["answer"]


class _RemoteBenchmark:
    """What a learner may know of a benchmark."""

    def __init__(self, card: dict[str, Any], channel: _Channel) -> None:
        self._channel = channel
        self.name = card["name"]
        self.labels = LabelSpace(tuple(card["label_names"]), tuple(card["label_atoms"]))
        self.slots = tuple(card["slots"])
        self.sequential = bool(card["sequential"])
        self._view = card["view"]
        self._step_atoms: dict[tuple[str, int], str] = {}

    def _ask(self, what: str, **given: Any) -> Any:
        return self._channel.ask(what, view=self._view, **given)

    @cached_property
    def concept_space(self) -> ConceptSpace:
        told = self._ask("concept_space")
        return ConceptSpace(told["name"], tuple(told["concepts"]), told["background"])

    @cached_property
    def background(self) -> str:
        return str(self._ask("background"))

    @cached_property
    def bias(self) -> str:
        return str(self._ask("bias"))

    @cached_property
    def _facts(self) -> list[list[list[str]]]:
        return cast("list[list[list[str]]]", self._ask("facts"))

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return tuple(self._facts[slot][self.concept_space.ids[concept]])

    def symbols(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(values) for values in self._ask("symbols"))

    def memory(self) -> tuple[str, ...]:
        return tuple(self._ask("memory"))

    def features(self, concepts: Any, metadata: Any) -> Any:
        return self._ask("features")

    def knowledge_features(self, concepts: Any, metadata: Any) -> Any:
        return self._ask("knowledge_features")

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        return tuple(self._ask("feature_names", knowledge=knowledge))

    def contexts(self, concepts: Any, metadata: Any, steps: Any = None) -> list[tuple[str, ...]]:
        return [tuple(facts) for facts in self._ask("contexts")]

    def sequence_contexts(self, concepts: Any, metadata: Any, steps: Any) -> list[tuple[str, ...]]:
        return [tuple(facts) for facts in self._ask("sequence_contexts")]

    def step_atom(self, atom: str, step: int) -> str:
        known = (atom, int(step))
        if known not in self._step_atoms:
            self._step_atoms[known] = str(self._ask("step_atom", atom=atom, step=int(step)))
        return self._step_atoms[known]


class _RemoteImages(Images):
    """Images that the harness renders when asked for."""

    def __init__(self, view: int, count: int, channel: _Channel) -> None:
        self._view, self._count, self._channel = view, count, channel

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            rows = range(*i.indices(self._count))
            return [slots for k in range(0, len(rows), BATCH) for slots in self._rows(rows[k : k + BATCH])]
        if not -self._count <= i < self._count:
            raise IndexError(f"example {i} of {self._count}")
        return self._rows([i])[0]

    def __iter__(self) -> Iterator[Slots]:
        for start in range(0, self._count, BATCH):
            yield from self._rows(range(start, min(start + BATCH, self._count)))

    def _rows(self, rows: Sequence[int]) -> list[Slots]:
        told = self._channel.ask("images", view=self._view, rows=[int(i) % self._count for i in rows])
        images = iter(told["images"])
        return [[next(images) if there else None for there in row] for row in told["present"].tolist()]


class RemoteView(View):
    """A view whose content is requested from the harness.

    Args:
        card: content that the harness sent at the start.
        channel: channel for requests.
    """

    def __init__(self, card: dict[str, Any], channel: _Channel) -> None:
        self.track = card["track"]
        self.part = card["part"]
        self.time_limit = card["time_limit"]
        self.device = card["device"]
        self._n = card["n"]
        self._benchmark = cast(Benchmark, _RemoteBenchmark(card, channel))
        self._metadata: dict[str, npt.NDArray[Any]] = card["metadata"]
        self._sequences, self._steps = card["sequences"], card["steps"]
        self._labels = card["labels"]
        self._images = _RemoteImages(card["view"], self._n, channel) if card["images"] else None
        self._channel, self._id = channel, card["view"]

    @cached_property
    def _predictions(self) -> Predictions | None:  # type: ignore[override]
        told = self._channel.ask("predictions", view=self._id)
        return None if told is None else Predictions(told["probabilities"], told["blank"])

    @property
    def few_labels(self) -> LabelledImages:
        """Images that are not in any example, with their symbols."""
        told = self._channel.ask("few_labels", view=self._id)
        return LabelledImages(told["images"], told["targets"], tuple(told["values"]))

    @cached_property
    def true_rule(self) -> KnownRule:
        """The rule that labels the data, each form of which the harness sends when asked."""
        self._may_know_the_rule()
        return KnownRule(self._ask_the_rule, self._n)

    def _ask_the_rule(self, form: str, *given: Any) -> Any:
        told = {"concepts": given[0], "rows": given[1]} if given else {}
        return self._channel.ask("true_rule", view=self._id, form=form, **told)

    def feature_test(self, column: int, threshold: float, *, knowledge: bool = False) -> FeatureTest:
        """As the harness writes it."""
        asked = {"column": int(column), "threshold": float(threshold), "knowledge": bool(knowledge)}
        told = self._channel.ask("feature_test", view=self._id, **asked)
        return FeatureTest(told["atom"], tuple(told["rules"]))

    @cached_property
    def literals(self) -> npt.NDArray[np.bool_]:
        """As the harness computes them."""
        return cast("npt.NDArray[np.bool_]", self._channel.ask("literals", view=self._id))

    @cached_property
    def literal_names(self) -> tuple[str, ...]:
        """As the harness names them."""
        return tuple(self._channel.ask("literal_names", view=self._id))

    @cached_property
    def literal_bodies(self) -> tuple[tuple[str, ...], ...]:
        """As the harness writes them."""
        return tuple(map(tuple, self._channel.ask("literal_bodies", view=self._id)))

    def report(self, rules: Sequence[str]) -> None:
        """Report the best hypothesis so far. It is used if the time limit ends `fit`."""
        self._channel.ask("report", view=self._id, rules=[str(rule) for rule in rules])


class _Host:
    """Does what the harness asks of the learner."""

    def __init__(self, channel: _Channel) -> None:
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
        told: dict[str, Any] = {"name": kind.__name__, "track": str(track), "version": version}
        told["fixed_size"] = list(fixed_sizes(self.learner))
        used = tuple(dict.fromkeys(name for each in specs_in(learner) for name in modules_used(each)))
        # Libraries that are imported inside `fit` are imported now, so that its time is that of learning.
        for name in used:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        more = {"loaded": self.loaded(), "libraries": _versions(used)}
        return {**told, **more, "validation": takes_validation(self.learner)}

    def fit(self, view: dict[str, Any], validation: dict[str, Any] | None = None) -> dict[str, Any]:
        more = {} if validation is None else {"validation": RemoteView(validation, self.channel)}
        fit = method_of(self.learner, "fit", "train", **dict.fromkeys(more, ""))
        fitted = fit(RemoteView(view, self.channel), **more)
        self.learner = self.learner if fitted is None else fitted
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
        said = method_of(self.learner, "predict_concepts", "test")(seen)
        if said is None:
            return {"none": True}
        return {"concepts": _plain(said, len(seen) * len(seen.slots) * len(seen.concept_space.concepts))}

    def rules(self) -> dict[str, Any]:
        rules = getattr(self.learner, "rules", None)
        found = method_of(self.learner, "rules")() if callable(rules) else rules
        if isinstance(found, Hypothesis):
            return {"hypothesis": asdict(found)}
        if found is None or (isinstance(found, list | tuple) and all(isinstance(r, str) for r in found)):
            return {"rules": found}
        return {"wrong": type(found).__name__}

    def examples(self) -> list[dict[str, Any]]:
        check_examples(self.learner.examples_, type(self.learner).__name__)
        return [asdict(example) for example in self.learner.examples_]

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
    found = {}
    for top in dict.fromkeys(name.partition(".")[0] for name in modules):
        try:
            found[top] = version(top)
        except PackageNotFoundError:
            for name in packages_distributions().get(top, ()):
                found[name] = version(name)
    return found


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
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, channel)
    os.closerange(channel + 1, max(channel, output, nothing) + 64)
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
    line = _Channel(channel, scratch)
    wire.send(line.socket, {"done": force})
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
    _serve(_Channel(channel, scratch))


def _serve(line: _Channel) -> NoReturn:
    host = _Host(line)
    while True:
        try:
            message = wire.receive(line.socket, line.decoder)
        except (EOFError, OSError):
            os._exit(0)
        wire.send(line.socket, _answer(host, message))


def _unled(python: str) -> dict[str, str]:
    """The environment variables for another interpreter, without those that lead to this one's modules."""
    led = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in _ENVIRONMENT.items() if name not in led}
    return {**kept, "PATH": f"{Path(python).parent}{os.pathsep}{kept.get('PATH', '')}"}


def _answer(host: _Host, message: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": getattr(host, message.pop("do"))(**message)}
    except BaseException as error:  # a learner may raise anything, SystemExit too
        short = str(error) if isinstance(error, UserError) else named(error)
        short = short[:_LONGEST_ERROR]
        starved = isinstance(error, MemoryError) or denied.starved(short)
        with contextlib.suppress(Exception):
            if not isinstance(error, UserError):
                trace = error.__traceback__
                while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
                    trace = trace.tb_next
                traceback.print_exception(type(error), error, trace)
            sys.stdout.flush()
        status = "out_of_memory" if starved else "crashed"
        if isinstance(error, NotApplicable):
            status = "not_applicable"
        elif isinstance(error, call.Ended):
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
