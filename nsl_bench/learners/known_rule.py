"""The true rule as learners of the track ``known_rules`` are handed it: in ASP, in ProbLog, as a function.

`rule_as` makes its forms where the task is. In a sandbox they are asked for over the channel
(`nsl_bench.sandbox.views`), so no learner's process holds more of the task than this.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.processes.messages import restored
from nsl_bench.core.types import BLANK, AnyInts, Array, Ints
from nsl_bench.learners.queries import query_of

MOST_ROWS = 50_000
"""Rows that one question about labels may have."""

Facts = tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """The true rule as a logic program.

    Attributes:
        text: the program. In ASP this is the rule alone; the background knowledge is the view's. In ProbLog
            it has the background knowledge too, and queries ``nsl_label(K)`` for each label, by its number.
        facts: for each slot and each concept, the facts that hold if the slot shows the concept. Where rows
            are steps of sequences, the slots are those of step 1, of step 2, and so on.
        contexts: for each example, the facts of its metadata, and of its step in a sequence.
    """

    text: str
    facts: tuple[tuple[Facts, ...], ...]
    contexts: tuple[Facts, ...]


class KnownRule:
    """The rule that labels the data.

    Args:
        ask: returns a form of the rule: ``"asp"``, ``"problog"``, or ``"labels"`` of concepts and rows.
        n: number of examples of the view.
    """

    def __init__(self, ask: Callable[..., Any], n: int) -> None:
        self._ask, self._n = ask, n

    @cached_property
    def asp(self) -> Program:
        """The rule in ASP."""
        return _program(self._ask("asp"))

    @cached_property
    def problog(self) -> Program:
        """The rule in ProbLog."""
        return _program(self._ask("problog"))

    def labels(self, concepts: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Ints:
        """The labels of any concepts; the harness computes them, a few thousand rows a second.

        Args:
            concepts: int [m, slots], numbers of concepts, -1 for a blank slot.
            rows: int [m], the examples of the view whose metadata apply; by default all, one after the other.
                Where rows are steps of sequences, each sequence starts at its first step.

        Returns:
            int64 [m]: labels; -1 if no label follows, -2 if several do.

        Raises:
            UserError: a wrong shape, an unknown concept or example, or a sequence that is cut.
        """
        given = np.asarray(concepts)
        asked = np.arange(self._n) if rows is None else np.asarray(rows)
        if given.ndim != 2 or asked.shape != (len(given),):
            raise UserError(
                "The true rule needs concepts of shape [m, slots] and m rows; got "
                f"{given.shape} and {asked.shape}."
            )
        return np.asarray(self._ask("labels", given.astype(np.int64), asked.astype(np.int64)), np.int64)


def _program(sent: Any) -> Program:
    """A program, which may have been sent."""
    return sent if isinstance(sent, Program) else restored(Program, sent)


def rule_as(
    form: str,
    examples: tuple[Benchmark, Mapping[str, Array], AnyInts],
    concepts: Any = None,
    rows: Any = None,
) -> Any:
    """A form of the true rule of a task: ``"asp"``, ``"problog"``, or ``"labels"`` (`KnownRule.labels`)."""
    rule = _Rule(*examples)
    if form in ("asp", "problog"):
        return rule.asp() if form == "asp" else rule.problog()
    if form != "labels":
        raise UserError(f"The true rule has no form '{form[:50]}'.")
    concepts, rows = np.asarray(concepts), np.asarray(rows)
    if {concepts.dtype.kind, rows.dtype.kind} != {"i"}:
        raise UserError("The concepts and rows of the true rule must be whole numbers.")
    return rule.labels(concepts, rows)


class _Rule:
    """The forms of a task's true rule."""

    def __init__(self, benchmark: Benchmark, metadata: Mapping[str, Array], steps: AnyInts) -> None:
        self._task, self._metadata, self._steps = benchmark, metadata, steps

    def _query(self) -> Any:
        longest = int(self._steps.max(initial=1)) if self._task.sequential else 0
        return query_of(self._task, (self._task.true_rule,), steps=longest)

    def asp(self) -> Program:
        nothing = np.full((len(self._steps), len(self._task.slots)), BLANK, np.int16)
        contexts = self._task.contexts(nothing, self._metadata, self._steps)
        return Program(self._task.true_rule, self._query().choices, tuple(contexts))

    def problog(self) -> Program:
        from nsl_bench.logic.inference.problog.translation import translate

        own = self.asp().contexts
        result = translate(self._query(), (fact for facts in own for fact in facts))
        return Program(
            result.program, result.choices, tuple(tuple(result.facts[f] for f in facts) for facts in own)
        )

    def labels(self, concepts: Ints, rows: Ints) -> Ints:
        if len(concepts) > MOST_ROWS:
            parts = self._whole_sequences(rows)
            answers = [self.labels(concepts[part], rows[part]) for part in parts]
            return np.concatenate(answers)
        self._check(concepts, rows)
        from nsl_bench.logic.inference.crisp import crisp_labels

        metadata = {name: np.asarray(column)[rows] for name, column in self._metadata.items()}
        contexts = self._task.contexts(concepts.astype(np.int16), metadata, self._steps[rows])
        # An example comes again and again; its answer is computed once.
        distinct = list(dict.fromkeys(contexts))
        rule, background = (self._task.true_rule,), self._task.background
        answers = crisp_labels(rule, background, distinct, self._task.labels).tolist()
        label_of = dict(zip(distinct, answers, strict=True))
        return np.array([label_of[context] for context in contexts], np.int64)

    def _whole_sequences(self, rows: Ints) -> list[slice]:
        """Parts of the rows that cut no sequence."""
        inside = (rows >= 0) & (rows < len(self._steps))
        starts = np.flatnonzero(self._steps[np.where(inside, rows, 0)] == 1).tolist()
        cuts, last = [0], 0
        for start, following in zip(starts, [*starts[1:], len(rows)], strict=True):
            if following - last > MOST_ROWS and start > last:
                cuts.append(start)
                last = start
        bounds = [*cuts, len(rows)]
        if max(b - a for a, b in itertools.pairwise(bounds)) > MOST_ROWS:
            raise UserError(f"A sequence has more than {MOST_ROWS} steps.")
        return [slice(a, b) for a, b in itertools.pairwise(bounds)]

    def _check(self, concepts: Ints, rows: Ints) -> None:
        slots, k, n = len(self._task.slots), len(self._task.concept_space), len(self._steps)
        if concepts.shape[1] != slots:
            raise UserError(f"{self._task.name} has {slots} slots; got concepts for {concepts.shape[1]}.")
        for what, values, low, end in (("concepts", concepts, BLANK, k), ("rows", rows, 0, n)):
            if values.size and not (low <= values.min() and values.max() < end):
                raise UserError(
                    f"The {what} of the true rule must be between {low} and {end - 1}; "
                    f"got {values.min()} to {values.max()}."
                )
        steps = self._steps[rows]
        follows = (steps[1:] == 1) | ((steps[1:] == steps[:-1] + 1) & (np.diff(rows) == 1))
        if len(rows) and not (steps[0] == 1 and follows.all()):
            raise UserError("The rows of a sequence must be its steps in their order, from the first one on.")
