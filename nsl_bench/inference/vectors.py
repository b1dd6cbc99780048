"""Examples from a user's files: probability vectors from a table, or images from folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nsl_bench.benchmark import Benchmark
from nsl_bench.errors import UserError, did_you_mean, unknown

if TYPE_CHECKING:
    from nsl_bench.perception.network import Network

__all__ = ["Examples", "from_folder", "from_table", "metadata_of"]

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples without labels.

    Attributes:
        names: of the examples.
        probabilities: float64 [n, slots, concepts], zeros for a blank slot.
        facts: for each example the facts of its meta-data.
    """

    names: tuple[str, ...]
    probabilities: npt.NDArray[np.float64]
    facts: tuple[tuple[str, ...], ...]


def metadata_of(benchmark: Benchmark, given: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark's meta-data from text, whole numbers as such.

    Raises:
        UserError: one is missing, or is none of the benchmark's.
    """
    for name in given:
        if name not in benchmark.metadata:
            raise unknown(f"meta-datum of {benchmark.name}", name, benchmark.metadata)
    missing = [name for name in benchmark.metadata if name not in given]
    if missing:
        raise UserError(
            f"The benchmark {benchmark.name} needs the meta-datum '{missing[0]}' of each example "
            f"({benchmark.metadata[missing[0]]})."
        )
    return {name: _number(value) for name, value in given.items()}


def _number(value: Any) -> Any:
    text = str(value).strip()
    number = float(text) if text.replace(".", "", 1).replace("-", "", 1).isdigit() else None
    if number is None:
        return text
    return int(number) if number == int(number) else number


def from_table(benchmark: Benchmark, path: Path, given: Mapping[str, str]) -> Examples:
    """Examples from a CSV file: a row an image.

    Columns: ``example`` (any name), ``slot`` (one of the benchmark's; a slot without a row is blank), one
    for each concept, and one for each meta-datum that `given` does not hold.

    Raises:
        UserError: the file cannot be read, lacks a column, or holds what is no number, slot or concept.
    """
    import pandas as pd

    for name in given:
        if name not in benchmark.metadata:
            raise unknown(f"meta-datum of {benchmark.name}", name, benchmark.metadata)
    try:
        table = pd.read_csv(path, dtype={"example": str, "slot": str})
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(f"{path} cannot be read as CSV: {' '.join(str(error).split())}.") from None
    concepts = list(benchmark.concept_space.concepts)
    columns = ["example", "slot", *concepts, *(m for m in benchmark.metadata if m not in given)]
    for column in columns:
        if column not in table:
            near = did_you_mean(column, [str(c) for c in table.columns])
            raise UserError(
                f"{path} lacks the column '{column}'; it needs example, slot, one for each of the "
                f"{len(concepts)} concepts"
                f"{' and ' + ', '.join(benchmark.metadata) if benchmark.metadata else ''}.{near}"
            )
    for column in concepts:
        if not pd.api.types.is_numeric_dtype(table[column]):
            bad = next(v for v in table[column] if pd.isna(pd.to_numeric(v, errors="coerce")))
            raise UserError(f"{path}, column '{column}': '{bad}' is no probability.")
    for line, slot in enumerate(table["slot"], start=2):
        if slot not in benchmark.slots:
            raise UserError(
                f"{path}, line {line}: '{slot}' is no slot.{did_you_mean(str(slot), benchmark.slots)}"
            )
    if (twice := table.duplicated(["example", "slot"])).any():
        raise UserError(f"{path}, line {int(twice.argmax()) + 2}: this slot of the example was there before.")
    names = tuple(dict.fromkeys(table["example"].astype(str)))
    place = {name: i for i, name in enumerate(names)}
    probabilities = np.zeros((len(names), len(benchmark.slots), len(concepts)))
    rows = [place[name] for name in table["example"].astype(str)]
    probabilities[rows, [benchmark.slots.index(s) for s in table["slot"]]] = table[concepts].to_numpy(float)
    facts = []
    for _, group in table.groupby(table["example"].astype(str), sort=False):
        own = {m: group[m].iloc[0] for m in benchmark.metadata if m not in given}
        facts.append(benchmark.metadata_facts(metadata_of(benchmark, {**given, **own})))
    return Examples(names, probabilities, tuple(facts))


def from_folder(
    benchmark: Benchmark,
    folder: Path,
    shape: tuple[int, int, int],
    network: Network,
    given: Mapping[str, str],
) -> Examples:
    """Examples from image files: ``FOLDER/EXAMPLE/SLOT.png``, or ``FOLDER/SLOT.png`` for a single one.

    Args:
        benchmark: whose slots they fill; a slot without a file is blank.
        folder: where they are.
        shape: height, width and channels that the network takes; images are resized to it.
        network: sees the concepts.
        given: the examples' meta-data.

    Raises:
        UserError: there are no images, or a file is no image or fits no slot.
    """
    from PIL import Image, UnidentifiedImageError

    if not folder.is_dir():
        raise UserError(f"There is no folder of images {folder}.")
    folders = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    folders = [entry for entry in folders if _pictures(entry)] or ([folder] if _pictures(folder) else [])
    if not folders:
        raise UserError(
            f"There are no images in {folder}; expected EXAMPLE/SLOT.png, e.g. 1/{benchmark.slots[0]}.png."
        )
    facts = benchmark.metadata_facts(metadata_of(benchmark, given))
    height, width, channels = shape
    images, where = [], []
    for i, entry in enumerate(folders):
        for path in _pictures(entry):
            if path.stem not in benchmark.slots:
                raise UserError(
                    f"{path}: '{path.stem}' is no slot.{did_you_mean(path.stem, benchmark.slots)}"
                )
            try:
                with Image.open(path) as picture:
                    fitted = picture.convert("L" if channels == 1 else "RGB").resize((width, height))
            except (OSError, UnidentifiedImageError):
                raise UserError(f"{path} cannot be read as an image.") from None
            images.append(np.asarray(fitted, np.uint8).reshape(shape))
            where.append((i, benchmark.slots.index(path.stem)))
    probabilities = np.zeros((len(folders), len(benchmark.slots), len(benchmark.concept_space)))
    rows, slots = zip(*where, strict=True)
    probabilities[list(rows), list(slots)] = network.predict_proba(np.stack(images))
    return Examples(tuple(entry.name for entry in folders), probabilities, (facts,) * len(folders))


def _pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
