"""The metrics of the protocol, and what else the harness measures of a run."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.metrics import predictions as of
from nsl_bench.core.metrics.metric import Answers, Evaluation, Metric, Need
from nsl_bench.core.sequences import all_of
from nsl_bench.core.types import AMBIGUOUS, UNDECIDED, Bools, Floats

Labels = npt.NDArray[np.int64]


def _right(answers: Answers) -> Floats:
    right: Floats = (answers.predicted == answers.labels).astype(np.float64)
    return right


def _right_sequences(answers: Answers) -> Floats:
    assert answers.steps is not None
    return all_of(answers.steps, answers.predicted == answers.labels).astype(np.float64)


def _effective(answers: Answers) -> float:
    """Accuracy of single images which, if errors were independent, would give the sequence accuracy."""
    if answers.images is None:
        return float("nan")
    right = _right_sequences(answers)
    return float(right.mean() ** (len(right) / max(1, int(answers.images.sum()))))


def _of_probabilities(
    name: str, title: str, higher_is_better: bool, compute: Callable[[Floats, Labels], float], **more: Any
) -> Metric:
    """A metric of the label probabilities."""
    needs: tuple[Need, ...] = ("probabilities",)
    return Metric(
        name, title, higher_is_better, needs=needs, compute=lambda a: compute(_given(a), a.labels), **more
    )


def _of_sequences(name: str, title: str, evaluation: Evaluation, **more: Any) -> Metric:
    return Metric(name, title, True, evaluation=evaluation, needs=("sequences",), **more)


def _given(answers: Answers) -> Floats:
    assert answers.probabilities is not None
    return answers.probabilities


def _unsure(answers: Answers) -> Floats:
    return of.least_confidence(_given(answers))


def _network(answers: Answers) -> Floats:
    assert answers.network_uncertainty is not None
    return answers.network_uncertainty


def _shifted(answers: Answers) -> Bools:
    assert answers.shifted is not None
    return answers.shifted


def _share(code: int) -> Metric:
    name = {UNDECIDED: "undecided", AMBIGUOUS: "ambiguous"}[code]
    return Metric(name, name, False, compute=lambda a: float(np.mean(a.predicted == code)))


def _detection(
    prefix: str, whose: str, need: Need, uncertainty: Callable[[Answers], Floats]
) -> tuple[Metric, Metric]:
    """How well an uncertainty finds shifted examples."""
    needs: tuple[Need, ...] = (need, "shifted")
    return (
        Metric(
            f"{prefix}shift_auroc",
            f"AUROC, {whose}'s uncertainty finds shifted examples",
            True,
            needs=needs,
            compute=lambda a: of.detection_auroc(uncertainty(a), _shifted(a)),
        ),
        Metric(
            f"{prefix}shift_fpr95",
            f"FPR at 95 % of shifted examples found, {whose}",
            False,
            needs=needs,
            compute=lambda a: of.fpr_at_95(uncertainty(a), _shifted(a)),
        ),
    )


METRICS = (
    Metric("hypothesis_accuracy", "hypothesis accuracy", True, evaluation="hypothesis", per_example=_right),
    Metric("framework_accuracy", "framework accuracy", True, evaluation="framework", per_example=_right),
    _of_sequences(
        "hypothesis_sequence_accuracy",
        "hypothesis sequence accuracy",
        "hypothesis",
        per_example=_right_sequences,
    ),
    _of_sequences("sequence_accuracy", "sequence accuracy", "framework", per_example=_right_sequences),
    _of_sequences("effective_image_accuracy", "effective image accuracy", "framework", compute=_effective),
    Metric(
        "brier_score",
        "Brier score",
        False,
        bounds=(0.0, 2.0),
        needs=("probabilities",),
        per_example=lambda a: of.brier_scores(_given(a), a.labels),
    ),
    _of_probabilities("probabilistic_accuracy", "probabilistic accuracy", True, of.probabilistic_accuracy),
    _of_probabilities("calibration_error", "calibration error", False, of.calibration_error),
    _of_probabilities("log_loss", "log loss", False, of.log_loss, bounds=(0.0, inf)),
    _of_probabilities("label_auroc", "AUROC of labels", True, of.label_auroc),
    _of_probabilities("invalid_mass", "invalid mass", False, lambda given, _: of.invalid_mass(given)),
    _of_probabilities(
        "framework_accuracy_probabilistic",
        "accuracy of the most probable label",
        True,
        lambda given, labels: of.accuracy(of.most_probable(given), labels),
        evaluation="framework",
    ),
    Metric(
        "macro_f1", "macro F1", True, compute=lambda a: of.macro_f1(a.predicted, a.labels, len(a.label_names))
    ),
    Metric("f1", "F1", True, per_label=lambda a: of.f1_scores(a.predicted, a.labels, len(a.label_names))),
    Metric(
        "aurc",
        "area under the risk-coverage curve",
        False,
        needs=("probabilities",),
        compute=lambda a: of.aurc(_unsure(a), a.predicted == a.labels),
    ),
    *_detection("", "learner", "probabilities", _unsure),
    *_detection("network_", "network", "network", _network),
    Metric("learner_concept_accuracy", "accuracy of the learner's concepts", True),
    Metric("learner_concept_calibration_error", "calibration error of the learner's concepts", False),
    Metric("concept_collapse", "concept collapse", False),
    Metric("atoms", "atoms", False, 1, (0.0, inf), logarithmic=True),
    Metric("rules", "rules", False, 1, (0.0, inf), logarithmic=True),
    Metric("agreement", "agreement of rules and answers", True),
    Metric("fidelity", "surrogate fidelity", True),
    Metric("learning_time", "learning time (s)", False, 2, (0.0, inf), logarithmic=True),
    Metric("learning_cpu_time", "learning, CPU time (s)", False, 2, (0.0, inf)),
    Metric("prediction_time", "prediction time (s)", False, 2, (0.0, inf)),
    Metric("prediction_cpu_time", "prediction, CPU time (s)", False, 2, (0.0, inf)),
    Metric("peak_memory", "peak memory (MiB)", False, 0, (0.0, inf)),
    Metric("weight_penalty_ratio", "weight penalty ratio", True, of_true_rule=True),
    Metric("incorrect_examples", "incorrect examples", False, of_true_rule=True),
    Metric("concept_accuracy_train", "concept accuracy, train images", True),
    Metric("concept_accuracy_test", "concept accuracy, test images", True),
    Metric("equivalent", "equivalent to the true rule", True, 2, of_true_rule=True),
    _share(UNDECIDED),
    _share(AMBIGUOUS),
    Metric("error_concepts", "errors that true concepts repair", False, of_true_rule=True),
    Metric("error_rule", "errors that the true rule repairs", False, of_true_rule=True),
    Metric("error_either", "errors that either repairs", False, of_true_rule=True),
    Metric("error_both", "errors that only both repair", False, of_true_rule=True),
    Metric("error_inference", "errors that the most probable label repairs", False),
)
"""In the order in which tables show them. Those without a formula are measured while a run goes on."""
