"""A learner that tunes another learner's options on validation examples, with a fixed number of trials."""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import brier_score
from nsl_bench.core.options import REQUIRED, HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import one_hot
from nsl_bench.learners.answering import answering
from nsl_bench.learners.base import answers_of, fixed_sizes, takes_validation, track_of, version_of
from nsl_bench.learners.view import View

_SAFE = 0.8
"""Share of the time limit after which no trial may end."""


class Tuned(HasOptions):
    """Fits a learner with several options, and keeps the one with the best answers to validation examples.

    The first trial uses the learner's own options; the others are drawn at random from its class attribute
    ``search_space``, a mapping from each option to its values. Of equal accuracies the smaller Brier score
    wins; only where the Brier scores are equal, too, the earlier trial does. After the first one, no trial
    begins that could end after the budget or the time limit, judged by the longest before. A trial that
    raises an error or answers with invalid output (a network whose loss diverges, say) is not chosen, and its
    traceback goes to standard error; if there is no other, its error is raised.

    Attributes:
        track: track of the learner.
        version: version of `Tuned` and of the learner.
        tuning_: the number of ``trials`` made and of those that ``failed``, the ``metric``, the options
            ``chosen`` (none: it kept its own), their ``validation_accuracy``, and what was ``tried``: of each
            trial its ``options``, ``seconds``, and unless it failed ``accuracy`` and ``brier_score``.
    """

    name = "tuned"
    learner: str = option(REQUIRED, "spec of the learner, e.g. ``random_forest`` or ``my.py:MyLearner``")
    trials: int = option(8, "most trials", least=1)
    seconds: float | None = option(
        None, "budget of all trials; None for no budget but the time limit", above=0
    )
    seed: int = option(0, "seed of the draws, and of the learner")
    metric: Literal["accuracy", "brier_score"] = option("accuracy", "the metric of validation examples")

    def __post_init__(self) -> None:
        first = registry.create("learner", self.learner, seed=self.seed)
        space = getattr(first, "search_space", None)
        if not space:
            raise UserError(
                f"tuned: the learner {self.learner} cannot be tuned because it has no search_space."
            )
        self._space: Mapping[str, Sequence[Any]] = space
        self.track: Track = track_of(first)
        self.answers_alike = bool(getattr(first, "answers_alike", False))
        self.fixed_size = fixed_sizes(first)
        self.version = f"3+{version_of(first, self.learner)}"

    def fit(self, train: View, validation: View) -> Tuned:
        """Fit every trial on `train`, and keep the best one on `validation`."""
        best, longest = (np.inf, np.inf), 0.0
        tried: list[dict[str, Any]] = []
        errors: list[Exception] = []
        limit = np.inf if train.time_limit is None else _SAFE * train.time_limit
        budget = limit if self.seconds is None else min(limit, self.seconds)
        begin = time.monotonic()
        for options in self._drawn():
            started = time.monotonic()
            if tried and started - begin + longest > budget:
                break
            spec = registry.learner_spec(self.learner)
            spec = replace(spec, kwargs={**spec.kwargs, **options})
            candidate = registry.create("learner", spec, seed=self.seed)
            scores: dict[str, float] = {}
            try:
                candidate, scores = _fitted(candidate, train, validation)
            except Exception as error:
                print(f"tuned: trial {len(tried) + 1} with options {options} failed", file=sys.stderr)
                traceback.print_exc()
                errors.append(error)
            else:
                brier = scores["brier_score"]
                loss = (-scores["accuracy"], brier) if self.metric == "accuracy" else (brier, 0.0)
                if loss < best:
                    best, chosen, self._made = loss, len(tried), candidate
            seconds = time.monotonic() - started
            longest = max(longest, seconds)
            tried.append({"options": options, **scores, "seconds": seconds})
        if len(errors) == len(tried):
            raise errors[0]
        self.tuning_ = {
            "trials": len(tried),
            "failed": len(errors),
            "metric": self.metric,
            "chosen": tried[chosen]["options"],
            "validation_accuracy": tried[chosen]["accuracy"],
            "tried": tried,
        }
        return self

    def _drawn(self) -> list[dict[str, str]]:
        """The options of each trial; all combinations if they are no more than the trials."""
        every = [
            dict(zip(self._space, map(str, values), strict=True))
            for values in itertools.product(*self._space.values())
        ]
        order = np.random.default_rng(self.seed).permutation(len(every)).tolist()
        return [{}, *(every[k] for k in order)][: self.trials]

    def __getattr__(self, name: str) -> Any:
        """What the chosen learner has: how it answers, its rules, its concepts."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made, name)


def _fitted(one: Any, train: View, validation: View) -> tuple[Any, dict[str, float]]:
    """A learner that was fitted, and the scores of its answers to validation examples."""
    more = {"validation": validation} if takes_validation(one) else {}
    fitted = one.fit(train, **more)
    one = answering(one if fitted is None else fitted)
    answers, given = answers_of(one, validation.unlabelled())
    given = one_hot(answers, validation.n_labels) if given is None else given
    labels = validation.labels
    return one, {"accuracy": float(np.mean(answers == labels)), "brier_score": brier_score(given, labels)}
