"""The least score over a hypothesis space that is written down: one plain optimisation by clingo.

A positive example is covered if its copy of the program has an answer set that satisfies it, so that one
answer set of the whole chooses rules and shows which examples are covered. Negative examples are checked
against each hypothesis that could be better, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import clingo

from nsl_bench.las.semantics.verification.coverage import covered_examples
from nsl_bench.las.semantics.verification.solving import Unverifiable, answer_sets, grounded, solved
from nsl_bench.las.semantics.verification.statements import Asked, Statements, asked_by
from nsl_bench.las.task import LasTask

__all__ = ["Optimum", "find_better"]

_MOST_PROPOSALS = 2_000
_LARGEST_WEIGHT = 2**31 - 1


@dataclass(frozen=True)
class Optimum:
    """A hypothesis of at most some score.

    Attributes:
        score: its score by this search.
        hypothesis: its rules.
    """

    score: int
    hypothesis: tuple[str, ...]


def find_better(
    task: LasTask, rules: Mapping[str, int], most: int | None, stop: Callable[[], None]
) -> Optimum | None:
    """A hypothesis of least score; None if that is more than a given score.

    Args:
        task: the task.
        rules: the hypothesis space: every rule with its cost.
        most: the largest score that is asked for; None: any, as long as what must be covered is.
        stop: is called now and then, and may raise what ends the search.

    Raises:
        Unverifiable: a weight is beyond what clingo can hold, or too many hypotheses have to be tried.
    """
    search = _Search(task, list(rules.items()), most, stop)
    best: Optimum | None = None
    limit = most
    for _ in range(_MOST_PROPOSALS):
        found = search.propose(limit)
        if found is None:
            return best
        chosen, cost = found
        hypothesis = tuple(search.rules[k][0] for k in chosen)
        penalty = search.penalty_of_negatives(hypothesis)
        if penalty is not None and (limit is None or cost + penalty <= limit):
            best = Optimum(cost + penalty, hypothesis)
            limit = best.score - 1
        if not search.negative:
            return best
        search.exclude(chosen)
    raise Unverifiable(
        f"more than {_MOST_PROPOSALS:,} hypotheses would have to be tried on negative examples"
    )


class _Search:
    def __init__(
        self, task: LasTask, rules: Sequence[tuple[str, int]], most: int | None, stop: Callable[[], None]
    ) -> None:
        self.rules = rules
        self.negative = [example for example in task.examples if not example.positive]
        self._task = task
        self._stop = stop
        self._most = most
        wanted: dict[Asked, int | None] = {}
        for example in task.examples:
            if example.positive:
                known = wanted.get(asked := asked_by(example), 0)
                wanted[asked] = None if known is None or example.penalty is None else known + example.penalty
        self._total = sum(cost for _, cost in rules) + sum(p or 0 for p in wanted.values())
        if most is None and self._total > _LARGEST_WEIGHT:
            raise Unverifiable("costs and penalties add up to more than clingo can hold")
        self._control = grounded(self._program(task, wanted), stop)
        self._excluded = 0

    def _program(self, task: LasTask, wanted: Mapping[Asked, int | None]) -> list[str]:
        texts = [text for text, _ in self.rules]
        statements = Statements(task, texts)
        if not _shared_part_is_settled(statements, self._stop):
            statements = Statements(task, texts, copy_all=True)
        lines = [*statements.common(), *statements.hypothesis(numbered=True), "#show chosen/1."]
        for k, (_, cost) in enumerate(self.rules):
            lines.append(f"{{ chosen({k}) }}. :~ chosen({k}). [{self._weight(cost)},rule({k})]")
        for i, (asked, penalty) in enumerate(wanted.items()):
            lines.append(f"{{ copy({i}) }}.")
            lines += statements.context(i, asked[2])
            lines += [f":- copy({i}), not {literal}." for literal in statements.satisfied(i, asked)]
            price = f":~ not copy({i}). [{self._weight(penalty or 0)},example({i})]"
            lines.append(f":- not copy({i})." if penalty is None else price)
        return lines

    def _weight(self, weight: int) -> int:
        """A weight, cut where what carries it is beyond the score that is asked for."""
        if self._most is not None:
            weight = min(weight, self._most + 1)
        if weight > _LARGEST_WEIGHT:
            raise Unverifiable("a cost or penalty is more than clingo can hold")
        return weight

    def propose(self, most: int | None) -> tuple[tuple[int, ...], int] | None:
        """The cheapest choice of rules by positive examples, of at most so much; None if there is none."""
        if most is not None and most < 0:
            return None
        if most is not None and most > _LARGEST_WEIGHT:
            raise Unverifiable("the score is more than clingo can hold")
        found: list[tuple[tuple[int, ...], int]] = []

        def keep(model: clingo.Model) -> None:
            chosen = tuple(sorted(symbol.arguments[0].number for symbol in model.symbols(shown=True)))
            found.append((chosen, sum(model.cost)))

        mode = "opt" if most is None else f"opt,{most}"
        self._control.configuration.solve.opt_mode = mode  # type: ignore[union-attr]
        try:
            result = solved(self._control, keep, self._stop)
        except RuntimeError as error:
            raise Unverifiable(f"clingo cannot weigh it ({error})") from None
        if not result.exhausted and not (found and found[-1][1] == 0):
            raise Unverifiable("clingo gave up")
        return found[-1] if found else None

    def penalty_of_negatives(self, hypothesis: tuple[str, ...]) -> int | None:
        """What negative examples cost that an answer set satisfies; None if one of them is not allowed to."""
        if not self.negative:
            return 0
        covered = covered_examples(replace(self._task, examples=tuple(self.negative)), hypothesis, self._stop)
        missed = [example.penalty for example, ok in zip(self.negative, covered, strict=True) if not ok]
        return None if None in missed else sum(penalty or 0 for penalty in missed)

    def exclude(self, chosen: Sequence[int]) -> None:
        """Never propose this very choice again."""
        literals = [f"{'' if k in chosen else 'not '}chosen({k})" for k in range(len(self.rules))]
        name = f"excluded{self._excluded}"
        self._excluded += 1
        self._control.add(name, [], f":- {', '.join(literals)}." if literals else ":- #true.")
        self._control.ground([(name, [])])


def _shared_part_is_settled(statements: Statements, stop: Callable[[], None]) -> bool:
    """Whether what the examples share has one answer set, which is then that of every copy's lower part."""
    return len(answer_sets([*statements.common(), "#show."], 2, stop)) == 1
