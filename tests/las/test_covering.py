"""Sequential covering: a hypothesis soon on tasks whose rules have many literals, in every tier."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las import LasTask, Progress, solve
from nsl_bench.logic.las.bias.space import RuleMaker, SpaceRule
from nsl_bench.logic.las.bias.types import domains
from nsl_bench.logic.las.clingo_tiers import covering
from nsl_bench.logic.las.clingo_tiers.demands import Problem
from nsl_bench.logic.las.clingo_tiers.incumbent import Incumbent
from nsl_bench.logic.las.clingo_tiers.joins import Joins
from nsl_bench.logic.las.clingo_tiers.trial import Trial
from nsl_bench.logic.las.semantics.coverage import score

ZENDO = """
#modeh(good(var(scene))).
#modeb(9, piece(var(scene), var(piece)), (positive)). #modeb(9, touches(var(piece), var(piece)), (positive)).
#modeb(9, red(var(piece)), (positive)). #modeb(9, blue(var(piece)), (positive)).
#modeb(9, size(var(piece), var(size)), (positive)). #modeb(9, small(var(size)), (positive)).
#modeb(9, large(var(size)), (positive)). #maxv(6). #max_body(9).
"""
KINSHIP = """
person(1..9). parent(X, X+1) :- person(X), X < 9, X != 5. parent(1, 7).
#modeh(older(var(person), var(person))).
#modeb(older(var(person), var(person)), (positive)). #modeb(parent(var(person), var(person)), (positive)).
#maxv(3).
#pos(a, {older(1,2), older(1,3), older(1,4), older(2,5), older(1,8), older(6,9)}, {older(2,1), older(5,6)}).
#pos(b, {older(1,9)}, {older(4,6), older(6,2), older(3,3)}).
"""
KERNELS = """
0 { in(X) } 1 :- arg(X).
hit(X) :- in(Y), att(Y, X).
#modeh(lost(var(arg))).
#modeb(in(var(arg))). #modeb(hit(var(arg))). #modeb(att(var(arg), var(arg)), (positive)). #maxv(2).
#pos(a, {in(1), in(3)}, {in(2)}, {arg(1..3). att(1,2). att(2,3).}).
#pos(b, {in(2)}, {in(1)}, {arg(1..2). att(1,2). att(2,1).}).
#neg(c, {in(1), in(2)}, {}, {arg(1..2). att(1,2).}).
#neg(d, {in(1), in(3)}, {}, {arg(1..3). att(1,2). att(2,3). att(3,1).}).
#neg(e, {}, {in(1), in(2)}, {arg(1..2). att(2,1).}).
"""
SHOPS = """
shop(a;b;c). near(a,b). near(b,c). near(c,c). open(X) :- shop(X), not shut(X). :- shut(d).
#modeh(busy(var(shop), const(day))). #constant(day, mon). #constant(day, tue).
#modeb(open(var(shop))). #modeb(near(var(shop), var(shop))). #modeb(near(var(shop), c)).
#modeb(fair(const(day))). #maxv(3).
#pos(x, {busy(a,mon), busy(b,mon)}, {busy(c,mon)}, {fair(mon). shut(c).}).
#pos(y, {}, {busy(b,tue)}, {shut(a).}). #neg(z, {busy(a,tue)}, {}, {fair(tue). shut(b).}).
"""
STALLS = """
near(a,b). near(b,c). near(c,c). cold(b). open(X) :- shop(X), not shut(X).
#modeh(busy(var(shop))). #modeb(open(var(shop))). #modeb(near(var(shop), var(shop))). #modeb(cold(var(shop))).
#modeb(next(var(shop), var(shop))). #maxv(3).
#pos(x, {busy(a), busy(b)}, {busy(c)}, {shop(a). shop(b). shut(b). next(a,b). next(b,c).}).
#pos(y, {}, {busy(b)}, {shop(b). shop(c). shut(c). next(c,b). next(c,c).}).
"""
STREETS = (
    STALLS.replace("busy(var(shop))", "busy")
    .replace("{busy(a), busy(b)}, {busy(c)}", "{busy}, {}")
    .replace("busy(b)", "busy")
)


def scenes(number: int) -> str:
    """Scenes of three pieces, good where a red piece touches a small one."""
    rng = random.Random(number)
    lines = []
    for scene in range(number):
        pieces = [f"p{scene}_{i}" for i in range(3)]
        colours = [rng.choice(("red", "blue")) for _ in pieces]
        sizes = [rng.choice((1, 2, 3, 7, 8, 9)) for _ in pieces]
        touching = [(i, j) for i in range(3) for j in range(3) if i != j and rng.random() < 0.3]
        lines += [f"piece({scene},{each})." for each in pieces]
        lines += [f"{colour}({each})." for colour, each in zip(colours, pieces, strict=True)]
        lines += [f"size({each},{size})." for size, each in zip(sizes, pieces, strict=True)]
        lines += [f"touches({pieces[i]},{pieces[j]})." for i, j in touching]
        good = any(colours[i] == "red" and sizes[j] < 4 for i, j in touching)
        lines.append(f"#pos(e{scene}, {{{'' if good else '}, {'}good({scene}){'}, {' if good else ''}}}).")
    return "\n".join([ZENDO, "small(1..3). large(7..9).", *lines])


def pairs(number: int) -> str:
    """Scenes of four pieces, good where a red and a blue piece are of one size."""
    rng = random.Random(number)
    lines = []
    for scene in range(number):
        pieces = [(f"p{scene}_{i}", rng.choice(("red", "blue")), rng.randint(1, 4)) for i in range(4)]
        lines += [f"piece({scene},{p}). {colour}({p}). size({p},{size})." for p, colour, size in pieces]
        lines += [f"touches({pieces[i - 1][0]},{pieces[i][0]})." for i in range(4)]
        sizes = [{size for _, own, size in pieces if own == colour} for colour in ("red", "blue")]
        atom = f"good({scene})"
        inside, outside = (atom, "") if sizes[0] & sizes[1] else ("", atom)
        lines.append(f"#pos(e{scene}, {{{inside}}}, {{{outside}}}).")
    return "\n".join([ZENDO, "small(1..3). large(7..9).", *lines])


def task_of(text: str) -> LasTask:
    return LasTask.parse(text, dialect="ilasp")


def covered(task: LasTask) -> tuple[Incumbent, list[str]]:
    """What covering finds, and says."""
    said: list[str] = []
    incumbent = Incumbent(task, Problem.of(task, Budget()), Budget(), before=("C",))
    for _ in covering.cover(task, incumbent, Budget(), said.append):
        pass
    return incumbent, said


@pytest.mark.parametrize(
    ("text", "cost"), [(scenes(60), 6), (KINSHIP, 5), (KERNELS, None), (pairs(40), None)]
)
def test_covering_finds_rules_that_cover_what_must_be_covered(text: str, cost: int | None) -> None:
    task = task_of(text)
    answer = covered(task)[0].answer({})
    own = score(task, answer.hypothesis)
    assert not own.broken and answer.hypothesis
    assert own.total == answer.score and (cost is None or answer.score <= cost)


def test_covering_lowers_the_score_where_examples_have_penalties() -> None:
    task = task_of(scenes(60))
    noisy = tuple(replace(each, penalty=3 + i % 2) for i, each in enumerate(task.examples))
    flipped = tuple(
        replace(each, inclusions=each.exclusions, exclusions=each.inclusions) if i % 20 == 7 else each
        for i, each in enumerate(noisy)
    )
    answer = covered(replace(task, examples=flipped))[0].answer({})
    assert answer.score is not None and answer.score <= 6 + 3 * 4


def test_rules_for_some_of_the_examples_that_must_be_covered_are_told_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(covering, "_BEAMS", ((3, 0),))
    text = scenes(20) + "\npiece(20,q). piece(21,r). #pos(x, {good(20)}, {}). #pos(y, {}, {good(21)})."
    incumbent, said = covered(task_of(text))
    assert incumbent.total is None and said[-1].endswith("of 22 examples that must be covered")


@pytest.mark.parametrize("text", [scenes(30), pairs(30), SHOPS, STALLS, STREETS])
def test_joins_and_clingo_agree_on_what_rules_change(text: str) -> None:
    task = task_of(text)
    problem = Problem.of(task, Budget())
    search = covering._Covering(task, problem, Budget())
    trial = Trial(problem, problem.demands, search.space(), Budget())
    maker = RuleMaker(task.bias, domains(task))
    joins, level = Joins(trial, maker, domains(task).guarded, {}), list(maker.heads(False))
    assert trial.adds_up
    for _ in range(3):
        level = [longer for form in level for longer in maker.refinements(form)]
        level = random.Random(1).sample(list(dict.fromkeys(level)), min(40, len(set(level))))
        own = [form for form in level if maker.is_safe(form) and joins.changes(form) is not None]
        expected = trial.holds((), [SpaceRule(*maker.guarded(form), 0) for form in own])[1:]
        changed = [joins.changes(form) for form in own]
        assert own
        assert [joins.added(each or 0) for each in changed] == expected
        for form in own:
            rows = joins.rows(form)  # None where they are too many
            for literal, types in maker.literals(form, joined=True):
                longer = form.plus(literal, types)
                if rows is not None and maker.is_safe(longer):
                    assert joins.reach(rows, literal, types) in (None, joins.changes(longer))


def test_rules_without_cycles_through_negation_come_first_and_take_no_search() -> None:
    task = task_of(KINSHIP.replace(", (positive)", ""))
    problem = Problem.of(task, Budget())
    search = covering._Covering(task, problem, Budget())
    assert not Trial(problem, problem.demands, search.space(), Budget()).is_fast
    steps = search.cover(problem.demands, covering._BEAMS[0])
    with pytest.raises(StopIteration) as found:
        while True:
            next(steps)
    assert search._trial.is_fast and search.narrow and found.value.value[1].unmet == 0


@pytest.mark.parametrize("setting", [("_SOON", 0.0), ("_MANY_RULES", 1)])
@pytest.mark.parametrize("tier", ["A", "C", "D"])
def test_a_search_that_takes_long_offers_what_covering_finds(
    tier: str, setting: tuple[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = covering.cover

    def then_ctrl_c(task: LasTask, incumbent: Incumbent, budget: Budget, tell: object) -> Iterator[None]:
        for _ in found(task, incumbent, budget, lambda words: None):
            pass
        incumbent.budget.interrupted = True
        yield

    monkeypatch.setattr(covering, "cover", then_ctrl_c)
    monkeypatch.setattr(f"nsl_bench.logic.las.solver.{setting[0]}", setting[1])
    told: list[Progress] = []
    answer = solve(task_of(scenes(60)), first_tier=tier, progress=told.append)  # type: ignore[arg-type]
    assert (answer.status, answer.score, answer.bound) == ("feasible", 6, 0) and answer.tier == tier
    assert answer.message.startswith("Interrupted.") and len(answer.covered) == 60
    assert {each.score for each in told if each.hypothesis} == {6}
