"""Whether every tier finds the reference's least score of a task, and what became of many tasks.

A task is decided if the reference and every tier give an answer. What is not decided is counted by its
reason: the reference gave up, every tier refused the task with a sentence, or time ran out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from unittest.mock import patch

from las import reference

from nsl_bench.errors import UserError
from nsl_bench.las.semantics.coverage import score
from nsl_bench.las.solver import solve
from nsl_bench.las.task import LasTask, Solution, Tier

__all__ = ["Disagreement", "Outcome", "Tally", "compared"]

SECONDS = 60.0
"""What a tier may take for a task; only a hang takes that long."""
MOST_VERIFIED = 120
"""Rules times examples of the tasks whose optimum is verified as well."""
MOST_VARIABLES = 3
"""The most variables in a rule of such a task."""
MOST_SUBSETS = 8
"""The most rules of such a task where hypotheses are tried one by one."""
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
        verified: the optimum was confirmed by `nsl_bench.las.semantics.verification`.
    """

    kind: Kind
    reason: str = ""
    tier: Tier | None = None
    verified: bool = False


@dataclass
class Tally:
    """What became of many tasks.

    Attributes:
        kinds: how many of each kind.
        tiers: how many of the decided ones each tier answered.
        reasons: why the others were not decided.
        verified: how many optima were verified.
        seconds: CPU time.
    """

    kinds: Counter[Kind] = field(default_factory=Counter)
    tiers: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    verified: int = 0
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Counts one more task."""
        self.kinds[outcome.kind] += 1
        self.verified += outcome.verified
        if outcome.tier is not None:
            self.tiers[outcome.tier] += 1
        if outcome.reason:
            self.reasons[f"{outcome.kind}: {outcome.reason}"] += 1

    @property
    def share_decided(self) -> float:
        """The share of tasks that were decided."""
        return self.kinds["decided"] / self.kinds.total()

    def share_of(self, tiers: str) -> float:
        """The share of the decided tasks that some of these tiers answered."""
        return sum(self.tiers[tier] for tier in tiers) / max(1, self.kinds["decided"])

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(self.tiers.items()))
        return f"{kinds}; {self.verified} verified; tiers {tiers or 'none'}; {self.seconds:.1f} s"


def compared(text: str) -> Outcome:
    """What becomes of one task.

    Raises:
        Disagreement: a solver differs from the reference, or refuses what another one solves.
    """
    try:
        task = LasTask.parse(text)
    except UserError as reason:
        return Outcome("refused", _general(str(reason)))
    try:
        rules = reference.space(task)
        want = reference.least_score(task, rules)
    except reference.TooLarge as reason:
        return Outcome("too large", str(reason))
    except UserError as reason:
        return Outcome("refused", _general(str(reason)))
    except RuntimeError as reason:
        return _of_invalid(task, str(reason))
    found: dict[Tier, Solution] = {}
    refused: dict[Tier, str] = {}
    for tier in FIRST_TIERS:
        if tier == "C" and "A" in found and found["A"].tier in ("C", "D"):
            continue  # the very search that has answered
        try:
            verify = tier == "A" and _is_quickly_verified(task, rules)
            with patch("nsl_bench.las.solver.is_small", lambda *_: False):  # what the search itself says
                found[tier] = solve(task, first_tier=tier, verify=verify, time_limit=SECONDS)
        except UserError as reason:
            refused[tier] = str(reason)
    if refused and found:
        raise Disagreement(f"tiers {', '.join(found)} solve it, but {refused}")
    if refused:
        return Outcome("refused", _general(next(iter(refused.values()))))
    scored: dict[tuple[str, ...], tuple[int, bool]] = {}
    out_of_time = []
    for tier, solution in found.items():
        hypothesis = tuple(sorted(solution.hypothesis))
        if solution.score is not None and hypothesis not in scored:
            scored[hypothesis] = reference.score_of(task, hypothesis)
        if not _agrees(task, solution, want, tier, scored.get(hypothesis)):
            out_of_time.append(tier)
    if out_of_time:
        return Outcome("out of time", f"tiers {', '.join(out_of_time)}")
    return Outcome("decided", tier=found["A"].tier, verified=found["A"].verified == "optimality")


def _of_invalid(task: LasTask, reason: str) -> Outcome:
    """The outcome of a task that clingo does not take, which every tier has to refuse with a sentence."""
    for tier in FIRST_TIERS:
        try:
            found = solve(task, first_tier=tier, time_limit=SECONDS)
        except UserError:
            continue
        raise Disagreement(f"tier {tier} solves what clingo does not take ({reason}): {found}")
    return Outcome("refused", reason)


def _is_quickly_verified(task: LasTask, rules: Sequence[reference.Rule]) -> bool:
    if task.bias.max_variables > MOST_VARIABLES or len(rules) * len(task.examples) > MOST_VERIFIED:
        return False
    return len(rules) <= MOST_SUBSETS or all(example.positive for example in task.examples)


def _general(sentence: str) -> str:
    """A refusal without the names in it."""
    return " ".join("'...'" if k % 2 else part for k, part in enumerate(sentence.split("'")))


def _agrees(
    task: LasTask, found: Solution, want: int | None, tier: Tier, scored: tuple[int, bool] | None
) -> bool:
    """Whether an answer is the optimum `want`, with its proof; False if time ran out before that.

    Args:
        task: the task.
        found: the answer.
        want: the reference's score.
        tier: the first tier that was tried.
        scored: what the reference says of the answer's hypothesis (`reference.score_of`), if there is one.

    Raises:
        Disagreement: it is another one, or its hypothesis does not score what the answer says.
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
    penalties, whole = scored
    require(whole and found.cost + penalties == want, f"the hypothesis leaves {penalties} to pay")
    again = score(task, found.hypothesis)
    require((again.total, again.cost, again.broken) == (want, found.cost, ()), f"scored again: {again}")
    covered = {e.id for e, ok in zip(task.examples, again.covered, strict=True) if ok}
    require(covered == set(found.covered), f"covered are {sorted(covered)}")
    require(sum(penalty for _, penalty in found.uncovered) == penalties, "the penalties do not add up")
    return True
