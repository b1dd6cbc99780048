"""XHAIL of the package xhail, one class against the rest, as an ordered rule list."""

import os
import re
import time

import numpy as np

os.environ["XHAIL_MAX_KERNEL"] = "1000"  # with the package's 10, most kernels lose the rules that are needed
from xhail import learn_from_string

from nsl_bench.learners.asp_rules import deciding, decision_list


class Xhail:
    """Learns rules for the rarest class first, then for the next on what they leave over.

    XHAIL explains all examples that it is given or none, and its time grows fast with them. So it starts from
    a few, gets some that its rules are wrong about, and starts again; the rules with the fewest errors on the
    train set stay. The most frequent class is the default.

    Args:
        literals: columns of the view's literals that tell most of a class; rules are over them.
        depth: levels of the kernel.
        start: examples of the first round, half of the class.
        rounds: most rounds for a class.
        seed: seed of the examples of the first round.
    """

    search_space = {"literals": (6, 10), "rounds": (4, 8)}

    def __init__(self, literals: int = 8, depth: int = 2, start: int = 10, rounds: int = 8, seed: int = 0):
        self.literals, self.depth, self.start = literals, depth, start
        self.rounds, self.seed = rounds, seed

    def fit(self, train):
        literals, labels = train.literals, train.labels
        counts = np.bincount(labels, minlength=train.n_labels)
        *rare, self.default = [int(c) for c in np.argsort(counts, kind="stable") if counts[c]]
        self.list, left = [], np.ones(len(labels), bool)
        end = train.begun + 0.8 * train.time_limit if train.time_limit else np.inf
        for label in rare:
            own = labels[left] == label
            if own.any() and not own.all():
                self.list += [(body, label) for body in self._rules(literals[left], own, end)]
            left &= deciding(self.list, literals) == len(self.list)
        decided = deciding(self.list, literals)
        shares = np.ones((len(self.list) + 1, train.n_labels)) / train.n_labels
        np.add.at(shares, (decided, labels), 1)
        self.shares = shares / shares.sum(axis=1, keepdims=True)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _rules(self, literals, own, end):
        """Conjunctions of columns that hold for a class's examples alone, as far as XHAIL finds them."""
        order = np.random.default_rng(self.seed).permutation(len(own))
        half = self.start // 2
        chosen = [*order[own[order]][:half], *order[~own[order]][:half]]
        best, errors, longest = [], int(own.sum()), 0.0
        columns = _telling(literals, own)[: self.literals]
        for _ in range(self.rounds):
            clock = time.perf_counter()
            if clock + 2 * longest > end:
                break
            rules = self._learned(literals[chosen][:, columns], own[chosen])
            longest = time.perf_counter() - clock
            rules = [{int(columns[k]): value for k, value in body.items()} for body in rules]
            found = deciding([(body, 1) for body in rules], literals) < len(rules)
            wrong = order[found[order] != own[order]]
            if len(wrong) < errors:
                best, errors = rules, len(wrong)
            new = [row for row in wrong if row not in chosen]
            if not rules:
                del chosen[-2:]  # no rules explain them all
            elif not new:
                break
            chosen += [*[row for row in new if own[row]][:1], *[row for row in new if not own[row]][:1]]
        return best

    def _learned(self, literals, own):
        program = ["#modeh answer(+example)."]
        for column in range(literals.shape[1]):
            program.append(f"#modeb literal{column}(+example).")
            program.append(f"#modeb not literal{column}(+example).")
        for row, (values, holds) in enumerate(zip(literals, own, strict=True)):
            program.append(f"example(e{row}).")
            program += [f"literal{column}(e{row})." for column in np.flatnonzero(values)]
            program.append(f"#example {'' if holds else 'not '}answer(e{row}).")
        result = learn_from_string("\n".join(program), depth=self.depth, timeout=60)
        bodies = [re.findall(r"(not )?literal(\d+)", rule) for rule in result.hypothesis]
        return [{int(column): not negated for negated, column in body} for body in bodies if body]

    def predict(self, test):
        labels = np.array([*(label for _, label in self.list), self.default])
        return labels[deciding(self.list, test.literals)]

    def predict_proba(self, test):
        return self.shares[deciding(self.list, test.literals)]

    def rules(self):
        return decision_list(self.list, self.default, self.bodies, self.space)


def _telling(literals, own):
    """Columns by how much they tell of a class, most first; of equal ones the first."""
    _, first = np.unique(literals, axis=1, return_index=True)
    gains = np.zeros(literals.shape[1])
    whole = _entropy(own)
    for column in first:
        holds = literals[:, column]
        parts = [_entropy(own[holds == value]) * (holds == value).mean() for value in (True, False)]
        gains[column] = whole - sum(parts)
    return np.argsort(-gains, kind="stable")


def _entropy(own):
    share = own.mean() if len(own) else 0.0
    return -sum(p * np.log2(p) for p in (share, 1 - share) if p > 0)
