"""How the files of a submission are packed: lines of text under zstd, rows of labels and probabilities.

A row is what one run predicted in one evaluation. Probabilities are numbers of 16 bits, each one of these:

===================  ================================================================
0 to 1000            thousandths
1000 + k, to 1700    10^-(2 + k / 20): below 0.01, twenty steps for each power of ten
-1 to -1700          1 minus the probability of the number without its sign
2000                 what the other labels leave of 1; once in a row
===================  ================================================================

Thousandths alone would change the log losses and Brier scores of answers that are nearly certain. The last
number halves the room of tasks with two labels.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import AMBIGUOUS, BLANK, UNDECIDED, AnyInts, Bools, Floats, Floats32, Ints16
from nsl_bench.run.concepts import read_concepts

if TYPE_CHECKING:
    import pandas as pd

EVALUATIONS = ("hypothesis", "framework")
CONCEPTS = "concepts"
"""What stands for the evaluation in the row of the concepts that a learner returned."""

LIKELIEST = -3
"""What stands for a label that is the most probable one."""

MOST_LABELS = 1024
"""That a contest's task may have."""

_LEVEL = 19
_MOST_CONCEPTS = np.iinfo(np.int16).max + 1

_FINE, _STEPS, _MOST, _LEFT = 0.01, 20, 1700, 2000


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text under zstd."""
    import pyarrow as pa

    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(pa.Codec("zstd", compression_level=_LEVEL).compress(text, asbytes=True))


def opened_lines(path: Path) -> BinaryIO:
    """The lines of a file that is packed so, unpacked as they are read; the caller closes it."""
    import pyarrow as pa

    return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")))


def column_types() -> dict[str, Any]:
    """The columns of ``predictions.parquet``, and their types of Arrow."""
    import pyarrow as pa

    text = pa.string()
    numbers = {"predicted": pa.list_(pa.int16()), "probabilities": pa.list_(pa.int16())}
    return {"run": text, "evaluation": text, **numbers}


def coded(given: npt.NDArray[np.floating[Any]]) -> Ints16:
    """The nearest codes of probabilities; what is not 0 does not become 0.

    The most probable label gets what the others leave, so that the sum stays what it is, and stays the most
    probable one; what is 1 stays 1.

    Args:
        given: float [n, labels].
    """
    exact = given.astype(np.float64).clip(0, 1)
    rest = (1 - exact.sum(axis=1)).clip(0)
    rest[rest < 1e-5] = 0  # what float32 lacks to 1 is no outcome
    rows, best = np.arange(len(exact)), exact.argmax(axis=1)
    codes = _nearest(exact)
    others = np.where(np.arange(exact.shape[1]) == best[:, None], 0, _PLAIN[codes]).sum(axis=1)
    left = others + _PLAIN[_nearest(rest)]
    near_one = np.where(left < _FINE, -_nearest(left), np.rint(1000 * (1 - left)))
    most = exact[rows, best]
    own = np.where(rest == 0, _LEFT, np.where(rest > most, codes[rows, best], near_one))
    codes[rows, best] = np.where(most == 1, 1000, own)
    values = decoded(codes)
    gap = values - values[rows, best][:, None]
    ahead = (gap > 0) | ((gap == 0) & (exact < most[:, None]))
    return np.where(ahead & (codes > 10) & (codes < 1000), codes - 1, codes).astype(np.int16)


def _nearest(values: Floats) -> Ints16:
    fine = (values > 0) & (values < _FINE)
    logs = np.log10(values, where=fine, out=np.full(values.shape, -2.0))
    steps = np.rint(-_STEPS * (logs + 2)).clip(0, _MOST - 1000)
    return np.where(steps > 0, 1000 + steps, np.rint(1000 * values)).astype(np.int16)


def is_code(codes: AnyInts) -> Bools:
    """Which numbers are codes; int [n, labels]."""
    once = np.cumsum(codes == _LEFT, axis=-1) == 1
    result: Bools = ((codes >= -_MOST) & (codes <= _MOST)) | ((codes == _LEFT) & once)
    return result


def decoded(codes: AnyInts) -> Floats32:
    """The probabilities of codes, float32 of the same shape, [n, labels]."""
    values = _VALUES[codes]
    rest = (1 - values.sum(axis=-1, keepdims=True)).clip(0)
    result: Floats32 = np.where(codes == _LEFT, rest, values).astype(np.float32)
    return result


_PLAIN = np.array(
    [size / 1000 if size <= 1000 else 10.0 ** -(2 + (size - 1000) / _STEPS) for size in range(_MOST + 1)]
)
"""The probability of each number without a sign."""

_VALUES = np.concatenate([_PLAIN, np.zeros(_LEFT - _MOST), 1 - _PLAIN[:0:-1]])
"""The probability of each code, those below 0 from the end; 0 of what the others leave."""


def run_rows(run: str, frame: pd.DataFrame, names: Sequence[str]) -> Iterable[dict[str, Any]]:
    """The rows of a run."""
    codes = {**{name: k for k, name in enumerate(names)}, "undecided": UNDECIDED, "ambiguous": AMBIGUOUS}
    for evaluation in EVALUATIONS:
        part = frame[frame["evaluation"] == evaluation]
        if part.empty:
            continue
        order = np.argsort([_number(str(example), run) for example in part["example"]])
        predicted = part["predicted"].map(codes).to_numpy().astype(np.int16)[order]
        given = [f"p_{name}" for name in names if f"p_{name}" in part and part[f"p_{name}"].notna().any()]
        if given and len(given) < len(names):
            lacking = next(name for name in names if f"p_{name}" not in given)
            raise UserError(f"The predictions of the run {run} lack probabilities of {lacking}.")
        exact = part[given].to_numpy(np.float32)[order] if given else None
        yield row_of(run, evaluation, predicted, exact)
        if evaluation == "framework" and CONCEPTS in part:
            yield from _row_of_concepts(run, part[CONCEPTS].to_numpy()[order].tolist())


def _row_of_concepts(run: str, texts: Sequence[str]) -> Iterable[dict[str, Any]]:
    """The row of the concepts that a learner returned; none of a task with more than a row can hold."""
    try:
        concepts = read_concepts(texts)
    except (ValueError, OverflowError) as error:
        raise UserError(f"The predictions of the run {run} have broken concepts: {error}.") from error
    if concepts.size and concepts.min() >= BLANK and concepts.max() < _MOST_CONCEPTS:
        yield row_of(run, CONCEPTS, concepts.astype(np.int16).reshape(-1), None)


def row_of(run: str, evaluation: str, predicted: Ints16, probabilities: Floats32 | None) -> dict[str, Any]:
    """A row of predictions.

    Args:
        predicted: int16 [n], labels; of concepts, those of all slots.
        probabilities: float32 [n, labels]; None of a learner that gives labels alone.
    """
    codes = None if probabilities is None or not probabilities.size else coded(probabilities)
    if codes is not None:
        predicted = np.where(predicted == decoded(codes).argmax(axis=1), LIKELIEST, predicted)
    return {
        "run": run,
        "evaluation": evaluation,
        "predicted": predicted.tolist(),
        "probabilities": None if codes is None else codes.reshape(-1).tolist(),
    }


def _number(example: str, run: str) -> int:
    """The number of an example, which stands at the end of its name."""
    digits = example.rpartition("-")[2]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise UserError(
            f"The predictions of the run {run} have the example {quoted(example)}; example names must "
            "end in '-NUMBER'."
        )
    return int(digits)
