"""What pages of results say follows from tests: verdicts on FFNSL, baselines and papers."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from nsl_bench.run.job import PROTOCOL, Job, ShiftPair
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

from .conftest import Script

# The study of all tasks.


@pytest.fixture(scope="module")
def verdicts(script: Script) -> ModuleType:
    return script("framework_verdicts")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """FFNSL is ahead of the forest at 0 %, and far behind it at 100 %."""
    store = Store(tmp_path_factory.mktemp("verdicts") / "store")
    means = {("ffnsl", 0): 1.0, ("ffnsl", 100): 0.5, ("random_forest", 0): 0.9, ("random_forest", 100): 0.8}
    for (learner, percent), mean in means.items():
        for repeat in range(1, 6):
            pair = ShiftPair.of("noir", percent, "noir", percent)
            job = Job(
                *("follow_suit", "1.0.0", "drawn_decks", "", pair.train_shift, pair.train_percent),
                *(pair.test_shift, pair.test_percent, "small", repeat, learner, "pretrained", "softmax"),
                protocol=PROTOCOL,
            )
            store.add(Record(job, "ok", {"framework_accuracy": mean - 0.001 * (repeat % 3)}))
    return store.frame()


def test_losses_are_said(verdicts: ModuleType, runs: pd.DataFrame) -> None:
    (row,) = verdicts.against_baselines(runs, "noir")
    metric, network, baseline, lead, _, behind, ahead = map(str, row.values())
    assert (metric, network, baseline) == ("framework accuracy", "softmax", "random_forest")
    assert (lead.split()[0], behind, ahead) == ("-0.100", "100", "0")


def test_what_is_as_in_the_paper(verdicts: ModuleType, runs: pd.DataFrame) -> None:
    line = {"learner": "ffnsl", "network": "softmax", "metric": "framework_accuracy", "shift": "noir"}
    line |= {"percent": [0, 100], "mean": [1.0, 0.7], "std_err": [0.0, 0.001], "repeats": 5}
    published = pd.DataFrame(line)
    (row,) = verdicts.beside_paper("follow_suit", runs, "noir", published)
    assert [*row.values()] == ["ffnsl (softmax)", "framework accuracy", "0", "", "100", ""]
    assert verdicts.beside_paper("follow_suit", runs, "noir", published[:0]) == []
    counted = verdicts.counted(pd.DataFrame([{"shift": "noir", **row}]))
    assert re.search(r"framework accuracy +\| 1 +\| 0 +\| 1 +\| 0", counted)


def test_shares_in_words_are_read_again(script: Script) -> None:
    studies, tested = script("studies"), (0, 10, 20, 50, 95)
    for shares in ([0, 10, 20], [10, 20], [0, 95], []):
        assert studies.shares_in(studies.ranges(shares, tested), tested) == shares


# The NSL paper's page.


@pytest.fixture(scope="module")
def page(script: Script) -> ModuleType:
    return script("nsl_page")


def folds(*means: float) -> pd.DataFrame:
    """A metric of five folds at 0, 50 and 100 %, spread around these means."""
    spread = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
    return pd.DataFrame({50.0 * k: mean + spread for k, mean in enumerate(means)}, index=range(1, 6))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((0.9, 0.8, 0.7), (0.8, 0.6, 0.5), "holds at all 3 shares; mean difference significant"),
        ((0.9, 0.6, 0.7), (0.8, 0.6, 0.5), "holds: ahead or level at all 3 shares, level at 50 %"),
        ((0.9, 0.5, 0.7), (0.8, 0.6, 0.5), "holds at 2 of 3 shares; behind at 50 %"),
        ((0.5, 0.5, 0.5), (0.8, 0.6, 0.6), "does not hold at any share"),
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "does not hold: level at all shares; mean difference not"),
    ],
)
def test_verdicts(page: ModuleType, first: tuple[float], second: tuple[float], words: str) -> None:
    claim = page.Claim("a is ahead", "both", "framework_accuracy", "a", "b")
    found = page.check(claim, {"a": folds(*first), "b": folds(*second)})
    assert str(found).startswith(words)
    fewer = page.Claim("a has fewer", "both", "atoms", "a", "b")
    behind = page.check(fewer, {"a": folds(*second), "b": folds(*first)})
    assert (behind.ahead, behind.behind) == (found.ahead, found.behind), "of atoms fewer are better"


def test_shares_of_a_claim_and_lines_without_runs(page: ModuleType) -> None:
    claim = page.Claim("a is ahead", "both", "framework_accuracy", "a", "b", least=50)
    lines = {"a": folds(0.1, 0.9, 0.9), "b": folds(0.5, 0.5, 0.5)}
    assert page.check(claim, lines).ahead == (50.0, 100.0)
    assert page.check(claim, {"a": lines["a"]}) is None
    one = {name: line.loc[[3]] for name, line in lines.items()}
    assert str(page.check(claim, one)) == "holds at all 2 shares", "one fold has no p value"


def test_claims_name_lines_and_metrics(page: ModuleType) -> None:
    lines = page.Part("zoo", "zoo", "mnist", "mnist", "nsl_fnn", None).lines()
    for claim in page.claims():
        assert {claim.first, claim.second} <= lines.keys()
        assert claim.setting in page.SETTINGS and claim.metric in page.METRICS
        assert set(claim.paper) == {"zoo", "sudoku_4x4"}
