"""The analysis of a results folder: rules, errors, what was perceived, reliability."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nsl_bench.api.results import Results
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis
from nsl_bench.report import analysis
from nsl_bench.report.reliability import draw_reliability
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store


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
            seen = {"train": {"concepts": {"10h": 3, "as": 1}, "confidence": [0] * 10}}
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


def test_shares(store: Store, tmp_path: Path) -> None:
    table = analysis.rule_shares(Results(store.folder), ["rank_higher", "suit", "nothing"])
    assert table["n"].tolist() == [2, 2, 2] and set(table["shift"]) == {"noir"}
    assert table["rank_higher"].tolist() == [0.5] * 3 and table["suit"].tolist() == [1.0] * 3
    assert table["nothing"].tolist() == [0.0] * 3
    seen = analysis.perceived_shares(Results(store.folder))
    assert seen[seen["concept"] == "10h"]["share"].tolist() == [0.75] * 3
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
