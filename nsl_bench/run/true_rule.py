"""Compare learned rules and their examples with the true rule: equivalence, and incorrect examples."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.processes.messages import restored
from nsl_bench.core.types import LabelSpace, WeightedExample
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import GROUNDING_SECONDS, Allowance
from nsl_bench.logic.guarded.rules import crisp

if TYPE_CHECKING:
    from nsl_bench.logic.las.semantics.equivalence import Counterexample

_NONE = -3
"""No label of the task, nor what rules derive."""

_EQUIVALENCE_SECONDS = 20.0
"""What a search for a difference may take; grounding may take `GROUNDING_SECONDS` besides."""


def example_quality(examples: list[WeightedExample], benchmark: Benchmark) -> dict[str, float]:
    """`weight_penalty_ratio` and `incorrect_examples`: does the true rule give the examples' labels?

    Empty without examples or without a true rule.
    """
    if not examples or not benchmark.true_rule:
        return {}
    asked, contexts, wanted = [], [], []
    for k, example in enumerate(examples):
        for context, label in _labels_in(example, benchmark):
            asked.append(k)
            contexts.append(context)
            wanted.append(label)
    what = "the true rule, on the examples that the learner generated"
    derived = crisp([benchmark.true_rule], benchmark.background, contexts, benchmark.labels, what=what)
    wrong = np.bincount(asked, derived != np.array(wanted), minlength=len(examples))
    correct = wrong == 0
    penalties = np.array([example.penalty or 0 for example in examples])
    return {
        "weight_penalty_ratio": float(penalties[correct].sum() / max(1, penalties.sum())),
        "incorrect_examples": float(np.mean(~correct)),
    }


def _labels_in(example: WeightedExample, benchmark: Benchmark) -> list[tuple[tuple[str, ...], int]]:
    """The context of each row of an example and the label that the example says it has, or `_NONE`.

    A row is an example. A sequence that is one example has the labels of all its steps, and its context does
    not say which step is asked.
    """
    space = benchmark.labels
    asks = {fact.partition("(")[0] for fact in benchmark.current_step(1)}
    if not benchmark.sequential or any(fact.partition("(")[0] in asks for fact in example.context):
        return [(example.context, _label_of(example.inclusions, example.exclusions, space))]
    required, forbidden = set(example.inclusions), set(example.exclusions)
    result: list[tuple[tuple[str, ...], int]] = []
    while True:
        step = len(result) + 1
        atoms = {atom: benchmark.step_atom(atom, step) for atom in space.atoms if atom is not None}
        mine, others = (
            tuple(atom for atom, at_step in atoms.items() if at_step in given)
            for given in (required, forbidden)
        )
        if not mine and not others:
            return result or [(example.context, _NONE)]
        result.append((example.context + benchmark.current_step(step), _label_of(mine, others, space)))


def _label_of(inclusions: tuple[str, ...], exclusions: tuple[str, ...], space: LabelSpace) -> int:
    """The label with these inclusions and exclusions, or `_NONE`."""
    given = (set(inclusions), set(exclusions))
    places = (
        label
        for label in range(len(space))
        if given == (set(space.inclusions(label)), set(space.exclusions(label)))
    )
    return next(places, _NONE)


def is_true_rule(rules: tuple[str, ...], benchmark: Benchmark, memory: int | None = None) -> bool:
    """Whether rules are equivalent to a benchmark's true rule on every possible input."""
    return difference(rules, benchmark, memory) is None


def difference(
    rules: tuple[str, ...], benchmark: Benchmark, memory: int | None = None, seconds: float | None = None
) -> Counterexample | None:
    """An input on which rules and a benchmark's true rule differ; None if they are equivalent.

    Args:
        memory: memory limit in bytes; None for half of the machine's memory.
        seconds: what the search may take; None for 20.

    Raises:
        UserError: the true rule is unknown, or the rules cannot be compared with it.
    """
    if not benchmark.true_rule:
        raise UserError(f"The rule that labels the data of {benchmark.name} is unknown.")
    atoms = tuple(atom for atom in benchmark.labels.atoms if atom is not None)
    texts = (benchmark.true_rule, benchmark.background, benchmark.inputs)
    result = _compared(rules, texts, atoms, memory, _EQUIVALENCE_SECONDS if seconds is None else seconds)
    if isinstance(result, UserError):
        raise result
    return result


@lru_cache(maxsize=4096)
def _compared(
    rules: tuple[str, ...],
    texts: tuple[str, str, str],
    atoms: tuple[str, ...],
    memory: int | None,
    seconds: float,
) -> Counterexample | UserError | None:
    """`difference`; why there is no answer is kept as well, for that may take its time."""
    true_rule, background, inputs = texts
    try:
        found = guarded(
            "nsl_bench.logic.las.semantics.equivalence:equivalent",
            rules,
            (true_rule,),
            background=background,
            inputs=inputs,
            atoms=atoms,
            known=atoms,
            doing="Comparing two hypotheses",
            time_limit=seconds,
            allowance=Allowance(GROUNDING_SECONDS + 2 * seconds, memory),
        )
    except UserError as error:
        return error
    if found is None:
        return None
    from nsl_bench.logic.las.semantics.equivalence import Counterexample

    return restored(Counterexample, found)  # type: ignore[no-any-return]
