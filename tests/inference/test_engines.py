"""Engines on real tasks, what they say of their answers, and what they refuse."""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from inference.enumeration import by_enumeration
from inference.forward_cases import COINS, PLAYERS
from inference.test_random_engines import by_problog, masses

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import LabelSpace
from nsl_bench.learners.queries import query_of
from nsl_bench.logic.inference import engines
from nsl_bench.logic.inference.engines import Auto, Exact, Sampling, compiled
from nsl_bench.logic.inference.exact import decision_diagram as diagram
from nsl_bench.logic.inference.problog.engine import ProbLog
from nsl_bench.logic.inference.program import ground
from nsl_bench.logic.inference.query import Answer, Query, checked_vectors


def rest_of(query: Query) -> tuple[str, LabelSpace, object]:
    """Background, labels and choices."""
    return query.background, query.labels, query.choices


def peaked(benchmark: str, n: int, flat: float, seed: int) -> tuple[Query, npt.NDArray[np.float64]]:
    """A task's true rule, and vectors around the concepts of its test examples."""
    task = registry.create("benchmark", benchmark)
    query = query_of(task, task.true_rule.strip().splitlines())
    rng = np.random.default_rng(seed)
    concepts = task.generate("test", "small", 0, rng).concepts[:n]
    certain = np.eye(query.width)[np.maximum(concepts, 0)]
    vectors = (1 - flat) * certain + flat * rng.dirichlet(np.full(query.width, 0.05), concepts.shape)
    vectors[concepts < 0] = 0
    return query, vectors


@pytest.mark.parametrize(("benchmark", "n", "flat"), [("follow_suit", 2, 0.3), ("sudoku_4x4", 3, 0.3)])
def test_tasks_agree_with_problog(benchmark: str, n: int, flat: float) -> None:
    query, vectors = peaked(benchmark, n, flat, 3)
    exact, auto = Exact()(query, vectors), Auto()(query, vectors)
    assert set(exact.engines) == set(auto.engines) == {"exact"}
    expected = by_problog(query, vectors, grounded=False)
    np.testing.assert_allclose(masses(exact)[:, :-1], expected, atol=1e-9, rtol=0)
    np.testing.assert_allclose(masses(auto), masses(exact), atol=1e-9, rtol=0)
    np.testing.assert_allclose(masses(exact).sum(axis=1), 1, atol=1e-9)


def full_grids(n: int, flat: float, seed: int) -> tuple[Query, npt.NDArray[np.float64]]:
    """Grids of 4 x 4 without blanks, seen dimly."""
    task = registry.create("benchmark", "sudoku_4x4")
    rng = np.random.default_rng(seed)
    grid = np.array([0, 1, 2, 3, 2, 3, 0, 1, 1, 0, 3, 2, 3, 2, 1, 0])
    shares = flat * rng.random((n, 1, 1)) * rng.dirichlet(np.ones(2), (n, 16))[:, :, :1]
    vectors = (1 - shares) * np.eye(4)[grid] + shares * rng.dirichlet(np.ones(4), (n, 16))
    return query_of(task, task.true_rule.strip().splitlines()), vectors


def test_one_answer_whatever_the_batch_and_the_workers() -> None:
    query, vectors = full_grids(12, 0.5, 5)
    for make in (
        lambda w: Auto(work=300.0, samples=200, workers=w),
        lambda w: Sampling(500, workers=w),
        lambda w: Exact(workers=w),
    ):
        one, many = make(1)(query, vectors), make(3)(query, vectors[::-1])
        assert np.array_equal(masses(one), masses(many)[::-1])
        assert one.engines == many.engines[::-1]


def test_auto_is_exact_where_its_work_suffices() -> None:
    query, vectors = full_grids(12, 0.9, 7)
    found, true = Auto(width=0.0, work=3e3)(query, vectors), Exact(width=0.0, work=3e3)(query, vectors)
    assert set(found.engines) == {"exact"} and np.allclose(masses(found), masses(true), atol=1e-9)
    little = Exact(width=0.0, work=3e3 / 16)(query, vectors)
    assert set(little.engines) == {"exact", "interval"}  # what all of the work is for


def test_intervals_hold_the_value_and_samples_are_near() -> None:
    """With little work: certified intervals, and estimates inside of them within 4 standard errors."""
    query, vectors = full_grids(60, 0.9, 7)
    true = Exact(width=0.0, work=1e7)(query, vectors)
    assert set(true.engines) == {"exact"}
    forward = compiled(query).forward
    own = compiled(query).domains.probabilities(checked_vectors(query, vectors).kept)
    few = forward.run(own, budget=0.5, work=1.0, widest=0.0, std_err=1e-9, rollouts=300, seed=1)
    wide = few.dropped > 1e-6
    assert wide.sum() > 10
    low, high = few.low[:, :2], few.low[:, :2] + few.dropped[:, None]
    assert (low <= true.probabilities + 1e-9).all() and (true.probabilities <= high + 1e-9).all()
    estimate = few.low[:, :2] + few.sampled[:, :2]
    assert (estimate >= low).all() and (estimate <= high + 1e-9).all()
    off = np.abs(estimate - true.probabilities)[wide] / few.std_err[wide][:, :2]
    assert (off <= 4).mean() >= 0.999


def test_sampling_is_within_its_standard_error() -> None:
    query, vectors = peaked("follow_suit", 60, 0.5, 9)
    true = Exact()(query, vectors).probabilities
    found = Sampling(2000, seed=4)(query, vectors)
    off = np.abs(found.probabilities - true) / found.std_err
    assert (off <= 4).all() and (found.std_err > 0).all()
    assert set(found.engines) == {"sampling"} and (found.high == 1).all() and (found.low == 0).all()


def test_auto_says_what_it_used() -> None:
    query, vectors = full_grids(30, 0.9, 11)
    assert set(Auto(work=1e6)(query, vectors).engines) == {"exact"}
    hasty = Auto(width=1e-9, work=1.0, samples=400)(query, vectors)
    assert "sampling" in hasty.engines
    sampled = np.array(hasty.engines) == "sampling"
    assert (hasty.width[~sampled] <= 1e-9).all() and (hasty.std_err[sampled] > 0).all()
    assert (hasty.std_err[~sampled] == 0).all()
    # No more than the states that fit: a large grid of which nothing is known.
    task = registry.create("benchmark", "sudoku_4x4")
    flat = np.full((1, 16, 4), 0.25)
    blind = Auto(samples=300, work=1e4)(query_of(task, task.true_rule.strip().splitlines()), flat)
    assert blind.probabilities[0, 1] == pytest.approx(1.0, abs=5e-3)


def test_a_diagram_that_would_be_large_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little repeats, diagrams took 12 GB: beyond a number of edges the program is sampled instead."""
    whole, vectors = full_grids(30, 0.9, 11)
    query = Query(whole.rules, whole.background, whole.labels, whole.choices[:9])  # half a grid
    vectors = vectors[:, :9]
    true = Exact()(query, vectors)
    assert compiled(query).diagram is not None
    engines.clear()
    monkeypatch.setattr(diagram, "_MOST_EDGES", 100)
    assert compiled(query).diagram is None
    found = Auto(width=0.0, work=1.0, samples=400)(query, vectors)
    assert "sampling" in found.engines
    assert (found.low <= true.probabilities + 1e-9).all() and (true.probabilities <= found.high + 1e-9).all()
    assert (np.abs(found.probabilities - true.probabilities) <= 4 * found.std_err + 1e-9).all()
    engines.clear()


def test_compiled_programs_are_kept_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(engines, "ground", lambda q, f, real=engines.ground: calls.append(q) or real(q, f))
    query = Query(("win(X) :- shows(X,heads), new_name(X).",), "new_name(1..2).", PLAYERS, COINS.choices)
    same = Query(query.rules, query.background, LabelSpace(*vars(PLAYERS).values()), tuple(COINS.choices))
    for asked in (query, same, query):
        Exact()(asked, np.full((2, 2, 2), 0.5))
    assert len(calls) == 1


def test_facts_of_an_example() -> None:
    """Meta-data: the same images mean different things in different places."""
    query = Query(
        ("win(P) :- shows(P,heads), place(P). win(2) :- place(9).",),
        ":- win(1), win(2).",
        PLAYERS,
        COINS.choices,
    )
    vectors = np.tile([[0.3, 0.6], [0.5, 0.5]], (5, 1, 1))
    facts = [("place(1)",), ("place(2)",), ("place(1)", "place(2)"), (), ("place(1)", "place(9)")]
    expected = [[0.3, 0], [0, 0.5], [0.15, 0.35], [0, 0], [0, 0.7]]
    for engine in ("exact", "auto", "sampling:samples=20000", "problog", "problog:grounded=true"):
        found = registry.create("engine", engine)(query, vectors, facts)
        np.testing.assert_allclose(found.probabilities, expected, atol=0.02 if "samp" in engine else 1e-9)
        assert found.ambiguous == pytest.approx(np.zeros(5), abs=1e-9)  # the constraint makes them undecided
    with pytest.raises(UserError, match="got 2 for 5 examples"):
        registry.create("engine", "exact")(query, vectors, facts[:2])


def test_no_examples_no_images_and_no_rules() -> None:
    assert len(Exact()(COINS, np.zeros((0, 2, 2)))) == 0
    nothing = Query((), "", LabelSpace(("fine", "bad"), (None, "bad")), ())
    assert Exact()(nothing, np.zeros((2, 0, 0))).probabilities.tolist() == [[1, 0], [1, 0]]
    assert Sampling(10)(nothing, np.zeros((1, 0, 0))).probabilities.tolist() == [[1, 0]]
    always = Query(("win(1).", "win(2)."), "", PLAYERS, COINS.choices)
    for engine in ("exact", "sampling", "problog"):
        assert registry.create("engine", engine)(always, np.full((1, 2, 2), 0.5)).ambiguous == pytest.approx(
            1.0
        )


def test_negligible_concepts_are_dropped() -> None:
    vectors = np.array([[[1e-5, 1 - 1e-5], [2e-5, 0.5]]])
    found = Exact()(COINS, vectors)
    assert found.probabilities[0].tolist() == pytest.approx([0, 2e-5], abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            "win(X) :- not lose(X), shows(X,_). lose(X) :- not win(X), shows(X,_).",
            "must be stratified, .*win/1.*cycle",
        ),
        ("win(X) :- shows(X,_), #count { Y : win(Y) } > 0.", "must be stratified"),
        ("win(X) :- shows(X,C), nice(C).", "uses nice/1, which is not defined"),
        ("win(X) :- show(X,heads).", r"uses show/2, .*Did you mean.*shows/2"),
        ("win(X) :- not shows(X,heads).", "unsafe"),
        ("#script (python) #end.", "#script is not supported in the hypothesis"),
        ("{ win(1) }.", "is a (choice|disjunction)"),
        ("win(1) | win(2).", "is a (choice|disjunction)"),
        ("-win(1) :- shows(1,heads).", "Classical negation"),
        ("win(X) :- shows(X,heads), X ≠ 2.", "line 1, column 29"),
        ("win(X) :- shows(X", "The hypothesis, line 1.* syntax error"),
    ],
)
@pytest.mark.parametrize("engine", ["exact", "sampling", "problog"])
def test_bad_hypotheses(engine: str, rule: str, sentence: str) -> None:
    query = Query((rule,), "", PLAYERS, COINS.choices)
    with pytest.raises(UserError, match=sentence):
        registry.create("engine", engine)(query, np.full((1, 2, 2), 0.5))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ((0, 1, 0, -0.1), "is negative: -0.1 in example 0, slot 1, concept 0"),
        ((1, 0, 1, np.nan), "is not finite: nan in example 1, slot 0, concept 1"),
        ((1, 1, 0, 0.7), "sum of the concept probabilities is more than 1: 1.2 in example 1, slot 1"),
    ],
)
def test_bad_probabilities(change: tuple[int, int, int, float], sentence: str) -> None:
    vectors = np.full((2, 2, 2), 0.5)
    vectors[change[:3]] = change[3]
    with pytest.raises(UserError, match=sentence):
        Exact()(COINS, vectors)
    with pytest.raises(UserError, match=r"shape \[examples, 2 slots, 2 concepts\]; got \[2, 2, 1\]"):
        Exact()(COINS, np.zeros((2, 2, 1)))


def test_problog_stops_at_its_limit() -> None:
    query, vectors = peaked("sudoku_9x9", 1, 0.9, 1)
    found = ProbLog(seconds=0.2)(query, vectors)
    assert found.engines == ("timeout",) and found.width[0] == 1


def test_problog_samples() -> None:
    found = ProbLog(mode="sampling", samples=400, seed=3)(COINS, np.full((1, 2, 2), 0.5))
    assert found.engines == ("problog sampling",)
    assert np.all(np.abs(found.probabilities - 0.25) <= 4 * found.std_err)


@pytest.mark.parametrize(
    "spec",
    [
        *(f"auto:{o}" for o in ("width=2", "width=nan", "work=0", "work=nan", "samples=0", "std_err=0")),
        *(f"auto:{o}" for o in ("std_err=nan", "seed=-1", "workers=-1", f"samples={10**20}")),
        *(f"sampling:{o}" for o in ("seed=-1", "workers=-1", "samples=0")),
        *(f"problog:seconds={seconds}" for seconds in ("0", "nan", "inf")),
    ],
)
def test_bad_options(spec: str) -> None:
    with pytest.raises(UserError, match="must be"):
        registry.create("engine", spec)


@pytest.mark.parametrize("operation", ["(X-4)/2 = -1", "(X-4)\\3 = -1", "(X-4)**2 = 4"])
def test_problog_divides_negative_numbers_as_clingo_does(operation: str) -> None:
    choices = (tuple((f"shows({x})",) for x in range(1, 4)),)
    query = Query((f"win(1) :- shows(X), {operation}.",), "", PLAYERS, choices)
    vectors = np.array([[[0.2, 0.3, 0.4]]])
    expected = by_enumeration(query, vectors)
    np.testing.assert_allclose(
        masses(registry.create("engine", "problog")(query, vectors)), expected, atol=1e-9
    )
    np.testing.assert_allclose(masses(Exact()(query, vectors)), expected, atol=1e-9)


def test_names_of_the_translations_own() -> None:
    query = Query(("nsl_label(0). win(1) :- shows(1,heads), nsl_label(0).",), *rest_of(COINS))
    vectors = np.full((1, 2, 2), 0.5)
    np.testing.assert_allclose(masses(ProbLog()(query, vectors)), masses(Exact()(query, vectors)), atol=1e-9)


def test_what_is_defined_does_not_depend_on_what_was_asked_before() -> None:
    query = Query(("win(1) :- place(3), shows(1,heads).",), *rest_of(COINS))
    vectors = np.full((2, 2, 2), 0.5)
    registry.create("engine", "exact")(query, vectors, [("place(3)",), ()])
    with pytest.raises(UserError, match="uses place/1, which is not defined"):
        registry.create("engine", "exact")(query, vectors)


@pytest.mark.parametrize("facts", [[None], ["abc"], [(5,)], [("ö(1)",)], [("place(X)",)]])
def test_bad_facts(facts: object) -> None:
    with pytest.raises(UserError, match="fact"):
        registry.create("engine", "exact")(COINS, np.full((1, 2, 2), 0.5), facts)


def test_many_labels() -> None:
    labels = LabelSpace(tuple(f"l{k}" for k in range(300)), tuple(f"win({k})" for k in range(300)))
    query = Query(
        ("win(X) :- shows(X).", "win(0..299) :- shows(a)."), "", labels, ((("shows(290)",), ("shows(a)",)),)
    )
    found = Exact()(query, np.array([[[0.3, 0.6]]]))
    assert found.probabilities[0, 290] == pytest.approx(0.3) and found.ambiguous[0] == pytest.approx(0.6)


def test_too_many_ground_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground, "_MOST_RULES", 10)
    query = Query(("win(1) :- shows(A,B), shows(C,D), A != C.",), *rest_of(COINS))
    with pytest.raises(UserError, match="more than 10 ground rules"):
        Exact()(query, np.full((1, 2, 2), 0.5))


@pytest.mark.parametrize(
    ("rule", "labels", "sentence"),
    [
        ("winn(X) :- shows(X,_).", PLAYERS, "No rule derives win/1, a label's atom; .* derives winn/1."),
        ("% nothing", PLAYERS, "the hypothesis derives nothing"),
        ("% nothing", LabelSpace(("valid", "invalid"), (None, "invalid")), None),
        ("win(1).", PLAYERS, None),
    ],
)
def test_hypotheses_that_derive_no_label(rule: str, labels: LabelSpace, sentence: str | None) -> None:
    found = ground.underivable(Query((rule,), "", labels, COINS.choices))
    assert found is None if sentence is None else re.search(sentence, found or "")


@pytest.mark.parametrize("name", ["sudoku_4x4", "follow_suit"])
def test_certain_vectors_give_the_labels_of_the_papers_examples(shared: Path, name: str) -> None:
    task = registry.create("benchmark", name)
    test = task.read(shared / "data" / "ffnsl_splits" / name, "test", "small", 1)
    query = query_of(task, task.true_rule.strip().splitlines())
    certain = np.eye(query.width)[np.maximum(test.concepts, 0)] * (test.concepts >= 0)[..., None]
    found = Exact()(query, certain)
    assert np.array_equal(found.probabilities, np.eye(len(task.labels))[test.labels])


def test_the_documentation_shows_what_works() -> None:
    page = Path(__file__).parents[2] / "docs" / "inference.md"
    block = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(block, names)
    found = names["answer"]
    assert isinstance(found, Answer)
    np.testing.assert_allclose(found.probabilities, [[0.9 * 0.8, 0.1 * 0.2]], atol=1e-12)
    np.testing.assert_allclose(found.invalid, [1 - 0.74], atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_diagrams_of_terms_are_those_of_tables(seed: int) -> None:
    """On random disjunctions, also of none, of the term that is always true, and of values that never are."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, int(rng.integers(1, 5))).tolist()
    slots = [3 * k + 1 for k in range(len(sizes))]
    signals = [
        [
            tuple(
                (slot, int(rng.integers(1, 2**size)))
                for slot, size in zip(slots, sizes, strict=True)
                if rng.random() < 0.6
            )
            for _ in range(rng.integers(0, 5))
        ]
        for _ in range(rng.integers(1, 4))
    ]
    values = {
        slot: np.flatnonzero(rng.random(size) < 0.9).tolist() or [0]
        for slot, size in zip(slots, sizes, strict=True)
    }
    made = diagram.Diagram.of_terms(signals, values, lambda true: true % 3)
    cells = np.array([[*row] for row in np.ndindex(*(len(values[slot]) for slot in slots))])
    worlds = [
        {slot: values[slot][own] for slot, own in zip(slots, row, strict=True)} for row in cells.tolist()
    ]
    told = np.array(
        [
            sum(
                any(all(mask >> world[slot] & 1 for slot, mask in term) for term in terms) << k
                for k, terms in enumerate(signals)
            )
            % 3
            for world in worlds
        ]
    )
    columns = [slots.index(slot) for slot in made.slots]
    assert (made.follow(cells[:, columns]) == told).all()
    for outcome in range(3):
        given = set(map(tuple, cells[told == outcome][:, columns].tolist()))
        every = made.rows(outcome, 1_000, rng).tolist()
        assert sorted(map(tuple, every)) == sorted(given)
        few = made.rows(outcome, max(1, len(given) - 1), rng).tolist()
        assert set(map(tuple, few)) <= given and len(few) == min(len(given), max(1, len(given) - 1))
    weights = rng.random((5, max(slots) + 1, 3))
    table = told.reshape([len(values[slot]) for slot in slots]).astype(np.uint8)
    whole = diagram.Diagram.of(tuple(slots), table).evaluate(weights, 3)
    rest = [slot for slot in slots if slot not in made.slots]
    factor = np.prod([weights[:, slot, : len(values[slot])].sum(axis=1) for slot in rest], axis=0)
    assert made.evaluate(weights, 3) * np.reshape(factor, (-1, 1)) == pytest.approx(whole)
