"""The fast path of the rule learner: oracles, dialects' details, and stopping early."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nsl_bench.logic.las import LasTask, solve
from nsl_bench.logic.las.bits import pack, unpack
from nsl_bench.logic.las.enumeration import compiled, evaluation
from nsl_bench.logic.las.enumeration.compiled import compiled_kernels
from nsl_bench.logic.las.task import Tier

COSTS = '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").\n'

QUICK = (
    "follow_suit_n104_shift0_s0",
    "follow_suit_n104_shift100_s0",
    "follow_suit_n1040_shift90_s0",
    "sudoku4_p0",
    "sudoku4_p80",
    "sudoku4_p100",
    "crop_n200_noise30",
    "scene_n1000_noise20",
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
