"""Deep ensembles: the mean of Softmax CNNs from several seeds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import option
from nsl_bench.perception.network import Network
from nsl_bench.perception.networks.of_softmax import OfSoftmaxCNNs


class DeepEnsemble(OfSoftmaxCNNs):
    """Softmax CNNs trained from several seeds; their probabilities are averaged.

    Lakshminarayanan, Pritzel, Blundell: "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NeurIPS 2017, without its adversarial training. The seed determines the seeds of the Softmax
    CNNs; the first one of seed 0 has seed 0.
    """

    name = "ensemble"
    size: int = option(5, "number of Softmax CNNs", least=1)

    def members(self) -> tuple[Network, ...]:
        first = self.seed * self.size
        return tuple(self._member(first + k) for k in range(self.size))

    def predict_proba(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        parts = self.trained_parts()
        total = sum(part.predict_proba(images).astype(np.float64) for part in parts)
        return np.asarray(total / len(parts), np.float32)
