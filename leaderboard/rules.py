"""The rules of a submission: their atoms, and whether they agree with the predictions."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.declared import quoted
from nsl_bench.guarded.worker import stage, tell
from nsl_bench.metrics import predictions as measure
from nsl_bench.run.agreement import BOUND
from nsl_bench.types import Hypothesis

from .contests import Cell, Contest, listed
from .measuring import PROBABILISTIC, Numbers
from .reading import Run
from .rule_answers import RuleError, answers_of_rules
from .safe_files import Limits, Rejected
from .truth import network_sees, test_number, truth

__all__ = ["check_rules", "judge_rules"]

_TEST = re.compile(r"[^<>:;]{1,200} (<=?|>=?|=|!=) [-+.\w]{1,80}")
"""One test on a branch of a tree."""


def judge_rules(
    runs: Sequence[Run],
    places: Mapping[str, tuple[Contest, Cell]],
    counted: Numbers,
    limits: Limits,
    deadline: float,
) -> list[str]:
    """Atoms and rules of every hypothesis, and whether ASP rules say what the predictions say.

    Where ASP rules are what the learner answers with (`nsl_bench.run.agreement`), hypothesis accuracy is
    theirs. Elsewhere their atoms do not count. Probabilities that contradict the labels can then be those of
    the rules, so they do not count either.

    Args:
        runs: that did not fail.
        places: contest and cell of each run.
        counted: what is known of the runs; the numbers are changed.
        limits: what one hypothesis may cost.
        deadline: of all.
    """
    judge = _Judge(len({run.rules for run in runs if run.language == "asp"}), limits, deadline)
    differing = []
    for run in runs:
        mine = counted.metrics[run.id]
        if run.language == "tree":
            mine["rules"], mine["atoms"] = float(len(run.rules)), float(_tests(run))
        if run.language != "asp":
            continue
        contest, cell = places[run.id]
        seed = contest.data_seed(cell)
        labels, atoms, rules = judge.answers(run, seed)
        if "hypothesis" in counted.answers[run.id]:
            mine["agreement"] = float(np.mean(labels == counted.answers[run.id]["hypothesis"]))
        elif run.job.network is not None and run.job.network == contest.handed_out_network:
            derived, _, _ = judge.answers(run, seed, network_sees(run.job, contest, cell))
            mine["agreement"] = float(np.mean(derived == counted.answers[run.id]["framework"]))
        if mine.get("agreement", 0.0) >= BOUND:
            mine["hypothesis_accuracy"] = measure.accuracy(labels, truth(run.job, contest, cell))
            mine["rules"], mine["atoms"] = float(rules), float(atoms)
            counted.add_rules(run, Hypothesis(run.rules, atoms))
        else:
            for name in PROBABILISTIC & mine.keys() if run.id in counted.unsure else ():
                del mine[name]
            differing.append(str(run.job))
    if not differing:
        return []
    return [
        f"In {len(differing)} runs the rules are not shown to be what the learner answers with, because they "
        f"agree with less than {100 * BOUND:g} % of its answers; they do not count: {listed(differing)}."
    ]


def check_rules(runs: Sequence[Run], limits: Limits, deadline: float) -> None:
    """Check that rules can be used, on public examples, because sealed ones are secret before the reveal.

    Raises:
        Rejected: the rules cannot be used.
    """
    judge = _Judge(len({run.rules for run in runs if run.language == "asp"}), limits, deadline)
    for run in runs:
        if run.language == "tree":
            _tests(run)
        elif run.language == "asp":
            judge.answers(run, run.job.seed)


class _Judge:
    """Answers with rules, each hypothesis once.

    Args:
        count: how many hypotheses there are.
        limits: what one may cost.
        deadline: of all.
    """

    def __init__(self, count: int, limits: Limits, deadline: float) -> None:
        self._count, self._limits, self._deadline = count, limits, deadline
        self._known: dict[tuple[Any, ...], tuple[npt.NDArray[np.int16], int, int]] = {}
        self._rules: set[tuple[str, ...]] = set()

    def answers(
        self, run: Run, seed: int | str, concepts: npt.NDArray[np.int16] | None = None
    ) -> tuple[npt.NDArray[np.int16], int, int]:
        """Labels, atoms and rules of a run's hypothesis, as `answers_of_rules` gives them.

        Raises:
            Rejected: the rules cannot be used.
        """
        named = (run.job.tested, seed, test_number(run.job), run.rules)
        key = (*named, run.job.task, None if concepts is None else concepts.tobytes())
        if key not in self._known:
            seconds = self._limits.solver_seconds
            left = max(0.1, self._deadline - time.monotonic())
            self._rules.add(run.rules)
            tell(f"Judging rules: {len(self._rules)} of {self._count} hypotheses, {run.job}")
            stage(f"Answering with the rules of the run {run.id}", min(seconds, left))
            try:
                self._known[key] = answers_of_rules(*named, seconds, concepts, run.job.task)
            except RuleError as error:
                raise Rejected(f"The rules of the run {run.id} ({run.job}): {error}") from error
        return self._known[key]


def _tests(run: Run) -> int:
    """Tests on the branches of a tree; a tree of one leaf counts as one.

    A branch is a label, and tests on it behind ``if``; that the branches say what the learner predicts is
    not checked: most trees stand for a forest or a network.
    """
    labels = registry.create("benchmark", run.job.tested).labels.names
    count = 0
    for rule in run.rules:
        label, _, body = rule.partition(" if ")
        tests = body.split(" and ") if body else []
        if label not in labels or not all(map(_TEST.fullmatch, tests)):
            raise Rejected(
                f"The rules of the run {run.id} ({run.job}): {quoted(rule)} is not a branch of a tree; "
                f"write e.g. '{labels[0]} if FEATURE <= 0.5 and FEATURE > 2' with a label of the benchmark."
            )
        count += len(tests)
    return max(1, count)
