"""Adam for small networks: torch's arithmetic without what its optimiser classes do around it.

`torch.optim.Adam` imports torch's compiler, two seconds of CPU time, and takes as long as the arithmetic
itself for hooks and checks in every step. Its functional form gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Adam:
    """Adam with the default decay rates (Kingma and Ba, ICLR 2015), on a CPU.

    Args:
        parameters: the tensors to optimise.
        learning_rate: step size.
        epsilon: added to the denominator.
    """

    def __init__(self, parameters: Iterable[Any], learning_rate: float, epsilon: float) -> None:
        import torch

        self._parameters = list(parameters)
        self._learning_rate, self._epsilon = learning_rate, epsilon
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._steps = [torch.zeros(()) for _ in self._parameters]

    def step(self, loss: Any) -> None:
        """Change the parameters by the gradient of a loss, a scalar tensor that depends on all of them."""
        import torch
        from torch.optim.adam import adam

        for each in self._parameters:
            each.grad = None
        loss.backward()
        with torch.no_grad():
            adam(
                self._parameters,
                [each.grad for each in self._parameters],
                self._means,
                self._squares,
                [],
                self._steps,
                foreach=False,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._learning_rate,
                weight_decay=0.0,
                eps=self._epsilon,
                maximize=False,
            )
