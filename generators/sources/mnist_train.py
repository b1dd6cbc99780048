"""The image source ``mnist_train``: MNIST as papers divide it, for learners that train perception themselves.

Learners see nearly all of MNIST's train images, and its test images are for their test sets alone. The source
``mnist`` gives the train images to networks instead, and divides the test images among learners.
"""

from __future__ import annotations

from pathlib import Path

from nsl_bench.types import ConceptSpace, PoolPart

from .digits import Digits, Mnist, divide

__all__ = ["MnistTrain"]

_NETWORK_SHARE = 10


class MnistTrain(Mnist):
    """MNIST with its train images in pool A and its test images in pool B.

    The network's part has 10 % of the train images of each digit; pool A has the others.
    """

    name = "mnist_train"

    def __init__(
        self,
        root: Path,
        concept_space: ConceptSpace | None = None,
        download: bool = False,
        seed: int = 0,
        side: int = 28,
        seen: bool = False,
    ) -> None:
        """Find the files.

        Args:
            root: the folder.
            concept_space: the digits to show, or numbers of two digits; 0 to 9 if None.
            download: whether to download missing files through torchvision.
            seed: determines which train images are the network's.
            side: height and width of an image, in pixels.
            seen: whether pool B has the images of pool A again, so that tests are of rules more than of
                perception. Results with it are no measure of generalisation to new images.

        Raises:
            UserError: a file is missing, a concept is not such a number, the seed is negative, or the side is
                out of range.
        """
        super().__init__(root, concept_space, download, seed, side)
        self.seen = seen

    def _parts(self) -> dict[PoolPart, Digits]:
        images, digits = self.digits("train")
        network, a = divide(digits, (_NETWORK_SHARE,), self.seed)
        shown = (images[a], digits[a])
        return {
            "network": (images[network], digits[network]),
            "a": shown,
            "b": shown if self.seen else self.digits("test"),
        }
