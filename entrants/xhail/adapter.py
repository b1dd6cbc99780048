"""XHAIL of the package xhail, one class against the rest, as an ordered rule list."""

import os
import re
import time

import numpy as np

os.environ["XHAIL_MAX_KERNEL"] = "1000"  # with the package's 10, most kernels lose the rules that are needed
from xhail import learn_from_string

from nsl_bench.learners.asp_rules import deciding
from nsl_bench.learners.rule_lists import RuleList, telling


class Xhail(RuleList):
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

    def bodies_of(self, literals, own, train, n):
        """Conjunctions of columns that hold for a class's examples alone, as far as XHAIL finds them."""
        end = train.begun + 0.8 * train.time_limit if train.time_limit else np.inf
        order = np.random.default_rng(self.seed).permutation(len(own))
        half = self.start // 2
        chosen = [*order[own[order]][:half], *order[~own[order]][:half]]
        best, errors, longest = [], int(own.sum()), 0.0
        columns = telling(literals, own)[: self.literals]
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
