"""Learning tasks (examples, background knowledge and language bias) and their solutions.

The task is noisy learning from answer sets (Law, Russo, Broda: "Inductive learning of answer set programs
from noisy examples", 2018). `nsl_bench.logic.las.syntax` reads and writes tasks in the syntax of FastLAS and
ILASP.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.program import Program, parse
from nsl_bench.logic.las.language_bias import Dialect, LanguageBias
from nsl_bench.logic.las.syntax.reader import TaskText, build_task, parse_task, read_task

Status = Literal["optimal", "feasible", "unsatisfiable"]
Tier = Literal["A", "B", "C", "D"]
_SHOWN = 10
"""Uncovered examples that a printed solution names."""
NOT_FOUND = "No hypothesis that covers all examples that must be covered was found in time."


@dataclass(frozen=True)
class LasTask:
    """A learning task.

    Attributes:
        examples: weighted context-dependent examples, with distinct ids.
        background: background knowledge, an ASP program.
        bias: language bias: the hypothesis space and costs.
        name: name in messages, e.g. the file's name.
        warnings: warnings for the user, e.g. about repeated ids.
        places: line and column of mode declarations and lines of the background, by their text; empty for a
            task made by `build`.
    """

    examples: tuple[WeightedExample, ...]
    background: str
    bias: LanguageBias
    name: str = "task.las"
    warnings: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def program(self) -> Program:
        """The parsed background knowledge."""
        return parse(self.background, "the background knowledge")

    @cached_property
    def contexts(self) -> tuple[tuple[str, ...], ...]:
        """The distinct contexts of the examples, in order of occurrence."""
        return tuple(dict.fromkeys(example.context for example in self.examples))

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The distinct atoms that examples include or exclude, in order of occurrence."""
        return tuple(dict.fromkeys(a for e in self.examples for a in (*e.inclusions, *e.exclusions)))

    @classmethod
    def of(cls, text: TaskText) -> Self:
        """Make a task from a parsed text."""
        task = cls(text.examples, text.background, text.bias, text.name, text.warnings, text.places)
        task.__dict__["program"] = text.program
        if text.stated is not None:
            task.__dict__["stated"] = text.stated
        return task

    @cached_property
    def stated(self) -> tuple[str, Dialect | None, bool]:
        """What the check by the definition reads by itself.

        Returns:
            The task's text, the dialect that was asked for, and whether ILASP's space holds constraints.
        """
        return self.to_las(), self.bias.dialect, self.bias.constraints

    @classmethod
    def parse(
        cls, text: str, name: str = "task.las", dialect: Dialect | None = None, *, constraints: bool = True
    ) -> Self:
        """Parse a task in the syntax of FastLAS or ILASP.

        Args:
            text: the task.
            name: name in messages.
            dialect: program whose defaults apply; None for ILASP's if the task has ``#modem``, ``#predicate``
                or ``(positive)``, and FastLAS's otherwise.
            constraints: whether rules without a head belong to the space in ILASP's dialect; False is ILASP's
                option ``-nc``.

        Raises:
            UserError: a syntax error; the message gives line and column.
        """
        return cls.of(parse_task(text, name, dialect, constraints))

    @classmethod
    def read(cls, path: str | Path, dialect: Dialect | None = None, *, constraints: bool = True) -> Self:
        """Read a task from a file; see `parse` for `dialect` and `constraints`.

        Raises:
            UserError: the file does not exist, or has a syntax error.
        """
        return cls.of(read_task(Path(path), dialect, constraints))

    @classmethod
    def build(
        cls, examples: Iterable[WeightedExample], background: str, language_bias: str, name: str = "task.las"
    ) -> Self:
        """Make a task from examples as values and the rest as text, without parsing thousands of contexts.

        Args:
            examples: the examples.
            background: background knowledge in ASP.
            language_bias: mode declarations and other statements of the bias.
            name: what messages call the task.

        Raises:
            UserError: a syntax error in `background` or `language_bias`.
        """
        return cls.of(build_task(tuple(examples), background, language_bias, name))

    def to_las(self) -> str:
        """The task as text, from which `parse` makes an equal task."""

        return print_task(self.examples, self.background, self.bias)


@dataclass(frozen=True)
class Solution:
    """The solution of a learning task.

    Attributes:
        status: ``"optimal"`` only with a proof; ``"unsatisfiable"`` if no hypothesis covers all examples that
            must be covered.
        score: `cost` plus the penalties of uncovered examples; None if unsatisfiable or nothing was found.
        bound: lower bound of the score of any hypothesis.
        hypothesis: the rules, with full stops and type guards.
        cost: cost of the hypothesis.
        tier: the tier that proved the answer, or else the tier that found the hypothesis; None for another
            program's answer.
        covered: ids of covered examples.
        uncovered: ids of uncovered examples with their penalties.
        statistics: seconds and counts of each phase, by name.
        message: a sentence for the user, e.g. which examples contradict each other.
        conflict: ids of hard examples that no hypothesis covers together, if the task is unsatisfiable.
        why: sentences on why nothing was found, or why examples are uncovered
            (`nsl_bench.logic.las.diagnosis`).
        solver: ``"exact"``, or the name of another program.
        tiers: the tiers that were tried, in order.
        verified: what was checked by the definition, independently of the search: ``"score"``, or
            ``"optimality"`` (for an unsatisfiable task, its unsatisfiability).
        unverified: why no more was verified, if verification was requested.
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
    conflict: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def gap(self) -> int | None:
        """Difference of score and bound; 0 for a proven optimum."""
        return None if self.score is None else self.score - self.bound

    @property
    def summary(self) -> str:
        """One line on the score and its proof, as an ASP comment; ``"unsatisfiable"`` for such a task."""
        if self.status == "unsatisfiable":
            return "unsatisfiable"
        if self.score is None:
            return f"% {'its score is not known' if self.hypothesis else 'no hypothesis found'}"
        proof = "optimal" if self.status == "optimal" else f"feasible, at least {self.bound}"
        parts = f"rules cost {self.cost}, {len(self.uncovered)} examples uncovered"
        return f"% score {self.score} ({proof}): {parts}"

    def __str__(self) -> str:
        empty = ("% the empty hypothesis",) if self.score is not None and not self.hypothesis else ()
        lines = [*self.hypothesis, *empty, self.summary]
        if self.uncovered:
            uncovered = [f"{name} ({penalty})" for name, penalty in self.uncovered[:_SHOWN]]
            more = ", ..." if len(self.uncovered) > _SHOWN else ""
            lines.append(f"% uncovered, with penalties: {', '.join(uncovered)}{more}")
        lines += [f"% {sentence}" for sentence in (self.message, *self.why) if sentence]
        return "\n".join(lines)


@dataclass(frozen=True)
class Progress:
    """What a search is doing and knows so far.

    Attributes:
        seconds: wall time in seconds since the search began.
        doing: the step that has begun, in a few words.
        solution: the best hypothesis so far, with a bound; None while nothing is known.
    """

    seconds: float
    doing: str
    solution: Solution | None = None

    @property
    def score(self) -> int | None:
        """Score of the best hypothesis so far; None if no hypothesis is known."""
        return None if self.solution is None else self.solution.score

    @property
    def bound(self) -> int:
        """Lower bound of the score of any hypothesis."""
        return 0 if self.solution is None else self.solution.bound

    @property
    def gap(self) -> int | None:
        """Difference of score and bound; None if no hypothesis is known."""
        return None if self.solution is None else self.solution.gap

    @property
    def hypothesis(self) -> tuple[str, ...]:
        """Rules of the best hypothesis so far."""
        return () if self.solution is None else self.solution.hypothesis

    def __str__(self) -> str:
        if self.score is None:
            return f"{self.seconds:.1f} s, {self.doing}"
        return f"{self.seconds:.1f} s, {self.doing}: score {self.score}, bound {self.bound}, gap {self.gap}"


def uncoverable(core: Sequence[str], bounded: str = "") -> str:
    """What to say of examples that no hypothesis covers together; nothing of none.

    Args:
        core: their ids.
        bounded: what hypotheses are bounded by, after a blank.
    """
    if not core:
        return ""
    names = [f"'{name}'" for name in core[:_SHOWN]]
    if len(core) == 1:
        return f"No hypothesis{bounded} covers the example {names[0]}, which must be covered."
    names += [f"{len(core) - _SHOWN} more"] if len(core) > _SHOWN else []
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"No hypothesis{bounded} covers the examples {listed} together, which must all be covered."


def print_example(example: WeightedExample) -> str:
    """`example` as a ``#pos`` or ``#neg`` statement."""
    penalty = "" if example.penalty is None else f"@{example.penalty}"
    # an id that is not a plain word is written as it is, for it is a term already
    name = f"eg({example.id})" if example.id.replace("_", "a").isalnum() else example.id
    context = "".join(f"\n\t{statement.rstrip('.')}." for statement in example.context)
    return (
        f"#{'pos' if example.positive else 'neg'}({name}{penalty}, "
        f"{{{', '.join(example.inclusions)}}}, {{{', '.join(example.exclusions)}}}, "
        f"{{{context}{chr(10) if context else ''}}})."
    )


def print_bias(bias: LanguageBias) -> str:
    """`bias` as statements, one a line."""
    lines = [] if bias.doubt else [f"% dialect: {bias.dialect}"]
    lines += [str(mode) for mode in (*bias.heads, *bias.bodies)]
    lines += map(str, bias.meta_rules)
    lines += map(str, bias.meta_modes)
    lines += map(str, bias.predicates)
    lines += map(str, bias.rules)
    lines += [f"#constant({kind}, {value})." for kind, value in bias.constants]
    lines.append(f"#maxv({bias.max_variables}).")
    if bias.max_body is not None:
        lines.append(f"#max_body({bias.max_body}).")
    if bias.max_cost is not None:
        lines.append(f"#max_penalty({bias.max_cost}).")
    written = [("bias", rule) for rule in bias.penalties or ()] + [
        ("final_bias", rule) for rule in bias.final
    ]
    for word, rule in written:
        escaped = rule.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'#{word}("{escaped}").')
    if bias.ground_without_replacement:
        lines.append("#ground_without_replacement.")
    return "\n".join(lines)


def print_task(examples: Iterable[WeightedExample], background: str, bias: LanguageBias) -> str:
    """A task as text.

    Returns:
        Text that `parse_task` reads.
    """
    # in a text, a penalty of 0 says that an example must be covered; as a value, that it asks for nothing
    examples_text = "\n".join(print_example(example) for example in examples if example.penalty != 0)
    return f"{examples_text}\n\n{background}\n\n{print_bias(bias)}\n"
