"""Check whether a learner's rules give the learner's predictions.

A learner could predict by other means and report rules that everybody knows. The labels that its ASP rules
derive are therefore compared with its predictions, on the test examples' true concepts and on the network's
concepts. If they agree on at least `BOUND` of the examples of each evaluation, hypothesis accuracy and label
probabilities are computed from the rules, and their atoms and equivalence count. Otherwise the learner's own
predictions count, and its rules are a surrogate, like a random forest's first tree.

The branches of a tree are compared in the same way, except those of learners that come with nsl-bench, which
say themselves what they stand for.
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import UNDECIDED, Array, Floats, Hypothesis, Ints, Ints16, Predictions, Split
from nsl_bench.logic.guarded.child import Allowance, Ended
from nsl_bench.logic.guarded.rules import crisp

BOUND = 0.99
"""The least share of agreeing answers, in each evaluation, with which rules count as the learner's."""

_KEPT = 256
_MOST_BRANCHES = 100_000
_TEST = re.compile(r"(.+) (<=|>=|<|>|!=|=) (\S+)")
_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "!=": np.not_equal,
    "=": np.equal,
}
_known: dict[tuple[Any, ...], Ints16] = {}

Concepts = npt.NDArray[np.int16]

Answered = tuple[Ints16, Floats | None]
"""Predicted labels [n], label probabilities [n, labels]; None of a learner that gives labels alone."""


@dataclass(frozen=True)
class Agreement:
    """Agreement between rules and predictions.

    Attributes:
        labels: by evaluation, the labels that the rules derive, int16 [n].
        share: share of examples on which they agree, in the evaluation where it is smallest; None if nothing
            can be compared.
    """

    labels: Mapping[str, Ints16]
    share: float | None

    @property
    def holds(self) -> bool:
        """Whether the rules agree on enough examples to count."""
        return self.share is not None and self.share >= BOUND


def agreement(
    benchmark: Benchmark,
    hypothesis: Hypothesis,
    split: Split,
    predictions: Predictions | None,
    answers: Mapping[str, Answered],
    allowance: Allowance | None = None,
) -> Agreement:
    """Compare the labels that ASP rules or the branches of a tree derive with a learner's predictions.

    Args:
        answers: the learner's labels, int16 [n], and probabilities by evaluation, ``"hypothesis"`` and
            ``"framework"``.
        allowance: resources for evaluating the rules. Rules that cannot be evaluated agree on no example.
    """
    concepts: dict[str, Concepts] = {"hypothesis": split.concepts}
    if predictions is not None:
        concepts["framework"] = predictions.concepts
    labels, shares = {}, []
    try:
        for name in answers.keys() & concepts.keys():
            if hypothesis.language == "tree":
                labels[name] = labels_by_tree(benchmark, hypothesis.rules, split, concepts[name])
            else:
                labels[name] = labels_by_rules(benchmark, hypothesis.rules, split, concepts[name], allowance)
            shares.append(float(np.mean(labels[name] == answers[name][0])))
    except (UserError, Ended):
        return Agreement({}, None)
    return Agreement(labels, min(shares, default=None))


def labels_by_rules(
    benchmark: Benchmark,
    rules: tuple[str, ...],
    split: Split,
    concepts: Concepts,
    allowance: Allowance | None = None,
) -> Ints16:
    """int16 [n]: the labels that rules derive from concepts [n, slots] and a split's meta-data.

    Results are cached, because train splits share the test set and often the rules.
    """
    metadata = tuple((name, column.tobytes()) for name, column in sorted(split.metadata.items()))
    steps = split.steps.tobytes() if benchmark.sequential else b""
    asked = (benchmark.name, benchmark.version, rules, concepts.tobytes(), concepts.shape, metadata, steps)
    if asked not in _known:
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)))
        contexts = benchmark.contexts(concepts, split.metadata, split.steps)
        _known[asked] = crisp(rules, benchmark.background, contexts, benchmark.labels, allowance=allowance)
    return _known[asked]


def tests_on(branches: tuple[str, ...]) -> int:
    """The atoms of a tree: the tests on its branches, at least one."""
    return max(1, sum(branch.partition(" if ")[2].count(" and ") + (" if " in branch) for branch in branches))


def labels_by_tree(
    benchmark: Benchmark, branches: tuple[str, ...], split: Split, concepts: Concepts
) -> Ints16:
    """int16 [n]: the labels that the branches of a tree give, of which the first that applies counts.

    Args:
        benchmark: the task, whose features the branches name.
        branches: each ``LABEL if FEATURE > NUMBER and ...``, or a label alone.
        concepts: int16 [n, slots], their concepts.
    """
    applied = branches_that_apply(benchmark, branches, tree_columns(benchmark, split.metadata, concepts))
    numbers = {name: k for k, name in enumerate(benchmark.labels.names)}
    of_branch = [numbers[b if b in numbers else b.partition(" if ")[0]] for b in branches]
    return np.array([*of_branch, UNDECIDED], np.int16)[applied]


def tree_columns(benchmark: Benchmark, metadata: Mapping[str, Array], concepts: Concepts) -> dict[str, Array]:
    """The features that branches of a tree may name, each [n], for concepts [n, slots]."""
    columns: dict[str, Array] = {}
    for knowledge in (True, False):
        with contextlib.suppress(UserError):
            of = benchmark.knowledge_features if knowledge else benchmark.features
            values, names = of(concepts, metadata), benchmark.feature_names(knowledge=knowledge)
            if len(names) != values.shape[1]:
                names = tuple(f"x{k + 1}" for k in range(values.shape[1]))
            columns.update(zip(names, values.T, strict=True))
    return columns


def branches_that_apply(
    benchmark: Benchmark, branches: tuple[str, ...], columns: Mapping[str, Array]
) -> Ints:
    """int64 [n]: the first branch of a tree that applies, -1 where none does; see `labels_by_tree`."""
    if len(branches) > _MOST_BRANCHES:
        raise UserError(f"A tree must have at most {_MOST_BRANCHES} branches; got {len(branches)}.")
    n = len(next(iter(columns.values()), ()))
    applied = np.full(n, -1, np.int64)
    left = np.ones(n, np.bool_)
    for k, branch in enumerate(branches):
        alone = branch in benchmark.labels.names
        label, _, body = (branch, "", "") if alone else branch.partition(" if ")
        applies = left.copy()
        for test in body.split(" and ") if body else ():
            result = _TEST.fullmatch(test)
            if result is None or result[1] not in columns:
                raise UserError(f"The test '{test[:60]}' of a tree names no feature of {benchmark.name}.")
            try:
                applies &= _HOLDS[result[2]](columns[result[1]], float(result[3]))
            except ValueError:
                raise UserError(f"The test '{test[:60]}' of a tree has no number.") from None
        if label not in benchmark.labels.names:
            raise UserError(f"The branch '{branch[:60]}' of a tree names no label of {benchmark.name}.")
        applied[applies] = k
        left &= ~applies
    return applied
