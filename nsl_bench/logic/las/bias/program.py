"""The program of a language bias, read once, and what its syntax tree proves of the costs that it derives.

Everything here is decided from the syntax tree and is on the safe side: what is not proven is denied.
"""

import atexit
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from clingo import Function, Symbol, SymbolType, ast

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.parsing import grounded, nodes_in
from nsl_bench.logic.asp.program import Program, Rule, Signature, signatures_in
from nsl_bench.logic.asp.text import code_of
from nsl_bench.logic.las.language_bias import LARGEST, LanguageBias

IN_HEAD: Signature = ("in_head", 1)
IN_BODY: Signature = ("in_body", 1)
PENALTY: Signature = ("penalty", 2)
INVERT: Signature = ("invert", 1)

FORBIDDEN = -1
"""The cost of a rule that a constraint of the bias forbids."""

MOST_GROUND_RULES = 200_000
"""Ground rules that the program may have for one rule."""

_MOST_VALUES = 1_000_000
_NUMBER = re.compile(r"(?<![\w'])(?:0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+|\d+)")
_BOUND = re.compile(r'binop\(V\d+,"[<>]=",-?\d+\)')
"""What `nsl_bench.logic.las.thresholds` writes; no mode can be such an atom."""
_ORDERS = (
    ast.ComparisonOperator.LessThan,
    ast.ComparisonOperator.LessEqual,
    ast.ComparisonOperator.GreaterThan,
    ast.ComparisonOperator.GreaterEqual,
)
_ORDER_SIGNS = ("<", ">", "#min", "#max")
_SUMS = (ast.AggregateFunction.Sum, ast.AggregateFunction.SumPlus)
_EXTREMES = (ast.AggregateFunction.Min, ast.AggregateFunction.Max)


class Uniform(NamedTuple):
    """Costs that are the same for every head and for every body literal.

    Attributes:
        rule: what each rule costs, whatever it holds.
        head: what a head costs besides.
        literal: what each distinct body literal costs.
    """

    rule: int
    head: int
    literal: int


@dataclass(frozen=True, eq=False)
class BiasProgram:
    """The statements of `#bias`.

    Attributes:
        unpriced: what each head and body literal costs if no statement derives ``penalty/2``.
    """

    program: Program
    unpriced: int

    @cached_property
    def prices(self) -> bool:
        """Whether some statement derives ``penalty/2``."""
        return PENALTY in self.program.derived

    @cached_property
    def dependent(self) -> frozenset[Signature]:
        """The predicates that depend on what a rule holds."""
        return self.program.dependents([IN_HEAD, IN_BODY])

    @cached_property
    def compares_variables(self) -> bool:
        """Whether it may compare two variables of a rule by order, and so tell them apart by their names.

        Comparing with a term of its own is harmless: names of variables are in one place among all terms.
        """
        return any(_orders_terms(rule) for rule in self.program.rules)

    @cached_property
    def enumerates_sums(self) -> bool:
        """Whether a variable may stand for a sum over what a rule holds, which grounds to every such sum."""
        rules = [rule.node for rule in self.program.rules if "#sum" in rule.text]
        return any(
            aggregate.function in _SUMS
            and any(_assigns(guard) for guard in (aggregate.left_guard, aggregate.right_guard) if guard)
            and signatures_in(aggregate.elements) & self.dependent
            for rule in rules
            for aggregate in nodes_in(rule, ast.ASTType.BodyAggregate)
        )

    @cached_property
    def is_linear(self) -> bool:
        """Whether each derivation starts from one head or one body literal, and no constraint is among them.

        The penalties of a rule are then those of its head and of its literals, put together.
        """
        if self.compares_variables or INVERT in self.program.derived:
            return False
        return all(self._is_linear(rule) for rule in self.program.rules)

    def _is_linear(self, rule: Rule) -> bool:
        if rule.head == "constraint" and rule.body & self.dependent:
            return False
        if rule.negative & self.dependent:
            return False
        if len(rule.node.body) < 2 or not rule.positive & self.dependent:
            return True
        return sum(bool(signatures_in([node]) & self.dependent) for node in rule.node.body) <= 1

    @cached_property
    def is_monotone(self) -> bool:
        """Whether one more body literal can neither make a rule cheaper nor lift a constraint."""
        if self.compares_variables or INVERT in self.program.derived:
            return False
        if any(rule.negative & self.dependent for rule in self.program.rules):
            return False
        return all(
            self._is_natural(weight, rule) for rule in self.program.rules for weight, _ in _penalties(rule)
        )

    def _is_natural(self, weight: ast.AST, rule: Rule) -> bool:
        """Whether a penalty's weight is never a number below 0."""
        if weight.ast_type == ast.ASTType.SymbolicTerm:
            number = self._constant(weight.symbol)
            return number is not None and number >= 0
        if weight.ast_type == ast.ASTType.UnaryOperation:
            return bool(weight.operator_type == ast.UnaryOperator.Absolute)
        if weight.ast_type != ast.ASTType.Variable:
            return False
        for literal in rule.node.body:
            for signature, terms in _plain_atom(literal):
                if signature in self.dependent:
                    continue
                places = [i for i, term in enumerate(terms) if term == weight]
                if any(self._is_natural_at(signature, place) for place in places):
                    return True
        return False

    def _constant(self, symbol: Symbol) -> int | None:
        if symbol.type == SymbolType.Number:
            return symbol.number
        for node in self.program.constants:
            if symbol == Function(node.name) and node.value.ast_type == ast.ASTType.SymbolicTerm:
                return self._constant(node.value.symbol) if node.value.symbol != symbol else None
        return None

    def _is_natural_at(self, signature: Signature, place: int) -> bool:
        values = [arguments[place] for arguments in self._static.get(signature, ())]
        return all(value.type == SymbolType.Number and value.number >= 0 for value in values)

    @cached_property
    def _static(self) -> dict[Signature, list[Sequence[Symbol]]]:
        """The atoms that hold whatever a rule holds."""
        rules = [rule for rule in self.program.rules if rule.derives and not rule.signatures & self.dependent]
        nodes = Program(tuple(rules), self.program.constants).nodes
        try:
            control = grounded("#bias", nodes, observer=GroundProgram(MOST_GROUND_RULES, keep=False))
        except MemoryError:
            raise too_many_ground_rules() from None
        result: dict[Signature, list[Sequence[Symbol]]] = {}
        for atom in control.symbolic_atoms:
            symbol = atom.symbol
            result.setdefault((symbol.name, len(symbol.arguments)), []).append(symbol.arguments)
        return result

    @cached_property
    def uniform(self) -> Uniform | None:
        """The costs, if every head costs the same and every body literal costs the same; else None."""
        if not self.program.rules:
            return Uniform(0, self.unpriced, self.unpriced)
        if self.program.constants:
            return None
        costs = {"": 0, "in_head": 0, "in_body": 0}
        reasons: list[tuple[int, ast.AST]] = []
        for rule in self.program.rules:
            penalty = _uniform_penalty(rule)
            if penalty is None:
                return None
            source, weight, reason = penalty
            if any(other == weight and _may_be_equal(why, reason) for other, why in reasons):
                return None
            reasons.append((weight, reason))
            costs[source] += weight
        return Uniform(costs[""], costs["in_head"], costs["in_body"])


def unconstrained(bias: LanguageBias) -> LanguageBias | None:
    """The bias without its constraints; None if it has none, or costs without them are no sums."""
    program = bias.scoring
    deriving = tuple(rule for rule in program.rules if rule.derives)
    if len(deriving) == len(program.rules):
        return None
    priced = replace(program, rules=deriving).slice([PENALTY, INVERT])
    statements = [*map(str, priced.constants), *(rule.text for rule in priced.rules)]
    result = replace(bias, penalties=("\n".join(statements),))
    return result if bias_program(result).is_linear else None


def is_plain(literal: str) -> bool:
    """Whether the literal's term is no other literal's: an atom of `neg/1` is the term of a negated one."""
    return _BOUND.fullmatch(literal) is not None or not literal.removeprefix("not ").startswith(
        ("neg(", "binop(")
    )


@lru_cache(maxsize=16)
def bias_program(bias: LanguageBias) -> BiasProgram:
    """The program of a language bias, looked at once."""
    for number in _NUMBER.findall(code_of("\n".join(bias.penalties or ()))):
        if _is_too_large(number):
            raise UserError(f"A number in #bias must be at most {LARGEST}; got {number[:40]}.")
    program = bias.scoring
    for rule in program.rules:
        if rule.is_open:
            raise UserError(f"A choice or a disjunction in #bias is not supported; got '{rule.text}'.")
        if _size_of_intervals(rule) > _MOST_VALUES:
            raise UserError(
                f"The intervals of a #bias statement must have at most {_MOST_VALUES:,} values; got "
                f"'{rule.text}'."
            )
    return BiasProgram(program, 1 if bias.dialect == "ilasp" else 0)


atexit.register(bias_program.cache_clear)  # clingo cannot free its syntax trees once Python has forgotten it


def too_many_ground_rules() -> UserError:
    """Says that `#bias` grounds to too much."""
    return UserError(
        f"#bias has more than {MOST_GROUND_RULES:,} ground rules for a single rule; check for "
        "statements that build ever larger terms."
    )


def _is_too_large(number: str) -> bool:
    """Whether clingo would take a number modulo 2^32."""
    base = {"0x": 16, "0o": 8, "0b": 2}.get(number[:2], 10)
    return len(number) > 34 or int(number, base) > LARGEST


def _orders_terms(rule: Rule) -> bool:
    """Whether some comparison or aggregate orders terms that are not the program's own."""
    if not any(sign in rule.text for sign in _ORDER_SIGNS):  # most have none, and clingo's trees are slow
        return False
    for node in nodes_in(rule.node, ast.ASTType.Comparison, ast.ASTType.BodyAggregate):
        if node.ast_type == ast.ASTType.BodyAggregate:
            if node.function in _EXTREMES:
                return True
            continue
        left = node.term
        for guard in node.guards:
            if guard.comparison in _ORDERS and not (_is_own_term(left) or _is_own_term(guard.term)):
                return True
            left = guard.term
    return False


def _is_own_term(node: ast.AST) -> bool:
    """Whether a term has no variables, or is arithmetic, whose value is a number."""
    kind = node.ast_type
    if kind == ast.ASTType.UnaryOperation and node.operator_type == ast.UnaryOperator.Minus:
        return _is_own_term(node.argument)
    arithmetic = (ast.ASTType.BinaryOperation, ast.ASTType.UnaryOperation, ast.ASTType.Interval)
    return kind == ast.ASTType.SymbolicTerm or kind in arithmetic


def _assigns(guard: ast.AST) -> bool:
    equal = guard.comparison == ast.ComparisonOperator.Equal
    return bool(equal and guard.term.ast_type != ast.ASTType.SymbolicTerm)


def _penalties(rule: Rule) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Weight and reason of each penalty in a rule's head."""
    if PENALTY in rule.derives:
        for signature, terms in _atoms(rule.node.head.atom.symbol):
            if signature == PENALTY:
                yield terms[0], terms[1]


def _plain_atom(literal: ast.AST) -> Iterator[tuple[Signature, Sequence[ast.AST]]]:
    """Signature and arguments of a body literal that is a single positive atom."""
    if literal.ast_type == ast.ASTType.Literal and literal.sign == ast.Sign.NoSign:
        atom = literal.atom
        if atom.ast_type == ast.ASTType.SymbolicAtom and atom.symbol.ast_type == ast.ASTType.Function:
            yield (atom.symbol.name, len(atom.symbol.arguments)), atom.symbol.arguments


def _atoms(term: ast.AST) -> Iterator[tuple[Signature, Sequence[ast.AST]]]:
    """Signature and arguments of an atom, or of each atom of a pool; none of a classically negated one."""
    if term.ast_type == ast.ASTType.Pool:
        for each in term.arguments:
            yield from _atoms(each)
    elif term.ast_type == ast.ASTType.Function:
        yield (term.name, len(term.arguments)), term.arguments


def _uniform_penalty(rule: Rule) -> tuple[str, int, ast.AST] | None:
    """What a penalty is for ("": each rule), its weight and its reason; None if the rule says anything else.

    It is ``penalty(weight, reason)`` for a ground reason, ``... :- in_head(X)`` or ``... :- in_body(X)``,
    with a reason that names the whole body literal.
    """
    symbol = rule.node.head.atom.symbol if rule.head == "atom" else None
    penalties = list(_atoms(symbol)) if symbol is not None and symbol.ast_type == ast.ASTType.Function else []
    if len(penalties) != 1 or penalties[0][0] != PENALTY or len(rule.node.body) > 1:
        return None
    weight, reason = penalties[0][1]
    names = _constructor_variables(reason)
    if weight.ast_type != ast.ASTType.SymbolicTerm or names is None:
        return None
    if weight.symbol.type != SymbolType.Number or weight.symbol.number < 0:
        return None
    if not rule.node.body:
        return None if names else ("", weight.symbol.number, reason)
    for signature, terms in _plain_atom(rule.node.body[0]):
        if signature not in (IN_HEAD, IN_BODY) or terms[0].ast_type != ast.ASTType.Variable:
            return None
        name = terms[0].name
        if names - {name} or (signature == IN_BODY and (name not in names or name == "_")):
            return None
        return signature[0], weight.symbol.number, reason
    return None


def _constructor_variables(term: ast.AST) -> frozenset[str] | None:
    """The variables of a term made of constants, variables and functions; None if it holds anything else."""
    if term.ast_type == ast.ASTType.SymbolicTerm:
        return frozenset()
    if term.ast_type == ast.ASTType.Variable:
        return frozenset({term.name})
    if term.ast_type != ast.ASTType.Function or term.external:
        return None
    result = [_constructor_variables(each) for each in term.arguments]
    return None if None in result else frozenset().union(*(names for names in result if names is not None))


def _may_be_equal(a: ast.AST, b: ast.AST) -> bool:
    """Whether two terms may have an instance in common, their variables being different ones."""
    variable, function = ast.ASTType.Variable, ast.ASTType.Function
    if variable in (a.ast_type, b.ast_type):
        return True
    if a.ast_type == b.ast_type == function:
        if a.name != b.name or len(a.arguments) != len(b.arguments):
            return False
        return all(_may_be_equal(x, y) for x, y in zip(a.arguments, b.arguments, strict=True))
    if a.ast_type == b.ast_type:
        return bool(a.symbol == b.symbol)
    return False


def _size_of_intervals(rule: Rule) -> int:
    """The product of the sizes of a rule's intervals between numbers."""
    size = 1
    for node in nodes_in(rule.node, ast.ASTType.Interval) if ".." in rule.text else ():
        ends = [node.left, node.right]
        if all(
            end.ast_type == ast.ASTType.SymbolicTerm and end.symbol.type == SymbolType.Number for end in ends
        ):
            size *= max(1, node.right.symbol.number - node.left.symbol.number + 1)
    return size
