"""What a learner is: a class with `fit` and `predict_proba`, and rules if it learns any.

A learner needs no base class. It may declare the supervision that it uses (`track`, else
``"pretrained"``), take a `seed` in its constructor, give its rules (`rules`), and say itself which label
it predicts (`predict`), where "none" and "several" are answers, too. The functions here read learners
through that protocol, so that everybody reads them alike.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.code_files import code_key
from nsl_bench.errors import UserError, unknown
from nsl_bench.learners.view import View
from nsl_bench.types import UNDECIDED, Hypothesis, Track

if TYPE_CHECKING:
    from nsl_bench.benchmark import Benchmark

__all__ = [
    "About",
    "InvalidOutput",
    "Learner",
    "Unanswered",
    "answers_of",
    "describe_here",
    "hypothesis_of",
    "labels_of",
    "probabilities_of",
    "takes_validation",
    "track_of",
    "tuning_of",
    "version_of",
]

_TOLERANCE = 1e-3


@runtime_checkable
class Learner(Protocol):
    """What every learner has."""

    def fit(self, train: View) -> Any:
        """Learn from examples with labels; returns the learner itself.

        A learner that stops early or tunes itself takes a second view, ``validation``.
        """

    def predict_proba(self, test: View) -> npt.ArrayLike:
        """[n, n_labels]: label probabilities; a row of zeros where no label or several are derived."""


@dataclass(frozen=True)
class About:
    """What a learner says of itself.

    Attributes:
        track: the supervision that it uses.
        version: its ``version``, with a hash of its code where it does not come with nsl-bench.
    """

    track: Track
    version: str


def describe_here(learner: str) -> About:
    """Ask a learner in this process, which imports its code.

    Raises:
        UserError: there is no such learner, it cannot be made, or it declares no track that there is.
    """
    made = registry.create("learner", learner, seed=0)
    return About(track_of(made), version_of(made, learner))


class InvalidOutput(UserError):
    """A learner answered with what is no answer."""


class Unanswered(Exception):
    """A learner has nothing to say in this evaluation: a command without rules in hypothesis evaluation."""


def version_of(part: Any, spec: str, kind: registry.Kind = "learner") -> str:
    """The ``version`` of a part or its class, with a hash of its code where it does not come with us."""
    version = str(getattr(part, "version", ""))
    code = code_key(spec, kind)
    return f"{version}+{code}" if code else version


def takes_validation(learner: Any) -> bool:
    """Whether a learner's `fit` takes a validation set, as an argument of this name."""
    declared = getattr(learner, "takes_validation", None)
    if isinstance(declared, bool):
        return declared
    try:
        return "validation" in inspect.signature(learner.fit).parameters
    except (TypeError, ValueError):
        return False


def tuning_of(learner: Any) -> dict[str, Any]:
    """What a fitted learner says of its tuning, as plain values; empty if it was not tuned."""
    told = getattr(learner, "tuning_", None)
    if not isinstance(told, Mapping):
        return {}
    chosen = told.get("chosen")
    found: dict[str, Any] = {}
    if isinstance(chosen, Mapping):
        found["chosen"] = {str(key)[:100]: str(value)[:100] for key, value in chosen.items()}
    for name, kind in (("trials", int), ("validation_accuracy", float)):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            value = kind(told[name]) if name in told else None
            if value is not None and math.isfinite(value):
                found[name] = value
    return found


def track_of(learner: Any) -> Track:
    """The supervision that a learner, or its class, declares.

    Raises:
        UserError: it declares a track that there is not.
    """
    track: Track = getattr(learner, "track", "pretrained")
    if track not in get_args(Track):
        raise unknown(f"track of the learner {_name(learner)}", str(track), get_args(Track))
    return track


def answers_of(learner: Any, test: View) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.float64] | None]:
    """The labels int16 [n] of a learner, and its label probabilities [n, n_labels]; None if it has none.

    A learner with `predict` alone gives labels without probabilities, and so does one whose
    ``gives_probabilities`` is False.

    Raises:
        InvalidOutput: wrong shapes, labels that there are not, or what are no probabilities.
    """
    if not hasattr(learner, "predict_proba"):
        return labels_of(learner, test), None
    probabilities = probabilities_of(learner, test)
    labels = labels_of(learner, test, probabilities)
    return labels, probabilities if getattr(learner, "gives_probabilities", True) else None


def probabilities_of(learner: Learner, test: View) -> npt.NDArray[np.float64]:
    """float64 [n, n_labels]: the learner's label probabilities, checked.

    A row sums to one, or to less where some outcomes are no label.

    Raises:
        InvalidOutput: the wrong shape, or what are no probabilities.
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
    bad = ~np.isfinite(given).all(axis=1)
    if bad.any():
        raise InvalidOutput(
            f"{name}.predict_proba returned NaN or infinity for {bad.sum()} of {len(test)} "
            f"examples, first for example {int(bad.argmax())}."
        )
    bad = (given < -1e-9).any(axis=1) | (given.sum(axis=1) > 1 + _TOLERANCE)
    if bad.any():
        row = int(bad.argmax())
        raise InvalidOutput(
            f"{name}.predict_proba returned invalid probabilities for {bad.sum()} of {len(test)} "
            f"examples, first for example {row}: {given[row].tolist()}."
        )
    return np.maximum(given, 0)


def labels_of(
    learner: Learner, test: View, probabilities: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.int16]:
    """int16 [n]: the label that a learner predicts for each example, `UNDECIDED` or `AMBIGUOUS`.

    A learner without `predict` predicts its most probable label, the first on ties, and none where all
    probabilities are zero.

    Args:
        learner: a fitted learner.
        test: the examples.
        probabilities: what `probabilities_of` gave for the same examples, to save asking again.

    Raises:
        InvalidOutput: an array of the wrong shape, or labels that there are not.
    """
    predict = getattr(learner, "predict", None)
    if predict is None:
        if probabilities is None:
            probabilities = probabilities_of(learner, test)
        best: npt.NDArray[np.int16] = probabilities.argmax(axis=1).astype(np.int16)
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
    """What a fitted learner has learned as rules; None if it has none.

    `rules` may give a `Hypothesis`, or ASP rules as strings, where a string may hold several.

    Args:
        learner: a fitted learner.
        benchmark: by whose language bias the atoms of ASP rules are counted, whatever the learner says of
            them; without it an atom of strings is counted for each head and each body literal.

    Raises:
        InvalidOutput: `rules` gives something else, or what is no ASP.
    """
    rules = getattr(learner, "rules", None)
    found = rules() if callable(rules) else rules
    if found is None:
        return None
    if isinstance(found, Hypothesis):
        counted = found.language == "asp" and benchmark is not None
        return _counted(found, benchmark, _name(learner)) if counted else found
    if (
        isinstance(found, str)
        or not isinstance(found, Sequence)
        or not all(isinstance(rule, str) for rule in found)
    ):
        raise InvalidOutput(
            f"{_name(learner)}.rules must return a list of strings or a Hypothesis; "
            f"got {type(found).__name__}."
        )
    return _counted(Hypothesis(tuple(found), 0), benchmark, _name(learner))


def _counted(hypothesis: Hypothesis, benchmark: Benchmark | None, name: str) -> Hypothesis:
    """ASP rules one by one, and their atoms."""
    from nsl_bench.guarded.rules import counted

    rules, atoms = counted(hypothesis.rules, benchmark, f"the rules of the learner {name}")
    return replace(hypothesis, rules=rules, atoms=atoms)


def _name(learner: Any) -> str:
    named = learner if isinstance(learner, type) else type(learner)
    return str(getattr(learner, "stands_for", named.__name__))
