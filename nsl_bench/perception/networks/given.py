"""The network ``predictions:FOLDER``: the probabilities of each image, computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core import cache
from nsl_bench.core.declared import parse_json
from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.types import Array, Floats32, UInts8
from nsl_bench.data.content import DIGEST_BYTES, image_digest
from nsl_bench.perception.network import Network, OptionValue

if TYPE_CHECKING:
    import pandas as pd

_FILES = tuple(f"predictions.{form}" for form in ("parquet", "csv", "json", "npz"))


class GivenPredictions(Network):
    """Probabilities of images that were computed elsewhere, by any framework. It is not trained.

    The file has one row for each image: its ``hash``, as ``nsl-bench export --images`` writes it, and a
    column for each class. An npz file has arrays ``hash``, ``classes`` and ``probabilities`` [n, classes].
    """

    name = "predictions"

    folder: Path = option(REQUIRED, "folder with predictions.parquet, .csv, .json or .npz")

    def __post_init__(self) -> None:
        super().__post_init__()
        found = [self.folder / name for name in _FILES if (self.folder / name).is_file()]
        if len(found) != 1:
            raise UserError(
                f"predictions: the folder {self.folder} must have one of {', '.join(_FILES)}; "
                f"got {' and '.join(path.name for path in found) or 'none of them'}."
            )
        self.file = found[0]
        # Other predictions are other runs.
        self.version = f"1+{cache.content_key(self.file)}"  # type: ignore[misc]

    @property
    def options(self) -> Mapping[str, OptionValue]:
        """None, because where the file lies decides nothing."""
        return {}

    def of(self, concepts: tuple[str, ...]) -> Self:
        """The predictions for a task with these concepts.

        Raises:
            UserError: the file cannot be read, lacks a class, or has something else than probabilities.
        """
        self.concepts = concepts
        hashes, values = _read(self.file, concepts)
        self._known, first, places = np.unique(hashes, return_index=True, return_inverse=True)
        self._values = values[first]
        if (different := (self._values[places] != values).any(axis=1)).any():
            twice = hashes[int(different.argmax())]
            raise UserError(f"{self.file} has two rows with the hash {twice}, and they differ.")
        return self

    def predict_proba(self, images: UInts8) -> Floats32:
        asked = np.array([image_digest(image).hex() for image in images])
        places = np.searchsorted(self._known, asked).clip(max=len(self._known) - 1)
        lacking = asked[self._known[places] != asked]
        if len(lacking):
            raise UserError(
                f"{self.file} has no row with the hash {lacking[0]}, which an image of this run has; "
                "`nsl-bench export TASK --images` writes the images to predict."
            )
        result: Floats32 = self._values[places]
        return result

    def fit(self, *given: Any, **how: Any) -> NoReturn:
        raise UserError(f"The network predictions is not trained: {self.file} has its probabilities.")

    def parameters(self) -> Mapping[str, Array]:
        return {}

    def restore(self, parameters: Mapping[str, Array], header: Mapping[str, Any]) -> None:
        raise ValueError("predictions are not weights")


def _read(path: Path, concepts: Sequence[str]) -> tuple[npt.NDArray[np.str_], Floats32]:
    """The hash of each row [m], and the probabilities [m, concepts]."""
    import pyarrow as pa

    try:
        table = _table(path)
    except (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"{path} cannot be read as a table of predictions: {reason}.") from error
    for name in ("hash", *concepts):
        if name not in table:
            known = list(map(str, table.columns))
            raise UserError(f"{path} must have the column '{name}'.{did_you_mean(name, known)}")
    hashes = table["hash"].map(_text).str.lower()
    right = hashes.str.fullmatch(f"[0-9a-f]{{{2 * DIGEST_BYTES}}}")
    if table.empty or not right.all():
        got = "no rows" if table.empty else f"'{hashes[~right].iloc[0]}'"
        raise UserError(f"{path}: each hash must have {2 * DIGEST_BYTES} hexadecimal digits; got {got}.")
    try:
        values = table[list(concepts)].to_numpy(np.float32)
    except (TypeError, ValueError):
        raise UserError(f"{path} must have a number in each column of a class.") from None
    right = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) < 1e-3)
    if not right.all():
        which = hashes.iloc[int(right.argmin())]
        raise UserError(f"{path}: the probabilities of {which} must be 0 or more, and 1 in sum.")
    return hashes.to_numpy(np.str_), values


def _text(cell: object) -> str:
    """A hash as text, which some frameworks keep as bytes."""
    if not isinstance(cell, bytes):
        return str(cell)
    return cell.hex() if len(cell) == DIGEST_BYTES else cell.decode("ascii", "replace")


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            columns = [str(name) for name in arrays["classes"]]
            return pd.DataFrame(arrays["probabilities"], columns=columns).assign(hash=arrays["hash"])
    if path.suffix == ".json":
        return pd.DataFrame(parse_json(path.read_bytes()))
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype={"hash": str})
    return pd.read_parquet(path)
