"""Accuracy, calibration error and confidence of a network on held-out images of a source's pool.

These are the figures that the FFNSL paper gives for its networks (section 5: confidence of Softmax and
EDL-GEN on standard and shifted images).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import calibration_error
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import PoolPart
from nsl_bench.perception.network import Network
from nsl_bench.perception.predict import predict

EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Where the paper's histogram of confidence is cut; a bin holds its upper edge."""

BINS = ("0-0.25", "0.26-0.5", "0.51-0.75", "0.76-0.9", "0.91-0.95", "0.96-1")
"""The paper's names of its bins."""


@dataclass(frozen=True)
class Figures:
    """Figures of a network on images.

    Attributes:
        images: number of images.
        accuracy: share of images whose concept is predicted correctly, 0..1.
        calibration_error: expected calibration error of the confidence, with 15 bins.
        confidence: mean confidence: the probability of the predicted concept.
        histogram: share of confidences in each of `BINS`.
    """

    images: int
    accuracy: float
    calibration_error: float
    confidence: float
    histogram: tuple[float, ...]

    @property
    def sure(self) -> float:
        """Share of predictions above 0.95."""
        return self.histogram[-1]


def histogram(confidence: npt.NDArray[np.floating]) -> tuple[float, ...]:
    """The share of confidences [n] in each of `BINS`."""
    place = np.searchsorted(np.array(EDGES[1:-1]), confidence.astype(np.float64), side="left")
    counts = np.bincount(place, minlength=len(BINS))
    return tuple((counts / max(1, len(confidence))).tolist())


def sample(source: ImageSource, part: PoolPart, limit: int) -> npt.NDArray[np.int64]:
    """int64 [m]: indices of at most `limit` images, spread evenly over a part of the pool."""
    n = len(source.labels(part))
    if n == 0:
        raise UserError(
            f"The image source {source.name} has no images in pool part '{part}', on which networks are "
            "measured; add images of each concept."
        )
    return np.unique(np.linspace(0, n - 1, min(limit, n)).astype(np.int64))


def figures(
    network: Network,
    source: ImageSource,
    shift: Shift | None = None,
    *,
    part: PoolPart = "b",
    limit: int = 2000,
    workers: int = 1,
) -> Figures:
    """Measure a trained network on a source's held-out images. Predictions are cached.

    Args:
        limit: maximum number of images, spread evenly over the part.
    """
    rows = sample(source, part, limit)
    probabilities, _ = predict(network, source, part, shift, rows, workers=workers)
    labels = source.labels(part)[rows].astype(np.int64)
    confidence = probabilities.max(axis=1)
    return Figures(
        images=len(rows),
        accuracy=float(np.mean(probabilities.argmax(axis=1) == labels)),
        calibration_error=calibration_error(probabilities, labels),
        confidence=float(confidence.mean(dtype=np.float64)),
        histogram=histogram(confidence),
    )
