"""Whether every tier finds the least score of a task by the definition, and what became of many tasks.

The definition is the check's (`nsl_bench.logic.las.semantics.verification`), which reads the task's text by
itself. A task is decided if the check and every tier give an answer. What is not decided is counted by its
reason: the check gave up, every tier refused the task with a sentence, or time ran out.
"""

import contextlib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from unittest.mock import patch

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.language_bias import Dialect
from nsl_bench.logic.las.semantics.coverage import score
from nsl_bench.logic.las.semantics.verification import solving
from nsl_bench.logic.las.semantics.verification.costs import Pricing
from nsl_bench.logic.las.semantics.verification.optimum import find_better
from nsl_bench.logic.las.semantics.verification.plain import PlainTask, read_plain
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs
from nsl_bench.logic.las.semantics.verification.statements import covered_examples
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Solution, Tier

SECONDS = 60.0
"""What a tier may take for a task; only a hang takes that long."""
MOST_RULES = 1_500
"""Rules of a hypothesis space beyond which the check gives up."""
MOST_STEPS = 2_000
"""Hundreds of ground rules, likewise."""
MOST_CONFLICTS = "20000"
"""Conflicts of one search, likewise."""
FIRST_TIERS: tuple[Tier, ...] = ("A", "C", "D")

Kind = Literal["decided", "too large", "refused", "out of time"]


class Disagreement(AssertionError):
    """A solver differs from the reference, or solves what another one refuses."""


@dataclass(frozen=True)
class Outcome:
    """What became of one task.

    Attributes:
        kind: whether it was decided, and if not, why not.
        reason: the sentence of the refusal, or what the reference has too much of.
        tier: whose answer it was where every tier was free to try.
    """

    kind: Kind
    reason: str = ""
    tier: Tier | None = None


def compared(text: str) -> Outcome:
    """What becomes of one task; raises Disagreement."""
    constraints = len(text) % 5 > 0
    dialect: Dialect | None = None
    try:
        read_plain(text, None)
    except Unverifiable as reason:
        if "dialect" in str(reason):  # nothing tells it, so that both readers have to be told
            with contextlib.suppress(UserError):
                assert "nothing in it tells FastLAS" in LasTask.parse(text).bias.doubt
            dialect = "ilasp" if len(text) % 2 else "fastlas"
    try:
        task = LasTask.parse(text, dialect=dialect, constraints=constraints)
    except UserError as reason:
        return Outcome("refused", _general(str(reason)))
    with patch.object(solving, "MOST_CONFLICTS", MOST_CONFLICTS):
        stop = steps()
        try:
            plain = read_plain(text, dialect, constraints=constraints)
            best = find_better(plain, rules_with_costs(plain, MOST_RULES, stop), None, stop)
        except Unverifiable as reason:
            if "cannot ground" in str(reason):
                return _of_invalid(task, _general(str(reason)))
            return Outcome("too large", _general(str(reason)))
        except UserError as reason:
            return Outcome("refused", _general(str(reason)))
    return _compared(task, plain, None if best is None else best.score)


def form(rule: str) -> tuple[str, tuple[str, ...]]:
    """Head and body of a rule, up to names of variables and order."""
    head, _, text = rule.removesuffix(".").partition(":-")
    literals = re.split(r"[,;]\s*(?![^()]*\))", text)
    parts = [head.strip(), *sorted(set(filter(None, map(str.strip, literals))))]
    names = list(dict.fromkeys(re.findall(r"\b[A-Z]\w*", " ".join(parts))))
    forms = []
    for order in itertools.permutations(range(len(names))):
        new = {name: f"W{k}" for name, k in zip(names, order, strict=True)}
        first, *rest = (re.sub(r"\b[A-Z]\w*", lambda m, new=new: new[m[0]], part) for part in parts)  # type: ignore[misc]
        forms.append((first, tuple(sorted(set(rest)))))
    return min(forms)


def useless(rule: tuple[str, tuple[str, ...]]) -> bool:
    """Whether a rule (its `form`) derives nothing: its body holds the head, or an atom and its negation."""
    head, body = rule
    return head in body or any(f"not {literal}" in body for literal in body)


def proven(text: str, tier: str | None = None) -> int | None:
    """The score of a task's proven optimum, which a tier has found if one is named."""
    solution = solve(LasTask.parse(text))
    assert solution.status == "optimal" and tier in (None, solution.tier)
    return solution.score


def plainly(task: LasTask) -> PlainTask:
    """The task as the check reads its text."""
    text, dialect, constraints = task.stated
    return read_plain(text, dialect, constraints=constraints)


def least_score(text: str, dialect: Dialect | None = None) -> int | None:
    """The least score of a task by the definition; None if no hypothesis covers what must be covered."""
    plain, stop = read_plain(text, dialect), steps()
    best = find_better(plain, rules_with_costs(plain, MOST_RULES, stop), None, stop)
    return None if best is None else best.score


def steps(most: int = MOST_STEPS) -> Callable[[], None]:
    """What the check calls now and then, and what ends it after so many calls."""
    left = iter(range(most))

    def stop() -> None:
        if next(left, None) is None:
            raise Unverifiable(f"more than {most} steps")

    return stop


def _compared(task: LasTask, plain: PlainTask, want: int | None) -> Outcome:
    """What becomes of a task whose least score is known."""
    found: dict[Tier, Solution] = {}
    refused: dict[Tier, str] = {}
    for tier in FIRST_TIERS:
        if tier == "C" and "A" in found and found["A"].tier in ("C", "D"):
            continue  # the very search that has answered
        try:
            with patch(
                "nsl_bench.logic.las.solver.is_small", lambda *_: False
            ):  # what the search itself says
                found[tier] = solve(task, first_tier=tier, time_limit=SECONDS)
        except UserError as reason:
            refused[tier] = str(reason)
    if refused and found:
        raise Disagreement(f"tiers {', '.join(found)} solve it, but {refused}")
    if refused:
        return Outcome("refused", _general(next(iter(refused.values()))))
    known: dict[tuple[str, ...], tuple[int, int, bool]] = {}
    out_of_time = []
    for tier, solution in found.items():
        hypothesis = tuple(sorted(solution.hypothesis))
        if solution.score is not None and hypothesis not in known:
            known[hypothesis] = scored(plain, hypothesis)
        if not _agrees(task, solution, want, tier, known.get(hypothesis)):
            out_of_time.append(tier)
    if out_of_time:
        return Outcome("out of time", f"tiers {', '.join(out_of_time)}")
    return Outcome("decided", tier=found["A"].tier)


def scored(plain: PlainTask, hypothesis: Sequence[str], cost: int | None = None) -> tuple[int, int, bool]:
    """A hypothesis's cost (read off where it is not known), penalties, and whether it covers what it must."""
    stop = steps(10**6)
    covered = covered_examples(plain, hypothesis, stop)
    missed = [e.penalty for e, ok in zip(plain.examples, covered, strict=True) if not ok]
    cost = Pricing(plain, stop).of_hypothesis(hypothesis) if cost is None else cost
    return cost, sum(p or 0 for p in missed), None not in missed


def _of_invalid(task: LasTask, reason: str) -> Outcome:
    """The outcome of a task that clingo does not take, which every tier has to refuse with a sentence."""
    for tier in FIRST_TIERS:
        try:
            found = solve(task, first_tier=tier, time_limit=SECONDS)
        except UserError:
            continue
        raise Disagreement(f"tier {tier} solves what clingo does not take ({reason}): {found}")
    return Outcome("refused", reason)


def _general(sentence: str) -> str:
    """A refusal without the names in it."""
    return " ".join("'...'" if k % 2 else part for k, part in enumerate(sentence.split("'")))


def _agrees(
    task: LasTask, found: Solution, want: int | None, tier: Tier, scored: tuple[int, int, bool] | None
) -> bool:
    """Whether an answer is the optimum `want`, with its proof; False if time ran out before that.

    `scored` is what the check says of the answer's hypothesis, if there is one.
    """

    def require(holds: bool, what: str) -> None:
        if not holds:
            raise Disagreement(f"from tier {tier}: {what}; the least score is {want}: {found}")

    if found.status == "feasible" and "Time ran out" in found.message:
        require(want is None or found.bound <= want, "the bound is above the least score")
        require(found.score is None or (want is not None and want <= found.score), "the score is too low")
        return False
    if want is None:
        require(found.status == "unsatisfiable", "it is said to be satisfiable")
        return True
    require((found.score, found.bound, found.status) == (want, want, "optimal"), "another score")
    assert scored is not None
    cost, penalties, whole = scored
    require(cost == found.cost, f"the hypothesis costs {cost}")
    require(whole and cost + penalties == want, f"the hypothesis leaves {penalties} to pay")
    again = score(task, found.hypothesis)
    require((again.total, again.cost, again.broken) == (want, found.cost, ()), f"scored again: {again}")
    covered = {e.id for e, ok in zip(task.examples, again.covered, strict=True) if ok}
    require(covered == set(found.covered), f"covered are {sorted(covered)}")
    require(sum(penalty for _, penalty in found.uncovered) == penalties, "the penalties do not add up")
    return True
