"""Exported folders: what they have for learners that learn rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli import main
from nsl_bench.core.tracks import Track
from nsl_bench.learners.base import About
from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.run.bench import Bench
from nsl_bench.run.exchange import export
from nsl_bench.run.plan import plan


@pytest.mark.parametrize("task", ["zoo", "sudoku_4x4", "follow_suit"])
def test_an_exported_task_is_learned_from(task: str, tmp_path: Path) -> None:
    """`nsl-bench learn` finds in ``train.las`` what FFNSL learns in a run."""
    bench = Bench()
    (job,) = plan(task, ["mine"], track="symbolic", describe=lambda _: About("pretrained", ""))
    (folder,) = export([job], tmp_path, bench, images=False)
    told = CliRunner().invoke(main, ["learn", str(folder / "train.las"), "--json"])
    found = json.loads(told.output)
    train, _, _ = bench.views(job)
    rules = FFNSL().fit(train).rules()
    assert (found["status"], found["score"]) == ("optimal", rules.score)
    assert sorted(found["hypothesis"]) == sorted(rules.rules)


@pytest.mark.parametrize("track", ["label_only", "end_to_end"])
def test_tracks_without_concepts_get_no_learning_task(track: Track, tmp_path: Path) -> None:
    (job,) = plan("sudoku_4x4", ["mine"], describe=lambda _: About(track, ""))
    (folder,) = export([job], tmp_path, Bench(), images=False)
    assert not (folder / "train.las").exists()
