"""What the pages of the study of all tasks say of FFNSL, the baselines and the paper follows from tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType

import pandas as pd
import pytest

from nsl_bench.run.job import PROTOCOL, Job, ShiftPair
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store


@pytest.fixture(scope="module")
def verdicts(script: Callable[[str], ModuleType]) -> ModuleType:
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
    published = pd.DataFrame(
        {
            "learner": "ffnsl",
            "network": "softmax",
            "metric": "framework_accuracy",
            "shift": "noir",
            "percent": [0, 100],
            "mean": [1.0, 0.7],
            "std_err": [0.0, 0.001],
            "repeats": 5,
        }
    )
    (row,) = verdicts.beside_paper("follow_suit", runs, "noir", published)
    assert [*row.values()] == ["ffnsl (softmax)", "framework accuracy", "0", "", "100", ""]
    assert verdicts.beside_paper("follow_suit", runs, "noir", published[:0]) == []
    counted = verdicts.counted(pd.DataFrame([{"shift": "noir", **row}]))
    assert re.search(r"framework accuracy +\| 1 +\| 0 +\| 1 +\| 0", counted)


def test_shares_in_words_are_read_again(script: Callable[[str], ModuleType]) -> None:
    studies, tested = script("studies"), (0, 10, 20, 50, 95)
    for shares in ([0, 10, 20], [10, 20], [0, 95], []):
        assert studies.shares_in(studies.ranges(shares, tested), tested) == shares
