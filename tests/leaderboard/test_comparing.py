"""Comparisons of learners: intervals over splits and examples, words, ranges of ranks; paired tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nsl_bench.leaderboard.comparing import Comparison, front
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.measuring import Numbers
from nsl_bench.leaderboard.reading import Hashes, Run
from nsl_bench.leaderboard.truth import Truth
from scipy.stats import ttest_rel

from nsl_bench.run.plan import plan
from nsl_bench.run.sampled import sampled
from nsl_bench.run.statistics import holm, interval, paired_interval, paired_p_values, pairwise

values = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0, 1, width=16)
)
tables = arrays.arrays(
    np.float64, st.tuples(st.integers(0, 8), st.just(3)), elements=st.sampled_from([0.0, 1.0, 2.0])
)


def p_value(first: np.ndarray, second: np.ndarray) -> float:
    return float(paired_p_values((first - second)[None])[0])


def answers(rng: np.random.Generator, *rates: float, splits: int = 5, n: int = 400) -> np.ndarray:
    """Right or wrong, float64 [learners, splits, n]; examples are as hard for one learner as for another."""
    hardness = rng.random((1, 1, n))
    luck = rng.random((len(rates), splits, n))
    return ((hardness + luck) / 2 < np.array(rates)[:, None, None]).astype(np.float64)


@pytest.mark.parametrize("seed", range(60))
def test_pairs_are_compared_as_one_table_of_differences_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(2, 5), rng.integers(1, 6), rng.integers(3, 40)
    scores, shared = (rng.random((m, k, n)) < 0.6).astype(np.float64), bool(rng.integers(2))
    images = rng.integers(-1, 12, (n, 3) if shared else (k, n, 3)) if rng.integers(2) else None
    if not shared:
        for split in range(1, k):
            scores[:, split, rng.integers(2, n + 1) :] = np.nan
        if images is not None:
            images[np.isnan(scores[0])] = -1
    given = {"images": images, "shared_test": shared, "overlap": float(rng.choice([0.0, 0.25]))}
    pairs = pairwise(scores, **given)
    for i, j in np.argwhere(np.tri(m, k=-1)):
        known = interval(scores[i] - scores[j], draws=2, **given)
        found = (pairs.differences[i, j], pairs.std_errs[i, j], pairs.df[i, j], pairs.p_values[i, j])
        if known.std_err > 1e-9:
            assert found == pytest.approx((known.mean, known.std_err, known.df, known.p_value))
        else:
            assert math.isnan(known.low) and found[3] == known.p_value == 1


def test_folds_that_share_examples_have_wider_intervals() -> None:
    scores = answers(np.random.default_rng(0), 0.6)[0]
    plain, folds = (interval(scores, shared_test=False, overlap=o) for o in (0.0, 0.25))
    share = plain.components["train splits"], folds.components["train splits"]
    assert share[1] == pytest.approx(math.sqrt((1 / 5 + 0.25) * 5) * share[0])
    assert folds.high - folds.low > plain.high - plain.low


def test_words_ranks_and_the_best() -> None:
    scores = answers(np.random.default_rng(1), 0.7, 0.7, 0.5)
    made = Comparison(["a", "b", "c"], scores)
    against = made.against("c")
    assert {name: d.word for name, d in against.items()} == {"a": "better", "b": "better"}
    assert all(d.low < d.mean < d.high for d in against.values())
    assert made.against("a")["b"].word == "tie" and made.best in ("a", "b")
    assert made.ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    beside = made.beside("c")
    assert {name: d.word for name, d in beside.items()} == {"a": "worse", "b": "worse"}
    assert beside["a"].reversed() == made.beside("a")["c"] and made.beside("a")["b"].word == "tie"
    lower = Comparison(["a", "b", "c"], scores, higher_is_better=False)
    assert lower.best == "c" and lower.ranks["c"] == (1, 1) and lower.against("c")["a"].word == "worse"


def test_no_interval_without_width() -> None:
    scores = np.stack([np.ones((3, 20)), np.ones((3, 20)), np.zeros((3, 20))])
    made = Comparison(["a", "b", "c"], scores)
    same, other = made.difference("a", "b"), made.difference("a", "c")
    assert (same.mean, same.word) == (0, "tie") and (other.mean, other.word) == (1, "")
    assert all(math.isnan(d.low) and math.isnan(d.high) for d in (same, other))
    assert made.ranks == dict.fromkeys("abc", (1, 3))


@pytest.mark.parametrize(("splits", "shared"), [(3, True), (5, True), (5, False)])
def test_false_alarms_stay_near_the_level(splits: int, shared: bool) -> None:
    rng = np.random.default_rng(splits)
    alarms = []
    for _ in range(150):
        pairs = pairwise(answers(rng, *[0.6] * 5, splits=splits, n=200), shared_test=shared)
        alarms.append(holm(pairs.p_values[np.triu_indices(5, 1)]).min() < 0.05)
    assert np.mean(alarms) < 0.1


def test_pairing_sees_what_means_hide() -> None:
    easy_and_hard = np.array([0.9, 0.5, 0.7, 0.3, 0.6])
    noise = np.array([0.001, -0.001, 0.0, 0.002, -0.002])
    assert p_value(easy_and_hard + 0.01 + noise, easy_and_hard) < 0.05
    assert p_value(easy_and_hard, easy_and_hard[::-1]) > 0.05


def test_the_pairs_of_splits_are_compared_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 5, 10):
        first, second = rng.normal(size=(2, n))
        known = ttest_rel(first, second)
        assert p_value(first, second) == pytest.approx(known.pvalue)
        reach = known.confidence_interval(0.95)
        assert paired_interval(first - second) == pytest.approx((reach.low, reach.high))


def test_equal_values_do_not_differ_and_a_constant_difference_does() -> None:
    same = np.array([0.9, 0.8, 0.7])
    assert p_value(same, same + 1e-15) == 1.0
    assert p_value(same, same - 0.1) < 1e-10
    assert paired_interval(same - same) == (0.0, 0.0)


def test_the_correction_is_holms() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == pytest.approx([1.0, 1.0])


@given(values)
def test_the_interval_holds_the_mean_difference(rows: np.ndarray) -> None:
    low, high = paired_interval(rows[0] - rows[-1])
    mean = float((rows[0] - rows[-1]).mean())
    assert low <= mean + 1e-9 and mean - 1e-9 <= high


@given(tables)
def test_nobody_on_the_front_is_dominated(rows: np.ndarray) -> None:
    costs = [(-a, b, c) for a, b, c in rows.tolist()]
    known = [not any(o != r and all(x <= y for x, y in zip(o, r, strict=True)) for o in costs) for r in costs]
    assert front(rows, (True, False, False)).tolist() == known


def test_a_front() -> None:
    rows = np.array([[0.9, 10], [0.8, 5], [0.7, 7], [0.9, 10]])
    assert front(rows, (True, False)).tolist() == [True, True, False, True]
    with pytest.raises(ValueError, match="must have a number"):
        front(np.array([[np.nan, 1]]), (True, False))


def test_an_entrys_own_interval_counts_the_overlap_of_folds() -> None:
    contest = Contest("zoo", "zoo", "1.0.0", "sklearn_digits", ("rotate90",), (0.0,), 5)
    jobs = plan("zoo", ["majority"], repeats=range(1, 6))
    runs = [Run(f"{job.repeat:08}", job, Hashes("", "")) for job in jobs]
    cells = zip(runs, contest.cells, strict=True)
    numbers = Numbers("pretrained", {run.id: Truth(run.job, contest, cell) for run, cell in cells})
    for run in runs:
        numbers.impute(run)
    (spread,) = (one for one in numbers.means(runs)[0] if one.metric == "framework_accuracy")
    of_folds = [numbers.metrics[run.id]["framework_accuracy"] for run in runs]
    expected = np.std(of_folds, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert spread.components["train splits"] == pytest.approx(expected, rel=1e-3)


def test_images_that_are_shown_twice_are_what_was_sampled() -> None:
    tricks = sampled("follow_suit", "drawn_decks", 0, (1, 2, 3))  # 13 % of the cards come again
    assert tricks.of("brier_score", "pretrained")["images"].shape == (1001, 4)
    assert tricks.of("hypothesis_accuracy", "pretrained")["images"] is None
    assert tricks.of("brier_score", "symbolic")["images"] is None
    assert sampled("indoor_scene", "drawn_rooms", 0, (1,)).images is None  # each room once
