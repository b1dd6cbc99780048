"""Random small tasks of every tier: the solvers find the least score by the definition, and prove it.

A flavour and a number name a task. One on which a solver errs is made small before it is shown. FastLAS and
ILASP, where they are installed, are asked for the same tasks' scores.
"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from las.agreement import compared, scored, steps
from las.strategies import FLAVOURS, shrunk, task_text

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.adapters.programs import PROGRAMS, fastlas, find, ilasp
from nsl_bench.logic.las.semantics.verification.optimum import find_better
from nsl_bench.logic.las.semantics.verification.plain import read_plain
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask

LARGE = ("large", "many_contexts", "feeding_many", "given_many", "cautious_many", "thresholds_many")
"""Flavours of many examples, of which fewer are solved."""
FEW = {flavour: 2 if flavour in LARGE else 5 for flavour in FLAVOURS}
"""Tasks of each flavour that every run solves."""
MANY = {flavour: 200 if flavour in LARGE else 800 for flavour in FLAVOURS}
"""Tasks of each flavour that the nightly run solves."""
assert sum(MANY.values()) > 20_000, "docs/rule-learner.md says so"
CHUNKS = 8
"""Tests among which the nightly run divides the tasks of a flavour."""
LEAST_DECIDED = 0.6
"""The share of the tasks of a chunk that have to be decided."""
LEAST_TABULAR = {"observational": 0.6, "wide_bodies": 0.4, "leaf_types": 0.6, "large": 0.4, "priced": 0.4}
"""The share of the decided tasks of some flavours that tiers A and B have to solve."""
SECONDS = 20.0
"""What another program may take for a task."""
FOREIGN = {
    "fastlas": ("observational", "feeding", "priced", "recursive", "cautious_closed"),
    "ilasp": ("ilasp", "recursive", "open", "cautious"),
}
"""The flavours whose tasks another program may know."""


def check_flavour(flavour: str, numbers: range) -> Counter[str]:
    """How many tasks of a flavour had which fate, and were solved by which tier; fails at the first fault."""
    found: Counter[str] = Counter()
    for number in numbers:
        text = task_text(flavour, number)
        try:
            outcome = compared(text)
        except Exception as error:
            small = shrunk(text, lambda shorter, error=error: type(failure(shorter)) is type(error))  # type: ignore[misc]
            pytest.fail(f"{flavour} {number}: {error!r}\n{small}\n{failure(small)!r}")
        found.update([outcome.kind, f"tier {outcome.tier}", *filter(None, [outcome.reason])])
    print(f"{flavour} {numbers.start}-{numbers.stop - 1}: {found.most_common()}")
    return found


def failure(text: str) -> Exception | None:
    """What goes wrong where the solvers and the check are asked for the same task."""
    try:
        compared(text)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_solvers_agree_with_the_definition(flavour: str) -> None:
    found = check_flavour(flavour, range(FEW[flavour]))
    assert found["decided"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_solvers_agree_with_the_definition_on_thousands(flavour: str, chunk: int) -> None:
    """The shares of undecided tasks are bounded, so that no solver passes by refusing everything."""
    first, last = (MANY[flavour] * k // CHUNKS for k in (chunk, chunk + 1))
    found = check_flavour(flavour, range(first, last))
    assert found["decided"] >= LEAST_DECIDED * (last - first)
    assert found["tier A"] + found["tier B"] >= LEAST_TABULAR.get(flavour, 0.0) * found["decided"]


@pytest.mark.slow
@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name not in LARGE])
def test_the_check_agrees_with_trying_every_hypothesis(flavour: str) -> None:
    """On tasks small enough to try every set of rules on every example."""
    tried = 0
    for number in range(20):
        try:
            plain = read_plain(task_text(flavour, number), None)
            rules = rules_with_costs(plain, 8, steps())
        except Unverifiable:
            continue
        scores = []
        for size in range(len(rules) + 1):
            for chosen in itertools.combinations(rules, size):
                cost = sum(rules[text] for text in chosen)
                _, penalties, whole = scored(plain, chosen, cost)
                if whole and (plain.max_cost is None or cost <= plain.max_cost):
                    scores.append(cost + penalties)
        best = find_better(plain, rules, None, steps())
        assert (None if best is None else best.score) == min(scores, default=None)
        tried += 1
    assert tried >= 1


def compare(text: str, program: str) -> None:
    """Another program's hypothesis scores no less than ours, and as much where it solves the same task.

    FastLAS knows no limits on bodies, ignores constraints of the background and may miss rules that only
    a negative example asks for, or whose head follows from two modes (of `h(var(n))` and `h(const(n))` it
    takes two facts where one rule would do).
    """
    unknown = ("#max_body", "#ground_without") if program == "fastlas" else ("#bias",)
    task = LasTask.parse("\n".join(line for line in text.splitlines() if not line.startswith(unknown)))
    ours = solve(task)
    try:
        theirs = (fastlas if program == "fastlas" else ilasp)(task, time_limit=SECONDS)
    except UserError:
        return
    heads = {mode.atom.signature for mode in task.bias.heads}
    plain = all(example.positive for example in task.examples) and len(heads) == len(task.bias.heads)
    same = program == "ilasp" or (plain and "\n:-" not in task.background)
    if theirs.status == "unsatisfiable":
        assert ours.status == "unsatisfiable" or not same
    elif theirs.score is not None and "stopped" not in theirs.message:
        assert ours.score is not None
        assert ours.score == theirs.score if same else ours.score <= theirs.score


@pytest.mark.parametrize(
    ("program", "flavour"), [(name, flavour) for name, flavours in FOREIGN.items() for flavour in flavours]
)
def test_other_programs_agree(program: str, flavour: str) -> None:
    if find(PROGRAMS[program]) is None:
        pytest.skip(f"{program} is not installed")
    for number in range(5):
        compare(task_text(flavour, number), program)
