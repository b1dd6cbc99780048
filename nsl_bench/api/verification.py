"""How good rules are, whatever they are: a reward that can be verified, for those who generate rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.budget import MEBIBYTE
from nsl_bench.core.errors import UserError, named

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nsl_bench.core.benchmark import Benchmark
    from nsl_bench.logic.guarded.child import Allowance
    from nsl_bench.logic.las.task import LasTask


@dataclass(frozen=True)
class Verdict:
    """How good rules are. It unpacks as ``score, counterexample``.

    Attributes:
        score: share of the test examples, with true concepts, whose label the rules derive, 0..1; of a task
            file, the share of its examples that they cover.
        counterexample: an input on which they are wrong, or why they cannot be evaluated; None: none found.
        equivalent: whether they agree with the true rule on every possible input; None if undecided.
    """

    score: float
    counterexample: str | None
    equivalent: bool | None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.score, self.counterexample))


def verify(
    rules: str | Sequence[str],
    task: str | os.PathLike[str],
    *,
    repeat: int = 1,
    seed: int = 0,
    time_limit: float = 20.0,
    memory_limit: int = 2048,
) -> Verdict:
    """Score rules on a task, and look for an input on which they are wrong.

    Whatever the rules are, they get a verdict. They are evaluated in a process of their own; scripts and
    files in them are refused.

    Args:
        rules: ASP rules with full stops, in one text or several.
        task: name of the task, also of one of `nsl_bench.register`, or a task file (.las).
        repeat, seed: train split and seed of the data, on which test examples and some tasks' rules depend.
        time_limit: seconds for the score, and again for the search of a counterexample.
        memory_limit: megabytes for each.

    Raises:
        UserError: an unknown task, or a task file without examples.
    """
    from nsl_bench.logic.guarded.child import Allowance
    from nsl_bench.logic.guarded.rules import crisp
    from nsl_bench.logic.las.task import LasTask
    from nsl_bench.run.true_rule import difference

    file = LasTask.read(Path(task)) if Path(task).suffix == ".las" else None
    if file is not None and not file.examples:
        raise UserError(f"{task} must have examples; got none.")
    memory = memory_limit * MEBIBYTE
    allowance = Allowance(time_limit, memory)
    if file is None:
        benchmark, contexts, labels = _test(str(task), repeat, seed)
    try:
        texts = tuple(text.encode().decode() for text in ([rules] if isinstance(rules, str) else rules))
        if file is not None:
            return _of_examples(file, texts, allowance)
        answers = crisp(texts, benchmark.background, contexts, benchmark.labels, allowance=allowance)
    except Exception as error:  # the rules may be anything
        why = str(error) if isinstance(error, UserError) else f"The rules must be text: {named(error)}."
        return Verdict(0.0, why, False)
    right = answers == labels
    score, wrong = float(right.mean()), int(right.argmin())
    try:
        found = difference(texts, benchmark, memory, time_limit)
    except UserError:  # undecided: what the test set shows is left
        if right.all():
            return Verdict(score, None, None)
        names = {-1: "no label", -2: "several labels", **dict(enumerate(benchmark.labels.names))}
        correct, given = ((names[int(each[wrong])],) for each in (labels, answers))
        return Verdict(score, _said(contexts[wrong], correct, given), False)
    said = None if found is None else _said(found.inputs, found.second, found.first)
    return Verdict(score, said, found is None)


def _of_examples(task: LasTask, rules: Sequence[str], allowance: Allowance) -> Verdict:
    """The verdict where there are a task's examples alone."""
    from nsl_bench.logic.guarded.call import guarded
    from nsl_bench.logic.las.task import print_example

    judge, doing = "nsl_bench.logic.las.semantics.coverage:covered", "Evaluating the hypothesis"
    fits = guarded(judge, task, rules, doing=doing, allowance=allowance)
    if all(fits):
        return Verdict(1.0, None, None)
    shown = " ".join(print_example(task.examples[fits.index(False)]).split())
    return Verdict(sum(fits) / len(fits), f"The rules do not cover the example {shown}", None)


def _said(facts: Sequence[str], right: Sequence[str], given: Sequence[str]) -> str:
    wanted, got = (", ".join(each) or "nothing" for each in (right, given))
    shown = f"the facts {', '.join(facts)}" if facts else "no facts"
    return f"From {shown} must follow: {wanted}. From the rules follows: {got}."


@lru_cache(maxsize=16)
def _test(
    spec: str, repeat: int, seed: int
) -> tuple[Benchmark, list[tuple[str, ...]], npt.NDArray[np.int16]]:
    """A task, and the facts of its test examples, with true concepts, and their labels."""
    from nsl_bench.core import registry
    from nsl_bench.data.splits import symbolic_split, task_of_split

    benchmark = task_of_split(registry.create("benchmark", spec), repeat, seed)
    test = symbolic_split(benchmark, "test", repeat=repeat, seed=seed)
    return benchmark, benchmark.contexts(test.concepts, test.metadata, test.steps), test.labels
