"""How good what was learned, and learned from, is by the true rule: equivalence, and correct examples."""

from __future__ import annotations

from functools import cache as memoise

import numpy as np

from nsl_bench import registry
from nsl_bench.benchmark import Benchmark
from nsl_bench.types import WeightedExample

__all__ = ["example_quality", "is_true_rule"]

_EQUIVALENCE_SECONDS = 20.0


def example_quality(examples: list[WeightedExample], benchmark: Benchmark) -> dict[str, float]:
    """`weight_penalty_ratio` and `incorrect_examples`: does the true rule give the examples' labels?"""
    from nsl_bench.inference.crisp import crisp_labels

    if not examples:
        return {}
    contexts = [example.context for example in examples]
    derived = crisp_labels([benchmark.true_rule], benchmark.background, contexts, benchmark.labels)
    correct = np.array(
        [
            label >= 0
            and benchmark.labels.inclusions(label) == example.inclusions
            and benchmark.labels.exclusions(label) == example.exclusions
            for label, example in zip(derived.tolist(), examples, strict=True)
        ]
    )
    penalties = np.array([example.penalty or 0 for example in examples])
    return {
        "weight_penalty_ratio": float(penalties[correct].sum() / max(1, penalties.sum())),
        "incorrect_examples": float(np.mean(~correct)),
    }


@memoise
def is_true_rule(rules: tuple[str, ...], name: str) -> bool:
    """Whether rules are equivalent to a benchmark's true rule on every possible input.

    Raises:
        UserError: it cannot be decided, or not in time.
    """
    from nsl_bench.las.semantics.equivalence import equivalent

    benchmark: Benchmark = registry.create("benchmark", name)
    atoms = tuple(atom for atom in benchmark.labels.atoms if atom is not None)
    counterexample = equivalent(
        rules,
        (benchmark.true_rule,),
        background=benchmark.background,
        inputs=benchmark.inputs,
        atoms=atoms,
        time_limit=_EQUIVALENCE_SECONDS,
    )
    return counterexample is None
