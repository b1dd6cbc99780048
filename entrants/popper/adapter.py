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
from nsl_bench.learners.rule_lists import RuleList, telling

CODE = """
import json, sys
from popper.loop import learn_solution
from popper.util import Settings, format_rule, order_rule
told = json.loads(sys.argv[1])
program = learn_solution(Settings(quiet=True, **told))[0] or []
print("\\nRULES " + json.dumps([format_rule(order_rule(rule)) for rule in program]))
"""


class Popper(RuleList):
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

    def bodies_of(self, literals, own, train, n):
        """Conjunctions of columns that Popper finds for a class."""
        seconds = min(self.seconds, 0.6 * (train.time_limit or np.inf) / n)
        columns = telling(literals, own)[: self.literals]
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
