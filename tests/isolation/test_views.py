"""A view in a learner's process is the view that the harness has: same values, same types, same refusals."""

import os
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.processes import messages
from nsl_bench.core.types import Predictions
from nsl_bench.data.splits import symbolic_split
from nsl_bench.learners.view import ASKED, TrackError, View
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.sandbox.views import RemoteView, answer, card_of
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(os.name != "posix", reason="learners are isolated on POSIX systems")
TRACKS = ("symbolic", "pretrained", "concept_labels", "known_rules", "label_only", "end_to_end")


class Line:
    """A channel to a view in this process."""

    def __init__(self, real: View) -> None:
        self._real = real
        self.asked: list[str] = []

    def ask(self, what: str, **given: Any) -> Any:
        self.asked.append(what)
        question = travelled({"ask": what, **given})
        real = self._real.unlabelled() if question.get("unlabelled") else self._real
        told = travelled(answer(real, question))
        if "error" in told:
            raise {"track": TrackError, "user": UserError}.get(told["kind"], RuntimeError)(told["error"])
        return told["answer"]


def travelled(message: Any) -> Any:
    decoder = messages.Decoder(1 << 30)
    decoder.feed(messages.encode(message))
    return decoder.next()


def remote(real: View) -> tuple[RemoteView, Line]:
    line = Line(real)
    return RemoteView(travelled(card_of(real)), line), line  # type: ignore[arg-type]


def public(kind: type) -> list[str]:
    """The names of the properties and plain attributes of a view."""
    members = [name for name, each in vars(kind).items() if isinstance(each, property | cached_property)]
    return [name for name in (*kind.__annotations__, *members) if not name.startswith("_")]


def value(of: View, name: str) -> Any:
    """An attribute as something to compare, or its refusal."""
    try:
        found = getattr(of, name)
    except UserError as error:
        return type(error), str(error)
    if name == "images":
        return [[None if image is None else image.tolist() for image in slots] for slots in found]
    if hasattr(found, "__dict__") and not isinstance(found, np.ndarray):
        return {part: each for part, each in vars(found).items() if part != "ids"}  # made late
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and np.array_equal(one, other))
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("track", TRACKS)
def test_every_attribute_is_the_same(track: str, part: str) -> None:
    real = view(patches(part), track, labelled=part == "train", source=PatchSource())
    there, _ = remote(real)
    for bare in (False, True):
        one, other = (each.unlabelled() if bare else each for each in (real, there))
        for name in public(View):
            if name not in ("given_time", "true_rule", "is_bare"):
                assert same(value(one, name), value(other, name)), name
        assert len(one) == len(other) and repr(one) == repr(other)


def test_methods_and_sequences() -> None:
    task = registry.create("benchmark", "crop_yield")
    split, concepts = symbolic_split(task, "train", "20", 1), task.concept_space.concepts
    seen = Predictions.certain(split.concepts, len(concepts))
    real = View(split, task, "symbolic", predictions=seen)
    there, line = remote(real)
    for each in ("symbols", "memory", "sequential", "sequence_contexts", "literal_bodies"):
        assert same(value(real, each), value(there, each))
    for _ in range(2):
        for one in (real, there):
            assert one.step_atom("yield(1)", 2) == task.step_atom("yield(1)", 2)
            assert one.feature_names() == real.feature_names()
            assert one.facts(0, concepts[1]) == task.facts(0, concepts[1])
    assert all(line.asked.count(each) == 1 for each in ("step_atom", "feature_names", "facts"))
    rules = ["yield(1).", "yield(2) :- yield(1)."]
    assert same(real.label_probabilities(rules[:1]), there.label_probabilities(rules[:1]))
    assert real.label_probabilities(rules).sum() == 0 and there.label_probabilities(rules[:1])[0, 1] == 1
    there.report(["a :- b."])
    assert real.reported == ("a :- b.",)
    there.report(["a" * (1 << 22) + "."])
    assert real.reported == ("a :- b.",)


def test_nothing_else_can_be_asked_for() -> None:
    real = view(patches("test"), labelled=False)
    names = {name for name in dir(View) if name not in ASKED}
    for name in (*names, "labels", "_labels", "_benchmark", "__class__", "_rule_as", 3, None, ["facts"]):
        assert "A view has no" in answer(real, {"ask": name, "view": 0})["error"]
    assert answer(real, {"ask": "step_atom", "atom": "a"})["kind"] == "other"
