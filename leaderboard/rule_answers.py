"""Evaluate submitted rules and branches of trees in a separate process with limits on time and memory.

`#script` and `#include` are refused. Grounding and solving could still run forever or use all memory, so they
never happen in the process that has the scores (`nsl_bench.logic.guarded.call`).
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Ints16
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import Allowance

_MEMORY_BYTES = 4 * 1024**3
_LONGEST_ERROR = 250


class RuleError(UserError):
    """The rules cannot be used; the message says why."""


def answers_of_rules(
    benchmark: str,
    seed: int | str,
    number: int,
    rules: Sequence[str],
    seconds: float,
    concepts: Ints16 | None = None,
    learned_on: str = "",
    language: str = "asp",
) -> tuple[Ints16, int, int]:
    """Evaluate rules on a task's test set.

    Args:
        number: number of the test set; 1 unless train splits have their own test sets.
        seconds: time limit in seconds (wall time).
        concepts: int16 [n, slots], concepts to use instead of the true ones.
        learned_on: task that the rules were learned on, if it is another one of the same family.
        language: ``"asp"``, or ``"tree"`` for the branches of a tree.

    Returns:
        The derived labels, int16 [n], the number of atoms, and the number of rules.
    """
    allowance = Allowance(seconds, _MEMORY_BYTES)
    try:
        result = guarded(
            _judge,
            benchmark,
            seed,
            number,
            list(rules),
            concepts,
            learned_on or benchmark,
            language,
            doing="Answering with the rules",
            allowance=allowance,
        )
    except UserError as error:
        raise RuleError(textwrap.shorten(str(error), _LONGEST_ERROR, placeholder=" ... .")) from None
    except (RuntimeError, ValueError, OverflowError) as error:  # clingo raises them for whatever it cannot do
        text = f"The rules cannot be used: {type(error).__name__}: {error}"
        raise RuleError(textwrap.shorten(text, _LONGEST_ERROR, placeholder=" ...") + ".") from None
    return result["labels"], result["atoms"], result["rules"]


def _judge(
    benchmark: str,
    seed: int | str,
    number: int,
    rules: Sequence[str],
    concepts: Ints16 | None,
    learned_on: str,
    language: str,
) -> dict[str, Any]:
    from nsl_bench.data.splits import symbolic_split, task_of_split
    from nsl_bench.logic.inference.crisp import crisp_labels
    from nsl_bench.logic.las.bias.hypothesis import count_atoms, rules_in
    from nsl_bench.run.agreement import labels_by_tree, tests_on
    from nsl_bench.run.structural_shift import covering, with_concepts, with_concepts_of

    named = registry.create("benchmark", benchmark)
    split = symbolic_split(named, "test", next(iter(named.sizes)), number, seed=seed)
    trained = registry.create("benchmark", learned_on)
    space = covering(trained, named).concept_space
    task = with_concepts_of(task_of_split(named, number, seed), space)
    split = with_concepts(split, space)
    concepts = split.concepts if concepts is None else concepts
    if language == "tree":
        labels = labels_by_tree(task, tuple(rules), split, concepts)
        return {"labels": labels, "atoms": tests_on(tuple(rules)), "rules": len(rules)}
    contexts = task.contexts(concepts, split.metadata, split.steps)
    labels = crisp_labels(rules, task.background, contexts, task.labels)
    return {"labels": labels, "atoms": count_atoms(trained, rules), "rules": len(rules_in(rules))}
