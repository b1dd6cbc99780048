"""explain: what a run answered, as it was stored, apart from what its rules say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from nsl_bench.api import explanation as module
from nsl_bench.cli.rules import explain
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Hypothesis
from nsl_bench.data.splits import make_source
from nsl_bench.run.job import Job
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

RULES = ("invalid :- digit(A,N), digit(B,N), neq(A,B), row(A,R), row(B,R).",)


@pytest.fixture(autouse=True, scope="module")
def _seen_once() -> Iterator[None]:
    """The network looks at each example once."""
    known: dict[str, Any] = {}
    find = module._find

    def find_once(name: str, resolved: Any) -> Any:
        if name not in known:
            known[name] = find(name, resolved)
        return known[name]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_find", find_once)
        yield


def stored(
    folder: Path, rules: Hypothesis | None, status: str = "ok", track: Track = "pretrained", rows: int = 2
) -> str:
    """A results folder with one run of Sudoku that answers what nothing would; the run's key."""
    task = registry.create("benchmark", "sudoku_4x4")
    source, network = str(task.sources[0]), "softmax" if track == "pretrained" else None
    images, standard = make_source(task, source).fingerprint(), ("standard", 0.0) * 2
    job = Job("sudoku_4x4", "1.0.0", source, images, *standard, "small", 1, "ffnsl", track, network)
    record = Record(job, status, hypothesis=rules)  # type: ignore[arg-type]
    store = Store(folder)
    store.add(record)
    if rows:
        told = {"evaluation": ["hypothesis", "framework"], "example": ["test-0"] * 2, "label": ["valid"] * 2}
        told |= {"predicted": ["valid", "invalid"], "p_valid": [1.0, 0.1234], "p_invalid": [0.0, 0.7654]}
        store.add_predictions(record.key, pd.DataFrame(told))
    return record.key


def explained(folder: Path, key: str, example: str = "test-0", *more: str) -> str:
    arguments = [example, "--results", str(folder), "--run", key[:8], *more]
    result = CliRunner().invoke(explain, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_runs_answer_is_the_stored_one_and_the_rules_are_apart(tmp_path: Path) -> None:
    key = stored(tmp_path / "results", Hypothesis(RULES, 6))
    text = explained(tmp_path / "results", key)
    before, _, after = text.partition("Evaluation of ")
    assert f"Stored predictions of the run {key} (ffnsl):" in before
    assert "from the images: invalid" in before and "from the true concepts: valid" in before
    assert "valid: 0.1234" in before and "invalid: 0.7654" in before
    assert f"the rules that the run {key} learned (computed now)" in after
    assert "0.1234" not in after and "Rules that fire" in after


def test_what_was_not_stored_is_said(tmp_path: Path) -> None:
    key = stored(tmp_path / "none", Hypothesis(RULES, 6), rows=0)
    assert "has no predictions of this run" in explained(tmp_path / "none", key)
    key = stored(tmp_path / "results", Hypothesis(RULES, 6))
    assert "has no predictions for test-1" in explained(tmp_path / "results", key, "test-1")
    assert "a run has predictions for test examples only" in explained(tmp_path / "results", key, "train-0")
    key = stored(tmp_path / "failed", None, "crashed", rows=0)
    assert "the run failed (crashed)" in explained(tmp_path / "failed", key)


def test_a_run_without_rules_has_its_answer_shown(tmp_path: Path) -> None:
    key = stored(tmp_path / "results", None)
    text = explained(tmp_path / "results", key)
    assert "valid: 0.1234" in text
    assert "The run learned no ASP rules" in text
    assert "Derived label" not in text
    path = tmp_path / "rules.lp"
    path.write_text(RULES[0])
    text = explained(tmp_path / "results", key, "test-0", "--hypothesis", str(path))
    assert f"Evaluation of {path} (computed now)" in text


def test_an_empty_hypothesis_is_not_the_true_rule(tmp_path: Path) -> None:
    key = stored(tmp_path / "results", Hypothesis((), 0))
    text = explained(tmp_path / "results", key)
    assert "Rules that fire on the most likely concepts:\n  none" in text
    assert "\n  valid: 1.0000" in text


def test_a_network_that_the_run_did_not_use_is_named(tmp_path: Path) -> None:
    key = stored(tmp_path / "results", Hypothesis(RULES, 6), track="symbolic")
    text = explained(tmp_path / "results", key)
    assert "Concepts predicted by the network (softmax; the run used none):" in text
    with pytest.raises(UserError, match="matches no run"):
        explained(tmp_path / "results", "zzzz")
