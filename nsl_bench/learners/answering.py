"""Answers of rules to the examples of a view, for learners that have rules alone and for all who ask."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.metrics.predictions import checked_probabilities
from nsl_bench.core.types import Floats, Floats32, Ints16, Predictions, one_hot
from nsl_bench.learners.base import InvalidOutput
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import GROUNDING_SECONDS, Allowance, Ended

_MEMORY = 4 << 30
"""Bytes that inference with a learner's rules may use."""


class RuleAnswers(NamedTuple):
    """What rules answer: labels, int16 [n], with -1 for none and -2 for several, and label probabilities.

    A row of probabilities, float64 [n, n_labels], sums to less than 1 where there is no label or several.
    """

    labels: Ints16
    probabilities: Floats


def answer(rules: Sequence[str], view: View, concepts: npt.ArrayLike | None = None) -> RuleAnswers:
    """The labels and label probabilities that ASP rules give to the examples of a view.

    Labels follow from the most probable concepts of the images. Probabilities are inferred over all concepts
    that the images may show; where rules allow no inference, the derived label has probability 1. In a
    sandbox the harness computes the answer.

    Args:
        rules: ASP rules with full stops, in one text or several.
        view: the examples, of any track with background knowledge.
        concepts: [n, slots, concepts], concept probabilities in place of the view's; those of slots without
            an image do not count. Tracks without concepts need them.

    Raises:
        UserError: rules that cannot be evaluated, a track that has no symbols, or wrong concepts.
    """
    texts = [rules] if isinstance(rules, str) else list(rules)
    if wrong := [one for one in texts if not isinstance(one, str)]:
        raise UserError(f"rules must be ASP rules as strings; got {type(wrong[0]).__name__}.")
    return RuleAnswers(**view.answered_by(texts, None if concepts is None else np.asarray(concepts)))


def derived(benchmark: Benchmark, view: View, rules: tuple[str, ...], concepts: Any) -> dict[str, Any]:
    """What `answer` gives, where the task is."""
    from nsl_bench.logic.guarded.rules import crisp

    seen = view.probabilities if concepts is None else _checked(view, concepts)
    if concepts is None:
        contexts = view.contexts
    else:
        best = Predictions(seen, seen.max(axis=2, initial=0) <= 0).concepts
        contexts = benchmark.contexts(best, view.metadata, view.steps)
    allowance = Allowance(view.time_limit or GROUNDING_SECONDS)
    labels = crisp(rules, benchmark.background, contexts, benchmark.labels, allowance=allowance)
    try:
        return {"labels": labels, "probabilities": inferred(benchmark, view, rules, seen)}
    except Ended:
        raise
    except UserError:  # several answer sets, say
        return {"labels": labels, "probabilities": one_hot(labels, len(benchmark.labels))}


def inferred(benchmark: Benchmark, view: View, rules: tuple[str, ...], seen: Floats32) -> Floats:
    """float64 [n, n_labels]: label probabilities under rules, from concept probabilities."""
    from nsl_bench.learners.queries import answer_of

    allowance = Allowance(view.time_limit, _MEMORY)
    return answer_of(benchmark, rules, view.metadata, view.steps, seen, allowance=allowance).probabilities


def _checked(view: View, concepts: Any) -> Floats32:
    """Concept probabilities that a learner gives; zeros where no image is shown."""
    shape = (len(view), len(view.slots), len(view.concept_space))
    try:
        given = np.asarray(concepts, np.float32)
        if given.shape != shape:
            raise ValueError(f"the shape {given.shape} and not {shape} (examples, slots, concepts)")
        given = checked_probabilities(given)
        if view.has_images and view.images.blank.shape == shape[:2]:
            given[view.images.blank] = 0
        return given
    except (TypeError, ValueError) as error:
        raise UserError(f"concepts must be probabilities; got {error}.") from error


class RulesAlone:
    """A fitted learner without `predict` and `predict_proba`, whose rules answer in their place.

    Where a view has no concepts, those of the learner's `predict_concepts` are taken.
    """

    def __init__(self, learner: Any) -> None:
        self.learner, self.stands_for = learner, type(learner).__name__
        self._answered: tuple[View, RuleAnswers] | None = None

    def __getattr__(self, name: str) -> Any:
        """What the learner itself has."""
        if name.startswith("_") or name == "learner":
            raise AttributeError(name)
        return getattr(self.learner, name)

    def predict(self, test: View) -> Ints16:
        """int16 [n]: the label that the rules derive, `UNDECIDED` or `AMBIGUOUS`."""
        return self._answer(test).labels

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: label probabilities, inferred with the rules."""
        return self._answer(test).probabilities

    def _answer(self, test: View) -> RuleAnswers:
        if self._answered is None or self._answered[0] is not test:
            rules = self.learner.rules() if callable(self.learner.rules) else self.learner.rules
            if rules is None or getattr(rules, "language", "asp") != "asp":
                got = "none" if rules is None else "the branches of a tree"
                raise InvalidOutput(f"{self.stands_for} has rules alone, so they must be ASP; got {got}.")
            concepts = None
            if not hasattr(test, "predictions"):
                if test.track == "end_to_end" or not hasattr(self.learner, "predict_concepts"):
                    lacks = "symbols" if test.track == "end_to_end" else "concepts; add predict_concepts"
                    raise NotApplicable(
                        f"{self.stands_for} has rules alone, and the track '{test.track}' has no {lacks}."
                    )
                concepts = self.learner.predict_concepts(test)
            try:
                self._answered = test, answer(getattr(rules, "rules", rules), test, concepts)
            except Ended:
                raise
            except (UserError, TypeError) as error:
                raise InvalidOutput(f"The rules of {self.stands_for} cannot answer: {error}") from error
        return self._answered[1]


def answering(learner: Any) -> Any:
    """The learner, or its rules in its place where it has no other way to answer."""
    answers = hasattr(learner, "predict") or hasattr(learner, "predict_proba")
    return learner if answers or not hasattr(learner, "rules") else RulesAlone(learner)
