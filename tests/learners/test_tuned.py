"""Tuning and early stopping use validation examples, and say so."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.code_files import code_key
from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import takes_validation
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.sandbox.host import IsolatedLearner, about
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view


def record_of(learner: str, limits: Limits | None, *, symbolic: bool = True) -> Record:
    """The record of a run on 4x4 grids, in this process without limits and in the sandbox with them."""
    (job,) = plan("sudoku_4x4", [learner], track="symbolic" if symbolic else "own")
    return Bench("cpu", limits=limits).run(job).record


@pytest.mark.parametrize("limits", [None, Limits(time=120.0)])
def test_a_tuned_learner_says_its_budget_and_its_choice(limits: Limits | None) -> None:
    record = record_of("tuned:random_forest,trials=3", limits)
    assert record.status == "ok" and record.metrics["hypothesis_accuracy"] > 0.4
    assert record.tuning["trials"] == 3 and 0 < record.tuning["validation_accuracy"] <= 1
    assert set(record.tuning["chosen"]) <= {"trees", "depth", "leaf", "inputs", "weights"}
    tried = record.tuning["tried"]
    assert record.tuning["chosen"] in [trial["options"] for trial in tried] and len(tried) == 3
    assert all(trial["brier_score"] > 0 and trial["seconds"] > 0 for trial in tried)
    assert "validation" in record.content_hash
    assert Record.from_json(record.to_json()).tuning == record.tuning


def test_a_learner_from_a_file_is_tuned(tmp_path: Path) -> None:
    """Its own options stay, its file can be read in the sandbox, and its hash is part of the version."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from nsl_bench.learners.trees import RandomForest\n"
        "class Mine(RandomForest):\n    search_space = {'depth': (1, 2)}\n"
    )
    spec = f"tuned:{file}:Mine:trees=3,trials=3"
    limits = Limits(time=120.0)
    (job,) = plan("sudoku_4x4", [spec], track="symbolic", describe=partial(about, limits=limits))
    assert job.learner == spec and job.learner_version.endswith(code_key(f"{file}:Mine"))
    with contextlib.closing(IsolatedLearner(spec, 0, limits)) as learner:
        material = Bench("cpu").material(job)
        assert material.validation is not None
        learner.fit(material.view(material.train), material.view(material.validation()))
        assert learner.tuning_["chosen"] in ({}, {"depth": "1"}, {"depth": "2"})


@pytest.mark.parametrize(("budget", "limit"), [("", 20.0), (",seconds=12", 120.0)])
def test_no_trial_begins_that_could_end_after_the_budget(tmp_path: Path, budget: str, limit: float) -> None:
    """A tuned learner was stopped at its limit, and all its trials were lost."""
    file = tmp_path / "slow.py"
    file.write_text(
        "import time\nfrom nsl_bench.learners.trees import RandomForest\n"
        "class Slow(RandomForest):\n    search_space = {'depth': (1, 2, 3, 4, 5, 6, 7)}\n"
        "    def fit(self, train):\n        time.sleep(5)\n        return super().fit(train)\n"
    )
    record = record_of(f"tuned:{file}:Slow,trials=8{budget}", Limits(time=limit))
    assert record.status == "ok", record.message
    assert 1 <= record.tuning["trials"] <= 3 and record.tuning["validation_accuracy"] > 0


_DIVERGES = """
import numpy as np
class Diverges:
    search_space = {"rate": (1, 2, 3, 4)}
    def __init__(self, rate=0): self.rate = int(rate)
    def fit(self, train):
        if self.rate == 1:
            raise ValueError("rate 1 is too high")
        self.guess = np.bincount(train.labels, minlength=train.n_labels) / len(train)
    def predict_proba(self, test):
        return np.tile(self.guess * (np.nan if self.rate in BAD else 1), (len(test), 1))
"""


_SURE = """
import numpy as np
class Sure:
    search_space = {"second": (0.5, 0.6, 0.9)}
    def __init__(self, second=0.8): self.second = float(second)
    def fit(self, train): return self
    def predict_proba(self, test): return np.tile([1 - self.second, self.second], (len(test), 1))
"""


@pytest.mark.parametrize(("metric", "chosen"), [("accuracy", 0.6), ("brier_score", 0.5)])
def test_the_metric_decides_and_then_the_brier_score(tmp_path: Path, metric: str, chosen: float) -> None:
    """The learner's own options won all ties, so that tuning often changed nothing."""
    (tmp_path / "sure.py").write_text(_SURE)
    split = patches()
    split.labels[:] = np.arange(60) < 31  # 0.52 have the second label
    learner = registry.create("learner", f"tuned:{tmp_path / 'sure.py'}:Sure,metric={metric}", seed=0)
    assert learner.fit(view(split), view(split)).tuning_["chosen"] == {"second": str(chosen)}


@pytest.mark.parametrize("limits", [None, Limits(time=120.0)])
def test_a_trial_that_fails_is_not_chosen(tmp_path: Path, limits: Limits | None) -> None:
    """A setting whose loss diverged cost the whole run, although others had been right."""
    file = tmp_path / "diverges.py"
    file.write_text(_DIVERGES.replace("BAD", "(0, 2)"))
    record = record_of(f"tuned:{file}:Diverges", limits)
    assert record.status == "ok", record.message
    assert record.tuning["trials"] == 5 and record.tuning["failed"] == 3
    assert record.tuning["chosen"] in ({"rate": "3"}, {"rate": "4"})


@pytest.mark.parametrize("limits", [None, Limits(time=120.0)])
def test_where_all_trials_fail_the_first_one_says_why(tmp_path: Path, limits: Limits | None) -> None:
    file = tmp_path / "diverges.py"
    file.write_text(_DIVERGES.replace("BAD", "(0, 2, 3, 4)"))
    record = record_of(f"tuned:{file}:Diverges", limits)
    assert record.status != "ok" and "NaN" in record.message and record.tuning == {}


def test_training_stops_where_the_validation_loss_no_longer_falls() -> None:
    (job,) = plan("sudoku_4x4", ["fcn"], track="symbolic")
    material = Bench("cpu").material(job)
    assert material.validation is not None
    train, validation = material.view(material.train), material.view(material.validation())
    learner = registry.create("learner", "fcn:epochs=15,learning_rate=0.01,patience=2", seed=0)
    assert takes_validation(learner) and not takes_validation(registry.create("learner", "fcn", seed=0))
    learner.fit(train, validation)
    assert 3 <= learner.epochs_ < 15


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("tuned:majority", "the learner majority cannot be tuned"),
        ("tuned:random_forrest", "Did you mean 'random_forest'?"),
        ("tuned", "needs 'learner'"),
    ],
)
def test_options_that_do_not_fit(spec: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        registry.create("learner", spec, seed=0)
    assert words in str(error.value)


def tuned_and_run(learner: str) -> Iterator[Record]:
    """The records of a tuned learner in this process and in the sandbox; both must succeed."""
    for limits in (None, Limits(time=120.0)):
        record = record_of(f"tuned:{learner},trials=2", limits, symbolic=False)
        assert record.status == "ok", record.message
        yield record


def test_the_concepts_of_a_tuned_learner_are_scored(tmp_path: Path) -> None:
    file = tmp_path / "sees.py"
    file.write_text(
        "import numpy as np\n"
        "class Sees:\n"
        "    track = 'label_only'\n"
        "    search_space = {'a': (1, 2)}\n"
        "    def __init__(self, a=0): pass\n"
        "    def fit(self, train): return self\n"
        "    def predict_proba(self, test): return np.full((len(test), test.n_labels), 1 / test.n_labels)\n"
        "    def predict_concepts(self, test):\n"
        "        n = len(test.concept_space)\n"
        "        return np.full((len(test), len(test.slots), n), 1 / n)\n"
    )
    for record in tuned_and_run(f"{file}:Sees"):
        assert 0 <= record.metrics["learner_concept_accuracy"] <= 1


def test_a_tuned_learner_answers_as_it_does_untuned(tmp_path: Path) -> None:
    file = tmp_path / "labels.py"
    file.write_text(
        "import numpy as np\n"
        "class Labels:\n"
        "    search_space = {'a': (1, 2)}\n"
        "    def __init__(self, a=0): self.a = int(a)\n"
        "    def fit(self, train): return self\n"
        "    def predict(self, test): return np.full(len(test), self.a)\n"
    )
    for record in tuned_and_run(f"{file}:Labels"):
        assert "framework_accuracy" in record.metrics and "brier_score" not in record.metrics
        assert record.hypothesis is None
