"""Folders for learners in any language: what is in them, and how answers are read back.

====================  ======================================================================
``task.json``         what the task is: labels and their atoms, slots, concepts, track, seed
``train.parquet``     one row an example, with its ``label``
``validation.parquet``  the same for early stopping and tuning, where the data have such a part
``test.parquet``      the same without ``label``
``labelled.parquet``  the labelled images of the track ``few_labels``: ``images`` (a list over places) and
                      ``symbol_K``, the value of each symbol, of which ``task.json`` has the number
``true_rule.lp``      track ``known_rules``: the rule that labels the data, ASP, without the background
``true_rule.pl``      the same in ProbLog, with the background knowledge; ``true_rule`` in ``task.json`` has
                      for each slot and concept the facts that hold if the slot shows the concept
                      (``facts``, ``problog_facts``)
``background.lp``     background knowledge, ASP (not for the track ``end_to_end``)
``test_background.lp``  that of the test task, where it is another one (`nsl_bench.run.structural_shift`)
``bias.las``          language bias, mode declarations (not for the track ``end_to_end``)
====================  ======================================================================

Columns of the examples: ``example`` (its id), ``sequence`` and ``step`` (of tasks whose rows are steps of
sequences), ``label`` (a label's name; train only), ``meta_NAME`` for each meta-datum, ``images`` (a list over
slots of PNG bytes, null for a blank; where the track has images and they were asked for), and in the tracks
with concepts ``concepts`` (a list over slots of names, null for a blank),
``probabilities`` (a list over slots of lists over the concepts of ``task.json``) and ``facts`` (the example's
facts, as a logic program sees it). In the track ``concept_labels``, train and validation examples have
``concepts`` and ``facts``. In the track ``known_rules``, ``facts`` and ``problog_facts`` are those of an
example's metadata and step.

Commands can ask for CSV or JSON instead of parquet (`nsl_bench.learners.folder_formats`).

The answer is ``predictions.parquet``, ``.csv`` or ``.json``, one row a test example in any order:
``example``, and ``label`` (a label's name, ``undecided`` or ``ambiguous``) or ``p_LABEL`` for every label, or
both; and ``hypothesis.lp``, ASP rules, if any were learned. Without predictions the rules answer.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench import __version__
from nsl_bench.core.types import AMBIGUOUS, UNDECIDED, Floats, Floats32, Ints, Ints16, UInts8
from nsl_bench.learners.base import InvalidOutput
from nsl_bench.learners.folder_formats import Format, read_table, write_table
from nsl_bench.learners.images import LabelledImages
from nsl_bench.learners.view import TrackError, View

FORMAT = 1
_LARGEST_BYTES = 1 << 30
_LARGEST_RULES = 4 << 20
_NO_LABEL = {"undecided": UNDECIDED, "ambiguous": AMBIGUOUS}


def write(
    folder: Path,
    train: View,
    test: View,
    validation: View | None = None,
    *,
    images: bool = True,
    about: dict[str, Any],
    form: Format = "parquet",
) -> None:
    """Write a learner's folder.

    Args:
        images: write images where the track has them.
        about: further values for ``task.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    space = train.label_space
    views = {"train": train, **({} if validation is None else {"validation": validation}), "test": test}
    task: dict[str, Any] = {
        "format": FORMAT,
        "nsl_bench": __version__,
        "benchmark": train.benchmark_name,
        "track": train.track,
        "labels": [{"name": n, "atom": a} for n, a in zip(space.names, space.atoms, strict=True)],
        "slots": list(train.slots),
        "examples": {name: len(view) for name, view in views.items()},
        "metadata": list(train.metadata),
        **about,
    }
    if test.benchmark_name != train.benchmark_name:
        atoms = zip(test.label_space.names, test.label_space.atoms, strict=True)
        labels = [{"name": n, "atom": a} for n, a in atoms]
        task["test"] = {"benchmark": test.benchmark_name, "labels": labels, "slots": list(test.slots)}
        if test.track != "end_to_end":
            (folder / "test_background.lp").write_text(test.background, encoding="utf-8")
    if train.track != "end_to_end":
        (folder / "background.lp").write_text(train.background, encoding="utf-8")
        (folder / "bias.las").write_text(train.bias, encoding="utf-8")
    if train.track in ("symbolic", "pretrained", "concept_labels", "known_rules"):
        task["concepts"] = list(train.concept_space.concepts)
        task["background_concept"] = train.concept_space.background
    if train.track == "few_labels" and images:
        few = train.few_labels
        task["labelled"] = {"examples": len(few.targets), "values": list(few.values)}
        places = [str(place) for place in range(few.images.shape[1])]
        write_table(folder / "labelled", _labelled(few), form, places, ())
    if train.track == "known_rules":
        task["true_rule"] = _true_rule(folder, train)
    text = json.dumps(task, indent=2, ensure_ascii=False)
    (folder / "task.json").write_text(text + "\n", encoding="utf-8")
    for name, view in views.items():
        write_table(folder / name, _columns(view, images), form, train.slots, task.get("concepts", ()))


def _columns(view: View, images: bool) -> dict[str, Any]:
    import pyarrow as pa

    columns: dict[str, Any] = {"example": [f"{view.part}-{i}" for i in range(len(view))]}
    if view.sequential:
        columns |= {"sequence": view.sequences, "step": view.steps}
    with contextlib.suppress(TrackError):
        columns["label"] = [view.label_names[k] for k in view.labels.tolist()]
    columns |= {f"meta_{name}": np.asarray(column) for name, column in view.metadata.items()}
    concepts_given = view.track in ("symbolic", "pretrained")
    if concepts_given or (view.track == "concept_labels" and "label" in columns):
        columns["concepts"] = pa.array(view.concepts, pa.list_(pa.string()))
        if concepts_given:
            columns["probabilities"] = _nested(view.probabilities)
        columns["facts"] = pa.array([list(facts) for facts in view.contexts], pa.list_(pa.string()))
    if view.track == "known_rules":
        for name, program in (("facts", view.true_rule.asp), ("problog_facts", view.true_rule.problog)):
            columns[name] = pa.array([list(facts) for facts in program.contexts], pa.list_(pa.string()))
    if images:
        png_of: dict[bytes, bytes] = {}  # sources have few images, which come again and again
        try:
            pictures = [
                [None if image is None else _png(image, png_of) for image in slots] for slots in view.images
            ]
        except TrackError:
            pass
        else:
            columns["images"] = pa.array(pictures, pa.list_(pa.binary()))
    return columns


def _true_rule(folder: Path, train: View) -> dict[str, Any]:
    """Write the true rule's programs; the facts of its slots and concepts."""
    rule = train.true_rule
    (folder / "true_rule.lp").write_text(rule.asp.text, encoding="utf-8")
    (folder / "true_rule.pl").write_text(rule.problog.text, encoding="utf-8")
    return {"facts": rule.asp.facts, "problog_facts": rule.problog.facts}


def _labelled(few: LabelledImages) -> dict[str, Any]:
    import pyarrow as pa

    png_of: dict[bytes, bytes] = {}
    pictures = [[_png(image, png_of) if image.any() else None for image in places] for places in few.images]
    columns: dict[str, Any] = {"example": [f"labelled-{i}" for i in range(len(few.targets))]}
    columns |= {f"symbol_{k}": few.targets[:, k] for k in range(few.targets.shape[1])}
    return columns | {"images": pa.array(pictures, pa.list_(pa.binary()))}


def _nested(values: Floats32) -> Any:
    """An array [n, slots, concepts] as a column of lists of lists."""
    import pyarrow as pa

    n, slots, concepts = values.shape
    inner = pa.ListArray.from_arrays(
        pa.array(np.arange(0, n * slots * concepts + 1, max(1, concepts), dtype=np.int32)[: n * slots + 1]),
        pa.array(values.reshape(-1)),
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(0, n * slots + 1, slots, dtype=np.int32)), inner)


def _png(image: UInts8, png_of: dict[bytes, bytes]) -> bytes:
    """A PNG file of an image of a source; those that were made before are known by their pixels."""
    from nsl_bench.data.content import png

    pixels = image.tobytes()
    if pixels not in png_of:
        png_of[pixels] = png(image)
    return png_of[pixels]


@dataclass(frozen=True)
class Answers:
    """What a file of predictions says, in the order of the test examples.

    Attributes:
        probabilities: float64 [n, labels], or None where only labels are given.
        labels: int16 [n], or None where only probabilities are given.
    """

    probabilities: Floats | None
    labels: Ints16 | None

    @property
    def predicted(self) -> Ints16:
        """int16 [n]: the labels, or the most probable ones; none where all probabilities are zero."""
        if self.labels is not None:
            return self.labels
        assert self.probabilities is not None
        best: Ints16 = self.probabilities.argmax(axis=1).astype(np.int16)
        best[self.probabilities.max(axis=1) <= 0] = UNDECIDED
        return best


def read_predictions(path: Path, n: int, label_names: Sequence[str]) -> Answers:
    """Read the predictions for the test examples ``test-0`` to ``test-(n-1)``, from parquet, CSV or JSON."""
    import pyarrow as pa
    import pyarrow.parquet

    where = path.name
    if path.is_symlink() or not path.is_file():
        raise InvalidOutput(f"{where} is missing or is not a file.")
    if path.stat().st_size > _LARGEST_BYTES:
        raise InvalidOutput(f"{where} is too large for {n} predictions: {path.stat().st_size} bytes.")
    scores = [f"p_{name}" for name in label_names]
    if path.suffix in (".csv", ".json"):
        content = read_table(path, scores)
        schema, rows, read = content.schema, content.num_rows, content.select
    else:
        try:
            file = pyarrow.parquet.ParquetFile(path)
            claims, schema, read = file.metadata, file.schema_arrow, file.read
            # What reading fills memory with is the groups' rows, whatever the file says of itself.
            groups = sum(claims.row_group(k).num_rows for k in range(claims.num_row_groups))
            rows = max(claims.num_rows, groups)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InvalidOutput(f"{where} is not a parquet file: {_short(error)}.") from error
    if not n <= 2 * rows or rows > 2 * n + 1000:
        raise InvalidOutput(f"{where} must have {n} rows, one per test example; got {rows}.")
    given = [name for name in scores if name in schema.names]
    _check_columns(where, schema, given, scores)
    try:
        table = read(["example", *(["label"] if "label" in schema.names else []), *given])
        ids = table["example"].to_pylist()
        labels_given = table["label"].to_pylist() if "label" in table.column_names else None
        numbers = [table[name].to_numpy().astype(np.float64) for name in given]
    except (OSError, ValueError, TypeError, MemoryError, pa.ArrowException) as error:
        raise InvalidOutput(f"{where} cannot be read: {_short(error)}.") from error
    order = _order(where, ids, n)
    labels = None if labels_given is None else _labels(where, labels_given, label_names)[order]
    if given:
        return Answers(_probabilities(where, np.stack(numbers, axis=1), ids)[order], labels)
    return Answers(None, labels)


def _check_columns(where: str, schema: Any, given: Sequence[str], scores: Sequence[str]) -> None:
    import pyarrow as pa

    if len(set(schema.names)) < len(schema.names):
        raise InvalidOutput(f"{where} has two columns with the same name.")
    if "example" not in schema.names:
        raise InvalidOutput(
            f"{where} must have the column 'example'; got {', '.join(schema.names[:10]) or 'no columns'}."
        )
    if given and len(given) < len(scores):
        missing = [name for name in scores if name not in given]
        raise InvalidOutput(f"{where} has the column {given[0]} but lacks {', '.join(missing)}.")
    if not given and "label" not in schema.names:
        raise InvalidOutput(f"{where} must have the column 'label' or the columns {', '.join(scores)}.")
    strings = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    numbers = (pa.types.is_floating, pa.types.is_integer)
    for name, kinds, word in (
        ("example", strings, "strings"),
        ("label", strings, "strings"),
        *((name, numbers, "numbers") for name in given),
    ):
        if name in schema.names:
            kind = schema.field(name).type
            if not any(is_kind(kind) for is_kind in kinds):
                raise InvalidOutput(f"The column '{name}' of {where} must have {word}; got the type {kind}.")


def _order(where: str, ids: Sequence[Any], n: int) -> Ints:
    """For each test example the row that answers it."""
    expected = [f"test-{i}" for i in range(n)]
    counts = Counter(ids)
    missing = [name for name in expected if name not in counts]
    names_expected = set(expected)
    extra = [name for name in counts if name not in names_expected]
    doubled = [name for name, count in counts.items() if count > 1]
    if missing or extra or doubled:
        named = [str(group[0])[:50] for group in (missing, extra, doubled) if group]
        raise InvalidOutput(
            f"{where}: {len(missing)} examples missing, {len(extra)} unknown, {len(doubled)} repeated; "
            f"expected {n} test examples (first problem: {', '.join(named)})."
        )
    row = {name: i for i, name in enumerate(ids)}
    return np.array([row[name] for name in expected], np.int64)


def _labels(where: str, labels_given: Sequence[Any], names: Sequence[str]) -> Ints16:
    number = {**_NO_LABEL, **{name: k for k, name in enumerate(names)}}
    wrong = [label for label in labels_given if label not in number]
    if wrong:
        raise InvalidOutput(
            f"{where}: {len(wrong)} labels are not in {', '.join(number)}; first: {str(wrong[0])[:50]!r}."
        )
    return np.array([number[label] for label in labels_given], np.int16)


def _probabilities(where: str, values: Floats, ids: Sequence[str]) -> Floats:
    for bad, word in (
        (np.isnan(values).any(axis=1), "NaN or missing"),
        (np.isinf(values).any(axis=1), "infinite"),
        ((values < -1e-9).any(axis=1), "negative"),
        (values.sum(axis=1) > 1 + 1e-3, "more than 1 in sum"),
    ):
        if bad.any():
            first = ids[int(bad.argmax())]
            raise InvalidOutput(
                f"{where}: the probabilities of {int(bad.sum())} examples are {word}, first of {first}."
            )
    return values


def read_rules(path: Path) -> list[str] | None:
    """The rules of a ``hypothesis.lp``; None if there is no such file."""
    from nsl_bench.core.errors import UserError
    from nsl_bench.logic.asp.text import read_text
    from nsl_bench.logic.guarded.rules import one_by_one

    if path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > _LARGEST_RULES:
        raise InvalidOutput(
            f"{path.name} must have at most {_LARGEST_RULES} bytes; got {path.stat().st_size}."
        )
    try:
        return list(one_by_one(read_text(path), path.name))
    except UserError as error:
        raise InvalidOutput(f"{path.name} contains no valid rules: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
