"""Learners' folders in CSV and JSON, for languages without a parquet library."""

from __future__ import annotations

import csv
import json
import os
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import InvalidOutput, labels_of, probabilities_of
from nsl_bench.learners.command import command_of, format_of, spec_of
from nsl_bench.learners.folder_formats import answered
from nsl_bench.learners.task_folders import read_predictions, write
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

NAMES = ("same", "differ")


def folder(place: Path, form: str) -> Path:
    source = PatchSource()
    train = view(patches(), "pretrained", source=source)
    test = view(patches("test"), "pretrained", source=source, labelled=False)
    write(place, train, test, about={}, form=form)  # type: ignore[arg-type]
    return place


def test_csv_has_a_column_for_each_value(tmp_path: Path) -> None:
    train = view(patches(), "pretrained", source=PatchSource())
    with (folder(tmp_path / "f", "csv") / "train.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(train) and rows[0]["label"] == NAMES[train.labels[0]]
    space = train.concept_space.concepts
    told = [[[float(row[f"p_{s}_{c}"] or 0) for c in space] for s in train.slots] for row in rows]
    assert np.allclose(told, train.probabilities, atol=1e-8)
    assert [row[f"concept_{train.slots[0]}"] or None for row in rows] == [c[0] for c in train.concepts]
    assert rows[0]["facts"] == " ".join(f"{fact}." for fact in train.contexts[0])
    images = [row[f"image_{train.slots[0]}"] for row in rows]
    assert (tmp_path / "f" / images[0]).read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "f" / "test.csv").open(newline="") as file:
        assert "label" not in next(csv.reader(file))


def test_json_has_the_lists_of_parquet(tmp_path: Path) -> None:
    train = view(patches(), "pretrained", source=PatchSource())
    rows = json.loads((folder(tmp_path / "f", "json") / "train.json").read_text())
    assert [row["concepts"] for row in rows] == train.concepts
    assert np.allclose([row["probabilities"] for row in rows], train.probabilities, atol=1e-8)
    blanks = [name is None for row in rows for name in row["images"]]
    assert blanks == [image is None for slots in train.images for image in slots]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_predictions_are_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"predictions.{form}"

    def save(*rows: dict[str, object]) -> None:
        if form == "json":
            path.write_text(json.dumps(rows))
            return
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    save({"example": "test-1", "label": "differ", "extra": 1}, {"example": "test-0", "label": "undecided"})
    assert read_predictions(path, 2, NAMES).predicted.tolist() == [-1, 1]
    save(
        {"example": "test-0", "p_same": 1, "p_differ": 0},
        {"example": "test-1", "p_same": 0.25, "p_differ": 0.75},
    )
    probabilities = read_predictions(path, 2, NAMES).probabilities
    assert probabilities is not None and probabilities.tolist() == [[1, 0], [0.25, 0.75]]
    save({"example": "test-0", "label": "maybe"})
    with pytest.raises(InvalidOutput, match="1 labels are not in"):
        read_predictions(path, 1, NAMES)
    save({"example": "test-0", "p_same": "much", "p_differ": 0})
    with pytest.raises(InvalidOutput, match=f"is not a {form.upper()} file of predictions"):
        read_predictions(path, 1, NAMES)
    save({"example": "test-0", "p_same": 0.5})
    with pytest.raises(InvalidOutput, match="lacks p_differ"):
        read_predictions(path, 1, NAMES)
    path.write_text("{}" if form == "json" else "")
    with pytest.raises(InvalidOutput, match=f"is not a {form.upper()} file of predictions"):
        read_predictions(path, 1, NAMES)
    (tmp_path / "predictions.parquet").touch()
    with pytest.raises(InvalidOutput, match="must be in one file"):
        answered(tmp_path)


def test_specs_say_track_and_format() -> None:
    for text, track, form in (
        ("python x.py", "pretrained", "parquet"),
        ("csv=awk -f x.awk -v a=1", "pretrained", "csv"),
        ("label_only,json=node x.js", "label_only", "json"),
        ("label_only=node x.js", "label_only", "parquet"),
        ("parquet=x", "pretrained", "parquet"),
    ):
        assert (command_of(spec_of(text))[0], format_of(spec_of(text))) == (track, form)
    assert spec_of("parquet=x y") == spec_of("x y")
    with pytest.raises(UserError, match="is not a learner command"):
        command_of("command[pretrained,xml]:x")
    for text in ("csv,json=x", "symbolic,label_only=x"):
        with pytest.raises(
            UserError, match=f"one track and one format before the command; got '{text[:-1]}'"
        ):
            spec_of(text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_command_needs_no_parquet_library(form: str, tmp_path: Path) -> None:
    script = tmp_path / "learner.py"
    script.write_text(
        "import csv, json, sys\n"
        f"form = '{form}'\n"
        "place = sys.argv[1]\n"
        "with open(f'{place}/test.{form}', newline='') as file:\n"
        "    rows = json.load(file) if form == 'json' else list(csv.DictReader(file))\n"
        "answers = [{'example': row['example'], 'label': 'differ'} for row in rows]\n"
        "with open(f'{place}/predictions.{form}', 'w', newline='') as file:\n"
        "    if form == 'json':\n"
        "        json.dump(answers, file)\n"
        "    else:\n"
        "        writer = csv.DictWriter(file, ['example', 'label'])\n"
        "        writer.writeheader()\n"
        "        writer.writerows(answers)\n"
    )
    spec = spec_of(f"{form}={sys.executable} {script}")
    with closing(CommandLearner(spec, 0, Limits(time=120))) as learner:
        learner.fit(view(patches()))
        test = view(patches("test"), labelled=False)
        assert (labels_of(learner, test, probabilities_of(learner, test)) == 1).all()
