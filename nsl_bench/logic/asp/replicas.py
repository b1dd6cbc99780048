"""Replicas: one logic program that holds the same program once for every example.

Many examples share background knowledge and hypothesis and differ in their context. Every predicate that
depends on a context, on a learned rule or on a choice gets the number of the example as an extra first
argument; what depends on none of them is shared. So one grounding serves all examples, and because replicas
share nothing that is open, an answer set of the program is one answer set for each example.

An inconsistent replica must not make the program inconsistent: constraints derive ``violated(E)``, and rules
that can contradict themselves (cycles through negation, bounds of choices) only apply while ``active(E)``
holds, which is free, and is left out where no rule can. ``covered(E)`` says that example E's inclusions and
exclusions hold in a consistent replica, so E is bravely covered exactly if some answer set of the program
holds ``covered(E)``.

All these names begin with a prefix that occurs nowhere in the user's texts (`nsl_bench.logic.asp.atoms`).

Of learned rules, only the atoms that the program can ask for are grounded: a background rule with
``not valid_move(C,T-1)`` asks for few of the atoms over all cells and times, those for which the rest of its
body can hold. What is kept of the rest depends on no learned rule and no choice, so it is the same in every
answer set. An atom that nothing asks for changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from clingo import ast

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.atoms import Atom, Names, read_atom, read_literal
from nsl_bench.logic.asp.parsing import by_text, variables_in
from nsl_bench.logic.asp.program import Program, Rule, Signature, signatures_in, statement


class LearnedRule(Protocol):
    """A rule that may be learned, in parts: atoms and comparisons as text; or one that is given whole."""

    @property
    def head(self) -> str | None:
        """Its head; None for a constraint."""

    @property
    def body(self) -> Sequence[str]:
        """Its body literals, type guards too."""

    @property
    def given(self) -> Rule | None:
        """The rule itself, where it may hold more than atoms and comparisons."""


@dataclass(frozen=True, eq=False)
class Replicas:
    """A program prepared for one replica an example. Made by `replicate`.

    Attributes:
        names: the names of the encoding's own predicates.
        dependent: the predicates that get a replica for each example.
        guarded: the predicates on a cycle through negation.
        deterministic: each replica has exactly one answer set or none, whatever rules are chosen.
        derived: the predicates that some statement derives.
        shared: the program's statements that need no replica, as text.
        local: the rules that are replicated.
        questions: what is asked of heads of learned rules, where it may not be anything.
        unread: the heads of learned rules that no rule reads.
    """

    names: Names
    dependent: frozenset[Signature]
    guarded: frozenset[Signature]
    deterministic: bool
    derived: frozenset[Signature]
    shared: str = ""
    local: tuple[Rule, ...] = ()
    questions: Mapping[Signature, tuple[Question, ...]] = field(default_factory=dict)
    unread: frozenset[Signature] = frozenset()
    _asked: tuple[Atom, ...] = ()
    _contradictory: frozenset[Signature] = frozenset()
    _extends: bool = False
    _signatures: frozenset[Signature] = frozenset()
    _facts: dict[str, tuple[str, str]] = field(default_factory=dict)
    _templates: dict[tuple[str, str], tuple[ast.AST, ...]] = field(default_factory=dict)

    @property
    def any_example(self) -> str:
        """The variable that stands for an example in statements for all of them."""
        return self.names.variable("example")

    def example(self, number: int | str) -> str:
        """The atom that says that there is such an example."""
        return f"{self.names('example')}({number})"

    def violated(self, number: int | str) -> str:
        """The atom of a replica that violates a constraint."""
        return f"{self.names('violated')}({number})"

    def active(self, number: int | str) -> str:
        """The atom under which rules that can contradict themselves apply."""
        return f"{self.names('active')}({number})"

    def covers(self, number: int | str) -> str:
        """The atom that says that an example is covered."""
        return f"{self.names('covered')}({number})"

    @cached_property
    def common(self) -> str:
        """The replicated statements with a variable for the example, as text."""
        return "\n".join(self.rule(rule) for rule in self.local)

    def rule(self, rule: Rule, *, number: int | str | None = None, condition: str = "") -> str:
        """A rule's replica as text.

        Args:
            rule: the rule.
            number: the example, a number or a term; None: a variable for all of them.
            condition: one more body literal.
        """
        term = self.any_example if number is None else str(number)
        exists, active, violated, *more = self._template(term, condition)
        rename = self._for_any if number is None else self._renaming(exists)
        guards = [exists, *more]
        if rule.head == "constraint":
            head = str(violated)
        else:
            head = rename(rule.node.head)
            if rule.bounded or rule.derives & self.guarded:
                guards = [exists, active, *more]
        return f"{head} :- {'; '.join([*map(rename, rule.node.body), *map(str, guards)])}."

    @cached_property
    def _for_any(self) -> Callable[[ast.AST], str]:
        """A part of a rule with a variable for the example, as text."""
        exists, *_ = self._template(self.any_example, "")
        return by_text(self._renaming(exists))

    def _renaming(self, exists: ast.AST) -> Callable[[ast.AST], str]:
        renaming = Renaming(self._renamed, exists.atom.symbol.arguments[0])
        return lambda node: str(renaming.visit(node))

    def predicate(self, name: str, *, classical: bool = False) -> str:
        """The name of a replicated predicate; the example is its first argument."""
        return self.names(("n_" if classical else "p_") + name)

    def _renamed(self, signature: Signature, classical: bool) -> str | None:
        return self.predicate(signature[0], classical=classical) if signature in self.dependent else None

    def _template(self, term: str, condition: str) -> tuple[ast.AST, ...]:
        result = self._templates.get((term, condition))
        if result is None:
            own = f"{self.example(term)}, {self.active(term)}, {self.violated(term)}"
            nodes: list[ast.AST] = []
            ast.parse_string(f":- {own}{', ' + condition if condition else ''}.", nodes.append)
            result = tuple(nodes[-1].body)
            if len(self._templates) < 1024:
                self._templates[(term, condition)] = result
        return result

    def learned(self, rule: LearnedRule, *, number: int | str, condition: str) -> str:
        """A learned rule's replica as text.

        Args:
            rule: the rule.
            number: the example's number, or the name of a parameter.
            condition: a body literal that must hold, too.
        """
        if rule.given is not None:
            return self.rule(rule.given, number=number, condition=condition)
        literals = [self._literal(number, literal) for literal in rule.body]
        if rule.head is None:
            return f"{self.violated(number)} :- {', '.join([*literals, condition, self.example(number)])}."
        atom = read_atom(rule.head)
        guarded = atom is not None and atom.signature in self.guarded
        literals += [condition, self.active(number) if guarded else self.example(number)]
        if atom is not None and atom.signature in self.questions:
            literals.append(self._question(number, atom))
        return f"{self.atom(number, rule.head)} :- {', '.join(literals)}."

    def _question(self, number: int | str, atom: Atom) -> str:
        return f"{self.names('ask_' + atom.name)}({number},{atom.arguments})"

    def asking(self, number: str, condition: str) -> list[str]:
        """The statements by which learned rules derive only what examples and program can ask for.

        Args:
            number: the term that stands for an example.
            condition: a body literal that must hold, too.
        """
        lines = [
            f"{self._question(number, atom)} :- {condition}."
            for atom in self._asked
            if atom.signature in self.questions
        ]
        exists, *more = self._template(number, condition)
        rename = self._renaming(exists)
        argument = exists.atom.symbol.arguments[0]
        ask = Renaming(lambda signature, _: self.names("ask_" + signature[0]), argument)
        for atoms_asked in self.questions.values():
            for atom, conditions in atoms_asked:
                body = "; ".join([*map(rename, conditions), str(exists), *map(str, more[2:])])
                lines.append(f"{ask.visit(atom)} :- {body}.")
        return lines

    def _literal(self, number: int | str, literal: str) -> str:
        negated, atom = read_literal(literal)
        if atom is None:
            return literal
        return f"{'not ' if negated else ''}{self._of(number, atom)}"

    def context(self, number: int, statements: Sequence[str]) -> str:
        """One example's context as text; `statements` come without their full stops."""
        out: list[str] = []
        for text in statements:
            sides = self._facts.get(text)
            if sides is None:
                atom = read_atom(text)
                if atom is None:
                    out += [self.rule(rule, number=number) for rule in statement(text).rules]
                    continue
                name = self.predicate(atom.name, classical=atom.classical)
                sides = self._facts[text] = f"{name}(", f",{atom.arguments})." if atom.arity else ")."
            out.append(f"{sides[0]}{number}{sides[1]}")
        return "\n".join(out)

    def covered(
        self, number: int, inclusions: Sequence[str], exclusions: Sequence[str], replica: int | None = None
    ) -> str:
        """The rule that derives `covers(number)`.

        Args:
            number: the example's number.
            inclusions: ground atoms that must hold.
            exclusions: ground atoms that must not.
            replica: the number of the replica that it reads, if that is another example's.
        """
        own = number if replica is None else replica
        literals = [self.example(own), f"not {self.violated(own)}"]
        literals += [] if self.deterministic else [self.active(own)]
        literals += [self.atom(own, text) for text in inclusions]
        literals += [f"not {self.atom(own, text)}" for text in exclusions]
        return f"{self.covers(number)} :- {', '.join(literals)}."

    def atom(self, number: int | str, text: str) -> str:
        """A ground atom's replica, as text."""
        atom = read_atom(text)
        if atom is None:
            raise UserError(f"Inclusions and exclusions must be ground atoms; got '{text}'.")
        return self._of(number, atom)

    def _of(self, number: int | str, atom: Atom) -> str:
        name = self._renamed(atom.signature, atom.classical)
        if name is None:
            return str(atom)
        return f"{name}({number},{atom.arguments})" if atom.arity else f"{name}({number})"

    def frame(self, number: str | None = None) -> str:
        """The statements that hold whatever the examples are; they need `example` for each of them.

        Args:
            number: the term that stands for an example; None: a variable.
        """
        term = self.any_example if number is None else number
        lines = [] if self.deterministic else [f"{{ {self.active(term)} }} :- {self.example(term)}."]
        for signature in sorted(self._contradictory):
            arguments = ",".join([term, *_variables(signature[1])])
            sides = [f"{self._renamed(signature, classical)}({arguments})" for classical in (False, True)]
            lines.append(f"{self.violated(term)} :- {', '.join(sides)}.")
        return "\n".join([*lines, *(self._extension(term) if self._extends else ())])

    def _extension(self, term: str) -> list[str]:
        """What ``inclusion(A)`` and ``exclusion(A)``, derived by the program, ask of a replica."""
        holds, a = self.names("holds"), self.names.variable("atom")
        lines = []
        for signature in sorted(self._signatures):
            for classical in (False, True) if signature in self._contradictory else (False,):
                atom = Atom(signature[0], ",".join(_variables(signature[1])), signature[1], classical)
                for asked in ("inclusion", "exclusion"):
                    wanted = self._of(term, Atom(asked, str(atom), 1))
                    lines.append(f"{holds}({term},{atom}) :- {wanted}, {self._of(term, atom)}.")
        wanted, unwanted = (self._of(term, Atom(asked, a, 1)) for asked in ("inclusion", "exclusion"))
        lines.append(f"{self.violated(term)} :- {wanted}, not {holds}({term},{a}).")
        lines.append(f"{self.violated(term)} :- {unwanted}, {holds}({term},{a}).")
        return lines


def _variables(arity: int) -> list[str]:
    return [f"X{i}" for i in range(arity)]


class Renaming(ast.Transformer):
    """Gives the atoms of some predicates another name and one more, first argument.

    Args:
        rename: the new name of a predicate, given whether the atom is classically negated; None leaves it
            as it is. The sign becomes part of the new name.
        argument: the argument that is put before the others.
    """

    def __init__(self, rename: Callable[[Signature, bool], str | None], argument: ast.AST) -> None:
        self._rename = rename
        self._argument = argument

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        """An atom with its new name."""
        return node.update(symbol=self._term(node.symbol, False))

    def _term(self, term: ast.AST, negated: bool) -> ast.AST:
        if term.ast_type == ast.ASTType.UnaryOperation:
            inner = self._term(term.argument, not negated)
            return inner if inner is not term.argument else term
        if term.ast_type == ast.ASTType.Pool:
            return term.update(arguments=[self._term(each, negated) for each in term.arguments])
        if term.ast_type == ast.ASTType.Function:
            name = self._rename((term.name, len(term.arguments)), negated)
            if name is not None:
                return term.update(name=name, arguments=[self._argument, *term.arguments])
        return term


_MOST_ASKED = 1_000
"""Inclusions and exclusions up to which it is said for each that it is asked for."""

_DERIVED_SETS = frozenset({("inclusion", 1), ("exclusion", 1)})


def replicate(
    program: Program,
    contexts: Iterable[Sequence[str]],
    learned: Iterable[LearnedRule] = (),
    *,
    asked: Iterable[str] = (),
    derived_sets: bool = False,
    restricted: bool = False,
) -> Replicas:
    """Prepare a program for one replica an example.

    Args:
        program: background knowledge, with a hypothesis if there is one.
        contexts: the contexts of all examples, statements without full stops.
        learned: rules that may be added to every replica by `Replicas.learned`.
        asked: further texts that will stand in the same program, e.g. inclusions.
        derived_sets: ``inclusion(A)`` and ``exclusion(A)`` that the program derives extend an example.
        restricted: learned rules need only derive what program and `asked` can ask for.
    """
    parts = list(learned)
    read = dict.fromkeys(text for context in contexts for text in context)
    atoms = {text: read_atom(text) for text in read}
    facts = frozenset(atom for atom in atoms.values() if atom is not None)
    in_contexts = [rule for text, atom in atoms.items() if atom is None for rule in statement(text).rules]
    abstract = _abstract(parts)
    everything = Program((*program.kinds, *in_contexts, *abstract))
    stated = frozenset(atom.signature for atom in facts)
    contradictory = everything.classical | {atom.signature for atom in facts if atom.classical}
    derived = everything.derived | stated
    extends = derived_sets and bool(_DERIVED_SETS & derived)
    guarded = everything.cycles_through_negation
    open_heads = [rule for rule in everything.rules if rule.is_open]
    seeds = stated | contradictory | guarded | (_DERIVED_SETS if extends else frozenset())
    seeds = seeds.union(*(rule.derives for rule in (*in_contexts, *abstract, *open_heads)))
    dependent = closed(everything, seeds)
    asked = list(asked)
    atoms_asked = tuple(atom for text in asked if (atom := read_atom(text)) is not None)
    result: Mapping[Signature, tuple[Question, ...]] = {}
    unread = frozenset[Signature]()
    if restricted and not extends and len(atoms_asked) == len(asked) <= _MOST_ASKED:
        heads = unread_heads(abstract) - contradictory
        chosen = frozenset().union(*(rule.derives for rule in (*abstract, *open_heads)))
        uncertain = closed(everything, chosen | contradictory | guarded)
        result = questions([*program.rules, *in_contexts], heads, uncertain)
        bodies = (rule.body for rule in (*program.kinds, *in_contexts))
        unread = heads.difference(*bodies, *(rule.derives for rule in open_heads))
    own = [text for rule in parts for text in (rule.head or "", *rule.body)]
    return Replicas(
        names=Names.apart_from([str(program), *read, *asked, *own]),
        dependent=dependent,
        guarded=guarded,
        deterministic=not open_heads and not guarded,
        derived=derived,
        shared="\n".join(
            [
                *map(str, program.constants),
                *(r.text for r in program.rules if r.derives and not r.derives & dependent),
            ]
        ),
        local=tuple(rule for rule in program.rules if not rule.derives or rule.derives & dependent),
        questions=result,
        unread=unread,
        _asked=atoms_asked,
        _contradictory=contradictory,
        _extends=extends,
        _signatures=everything.signatures | stated,
    )


def closed(program: Program, seeds: frozenset[Signature]) -> frozenset[Signature]:
    """The predicates that depend on `seeds`; the predicates that one head derives go together."""
    result = program.dependents(seeds)
    while more := [r.derives for r in program.rules if r.derives & result and not r.derives <= result]:
        result = program.dependents(result.union(*more))
    return result


def _abstract(parts: Iterable[LearnedRule]) -> list[Rule]:
    """What learned rules derive and depend on; rules that agree in that are one."""
    nodes: list[ast.AST] = []
    ast.parse_string("#true.", nodes.append)
    parsed: dict[str, tuple[Signature | None, bool, bool]] = {}

    def read(text: str) -> tuple[Signature | None, bool, bool]:
        result = parsed.get(text)
        if result is None:
            negated, atom = read_literal(text)
            signature = None if atom is None else atom.signature
            result = parsed[text] = signature, negated, atom is not None and atom.classical
        return result

    result: dict[object, Rule] = {}
    for rule in parts:
        if rule.given is not None:
            result[rule.given.text] = rule.given
            continue
        head = None if rule.head is None else read(rule.head)
        body = frozenset(entry for text in rule.body if (entry := read(text))[0] is not None)
        if (head, body) in result:
            continue
        everything = body | ({head} if head is not None else frozenset())
        result[head, body] = Rule(
            nodes[-1],
            "constraint" if head is None else "atom",
            frozenset(s for s, _, _ in ((head,) if head else ()) if s is not None),
            frozenset(s for s, negated, _ in body if s is not None and not negated),
            frozenset(s for s, negated, _ in body if s is not None and negated),
            frozenset(s for s, _, classical in everything if s is not None and classical),
        )
    return list(result.values())


Question = tuple[ast.AST, tuple[ast.AST, ...]]
"""An atom, and the body literals under which it is asked for."""


def questions(
    rules: Iterable[Rule], wanted: Iterable[Signature], open_predicates: frozenset[Signature]
) -> Mapping[Signature, tuple[Question, ...]]:
    """What rules ask of some predicates; without those of which they may ask for anything.

    Args:
        rules: all rules in whose bodies the predicates occur.
        wanted: the predicates.
        open_predicates: those that depend on learned rules or choices.
    """
    result: dict[Signature, list[Question]] = {signature: [] for signature in wanted if signature[1]}
    for rule in rules:
        asked = [signature for signature in result if signature in rule.signatures]
        for signature in asked:
            questions = _asked(rule, signature, open_predicates)
            if questions is None:
                del result[signature]
            else:
                result[signature] += questions
    return {signature: tuple(questions) for signature, questions in result.items()}


def _asked(rule: Rule, signature: Signature, open_predicates: frozenset[Signature]) -> list[Question] | None:
    """What a rule asks of a predicate; None if that may be anything."""
    if rule.head not in ("atom", "constraint") and signature in signatures_in([rule.node.head]):
        return None
    conditions, asked = [], []
    for literal in rule.node.body:
        if signature in signatures_in([literal]):
            atom = _plain(literal)
            if atom is None:
                return None
            asked.append(atom)
        elif _plain(literal) is not None and literal.sign == ast.Sign.NoSign:
            conditions += [literal] if not signatures_in([literal]) & open_predicates else []
    bound = {name for literal in conditions for name in _bound(literal.atom.symbol)}
    conditions += [each for each in rule.node.body if _is_comparison(each) and variables_in(each) <= bound]
    if not all(variables_in(atom) <= bound for atom in asked):
        return None
    return [(atom, tuple(conditions)) for atom in asked]


def _plain(literal: ast.AST) -> ast.AST | None:
    """The atom of a literal that is one, perhaps negated by ``not``."""
    if literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type != ast.ASTType.SymbolicAtom:
        return None
    atom: ast.AST = literal.atom
    return atom if atom.symbol.ast_type == ast.ASTType.Function else None


def _is_comparison(literal: ast.AST) -> bool:
    return literal.ast_type == ast.ASTType.Literal and literal.atom.ast_type == ast.ASTType.Comparison


def _bound(term: ast.AST) -> set[str]:
    """The variables that an atom binds, those in arithmetic left out."""
    if term.ast_type == ast.ASTType.Variable:
        return {term.name} - {"_"}
    if term.ast_type != ast.ASTType.Function:
        return set()
    return {name for each in term.arguments for name in _bound(each)}


def unread_heads(learned: Sequence[Rule]) -> frozenset[Signature]:
    """The predicates that learned rules derive and do not ask for."""
    heads = frozenset(signature for rule in learned for signature in rule.derives)
    return heads.difference(*(rule.body for rule in learned))
