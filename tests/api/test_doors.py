"""What a notebook registers, the views that it gets, and the verdict on any rules."""

import re
from pathlib import Path

import numpy as np
import pytest

import nsl_bench
from nsl_bench.api.verification import Verdict
from nsl_bench.core.metrics import Metric
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative

RULE = "invalid :- digit(A, N), digit(B, N), neq(A, B), row(A, G), row(B, G)."
RULES = [RULE.replace("row", group) for group in ("row", "col", "block")]
HERE = nsl_bench.Options(limits=None)


class Grey(PatchSource):
    name = "grey_patches"


class Shades(Patches):
    name = "shades"
    sources = ("grey_patches",)


class Always:
    track = "end_to_end"

    def __init__(self, label: int = 1):
        self.label = label

    def fit(self, train):
        return self

    def predict_proba(self, test):
        return np.eye(test.n_labels)[np.full(len(test), self.label)]


@pytest.fixture
def registered() -> None:
    for part in (Grey, Shades, Negative, Always):
        assert nsl_bench.register(part, "negative" if part is Negative else None) is part
    nsl_bench.register(Metric("right", "right", True, compute=lambda a: np.mean(a.predicted == a.labels)))


@pytest.mark.usefixtures("registered")
def test_registered_parts_run_like_installed_ones() -> None:
    nsl_bench.register(Always)  # a cell that is executed again
    how = {"shift": "negative", "shares": 50, "repeats": 1, "options": HERE}
    made = nsl_bench.evaluate(["Always", "Always:label=0", Always], "shades", **how).frame
    assert set(made["learner"]) == {"Always", "Always:label=0"} and np.isclose(made["right"].sum(), 1)
    assert (made["right"] == made["framework_accuracy"]).all()
    with pytest.raises(nsl_bench.UserError, match="in this process alone; leave out scheduler"):
        options = nsl_bench.Options(limits=None, scheduler="tcp://127.0.0.1:1")
        nsl_bench.evaluate("Always", "shades", repeats=1, options=options)


@pytest.mark.parametrize(
    ("part", "name", "sentence"),
    [
        (3, None, "needs the class of a task, shift, source or learner, or a Metric; got 3"),
        (Always(), None, "got <.*Always object"),
        (dict, None, "or a Metric; got dict"),
        (Always, "ffnsl", "A learner of an installed package is named 'ffnsl'"),
        (Always, "a:b", "name must have letters, digits, '_', '-' and '.'; got 'a:b'"),
        (Metric("atoms", "a", True, compute=lambda a: 0.0), None, "A metric of .* is named 'atoms'"),
    ],
)
def test_what_cannot_be_registered_is_said(part, name, sentence) -> None:
    with pytest.raises(nsl_bench.UserError, match=sentence):
        nsl_bench.register(part, name)


def test_views_are_those_of_a_run() -> None:
    train, test = nsl_bench.views("sudoku_4x4", repeat=2, track="symbolic")
    assert train.part == "train" and (train.labels >= 0).all() and not hasattr(test, "labels")
    assert (nsl_bench.answer(RULES, train).labels == train.labels).all()
    train, test = nsl_bench.views("sudoku_4x4", share=50, track="label_only")
    assert train.has_images and test.has_images and not hasattr(train, "concepts")
    for wrong, sentence in (
        ({"track": "none"}, "Unknown track"),
        ({"share": 120}, "shares must be numbers between 0 and 100"),
        ({"size": ["small", "large"]}, "one value of each argument; got 2"),
        ({"percent": 3}, "views has no argument 'percent'"),
    ):
        with pytest.raises(nsl_bench.UserError, match=sentence):
            nsl_bench.views("sudoku_4x4", **wrong)


def test_a_verdict_is_a_score_and_a_counterexample() -> None:
    assert tuple(nsl_bench.verify("\n".join(RULES), "sudoku_4x4")) == (1.0, None)
    score, wrong = verdict = nsl_bench.verify(RULES[:2], "sudoku_4x4")
    assert 0.5 < score < 1 and verdict.equivalent is False
    assert (
        wrong is not None and wrong.startswith("From the facts digit(") and "must follow: invalid." in wrong
    )
    score, wrong = nsl_bench.verify("", "zoo")  # whose true rule is unknown
    assert score == 0 and wrong is not None and wrong.endswith("From the rules follows: no label.")
    with pytest.raises(nsl_bench.UserError, match="sudoku_4x5"):
        nsl_bench.verify("", "sudoku_4x5")


@pytest.mark.usefixtures("registered")
def test_rules_are_verified_on_registered_tasks_and_task_files(tmp_path: Path) -> None:
    assert nsl_bench.verify(Shades().true_rule, "shades") == Verdict(1.0, None, True)
    task = tmp_path / "task.las"
    task.write_text("#modeh(p). #pos(a@1, {p}, {}, {q.}). #neg(b, {p}, {}).", encoding="utf-8")
    assert nsl_bench.verify("p :- q.", task) == Verdict(1.0, None, None)
    score, wrong = nsl_bench.verify(["p."], str(task))
    assert score == 0.5 and wrong is not None and "not cover the example #neg(eg(b), {p}, {}, {})." in wrong
    for rules, why in (("p :- ", "syntax"), ('#include "/etc/passwd".', "include"), (3, "must be text")):
        score, wrong = nsl_bench.verify(rules, task)  # type: ignore[arg-type]
        assert score == 0 and wrong is not None and why in wrong
    task.write_text("#modeh(p).", encoding="utf-8")
    with pytest.raises(nsl_bench.UserError, match="must have examples; got none"):
        nsl_bench.verify("p.", task)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("invalid :- digit(", "syntax"),
        ("```prolog\ninvalid.\n```", "syntax|lexer"),
        ("#script (python)\nimport os\n#end.", "script"),
        ('#include "/etc/passwd".', "include"),
        ("p(1..999, 1..999, 1..999). invalid :- p(X, Y, Z).", "memory|longer"),
        ("\ud800", "must be text"),
        (3, "must be text"),
        ([None], "must be text"),
        ("a" * (1 << 23), "."),
    ],
)
def test_whatever_the_rules_are_they_get_a_verdict(rules, reason) -> None:
    verdict = nsl_bench.verify(rules, "sudoku_4x4", memory_limit=300)
    assert verdict.score == 0 and not verdict.equivalent
    assert verdict.counterexample is not None
    assert re.search(reason, verdict.counterexample)
