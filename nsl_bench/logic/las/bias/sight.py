"""What the constraints of `#bias` tell apart: which constants in body literals may stand for each other.

For ``:- in_body(greater(V,_)), not in_body(speed(_,V)).`` all comparisons of a variable are one, whatever the
constant. Bodies that differ in such constants alone are then allowed or forbidden together, so that a better
one may stand for the others.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from clingo import Function, Symbol, SymbolType, ast

from nsl_bench.logic.asp.parsing import nodes_in
from nsl_bench.logic.asp.program import Program, Rule
from nsl_bench.logic.las.bias.reification import in_body, variables_of
from nsl_bench.logic.las.thresholds import priced

Path = tuple[tuple[str, int, int], ...]
"""A place in the term of a literal: functor, arity and argument, from the outside."""
_Pairs = list[tuple[ast.AST, ast.AST]]

_ANY = Function("(any)")
_COUNTS = (ast.AggregateFunction.Count, ast.AggregateFunction.Sum, ast.AggregateFunction.SumPlus)
_MORE = (ast.ComparisonOperator.GreaterThan, ast.ComparisonOperator.GreaterEqual)
_LESS = (ast.ComparisonOperator.LessThan, ast.ComparisonOperator.LessEqual)


class Sight:
    """The places of body literals whose constants the constraints of a program look at.

    Two bodies that are alike but for constants at other places are both allowed or both forbidden, or the one
    with fewer literals is allowed if the other one is: constraints may forbid several literals of one kind.
    """

    def __init__(self, program: Program) -> None:
        self._seen: set[Path] = set()
        self._named: dict[Path, set[Symbol]] = {}
        if program.constants:
            self._seen.add(())
        for rule in program.slice([]).rules:
            self._look(rule)

    def kind(self, literal: str) -> tuple[Symbol, ...]:
        """What the constraints see of a literal, equal for literals that they do not tell apart."""
        return tuple(self._blurred(in_body(text).arguments[0], ()) for text in priced([literal]))

    def _blurred(self, symbol: Symbol, path: Path) -> Symbol:
        if path in self._seen or symbol in self._named.get(path, ()) or variables_of(symbol) == (symbol,):
            return symbol
        if symbol.type != SymbolType.Function or not symbol.arguments:
            return _ANY
        key = symbol.name, len(symbol.arguments)
        arguments = [self._blurred(each, (*path, (*key, i))) for i, each in enumerate(symbol.arguments)]
        return Function(symbol.name, arguments, symbol.positive)

    def _look(self, rule: Rule) -> None:
        """Take in what a rule looks at."""
        uses = _uses(rule.node)
        free = _different(rule) | _counted(rule)
        atoms = _asked([rule.node])
        if "in_body" in rule.text and (not atoms or rule.text.count("in_body") != len(atoms)):
            self._seen.add(())
        for term in atoms:
            for path, part in _parts(term, ()):
                if part.ast_type == ast.ASTType.SymbolicTerm:
                    self._named.setdefault(path, set()).add(part.symbol)
                elif part.ast_type != ast.ASTType.Variable or (
                    part.name != "_" and uses[part.name] > 1 and part.name not in free
                ):
                    self._seen.add(path)


def _parts(term: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    """The parts of a term that are no functions, with their places."""
    if term.ast_type != ast.ASTType.Function or term.external:
        yield path, term
        return
    for i, each in enumerate(term.arguments):
        yield from _parts(each, (*path, (term.name, len(term.arguments), i)))


def _is_positive(node: ast.AST, kind: ast.ASTType) -> bool:
    return bool(
        node.ast_type == ast.ASTType.Literal and node.sign == ast.Sign.NoSign and node.atom.ast_type == kind
    )


def _different(rule: Rule) -> set[str]:
    """Variables for constants that only say that two literals of a constraint are different ones."""
    if rule.derives:
        return set()
    atoms = [node for node in rule.node.body if _is_positive(node, ast.ASTType.SymbolicAtom)]
    terms = _asked(atoms)
    result: set[str] = set()
    for node in rule.node.body:
        pairs = _unequal(node)
        for one, other in combinations(terms, 2):
            beside = _unlike(one, other)
            if pairs and beside is not None and _texts(beside) == _texts(pairs):
                result |= {part.name for pair in pairs for part in pair}
    return {name for name in result if _uses(rule.node)[name] == 2}


def _unequal(node: ast.AST) -> _Pairs:
    """The variables of which a comparison says that they, or tuples of them, are different."""
    if not _is_positive(node, ast.ASTType.Comparison) or len(node.atom.guards) != 1:
        return []
    one, other, operator = node.atom.term, node.atom.guards[0].term, node.atom.guards[0].comparison
    sides = [[one], [other]]
    if operator == ast.ComparisonOperator.NotEqual and {one.ast_type, other.ast_type} == {
        ast.ASTType.Function
    }:
        if one.name or other.name or len(one.arguments) != len(other.arguments):
            return []
        sides = [list(one.arguments), list(other.arguments)]
    elif operator != ast.ComparisonOperator.NotEqual and operator not in (*_MORE, *_LESS):
        return []
    pairs = list(zip(*sides, strict=True))
    plain = all(part.ast_type == ast.ASTType.Variable and part.name != "_" for pair in pairs for part in pair)
    return pairs if plain else []


def _unlike(one: ast.AST, other: ast.AST) -> _Pairs | None:
    """Where two terms are not written alike; None if not even their functions are."""
    if str(one) == str(other) and "_" not in str(one):
        return []
    if one.ast_type == other.ast_type == ast.ASTType.Variable:
        return [(one, other)]
    if one.ast_type != ast.ASTType.Function or other.ast_type != ast.ASTType.Function:
        return None
    if (one.name, len(one.arguments)) != (other.name, len(other.arguments)):
        return None
    result = [_unlike(a, b) for a, b in zip(one.arguments, other.arguments, strict=True)]
    return None if None in result else [pair for each in result for pair in each or ()]


def _texts(pairs: _Pairs) -> set[frozenset[str]]:
    return {frozenset(map(str, pair)) for pair in pairs}


def _counted(rule: Rule) -> set[str]:
    """Variables for constants of which a constraint only says that there are too many such literals."""
    result: set[str] = set()
    for node in rule.node.body if not rule.derives else ():
        if not _is_positive(node, ast.ASTType.BodyAggregate) or len(node.atom.elements) != 1:
            continue
        aggregate = node.atom
        if aggregate.function not in _COUNTS or not _from_below(aggregate):
            continue
        (element,) = aggregate.elements
        terms = list(element.terms)
        if aggregate.function != ast.AggregateFunction.Count:
            weight = terms.pop(0)
            if weight.ast_type != ast.ASTType.SymbolicTerm or str(weight).startswith("-"):
                continue
        counted = {term.name for term in terms if term.ast_type == ast.ASTType.Variable}
        atoms = _asked(element.condition)
        plain = [each for each in element.condition if _is_positive(each, ast.ASTType.SymbolicAtom)]
        if len(element.condition) == len(plain) == len(atoms) == 1:
            own = _uses(atoms[0])
            if set(own) <= counted and "_" not in own:
                result |= {name for name in own if _uses(rule.node)[name] == 2}
    return result


def _from_below(aggregate: ast.AST) -> bool:
    """Whether an aggregate holds of large values."""
    left, right = aggregate.left_guard, aggregate.right_guard
    plain = all(each is None or each.term.ast_type == ast.ASTType.SymbolicTerm for each in (left, right))
    return (
        plain and (left is None or left.comparison in _LESS) and (right is None or right.comparison in _MORE)
    )


def _uses(node: ast.AST) -> Counter[str]:
    """How often each variable is used."""
    return Counter(each.name for each in nodes_in(node, ast.ASTType.Variable))


def _asked(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    """The arguments of ``in_body/1``."""
    result = [each for node in nodes for each in nodes_in(node, ast.ASTType.Function)]
    return [each.arguments[0] for each in result if (each.name, len(each.arguments)) == ("in_body", 1)]
