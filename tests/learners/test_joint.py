"""Learners that learn rules from uncertain perception: NSIL, with images and labels alone, and Propper."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from learners.views import seen

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import ConceptSpace, LabelSpace, Predictions, Split
from nsl_bench.learners.answering import answer, answering
from nsl_bench.learners.base import labels_of
from nsl_bench.learners.label_diagrams import Diagrams, label_tables, structures_of
from nsl_bench.learners.networks import encoder, pictures
from nsl_bench.learners.papers.nsil import NSIL, _excluded, _Pairs, _simple_worlds
from nsl_bench.learners.papers.propper import Propper
from nsl_bench.learners.queries import query_of
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.engines import Exact
from nsl_bench.logic.las import LasTask, Solution, solve
from nsl_bench.logic.las.semantics import coverage
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import patches

DIGITS = ConceptSpace("digit", tuple("012"))
CONCEPTS = np.random.default_rng(0).integers(0, 3, (120, 2)).astype(np.int16)


class Sums(Patches):
    """The paper's E9P in small: the second digit, plus 2 where the first is odd."""

    name, labels = "sums", LabelSpace(tuple("01234"), tuple(f"sum({k})" for k in range(5)))
    concept_space = DIGITS
    background = (
        "num(0..4). both(A+B) :- patch(left,A), patch(right,B). second(B) :- patch(right,B). "
        "more(B+2) :- patch(right,B). even :- patch(left,A), A \\ 2 = 0."
    )
    bias = (
        "#modeh(sum(var(num))). #modeb(1, both(var(num)), (positive)). #modeb(1, even). #maxv(1). "
        "#modeb(1, second(var(num)), (positive)). #modeb(1, more(var(num)), (positive)). "
        '#bias("penalty(1, head)."). #bias("penalty(1, body(X)) :- in_body(X).").'
    )

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        return ()


@pytest.fixture(scope="module")
def sums() -> View:
    labels = (CONCEPTS[:, 1] + 2 * (CONCEPTS[:, 0] % 2)).astype(np.int16)
    images = CONCEPTS * 20 + np.arange(240, dtype=np.int32).reshape(120, 2) % 20
    split = Split("train", DIGITS, CONCEPTS, labels, {}, images)
    return View(split, Sums(), "label_only", source=PatchSource(concept_space=DIGITS))


def test_rules_and_perception_are_learned_from_labels_alone(sums: View) -> None:
    """The first rules are wrong, for fewer literals allow each label; errors of the labels mend them."""
    learner = NSIL(iterations=3, learning_rate=0.003, batch=8).fit(sums)
    assert "both" in learner.history_[0][0] and sums.reported == learner.rules_
    even, odd = sorted(learner.rules_)
    assert even == "sum(V1) :- even, second(V1), num(V1)." and odd.startswith("sum(V1) :- not even, more(V1)")
    assert (labels_of(answering(learner), sums.unlabelled()) == sums.labels).mean() > 0.9
    again = NSIL(iterations=1, epochs=1, seed=3).fit(sums).predict_concepts(sums)
    assert np.array_equal(again, NSIL(iterations=1, epochs=1, seed=3).fit(sums).predict_concepts(sums))


@pytest.mark.slow
def test_the_sum_of_two_digits_is_learned_from_labels_alone() -> None:
    learner = NSIL(iterations=10).fit(seen("addition_sum", "train", "320", "label_only"))
    assert len(learner.rules_) == 1 and "plus" in learner.rules_[0]
    sums = seen("addition_sum", "test", "320", "pretrained").concept_ids.sum(axis=1)
    assert (
        labels_of(answering(learner), seen("addition_sum", "test", "320", "label_only")) == sums
    ).mean() > 0.8


@pytest.mark.parametrize("name", ["patches", "crop_yield", "visudo_4x4"])
def test_training_follows_the_exact_probabilities_of_the_labels(name: str) -> None:
    """Those of the engine, whatever is blank; and the worlds of a label are those that have it."""
    task = Patches() if name == "patches" else registry.create("benchmark", name).for_split(1)
    split = task.generate("train", "24", 1, np.random.default_rng(0))
    train = View(split, task, "label_only", source=PatchSource())
    structures = structures_of(train, split.concepts >= 0)
    seen = np.random.default_rng(1).dirichlet(np.ones(len(task.concept_space)), split.concepts.shape)
    seen[split.concepts < 0] = 0
    query = query_of(task, (task.true_rule,))
    expected = Exact(width=0)(query, seen, train.metadata_facts).probabilities
    for one, table in zip(structures, label_tables((task.true_rule,), train, structures), strict=True):
        given = table.probabilities(torch.as_tensor(seen[one.rows]), len(task.labels) + 2)
        assert given[:, : len(task.labels)].numpy() == pytest.approx(expected[one.rows], abs=1e-9)
        assert (table.labels(split.concepts[one.rows]) == split.labels[one.rows]).all()
        for label in range(len(task.labels)):
            worlds = table.worlds(label, 5, np.random.default_rng(2))
            assert (table.labels(worlds) == label).all() and ((worlds >= 0) == one.shown).all()


def test_rules_above_what_images_show_have_labels_for_every_world() -> None:
    """Those of Kandinsky patterns negate what figures have; their table would have 9 ** 9 cells."""
    task, train = registry.create("benchmark", "kandinsky"), seen("kandinsky", "train", "4", "label_only")
    (table,) = label_tables((task.true_rule,), train, structures_of(train, ~pictures(train)[1]))
    rng = np.random.default_rng(0)
    worlds = np.vstack([rng.integers(0, 9, (500, 9)), *(table.worlds(label, 500, rng) for label in (0, 1))])
    assert (table.labels(worlds) == task.labelled(worlds)).all() and len(worlds) == 1500


def test_only_possible_worlds_count_where_they_are_known() -> None:
    """Those of hitting sets ascend; a structure with one label has it in all, and is never weighed."""
    train = seen("hitting_sets", "train", "300", "label_only")
    structures = structures_of(train, ~pictures(train)[1], train.possible_concepts.astype(np.int64))
    pairs = _Pairs(train, structures, np.random.default_rng(2))
    hard = {(k, len(one.possible)) for k, one in enumerate(structures) if one.settled}
    assert hard and [e.penalty for e in pairs.task(()).examples] == [None] * sum(n for _, n in hard)
    rules = (registry.create("benchmark", "hitting_sets").true_rule,)
    tables = label_tables(rules, train, structures)
    flat = np.full((len(train), len(train.slots), len(train.concept_space)), 1 / len(train.concept_space))
    for one, table in zip(structures, tables, strict=True):
        given = table.probabilities(torch.as_tensor(flat[one.rows]), 4).numpy()
        told = np.bincount(table.labels(one.possible), minlength=4) / 5**4
        assert given == pytest.approx(np.tile(told, (len(one.rows), 1)))
        if one.settled:
            assert (table.labels(one.possible) == one.labels[0]).all()
    pairs.weigh(tables, flat, 100)
    assert {k for k, _, _ in pairs._for} == {k for k, one in enumerate(structures) if not one.settled}


def test_rules_stay_where_time_runs_out_before_better_ones_are_found(sums: View, monkeypatch: Any) -> None:
    """What time left was the empty hypothesis, in place of the true rules that an iteration had found."""
    true = ("sum(V1) :- even, second(V1), num(V1).", "sum(V1) :- not even, more(V1), num(V1).")
    structures = structures_of(sums, ~pictures(sums)[1])
    tables, pairs = label_tables(true, sums, structures), _Pairs(sums, structures, np.random.default_rng(0))
    pairs.weigh(tables, np.eye(3)[CONCEPTS], 100)
    task = pairs.task(())
    for rules in (true, true[:1], ()):
        counted = coverage.score(task, rules)
        assert (
            counted.penalties == pairs.penalty(label_tables(rules, sums, structures)) and not counted.broken
        )
    late = lambda task, time_limit: Solution("feasible", coverage.score(task, ()).total, 0)  # noqa: E731
    monkeypatch.setattr(registry, "factory", lambda group, name: late)
    learner = NSIL()
    learner.rules_ = true
    found = learner._learn_rules(sums, structures, pairs, tables, np.inf)
    assert found == (true, tables)


def test_what_a_network_sees_in_blank_slots_does_not_count() -> None:
    """A network answers for each slot; a set with an element too many would have another hitting set."""
    train = seen("hitting_sets", "train", "300", "label_only")
    concepts = seen("hitting_sets", "train", "300", truth=True, track="pretrained").probabilities.copy()
    concepts[concepts.max(axis=2) == 0] = [1, 0, 0, 0, 0]
    rules = registry.create("benchmark", "hitting_sets").true_rule
    found = answer(rules, train.unlabelled(), concepts)
    assert (found.labels == train.labels).all() and len(set(found.labels)) == 2
    assert (found.probabilities.argmax(axis=1) == train.labels).all()


def test_inputs_that_cannot_be_listed_are_said() -> None:
    with pytest.raises(UserError, match="sudoku_4x4 has more than 20,000 inputs, too many to list"):
        NSIL(possible=True).fit(seen("sudoku_4x4", "train", "4", "label_only"))


def test_a_network_that_is_sure_of_one_concept_learns_from_correct_grids() -> None:
    """The probability of a grid's correctness is then below what single precision can say."""
    train = seen("visudo_4x4", "train", "4", "label_only")
    learner, (images, blank) = NSIL(epochs=1, iterations=1), pictures(train)
    learner._concepts = len(train.concept_space)
    sure = torch.nn.Linear(learner._concepts, learner._concepts)
    torch.nn.init.eye_(sure.weight)
    sure.bias.data = torch.tensor([40.0, 0, 0, 0])
    learner._net = torch.nn.Sequential(encoder(images, learner._concepts), sure)
    structures = structures_of(train, ~blank)
    tables = label_tables((registry.create("benchmark", "visudo_4x4").true_rule,), train, structures)
    rows = np.flatnonzero(train.labels == train.label_space.names.index("valid"))
    loss = learner._label_loss(Diagrams(structures, tables), train, images, rows)
    loss.backward()
    assert 100 < float(loss.detach()) / len(rows) < 690
    assert all(float(p.grad.abs().max()) > 0 for p in learner._net.parameters())


def test_rules_that_allow_correct_grids_are_found_among_simple_worlds(monkeypatch: Any) -> None:
    """4 ** 16 worlds are too many for the solver to choose from; some simple ones are solved grids."""
    task = registry.create("benchmark", "visudo_4x4")
    train = seen("visudo_4x4", "train", "4", "label_only")
    structures = structures_of(train, ~pictures(train)[1])
    simple = _simple_worlds(16, 4)
    (table,) = label_tables((task.true_rule,), train, structures)
    solved = simple[table.labels(simple) == train.label_space.names.index("valid")]
    assert len(simple) == len({tuple(world) for world in simple.tolist()}) == 73 and len(solved) > 1
    monkeypatch.setattr("nsl_bench.learners.papers.nsil._simple_worlds", lambda slots, values: solved)
    learner = NSIL()
    learner.rules_ = ()
    pairs = _Pairs(train, structures, np.random.default_rng(0))
    rules, tables = learner._learn_rules(train, structures, pairs, [], np.inf)
    assert len(rules) == 1 and "neq" in rules[0] and not _excluded(structures, tables)


@pytest.mark.slow
def test_digits_and_rules_are_learned_from_the_labels_of_grids() -> None:
    """Up to a permutation of digits, which rules cannot tell; the first rules are wrong."""
    train = seen("visudo_4x4", "train", "200", "label_only")
    learner = NSIL().fit(train)
    found = learner.predict_concepts(train).argmax(axis=2)
    truth = seen("visudo_4x4", "train", "200", "pretrained").concept_ids
    counts = np.histogram2d(truth.ravel(), found.ravel(), bins=4, range=((0, 4), (0, 4)))[0]
    assert (
        max(counts[range(4), order].sum() for order in itertools.permutations(range(4))) > 0.95 * truth.size
    )
    assert (labels_of(answering(learner), train.unlabelled()) == train.labels).mean() > 0.95
    assert len(learner.history_) > 2 and all("neq" in rule for rule in learner.rules_)


def test_corrective_examples_of_a_perfect_network_call_for_the_true_rule(sums: View) -> None:
    """And errors of the labels weigh against worlds that explain them; weights stay within 1 and 101."""
    structures = structures_of(sums, np.ones((120, 2), np.bool_))
    pairs = _Pairs(sums, structures, np.random.default_rng(0))
    wrong = label_tables(["sum(N) :- both(N)."], sums, structures)
    pairs.weigh(wrong, np.eye(3)[CONCEPTS], 100)
    ((role, hard),) = pairs.demands([(0, label) for label in range(5)])
    rules = solve(pairs.task(hard)).hypothesis
    assert role is None and len(hard) == 5
    assert len(rules) == 2 and not any("both" in rule for rule in rules)
    error = 100 * (CONCEPTS.sum(axis=1) != sums.labels)[sums.labels == 2].mean()
    for world in ((0, (1, 1), 2), (0, (2, 0), 2)):  # they would explain it, and are not seen with it
        assert (pairs._for[world], pairs._against[world]) == (1, round(error / 3) + 1)
    assert (pairs._for[0, (0, 0), 0], pairs._against[0, (0, 0), 0]) == (101, 1)


@pytest.mark.parametrize(("learner", "track"), [("nsil", "label_only"), ("propper", "pretrained")])
def test_steps_of_sequences_are_not_applicable(learner: str, track: Track) -> None:
    train = seen("addition", "train", "2", track, truth=track == "pretrained")
    with pytest.raises(NotApplicable, match=f"{learner}: it takes single examples"):
        registry.create("learner", learner).fit(train)


@pytest.mark.parametrize("right", [0.46, 0.7])
def test_rules_are_chosen_by_the_probability_of_the_labels(monkeypatch: Any, right: float) -> None:
    """Even where the likeliest concepts are wrong more often than not, and shorter rules err less on them."""
    split, rng = patches(), np.random.default_rng(0)
    given = Predictions.certain(split.concepts, 3).probabilities * right
    off = np.where(split.concepts >= 0, (split.concepts + rng.integers(1, 3, split.concepts.shape)) % 3, 0)
    np.put_along_axis(given, off[..., None].astype(np.int64), 1 - right, axis=2)
    given[split.concepts < 0] = 0
    train = View(split, Patches(), "pretrained", predictions=Predictions(given, split.concepts < 0))
    true, tasks = "differ :- patch(left,V1), patch(right,V2), unlike(V1,V2), shade(V1), shade(V2).", []
    answers = itertools.cycle([("differ :- patch(right,V1), shade(V1).",), (true,)])

    def solver(task: LasTask, time_limit: float | None) -> Solution:
        tasks.append(task)
        return Solution("feasible", 0, 0, next(answers))

    made = registry.factory
    monkeypatch.setattr(registry, "factory", lambda k, name: solver if k == "rule_learner" else made(k, name))
    assert Propper().fit(train).rules().rules == (true,)
    assert [len(task.examples) for task in tasks[:2]] == [60, 51 * 4 + 9 * 2]
    chances = sorted([right**2, right * (1 - right), right * (1 - right), (1 - right) ** 2])
    penalties = [one.penalty for one in tasks[1].examples[2:6]]  # one patch of the first example is blank
    assert penalties == [round(100 * p) for p in reversed(chances)]
