"""Learning tasks: examples, background knowledge and language bias, and what solving one gives.

The task is noisy learning from answer sets (Law, Russo, Broda: "Inductive learning of answer set
programs from noisy examples", 2018). A `LasTask` is read from FastLAS's or ILASP's syntax and written back
by `nsl_bench.las.syntax`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from nsl_bench.asp.program import Program, parse
from nsl_bench.las.language_bias import Dialect, LanguageBias
from nsl_bench.las.syntax.reader import TaskText, build_task, parse_task, read_task
from nsl_bench.types import WeightedExample

__all__ = ["LasTask", "Solution", "Tier"]

Status = Literal["optimal", "feasible", "unsatisfiable"]
Tier = Literal["A", "B", "C", "D"]


@dataclass(frozen=True)
class LasTask:
    """A learning task.

    Attributes:
        examples: its weighted context-dependent examples, with distinct ids.
        background: background knowledge, an ASP program.
        bias: hypothesis space and costs.
        name: what messages call it, e.g. the file's name.
        warnings: what a reader should be told, e.g. that ids were repeated.
        places: line and column of mode declarations and lines of the background, by their text; empty for a
            task that was built.
    """

    examples: tuple[WeightedExample, ...]
    background: str
    bias: LanguageBias
    name: str = "task.las"
    warnings: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def program(self) -> Program:
        """The background knowledge, read once."""
        return parse(self.background, "the background knowledge")

    @classmethod
    def of(cls, text: TaskText) -> LasTask:
        """The task that a text was read as."""
        task = cls(text.examples, text.background, text.bias, text.name, text.warnings, text.places)
        task.__dict__["program"] = text.program
        return task

    @classmethod
    def parse(cls, text: str, name: str = "task.las", dialect: Dialect | None = None) -> LasTask:
        """The task that `text` states in FastLAS's or ILASP's syntax.

        Args:
            text: the task.
            name: what messages call it.
            dialect: whose defaults hold where the text is silent; None: ILASP's if it has ``#modem``,
                ``#predicate`` or ``(positive)``, else FastLAS's.

        Raises:
            UserError: it does not parse; the sentence gives line and column.
        """
        return cls.of(parse_task(text, name, dialect))

    @classmethod
    def read(cls, path: str | Path, dialect: Dialect | None = None) -> LasTask:
        """The task in the file at `path`; `dialect` is as for `parse`.

        Raises:
            UserError: there is no such file, or it does not parse.
        """
        return cls.of(read_task(Path(path), dialect))

    @classmethod
    def build(
        cls,
        examples: Iterable[WeightedExample],
        background: str,
        language_bias: str,
        name: str = "task.las",
    ) -> LasTask:
        """A task from examples as values and the rest as text: no round trip of thousands of contexts.

        Raises:
            UserError: `background` or `language_bias` does not parse.
        """
        return cls.of(build_task(tuple(examples), background, language_bias, name))

    def to_las(self) -> str:
        """The task as text that `parse` reads back to an equal task."""
        from nsl_bench.las.syntax.writer import print_task

        return print_task(self.examples, self.background, self.bias)


@dataclass(frozen=True)
class Solution:
    """What solving a task gave.

    Attributes:
        status: ``"optimal"`` only with a proof; ``"unsatisfiable"`` if no hypothesis covers all examples
            that must be covered.
        score: `cost` plus the penalties of uncovered examples; None if unsatisfiable or nothing was found.
        bound: no hypothesis has a score below this one.
        hypothesis: its rules, with full stops and type guards.
        cost: what the hypothesis itself costs.
        tier: whose answer it is: the tier that proved it, or else the one that found the hypothesis; None if
            no tier did, but another program.
        covered: ids of covered examples.
        uncovered: ids of uncovered examples with their penalties.
        statistics: seconds and counts of each phase, by name.
        message: a sentence for the user, e.g. which examples clash.
        solver: who solved it: ``"exact"``, or the name of another program.
        tiers: the tiers that were tried, in order.
        verified: what was checked by the definition, apart from the search: ``"score"``, or ``"optimality"``
            (of an unsatisfiable task: that it is one).
        unverified: why no more was verified, where that was asked for.
    """

    status: Status
    score: int | None
    bound: int
    hypothesis: tuple[str, ...] = ()
    cost: int = 0
    tier: Tier | None = None
    covered: tuple[str, ...] = ()
    uncovered: tuple[tuple[str, int], ...] = ()
    statistics: Mapping[str, float] = field(default_factory=dict)
    message: str = ""
    solver: str = "exact"
    tiers: tuple[Tier, ...] = ()
    verified: Literal["score", "optimality"] | None = None
    unverified: str = ""

    @property
    def gap(self) -> int | None:
        """Score less bound: 0 for a proven optimum."""
        return None if self.score is None else self.score - self.bound
