"""Language bias: mode declarations, meta-rules, complete rules, and costs.

It defines the hypothesis space of a learning task (Law, Russo, Broda: "Inductive learning of answer set
programs from noisy examples", 2018). The names are those of FastLAS's and ILASP's task files.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from nsl_bench.logic.asp.program import Program, Rule, parse

Dialect = Literal["ilasp", "fastlas"]

DEFAULT_MAX_VARIABLES = 3
MOST_VARIABLES = 1_000
"""The largest `#maxv`."""
LARGEST = 2**31 - 1
"""The largest penalty, cost or bound that a task may state; clingo's integers end there."""
ILASP_MAX_BODY = 3
NEGATIVE_PENALTY = (
    "a penalty must be an integer of at least 0, because rules with a negative cost would all be learned."
)
"""Why a `#bias` with such a penalty is refused."""


class Placeholder(NamedTuple):
    """``var(type)``, ``const(type)`` or ``num_var(type)`` in a mode declaration.

    ``num_var(type)`` is a variable of its own whose value may be bounded (`nsl_bench.logic.las.thresholds`).
    """

    kind: Literal["var", "const", "num_var"]
    type: str

    def __str__(self) -> str:
        return f"{self.kind}({self.type})"


OPERATORS = ("+", "-", "*", "/", "\\", "**")
"""The arithmetic that comparisons may have on placeholders."""


@dataclass(frozen=True)
class Compound:
    """A functional term with placeholders inside, e.g. ``meeting(var(person),var(person))``.

    Attributes:
        name: its function symbol; ``""`` for a tuple; an operator (`OPERATORS`) for arithmetic.
    """

    name: str
    arguments: tuple[ModeTerm, ...]

    def __str__(self) -> str:
        return self.written([str(argument) for argument in self.arguments])

    def written(self, arguments: Sequence[str]) -> str:
        """The term with these texts for its arguments."""
        if self.name in OPERATORS:
            return f"({arguments[0]}{self.name}{arguments[1]})"
        trailing = "," if not self.name and len(arguments) == 1 else ""
        return f"{self.name}({','.join(arguments)}{trailing})"


ModeTerm = Placeholder | Compound | str
"""An argument of a mode declaration; a string is a ground term as ASP writes it."""


def placeholders(terms: Iterable[ModeTerm]) -> Iterator[Placeholder]:
    """The placeholders in `terms`, from left to right."""
    for term in terms:
        if isinstance(term, Placeholder):
            yield term
        elif isinstance(term, Compound):
            yield from placeholders(term.arguments)


class _Pattern(ABC):
    """What atoms and comparisons with placeholders have in common."""

    @property
    @abstractmethod
    def terms(self) -> tuple[ModeTerm, ...]:
        """Its terms, from left to right."""

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Its placeholders, from left to right."""
        return tuple(placeholders(self.terms))

    @property
    def variable_types(self) -> tuple[str, ...]:
        """The type of each ``var(type)``, from left to right."""
        return tuple(place.type for place in self.placeholders if place.kind == "var")

    @property
    def has_thresholds(self) -> bool:
        """Whether it has ``num_var(type)``."""
        return any(place.kind == "num_var" for place in self.placeholders)


@dataclass(frozen=True)
class ModeAtom(_Pattern):
    """An atom with placeholders, e.g. ``suit(const(player),var(suit))``.

    Attributes:
        predicate: its name, after ``-`` if it is negated classically.
    """

    predicate: str
    arguments: tuple[ModeTerm, ...] = ()

    @property
    def is_classical(self) -> bool:
        """Whether it is negated classically."""
        return self.predicate.startswith("-")

    @property
    def signature(self) -> tuple[str, int]:
        """Predicate, without a sign, and number of arguments."""
        return self.predicate.removeprefix("-"), len(self.arguments)

    @property
    def terms(self) -> tuple[ModeTerm, ...]:
        """Its arguments."""
        return self.arguments

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(map(str, self.arguments))})" if self.arguments else self.predicate


@dataclass(frozen=True)
class ModeComparison(_Pattern):
    """A comparison with placeholders, e.g. ``var(suit) != var(suit)``."""

    operator: str
    left: ModeTerm
    right: ModeTerm

    @property
    def terms(self) -> tuple[ModeTerm, ...]:
        """Both sides."""
        return self.left, self.right

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


class ModeHead(NamedTuple):
    """``#modeh(atom).``: an atom that rules may derive. Its recall and options are only printed."""

    atom: ModeAtom
    recall: int | None = None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        options = f", ({', '.join(self.options)})" if self.options else ""
        return f"#modeh({'' if self.recall is None else f'{self.recall}, '}{self.atom}{options})."


class ModeBody(NamedTuple):
    """``#modeb(recall, literal, (options)).``: a literal that bodies may have.

    Attributes:
        recall: how often a rule may use it (ILASP's dialect; FastLAS ignores it).
        options: ILASP's options: ``positive``, ``negative``, ``anti_reflexive``, ``symmetric``.
    """

    literal: ModeAtom | ModeComparison
    negated: bool = False
    recall: int | None = None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        recall = "" if self.recall is None else f"{self.recall}, "
        options = f", ({', '.join(self.options)})" if self.options else ""
        return f"#modeb({recall}{'not ' if self.negated else ''}{self.literal}{options})."


class ModeLiteral(NamedTuple):
    """A form of body literal: a declaration, negated or not.

    Attributes:
        mode: index into `LanguageBias.bodies`; all uses of a declaration share its recall.
        recall: how often a rule may use the declaration; None for no limit.
        symmetric: whether the order of its two variables does not matter; no rule is excluded because of it.
    """

    mode: int
    literal: ModeAtom | ModeComparison
    negated: bool
    recall: int | None
    anti_reflexive: bool = False
    symmetric: bool = False


class PredicateDeclaration(NamedTuple):
    """``#predicate(kind, name/arity).``; `kind` is e.g. ``target`` or ``invented``."""

    kind: str
    name: str
    arity: int

    def __str__(self) -> str:
        return f"#predicate({self.kind}, {self.name}/{self.arity})."


class MetaMode(NamedTuple):
    """``#modem(cost, name(kind/arity, ...)).``; instances of a meta-rule and what each costs."""

    cost: int
    name: str
    kinds: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"#modem({self.cost}, {self.name}({', '.join(f'{k}/{n}' for k, n in self.kinds)}))."


class MetaRule(NamedTuple):
    """``P(X) :- Q(X), identity(P, Q).``; predicates are variables that the last atom binds.

    Attributes:
        text: the rule without its full stop and without the binding atom, e.g. ``P(X) :- Q(X)``.
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
    """The hypothesis space and the costs of its rules.

    A variable has one type. If a statement derives ``type/1``, every variable of the type has this atom as a
    guard, which is printed and costs nothing. Otherwise a positive body literal must bind the variable.
    A variable for ``num_var(type)`` has no guard, is in no other literal, and `max_variables` leaves it out.

    Attributes:
        heads, bodies: mode declarations.
        meta_modes, meta_rules, predicates: predicate invention by meta-rules (ILASP).
        rules: complete rules, each with its cost (ILASP).
        constants: (type, ground term) from ``#constant``, without repetition.
        max_variables: maximum number of variables in a rule.
        max_body: maximum number of body literals, if the file sets one.
        penalties: the ``#bias`` statements; None if there are none.
        ground_without_replacement: whether two body literals of a rule must not ground to the same atom.
        dialect: FastLAS's or ILASP's syntax, which determines the defaults.
        constraints: whether rules without a head belong to the space (ILASP).
        max_cost: the most that a hypothesis may cost (ILASP's ``#max_penalty``); None for any cost.
        final: the ``#final_bias`` statements, which price a hypothesis as a whole.
        doubt: why the task is not solved before its dialect is stated; empty if it is.
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
    constraints: bool = False
    max_cost: int | None = None
    final: tuple[str, ...] = ()
    doubt: str = field(default="", compare=False)

    @cached_property
    def scoring(self) -> Program:
        """The ``#bias`` statements as one parsed program."""
        return parse("\n".join(self.penalties or ()), "#bias")

    @property
    def body_limit(self) -> int | None:
        """Maximum number of body literals, without type guards; None for no limit."""
        if self.max_body is None and self.dialect == "ilasp":
            return ILASP_MAX_BODY
        return self.max_body

    @property
    def literals(self) -> tuple[ModeLiteral, ...]:
        """The forms of body literals. ILASP's declarations without ``positive`` also allow negation."""
        ilasp = self.dialect == "ilasp"
        result: list[ModeLiteral] = []
        for i, mode in enumerate(self.bodies):
            comparison = isinstance(mode.literal, ModeComparison)
            signed = comparison or mode.negated or not {"positive", "negative"}.isdisjoint(mode.options)
            signed |= mode.literal.has_thresholds
            negated_only = mode.negated or "negative" in mode.options
            for negated in (False, True) if ilasp and not signed else (negated_only,):
                result.append(
                    ModeLiteral(
                        mode=i,
                        literal=mode.literal,
                        negated=negated,
                        recall=mode.recall if ilasp else None,
                        anti_reflexive="anti_reflexive" in mode.options,
                        symmetric="symmetric" in mode.options,
                    )
                )
        return tuple(dict.fromkeys(result))

    @property
    def atoms(self) -> tuple[ModeAtom, ...]:
        """The atoms of all mode declarations."""
        return tuple(atom for atom in self.patterns if isinstance(atom, ModeAtom))

    @property
    def patterns(self) -> tuple[ModeAtom | ModeComparison, ...]:
        """The atoms and comparisons of all mode declarations, those of heads first."""
        return (*(head.atom for head in self.heads), *(body.literal for body in self.bodies))

    @property
    def given(self) -> tuple[WeightedRule, ...]:
        """The rules that are given whole and the instances of meta-rules."""
        return (*self.rules, *self.instances)

    @cached_property
    def instances(self) -> tuple[WeightedRule, ...]:
        """The instances of meta-rules, each with the cost in its ``#modem``."""
        return tuple(
            WeightedRule(mode.cost, meta.instance(dict(zip(meta.variables, names, strict=True))))
            for mode in self.meta_modes
            for meta in self.meta_rules
            if meta.name == mode.name and len(meta.variables) == len(mode.kinds)
            for names in self._bindings(mode.kinds)
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
        """Predicates (name, arity) that a hypothesis can derive, not counting complete rules."""
        from_heads = {head.atom.signature for head in self.heads}
        if not self.meta_modes:
            return frozenset(from_heads)
        targets = {(p.name, p.arity) for p in self.predicates}
        return frozenset(from_heads | targets)
