"""Rules of strangers, answered in a process of its own with a time and a memory limit.

The rules are parsed without `#script` and `#include`; grounding and solving can still take for ever or
eat all memory, which is why nothing of it happens in the process that keeps the scores
(`nsl_bench.guarded.call`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench import registry
from nsl_bench.errors import UserError
from nsl_bench.guarded.call import Allowance, guarded
from nsl_bench.guarded.worker import needing

__all__ = ["RuleError", "answers_of_rules"]

_MEMORY_BYTES = 4 * 1024**3
_LONGEST_ERROR = 250


class RuleError(UserError):
    """Rules that cannot be used; the text says why."""


def answers_of_rules(
    benchmark: str,
    seed: int | str,
    number: int,
    rules: Sequence[str],
    seconds: float,
    concepts: npt.NDArray[np.int16] | None = None,
) -> tuple[npt.NDArray[np.int16], int, int]:
    """What rules derive on a benchmark's symbolic test set, and what they cost.

    Args:
        benchmark: its name.
        seed: of the test set.
        number: which test set, 1 unless train sets have test sets of their own.
        rules: texts of rules.
        seconds: wall time; what takes longer is ended.
        concepts: int16 [n, slots], asked in place of the true ones.

    Returns:
        The labels int16 [n] that they derive, their atoms, and how many rules they are.

    Raises:
        RuleError: they do not parse, cannot be used, or take too long or too much memory.
    """
    allowance = Allowance(seconds, _MEMORY_BYTES)
    try:
        told = guarded(
            _judge,
            benchmark,
            seed,
            number,
            list(rules),
            concepts,
            doing="Answering with the rules",
            allowance=allowance,
        )
    except UserError as error:
        raise RuleError(textwrap.shorten(str(error), _LONGEST_ERROR, placeholder=" ... .")) from None
    except (RuntimeError, ValueError, OverflowError) as error:  # clingo raises them for whatever it cannot do
        text = f"The rules cannot be used: {type(error).__name__}: {error}"
        raise RuleError(textwrap.shorten(text, _LONGEST_ERROR, placeholder=" ...") + ".") from None
    return told["labels"], told["atoms"], told["rules"]


@needing("nsl_bench.data.splits", "nsl_bench.inference.crisp", "nsl_bench.las.bias.hypothesis")
def _judge(
    benchmark: str,
    seed: int | str,
    number: int,
    rules: Sequence[str],
    concepts: npt.NDArray[np.int16] | None,
) -> dict[str, Any]:
    from nsl_bench.data.splits import symbolic_split, task_of_split
    from nsl_bench.inference.crisp import crisp_labels
    from nsl_bench.las.bias.hypothesis import count_atoms, rules_in

    named = registry.create("benchmark", benchmark)
    split = symbolic_split(named, "test", next(iter(named.sizes)), number, seed=seed)
    task = task_of_split(named, number, seed)
    contexts = task.contexts(split.concepts if concepts is None else concepts, split.metadata)
    labels = crisp_labels(rules, task.background, contexts, task.labels)
    return {"labels": labels, "atoms": count_atoms(task, rules), "rules": len(rules_in(rules))}
