"""Reading mode declarations: an atom or comparison with ``var(type)``, ``const(type)`` and so on inside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from nsl_bench.logic.asp.parsing import parse_text
from nsl_bench.logic.las.language_bias import (
    OPERATORS,
    Compound,
    ModeAtom,
    ModeBody,
    ModeComparison,
    ModeHead,
    ModeTerm,
    Placeholder,
)
from nsl_bench.logic.las.syntax.scanner import Source, split_arguments

if TYPE_CHECKING:
    from clingo.ast import AST

_PREFIX = re.compile(r"(!=|<=|>=|==|<|>|=)\s*\((.*)\)$", re.DOTALL)
_KINDS: dict[str, Literal["var", "const", "num_var"]] = {"var": "var", "const": "const", "num_var": "num_var"}
_ARITHMETIC = dict(enumerate(OPERATORS, 3))
"""The operators by clingo's numbers (`clingo.ast.BinaryOperator`)."""
_KNOWN = ", ".join(OPERATORS)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_OPTIONS = ("positive", "negative", "anti_reflexive", "symmetric")

_RANGE = re.compile(r"(-?\d{1,9})\s*\.\.\s*(-?\d{1,9})")


def parse_mode_head(source: Source, text: str, offset: int) -> ModeHead:
    """The ``#modeh`` statement `text`, which begins at `offset` of a source."""
    recall, literal, at, options = _arguments(source, text, offset, "#modeh(recall, atom, (options))")
    for option in options:
        if option != "positive":
            raise source.error(
                at,
                f"the option '({option})' is not supported in '#modeh'; forbid such heads in #bias, "
                "e.g. ':- head(p(X,X)).'.",
            )
    parsed, negated = _literal(source, literal, at)
    if negated or not isinstance(parsed, ModeAtom):
        raise source.error(at, f"'{literal}' cannot be the head of a rule; an atom without 'not' can.")
    if parsed.has_thresholds:
        raise source.error(at, f"'{literal}': num_var(type) is allowed in '#modeb' only; use var(type).")
    return ModeHead(parsed, recall, options)


def parse_mode_body(source: Source, text: str, offset: int) -> ModeBody:
    """The ``#modeb`` statement `text`, which begins at `offset` of a source."""
    recall, literal, at, options = _arguments(source, text, offset, "#modeb(recall, literal, (options))")
    for option in options:
        if option not in _OPTIONS:
            raise source.error(at, f"option '{option}' is not known; known are {', '.join(_OPTIONS)}.")
    parsed, negated = _literal(source, literal, at)
    if parsed.has_thresholds and (negated or "negative" in options or not isinstance(parsed, ModeAtom)):
        raise source.error(
            at, f"'{literal}': num_var(type) needs an atom without 'not', which gives it a value."
        )
    return ModeBody(parsed, negated, recall, options)


def constants_in(source: Source, value: str, offset: int) -> list[str]:
    """The constants that a ``#constant`` states: the numbers of a range, or one value."""
    ends = _RANGE.fullmatch(value)
    if ends:
        return [str(number) for number in range(int(ends[1]), int(ends[2]) + 1)]
    if ".." in value and '"' not in value:
        raise source.error(
            offset, f"a range in '#constant' must have whole numbers such as 0..100; got '{value}'."
        )
    return [value]


def _arguments(
    source: Source, text: str, offset: int, shape: str
) -> tuple[int | None, str, int, tuple[str, ...]]:
    """Recall, literal, the literal's offset and options of a declaration."""
    opening = text.find("(")
    other_form = source.error(offset, f"'{' '.join(text.split())[:60]}' must have the form '{shape}.'.")
    if opening < 0 or not text.rstrip().endswith(")"):
        raise other_form
    inner = text.rstrip()[opening + 1 : -1]
    parts = [(part, offset + opening + 1 + at) for part, at in split_arguments(inner)]
    recall: int | None = None
    if len(parts) > 1 and re.fullmatch(r"\d+|\*", parts[0][0]):
        number = parts.pop(0)[0]
        if len(number) > 9:
            raise source.error(offset, f"the recall must be below 1000000000; got {number[:8]}...")
        recall = None if number == "*" else int(number)
    options: tuple[str, ...] = ()
    if len(parts) == 2 and parts[1][0].startswith("("):
        options = tuple(part for part, _ in split_arguments(parts.pop()[0][1:-1]))
    if len(parts) != 1:
        raise other_form
    return recall, parts[0][0], parts[0][1], options


def _literal(source: Source, text: str, offset: int) -> tuple[ModeAtom | ModeComparison, bool]:
    from clingo.ast import ASTType, Sign

    prefix = _PREFIX.match(text)
    if prefix:
        operands = split_arguments(prefix.group(2))
        if len(operands) != 2:
            raise source.error(offset, f"'{text}' should compare two terms.")
        operator = "=" if prefix.group(1) == "==" else prefix.group(1)
        text = f"{operands[0][0]} {operator} {operands[1][0]}"
    line, column = source.place(offset)
    # ":-" before the literal, where there is room for it, keeps the places of errors exact
    column -= 2 if column > 2 else 0
    statements = parse_text(f":-{text}.", source.name, (line, column))
    rules = [s for s in statements if s.ast_type == ASTType.Rule]
    if len(rules) != 1 or len(rules[0].body) != 1 or rules[0].body[0].ast_type != ASTType.Literal:
        raise source.error(offset, f"'{text}' is not one literal.")
    literal = rules[0].body[0]
    if literal.sign == Sign.DoubleNegation:
        raise source.error(offset, f"'{text}': double negation is not supported in modes.")
    negated = literal.sign == Sign.Negation
    atom = literal.atom
    if atom.ast_type == ASTType.Comparison:
        if len(atom.guards) != 1:
            raise source.error(offset, f"'{text}' should compare two terms.")
        guard = atom.guards[0]
        operator = (">", "<", "<=", ">=", "!=", "=")[int(guard.comparison)]
        left, right = (_term(source, side, offset, compared=True) for side in (atom.term, guard.term))
        return ModeComparison(operator, left, right), negated
    symbol, sign = atom.symbol if atom.ast_type == ASTType.SymbolicAtom else None, ""
    if symbol is not None and symbol.ast_type == ASTType.UnaryOperation:
        symbol, sign = symbol.argument, "-"
    if symbol is None or symbol.ast_type != ASTType.Function:
        raise source.error(offset, f"'{text}' is neither an atom nor a comparison.")
    arguments = tuple(_term(source, argument, offset) for argument in symbol.arguments)
    return ModeAtom(sign + symbol.name, arguments), negated


def _term(source: Source, term: AST, offset: int, *, compared: bool = False) -> ModeTerm:
    from clingo.ast import ASTType

    if term.ast_type == ASTType.Function and not term.external:
        if term.name in _KINDS and len(term.arguments) == 1:
            inner = term.arguments[0]
            name = str(inner)
            if not re.fullmatch(r"[a-z_]\w*", name):
                raise source.error(offset, f"'{term}' should name a type.")
            return Placeholder(_KINDS[term.name], name)
        arguments = tuple(_term(source, argument, offset) for argument in term.arguments)
        if any(not isinstance(argument, str) for argument in arguments):
            return Compound(term.name, arguments)
    if term.ast_type == ASTType.Variable:
        raise source.error(offset, f"'{term}' is a variable; a mode has 'var(type)' in its place.")
    if compared and term.ast_type == ASTType.BinaryOperation and int(term.operator_type) in _ARITHMETIC:
        sides = tuple(_term(source, side, offset, compared=True) for side in (term.left, term.right))
        if any(not isinstance(side, str) for side in sides):
            return Compound(_ARITHMETIC[int(term.operator_type)], sides)
    if re.search(r"\.\.|;", _STRING.sub("", str(term))):
        raise source.error(
            offset, f"'{term}' stands for several terms; declare a mode for each, or use const(type)."
        )
    if term.ast_type != ASTType.SymbolicTerm and re.search(r"\b(var|const|num_var)\(", str(term)):
        raise source.error(
            offset, f"'{term}': arithmetic on placeholders is only supported in comparisons, by {_KNOWN}."
        )
    return str(term)
