"""Folders for any language: what is in them, and that wrong answers get one sentence with counts."""

import csv
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Part
from nsl_bench.learners.base import InvalidOutput, labels_of, probabilities_of
from nsl_bench.learners.command import command_of, format_of, spec_of
from nsl_bench.learners.folder_formats import Format, answered
from nsl_bench.learners.task_folders import read_predictions, read_rules, write
from nsl_bench.learners.view import View
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.limits import Limits
from nsl_bench.testing.toy import patches, view

IDS = [f"test-{i}" for i in range(6)]
NAMES = ("same", "differ")


def both(track: Track) -> list[View]:
    """The train and the test view."""
    source = None if track == "symbolic" else PatchSource()
    parts: tuple[Part, ...] = ("train", "test")
    return [view(patches(part), track, source=source, labelled=part == "train") for part in parts]


@pytest.mark.parametrize("track", ["symbolic", "pretrained", "label_only", "end_to_end"])
def test_a_folder_shows_what_its_track_allows(track: Track, tmp_path: Path) -> None:
    train, test = both(track)
    write(tmp_path / "f", train, test, about={"seed": 3})
    task = json.loads((tmp_path / "f" / "task.json").read_text())
    shown, asked = (pd.read_parquet(tmp_path / "f" / f"{part}.parquet") for part in ("train", "test"))
    concepts = {"concepts", "probabilities", "facts"} if track in ("symbolic", "pretrained") else set()
    images = set() if track == "symbolic" else {"images"}
    assert set(asked) == {"example", "meta_shelf"} | concepts | images and set(shown) == set(asked) | {
        "label"
    }
    assert shown["label"].tolist() == [NAMES[k] for k in patches().labels]
    assert task["labels"][1] == {"name": "differ", "atom": "differ"} and task["seed"] == 3
    assert ("concepts" in task) == bool(concepts)
    assert (tmp_path / "f" / "bias.las").exists() == (track != "end_to_end")
    if concepts:
        assert np.array_equal(
            np.stack([np.stack(row) for row in shown["probabilities"]]), train.probabilities
        )
        assert shown["concepts"][0].tolist() == train.concepts[0] and shown["facts"][1].tolist() == list(
            train.contexts[1]
        )
    if images:
        assert asked["images"][1][0].startswith(b"\x89PNG") and asked["images"][0][1] is None


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_few_labelled_images_are_in_the_folder_of_their_track(form: Format, tmp_path: Path) -> None:
    train, test = both("few_labels")
    write(tmp_path / "f", train, test, about={}, form=form)
    few = train.few_labels
    task = json.loads((tmp_path / "f" / "task.json").read_text())
    assert task["labelled"] == {"examples": len(few.targets), "values": list(few.values)}
    path = tmp_path / "f" / f"labelled.{form}"
    shown = pd.read_parquet(path) if form == "parquet" else pd.read_csv(path)
    assert shown["symbol_0"].tolist() == few.targets[:, 0].tolist() and "label" not in shown
    first = shown["images"][0][0] if form == "parquet" else (path.parent / shown["image_0"][0]).read_bytes()
    assert first.startswith(b"\x89PNG")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_true_rule_is_in_the_folder_of_its_track(form: Format, tmp_path: Path) -> None:
    train, test = both("known_rules")
    write(tmp_path / "f", train, test, about={}, form=form)
    assert (tmp_path / "f" / "true_rule.lp").read_text() == Patches().true_rule
    assert "nsl_label(1) :- " in (tmp_path / "f" / "true_rule.pl").read_text()
    told = json.loads((tmp_path / "f" / "task.json").read_text())
    assert told["true_rule"]["facts"][1][0] == ["patch(right,dark)"] and "concepts" in told
    path = tmp_path / "f" / f"test.{form}"
    shown = pd.read_parquet(path) if form == "parquet" else pd.read_csv(path)
    shelf = patches("test").metadata["shelf"][0]
    wanted = [f"shelf({shelf})"] if form == "parquet" else f"shelf({shelf})."
    assert (shown["facts"][0].tolist() if form == "parquet" else shown["facts"][0]) == wanted
    assert {"concepts", "probabilities", "label"}.isdisjoint(shown)


def test_true_concepts_are_beside_the_train_images_alone(tmp_path: Path) -> None:
    train, test = both("concept_labels")
    write(tmp_path / "f", train, test, about={})
    shown, asked = (pd.read_parquet(tmp_path / "f" / f"{part}.parquet") for part in ("train", "test"))
    assert shown["concepts"][1].tolist() == train.concepts[1] and "images" in shown
    assert set(asked) == {"example", "meta_shelf", "images"}
    assert not (tmp_path / "f" / "true_rule.lp").exists()


def answers(folder: Path, **columns: Any) -> Path:
    path = folder / "predictions.parquet"
    pq.write_table(pa.table({"example": IDS, **columns}), path)
    return path


def test_labels_or_probabilities_are_answers(tmp_path: Path) -> None:
    order = [3, 1, 0, 5, 4, 2]
    path = answers(
        tmp_path, example=[IDS[i] for i in order], label=["same"] * 2 + ["differ"] * 3 + ["undecided"]
    )
    found = read_predictions(path, 6, NAMES)
    assert found.labels is not None and found.labels.tolist() == [1, 0, -1, 0, 1, 1]
    assert found.probabilities is None and found.predicted is found.labels
    path = answers(tmp_path, p_same=[0.25] * 6, p_differ=pa.array([0.75] * 6, pa.float32()))
    found = read_predictions(path, 6, NAMES)
    assert found.labels is None and found.probabilities is not None
    assert found.probabilities.tolist() == [[0.25, 0.75]] * 6 and found.predicted.tolist() == [1] * 6


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"example": [*IDS[:3], "test-9", "x", "y"]}, "3 examples missing, 3 unknown, 0 repeated"),
    "duplicates": ({"example": [*IDS[:5], "test-0"]}, "1 examples missing, 0 unknown, 1 repeated"),
    "null ids": ({"example": [*IDS[:5], None]}, "1 examples missing, 1 unknown"),
    "NaN": ({"p_same": [0.5] * 6, "p_differ": [0.5] * 5 + [np.nan]}, "NaN or missing, first of test-5"),
    "null": ({"p_same": [0.5] * 6, "p_differ": [0.5] * 5 + [None]}, "1 examples are NaN or missing"),
    "infinity": ({"p_same": [np.inf] * 6, "p_differ": [0.5] * 6}, "6 examples are infinite"),
    "negative": ({"p_same": [-0.5] * 6, "p_differ": [0.5] * 6}, "6 examples are negative"),
    "sum": ({"p_same": [0.9] * 6, "p_differ": [0.9] * 6}, "more than 1 in sum"),
    "nested": (
        {"p_same": [[0.5]] * 6, "p_differ": [0.5] * 6},
        "'p_same' of .* must have .*; got the type list",
    ),
    "nested label": ({"label": [{"a": "same"}] * 6}, "'label' of .* must have .*; got the type struct"),
    "numbers for ids": ({"example": list(range(6)), "label": ["same"] * 6}, "'example' of .* int64"),
    "half": ({"p_same": [0.5] * 6}, "has the column p_same but lacks p_differ"),
    "nothing": ({"guess": ["same"] * 6}, "must have the column 'label' or the columns p_same, p_differ"),
    "unknown label": ({"label": ["same"] * 4 + ["maybe", "no"]}, "2 labels are not in .*first: 'maybe'"),
    "few": ({"example": IDS[:1], "label": ["same"]}, "must have 6 rows, one per test example; got 1"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_answers_get_one_sentence(kind: str, tmp_path: Path) -> None:
    columns, sentence = WRONG[kind]
    columns = {"label": ["same"] * 6, **columns} if kind in ("missing", "duplicates", "null ids") else columns
    with pytest.raises(InvalidOutput, match=sentence) as caught:
        read_predictions(answers(tmp_path, **columns), 6, NAMES)
    assert str(caught.value).count("\n") == 0 and str(caught.value).endswith(".")


def test_files_that_are_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "predictions.parquet"
    with pytest.raises(InvalidOutput, match=r"predictions\.parquet is missing"):
        read_predictions(path, 6, NAMES)
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1", b"example,label\n"):
        path.write_bytes(content)
        with pytest.raises(InvalidOutput, match=r"is not a parquet file|got 0"):
            read_predictions(path, 6, NAMES)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(InvalidOutput, match="is not a file"):
        read_predictions(path, 6, NAMES)


def test_a_billion_rows_in_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "predictions.parquet"
    piece = pa.table({"example": pa.array(np.full(1_000_000, "test-0")), "label": ["same"] * 1_000_000})
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        writer.write_table(piece)
    content = _claiming(path.read_bytes(), 1_000_000, 1_000_000_000)
    assert len(content) < 10_000
    for claim in (content, _claiming(content, 1_000_000_000, 6, most=1)):  # the second says 6 of the whole
        path.write_bytes(claim)
        with pytest.raises(InvalidOutput, match="must have 6 rows, one per test example; got 1000000000"):
            read_predictions(path, 6, NAMES)


def _claiming(content: bytes, rows: int, claimed: int, most: int = -1) -> bytes:
    """A parquet file whose footer has another number of rows, in the first `most` places that name it."""

    def number(value: int) -> bytes:
        digits, value = b"", 2 * value
        while value > 127:
            digits, value = digits + bytes([value & 127 | 128]), value >> 7
        return digits + bytes([value])

    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:-8].replace(number(rows), number(claimed), most)
    return content[:start] + footer + len(footer).to_bytes(4, "little") + content[-4:]


def test_rules_are_read(tmp_path: Path) -> None:
    path = tmp_path / "hypothesis.lp"
    assert read_rules(path) is None
    path.write_text("% a comment\ndiffer :- patch(left,X),\n  patch(right,Y), X != Y.\n")
    assert read_rules(path) == ["differ :- patch(left,X); patch(right,Y); X != Y."]
    for text in ("differ :- a b.", "#script (python) import os #end.", "#include '/etc/passwd'."):
        path.write_text(text)
        with pytest.raises(InvalidOutput, match=r"hypothesis\.lp contains no valid rules"):
            read_rules(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidOutput, match="contains no valid rules"):
        read_rules(path)


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
