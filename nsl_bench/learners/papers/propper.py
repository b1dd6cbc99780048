"""Learning from probabilistic perception: rules are chosen by the probability that they give the labels.

The idea is that of Hillerström, Burghouts: "Towards Probabilistic Inductive Logic Programming with
Neurosymbolic Inference and Relaxation" (Propper, 2024).
"""

from collections.abc import Iterable, Iterator
from time import perf_counter  # as it is now: a learner here may replace it
from typing import Self

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import UNDECIDED, Floats, Ints16, WeightedExample
from nsl_bench.learners.d2k import learning_task
from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.learners.view import View
from nsl_bench.logic.guarded.child import Ended
from nsl_bench.logic.las import LasTask, Solution
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost

_LEAST = 0.01
"""What a label's probability counts as at least, so that no single example decides."""

_SHARE, _MOST_TESTED = 0.4, 200
"""Of the time limit that the rule learner has, and tests have; hypotheses that are tested by inference."""


class Propper(FFNSL):
    """Learns rules from the probabilities of all concepts, and chooses them by those of the labels.

    FFNSL takes the most probable concepts for true and trusts unsure examples less. Here an example's
    likeliest worlds are weighted examples, each with its probability, so that what a hypothesis leaves
    uncovered is its expected error, or that with rare labels weighed up. These hypotheses and FFNSL's are
    tested by inference: the binary cross-entropy of the train labels plus the rules' length. Then rules of
    any of them come and go as long as that falls. The answer is the most probable label.

    What differs from the paper: hypotheses come from this package's rule learner, where the paper searches
    with Popper and relaxes its constraints (NoisyCombo); inference is exact, and not Scallop's.
    """

    name = "propper"
    version = "1"
    answers = "most_probable"
    offered = ("worlds", "rule_learner", "time_limit")

    worlds: int = option(4, "likeliest worlds of an example that become weighted examples", least=1)

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Learn hypotheses, and keep the rules under which the train labels are most probable.

        Raises:
            NotApplicable: rows are steps of sequences.
            Ended: no hypothesis was found in time.
        """
        if train.sequential:
            raise NotApplicable("propper: it takes single examples, and rows here are steps of sequences.")
        solve = registry.factory("rule_learner", self.rule_learner)
        tasks = [learning_task(train)]
        for weights in (np.ones(train.n_labels), 1 / np.maximum(np.bincount(train.labels), 1)):
            weighted = tuple(_worlds(train, self.worlds, (weights / weights.max())[train.labels]))
            tasks.append(LasTask.build(weighted, train.background, train.bias, train.benchmark_name))
        limit = self.time_limit
        if train.time_limit is not None:
            limit = min(limit or np.inf, _SHARE * train.time_limit / len(tasks))
        solutions: list[Solution] = [solve(task, time_limit=limit) for task in tasks if task.examples]
        found = [frozenset(one.hypothesis) for one in solutions if one.score is not None or one.hypothesis]
        if not found:
            raise Ended("timeout", "propper: no hypothesis was found in time.")
        self._train, self._task, self._scores = train, tasks[0], dict[frozenset[str], float]()
        best = self._best(found)
        self.solution_ = Solution("feasible", None, 0, best, hypothesis_cost(tasks[0], best))
        del self._train
        return self

    def _best(self, found: list[frozenset[str]]) -> tuple[str, ...]:
        """The rules of least score; rules that were found come and go as long as it falls."""
        pool = list(dict.fromkeys(rule for one in found for rule in sorted(one)))
        best = min(found, key=self._score)
        limit, begun, before = self._train.time_limit or np.inf, self._train.begun, None
        while best != before:
            before, nearby = best, [best ^ {rule} for rule in pool]
            nearby += [best - {old} | {new} for old in sorted(best) for new in pool if new not in best]
            for one in nearby:
                if len(self._scores) >= _MOST_TESTED or perf_counter() - begun > 2 * _SHARE * limit:
                    return tuple(rule for rule in pool if rule in best)
                best = min(best, one, key=self._score)
        return tuple(rule for rule in pool if rule in best)

    def _score(self, rules: frozenset[str]) -> float:
        """The labels' cross-entropy in nats plus the rules' cost."""
        if rules not in self._scores:
            view, ordered = self._train, sorted(rules)
            try:
                given = view.label_probabilities(ordered)[np.arange(len(view)), view.labels]
                cost = hypothesis_cost(self._task, ordered)
                self._scores[rules] = cost - float(np.log(np.maximum(given, _LEAST)).sum())
            except UserError:  # rules that allow no inference
                self._scores[rules] = np.inf
        return self._scores[rules]

    def predict(self, test: View) -> Ints16:
        """int16 [n]: the most probable label, or `UNDECIDED` where none is possible."""
        given = self.predict_proba(test)
        return np.where(given.max(axis=1, initial=0) > 0, given.argmax(axis=1), UNDECIDED).astype(np.int16)


def _worlds(view: View, most: int, weights: Floats) -> Iterator[WeightedExample]:
    """For each of an example's likeliest worlds, an example with its probability as penalty, weighted."""
    names, space = view.concept_space.concepts, view.label_space
    for row, label in enumerate(view.labels.tolist()):
        worlds: Iterable[tuple[float, tuple[str, ...]]] = [(1.0, view.metadata_facts[row])]
        for slot, own in enumerate(view.probabilities[row]):
            if view.concept_ids[row, slot] < 0:
                continue
            likely = np.argsort(-own, kind="stable")[:most].tolist()
            made: list[tuple[float, tuple[str, ...]]] = [
                (p * float(own[c]), (*facts, *view.facts(slot, names[c])))
                for p, facts in worlds
                for c in likely
            ]
            worlds = sorted(made, key=lambda one: -one[0])[:most]
        for k, (p, facts) in enumerate(worlds):
            if penalty := round(100 * p * weights[row]):
                required, forbidden = space.inclusions(label), space.exclusions(label)
                yield WeightedExample(f"{view.part}-{row}-{k}", penalty, required, forbidden, facts)
