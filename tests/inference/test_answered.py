"""Crisp answers that a process knows are not computed again."""

from __future__ import annotations

from typing import Any

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import LabelSpace
from nsl_bench.logic.guarded import rules as guarded_rules
from nsl_bench.logic.guarded.worker import function_of
from nsl_bench.logic.inference import answered
from nsl_bench.logic.inference.crisp import crisp_labels

LABELS = LabelSpace(("valid", "invalid"), (None, "invalid"))
RULES = ["invalid :- bad(X), X > 1."]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answered, "_known", {})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The contexts of each call of the child process."""
    found: list[Any] = []

    def guarded(function: Any, *given: Any, **named: Any) -> Any:
        found.append(given[2])
        return function_of(function)(*given)

    monkeypatch.setattr(guarded_rules, "guarded", guarded)
    return found


def test_only_unknown_contexts_are_asked_about(asked: list[Any]) -> None:
    contexts = [("bad(1)",), ("bad(2)",), ("bad(1)",)]
    assert guarded_rules.crisp(RULES, "", contexts, LABELS).tolist() == [0, 1, 0]
    more = [("bad(3)",), *contexts]
    assert guarded_rules.crisp(RULES, "", more, LABELS).tolist() == [1, 0, 1, 0]
    assert asked == [[("bad(1)",), ("bad(2)",)], [("bad(3)",)]]
    assert guarded_rules.crisp(RULES, "", more, LABELS).tolist() == [1, 0, 1, 0]
    assert len(asked) == 2


def test_what_this_process_computed_is_known(asked: list[Any]) -> None:
    crisp_labels(RULES, "", [("bad(2)",)], LABELS)
    assert guarded_rules.crisp(RULES, "", [("bad(2)",)], LABELS).tolist() == [1]
    assert asked == []


def test_other_rules_background_and_labels_are_other_questions(asked: list[Any]) -> None:
    crisp_labels(RULES, "", [("bad(2)",)], LABELS)
    other = LabelSpace(("good", "poor"), (None, "poor"))
    assert guarded_rules.crisp(["invalid :- bad(5)."], "", [("bad(2)",)], LABELS).tolist() == [0]
    assert guarded_rules.crisp(RULES, "bad(2).", [()], LABELS).tolist() == [1]
    assert guarded_rules.crisp(RULES, "", [("bad(2)",)], other).tolist() == [0]
    assert len(asked) == 3


def test_wrong_rules_are_refused_without_examples() -> None:
    with pytest.raises(UserError, match="The hypothesis, line 1"):
        guarded_rules.crisp(["invalid :-"], "", [], LABELS)
    assert guarded_rules.crisp(RULES, "", [], LABELS).tolist() == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answered, "_KEPT", 2)
    monkeypatch.setattr(answered, "_MOST", 1)
    for k in range(4):
        crisp_labels([f"invalid :- bad({k})."], "", [("bad(1)",)], LABELS)
    assert len(answered._known) == 2
    crisp_labels(RULES, "", [("bad(1)",), ("bad(2)",)], LABELS)
    assert answered.known_labels(RULES, "", LABELS) == {}, "too many were known"
