"""Learning tasks: examples, background knowledge and language bias, and what solving one gives.

The task is noisy learning from answer sets (Law, Russo, Broda: "Inductive learning of answer set
programs from noisy examples", 2018). A `LasTask` is read from FastLAS's or ILASP's syntax by
`nsl_bench.las.syntax.reader` and written back by `nsl_bench.las.syntax.writer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from nsl_bench.asp.program import Program, Rule, parse
from nsl_bench.types import WeightedExample

__all__ = [
    "Compound",
    "Dialect",
    "LanguageBias",
    "LasTask",
    "MetaMode",
    "MetaRule",
    "ModeAtom",
    "ModeBody",
    "ModeComparison",
    "ModeHead",
    "ModeLiteral",
    "ModeTerm",
    "Placeholder",
    "PredicateDeclaration",
    "Solution",
    "Tier",
    "WeightedRule",
    "placeholders",
]

Dialect = Literal["ilasp", "fastlas"]
Status = Literal["optimal", "feasible", "unsatisfiable"]
Tier = Literal["A", "B", "C", "D"]

DEFAULT_MAX_VARIABLES = 3
MOST_VARIABLES = 1_000
"""The largest `#maxv`."""
LARGEST = 2**31 - 1
"""The largest penalty, cost or bound that a task may state; clingo's integers end there."""
ILASP_MAX_BODY = 3
NEGATIVE_PENALTY = (
    "a penalty is an integer of at least 0: if a rule cost less than nothing, the best hypothesis would be "
    "all rules that do no harm."
)
"""Why a `#bias` with such a penalty is refused."""


@dataclass(frozen=True)
class Placeholder:
    """``var(type)`` or ``const(type)`` in a mode declaration."""

    kind: Literal["var", "const"]
    type: str

    def __str__(self) -> str:
        return f"{self.kind}({self.type})"


@dataclass(frozen=True)
class Compound:
    """A functional term with placeholders inside, e.g. ``meeting(var(person),var(person))``.

    Attributes:
        name: its function symbol; ``""`` for a tuple.
        arguments: its arguments.
    """

    name: str
    arguments: tuple[ModeTerm, ...]

    def __str__(self) -> str:
        trailing = "," if not self.name and len(self.arguments) == 1 else ""
        return f"{self.name}({','.join(map(str, self.arguments))}{trailing})"


ModeTerm = Placeholder | Compound | str
"""An argument of a mode declaration; a string is a ground term as ASP writes it."""


def placeholders(terms: Iterable[ModeTerm]) -> Iterator[Placeholder]:
    """The placeholders in `terms`, from left to right."""
    for term in terms:
        if isinstance(term, Placeholder):
            yield term
        elif isinstance(term, Compound):
            yield from placeholders(term.arguments)


@dataclass(frozen=True)
class ModeAtom:
    """An atom with placeholders, e.g. ``suit(const(player),var(suit))``."""

    predicate: str
    arguments: tuple[ModeTerm, ...] = ()

    @property
    def signature(self) -> tuple[str, int]:
        """Predicate and number of arguments."""
        return self.predicate, len(self.arguments)

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Its placeholders, from left to right."""
        return tuple(placeholders(self.arguments))

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(map(str, self.arguments))})" if self.arguments else self.predicate


@dataclass(frozen=True)
class ModeComparison:
    """A comparison with placeholders, e.g. ``var(suit) != var(suit)``."""

    operator: str
    left: ModeTerm
    right: ModeTerm

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Its placeholders, from left to right."""
        return tuple(placeholders((self.left, self.right)))

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class ModeHead:
    """``#modeh(atom).``; what a rule of the hypothesis may derive. Recall is kept for printing only."""

    atom: ModeAtom
    recall: int | None = None

    def __str__(self) -> str:
        return f"#modeh({'' if self.recall is None else f'{self.recall}, '}{self.atom})."


@dataclass(frozen=True)
class ModeBody:
    """``#modeb(recall, literal, (options)).``; what a body may hold.

    Attributes:
        literal: the atom or comparison.
        negated: written with ``not``.
        recall: how often one rule may use it (ILASP's dialect; FastLAS ignores it).
        options: of ILASP's ``positive``, ``negative``, ``anti_reflexive``, ``symmetric``.
    """

    literal: ModeAtom | ModeComparison
    negated: bool = False
    recall: int | None = None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        recall = "" if self.recall is None else f"{self.recall}, "
        options = f", ({', '.join(self.options)})" if self.options else ""
        return f"#modeb({recall}{'not ' if self.negated else ''}{self.literal}{options})."


@dataclass(frozen=True)
class ModeLiteral:
    """One form of literal that a body may hold: a declaration, and whether under ``not``.

    Attributes:
        mode: index into `LanguageBias.bodies`; uses of one declaration share its recall.
        literal: the atom or comparison.
        negated: under default negation.
        recall: how often one rule may use the declaration; None: without limit.
        anti_reflexive: its two variables differ.
        symmetric: the order of its two variables does not matter.
    """

    mode: int
    literal: ModeAtom | ModeComparison
    negated: bool
    recall: int | None
    anti_reflexive: bool = False
    symmetric: bool = False


@dataclass(frozen=True)
class PredicateDeclaration:
    """``#predicate(kind, name/arity).``; `kind` is e.g. ``target`` or ``invented``."""

    kind: str
    name: str
    arity: int

    def __str__(self) -> str:
        return f"#predicate({self.kind}, {self.name}/{self.arity})."


@dataclass(frozen=True)
class MetaMode:
    """``#modem(cost, name(kind/arity, ...)).``; instances of a meta-rule and what each costs."""

    cost: int
    name: str
    kinds: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"#modem({self.cost}, {self.name}({', '.join(f'{k}/{n}' for k, n in self.kinds)}))."


@dataclass(frozen=True)
class MetaRule:
    """``P(X) :- Q(X), identity(P, Q).``; predicates are variables that the last atom binds.

    Attributes:
        text: the rule without its full stop and without the binding atom, e.g. ``P(X) :- Q(X)``.
        name: the binding atom's name, e.g. ``identity``.
        variables: its arguments, the predicate variables, e.g. ``("P", "Q")``.
    """

    text: str
    name: str
    variables: tuple[str, ...]

    def __str__(self) -> str:
        joint = ", " if ":-" in self.text else " :- "
        return f"{self.text}{joint}{self.name}({', '.join(self.variables)})."

    def instance(self, binding: Mapping[str, str]) -> str:
        """The ASP rule, with its full stop, where `binding` names the predicates."""
        return re.sub(r"\b[A-Z]\w*\b", lambda m: binding.get(m.group(), m.group()), self.text) + "."


@dataclass(frozen=True)
class WeightedRule:
    """``weight ~ rule.``; a rule given whole, with its cost (ILASP)."""

    cost: int
    rule: str

    @cached_property
    def parsed(self) -> Rule:
        """The rule, read once."""
        return parse(self.rule, f"the rule '{self.rule}'").rules[0]

    def __str__(self) -> str:
        return f"{self.cost} ~ {self.rule}"


@dataclass(frozen=True)
class LanguageBias:
    """The hypothesis space and what its rules cost.

    A variable has one type. If some statement derives ``type/1``, each variable of the type is guarded
    by that atom, which is printed and free; else a positive body literal must bind it.

    Attributes:
        heads, bodies: mode declarations.
        meta_modes, meta_rules, predicates: predicate invention by meta-rules (ILASP).
        rules: rules given whole.
        constants: (type, ground term) from ``#constant``, without repetition.
        max_variables: most variables in a rule.
        max_body: most literals in a body, where the file says so.
        penalties: the ``#bias`` statements, None if there are none.
        ground_without_replacement: two body literals of a rule never ground to the same atom.
        dialect: whose syntax the file is in; decides defaults.
    """

    heads: tuple[ModeHead, ...] = ()
    bodies: tuple[ModeBody, ...] = ()
    meta_modes: tuple[MetaMode, ...] = ()
    meta_rules: tuple[MetaRule, ...] = ()
    predicates: tuple[PredicateDeclaration, ...] = ()
    rules: tuple[WeightedRule, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    max_variables: int = DEFAULT_MAX_VARIABLES
    max_body: int | None = None
    penalties: tuple[str, ...] | None = None
    ground_without_replacement: bool = False
    dialect: Dialect = "fastlas"

    @cached_property
    def scoring(self) -> Program:
        """The ``#bias`` statements as one program, read once."""
        return parse("\n".join(self.penalties or ()), "#bias")

    @property
    def body_limit(self) -> int | None:
        """Most literals in a body, type guards not counted; None: no limit."""
        if self.max_body is None and self.dialect == "ilasp":
            return ILASP_MAX_BODY
        return self.max_body

    @property
    def literals(self) -> tuple[ModeLiteral, ...]:
        """The forms of body literals; ILASP's declarations without ``positive`` allow both signs."""
        ilasp = self.dialect == "ilasp"
        found: list[ModeLiteral] = []
        for i, mode in enumerate(self.bodies):
            comparison = isinstance(mode.literal, ModeComparison)
            signed = comparison or mode.negated or not {"positive", "negative"}.isdisjoint(mode.options)
            negated_only = mode.negated or "negative" in mode.options
            for negated in (False, True) if ilasp and not signed else (negated_only,):
                found.append(
                    ModeLiteral(
                        mode=i,
                        literal=mode.literal,
                        negated=negated,
                        recall=mode.recall if ilasp else None,
                        anti_reflexive="anti_reflexive" in mode.options,
                        symmetric="symmetric" in mode.options,
                    )
                )
        return tuple(dict.fromkeys(found))

    def instances(self) -> Iterator[WeightedRule]:
        """The instances of meta-rules, each with the cost that its ``#modem`` states."""
        for mode in self.meta_modes:
            for meta in self.meta_rules:
                if meta.name != mode.name or len(meta.variables) != len(mode.kinds):
                    continue
                for names in self._bindings(mode.kinds):
                    yield WeightedRule(
                        mode.cost, meta.instance(dict(zip(meta.variables, names, strict=True)))
                    )

    def _bindings(self, kinds: tuple[tuple[str, int], ...]) -> Iterator[tuple[str, ...]]:
        if not kinds:
            yield ()
            return
        kind, arity = kinds[0]
        for predicate in self.predicates:
            if (predicate.kind, predicate.arity) == (kind, arity):
                for rest in self._bindings(kinds[1:]):
                    yield (predicate.name, *rest)

    @property
    def learned(self) -> frozenset[tuple[str, int]]:
        """Predicates (name, arity) that a hypothesis can derive; given whole rules are not looked into."""
        from_heads = {head.atom.signature for head in self.heads}
        if not self.meta_modes:
            return frozenset(from_heads)
        targets = {(p.name, p.arity) for p in self.predicates}
        return frozenset(from_heads | targets)


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

    def with_program(self, program: Program) -> LasTask:
        """The task, for whoever has read its background already."""
        self.__dict__["program"] = program
        return self

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
        from nsl_bench.las.syntax.reader import parse_task

        return parse_task(text, name, dialect)

    @classmethod
    def read(cls, path: str | Path, dialect: Dialect | None = None) -> LasTask:
        """The task in the file at `path`; `dialect` is as for `parse`.

        Raises:
            UserError: there is no such file, or it does not parse.
        """
        from nsl_bench.las.syntax.reader import read_task

        return read_task(Path(path), dialect)

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
        from nsl_bench.las.syntax.reader import build_task

        return build_task(tuple(examples), background, language_bias, name)

    def to_las(self) -> str:
        """The task as text that `parse` reads back to an equal task."""
        from nsl_bench.las.syntax.writer import print_task

        return print_task(self)


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
