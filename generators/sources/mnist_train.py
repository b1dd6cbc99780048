"""The image source ``mnist_train``: MNIST as papers divide it, for learners that train perception themselves.

Learners see nearly all of MNIST's train images, and its test images are for their test sets alone. The source
``mnist`` gives the train images to networks instead, and divides the test images among learners.
"""

from __future__ import annotations

from nsl_bench.core.types import PoolPart

from .digits import Digits, Mnist, divide

_NETWORK_SHARE = 10


class MnistTrain(Mnist):
    """MNIST with its train images in pool A and its test images in pool B.

    The network's part has 10 % of the train images of each digit; pool A has the others.
    """

    name = "mnist_train"

    def _parts(self) -> dict[PoolPart, Digits]:
        images, digits = self.digits("train")
        network, a = divide(digits, (_NETWORK_SHARE,), self.seed)
        return {
            "network": (images[network], digits[network]),
            "a": (images[a], digits[a]),
            "b": self.digits("test"),
        }
