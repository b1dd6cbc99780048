"""The cost of a hypothesis: each rule read against the mode declarations, and priced by `#bias`.

A rule can be read in more ways than one (as one given whole and as one of the modes, with a literal as type
guard or as one of the body); it costs what the cheapest reading does.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import clingo
from clingo import ast

from nsl_bench.logic.las.semantics.verification.plain import Mode, PlainTask, places
from nsl_bench.logic.las.semantics.verification.reading import (
    OPERATORS,
    Reader,
    Reading,
    is_constraint,
    placed,
    variables_of,
)
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable, answer_sets, grounded, parse
from nsl_bench.logic.las.semantics.verification.statements import Signatures, Statements, derived_by

Shape = tuple[str | None, tuple[str, ...]]
"""A rule's head (None: a constraint) and its counted body literals, without repetition; thresholds as `#bias`
sees them (`threshold`)."""

_STRING_OR_VARIABLE = re.compile(r'"(?:\\.|[^"\\])*"|\b[_\']*[A-Z][\w\']*')
_FACT = re.compile(r"([a-z]\w*)(?:\(([\w\s,+-]+)\))?")
_MOST_PERMUTED = 6
_TOGETHER = 200
"""Rules that are priced by one program."""


class NotInSpace(Unverifiable):
    """The hypothesis space does not hold a rule."""


class Pricing:
    """What rules cost under a task's language bias."""

    def __init__(self, task: PlainTask, stop: Callable[[], None]) -> None:
        self._task = task
        self._stop = stop
        self._derived = self._derived_types()
        self._is_strict = False
        self._reader = Reader(task, self.is_guarded, self._is_constant)
        self._constants: dict[str, tuple[str, ...]] = {}
        self._given: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for cost, rule in task.rules:
            self._given.setdefault(_words(rule), []).append((cost, rule))

    def _derived_types(self) -> set[str]:
        """The names of predicates with one argument that background, contexts or rules can derive."""
        texts = dict.fromkeys(text for example in self._task.examples for text in example.context)
        plain = {text: match for text in texts if (match := _FACT.fullmatch(text))}
        rest = [self._task.background, *(f"{text}." for text in texts if text not in plain)]
        heads = Signatures(parse("\n".join(f"{mode.literal}." for mode in self._task.heads))).mentioned
        result = derived_by(parse("\n".join(rest))) | heads | self._task.learned
        unary = {match[1] for match in plain.values() if match[2] and "," not in match[2]}
        return unary | {name for name, arity in result if arity == 1}

    def is_guarded(self, kind: str) -> bool:
        """Whether variables of a type are guarded by its predicate."""
        return kind in self._derived

    def _is_constant(self, kind: str, text: str) -> bool:
        """Whether a type has a constant; only looked up where a rule is given whole as well."""
        return not self._is_strict or text in self.constants(kind)

    def constants(self, kind: str) -> tuple[str, ...]:
        """The constants of a type: by ``#constant``, and by what background and contexts can derive."""
        if kind not in self._constants:
            values = {value: None for k, value in self._task.constants if k == kind}
            for arguments in sorted(self._possible.get((kind, 1), ())):
                values[str(arguments[0])] = None
            self._constants[kind] = tuple(values)
        return self._constants[kind]

    @cached_property
    def _possible(self) -> dict[tuple[str, int], set[tuple[clingo.Symbol, ...]]]:
        """The arguments of all possible atoms, by predicate."""
        statements = Statements(self._task)
        contexts = list(dict.fromkeys(example.context for example in self._task.examples))
        lines = [f"copy(0..{len(contexts)}).", *statements.common(violation=True)]
        for i, context in enumerate(contexts):
            lines += statements.context(i, context, violation=True)
        result: dict[tuple[str, int], set[tuple[clingo.Symbol, ...]]] = {}
        control = grounded(lines, self._stop)
        for atom in control.symbolic_atoms:
            prefix, _, name = atom.symbol.name.partition("_")
            if prefix in ("p", "pe"):
                arguments = tuple(atom.symbol.arguments[len(prefix) - 1 :])
                result.setdefault((name, len(arguments)), set()).add(arguments)
        return result

    def numbers(self, mode: Mode, place: int) -> list[int]:
        """The numbers at a place of a mode's atom, in ascending order.

        Where a rule may derive the predicate, the numbers of the type are among them.

        Args:
            place: which of its places, from 0.
        """
        result: set[int] = set()
        (signature,) = Signatures(parse(f":- {mode.literal}.")).mentioned
        for arguments in self._possible.get(signature, ()):
            values = placed(arguments, mode.literal)
            if values is not None and values[place].type == clingo.SymbolType.Number:
                result.add(values[place].number)
        if signature in self._fed:
            texts = self.constants(places(mode.literal)[place][1])
            result |= {int(text) for text in texts if re.fullmatch(r"-?\d+", text)}
        return sorted(result)

    @cached_property
    def _fed(self) -> set[tuple[str, int]]:
        """The predicates that rules may derive, and those of the background that these feed."""
        heads = Signatures(parse("\n".join(f"{mode.literal}." for mode in self._task.heads))).mentioned
        result = heads | set(self._task.learned)
        background = [[s] for s in parse(self._task.background) if s.ast_type == ast.ASTType.Rule]
        while True:
            fed = [derived_by(s) for s in background if Signatures(s[0].body).mentioned & result]
            more = result.union(*fed)
            if more == result:
                return result
            result = more

    def of_hypothesis(self, rules: Sequence[str]) -> int:
        """What distinct rules cost together."""
        priced = [self.of_rule(rule) for rule in dict.fromkeys(rules)]
        cost = sum(price for price, _ in priced)
        if not self._task.final:
            return cost
        marks = {term for _, shape in priced for term in self.marks(shape)}
        lines = [self._task.final, *(f"intermediate({term})." for term in marks), "#show penalty/2."]
        models = answer_sets(lines, 2, self._stop)
        if len(models) != 1:
            raise Unverifiable("#final_bias has not one answer set")
        return cost + (_total(models[0], None) or 0)

    def marks(self, shape: Shape | None) -> list[str]:
        """What `#bias` says of a rule for `#final_bias`."""
        if shape is None:
            raise Unverifiable("#final_bias meets a rule given whole")
        lines = [self._task.bias or "", "#show.", "#show intermediate/1.", "v_rule(0)."]
        models = answer_sets([*lines, *_facts(self._task, [shape], range(1), "v_")], 2, self._stop)
        if len(models) != 1:
            raise Unverifiable("#bias has several answer sets")
        return [str(symbol.arguments[0]) for symbol in models[0]]

    def of_rule(self, text: str) -> tuple[int, Shape | None]:
        """What a rule costs, and how it is read for that; None if it is given whole."""
        self._stop()
        statements = parse(text)
        if len(statements) != 1 or statements[0].ast_type != ast.ASTType.Rule:
            raise Unverifiable(f"'{text}' is not one rule")
        rule = statements[0]
        similar = self._given.get(_words(text), [])
        form = _normal_form(text) if similar else ""
        result: list[tuple[int, Shape | None]] = []
        result += [(cost, None) for cost, each in similar if _normal_form(each) == form]
        self._is_strict = bool(result)
        shapes = list(dict.fromkeys(self._shape(rule, reading) for reading in self._reader.readings(rule)))
        priced = zip(prices(self._task, shapes, self._stop), shapes, strict=True)
        result += [(cost, shape) for cost, shape in priced if cost is not None]
        if not result:
            raise NotInSpace(f"the hypothesis space does not hold the rule '{text}'")
        return min(result, key=lambda each: each[0])

    def _shape(self, rule: ast.AST, reading: Reading) -> Shape:
        counted = tuple(sorted({str(literal) for literal, _ in reading.counted} | set(reading.thresholds)))
        return None if is_constraint(rule.head) else str(rule.head), counted

    def types(self) -> list[str]:
        """The types of all places."""
        modes = (*self._task.heads, *self._task.bodies)
        return sorted({kind for mode in modes for _, kind in places(mode.literal)})


def prices(task: PlainTask, shapes: Sequence[Shape], stop: Callable[[], None]) -> list[int | None]:
    """What `#bias` says that rules cost, their variables standing as constants; None for one it forbids."""
    each = int(task.dialect == "ilasp")
    plain = [each * (len(body) + (head is not None)) for head, body in shapes]
    if task.bias is None or not shapes:
        return list(plain)
    names = [task.bias, *(text for head, body in shapes for text in (head or "", *body))]
    prefix = next(p for i in itertools.count() if not any((p := f"v{i}_") in text for text in names))
    derives = ("penalty", 2) in derived_by(parse(task.bias))
    result: list[int | None] = [None] * len(shapes)
    seen: set[int] = set()
    for start in range(0, len(shapes), _TOGETHER):
        chosen = range(start, min(start + _TOGETHER, len(shapes)))
        lines = [task.bias, f"1 {{ {prefix}rule({start}..{chosen[-1]}) }} 1.", "#show. #show penalty/2."]
        lines += ["#show invert/1.", f"#show {prefix}rule/1.", *_facts(task, shapes, chosen, prefix)]
        for model in answer_sets(lines, 0, stop):
            (number,) = [s.arguments[0].number for s in model if s.name == f"{prefix}rule"]
            if number in seen:
                raise Unverifiable("#bias has several answer sets")
            seen.add(number)
            result[number] = _total(model, None if derives else plain[number])
    return result


def _facts(task: PlainTask, shapes: Sequence[Shape], chosen: range, prefix: str) -> Iterator[str]:
    """What rules hold, each while it is the chosen one; in both systems' words in ILASP's dialect."""
    words = [("in_head", "in_body", "neg"), ("head", "body", "naf")]
    for in_head, in_body, negation in words[: 2 if task.dialect == "ilasp" else 1]:
        for name in (in_head, in_body):
            yield f"{name}(X) :- {prefix}rule(K), {prefix}{name}(K,X)."
        for number in chosen:
            head, body = shapes[number]
            if head is not None:
                term = _constants(parse(f"{head}.")[0].head.atom, prefix)
                yield f"{prefix}{in_head}({number},{term})."
            for text in body:
                yield f"{prefix}{in_body}({number},{_reified(text, prefix, negation)})."


def _total(model: Sequence[clingo.Symbol], plain: int | None) -> int | None:
    """The cost that an answer set of `#bias` states; `plain` where no statement can."""
    weights = [symbol.arguments[0] for symbol in model if symbol.name == "penalty"]
    if any(weight.type != clingo.SymbolType.Number or weight.number < 0 for weight in weights):
        raise Unverifiable("#bias derives a penalty that is not a number of at least 0")
    inverted = [symbol.arguments[0].number for symbol in model if symbol.name == "invert"]
    total = sum(weight.number for weight in weights) if plain is None else plain
    if inverted:
        return inverted[0] // total if total else None
    return total


def _reified(text: str, prefix: str, naf: str) -> str:
    """A body literal as the argument of ``in_body``."""
    literal = parse(f":- {text}.")[0].body[0]
    atom = literal.atom
    if atom.ast_type == ast.ASTType.Comparison:
        guard = atom.guards[0]
        sides = f"{_constants(atom.term, prefix)},{_constants(guard.term, prefix)}"
        term = f'binop("{OPERATORS[guard.comparison]}",{sides})'
    else:
        term = _constants(atom, prefix)
    return f"{naf}({term})" if literal.sign == ast.Sign.Negation else term


class _Constants(ast.Transformer):
    """Turns variables into constants of their own."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def visit_Variable(self, node: ast.AST) -> ast.AST:
        return ast.SymbolicTerm(node.location, clingo.Function(self._prefix + node.name.lstrip("_'").lower()))

    def visit_BinaryOperation(self, node: ast.AST) -> ast.AST:
        """Makes arithmetic on variables a term, for it has no value."""
        sides = [self.visit(node.left), self.visit(node.right)]
        return ast.Function(node.location, f"{self._prefix}op{int(node.operator_type)}", sides, 0)


def _constants(node: ast.AST, prefix: str) -> str:
    return str(_Constants(prefix).visit(node))


def _words(text: str) -> tuple[str, ...]:
    """The names in a rule, which rules that are equal up to order and variables share."""
    return tuple(sorted(re.findall(r"\b[a-z]\w*", text)))


def _normal_form(text: str) -> str:
    """The same text for rules that are equal up to the order of their bodies and the names of variables.

    Rules with very many variables keep their names.
    """
    rule = parse(text)[0]
    texts = [str(rule.head), *dict.fromkeys(map(str, rule.body))]
    variables = variables_of(rule)
    if len(variables) > _MOST_PERMUTED:
        return " ".join([texts[0], *sorted(texts[1:])])
    forms = []
    for order in itertools.permutations(range(len(variables))):
        names = {variable: f"V{i + 1}" for variable, i in zip(variables, order, strict=True)}
        first, *rest = (_renamed(each, names) for each in texts)
        forms.append(" ".join([first, *sorted(rest)]))
    return min(forms)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with its variables renamed, strings aside."""
    return _STRING_OR_VARIABLE.sub(lambda match: names.get(match.group(), match.group()), text)
