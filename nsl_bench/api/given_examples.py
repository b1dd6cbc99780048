"""Examples from a user's files: probability vectors from a table, or images from folders."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, did_you_mean, unknown
from nsl_bench.core.types import Floats, UInts8
from nsl_bench.logic.inference.query import problem

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.perception.network import Network

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff")
MOST_STEPS = 1000
"""Steps that a sequence may have."""

Row = tuple[str, int]
"""Name of an example or sequence, and the step; 1 for an example."""

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples without labels, one row each. In a task of sequences, a row is a step of a sequence.

    Attributes:
        names: name of the example, or of the sequence, of each row.
        probabilities: float64 [n, slots, concepts], zeros for a blank slot.
        facts: the facts of each row's meta-data.
        steps: place of each row in its sequence, from 1; empty if rows are no steps. The rows of a sequence
            are adjacent, with its steps in order.
    """

    names: tuple[str, ...]
    probabilities: Floats
    facts: tuple[tuple[str, ...], ...]
    steps: tuple[int, ...] = ()


def metadata_of(benchmark: Benchmark, given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Read a task's meta-data from text.

    Args:
        benchmark: the task, which declares its meta-data; ``"1..19"`` means whole numbers from 1 to 19.
        given: values by name.
        where: origin of the values, which starts a message, e.g. ``"vectors.csv, line 2: "``.
    """
    for name in given:
        if name not in benchmark.metadata:
            raise unknown(f"meta-datum of {benchmark.name}", name, benchmark.metadata)
    result = {name: _number(value) for name, value in given.items()}
    for name, what in benchmark.metadata.items():
        if result.get(name, "") == "":
            raise UserError(f"{where}{benchmark.name} needs the metadata '{name}' of each example ({what}).")
        bounds = _RANGE.fullmatch(what)
        value = result[name]
        if bounds and not (isinstance(value, int) and int(bounds[1]) <= value <= int(bounds[2])):
            raise UserError(
                f"{where}The metadata '{name}' must be a whole number in {what}; got '{given[name]}'."
            )
    return result


def _number(value: Any) -> Any:
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() else number


def from_table(benchmark: Benchmark, path: Path, given: Mapping[str, str]) -> Examples:
    """Read examples from a CSV file with one row per image.

    Columns: ``example`` (any name), ``slot`` (a slot of the task; a slot without a row is blank), one per
    concept, and one per meta-data value that is not in `given`. A task of sequences also needs ``step``
    (1, 2, 3, ...); the example is then a sequence, and each of its steps has at least one row.
    """
    for name in given:
        if name not in benchmark.metadata:
            raise unknown(f"meta-datum of {benchmark.name}", name, benchmark.metadata)
    concepts = list(benchmark.concept_space.concepts)
    own = [name for name in benchmark.metadata if name not in given]
    key = ["example", "step"] if benchmark.sequential else ["example"]
    table = _read(path, [*key, "slot", *benchmark.metadata], concepts)
    _check_columns(benchmark, path, table, [*key, "slot", *concepts, *own], given)
    if table.empty:
        raise UserError(f"{path} has no rows; it needs one row per image.")
    values = _probabilities(path, table, concepts)
    for line, (name, slot) in enumerate(zip(table["example"], table["slot"], strict=True), start=2):
        if not name.strip():
            raise UserError(f"{path}, line {line}: the example's name is empty.")
        if slot not in benchmark.slots:
            raise UserError(
                f"{path}, line {line}: unknown slot '{slot}'.{did_you_mean(slot, benchmark.slots)}"
            )
    steps = _steps(path, table) if benchmark.sequential else [1] * len(table)
    stated = list(zip(table["example"], steps, strict=True))
    if (twice := table.assign(step=steps).duplicated(["example", "step", "slot"])).any():
        raise UserError(f"{path}, line {int(twice.argmax()) + 2}: this slot of the {key[-1]} is given twice.")
    order = _whole(stated, str(path))
    place = {each: i for i, each in enumerate(order)}
    probabilities = np.zeros((len(order), len(benchmark.slots), len(concepts)))
    rows = [place[each] for each in stated]
    probabilities[rows, [benchmark.slots.index(s) for s in table["slot"]]] = values
    facts = _facts(benchmark, path, table, own, given, stated)
    return _arranged(benchmark, order, probabilities, [facts[each] for each in order])


def _steps(path: Path, table: pd.DataFrame) -> list[int]:
    """The step of each row."""
    for line, text in enumerate(table["step"], start=2):
        if not (text.strip().isdecimal() and text.strip().isascii() and 0 < int(text) <= MOST_STEPS):
            raise UserError(
                f"{path}, line {line}: step must be a whole number from 1 to {MOST_STEPS}; got '{text}'."
            )
    return [int(text) for text in table["step"]]


def _whole(stated: Iterable[Row], where: str) -> list[Row]:
    """The rows in order: sequence by sequence as they come first, each with its steps 1, 2, 3, ...

    Args:
        where: origin of the rows, which starts a message.
    """
    result: dict[str, set[int]] = {}
    for name, step in stated:
        result.setdefault(name, set()).add(step)
    for name, steps in result.items():
        lacking = next(step for step in range(1, len(steps) + 2) if step not in steps)
        if lacking <= len(steps):
            raise UserError(
                f"{where}: sequence '{name}' has step {max(steps)}, but not step {lacking}; give every step "
                f"from 1 to {max(steps)}."
            )
    return [(name, step) for name, steps in result.items() for step in sorted(steps)]


def _arranged(
    benchmark: Benchmark, order: Sequence[Row], probabilities: Floats, facts: Sequence[tuple[str, ...]]
) -> Examples:
    names, steps = tuple(name for name, _ in order), tuple(step for _, step in order)
    return Examples(names, probabilities, tuple(facts), steps if benchmark.sequential else ())


def _read(path: Path, texts: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """A CSV file; a cell is empty (NaN) in the columns `numbers` only."""
    import pandas as pd

    try:
        table = pd.read_csv(
            path,
            dtype=dict.fromkeys(texts, str),
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
            compression=None,
        )
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"{path} is not valid CSV: {' '.join(str(error).split()).rstrip('.')}.") from None
    return table


def _check_columns(
    benchmark: Benchmark, path: Path, table: pd.DataFrame, wanted: Sequence[str], given: Mapping[str, str]
) -> None:
    there = [str(column) for column in table.columns]
    step = "step, " if benchmark.sequential else ""
    for column in wanted:
        if column not in there:
            raise UserError(
                f"{path} lacks the column '{column}'; it needs example, {step}slot, one for each of the "
                f"{len(benchmark.concept_space)} concepts"
                f"{' and ' + ', '.join(benchmark.metadata) if benchmark.metadata else ''}."
                f"{did_you_mean(column, there)}"
            )
    for column in there:
        if column in given:
            raise UserError(
                f"{path} has the column '{column}', which --metadata also gives; keep one of them."
            )
        name, _, number = column.rpartition(".")
        if number.isdigit() and name in wanted and column not in wanted:  # so pandas calls the second one
            raise UserError(f"{path} has the column '{name}' twice.")


def _probabilities(path: Path, table: pd.DataFrame, concepts: Sequence[str]) -> Floats:
    """float64 [rows, concepts]."""
    import pandas as pd

    for column in concepts:
        if not pd.api.types.is_numeric_dtype(table[column]):
            numbers = pd.to_numeric(table[column], errors="coerce")
            bad = numbers.isna() & table[column].notna()
            if bad.any():
                line = int(bad.argmax()) + 2
                raise UserError(
                    f"{path}, line {line}, column '{column}': '{table[column][line - 2]}' is not a "
                    "probability."
                )
            table[column] = numbers.astype(float)
    values = np.asarray(table[list(concepts)].to_numpy(float), np.float64)
    result = problem(values)
    if result is not None:
        row, *rest = result.where
        of = f" of '{concepts[rest[0]]}'" if rest else ""
        raise UserError(f"{path}, line {row + 2}: a {result.what}{of}.")
    return values


def _facts(
    benchmark: Benchmark,
    path: Path,
    table: pd.DataFrame,
    own: Sequence[str],
    given: Mapping[str, str],
    stated: Sequence[Row],
) -> dict[Row, tuple[str, ...]]:
    """For each example or step the facts of its meta-data, which all its rows state alike."""
    facts_of_row: dict[Row, tuple[str, ...]] = {}
    read: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    cells = zip(*(table[name] for name in own), strict=True) if own else [()] * len(table)
    for line, (row, values) in enumerate(zip(stated, map(tuple, cells), strict=True), start=2):
        example, step = row
        if (step, values) not in read:
            metadata = {**_at_step(benchmark, given, step), **dict(zip(own, values, strict=True))}
            where = f"{path}, line {line}: " if own else ""
            read[step, values] = benchmark.metadata_facts(metadata_of(benchmark, metadata, where))
        if facts_of_row.setdefault(row, read[step, values]) != read[step, values]:
            of = f"step {step} of sequence '{example}'" if benchmark.sequential else f"example '{example}'"
            raise UserError(f"{path}, line {line}: {' or '.join(own)} of {of} differs from an earlier row.")
    return facts_of_row


def _at_step(benchmark: Benchmark, given: Mapping[str, Any], step: int) -> dict[str, Any]:
    """The meta-data of a step, of those given for all examples: later steps are not told what was before."""
    later = step > 1 and bool(benchmark.memory())
    return {name: -1 if later and name == "previous" else value for name, value in given.items()}


def from_folder(
    benchmark: Benchmark,
    folder: Path,
    shape: tuple[int, int, int],
    network: Callable[[], Network],
    given: Mapping[str, str],
) -> Examples:
    """Read examples from image files: ``FOLDER/EXAMPLE/SLOT.png``, or ``FOLDER/SLOT.png`` for one example.

    A task of sequences has a folder for each step: ``FOLDER/EXAMPLE/STEP/SLOT.png``, or
    ``FOLDER/STEP/SLOT.png`` for one sequence.

    Args:
        benchmark: the task that has the slots; a slot without a file is blank.
        shape: height, width and channels of the network's input; images are resized to it.
        network: gives the perception network, once the images are read: it may have to be trained.
    """
    metadata_of(benchmark, given)
    images, where = [], []
    if benchmark.sequential:
        examples = _sequences(benchmark, folder)
    else:
        expected = f"expected EXAMPLE/SLOT.png, e.g. 1/{benchmark.slots[0]}.png"
        single = _examples(benchmark, folder, expected)
        examples = {(name, 1): files for name, files in single.items()}
    order = _whole(examples, str(folder))
    for i, row in enumerate(order):
        for slot, path in examples[row].items():
            images.append(_image(path, shape))
            where.append((i, benchmark.slots.index(slot)))
    probabilities = np.zeros((len(order), len(benchmark.slots), len(benchmark.concept_space)))
    rows, slots = zip(*where, strict=True)
    probabilities[list(rows), list(slots)] = network().predict_proba(np.stack(images))
    metadata = [metadata_of(benchmark, _at_step(benchmark, given, step)) for _, step in order]
    return _arranged(benchmark, order, probabilities, [benchmark.metadata_facts(each) for each in metadata])


def _sequences(benchmark: Benchmark, folder: Path) -> dict[Row, dict[str, Path]]:
    """The files of each step of each sequence by slot."""
    expected = f"expected EXAMPLE/STEP/SLOT.png, e.g. 7/1/{benchmark.slots[0]}.png"
    if not folder.is_dir():
        raise UserError(f"The image folder {folder} does not exist.")
    inner = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not inner:
        raise UserError(f"{folder} contains no sequences; {expected}.")
    deep = any(entry.is_dir() for one in inner for entry in one.iterdir())
    result: dict[Row, dict[str, Path]] = {}
    for sequence in inner if deep else [folder]:
        steps = _examples(benchmark, sequence, expected)
        for name, files in steps.items():
            if len(steps) == 1 and name == sequence.name and deep and not (sequence / name).is_dir():
                raise UserError(f"{sequence} contains images, but no folder of a step; {expected}.")
            if not (name.isdecimal() and name.isascii() and 0 < int(name) <= MOST_STEPS):
                raise UserError(
                    f"{sequence / name}: a step's folder must be named by a whole number from 1 to "
                    f"{MOST_STEPS}; {expected}."
                )
            if (row := (sequence.name, int(name))) in result:
                raise UserError(f"{sequence} has two folders of step {int(name)}; keep one of them.")
            result[row] = files
    return result


def _examples(benchmark: Benchmark, folder: Path, expected: str) -> dict[str, dict[str, Path]]:
    """The files of each example by slot; the example is the folder itself if it holds no others."""
    if not folder.is_dir():
        raise UserError(f"The image folder {folder} does not exist.")
    folders = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    single = _pictures(benchmark, folder)
    if folders and single:
        raise UserError(
            f"{folder} contains both images and the folder {folders[0].name}; {expected}, or only images."
        )
    if not folders and not single:
        raise UserError(f"{folder} contains no images; {expected}.")
    result = {entry.name: _pictures(benchmark, entry) for entry in folders} or {folder.name: single}
    for name, pictures in result.items():
        if not pictures:
            raise UserError(f"The folder of the example, {folder / name}, contains no images; {expected}.")
    return result


def _pictures(benchmark: Benchmark, folder: Path) -> dict[str, Path]:
    """The file of each slot that has one; files of other kinds are no business of ours."""
    result: dict[str, Path] = {}
    for path in sorted(entry for entry in folder.iterdir() if not entry.is_dir()):
        slot = path.stem
        if path.suffix.lower() not in _SUFFIXES:
            if slot in benchmark.slots:
                raise UserError(
                    f"{path} is not an image file; expected {slot} with one of {', '.join(_SUFFIXES)}."
                )
            continue
        if slot not in benchmark.slots:
            raise UserError(f"{path}: unknown slot '{slot}'.{did_you_mean(slot, benchmark.slots)}")
        if slot in result:
            raise UserError(f"{result[slot]} and {path.name} are images of the same slot; keep one of them.")
        result[slot] = path
    return result


def _image(path: Path, shape: tuple[int, int, int]) -> UInts8:
    """uint8 [height, width, channels] from a file."""
    from nsl_bench.core.pictures import in_bytes, opaque, opened, upright

    height, width, channels = shape
    with opened(path) as picture:
        colours = opaque(in_bytes(upright(picture)))
    fitted = colours.convert("L" if channels == 1 else "RGB").resize((width, height))
    return np.asarray(fitted, np.uint8).reshape(shape)
