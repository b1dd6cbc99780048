"""The registry of metrics: what is computed from which answers, and what another package adds."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from nsl_bench.core import metrics
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS, Answers, Metric, compute

LABELS = np.array([0, 1, 1, 0])
PREDICTED = np.array([0, 1, 0, -1])
PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.0, 0.0]])
SHIFTED = np.array([False, False, True, True])


def answers(**more: object) -> Answers:
    return Answers(LABELS, PREDICTED, ("no", "yes"), **more)  # type: ignore[arg-type]


def test_what_labels_alone_have() -> None:
    found = compute(METRICS, answers())
    assert found["framework_accuracy"] == 0.5 and found["undecided"] == 0.25 and "macro_f1" in found
    assert not {"hypothesis_accuracy", "brier_score", "aurc", "shift_auroc"} & found.keys()


def test_what_probabilities_add() -> None:
    found = compute(METRICS, answers(probabilities=PROBABILITIES))
    assert found["brier_score"] == pytest.approx((0.02 + 0.08 + 0.72 + 1.0) / 4)
    assert {"log_loss", "aurc", "framework_accuracy_probabilistic"} <= found.keys()
    assert "shift_auroc" not in found


def test_what_shifted_examples_add() -> None:
    own = compute(METRICS, answers(probabilities=PROBABILITIES, shifted=SHIFTED))
    assert own["shift_auroc"] == 1.0 and "network_shift_auroc" not in own
    network = compute(METRICS, answers(network_uncertainty=np.array([0.1, 0.2, 0.3, 0.4]), shifted=SHIFTED))
    assert network["network_shift_auroc"] == 1.0 and "shift_auroc" not in network
    none = compute(METRICS, answers(probabilities=PROBABILITIES, shifted=np.zeros(4, bool)))
    assert "shift_auroc" not in none


def test_of_the_first_evaluation_only_accuracy_counts() -> None:
    found = compute(METRICS, answers(evaluation="hypothesis", is_last=False, probabilities=PROBABILITIES))
    assert found == {"hypothesis_accuracy": 0.5}
    alone = compute(METRICS, answers(evaluation="hypothesis", probabilities=PROBABILITIES))
    assert "brier_score" in alone and "framework_accuracy_probabilistic" not in alone


def test_a_metric_may_be_made_of_others() -> None:
    own = {
        **METRICS,
        "per_atom": Metric(
            "per_atom",
            "accuracy an atom",
            True,
            needs=("record",),
            compute=lambda a: a.record["framework_accuracy"] / a.record.get("atoms", float("nan")),
        ),
    }
    assert compute(own, answers(record={"atoms": 4.0}))["per_atom"] == 0.125
    assert "per_atom" not in compute(own, answers(record={"rules": 4.0}))  # no finite number


def test_each_class_has_an_f1_that_names_it() -> None:
    found = compute(METRICS, answers())
    assert found["f1_no"] == pytest.approx(2 / 4) and found["f1_yes"] == pytest.approx(2 / 3)
    assert found["macro_f1"] == pytest.approx((found["f1_no"] + found["f1_yes"]) / 2)
    assert "f1" not in found
    one = METRICS["f1_yes"]
    assert one.title == "F1 of yes" and one.value(answers()) == found["f1_yes"]
    assert compute({"f1_yes": one}, answers()) == {"f1_yes": found["f1_yes"]}


def test_a_label_that_a_task_lacks_has_no_f1() -> None:
    assert METRICS["f1_maybe"].value(answers()) is None
    assert "f1_no" in METRICS and "f1_" not in METRICS and "macro_f1_no" not in METRICS
    with pytest.raises(ValueError, match="macro_f1 has no number per label"):
        METRICS["macro_f1"].of_label("no")


def kappa(answers: Answers) -> float:
    return 0.0


KAPPA = Metric("kappa", "Cohen's kappa", True, bounds=(-1.0, 1.0), compute=kappa)
TWICE = Metric("atoms", "atoms", False, compute=kappa)
WRONG = "kappa"


def added(monkeypatch: pytest.MonkeyPatch, *names: str) -> metrics._Metrics:
    points = [EntryPoint("standard", "nsl_bench.core.metrics.standard:METRICS", metrics.GROUP)]
    points += [EntryPoint(f"x{k}", f"{__name__}:{name}", metrics.GROUP) for k, name in enumerate(names)]
    monkeypatch.setattr(metrics, "entry_points", lambda group: points)
    return metrics._Metrics()


def test_other_packages_add_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    found = added(monkeypatch, "KAPPA")
    assert list(found) == [*METRICS, "kappa"] and compute(found, answers())["kappa"] == 0.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TWICE", "Two metrics are named 'atoms'"),
        ("WRONG", "must be a Metric or a tuple of metrics; got 'kappa'"),
        ("MISSING", "cannot be imported: AttributeError"),
    ],
)
def test_what_is_no_metric_is_named(monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        len(added(monkeypatch, name))
