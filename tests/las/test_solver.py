"""The fast path of the rule learner: oracles, dialects' details, and stopping early."""

import itertools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from las.agreement import compared, scored, steps
from las.strategies import FLAVOURS, shrunk, task_text

from nsl_bench.core.budget import Budget, Undecided
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las import LasTask, solve
from nsl_bench.logic.las.adapters.programs import PROGRAMS, fastlas, find, ilasp
from nsl_bench.logic.las.bits import pack, unpack
from nsl_bench.logic.las.enumeration import compiled, evaluation
from nsl_bench.logic.las.enumeration.compiled import compiled_kernels
from nsl_bench.logic.las.semantics.verification.optimum import find_better
from nsl_bench.logic.las.semantics.verification.plain import read_plain
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.semantics.verification.space import rules_with_costs
from nsl_bench.logic.las.tables.conditions import targets
from nsl_bench.logic.las.tables.evaluation import Columns
from nsl_bench.logic.las.tables.grounding import ground
from nsl_bench.logic.las.tabular import solve_by_tables
from nsl_bench.logic.las.task import Tier

COSTS = '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").\n'

QUICK = (
    *("follow_suit_n104_shift0_s0", "follow_suit_n104_shift100_s0", "follow_suit_n1040_shift90_s0"),
    *("sudoku4_p0", "sudoku4_p80", "sudoku4_p100", "crop_n200_noise30", "scene_n1000_noise20"),
    "policy_pm_fold0_accept",
)
SLOW = ("sudoku9_p0", "sudoku9_p100", "crop_n2000_noise30", "scene_n5000_noise20")


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_oracles(shared: Path, name: str) -> None:
    """Solves the task and compares score and proof with what others found."""
    path = shared / "oracles" / "las" / f"{name}.las"
    solution = solve(LasTask.read(path))
    wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["score"]
    assert (solution.score, solution.bound, solution.status) == (wanted, wanted, "optimal")
    assert solution.cost + sum(penalty for _, penalty in solution.uncovered) == wanted
    assert solution.tier == ("B" if name.startswith("follow") else "A")


def test_a_small_task_loads_little(shared: Path) -> None:
    """A small task takes less time and memory than these modules."""
    seldom = ("hashlib", "difflib", "nsl_bench.logic.asp.replicas", "nsl_bench.logic.las.bias.batch")
    code = (
        "import sys, numpy, clingo\n"
        "before = set(sys.modules)\n"
        "from nsl_bench.logic.las import LasTask, solve\n"
        f"solve(LasTask.read({str(shared / 'oracles/las/follow_suit_n104_shift0_s0.las')!r}))\n"
        f"print([name for name in {(*seldom, 'pydantic', 'numba', 'pysat')!r} "
        "if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "score", "note"),
    [
        ("#modeh(p). #modeb(q). q.", 0, "The task has no examples."),
        (
            "#modeh(p). #modeb(r(var(t), var(t))). #maxv(1). #max_body(1). r(1, 2). t(1..2).",
            0,
            "The task has no examples.",
        ),
        ("#predicate(target, p/1). #modem(2, up(target/1)). P(1) :- up(P).", 0, "The task has no examples."),
        ("#pos(a@3, {q}, {}). #neg(b@2, {}, {}).", 5, "No '#modeh' declares"),
        ("#pos(a, {q}, {}). q.", 0, "No '#modeh' declares"),
        ("#pos(a, {q}, {}).", None, "No '#modeh' declares"),
    ],
)
@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_with_nothing_to_learn_the_empty_hypothesis_is_best(
    text: str, score: int | None, note: str, tier: Tier
) -> None:
    solution = solve(LasTask.parse(text), first_tier=tier, verify=True)
    assert (solution.score, solution.hypothesis, solution.verified) == (score, (), "optimality")
    assert solution.message.startswith(note)


def test_a_cost_that_ilasp_does_not_allow_is_said() -> None:
    wanted = ", ".join(f"p({k})" for k in range(16))
    text = f"#pos(a, {{{wanted}}}, {{}}). #modeh(p(const(n))). n(0..15)."
    said = {
        statement: "ILASP allows 15" in solve(LasTask.parse(text + statement, dialect="ilasp")).message
        for statement in ("", "#max_penalty(16).")
    }
    assert said == {"": True, "#max_penalty(16).": False}
    assert "ILASP" not in solve(LasTask.parse(text, dialect="fastlas")).message


def test_time_limit_gives_a_bound(shared: Path) -> None:
    path = shared / "oracles" / "las" / "crop_n2000_noise30.las"
    solution = solve(LasTask.read(path), time_limit=0.3)
    assert solution.score is not None
    assert solution.bound <= 20584 <= solution.score
    assert solution.status in ("feasible", "optimal")


def test_memory_limit_leads_to_another_tier() -> None:
    text = "#pos(a@9, {p}, {}, {q(1).}). #modeh(p). #modeb(q(var(t))). t(1..3). " + COSTS
    solution = solve(LasTask.parse(text), memory_limit=1)
    assert solution.tier != "A"
    assert "MiB" in solution.message or "emory" in solution.message
    assert solution.bound <= 1 <= (solution.score or 0)


def test_conditions_of_examples_ask_for_their_memory() -> None:
    """Rules with learned atoms, many of which hold in each example, once took 22 GB."""
    rules = "r(X,Y) :- p(X), p(Y), t(X), t(Y). w :- r(X,Y), X < Y. t(1..40)."
    contexts = "".join(f"#pos(e{i}@9, {{w}}, {{}}, {{q({i}).}})." for i in range(1, 41))
    task = LasTask.parse(f"{rules} #modeh(p(var(t))). #modeb(q(var(t))). {contexts} {COSTS}")
    columns = Columns.of(task.examples)
    grounding = ground(task, columns, [], Budget.of(None, None))
    with pytest.raises(Undecided, match="conditions of examples would take"):
        targets(task, grounding, 0, Budget.of(None, 1))


class _Checks(Budget):
    """A budget whose shares end after so many looks at them."""

    looks = 0

    def before(self, share: float) -> Budget:
        part = _Checks.of(None, None)
        part.looks, part.expired = self.looks, part.look  # type: ignore[method-assign]
        return part

    def look(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("looks", [10, 20, 100])
def test_an_enumeration_that_is_cut_short_keeps_its_bodies(looks: int) -> None:
    lines = ["t(1..4). #modeh(p). #modeb(e(var(t),var(t))). #modeb(f(var(t))). #maxv(3).", COSTS]
    lines += [
        f"#pos(x{i}@3, {{{'p' * (i % 4 > 0)}}}, {{{'p' * (i % 4 == 0)}}}, {{e(1,{i % 4 + 1}). f(1).}})."
        for i in range(40)
    ]
    task, budget = LasTask.parse("\n".join(lines)), _Checks.of(None, None)
    budget.looks = looks
    assert solve_by_tables(task, budget, lambda event: None).hypothesis


@pytest.mark.parametrize("by_kernel", [True, False])
def test_tables_worked_on_in_chunks_give_the_same_answer(
    by_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    lines = ["t(1..4). #modeh(p). #modeb(e(var(t),var(t))). #modeb(f(var(t))). #maxv(3).", COSTS]
    for i in range(200):
        edges = rng.integers(0, 2, (4, 4))
        context = [f"e({a + 1},{b + 1})." for a, b in np.argwhere(edges)]
        loop = bool((edges & edges.T).any()) is bool(i % 10)
        asked = "{p}, {}" if loop else "{}, {p}"
        lines.append(f"#pos(x{i}@3, {asked}, {{{' '.join(context)} f(1).}}).")
    task = LasTask.parse("\n".join(lines))
    whole = solve(task)
    monkeypatch.setattr(evaluation, "_CHUNK_BYTES", 8)
    if by_kernel:
        monkeypatch.setattr(compiled, "_COMPILED_BYTES", 0)
        monkeypatch.setattr(compiled, "_THREADED_BYTES", 0)
    chunked = solve(task)
    assert (chunked.status, chunked.tier) == ("optimal", "A")
    assert (chunked.score, chunked.hypothesis) == (whole.score, whole.hypothesis)


def test_pack_is_undone_by_unpack() -> None:
    flags = np.random.default_rng(0).integers(0, 2, (3, 130)).astype(np.bool_)
    assert np.array_equal(unpack(pack(flags), 130), flags)


def test_kernels_that_cannot_be_compiled_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"t(1..2). #modeh(p). #modeb(q(var(t))). #maxv(1). #pos(a@9,{{p}},{{}},{{q(1).}}). {COSTS}"
    monkeypatch.setattr(compiled, "_COMPILED_BYTES", 0)
    monkeypatch.setattr(compiled, "compiled_kernels", lambda: (None, "ImportError: no numba"))
    solution = solve(LasTask.parse(text))
    assert (solution.score, solution.statistics["compiled"]) == (1, 0)
    assert "ImportError: no numba" in solution.message


def test_kernels_and_numpy_agree(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled_kernels()[0] is None:
        pytest.skip("numba is not installed")
    task = LasTask.read(shared / "oracles" / "las" / "sudoku4_p40.las")
    plain = solve(task)
    monkeypatch.setattr(compiled, "_COMPILED_BYTES", 0)
    fast = solve(task)
    assert (fast.score, fast.status) == (plain.score, plain.status)
    assert fast.statistics["distinct"] == plain.statistics["distinct"]


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
