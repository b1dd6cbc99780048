"""The rules of a submission: their atoms, and whether they agree with the predictions."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.code_files import comes_with_us
from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import predictions as measure
from nsl_bench.core.types import Hypothesis, Ints16
from nsl_bench.logic.guarded.worker import stage, tell
from nsl_bench.run.agreement import BOUND

from .contests import listed
from .measuring import PROBABILISTIC, Numbers
from .reading import Run
from .rule_answers import RuleError, answers_of_rules
from .safe_files import Limits, Rejected
from .truth import Truth

_TEST = re.compile(r"[^<>:;]{1,200} (<=?|>=?|=|!=) [-+.\w]{1,80}")
"""One test on a branch of a tree."""


def judge_rules(
    runs: Sequence[Run], truths: Mapping[str, Truth], counted: Numbers, limits: Limits, deadline: float
) -> list[str]:
    """Atoms and rules of every hypothesis, and whether ASP rules say what the predictions say.

    The branches of trees are held against the predictions, too, unless the learner comes with nsl-bench.
    Where ASP rules are what the learner answers with (`nsl_bench.run.agreement`), hypothesis accuracy is
    theirs. Elsewhere their atoms do not count. Probabilities that contradict the labels can then be those of
    the rules, so they do not count either.

    Args:
        runs: that did not fail.
        counted: what is known of the runs; the numbers are changed.
    """
    judge = _Judge(len({run.rules for run in runs if run.language == "asp"}), limits, deadline)
    differing = []
    for run in runs:
        mine = counted.metrics[run.id]
        if run.language == "tree":
            mine["rules"], mine["atoms"] = float(len(run.rules)), float(_tests(run))
            if not _is_ours(run.job.learner):
                differing += _judged_tree(run, truths[run.id], counted, judge)
        if run.language != "asp":
            continue
        truth = truths[run.id]
        labels, atoms, rules = judge.answers(run, truth.seed, truth.test_number)
        _agree(run, truth, counted, judge)
        if mine.get("agreement", 0.0) >= BOUND:
            mine["hypothesis_accuracy"] = measure.accuracy(labels, truth.labels)
            mine["rules"], mine["atoms"] = float(rules), float(atoms)
            counted.add_rules(run, Hypothesis(run.rules, atoms))
        else:
            for name in PROBABILISTIC & mine.keys() if run.id in counted.unsure else ():
                del mine[name]
            differing.append(str(run.job))
    if not differing:
        return []
    return [
        f"In {len(differing)} of the runs the rules are not shown to be what the learner answers with: they "
        f"agree with less than {100 * BOUND:g} % of its answers, and do not count: {listed(differing)}."
    ]


def _agree(run: Run, truth: Truth, counted: Numbers, judge: _Judge) -> None:
    """Note the share of a run's answers that its rules give, where both are known."""
    answers, place = counted.answers[run.id], (truth.seed, truth.test_number)
    if "hypothesis" in answers:
        derived, given = judge.answers(run, *place)[0], answers["hypothesis"]
    elif run.job.network is not None and run.job.network == truth.contest.handed_out_network:
        derived = judge.answers(run, *place, truth.seen_by_network)[0]
        given = answers["framework"]
    else:
        return
    counted.metrics[run.id]["agreement"] = float(np.mean(derived == given))


def _judged_tree(run: Run, truth: Truth, counted: Numbers, judge: _Judge) -> list[str]:
    """The run, if its tree is not shown to be what the learner answers with; its size does not count then."""
    mine = counted.metrics[run.id]
    with contextlib.suppress(Rejected):  # it names features that only the learner knows
        _agree(run, truth, counted, judge)
    if mine.get("agreement", 0.0) >= BOUND:
        return []
    del mine["rules"], mine["atoms"]
    return [str(run.job)]


def _is_ours(learner: str) -> bool:
    """Whether a learner comes with nsl-bench: its trees stand for a forest or a network."""
    with contextlib.suppress(UserError):
        return comes_with_us(learner)
    return False


def check_rules(runs: Sequence[Run], limits: Limits, deadline: float) -> None:
    """Check that rules can be used, on public examples, because sealed ones are secret before the reveal."""
    judge = _Judge(len({run.rules for run in runs if run.language == "asp"}), limits, deadline)
    for run in runs:
        if run.language == "tree":
            _tests(run)
        elif run.language == "asp":
            task = registry.create("benchmark", run.job.tested)
            judge.answers(run, run.job.seed, task.test_number(run.job.repeat))


class _Judge:
    """Answers with rules, each hypothesis once."""

    def __init__(self, count: int, limits: Limits, deadline: float) -> None:
        self._count, self._limits, self._deadline = count, limits, deadline
        self._known: dict[tuple[Any, ...], tuple[Ints16, int, int]] = {}
        self._rules: set[tuple[str, ...]] = set()

    def answers(
        self, run: Run, seed: int | str, test_number: int, concepts: Ints16 | None = None
    ) -> tuple[Ints16, int, int]:
        """Labels, atoms and rules of a run's hypothesis, as `answers_of_rules` gives them."""
        named = (run.job.tested, seed, test_number, run.rules)
        key = (*named, run.language, run.job.task, None if concepts is None else concepts.tobytes())
        if key not in self._known:
            seconds = self._limits.solver_seconds
            left = max(0.1, self._deadline - time.monotonic())
            self._rules.add(run.rules)
            tell(f"Judging rules: {len(self._rules)} of {self._count} hypotheses, {run.job}")
            stage(f"Answering with the rules of the run {run.id}", min(seconds, left))
            try:
                self._known[key] = answers_of_rules(
                    *named, seconds, concepts, run.job.task, run.language or "asp"
                )
            except RuleError as error:
                raise Rejected(f"The rules of the run {run.id} ({run.job}): {error}") from error
        return self._known[key]


def _tests(run: Run) -> int:
    """Tests on the branches of a tree; a tree of one leaf counts as one.

    A branch is a label, and tests on it behind ``if``.
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
