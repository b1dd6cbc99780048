"""Networks from an example's images to its label, trained on labels alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from nsl_bench.core.tracks import Track
from nsl_bench.learners.images import thumbnails
from nsl_bench.learners.neural import GradientLearner
from nsl_bench.learners.view import View


class ImageNetwork(GradientLearner):
    """A network on all images of an example, reduced to 28 by 28 pixels."""

    track: Track = "end_to_end"

    @abstractmethod
    def _network(self, slots: int, channels: int, labels: int) -> Any:
        """A module from what `_scaled` gives to logits [m, labels]."""

    @staticmethod
    @abstractmethod
    def _scaled(images: Any) -> Any:
        """Float tensor, 0 to 1, of images, uint8 [m, slots, channels, 28, 28]."""

    def _start(self, train: View) -> tuple[Any, Any]:
        images = self._read(train)
        return self._network(images.shape[1], images.shape[2], train.n_labels), images

    def _read(self, view: View) -> Any:
        return thumbnails(view)

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        return net(self._scaled(seen[rows]))
