"""Random small tasks of every tier: the solvers find the reference's least score, and prove it.

A flavour and a number name a task. One on which a solver errs is made small before it is shown. FastLAS and
ILASP, where they are installed, are asked for the same tasks' scores.
"""

from __future__ import annotations

import pytest
from las import reference
from las.strategies import FLAVOURS, shrunk, task_text

from nsl_bench.errors import UserError
from nsl_bench.las.adapters.programs import PROGRAMS, fastlas, find, ilasp
from nsl_bench.las.semantics.coverage import score
from nsl_bench.las.solver import solve
from nsl_bench.las.task import LasTask, Solution, Tier

FEW = 5
"""Tasks of each flavour that every run solves."""
MANY = 20_000 // len(FLAVOURS) + 1
"""Tasks of each flavour that the nightly run solves: 20,000 in all."""
LARGE = ("large", "many_contexts", "feeding_many", "given_many", "cautious_many")
"""Flavours of many examples, of which fewer are solved."""
SECONDS = 20.0
"""What another program may take for a task."""
FOREIGN = {
    "fastlas": ("observational", "feeding", "priced", "recursive", "cautious_closed"),
    "ilasp": ("ilasp", "recursive", "open", "cautious"),
}
"""The flavours whose tasks another program may know."""
FIRST_TIERS: tuple[Tier, ...] = ("A", "C", "D")


def agree(task: LasTask, found: Solution, want: int | None) -> None:
    """`found` is the optimum `want`, and its hypothesis scores that by the definition."""
    if want is None:
        assert found.status == "unsatisfiable"
        return
    assert (found.score, found.bound, found.status) == (want, want, "optimal")
    penalties, whole = reference.score_of(task, found.hypothesis)
    assert whole
    assert found.cost + penalties == want
    again = score(task, found.hypothesis)
    assert (again.total, again.cost, again.broken) == (want, found.cost, ())
    assert {e.id for e, ok in zip(task.examples, again.covered, strict=True) if ok} == set(found.covered)
    assert sum(penalty for _, penalty in found.uncovered) == penalties


def check(text: str) -> None:
    """Every solver agrees with the reference on one task; a task that is refused is none."""
    try:
        task = LasTask.parse(text)
        want = reference.least_score(task)
        for tier in FIRST_TIERS:
            agree(task, solve(task, first_tier=tier), want)
    except (UserError, reference.TooLarge):
        return


def errs(text: str) -> bool:
    """Whether some solver disagrees with the reference."""
    try:
        check(text)
    except Exception:
        return True
    return False


def check_flavour(flavour: str, numbers: range) -> None:
    for number in numbers:
        text = task_text(flavour, number)
        try:
            check(text)
        except Exception as error:
            pytest.fail(f"{flavour} {number}: {error!r}\n{shrunk(text, errs)}")


@pytest.mark.slow  # the reference takes minutes for some tasks
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_solvers_agree_with_the_definition(flavour: str) -> None:
    check_flavour(flavour, range(FEW // 5 if flavour in LARGE else FEW))


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_solvers_agree_with_the_definition_on_thousands(flavour: str) -> None:
    check_flavour(flavour, range(FEW, MANY))


@pytest.mark.slow
@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name not in LARGE])
def test_the_reference_agrees_with_the_definition(flavour: str) -> None:
    """On tasks small enough to try every hypothesis on every example."""
    for number in range(5):
        try:
            task = LasTask.parse(task_text(flavour, number))
            rules = reference.space(task)
            if len(rules) <= 8:
                assert reference.least_score(task) == reference.by_definition(task, rules)
        except (UserError, reference.TooLarge):
            continue


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
    for number in range(FEW):
        compare(task_text(flavour, number), program)
