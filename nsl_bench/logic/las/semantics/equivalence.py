"""Decide with clingo whether two hypotheses derive the same labels from every possible input.

Both hypotheses are put into one program, with different names for everything that depends on them. A choice
program generates the inputs, and a constraint asks for an input on which the hypotheses differ. If there is
no answer set, they are equivalent. The programs must be stratified, so that each has one answer set per
input (Apt, Blair, Walker: "Towards a theory of declarative knowledge", 1988). The names of the comparison's
own predicates occur in none of the programs (`nsl_bench.logic.asp.atoms.Names`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from clingo import Control, Function, HeuristicType, Model, Number, Symbol, ast

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.logic.asp.atoms import Names, parse_atom, read_atom
from nsl_bench.logic.asp.parsing import grounded, variables_in
from nsl_bench.logic.asp.program import Program, Rule, Signature, parse, statement, union
from nsl_bench.logic.asp.replicas import Renaming
from nsl_bench.logic.asp.text import check_text
from nsl_bench.logic.las.task import LasTask

_AGGREGATES = (ast.ASTType.Aggregate, ast.ASTType.BodyAggregate)
_SIDES = (0, 1)
_MOST_NAMED = 50
"""Atoms among which a close one is looked for."""


@dataclass(frozen=True)
class Compared:
    """An atom, or all atoms of a predicate.

    Attributes:
        classical: it is negated classically.
        arguments: its arguments; variables for all atoms of a predicate.
    """

    text: str
    signature: Signature
    classical: bool
    arguments: tuple[str, ...]
    is_ground: bool

    @property
    def term(self) -> str:
        """The atom as a term."""
        sign, inner = "-" if self.classical else "", ",".join(self.arguments)
        return f"{sign}{self.signature[0]}{f'({inner})' if inner else ''}"

    @property
    def predicate(self) -> str:
        """The predicate as people write it: ``winner/1``, and without a number if it has no arguments."""
        name, arity = self.signature
        return f"{name}/{arity}" if arity else name

    def includes(self, other: Compared) -> bool:
        """Whether what the other names is among what this one does."""
        same = (self.signature, self.classical) == (other.signature, other.classical)
        return same and (not self.is_ground or self.term == other.term)

    def matches(self, text: str) -> bool:
        """Whether a ground atom is one that is compared."""
        atom = read_atom(text)
        return atom is not None and (atom.signature, atom.classical) == (self.signature, self.classical)


def compared(text: str) -> Compared:
    """What `text` names."""
    check_text(text, "a compared atom")
    name, slash, arity = (part.strip() for part in text.partition("/"))
    if slash and arity.isdecimal() and int(arity) < 100:
        bare = read_atom(name)
        if bare is not None and bare.arity == 0:
            variables = tuple(f"X{i}" for i in range(int(arity)))
            return Compared(text, (bare.name, int(arity)), bare.classical, variables, is_ground=False)
    symbol = parse_atom(text)
    if symbol is None:
        raise UserError(f"--atom must be an atom or a predicate such as 'winner/1'; got '{text}'.")
    arguments = tuple(map(str, symbol.arguments))
    return Compared(text, (symbol.name, len(arguments)), symbol.negative, arguments, is_ground=True)


def equivalent(
    first: Sequence[str],
    second: Sequence[str],
    task: LasTask | None = None,
    *,
    background: str | None = None,
    inputs: str | None = None,
    atoms: Iterable[str] = (),
    known: Iterable[str] = (),
    time_limit: float | None = None,
) -> Counterexample | None:
    """Compare two hypotheses: None if they are equivalent, else an input on which they differ.

    Args:
        first: rules with full stops.
        second: rules with full stops.
        task: gives background, inputs and atoms if they are not given.
        background: background knowledge, an ASP program.
        inputs: a choice program whose answer sets are the possible inputs, e.g.
            ``"{ card(P,R,S) : rank(R), suit(S) } = 1 :- player(P)."``; it may use the background.
        atoms: ground atoms, or predicates as ``"name/arity"``, to compare. By default those in the task's
            inclusion and exclusion sets.
        known: atoms and predicates that may be compared even if neither hypothesis derives them.
        time_limit: time limit in seconds.

    Raises:
        UserError: a program does not parse or is not stratified, no input is possible, an atom of `atoms`
            cannot be derived from any, or time ran out before a decision.
    """
    asked = () if task is None else task.asked
    wanted = tuple(atoms)
    if not (wanted or asked) or (inputs is None and task is None):
        raise UserError("Give a task, or inputs and the atoms to compare.")
    program = Program() if task is None else task.program
    if background is not None:
        program = parse(background, "the background knowledge")
    stated = {text: None for context in task.contexts for text in context} if task is not None else ()
    names = Names.apart_from([*first, *second, *asked, *wanted, *stated, inputs or "", str(program)])
    if inputs is not None:
        ranges = parse(inputs, "the inputs")
        if not ranges.derived:
            raise UserError(
                "The inputs program must have facts or choices that generate the possible inputs."
            )
    else:
        assert task is not None
        ranges = parse(input_space(task, names), "the inputs that the task suggests")
    learned = () if task is None else task.bias.learned
    may_be_missing = [*known, *asked, *(f"{name}/{arity}" for name, arity in learned)] if wanted else None
    comparison = Equivalence(program, ranges, names)
    return comparison.differ(first, second, wanted or asked, time_limit, may_be_missing)


class Equivalence:
    """The inputs by which hypotheses are compared.

    Args:
        inputs: a choice program whose answer sets are the possible inputs.
        names: names that occur in no program and no atom of the comparison.
    """

    def __init__(self, background: Program, inputs: Program, names: Names) -> None:
        self._background = background
        self._inputs = inputs
        self._names = names

    def differ(
        self,
        first: Sequence[str],
        second: Sequence[str],
        atoms: Iterable[str],
        time_limit: float | None = None,
        known: Iterable[str] | None = None,
    ) -> Counterexample | None:
        """An input on which the hypotheses differ; None if there is none.

        Args:
            atoms: what is compared: ground atoms, or predicates as ``"name/arity"``.
            known: atoms and predicates that may be compared even if nothing derives them; None: any.
        """
        budget = Budget.of(time_limit, None)
        asked = [compared(text) for text in atoms]
        rules = [
            _hypothesis(texts, what)
            for texts, what in ((first, "the first hypothesis"), (second, "the second hypothesis"))
        ]
        both = union(rules)
        apart = self._background.dependents(both.derived)
        if derived_twice := self._inputs.derived & apart:
            derived = ", ".join(f"{name}/{arity}" for name, arity in sorted(derived_twice))
            raise UserError(f"The hypotheses must not derive {derived}, because the inputs derive it.")
        if known is not None:
            self._check_derived(asked, both, [compared(text) for text in known])
        shared = [rule for rule in self._background.rules if not rule.signatures & apart]
        doubled = [rule for rule in self._background.rules if rule.signatures & apart]
        self._check_inputs(shared, budget)
        lines = [*map(str, self._background.constants), *(rule.text for rule in shared), str(self._inputs)]
        for side, hypothesis in zip(_SIDES, rules, strict=True):
            _check_stratified(Program((*doubled, *hypothesis.rules)))
            for k, rule in enumerate((*doubled, *hypothesis.rules)):
                lines += self._doubled(rule, apart, side, k)
        lines += self._differences(asked, apart, self._background.classical | both.classical)
        control = _grounded(lines, budget, "--heuristic=Domain")
        if known is not None:
            violable = any(rule.head == "constraint" for rule in (*doubled, *both.rules))
            violable |= bool(apart & (self._background.classical | both.classical))
            fixed = set() if violable else {each.signature for each in asked} - apart
            self._check_possible(control, asked, fixed, [compared(text) for text in known])
        control.add("differ", [], f":- not {self._names('differ')}.")
        control.ground([("differ", [])])
        return find_counterexample(control, self._inputs.derived, self._names, budget)

    def _check_inputs(self, shared: Sequence[Rule], budget: Budget) -> None:
        """Refuse inputs of which none is possible."""
        lines = [*map(str, self._background.constants), *(rule.text for rule in shared), str(self._inputs)]
        if not _has_answer_set(_grounded(lines, budget), budget):
            raise UserError("The inputs program has no answer set, so no input is possible.")

    def _copy(self, signature: Signature, classical: bool) -> str:
        return self._names(f"{'n' if classical else 'p'}_{signature[0]}")

    def _differences(
        self, asked: Sequence[Compared], apart: frozenset[Signature], classical: frozenset[Signature]
    ) -> list[str]:
        """What derives ``differ``: an atom that one hypothesis says and the other does not."""
        says, bad, differ = (self._names(name) for name in ("says", "violated", "differ"))
        a = self._names.variable("atom")
        lines = ["#show.", f"#show {says}/2.", f"{bad}(0) :- #false. {bad}(1) :- #false."]
        lines += [f"{differ} :- {says}({i},{a}), not {says}({1 - i},{a})." for i in _SIDES]
        for each in asked:
            for side in _SIDES:
                held = each.term
                if each.signature in apart:
                    name = self._copy(each.signature, each.classical)
                    held = f"{name}({','.join([str(side), *each.arguments])})"
                lines.append(f"{says}({side},{each.term}) :- {held}, not {bad}({side}).")
        for signature in sorted(apart & classical):
            copies = [self._copy(signature, classical) for classical in (False, True)]
            xs = ",".join(f"X{i}" for i in range(signature[1]))
            for side in _SIDES:
                inner = f"({side}{',' + xs if xs else ''})"
                lines.append(f"{bad}({side}) :- {copies[0]}{inner}, {copies[1]}{inner}.")
        return lines

    def _doubled(self, rule: Rule, apart: frozenset[Signature], side: int, k: int) -> list[str]:
        """A rule's copy for one of the hypotheses, split at an atom that says that its body holds.

        Where the hypotheses agree, clingo decides these atoms first: then it takes one decision for each
        ground rule to refute that one hypothesis derives more than the other.
        """
        argument = ast.SymbolicTerm(rule.node.location, Number(side))
        renaming = Renaming(lambda s, negative: self._copy(s, negative) if s in apart else None, argument)
        changed = renaming.visit(rule.node)
        head = f"{self._names('violated')}({side})" if rule.head == "constraint" else str(changed.head)
        body = "; ".join(map(str, changed.body))
        if not changed.body:
            return [f"{head}."]
        if any(
            literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type in _AGGREGATES
            for literal in changed.body
        ):
            return [f"{head} :- {body}."]
        variables = {name for node in changed.body for name in variables_in(node)}
        holds = f"{self._names('holds')}({','.join([str(side), str(k), *sorted(variables - {'_'})])})"
        return [f"{holds} :- {body}.", f"{head} :- {holds}."]

    def _check_derived(self, asked: Sequence[Compared], both: Program, known: Sequence[Compared]) -> None:
        """Refuse to compare what no rule derives, or what the inputs say and not the hypotheses."""
        expected = {each.predicate for each in known} | {_predicate(each) for each in both.derived}
        for each in asked:
            if each.signature in self._inputs.derived:
                raise UserError(f"The inputs fix '{each.text}', so the hypotheses cannot differ on it.")
            if each.signature not in self._background.derived and each.predicate not in expected:
                raise UserError(
                    f"No rule derives '{each.text}', so the hypotheses cannot differ on "
                    f"it.{did_you_mean(each.predicate, expected)}"
                )

    def _check_possible(
        self,
        control: Control,
        asked: Sequence[Compared],
        fixed: Collection[Signature],
        known: Sequence[Compared],
    ) -> None:
        """Refuse to compare what neither hypothesis derives from any input, or what is `fixed` by it."""
        says = self._names("says")
        possible = {str(atom.symbol.arguments[1]) for atom in control.symbolic_atoms.by_signature(says, 2)}
        for each in asked:
            derived = each.term in possible if each.is_ground else any(map(each.matches, possible))
            derived = derived and each.signature not in fixed
            if not derived and not any(other.includes(each) for other in known):
                name, arity = self._copy(each.signature, each.classical), each.signature[1] + 1
                copies = (atom.symbol for atom in control.symbolic_atoms.by_signature(name, arity))
                others = {str(Function(each.signature[0], symbol.arguments[1:])) for symbol in copies}
                raise UserError(
                    f"Neither hypothesis derives '{each.text}' from any input, so they cannot differ on "
                    f"it.{did_you_mean(each.text, others) if len(others) <= _MOST_NAMED else ''}"
                )


def _hypothesis(texts: Sequence[str], what: str) -> Program:
    """A hypothesis, which holds rules only."""
    program = union(parse(text, what) for text in texts)
    if program.constants:
        raise UserError(f"Hypotheses to compare must contain only rules; got '{program.constants[0]}'.")
    return program


def _check_stratified(program: Program) -> None:
    if cyclic := program.cycles_through_negation:
        names = ", ".join(_predicate(signature) for signature in sorted(cyclic))
        raise UserError(
            f"The hypotheses depend on a cycle through negation ({names}), so they have no single "
            "answer to compare."
        )
    if any(rule.is_open for rule in program.rules):
        raise UserError(
            "The hypotheses depend on a choice or disjunction, so they have no single answer to compare."
        )


def _has_answer_set(control: Control, budget: Budget) -> bool:
    with control.solve(async_=True) as handle:
        while not handle.wait(_POLL):
            if budget.expired():
                raise UserError("The comparison is undecided: time ran out.")
        return not handle.get().unsatisfiable


def _grounded(lines: Sequence[str], budget: Budget, *arguments: str) -> Control:
    try:
        text = "\n".join(lines)
        what = "The hypotheses on these inputs"
        return grounded(what, text=text, arguments=arguments, check=budget.check)
    except Expired as reason:
        raise UserError(f"The comparison is undecided: {reason}.") from None


def _predicate(signature: Signature) -> str:
    name, arity = signature
    return f"{name}/{arity}" if arity else name


_MOST_FACTS = 200_000


def input_space(task: LasTask, names: Names | None = None) -> str:
    """Make a choice program whose answer sets are the possible inputs, from the task's contexts.

    The facts of each predicate range over the constants seen at its arguments. If some arguments determine
    the others in all contexts (the player determines the card), an input also has at most one fact for them,
    and exactly one if every context has one.

    Args:
        names: names for auxiliary predicates; by default names that occur in no context.

    Raises:
        UserError: contexts have rules, or there are too many facts; the inputs must then be given.
    """
    names = names or Names.apart_from({text: None for context in task.contexts for text in context})
    contexts = [[fact for text in context for fact in _facts(text)] for context in task.contexts]
    tables: dict[tuple[str, int], list[list[tuple[Symbol, ...]]]] = {}
    for i, context in enumerate(contexts):
        for fact in context:
            predicate = f"{'-' if fact.negative else ''}{fact.name}"
            rows = tables.setdefault((predicate, len(fact.arguments)), [[] for _ in contexts])
            rows[i].append(tuple(fact.arguments))
    lines = []
    for name, arity in sorted(tables):
        lines += _choices(name, arity, tables[name, arity], names)
    return "\n".join(lines)


def _choices(
    name: str, arity: int, tables: Sequence[Sequence[tuple[Symbol, ...]]], names: Names
) -> list[str]:
    if arity == 0:
        return [f"{{ {name} }}."]
    values = [sorted({row[i] for table in tables for row in table}) for i in range(arity)]
    key = _key(arity, tables)
    rest = [i for i in range(arity) if key is None or i not in key]
    per_key = math.prod(len(values[i]) for i in rest)
    keys = {tuple(row[i] for i in key or ()) for table in tables for row in table}
    if per_key * len(keys) > _MOST_FACTS:
        raise UserError(
            f"The contexts suggest {per_key * len(keys)} possible facts {name}/{arity}, which is too "
            "many; describe the possible inputs with an inputs program (--inputs)."
        )
    value_of, key_of = names("value"), names("key")
    lines = [f"{value_of}({_quoted(name, arity)},{i},{value})." for i in range(arity) for value in values[i]]
    arguments = [f"X{i}" for i in range(arity)]
    atom = f"{name}({','.join(arguments)})"
    of_rest = ", ".join(f"{value_of}({_quoted(name, arity)},{i},X{i})" for i in rest)
    if key is None:
        return [*lines, f"{{ {atom} : {of_rest} }}."]
    always = all(len({tuple(row[i] for i in key) for row in table}) == len(keys) for table in tables)
    bound = "= 1" if always else "1"
    if not key:
        return [*lines, f"{{ {atom} : {of_rest} }} {bound}."]
    seen = f"{key_of}({_quoted(name, arity)},{','.join(arguments[i] for i in key)})"
    lines += [f"{key_of}({_quoted(name, arity)},{','.join(map(str, values))})." for values in sorted(keys)]
    elements = f"{atom} : {of_rest}" if of_rest else atom
    return [*lines, f"{{ {elements} }} {bound} :- {seen}."]


def _quoted(name: str, arity: int) -> str:
    return f'"{name}/{arity}"'


def _key(arity: int, tables: Sequence[Sequence[tuple[Symbol, ...]]]) -> tuple[int, ...] | None:
    """The fewest arguments that decide the others in every context; None if only all of them do."""
    for size in range(arity):
        for key in itertools.combinations(range(arity), size):
            if all(len({tuple(row[i] for i in key) for row in table}) == len(set(table)) for table in tables):
                return key
    return None


@lru_cache(maxsize=65536)
def _facts(text: str) -> tuple[Symbol, ...]:
    """The facts that a statement of a context says."""
    symbol = parse_atom(text)
    if symbol is not None:
        return (symbol,)
    statement(text)
    atoms = list(grounded("The program", text=f"{text}.").symbolic_atoms)
    if not atoms or not all(atom.is_fact for atom in atoms):
        raise UserError(
            f"The context statement '{text}' is not a fact; describe the possible inputs with an inputs "
            "program (--inputs)."
        )
    return tuple(atom.symbol for atom in atoms)


_FIRST_CONFLICTS = "2000"
"""How long a difference is looked for by clingo's own heuristic, which is good at finding one."""

_SECONDS_TO_SHRINK = 0.5
"""How long a counterexample with fewer facts is looked for."""

_POLL = 0.05


@dataclass(frozen=True)
class Counterexample:
    """An input on which two hypotheses differ.

    Attributes:
        inputs: facts of the input.
        first: compared atoms that the first hypothesis derives.
        second: compared atoms that the second hypothesis derives.
    """

    inputs: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]

    def __str__(self) -> str:
        lines = [" ".join(f"{fact}." for fact in self.inputs) or "no facts"]
        for name, atoms in (("first", self.first), ("second", self.second)):
            lines.append(f"{name}: {', '.join(atoms) or 'none'}")
        return "\n".join(lines)


def find_counterexample(
    control: Control, inputs: Collection[Signature], names: Names, budget: Budget
) -> Counterexample | None:
    """An answer set of a ground comparison as a counterexample; None if there is none.

    Args:
        control: has grounded a program whose answer sets are inputs on which two hypotheses differ. It shows
            ``says(side, atom)`` and has ``holds(...)`` for the bodies that hold, by the names of `names`.
        names: the comparison's own names.
    """
    solving = control.configuration.solve
    solving.solve_limit = _FIRST_CONFLICTS  # type: ignore[union-attr]
    result = _answer(control, inputs, names, budget)
    if result is False and not budget.expired():
        holds = names("holds")
        with control.backend() as backend:
            for atom in control.symbolic_atoms:
                if atom.symbol.name == holds and not atom.is_fact:
                    backend.add_heuristic(atom.literal, HeuristicType.True_, 1, 1, [])
        solving.solve_limit = "umax"  # type: ignore[union-attr]
        result = _answer(control, inputs, names, budget)
    if isinstance(result, bool):
        raise UserError("The comparison is undecided: the time limit was reached.")
    if result is None:
        return None
    for name, arity in sorted(inputs):
        text = f"{name}({','.join(f'X{i}' for i in range(arity))})" if arity else name
        control.add("fewer", [], f":~ {text}. [1,{text}]")
    control.ground([("fewer", [])])
    solving.models, solving.solve_limit = "0", "umax"  # type: ignore[union-attr]
    smaller = _answer(control, inputs, names, Budget.of(_SECONDS_TO_SHRINK, None))
    return smaller if isinstance(smaller, Counterexample) else result


def _answer(
    control: Control, inputs: Collection[Signature], names: Names, budget: Budget
) -> Counterexample | Literal[False] | None:
    """The last answer set found in time; None if there is none, False if it is not known."""
    result: list[Counterexample] = []

    def keep(model: Model) -> None:
        atoms = [s for s in model.symbols(atoms=True) if (s.name, len(s.arguments)) in inputs]
        facts = tuple(str(s) for s in sorted(atoms) if not s.name.startswith(names.prefix))
        says = sorted(model.symbols(shown=True))
        result.append(Counterexample(facts, _said(says, 0), _said(says, 1)))

    with control.solve(on_model=keep, async_=True) as handle:
        while not handle.wait(_POLL):
            if budget.expired():
                handle.cancel()
                break
        finished = handle.get().exhausted
    if result:
        return result[-1]
    return None if finished else False


def _said(symbols: Sequence[Symbol], side: int) -> tuple[str, ...]:
    return tuple(str(s.arguments[1]) for s in symbols if s.arguments[0].number == side)
