"""What inference is asked of a task, and its answer: the query for a hypothesis, the inputs of sequences.

Each row of a sequence has the images and facts of its earlier steps, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.sequences import with_earlier
from nsl_bench.core.types import BLANK, AnyInts, Array, Floats32, Ints16
from nsl_bench.logic.guarded.child import Allowance, Ended
from nsl_bench.logic.guarded.rules import inferred
from nsl_bench.logic.inference.query import Answer, Query

if TYPE_CHECKING:
    from nsl_bench.logic.inference.engines import Engine

_MOST_NUMBERS = 50_000_000
"""Concept probabilities of all rows with their earlier steps that an engine is given: 200 MB."""

_ANSWERS_KEPT = 256

MOST_INPUTS = 20_000

_DECODED = "nsl_bench_shown"
"""Predicate that no task has."""

_answers: dict[tuple[Any, ...], Answer | Ended] = {}


def possible_concepts(task: Benchmark) -> Ints16:
    """int16 [n, slots]: the concepts of every input that a task can have, in order, each once.

    Raises:
        UserError: the task does not state its inputs, has metadata or sequences, or too many inputs.
    """
    import clingo

    if not task.inputs or task.metadata or task.sequential:
        why = "have metadata or steps" if task.inputs else "are not stated"
        raise UserError(f"The inputs of {task.name} {why} and cannot be listed.")
    lines = [
        f"{_DECODED}({slot},{c}) :- {', '.join(facts)}."
        for slot in range(len(task.slots))
        for c, name in enumerate(task.concept_space.concepts)
        if (facts := task.facts(slot, name))
    ]
    control = clingo.Control(["0", "--project=show", "--warn=none"])
    control.add("base", [], "\n".join([task.background, task.inputs, *lines, f"#show {_DECODED}/2."]))
    control.ground([("base", [])])
    rows = []
    with control.solve(yield_=True) as models:
        for model in models:
            row = np.full(len(task.slots), BLANK, np.int16)
            for atom in model.symbols(shown=True):
                row[atom.arguments[0].number] = atom.arguments[1].number
            rows.append(row)
            if len(rows) > MOST_INPUTS:
                raise UserError(f"{task.name} has more than {MOST_INPUTS:,} inputs, too many to list.")
    return np.unique(np.array(rows, np.int16).reshape(-1, len(task.slots)), axis=0)


def engine_of(spec: str) -> Engine:
    """The inference engine of a name or spec, such as ``"exact:width=1e-4"``."""
    engine: Engine = registry.create("engine", spec)
    return engine


def answer_of(
    benchmark: Benchmark,
    rules: tuple[str, ...],
    metadata: Mapping[str, Array],
    steps: AnyInts,
    probabilities: Floats32,
    engine: str = "auto",
    allowance: Allowance | None = None,
) -> Answer:
    """An engine's answer for examples, computed in a separate process.

    Args:
        benchmark: the task.
        rules: the hypothesis, in ASP.
        metadata: of the examples, name to array [n].
        steps: place of each row in its sequence, [n].
        probabilities: of the concepts, [n, slots, concepts].
        engine: name or spec of the engine.
        allowance: resources for probabilistic inference.
    """
    longest = int(steps.max(initial=1)) if benchmark.sequential else 0
    query = query_of(benchmark, rules, strict=False, steps=longest)
    facts = [
        benchmark.metadata_facts({name: column[i].item() for name, column in metadata.items()})
        for i in range(len(steps))
    ]
    if benchmark.sequential:
        facts = facts_so_far(benchmark, steps, facts)
        probabilities = seen_so_far(steps, probabilities)
    # Repeats share the test set, and often the hypothesis.
    asked = (engine, query.key, hash(probabilities.tobytes()), tuple(facts))
    if asked not in _answers:
        while len(_answers) >= _ANSWERS_KEPT:
            _answers.pop(next(iter(_answers)))
        try:
            make = partial(engine_of, engine)
            _answers[asked] = inferred(make, query, probabilities, facts, allowance=allowance)
        except Ended as ended:  # it may have taken its time
            _answers[asked] = ended
    result = _answers[asked]
    if isinstance(result, Ended):
        raise result
    return result


def query_of(benchmark: Benchmark, rules: Sequence[str], *, strict: bool = True, steps: int = 0) -> Query:
    """The query for a hypothesis of a task.

    Args:
        strict: whether rules that can give several answer sets are refused.
        steps: where rows are steps of sequences: the number of steps of the longest one. The image slots
            are then those of step 1, of step 2, and so on.
    """
    choices = tuple(
        tuple(tuple(benchmark.facts(slot, concept)) for concept in benchmark.concept_space.concepts)
        for slot in range(len(benchmark.slots))
    )
    if steps:
        choices = tuple(
            tuple(tuple(benchmark.step_atom(fact, step) for fact in facts) for facts in slot)
            for step in range(1, steps + 1)
            for slot in choices
        )
    return Query(tuple(rules), benchmark.background, benchmark.labels, choices, strict)


def seen_so_far(steps: AnyInts, probabilities: Array) -> Array:
    """[n, longest * slots, concepts]: concept probabilities of a row and of the steps before it, else 0.

    Args:
        steps: place of each row in its sequence, [n].
        probabilities: [n, slots, concepts].
    """
    n, slots, concepts = probabilities.shape
    longest = int(np.max(steps, initial=1))
    if n * longest * slots * concepts > _MOST_NUMBERS:
        raise UserError(
            f"{n} rows in sequences of {longest} steps have too many concept probabilities for inference."
        )
    wide = with_earlier(steps, probabilities.reshape(n, slots * concepts), 0.0)
    return np.ascontiguousarray(wide.reshape(n, longest * slots, concepts))


def facts_so_far(
    benchmark: Benchmark, steps: AnyInts, facts: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """The facts of each row's meta-data and of the steps before it, and which step is asked.

    Args:
        steps: place of each row in its sequence, [n].
    """
    result: list[tuple[str, ...]] = []
    past: tuple[str, ...] = ()
    for step, mine in zip(np.asarray(steps).tolist(), facts, strict=True):
        own = tuple(benchmark.step_atom(fact, step) for fact in mine)
        past = own if step == 1 else past + own
        result.append(past + benchmark.current_step(step))
    return result
