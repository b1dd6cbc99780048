"""Examples that no hypothesis tells apart: which are merged, and that each hypothesis covers them alike."""

from __future__ import annotations

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.budget import Budget
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.las.bias.space import hypothesis_space
from nsl_bench.logic.las.clingo_tiers.alike import alike
from nsl_bench.logic.las.semantics import coverage
from nsl_bench.logic.las.semantics.coverage import content, covered
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Tier

BUDGET = Budget()
LARGER = """
larger :- shown(first,A), shown(second,B), A > B.
next(1,2). next(2,3).
on(1) :- start.
#modeh(on(var(n))).
#modeb(1, next(var(n), var(n)), (positive)).
#modeb(1, on(var(n)), (positive)).
#modeb(1, larger).
"""


def sequences(spec: str, n: int) -> LasTask:
    """Whole sequences of a task, a third of them with other digits than were meant."""
    task = registry.create("benchmark", spec)
    task.sizes = {"few": n}
    split = task.generate("train", "few", 1, np.random.default_rng(1))
    length = int(split.steps.max())
    concepts = split.concepts.copy()
    concepts[: n // 3 * length] = np.random.default_rng(2).permutation(concepts[: n // 3 * length])
    contexts = task.sequence_contexts(concepts, split.metadata, split.steps)
    examples = []
    for k, context in enumerate(contexts):
        rows = [(int(split.labels[i]), i % length + 1) for i in range(k * length, (k + 1) * length)]
        wanted, unwanted = (
            tuple(task.step_atom(atom, step) for label, step in rows for atom in atoms(label))
            for atoms in (task.labels.inclusions, task.labels.exclusions)
        )
        examples.append(WeightedExample(f"e{k}", 10, wanted, unwanted, context))
    return LasTask.build(examples, task.background, task.bias, task.name)


@pytest.mark.parametrize("spec", ["hanoi", "addition"])
def test_every_hypothesis_covers_what_is_merged_alike(spec: str) -> None:
    task = sequences(spec, 60)
    standing = alike(task, BUDGET)
    if spec == "hanoi":
        assert len(standing) > 10
    rules = [rule.text for rule in hypothesis_space(task).rules]
    true = registry.create("benchmark", spec).true_rule.strip().splitlines()
    rng = np.random.default_rng(3)
    drawn = [rng.choice(rules, rng.integers(1, 20), replace=False).tolist() for _ in range(8)]
    for hypothesis in [true, *drawn, *([*true, *some[:1]] for some in drawn)]:
        found = covered(task, hypothesis)
        told = {content(e): ok for e, ok in zip(task.examples, found, strict=True)}
        assert all(told[one] == told[other] for one, other in standing.items())


def test_only_what_can_be_read_counts() -> None:
    task = LasTask.parse(
        LARGER
        + """
        #pos(a, {on(2)}, {}, {start. shown(first,7). shown(second,2).}).
        #pos(b, {on(2)}, {}, {start. shown(first,5). shown(second,4).}).
        #pos(c, {on(2)}, {}, {start. shown(first,2). shown(second,7).}).
        #pos(d, {on(3)}, {}, {start. shown(first,5). shown(second,4).}).
        #pos(e, {on(2)}, {}, {start. shown(first,5). shown(second,4). on(3).}).
        """
    )
    a, b, *_ = map(content, task.examples)
    assert alike(task, BUDGET) == {b: a}


def test_what_one_chunk_states_counts_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "_CHUNK", 1)
    task = LasTask.parse(
        """
        dark :- not lamp.
        #modeh(seen). #modeb(dark). #modeb(seen).
        #pos(a, {seen}, {}, {coin.}).
        #pos(b, {seen}, {}, {lamp.}).
        #pos(c, {seen}, {}, {stone.}).
        """,
        dialect="fastlas",
    )
    a, _, c = map(content, task.examples)
    assert alike(task, BUDGET) == {c: a}


@pytest.mark.parametrize(
    "changed",
    [
        "1 { larger; smaller } 1 :- shown(first,A), shown(second,B), A > B.",
        "-larger :- shown(first,A).",
        "inclusion(on(1)) :- larger.",
        "larger :- not smaller. smaller :- not larger.",
    ],
)
def test_what_is_not_fixed_is_not_merged(changed: str) -> None:
    examples = """
        #pos(a, {on(2)}, {}, {start. shown(first,7). shown(second,2).}).
        #pos(b, {on(2)}, {}, {start. shown(first,5). shown(second,4).}).
        """
    first = LARGER.replace("larger :- shown(first,A), shown(second,B), A > B.", changed)
    read = ":- shown(first,A), shown(second,B), A = B." if "not" in changed else ""
    assert alike(LasTask.parse(first + read + examples), BUDGET) == {}


@pytest.mark.parametrize("tier", ["C", "D"])
def test_hard_examples_that_another_one_stands_for_are_named(tier: Tier) -> None:
    task = LasTask.parse(
        """
        p :- q.
        #modeh(r). #modeb(p). #modeb(r). #maxv(0).
        #pos(soft@3, {r}, {}, {p.}).
        #pos(yes, {r}, {}, {q.}).
        #pos(no, {}, {r}, {q.}).
        #neg(never@2, {r}, {}, {q. q.}).
        """,
        dialect="fastlas",
    )
    assert len(alike(task, BUDGET)) >= 1
    found = solve(task, first_tier=tier)
    assert found.status == "unsatisfiable"
    assert "yes" in found.message and "no" in found.message and "soft" not in found.message


@pytest.mark.parametrize("tier", ["C", "D"])
def test_penalties_of_merged_examples_add_up(tier: Tier) -> None:
    task = LasTask.parse(
        """
        p :- q.
        #modeh(r). #modeb(p). #modeb(r). #maxv(0).
        #bias("penalty(3, head).").
        #pos(a@2, {r}, {}, {p.}).
        #pos(b@2, {r}, {}, {q.}).
        #neg(c@9, {r}, {}, {q. p.}).
        """
    )
    found = solve(task, first_tier=tier)
    assert (found.status, found.score, found.hypothesis) == ("optimal", 4, ())
    assert set(found.uncovered) == {("a", 2), ("b", 2)}
