"""Intervals: closed forms against textbooks and simulation, images against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp

from nsl_bench.run.statistics import image_std_err, interval, nested_bootstrap, padded


def test_one_split_has_the_usual_error_of_its_examples() -> None:
    scores = np.random.default_rng(0).random(50)
    found = interval(scores[None])
    assert found.std_err == pytest.approx(scores.std(ddof=1) / np.sqrt(50))
    assert list(found.components) == ["test examples"] and found.df == pytest.approx(49)
    assert found.low < found.mean < found.high


def test_a_test_set_each_leaves_the_spread_of_the_splits() -> None:
    table = np.random.default_rng(1).random((6, 40))
    found = interval(table, shared_test=False)
    known = ttest_1samp(table.mean(axis=1), 0)
    assert found.std_err >= known.statistic**-1 * table.mean() - 1e-12
    spread = table.mean(axis=1).std(ddof=1) / np.sqrt(6)
    assert found.std_err == pytest.approx(max(spread, found.components["test examples"]))


def test_what_varies_is_named() -> None:
    rng = np.random.default_rng(2)
    seeds = rng.normal(0, 1.0, (1, 4, 1, 1))
    table = seeds + rng.normal(0, 0.01, (3, 4, 2, 30))
    found = interval(table, factors=("train splits", "network seeds", "learner seeds"))
    assert list(found.components) == ["train splits", "network seeds", "learner seeds", "test examples"]
    assert max(found.components, key=lambda name: found.components[name]) == "network seeds"
    assert found.std_err == pytest.approx(seeds.std(ddof=1) / 2, rel=0.02)
    assert found.df == pytest.approx(3, rel=0.05)
    once = interval(table[:, :1], factors=("train splits", "network seeds", "learner seeds"))
    assert "network seeds" not in once.components, "what was drawn once has no component"


def test_what_several_components_count_is_taken_away() -> None:
    """Noise of each run and example is in the splits' and in the examples' component."""
    rng = np.random.default_rng(3)
    variances = [interval(rng.normal(size=(4, 25)), draws=2).std_err ** 2 for _ in range(300)]
    assert 1 / 100 < np.mean(variances) < 1.5 / 100, "it is 2/100 if both are added up"


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_cover(shared: bool) -> None:
    rng = np.random.default_rng(4)
    hits = {"interval": 0, "percentiles": 0}
    for seed in range(100):
        table = rng.normal(0, 1, (4, 1)) + rng.normal(0, 4, (1 if shared else 4, 60))
        table = table + rng.normal(0, 1, (4, 60))
        found = interval(table, shared_test=shared, draws=100, seed=seed)
        drawn = nested_bootstrap(table, shared_test=shared, draws=100, seed=seed)
        low, high = np.quantile(drawn, [0.025, 0.975])
        hits["interval"] += found.low <= 0 <= found.high
        hits["percentiles"] += low <= 0 <= high
    assert hits["interval"] >= 90 and hits["interval"] > hits["percentiles"]


def test_the_bootstrap_has_the_variance_of_the_closed_form() -> None:
    table = np.random.default_rng(5).normal(size=(3, 1)) + np.zeros((3, 20))
    drawn = nested_bootstrap(table, draws=5_000)
    assert drawn.var() == pytest.approx(table[:, 0].var() / 3, rel=0.1)
    assert drawn.mean() == pytest.approx(table.mean(), abs=0.02)


def test_the_width_is_students() -> None:
    table = np.repeat([[0.1], [0.4], [0.7]], 5, axis=1)
    found = interval(table, draws=5000)
    reach = t.isf(0.025, 2) * found.std_err
    assert found.high - found.low == pytest.approx(2 * reach)
    bounded = interval(table, draws=5000, bounds=(0, 1))
    assert (bounded.low, bounded.high) == (0, 1)
    equal = interval(np.ones((3, 7)))
    assert (equal.mean, equal.std_err) == (1, 0) and np.isnan([equal.low, equal.high]).all()


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (0, 5)])
def test_shapes_that_do_not_go_together(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must have one axis per factor"):
        interval(np.zeros(shape))


# Images.


def by_pairs(scores: np.ndarray, images: np.ndarray) -> float:
    """Brute force: products of deviations over all pairs of examples, once for each image they share."""
    deviations = scores - scores.mean()
    shown = [set(row[row >= 0].tolist()) for row in images]
    total = sum(
        len(a & b) * x * y if i != j else x * x
        for i, (a, x) in enumerate(zip(shown, deviations, strict=True))
        for j, (b, y) in enumerate(zip(shown, deviations, strict=True))
    )
    m = len(set.union(*shown))
    usual = scores.var(ddof=1) / len(scores)
    others = max(m - np.mean([len(row) for row in shown]), (m - 1) / 2)
    return float(np.sqrt(max(total / len(scores) ** 2 * m * (m - 1) / others**2, usual)))


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4), st.integers(2, 9))
def test_errors_by_image_are_those_of_all_pairs(seed: int, n: int, slots: int, pool: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.integers(-1, pool, (n, slots))
    images[0, 0], images[1, 0] = 0, 1
    scores = rng.random(n)
    assert image_std_err(scores, images) == pytest.approx(by_pairs(scores, images))


def test_images_that_come_once_make_independent_examples() -> None:
    scores = np.random.default_rng(0).random(40)
    usual = scores.std(ddof=1) / np.sqrt(40)
    assert image_std_err(scores, np.arange(120).reshape(40, 3)) == pytest.approx(usual, rel=0.03)
    assert image_std_err(scores, np.full((40, 2), -1)) == pytest.approx(usual)
    assert image_std_err(scores[:1], np.zeros((1, 1))) == 0


def test_an_image_each_is_a_cluster() -> None:
    """Ten images shown by ten examples each: the error is that of ten independent draws."""
    quality = np.random.default_rng(1).random(10)
    found = image_std_err(np.repeat(quality, 10), np.repeat(np.arange(10), 10)[:, None])
    assert found == pytest.approx(quality.std(ddof=1) / np.sqrt(10))


def test_images_are_a_component_of_the_interval() -> None:
    quality = (np.random.default_rng(2).random(20) < 0.7).astype(float)
    images = np.repeat(np.arange(20), 50)[:, None]
    table = np.repeat(np.repeat(quality, 50)[None], 3, axis=0)
    plain, seen = interval(table), interval(table, images=images)
    assert list(seen.components) == ["train splits", "test images"]
    assert seen.std_err > 5 * plain.std_err and seen.df == pytest.approx(19)
    with pytest.raises(ValueError, match="do not match"):
        interval(table, images=images[:-1])


@pytest.mark.parametrize("n_images", [0, 7])
def test_test_sets_of_different_sizes(n_images: int) -> None:
    """A padded table has the interval of its test sets: each split's mean counts alike."""
    rng = np.random.default_rng(7)
    sets = [rng.random(n) for n in (21, 20, 20)]
    images = [rng.integers(0, n_images, (len(one), 2)) for one in sets] if n_images else None
    shown = None if images is None else padded(images, -1)
    found = interval(padded(sets, np.nan), images=shown, shared_test=False)
    means = np.array([one.mean() for one in sets])
    assert found.mean == pytest.approx(means.mean()) and found.low < found.mean < found.high
    assert found.components["train splits"] == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    if images is None:
        variance = sum(one.var(ddof=1) / len(one) for one in sets) / 9
        assert found.components["test examples"] == pytest.approx(np.sqrt(variance))
    else:
        error = image_std_err(np.concatenate(sets), np.concatenate(images))
        assert found.components["test images"] == pytest.approx(error)
    with pytest.raises(ValueError, match="must not be NaN"):
        interval(padded(sets, np.nan))
