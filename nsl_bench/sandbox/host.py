"""The harness's side of the sandbox: a learner in another process, used like any other learner.

Requests of the learner's process are answered from the real view, which refuses what its track does not
allow. Test views have no labels, so none can be requested. The learner's output is checked like that of any
learner.
"""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np

from nsl_bench.core.code_files import comes_with_us
from nsl_bench.core.errors import UserError
from nsl_bench.core.processes.messages import restored
from nsl_bench.core.types import Hypothesis, WeightedExample, one_hot
from nsl_bench.learners.base import (
    About,
    InvalidOutput,
    check_examples,
    check_hypothesis,
    describe_here,
    hypothesis_of,
    labels_of,
    track_of,
    without_answers,
)
from nsl_bench.learners.environments import adapter_spec, entrant, is_environment, tuning
from nsl_bench.learners.view import LONGEST_RULES, View
from nsl_bench.sandbox import sandbox
from nsl_bench.sandbox.building import built
from nsl_bench.sandbox.child import PRELOADED
from nsl_bench.sandbox.fork_server import pool
from nsl_bench.sandbox.limits import GIB, Failure, Limits, Lost
from nsl_bench.sandbox.process import Process, Usage
from nsl_bench.sandbox.views import answer, card_of

_LONGEST_EXAMPLE = 1 << 13
_NUMBER = 8
"""Bytes of a number in an answer."""

_LONGEST_NAME = 200
_MOST_LIBRARIES = 200
_ADAPTER = Path(__file__).with_name("foreign.py")
"""What the interpreter of a learner that has its own executes."""

_LEAST_SECONDS = 60.0
"""What importing and making a learner, and answering with the rules of a late one, may take."""


class IsolatedLearner:
    """A learner in a sandboxed process.

    Attributes:
        track: track that the learner declares.
        version: version that the learner declares, with a hash of its file.
        tuning_: what the learner reports about its tuning.
        takes_validation: whether its `fit` takes a validation set.
        fixed_size: sizes that cannot change between train and test set.
        comes_with_us: whether its code, and all that its options name, comes with nsl-bench.
        libraries: versions of the libraries that its code imports, and of Python if it has its own
            interpreter; empty for learners that come with nsl-bench.
        vetting_time: seconds in which the harness tried its rules.
        timed_out_: whether the time limit ended `fit` and the best hypothesis reported so far is used.
    """

    vetting_time = 0.0

    def __init__(self, spec: str, seed: int, limits: Limits) -> None:
        self._seed, self._limits = seed, limits
        self._hypothesis: Hypothesis | None = None
        self._modules: list[str] = []
        self.libraries: Mapping[str, str] = {}
        self.timed_out_ = False
        self.gives_probabilities = True
        self.tuning_: Any = None
        self._views: dict[int, View] = {}
        self._bare: dict[int, View] = {}
        self.comes_with_us = comes_with_us(spec)
        self._start(spec)

    def _start(self, spec: str) -> None:
        own = entrant(spec) if is_environment(spec) else None
        more: dict[str, Any] = {}
        if own is not None:
            more = {"tuned": tuning(spec)}
            environment = built(own)
            self.libraries = environment.versions
            limits = replace(self._limits, read=(*self._limits.read, *environment.readable))
            words = [str(environment.python), "-P", "-s", "-u", str(_ADAPTER)]
            self._process = Process(limits, code=[own.folder], seed=self._seed, interpreter=words)
            spec = adapter_spec(spec, own)
        else:
            called, folders = sandbox.programs_of(spec)
            limits = replace(
                self._limits,
                read=(*self._limits.read, *sandbox.files_named(spec), *called),
                write=(*self._limits.write, *folders),
            )
            self._process = Process(limits, code=sandbox.code_places(spec), seed=self._seed)
        self.isolation = dict(self._process.force)
        try:
            reply = self._process.call("make", least=_LEAST_SECONDS, learner=spec, seed=self._seed, **more)
            self.stands_for = str(reply["name"])[:_LONGEST_NAME]
            self.track = str(reply["track"])[:_LONGEST_NAME]
            self.version = str(reply["version"])[:_LONGEST_NAME]
            if own is not None:
                self.track, self.version = own.track, own.version
            else:
                self._modules = [str(name) for name in reply["loaded"] if name in PRELOADED]
                if not self.comes_with_us:
                    libraries = list(reply["libraries"].items())[:_MOST_LIBRARIES]
                    self.libraries = {str(name)[:100]: str(version)[:100] for name, version in libraries}
            self.takes_validation = bool(reply["validation"])
            self.fixed_size = tuple(str(name) for name in reply["fixed_size"])
        except (KeyError, TypeError, AttributeError) as error:
            self.close()
            raise Failure(
                "invalid_output", "The learner's process sent an invalid description of the learner."
            ) from error
        except BaseException:
            self.close()
            raise

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Fit the learner. If it times out, the best hypothesis that it reported is used instead."""
        train.time_limit = self._limits.time
        try:
            reply = self._ask("fit", train, validation)
        except Failure as failure:
            if failure.status != "timeout" or not train.reported:
                raise
            self._fall_back(train, train.reported)
            return self
        if reply.get("predicts"):
            self.predict = self._predict
        if reply.get("examples"):
            self.examples_ = self._examples()
        self.timed_out_ = bool(reply.get("timed_out"))
        self.tuning_ = reply.get("tuning")
        if reply.get("concepts"):
            self.predict_concepts = self._predict_concepts
        return self

    def _fall_back(self, train: View, rules: Sequence[str]) -> None:
        """Have the rules answer in place of the learner, which is ended."""
        self.close()
        name = self.stands_for
        rule_file = self._process.scratch.with_suffix(".lp")
        rule_file.write_text("\n".join(rules) + "\n", encoding="utf-8")
        try:
            seconds = max(_LEAST_SECONDS, self._limits.time or 0)
            self._limits = replace(self._limits, read=(*self._limits.read, rule_file), time=seconds)
            self._start(f"rules:{rule_file}")
            self._ask("fit", train)
            hypothesis = hypothesis_of(self)
            self._hypothesis = None if hypothesis is None else replace(hypothesis, status="feasible")
        finally:
            rule_file.unlink(missing_ok=True)
        self.stands_for, self.timed_out_, self.predict = name, True, self._predict

    def _ask(
        self, do: str, view: View, validation: View | None = None, *, numbers: int = 0
    ) -> dict[str, Any]:
        """The reply, whose arrays may have so many numbers."""
        self._views[id(view)] = view
        given: dict[str, Any] = {"view": card_of(view)}
        if validation is not None:
            self._views[id(validation)] = validation
            given["validation"] = card_of(validation)
        reply = self._process.call(do, self._answer, most_arrays=_NUMBER * numbers, **given)
        if not isinstance(reply, dict):
            raise InvalidOutput(
                f"{self.stands_for} returned an invalid value of type {type(reply).__name__}."
            )
        return reply

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question about a view that the learner was handed before."""
        asked = question.get("view")
        view = self._views.get(asked) if isinstance(asked, int) else None
        if view is None:
            return {"error": "The view does not exist.", "kind": "user"}
        if question.get("unlabelled"):
            view = self._bare.setdefault(id(view), view.unlabelled())
        before = view.given_time[0]
        reply = answer(view, question)
        return {**reply, "given": view.given_time[0] - before}

    def predict_proba(self, test: View) -> Any:
        """The learner's predictions, not yet checked."""
        reply = self._ask("predict", test, numbers=len(test) * (test.n_labels + 1))
        self._labels = (test, reply.get("labels"))
        self.gives_probabilities = bool(reply.get("gives_probabilities", True))
        if not self.gives_probabilities:
            if not hasattr(self, "predict"):
                raise InvalidOutput(without_answers(self.stands_for))
            return one_hot(labels_of(self, test), test.n_labels)
        return self._array(reply.get("probabilities"), "predict_proba")

    def _predict(self, test: View) -> Any:
        if self._labels[0] is not test:
            self.predict_proba(test)
        return self._array(self._labels[1], "predict")

    def _predict_concepts(self, test: View) -> Any:
        concepts = len(test) * len(test.slots) * len(test.concept_space.concepts)
        reply = self._ask("concepts", test, numbers=concepts)
        if reply.get("none") is True:
            return None
        return self._array(reply.get("concepts"), "predict_concepts")

    def _array(self, answer: Any, what: str) -> np.ndarray[Any, Any]:
        if isinstance(answer, np.ndarray):
            return answer
        wrong = answer.get("wrong") if isinstance(answer, dict) else None
        raise InvalidOutput(f"{self.stands_for}.{what} returned {str(wrong or 'no array')[:300]}.")

    def rules(self) -> Any:
        """The learned rules, not yet checked."""
        if self._hypothesis is not None:
            return self._hypothesis
        from nsl_bench.logic.guarded.rules import one_by_one

        reply = self._process.call("rules", self._answer, most_text=3 * LONGEST_RULES)
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            if "wrong" in reply:
                raise InvalidOutput(
                    f"{self.stands_for}.rules must return a list of strings or a Hypothesis; "
                    f"got {str(reply['wrong'])[:100]}."
                )
            result = reply["rules"] if "rules" in reply else _hypothesis(reply["hypothesis"])
            if isinstance(result, Hypothesis):
                check_hypothesis(result, self.stands_for)
            rules = result.rules if isinstance(result, Hypothesis) else result
            if rules and not self.comes_with_us and getattr(result, "language", "asp") == "asp":
                clock = perf_counter()
                one_by_one("\n".join(rules), f"the rules of the learner {self.stands_for}")
                vetted = [view for view in self._views.values() if view.part != "validation"]
                vet(rules, vetted, self._limits)
                self.vetting_time += perf_counter() - clock
            return result
        raise InvalidOutput(f"{self.stands_for}.rules returned an invalid hypothesis.")

    def _examples(self) -> list[WeightedExample]:
        most = _LONGEST_EXAMPLE * (1 + sum(len(view) for view in self._views.values()))
        sent = self._process.call("examples", self._answer, most_text=most)
        try:
            examples: list[WeightedExample] = restored(list[WeightedExample], sent)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidOutput(f"{self.stands_for}.examples_ contains invalid examples.") from error
        check_examples(examples, self.stands_for)
        return examples

    def usage(self) -> Usage:
        """CPU time and memory that its processes have used so far."""
        return self._process.usage()

    def log(self) -> str:
        """The learner's output."""
        self._process.output.drain()
        return self._process.output.text()

    def last_lines(self) -> str:
        """The last lines of the learner's output."""
        self._process.output.drain()
        return self._process.output.last_lines()

    def close(self, *, keep_modules: bool = False) -> None:
        """End its process.

        Args:
            keep_modules: start later processes with the libraries that this one imported. If the learner does
                not come with nsl-bench, only libraries imported before it got any data are kept, because the
                others could reveal something about the data.
        """
        modules = self._modules
        if keep_modules and self.comes_with_us:
            with contextlib.suppress(Failure, TypeError):
                modules = [str(name) for name in self._process.call("loaded") if name in PRELOADED]
        self._process.close()
        if keep_modules and modules:
            pool.get(self._limits).preload(modules)


def vet(rules: Sequence[str], views: Sequence[View], limits: Limits) -> None:
    """Check that untrusted rules can be evaluated, before the harness evaluates them.

    Args:
        rules: ASP rules.
        views: the train view, then those on which the rules will be evaluated.
    """
    with tempfile.TemporaryDirectory(prefix="nsl-bench-") as place:
        path = Path(place) / "hypothesis.lp"
        path.write_text("\n".join(rules) + "\n", encoding="utf-8")
        limits = Limits(time=_LEAST_SECONDS, memory=limits.memory or 4 * GIB, read=(path,))
        train, *tests = views
        try:
            with contextlib.closing(IsolatedLearner(f"rules:{path}", 0, limits)) as learner:
                learner.fit(train)
                for test in tests:
                    if hasattr(test, "predictions"):  # elsewhere the learner's own concepts are needed
                        learner.predict_proba(test)
        except Lost:
            raise
        except Failure as failure:
            raise InvalidOutput(f"The learned rules cannot be evaluated: {failure}") from failure


def about(spec: str, limits: Limits) -> About:
    """Get a learner's track and version, in a sandboxed process.

    One with an interpreter of its own is described by its manifest, and nothing is installed.
    """
    if is_environment(spec):
        return describe_here(spec)
    try:
        learner = IsolatedLearner(spec, 0, limits)
    except Failure as failure:
        raise UserError(str(failure)) from failure
    learner.close(keep_modules=True)
    return About(track_of(learner), learner.version)


def _hypothesis(sent: dict[str, Any]) -> Hypothesis:
    hypothesis: Hypothesis = restored(Hypothesis, sent)
    is_answer = hypothesis.status in ("optimal", "feasible")
    return hypothesis if is_answer else replace(hypothesis, status=None)
