"""`EntrantTests`, tests of a learner with a Python environment of its own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nsl_bench.learners.environments import entrant
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing import Tests

_LIMITS = Limits(time=300)
_LINES = 150
_LEAST = 0.3


class EntrantTests(Tests):
    """Tests of a folder with `adapter.py`, `requirements.txt` and `learner.toml`::

        class TestMyMethod(EntrantTests):
            folder = Path(__file__).parent
            tasks = ("crop_yield",)

    Those that learn make the environment first, from the package index; they are marked as slow.

    Attributes:
        folder: the entrant's.
        tasks: that it learns, each better than the majority class; in the track `pretrained` from true
            concepts.
        exact: whether its rules are ASP and give its answers on all test examples. Other rules must at least
            depend on the example.
    """

    __test__ = False

    folder: ClassVar[Path]
    tasks: ClassVar[Sequence[str]] = ("crop_yield", "follow_suit")
    exact: ClassVar[bool] = False

    def test_is_small_and_pinned(self) -> None:
        environment = entrant(f"env:{self.folder}")
        text = (self.folder / "adapter.py").read_text(encoding="utf-8")
        compile(text, "adapter.py", "exec")
        assert len(text.splitlines()) < _LINES
        assert any(line.startswith("numpy==") for line in environment.requirements)

    @pytest.mark.slow
    def test_learns_more_than_the_majority(self, subtests: Any) -> None:
        track = entrant(f"env:{self.folder}").track
        symbolic = track == "pretrained"
        for task in self.tasks:
            with subtests.test(task=task):
                jobs = plan(task, [f"env:{self.folder}", "majority"], track="symbolic" if symbolic else "own")
                mine, majority = (Bench(limits=_LIMITS).run(job).record for job in jobs)
                assert mine.status == "ok", json.dumps([mine.message, mine.output])
                column = "hypothesis_accuracy" if symbolic else "framework_accuracy"
                assert mine.metrics[column] > max(majority.metrics[column], _LEAST)
                sees = track in ("known_rules", "concept_labels")
                assert ("learner_concept_accuracy" in mine.metrics) == sees
                if self.exact:
                    assert mine.metrics["agreement"] == 1
                if mine.hypothesis is not None:
                    assert any(":-" in rule for rule in mine.hypothesis.rules)
