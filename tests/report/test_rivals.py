"""The page of what was found with rivals: who is compared, and who is said to win."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

CONTEST: Any = SimpleNamespace(name="zoo", cells_of=lambda track: range(3))


class Entered:
    """An entry with an accuracy for each of three train splits."""

    def __init__(self, title: str, learner: str, values: list[float], failures: int = 0) -> None:
        self.title, self.track = title, "pretrained"
        self.manifest = SimpleNamespace(learner=learner, told_the_answer=learner.endswith("optimal"))
        self._values, self._failures = values, failures

    def repeats(self, contest: object, metric: str) -> Any:
        return np.array(self._values if metric in ("framework_accuracy", "atoms") else [])

    def whole(self, contest: object) -> bool:
        return True

    def all_failed(self, contest: Any) -> bool:
        return self._failures == len(contest.cells_of(self.track))


OURS = Entered("FFNSL (softmax)", "ffnsl:time_limit=30", [0.7, 0.72, 0.71])


@pytest.mark.parametrize(
    ("entry", "metrics"),
    [
        (Entered("FFNSL (edl_gen)", "ffnsl:time_limit=30", [0.5, 0.6, 0.5]), []),
        (
            Entered("FFNSL with FastLAS", "ffnsl:rule_learner=fastlas", [0.5, 0.6, 0.5]),
            ["framework_accuracy", "atoms"],
        ),
        (Entered("Majority", "majority", [0.5, 0.6, 0.5]), ["framework_accuracy"]),
        (Entered("Told", "neuid3:tests=optimal", [1.0, 1.0, 1.0]), []),
        (Entered("Failed", "env:mine", [0.5, 0.5, 0.5], failures=3), []),
        (Entered("Failed once", "env:mine", [0.5, 0.5, 0.5], failures=1), ["framework_accuracy", "atoms"]),
        (Entered("Short", "env:mine", [0.5, 0.5]), []),
    ],
)
def test_who_is_compared(script: Callable[[str], ModuleType], entry: Entered, metrics: list[str]) -> None:
    board = SimpleNamespace(of=lambda contest: [OURS, entry])
    found = list(script("rivals").differences(board, CONTEST, OURS))
    assert [one.metric for one in found] == metrics


def test_who_wins_is_decided_by_paired_intervals(script: Callable[[str], ModuleType]) -> None:
    rivals = script("rivals")
    entries = [
        Entered("A, tuned", "env:a", [0.8, 0.82, 0.81]),  # ahead by 0.1 on every split
        Entered("B", "env:b", [0.6, 0.62, 0.61]),
        Entered("C", "env:c", [0.9, 0.5, 0.71]),
    ]
    board = SimpleNamespace(of=lambda contest: entries)
    found = [one for one in rivals.differences(board, CONTEST, OURS) if one.metric == "framework_accuracy"]
    assert [(one.loses, one.wins) for one in found] == [(True, False), (False, True), (False, False)]
    assert (found[0].low + found[0].high) / 2 == pytest.approx(-0.1)
    assert rivals.listed(found[:1], "-") == (
        "* **zoo, accuracy on images** (FFNSL 0.71): A, tuned (pretrained) 0.81: -0.1 [-0.1, -0.1]."
    )
    said = rivals.named(found[:2], found, "-")
    assert said == "* **zoo, accuracy on images** (FFNSL 0.71): 2 of 3: A, tuned; B."
    assert "**-0.1 [-0.1, -0.1]**" in rivals.matrix(found, "framework_accuracy")
    # Fewer atoms are better, and these numbers are the same.
    atoms = [one for one in rivals.differences(board, CONTEST, OURS) if one.metric == "atoms"]
    assert [(one.loses, one.wins) for one in atoms] == [(False, True), (True, False), (False, False)]
