"""The learner protocol: `fit` and `predict_proba`, and `rules` if the learner learns any.

A learner needs no base class. It may declare the supervision that it uses (`track`, by default
``"pretrained"``), take a `seed` in its constructor, return its rules (`rules`), and predict labels itself
(`predict`), including "none" and "several". The functions here read learners through this protocol.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.code_files import code_key
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.metrics.predictions import checked_probabilities
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import UNDECIDED, Floats, Hypothesis, Ints16, WeightedExample
from nsl_bench.learners.environments import entrant, is_environment
from nsl_bench.learners.view import LONGEST_RULES, View

if TYPE_CHECKING:
    from nsl_bench.core.benchmark import Benchmark

TOLD_THE_ANSWER = "told_the_answer"
"""Part of the version of a learner that was given part of the true rule."""

_MOST_ATOMS = 10**9
_GREATEST_SCORE = 10**15
_GREATEST_PENALTY = (1 << 31) - 1
_MOST_TRIALS = 1000
_TUNING: tuple[tuple[str, type, float], ...] = (
    ("trials", numbers.Integral, _MOST_ATOMS),
    ("failed", numbers.Integral, _MOST_ATOMS),
    ("validation_accuracy", numbers.Real, 1),
    ("accuracy", numbers.Real, 1),
    ("brier_score", numbers.Real, 2),
    ("seconds", numbers.Real, _MOST_ATOMS),
)
"""Numbers of a tuned learner and of its trials, each with its kind and its greatest value."""

_SIZES = ("slots", "labels")
"""What can change between the members of a family of tasks, and may be fixed in a learner."""


@runtime_checkable
class Learner(Protocol):
    """The methods that every learner must have."""

    def fit(self, train: View) -> Any:
        """Learn from labelled examples; return the learner itself.

        A learner that stops early or tunes itself takes a second view, ``validation``.
        """

    def predict_proba(self, test: View) -> npt.ArrayLike:
        """Label probabilities [n, n_labels]; a row of zeros where the learner derives no label or several."""


@dataclass(frozen=True)
class About:
    """A learner's description of itself.

    Attributes:
        track: supervision that it uses.
        version: its ``version``, with a hash of its code if it is not part of nsl-bench.
    """

    track: Track
    version: str


def describe_here(learner: str) -> About:
    """Describe a learner by importing its code in this process, or from the manifest of its environment."""
    if is_environment(learner):
        result = entrant(learner)
        return About(result.track, result.version)
    built = registry.create("learner", learner, seed=0)
    return About(track_of(built), version_of(built, learner))


class InvalidOutput(UserError):
    """A learner returned an invalid output: wrong shape, NaN, or unknown labels."""


class Unanswered(Exception):
    """A learner cannot answer this evaluation, such as a command without rules in hypothesis evaluation."""


def version_of(part: Any, spec: str, kind: registry.Kind = "learner", version: str | None = None) -> str:
    """The ``version`` of a part or its class, with a hash of its code if it is not part of nsl-bench."""
    version = str(getattr(part, "version", "")) if version is None else version
    code = code_key(spec, kind)
    return f"{version}+{code}" if code else version


def told_the_answer(version: str) -> bool:
    """Whether a learner's version says that it was given part of the true rule: ``"1+told_the_answer"``.

    Such learners show what is possible. The board shows them without a rank.
    """
    return TOLD_THE_ANSWER in version.split("+")


def takes_validation(learner: Any) -> bool:
    """Whether a learner's `fit` has an argument ``validation``."""
    declared = getattr(learner, "takes_validation", None)
    if isinstance(declared, bool):
        return declared
    try:
        return "validation" in inspect.signature(learner.fit).parameters
    except (TypeError, ValueError):
        return False


def tuning_of(learner: Any) -> dict[str, Any]:
    """A fitted learner's report on its tuning, as plain values; empty if it was not tuned."""
    tuning = getattr(learner, "tuning_", None)
    if not isinstance(tuning, Mapping):
        return {}
    result = _tuning(tuning, f"{_name(learner)}.tuning_")
    tried = tuning.get("tried")
    if isinstance(tried, list | tuple):
        trials = [trial for trial in tried[:_MOST_TRIALS] if isinstance(trial, Mapping)]
        result["tried"] = [_tuning(trial, f"{_name(learner)}.tuning_: tried") for trial in trials]
    return result


def _tuning(tuning: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a tuned learner tells of its trials or of one of them, as plain values."""
    result: dict[str, Any] = {}
    for name in ("chosen", "options"):
        if isinstance(tuning.get(name), Mapping):
            result[name] = {str(key)[:100]: str(value)[:100] for key, value in tuning[name].items()}
    if tuning.get("metric") is not None:
        result["metric"] = str(tuning["metric"])[:100]
    for name, kind, most in _TUNING:
        if tuning.get(name) is not None:
            _hold(tuning[name], kind, 0, most, f"{where}: {name}")
            result[name] = (int if kind is numbers.Integral else float)(tuning[name])
    return result


def track_of(learner: Any) -> Track:
    """The supervision that a learner, or its class, declares."""
    track: Track = getattr(learner, "track", "pretrained")
    if track not in get_args(Track):
        raise unknown(f"track of the learner {_name(learner)}", str(track), get_args(Track))
    return track


def fixed_sizes(learner: Any) -> tuple[str, ...]:
    """The sizes that cannot change between a learner's train and test set: ``"slots"``, ``"labels"``.

    A learner, or its class, declares them as ``fixed_size``: True (the default) for both, False for none, or
    a list of them.
    """
    declared = getattr(learner, "fixed_size", True)
    if isinstance(declared, bool):
        return _SIZES if declared else ()
    names = (declared,) if isinstance(declared, str) else tuple(declared)
    for name in names:
        if name not in _SIZES:
            raise unknown(f"fixed_size of the learner {_name(learner)}", str(name), _SIZES)
    return names


def answers_of(learner: Any, test: View) -> tuple[Ints16, Floats | None]:
    """Labels int16 [n] of a learner and its label probabilities [n, n_labels], or None instead of the latter.

    A learner without `predict_proba`, or whose ``gives_probabilities`` is False, is label-only.
    """
    if not hasattr(learner, "predict_proba"):
        return labels_of(learner, test), None
    probabilities = probabilities_of(learner, test)
    labels = labels_of(learner, test, probabilities)
    return labels, probabilities if getattr(learner, "gives_probabilities", True) else None


def probabilities_of(learner: Learner, test: View) -> Floats:
    """float64 [n, n_labels]: the learner's label probabilities, checked.

    A row sums to 1, or to less where some outcomes have no label.
    """
    name = _name(learner)
    expected = (len(test), test.n_labels)
    answer = learner.predict_proba(test)
    try:
        given = np.asarray(answer, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidOutput(f"{name}.predict_proba must return an array of numbers: {error}.") from error
    if given.shape != expected:
        raise InvalidOutput(
            f"{name}.predict_proba must return an array of shape {expected} (examples, labels); "
            f"got {given.shape}."
        )
    try:
        return checked_probabilities(given)
    except ValueError as error:
        raise InvalidOutput(f"{name}.predict_proba returned {error}.") from error


def labels_of(learner: Learner, test: View, probabilities: Floats | None = None) -> Ints16:
    """int16 [n]: the label that a learner predicts for each example, `UNDECIDED` or `AMBIGUOUS`.

    A learner without `predict` predicts its most probable label, the first on ties, and abstains where all
    probabilities are zero.

    Args:
        probabilities: result of `probabilities_of` for the same examples, to avoid a second call.
    """
    predict = getattr(learner, "predict", None)
    if predict is None:
        if probabilities is None and not hasattr(learner, "predict_proba"):
            raise InvalidOutput(without_answers(_name(learner)))
        if probabilities is None:
            probabilities = probabilities_of(learner, test)
        best: Ints16 = probabilities.argmax(axis=1).astype(np.int16)
        best[probabilities.max(axis=1, initial=0) <= 0] = UNDECIDED
        return best
    given = np.asarray(predict(test))
    if given.shape != (len(test),) or not np.issubdtype(given.dtype, np.integer):
        raise InvalidOutput(
            f"{_name(learner)}.predict must return whole numbers of shape ({len(test)},); "
            f"got {given.dtype} of shape {given.shape}."
        )
    bad = (given >= test.n_labels) | (given < -2)
    if bad.any():
        raise InvalidOutput(
            f"{_name(learner)}.predict must return labels between 0 and {test.n_labels - 1}, -1 for none or "
            f"-2 for several; got {int(given[bad.argmax()])} for example {int(bad.argmax())}."
        )
    return given.astype(np.int16)


def hypothesis_of(learner: Learner, benchmark: Benchmark | None = None) -> Hypothesis | None:
    """The rules that a fitted learner has learned; None if it has none.

    `rules` may return a `Hypothesis`, or a list of ASP rules as strings, each with one rule or several.

    Args:
        benchmark: benchmark whose language bias counts the atoms of ASP rules. Without it, each head and each
            body literal counts as one atom.
    """
    rules = getattr(learner, "rules", None)
    result = rules() if callable(rules) else rules
    if result is None:
        return None
    if isinstance(result, Hypothesis):
        check_hypothesis(result, _name(learner))
        counted = result.language == "asp" and benchmark is not None
        return _counted(result, benchmark, _name(learner)) if counted else result
    listed = isinstance(result, Sequence) and not isinstance(result, str)
    others = [rule for rule in result if not isinstance(rule, str)] if listed else [result]
    if others:
        raise InvalidOutput(
            f"{_name(learner)}.rules must return a list of strings or a Hypothesis; "
            f"got {'a list with ' if listed else ''}{type(others[0]).__name__}."
        )
    return _counted(Hypothesis(tuple(result), 0), benchmark, _name(learner))


def check_hypothesis(hypothesis: Hypothesis, name: str) -> None:
    """Check the values of a hypothesis that a learner returned."""
    lengths = [len(rule) if isinstance(rule, str) else LONGEST_RULES for rule in hypothesis.rules]
    if sum(lengths) >= LONGEST_RULES:
        raise InvalidOutput(
            f"{name}.rules must return strings of at most {LONGEST_RULES - 1} characters in all."
        )
    if hypothesis.language not in ("asp", "tree"):
        language = str(hypothesis.language)[:50]
        raise InvalidOutput(f"{name}.rules must be of language asp or tree; got {language}.")
    for what, kind, least, most in (
        ("atoms", numbers.Integral, 0, _MOST_ATOMS),
        ("score", numbers.Integral, -_GREATEST_SCORE, _GREATEST_SCORE),
        ("fidelity", numbers.Real, 0, 1),
    ):
        value = getattr(hypothesis, what)
        if value is None and what != "atoms":
            continue
        _hold(value, kind, least, most, f"{name}.rules: {what}")


def check_examples(examples: Any, name: str) -> None:
    """Check the weighted examples that a learner says it generated."""
    for k, example in enumerate(examples if isinstance(examples, list | tuple) else [examples]):
        opening = f"{name}.examples_: example {k}"
        if not isinstance(example, WeightedExample):
            raise InvalidOutput(f"{opening} must be a WeightedExample; got {type(example).__name__}.")
        if example.penalty is not None:
            _hold(example.penalty, numbers.Integral, 0, _GREATEST_PENALTY, f"{opening}: penalty")
        if not isinstance(example.id, str):
            raise InvalidOutput(f"{opening}: id must be a string; got {type(example.id).__name__}.")
        for what in ("inclusions", "exclusions", "context"):
            words = getattr(example, what)
            if not (isinstance(words, list | tuple) and all(isinstance(word, str) for word in words)):
                raise InvalidOutput(f"{opening}: {what} must be a tuple of strings; got {str(words)[:50]}.")


def _hold(value: Any, kind: type, least: float, most: float, what: str) -> None:
    """Hold a number that a learner returned to its range."""
    if not (isinstance(value, kind) and least <= cast(Any, value) <= most):
        size = value.bit_length() if isinstance(value, int) else 0
        text = f"a number of {size} bits" if size > 64 else repr(value)[:50]
        raise InvalidOutput(f"{what} must be between {least} and {most}; got {text}.")


def method_of(learner: Any, name: str, *given: str, **named: str) -> Any:
    """A learner's method, which can be called with the arguments that it will get."""
    method, kind = getattr(learner, name), type(learner).__name__
    call = f"{name}({', '.join([*given, *named])})"
    if not callable(method):
        raise UserError(f"{kind}.{name} must be callable as {call}; got {type(method).__name__}.")
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return method
    try:
        signature.bind(*given, **named)
    except TypeError:
        declared = f"{name}{signature}"[:200]
        raise UserError(f"{kind}.{name} must be callable as {call}; it is declared as {declared}.") from None
    return method


def without_fit(name: str) -> str:
    """The sentence about a learner that cannot learn."""
    answers = "predict_proba, predict or rules"
    return f"The learner {name} has no method fit; every learner needs fit, and {answers}."


def without_answers(name: str) -> str:
    """The sentence about a learner that cannot answer."""
    return f"The learner {name} has neither predict_proba, predict nor rules; add one of them."


def _counted(hypothesis: Hypothesis, benchmark: Benchmark | None, name: str) -> Hypothesis:
    """ASP rules one by one, and their atoms."""
    from nsl_bench.logic.guarded.rules import counted

    rules, atoms = counted(hypothesis.rules, benchmark, f"the rules of the learner {name}")
    return replace(hypothesis, rules=rules, atoms=atoms)


def _name(learner: Any) -> str:
    named = learner if isinstance(learner, type) else type(learner)
    return str(getattr(learner, "stands_for", named.__name__))
