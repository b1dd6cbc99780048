"""Lower bounds from other cores.

Several threads of clingo find different optima from run to run. They are therefore only asked what the
optimum costs, over an encoding of their own. The hypothesis always comes from the search by one thread, which
ends as soon as it has one that costs so much. So the answer is the same with any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from clingo import Model

from nsl_bench.core.budget import Budget
from nsl_bench.logic.las.clingo_tiers.encoding import Encoding

__all__ = ["Prover"]


class Prover:
    """Proves in the background what the optimum costs.

    Args:
        encode: makes an encoding with all examples grounded; None if time ran out before.
        threads: threads of clingo.
        upper: only hypotheses cheaper than this are looked for.
        budget: when to stop.

    Attributes:
        lower: no hypothesis costs less.
    """

    def __init__(
        self, encode: Callable[[Budget], Encoding | None], threads: int, upper: int | None, budget: Budget
    ) -> None:
        self.lower = 0
        self._encode = encode
        self._threads = threads
        self._upper = upper
        self._budget = Budget(budget.deadline, budget.memory)
        threading.Thread(target=self._run).start()

    def stop(self) -> None:
        """End the search; its thread ends at its next look at the budget."""
        self._budget.interrupted = True

    def _run(self) -> None:
        try:
            encoding = self._encode(self._budget)
            if encoding is not None:
                self._prove(encoding)
        except Exception:  # the search by one thread finds the same fault, or does without this one
            return

    def _prove(self, encoding: Encoding) -> None:
        solving = encoding.control.configuration.solve
        solving.parallel_mode = f"{self._threads},compete"  # type: ignore[union-attr]
        solving.opt_mode = "opt" if self._upper is None else f"opt,{self._upper - 1}"  # type: ignore[union-attr]
        costs: list[int] = []

        def keep(model: Model) -> None:
            chosen = [symbol.number for symbol in model.symbols(shown=True)]
            costs.append(encoding.cost(model, chosen))

        relaxed = encoding.literal("relaxed")
        result, _ = encoding.search([] if relaxed is None else [-relaxed], self._budget, keep)
        if result.exhausted and (costs or self._upper is not None):
            self.lower = min(costs) if costs else self._upper or 0
