"""The verdicts of the NSL paper's results page are those of the figures."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def page(script: Callable[[str], ModuleType]) -> ModuleType:
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
