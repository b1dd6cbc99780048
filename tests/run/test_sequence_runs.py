"""Runs of tasks whose rows are steps of sequences."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import parity
import pytest

from nsl_bench.core.types import Predictions
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners.base import About
from nsl_bench.learners.d2k import weighted_examples
from nsl_bench.learners.queries import query_of
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.engines import Exact
from nsl_bench.run.bench import Bench
from nsl_bench.run.exchange import export, score
from nsl_bench.run.plan import plan
from nsl_bench.run.true_rule import example_quality
from nsl_bench.sandbox.limits import Limits

TASK = "parity"
ABOUT = About("symbolic", "")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task, as if another package had it."""
    parity.installed(monkeypatch)


@pytest.fixture(scope="module")
def view() -> View:
    task = parity.Parity()
    split = make_split(task, make_source(task), "train")
    return View(split, task, "symbolic", predictions=Predictions.certain(split.concepts, 2))


def test_a_row_has_the_facts_of_earlier_steps(view: View) -> None:
    bits = view.concept_ids[:3, 0].tolist()
    first = (f"bit(1,{bits[0]})", f"start(1,{view.metadata['start'][0]})")
    assert view.contexts[0] == (*first, "now(1)")
    assert view.contexts[2] == (*first, f"bit(2,{bits[1]})", f"bit(3,{bits[2]})", "now(3)")
    assert view.sequence_contexts[0] == (*first, f"bit(2,{bits[1]})", f"bit(3,{bits[2]})")
    assert view.sequential and len(view.sequence_contexts) == 16


def test_a_sequence_is_one_example_or_each_step_is(view: View) -> None:
    whole, steps = weighted_examples(view), weighted_examples(view, examples="steps")
    assert (len(whole), len(steps)) == (16, 48)
    assert whole[0].inclusions == tuple(f"parity({t},{view.labels[t - 1]})" for t in (1, 2, 3))
    assert whole[0].exclusions == tuple(f"parity({t},{1 - view.labels[t - 1]})" for t in (1, 2, 3))
    task = parity.Parity()
    for examples in (whole, steps):
        quality = example_quality(examples, task)
        assert quality == {"weight_penalty_ratio": 1.0, "incorrect_examples": 0.0}


def test_a_step_is_as_sure_as_its_earlier_images() -> None:
    task = parity.Parity()
    split = make_split(task, make_source(task), "train")
    seen = Predictions.certain(split.concepts, 2)
    seen.probabilities[0, 0] = np.where(seen.probabilities[0, 0] == 1, 0.6, 0.4)
    view = View(split, task, "symbolic", predictions=seen)
    assert [e.penalty for e in weighted_examples(view)[:2]] == [61, 101]
    assert [e.penalty for e in weighted_examples(view, examples="steps")[:4]] == [61, 61, 61, 101]


@pytest.mark.parametrize("examples", ["sequences", "steps"])
def test_rules_with_a_memory_are_learned_and_hold_on_longer_sequences(examples: str) -> None:
    bench = Bench(limits=None)
    learner = f"ffnsl:examples={examples}"
    tested = ["", f"{TASK}:length=6"]
    records = [bench.run(job).record for job in plan(TASK, [learner], track="symbolic", test_tasks=tested)]
    for record in records:
        assert record.status == "ok", record.message
        assert record.metrics["hypothesis_sequence_accuracy"] == record.metrics["hypothesis_accuracy"] == 1.0
        assert "sequence_accuracy" not in record.metrics
        assert record.metrics["equivalent"] == 1.0


def test_probabilities_of_a_step_depend_on_earlier_images() -> None:
    bench = Bench(limits=None)
    (job,) = plan(TASK, ["ffnsl"], networks="softmax:epochs=2")
    outcome = bench.run(job)
    record = outcome.record
    assert record.status == "ok", record.message
    assert record.inference["engine"] == "auto", record.inference
    assert 0 <= record.metrics["sequence_accuracy"] <= record.metrics["framework_accuracy"]
    assert "effective_image_accuracy" in record.metrics
    frame = outcome.predictions
    assert frame is not None and {"step", "images"} <= set(frame)
    material = bench.material(job)
    seen = material.test.predictions
    assert seen is not None
    own = seen.probabilities[:3, 0, 1].astype(float)
    odd = float(material.test.split.metadata["start"][0])
    framework = frame[frame["evaluation"] == "framework"]["p_odd"].to_numpy()[:3]
    for t in range(3):
        odd = odd * (1 - own[t]) + (1 - odd) * own[t]
        assert abs(framework[t] - odd) < 1e-3


def test_a_query_has_the_slots_of_all_steps() -> None:
    query = query_of(parity.Parity(), [parity.Parity.true_rule], steps=2)
    assert query.choices == ((("bit(1,0)",), ("bit(1,1)",)), (("bit(2,0)",), ("bit(2,1)",)))
    half = np.full((1, 2, 2), 0.5, np.float32)
    answer = Exact()(query, half, [("now(2)", "start(1,0)")])
    assert np.allclose(answer.probabilities, 0.5)


def test_a_learner_in_the_sandbox_gets_whole_sequences_of_another_length(tmp_path: Path) -> None:
    file = tmp_path / "parities.py"
    file.write_text(LEARNER, encoding="utf-8")
    bench = Bench(limits=Limits(time=120))
    tested = ["parity:length=5"]
    for learner in ("ffnsl", f"{file}:Parities"):
        (job,) = plan(TASK, [learner], track="symbolic", test_tasks=tested, describe=lambda _: ABOUT)
        record = bench.run(job).record
        assert record.status == "ok", record.message
        assert record.metrics["hypothesis_sequence_accuracy"] == 1.0


LEARNER = """
import numpy as np

class Parities:
    track = "symbolic"
    fixed_size = False

    def fit(self, train):
        assert train.sequential and (train.steps[:3] == [1, 2, 3]).all()

    def predict_proba(self, test):
        assert test.sequences[-1] == 19 and test.steps.max() == 5
        bits, start = test.concept_ids[:, 0], test.metadata["start"]
        answers = np.zeros((len(test), 2))
        for row, step in enumerate(test.steps):
            parity = (start[row] if step == 1 else parity) ^ bits[row]
            answers[row, parity] = 1
        return answers
"""


def test_a_folder_has_the_sequences_and_the_test_tasks_words(tmp_path: Path) -> None:
    (job,) = plan(TASK, ["majority"], track="symbolic", test_tasks=["parity:length=4"])
    (folder,) = export([job], tmp_path, Bench(limits=None), images=False)
    test = pd.read_parquet(folder / "test.parquet")
    assert test["step"].tolist()[:5] == [1, 2, 3, 4, 1] and test["sequence"].tolist()[:5] == [0, 0, 0, 0, 1]
    told = json.loads((folder / "task.json").read_text())
    assert told["test"]["benchmark"] == "parity:length=4" and told["job"]["test_task"] == "parity:length=4"
    assert "now(T)" in (folder / "test_background.lp").read_text()
    half = test.head(78)[["example"]].assign(label="even")
    half.to_parquet(folder / "predictions.parquet")
    outcome = score(folder, job, Bench(limits=None), None)
    assert outcome.record.status == "invalid_output"
    assert "2 examples missing" in outcome.record.message and "test-78" in outcome.record.message
