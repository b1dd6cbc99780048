"""What a run's page shows of its predictions, as texts in the site's data.

The predicted labels are one character an example, the probabilities of the true labels one byte an example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .predictions import Predicted

__all__ = ["LETTERS", "letters_of", "shown"]

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ?-"
"""A label's index as a character; the last two are several labels and none (indices -2 and -1)."""

_LETTERS = np.frombuffer(LETTERS.encode(), np.uint8)


def shown(predicted: Predicted, places: npt.NDArray[np.int64]) -> dict[str, bytes]:
    """The bytes of the predicted labels, ``labels``, and of the true labels' probabilities, ``true``.

    Args:
        predicted: labels, and probabilities if there are any.
        places: int64 [n], where a row of probabilities, example by example, holds those of the true labels.
    """
    codes, probabilities = predicted
    found = {"labels": letters_of(codes).tobytes()}
    if probabilities is not None:
        true = probabilities.reshape(-1)[places]
        found["true"] = (true * 255 + 0.5).astype(np.uint8).tobytes()
    return found


def letters_of(codes: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The characters of labels."""
    found: npt.NDArray[np.uint8] = _LETTERS[codes]
    return found
