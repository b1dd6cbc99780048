"""Equivalence and difference of means: against scipy and simulation."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_rel

from nsl_bench.api.results import Results
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis
from nsl_bench.report import analysis
from nsl_bench.report.published.equivalence import (
    POWER,
    Mean,
    compare_means,
    compare_paired,
    image_error,
    repeats_needed,
)
from nsl_bench.report.reliability import draw_reliability
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

means = st.builds(Mean, st.floats(0, 1), st.floats(0.001, 0.1), st.integers(2, 20))


def test_the_difference_is_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((2, 5), (5, 5), (10, 3)):
        first, second = rng.normal(0, 1, n), rng.normal(0.5, 3, m)
        known = ttest_ind(first, second, equal_var=False)
        found = compare_means(Mean.of(first.tolist()), Mean.of(second.tolist()), 0.5)
        assert found.p_different == pytest.approx(known.pvalue) and found.df == pytest.approx(known.df)
        above = ttest_ind(first + 0.5, second, equal_var=False, alternative="greater").pvalue
        below = ttest_ind(first - 0.5, second, equal_var=False, alternative="less").pvalue
        assert found.p_equivalent == pytest.approx(max(above, below))


def test_runs_on_the_same_splits_are_compared_in_each() -> None:
    """What a split has in common on both sides costs no power."""
    rng = np.random.default_rng(0)
    splits, noise = rng.normal(0.6, 0.05, 5), rng.normal(0, 0.004, (2, 5))
    first, second = splits + noise
    found = compare_paired(first.tolist(), second.tolist(), 0.02)
    assert found.p_different == pytest.approx(ttest_rel(first, second).pvalue) and found.df == 4
    apart = compare_means(Mean.of(first.tolist()), Mean.of(second.tolist()), 0.02)
    assert found.equivalent and not apart.equivalent and apart.power < 0.1


def test_images_are_charged_for_what_differs_on_the_same_examples() -> None:
    """A mean of 0.67 over examples that are nearly sure, right or wrong, or open: sizes and coverage hold."""
    rng = np.random.default_rng(0)
    strata = rng.integers(0, 4, 1000)
    chance = np.array([0.99, 0.97, 0.02, 0.6])[strata]
    draws = (rng.random((400, 2, 1000)) < chance).astype(float)
    differences = draws[:, 0].mean(axis=1) - draws[:, 1].mean(axis=1)
    errors = np.array([image_error(scores, strata) for scores in draws[:, 0]])
    assert errors.mean() == pytest.approx(differences.std(), rel=0.1)
    assert 0.92 < np.mean(np.abs(differences) < 1.96 * errors) < 0.98, "coverage of 95 % intervals"
    same = [
        compare_means(Mean(d, 0.0, 5), Mean(0.0, 0.0, 5), 0.02, e)
        for d, e in zip(differences, errors, strict=True)
    ]
    assert np.mean([one.different for one in same]) < 0.08
    assert np.sqrt(2 * 0.67 * 0.33 / 1000) > 1.6 * errors.mean(), "as if examples differed, too"
    at_margin = [
        compare_means(Mean(0.02 + d, 0.0, 5), Mean(0.0, 0.0, 5), 0.02, e).p_equivalent < 0.05
        for d, e in zip(differences, errors, strict=True)
    ]
    assert np.mean(at_margin) < 0.08, "the size of the test of equivalence"


def simulated(difference: float, margin: float, repeats: int, draws: int) -> float:
    """How often two one-sided tests of samples of equal spread 1 show equivalence."""
    rng = np.random.default_rng(repeats)
    first, second = rng.normal(difference, 1, (draws, repeats)), rng.normal(0, 1, (draws, repeats))
    shown = 0
    for a, b in zip(first, second, strict=True):
        shown += compare_means(Mean.of(a.tolist()), Mean.of(b.tolist()), margin).p_equivalent < 0.05
    return shown / draws


def test_equivalence_is_hardly_ever_shown_at_the_margin() -> None:
    assert simulated(1.5, 1.5, 5, 500) < 0.08


def test_the_power_is_that_of_a_simulation() -> None:
    """At equal means and equal spreads, with the true standard error for the estimated one."""
    from nsl_bench.report.published.equivalence import _power

    error = math.sqrt(2 / 8)
    assert _power(1.5 / error, 14) == pytest.approx(simulated(0, 1.5, 8, 800), abs=0.04)


@pytest.mark.parametrize("spread", [0.001, 0.004, 0.01])
def test_trainings_are_charged(spread: float) -> None:
    """The sizes of both tests where three trainings stand against one, on five splits."""
    rng = np.random.default_rng(0)
    different = equivalent = 0
    for _ in range(1000):
        ours, theirs = rng.normal(0.5, spread, 3), rng.normal(0.5, spread)
        noise, others = rng.normal(0, 0.0045, (2, 5))
        first, over = Mean.of((ours.mean() + noise).tolist()), Mean.of(ours.tolist())
        other = Mean.of((theirs + others).tolist())
        different += compare_means(first, other, 0.02, 0.0, over).different
        at_margin = Mean.of((theirs + 0.02 + others).tolist())
        equivalent += compare_means(first, at_margin, 0.02, 0.0, over).p_equivalent < 0.05
    assert 20 < different < 80 and 20 < equivalent < 80


def test_without_spread_what_is_seen_counts() -> None:
    one = Mean(1.0, 0.0, 5)
    same = compare_means(one, one, 0.02)
    assert same.equivalent and not same.different and math.isinf(same.df)
    near = compare_means(Mean(0.99, 0.0, 5), one, 0.02)
    assert near.equivalent and near.different
    far = compare_means(Mean(0.9, 0.0, 5), one, 0.02)
    assert far.different and not far.equivalent


def test_a_known_error_counts_without_degrees_of_freedom() -> None:
    exact = Mean(0.5, 0.0, 5)
    found = compare_means(exact, exact, 0.02, known_std_err=0.02)
    assert math.isinf(found.df) and not found.equivalent and found.power < 0.1


@given(means, means, st.floats(0.001, 0.2))
def test_sides_can_be_exchanged(first: Mean, second: Mean, margin: float) -> None:
    one, other = compare_means(first, second, margin), compare_means(second, first, margin)
    assert (one.p_equivalent, one.p_different) == pytest.approx((other.p_equivalent, other.p_different))
    assert one.power == pytest.approx(other.power) and 0 <= one.power <= 1


def test_a_lucky_equivalence_does_not_count() -> None:
    found = compare_means(Mean(0.5, 0.006, 5), Mean(0.5, 0.007, 5), 0.02)
    assert found.p_equivalent < 0.05 and found.power < POWER and not found.equivalent


def test_the_repeats_that_it_takes() -> None:
    theirs, ours = Mean(0.5, 0.002, 5), Mean(0.5, 0.02, 5)
    n = repeats_needed(ours, theirs, 0.02)
    assert n is not None and n > 5

    def power(k: int) -> float:
        planned = Mean(0.5, 0.02 * math.sqrt(5 / k), k)
        return compare_means(planned, theirs, 0.02).power

    assert power(n) >= POWER > power(n - 1)
    assert repeats_needed(ours, Mean(0.5, 0.02, 5), 0.02) is None


@pytest.fixture
def store(tmp_path: Path) -> Store:
    kept = Store(tmp_path / "results")
    rng = np.random.default_rng(0)
    for percent in (0.0, 50.0, 100.0):
        for repeat in (1, 2):
            shifts = ("noir" if percent else "standard", percent) * 2
            job = Job("b", "1", "s", "f", *shifts, "small", repeat, "ffnsl", "pretrained", "softmax")
            rules = ("win(X) :- suit(X,h).", *(("p(X) :- rank_higher(X,Y), suit(Y,Y).",) * (repeat == 1)))
            errors = dict.fromkeys(analysis.ERRORS, percent / 1000)
            numbers = {"framework_accuracy": 1 - percent / 250, **errors, "error_inference": 0.01}
            seen = {"train": {"concepts": {"10h": 3, "as": 1}, "confidence": [0] * 10, "rank": [3, 4]}}
            kept.add(Record(job, "ok", numbers, Hypothesis(rules, 3), perception=seen))
            probabilities = rng.dirichlet([1, 1], 50)
            frame = pd.DataFrame({"evaluation": "framework", "label": rng.choice(["x", "y"], 50)})
            frame = frame.assign(example=[f"test-{i}" for i in range(50)], predicted="x")
            kept.add_predictions(job.key(), frame.assign(p_x=probabilities[:, 0], p_y=probabilities[:, 1]))
    return kept


def test_the_predicates_that_rules_are_about(store: Store) -> None:
    assert analysis.subjects(Results(store.folder)) == {"suit", "rank_higher"}


def test_rules_are_found_by_predicate() -> None:
    rules = ["p(X) :- suit(X,h), not rank_higher(X,2).", "higher."]
    assert analysis.holds(rules, "suit") and analysis.holds(rules, "rank_higher")
    assert analysis.holds(rules, "higher")
    assert not any(analysis.holds(['a :- b(suit), c("suit"). % suit'], p) for p in ("a", "suit"))
    assert not analysis.holds(rules[:1], "higher") and not analysis.holds(rules, "p")


RULES = (
    "p1(A) :- suit(1,B), suit(A,C), C!=B, player(A), suit(B).",
    "winner(X) :- not p1(X), player(X).",
    "p1(X) :- rank_higher(X, Y), suit(1, V3), suit(Y, V3).",
)


@pytest.mark.parametrize(("rules", "share"), [(RULES, 2 / 3), (RULES[2:], 0.0), ((), 0.0)])
def test_a_true_rule_is_found_in_other_words(rules: tuple[str, ...], share: float) -> None:
    shifts = ("standard", 0.0) * 2
    job = Job("follow_suit", "1", "s", "f", *shifts, "small", 1, "ffnsl", "pretrained", "softmax")
    record = Record(job, "ok", {}, Hypothesis(rules, 3))
    assert analysis._value(record, analysis.TRUE_RULE) == pytest.approx(share)


@pytest.mark.parametrize(
    ("task", "concepts", "predicted", "found"),
    [
        ("follow_suit", [["ah", "2h", "3h", "as"]], [["as", "2h", "3h", "ks"]], [(3, 4), (3, 4), (1, 1)]),
        ("follow_suit", [["ah", "2h", "3h", "as"]], [["as", "2h", "3h", "as"]], [(4, 4), (3, 4), (0, 1)]),
        ("indoor_scene", [["bakery"], ["bar"]], [["bookstore"], ["bedroom"]], [(1, 2)]),
        ("crop_yield", [["Tomato___healthy"]], [["Apple___healthy"]], [(0, 1), (1, 1)]),
    ],
)
def test_features_of_concepts_are_recognised(
    task: str, concepts: list[list[str]], predicted: list[list[str]], found: list[tuple[int, int]]
) -> None:
    benchmark = registry.create("benchmark", task)
    ids = [
        np.array([[benchmark.concept_space.ids[name] for name in row] for row in rows], np.int16)
        for rows in (concepts, predicted)
    ]
    seen = benchmark.recognised(*ids, np.zeros(len(concepts), np.int16))
    assert [(right.sum(), right.size) for right in seen.values()] == found


def test_shares(store: Store, tmp_path: Path) -> None:
    table = analysis.rule_shares(Results(store.folder), ["rank_higher", "suit", "nothing"])
    assert table["n"].tolist() == [2, 2, 2] and set(table["shift"]) == {"noir"}
    assert table["rank_higher"].tolist() == [0.5] * 3 and table["suit"].tolist() == [1.0] * 3
    assert table["nothing"].tolist() == [0.0] * 3
    seen = analysis.perceived_shares(Results(store.folder))
    assert seen[seen["concept"] == "10h"]["share"].tolist() == [0.75] * 3
    features = analysis.recognised_shares(Results(store.folder))
    assert set(features["feature"]) == {"rank"} and features["share"].tolist() == [0.75] * 3
    frequent = analysis.frequent_shares(seen, most=1)
    assert frequent["10h"].tolist() == [0.75] * 3 and frequent["others"].tolist() == [0.25] * 3
    assert frequent["entropy"].tolist() == pytest.approx([0.8113] * 3, abs=1e-4)
    errors = analysis.error_shares(Results(store.folder))
    assert errors.sort_values("percent")["error_rule"].tolist() == pytest.approx([0, 0.05, 0.1])
    drawn = [
        *analysis.draw_errors(errors, tmp_path / "curves"),
        *analysis.draw_shares(table, ["rank_higher", "suit"], tmp_path / "curves", "rules"),
        *analysis.draw_perceived(frequent, tmp_path / "curves"),
        *draw_reliability(Results(store.folder), tmp_path / "curves"),
    ]
    names = ["errors-b-small", "rules-b-small", "perceived-b-small", "reliability-b-small-noir"]
    assert [path.name for path in drawn] == [f"{name}.png" for name in names]
    assert all(p.stat().st_size > 5000 for p in drawn)


def test_old_records_say_nothing(tmp_path: Path) -> None:
    kept = Store(tmp_path / "old")
    with pytest.raises(UserError, match="no runs"):
        analysis.rule_shares(Results(kept.folder), ["suit"])
    job = Job("b", "1", "s", "f", *("standard", 0.0) * 2, "small", 1, "x", "pretrained", "n")
    kept.add(Record(job, "ok", {"atoms": 1.0}))
    with pytest.raises(UserError, match="causes of errors"):
        analysis.error_shares(Results(kept.folder))
    with pytest.raises(UserError, match="no network predictions"):
        analysis.perceived_shares(Results(kept.folder))
    assert draw_reliability(Results(kept.folder), tmp_path / "curves") == []


def test_equal_values_that_were_rounded_have_no_spread() -> None:
    assert Mean.of([0.1 + 0.2, 0.3, 0.3]).std_err == 0 < Mean.of([0.3, 0.3, 0.3 + 1e-9]).std_err
