"""`nsl_bench.as_sequences`: a data set whose rows are steps, with one row for each sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.sequences import check_sequences, first_rows
from nsl_bench.data.arrow import stated_steps
from nsl_bench.data.rows import SEQUENCE_COLUMNS

if TYPE_CHECKING:
    from datasets import Dataset


def as_sequences(dataset: Dataset) -> Dataset:
    """Make one row of each sequence of a data set that `nsl_bench.load` gives.

    Args:
        dataset: rows are steps, with the columns ``sequence`` and ``step``.

    Returns:
        A `Dataset` with one row for each sequence: ``sequence``, and for every other column the list of its
        values over the steps. Images are not copied.

    Raises:
        UserError: the data set has no sequences, a sequence is cut, or its steps are out of order.
    """
    import datasets
    import pyarrow as pa

    if not isinstance(dataset, datasets.Dataset):
        raise UserError(f"as_sequences requires a Dataset; got {type(dataset).__name__}.")
    lacking = [name for name in SEQUENCE_COLUMNS if name not in dataset.column_names]
    if lacking:
        raise UserError(f"The data set has no column '{lacking[0]}'; its rows are not steps of sequences.")
    table = dataset.flatten_indices().data.table
    steps, given = (table[name].to_numpy().astype(np.int64) for name in ("step", "sequence"))
    numbers = np.cumsum(np.diff(given, prepend=given[:1] - 1) != 0) - 1  # a selection keeps its own numbers
    try:
        check_sequences(numbers, steps)
    except ValueError as error:
        raise UserError(f"The sequences of the data set cannot be used: {error}.") from error
    starts = first_rows(steps)
    _check_ends(given[starts], np.diff([*starts, len(steps)]), stated_steps(dataset.info.description))
    offsets = pa.array([*starts, len(steps)], pa.int32())
    columns: dict[str, Any] = {"sequence": pa.array(given[starts])}
    features: dict[str, Any] = {"sequence": dataset.features["sequence"]}
    for name in dataset.column_names:
        if name == "sequence":
            continue
        values = table[name].combine_chunks()
        whole = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
        columns[name] = pa.ListArray.from_arrays(offsets, whole)
        features[name] = datasets.List(dataset.features[name])
    result = datasets.Features(features)
    info = datasets.DatasetInfo(description=dataset.info.description, features=result)
    made = pa.table(columns).cast(result.arrow_schema)
    return datasets.Dataset(made, info=info, split=dataset.split)


def _check_ends(sequences: Any, lengths: Any, stated: int | None) -> None:
    """Refuse sequences that are shorter than others, or than the data set's description states."""
    if len(lengths) and lengths.min() < lengths.max():
        at = int(lengths.argmin())
        raise UserError(
            f"Sequence {sequences[at]} of the data set is cut: it has {lengths[at]} steps, and others have "
            f"{lengths.max()}; select whole sequences."
        )
    if stated is not None and len(lengths) and lengths[0] < stated:
        raise UserError(
            f"All sequences of the data set are cut: they have {lengths[0]} steps instead of {stated}; "
            "select whole sequences."
        )
