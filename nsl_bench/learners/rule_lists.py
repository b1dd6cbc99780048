"""Lists of rules over a view's literals that are learned one class against the rest."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from nsl_bench.core.types import Bools, Ints
from nsl_bench.learners.asp_rules import Conjunction, deciding, decision_list


class RuleList(ABC):
    """Learns rules for the rarest class first, then for the next on what they leave over.

    The most frequent class is the default. A subclass says how rules tell one class from the rest.
    """

    def fit(self, train: Any) -> Self:
        """Learn the rules of a view."""
        literals, labels = train.literals, train.labels
        counts = np.bincount(labels, minlength=train.n_labels)
        *rare, self.default = [int(c) for c in np.argsort(counts, kind="stable") if counts[c]]
        self.list = list[tuple[Conjunction, int]]()
        left = np.ones(len(labels), bool)
        for label in rare:
            own = labels[left] == label
            if own.any() and not own.all():
                bodies = self.bodies_of(literals[left], own, train, len(rare))
                self.list += [(body, label) for body in bodies]
            left &= deciding(self.list, literals) == len(self.list)
        shares = np.ones((len(self.list) + 1, train.n_labels)) / train.n_labels
        np.add.at(shares, (deciding(self.list, literals), labels), 1)
        self.shares = shares / shares.sum(axis=1, keepdims=True)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    @abstractmethod
    def bodies_of(self, literals: Bools, own: Bools, train: Any, n: int) -> list[Conjunction]:
        """Conjunctions that tell a class from the rest.

        Args:
            literals: bool [m, literals], of the examples that are left.
            own: bool [m], which of them have the class.
            train: the view.
            n: number of classes that get rules.
        """

    def predict(self, test: Any) -> Ints:
        """int [n]: the label of the first rule that holds."""
        labels = np.array([*(label for _, label in self.list), self.default])
        return labels[deciding(self.list, test.literals)]

    def predict_proba(self, test: Any) -> Any:
        """float64 [n, n_labels]: shares of labels among the train examples of that rule, smoothed."""
        return self.shares[deciding(self.list, test.literals)]

    def rules(self) -> list[str]:
        """The rules as ASP."""
        return decision_list(self.list, self.default, self.bodies, self.space)


def telling(literals: Bools, own: Bools) -> Ints:
    """int [k]: columns by how much they tell of a class, most first; of equal ones the first.

    Args:
        literals: bool [n, columns].
        own: bool [n], which rows have the class.
    """
    _, first = np.unique(literals, axis=1, return_index=True)
    gains, whole = np.zeros(literals.shape[1]), _entropy(own)
    for column in first:
        holds = literals[:, column]
        parts = [_entropy(own[holds == value]) * (holds == value).mean() for value in (True, False)]
        gains[column] = whole - sum(parts)
    return np.argsort(-gains, kind="stable")


def _entropy(own: Bools) -> float:
    share = own.mean() if len(own) else 0.0
    return float(-sum(p * np.log2(p) for p in (share, 1 - share) if p > 0))
