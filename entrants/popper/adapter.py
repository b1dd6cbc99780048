"""Popper, which learns from failures, one class against the rest, as an ordered rule list."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from nsl_bench.core.errors import NotApplicable
from nsl_bench.learners.asp_rules import deciding, decision_list

CODE = """
import json, sys
from popper.loop import learn_solution
from popper.util import Settings, format_rule, order_rule
told = json.loads(sys.argv[1])
program = learn_solution(Settings(quiet=True, **told))[0] or []
print("\\nRULES " + json.dumps([format_rule(order_rule(rule)) for rule in program]))
"""


class Popper:
    """Learns rules for the rarest class first, then for the next on what they leave over.

    Rules have the least description length, so examples may be wrong. Each literal is a predicate, and its
    negation another one. The most frequent class is the default. Popper runs in a process of its own, with
    SWI-Prolog, which must be installed.

    Args:
        literals: columns of the view's literals that tell most of a class; rules are over them.
        body: most literals of a rule.
        clauses: most rules of a class.
        seconds: for each class, at most its share of the time limit.
        seed: not used.
    """

    search_space = {"literals": (10, 20), "body": (2, 3, 4)}

    def __init__(self, literals: int = 20, body: int = 3, clauses: int = 4, seconds: int = 60, seed: int = 0):
        self.literals, self.body, self.clauses, self.seconds = literals, body, clauses, seconds
        if shutil.which("swipl") is None:
            raise NotApplicable("Popper needs SWI-Prolog, but there is no swipl on the PATH.")

    def fit(self, train):
        literals, labels = train.literals, train.labels
        counts = np.bincount(labels, minlength=train.n_labels)
        *rare, self.default = [int(c) for c in np.argsort(counts, kind="stable") if counts[c]]
        self.list, left = [], np.ones(len(labels), bool)
        for label in rare:
            own = labels[left] == label
            if own.any() and not own.all():
                share = 0.6 * (train.time_limit or np.inf) / len(rare)
                bodies = self._rules(literals[left], own, min(self.seconds, share))
                self.list += [(body, label) for body in bodies]
            left &= deciding(self.list, literals) == len(self.list)
        decided = deciding(self.list, literals)
        shares = np.ones((len(self.list) + 1, train.n_labels)) / train.n_labels
        np.add.at(shares, (decided, labels), 1)
        self.shares = shares / shares.sum(axis=1, keepdims=True)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _rules(self, literals, own, seconds):
        """Conjunctions of columns that Popper finds for a class."""
        columns = _telling(literals, own)[: self.literals]
        names = [f"{kind}{k}" for k in columns for kind in ("yes", "no")]
        facts = [":- use_module(library(lists)).", ":- use_module(library(time))."]
        for k in columns:
            for kind, holds in (("yes", True), ("no", False)):
                facts.append(f":- dynamic {kind}{k}/1.")
                facts += [f"{kind}{k}(e{row})." for row in np.flatnonzero(literals[:, k] == holds)]
        bias = ["head_pred(answer,1).", *(f"body_pred({name},1)." for name in names)]
        bias += ["max_vars(1).", f"max_body({self.body}).", f"max_clauses({self.clauses})."]
        examples = [f"{'pos' if holds else 'neg'}(answer(e{row}))." for row, holds in enumerate(own)]
        with tempfile.TemporaryDirectory() as folder:
            for file, lines in (("bk", facts), ("bias", bias), ("exs", examples)):
                Path(folder, f"{file}.pl").write_text("\n".join(lines) + "\n")
            told = {"kbpath": folder, "noisy": True, "timeout": int(seconds), "max_body": self.body}
            words = [sys.executable, "-c", CODE, json.dumps({**told, "max_vars": 1})]
            done = subprocess.run(words, capture_output=True, text=True, timeout=2 * seconds + 30)
        found = re.findall(r"^RULES (.*)$", done.stdout, re.MULTILINE)
        if not found:
            raise RuntimeError(f"Popper ended without an answer: {done.stderr[-500:]}")
        bodies = [re.findall(r"(yes|no)(\d+)\(", rule.partition(":-")[2]) for rule in json.loads(found[0])]
        return [{int(k): kind == "yes" for kind, k in body} for body in bodies if body]

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
    for column in first:
        holds = literals[:, column]
        parts = [_entropy(own[holds == value]) * (holds == value).mean() for value in (True, False)]
        gains[column] = _entropy(own) - sum(parts)
    return np.argsort(-gains, kind="stable")


def _entropy(own):
    share = own.mean() if len(own) else 0.0
    return -sum(p * np.log2(p) for p in (share, 1 - share) if p > 0)
