"""Rules as text, read with a language bias: their costs and missing type guards.

FastLAS's ``#final_bias`` prices a hypothesis as a whole: `#bias` derives `intermediate(X)` from each rule,
and `#final_bias` penalties from what all rules derive together, which add to the costs of the rules.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from clingo import SymbolType, ast

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.parsing import by_text, grounded, nodes_in, variables_in
from nsl_bench.logic.asp.program import Program, Rule, parse
from nsl_bench.logic.las.bias.costs import ForbiddenRule, RuleParts, rule_costs
from nsl_bench.logic.las.bias.matching import Reading, guard_of, readings, types_told
from nsl_bench.logic.las.bias.program import bias_program
from nsl_bench.logic.las.bias.reification import atoms_as_rules, in_body, in_head, variables_of
from nsl_bench.logic.las.bias.types import Domains, domains
from nsl_bench.logic.las.language_bias import NEGATIVE_PENALTY, LanguageBias, ModeComparison
from nsl_bench.logic.las.task import LasTask

_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w'])[_']*[A-Z][\w']*")
_SEPARATOR = re.compile(r"\"(?:[^\"\\]|\\.)*\"|; ")
_TYPE = re.compile(r"\bvar\((\w+)\)")
_MOST_PERMUTED = 6
_REMEMBERED = 1 << 16
_AGGREGATES = (ast.ASTType.Aggregate, ast.ASTType.BodyAggregate)


def parse_rules(text: str, what: str = "the hypothesis") -> tuple[str, ...]:
    """The rules of a program, one text each, as clingo prints them."""
    program = parse(text, what, safe=False)
    for node in program.constants:
        raise UserError(f"{what}: '{node}' is not a rule.")
    return tuple(
        _SEPARATOR.sub(lambda separator: ", " if separator[0] == "; " else separator[0], rule.text)
        for rule in program.rules
    )


def rules_in(texts: Sequence[str], what: str = "the hypothesis") -> tuple[str, ...]:
    """The rules that texts hold together, one each, however many stand in one text."""
    return tuple(rule.text for rule in parse("\n".join(texts), what, safe=False).rules)


class Task(Protocol):
    """What a task says of the rules that may be learned on it."""

    name: str
    background: str
    bias: str


def count_atoms(task: Task, texts: Sequence[str], what: str = "the hypothesis") -> int:
    """Count the literals of heads and bodies as the task's language bias scores them (`hypothesis_cost`).

    If a constraint of the bias forbids one of the rules, every literal counts, including heads. What stands
    for several literals counts as many: aggregates, choices, conditions, pools and chains of comparisons.

    Args:
        task: the task, whose language bias counts.
        texts: rules in ASP.
        what: what messages call them.
    """
    rules = _distinct(texts, what)
    reader = LasTask.build([], task.background, task.bias, task.name)
    nodes = [rule.node for rule in rules.values()]
    more = sum(_literals(node) - 1 for rule in nodes for node in (rule.head, *rule.body))
    try:
        return _cost(reader, rules) + more
    except ForbiddenRule:
        parts = map(_parts, rules.values())
        return sum((head is not None) + len(body) for head, body in parts) + more


def _distinct(texts: Sequence[str], what: str) -> dict[str, Rule]:
    """The rules that texts hold together, by their text."""
    return {rule.text: rule for rule in parse("\n".join(texts), what, safe=False).rules}


@by_text
def _literals(literal: ast.AST) -> int:
    """How many literals a head or a body literal stands for."""
    count, more = 0, 0
    for node in nodes_in(literal):
        if node.ast_type == ast.ASTType.Literal and node.atom.ast_type not in _AGGREGATES:
            count += 1
        elif node.ast_type == ast.ASTType.Pool:
            more += len(node.arguments) - 1
        elif node.ast_type == ast.ASTType.Comparison:
            more += len(node.guards) - 1
    return max(1, count) + more


def _read(rule: str | Rule) -> Rule:
    return parse(rule, f"the rule '{rule}'", safe=False).rules[0] if isinstance(rule, str) else rule


def _parts(rule: Rule) -> RuleParts:
    head = None if rule.head == "constraint" else str(rule.node.head)
    return head, tuple(map(str, rule.node.body))


def rule_parts(rule: str | Rule) -> RuleParts:
    """Head (None: a constraint) and body literals of a rule."""
    return _parts(_read(rule))


def normal_form(rule: str | Rule) -> str:
    """The rule with its body in an agreed order and variables renamed: equal for equal rules.

    Rules with very many variables keep their names.
    """
    return _normal_form(*_parts(_read(rule)))


def contained(rules: Sequence[str], true_rule: str, bias: str) -> float:
    """The share of the true rule's rules that a hypothesis contains, whatever variables are called.

    Args:
        true_rule: one or several rules.
        bias: the language bias, whose types' guards do not count.
    """
    types = frozenset(_TYPE.findall(bias))
    learned, wanted = (
        [_forms(rule, types) for rule in parse("\n".join(texts), what, safe=False).rules]
        for texts, what in ((rules, "the hypothesis"), ([true_rule], "the true rule"))
    )
    return sum(any(forms & other for other in learned) for forms in wanted) / len(wanted)


def _forms(rule: Rule, types: Collection[str]) -> set[str]:
    """Normal forms of a rule without type guards, with each side of each inequality to the left in turn."""
    sides: list[tuple[str, ...]] = []
    for literal in rule.node.body:
        guard = guard_of(literal)
        if guard is None or guard[0] not in types:
            first, sign, second = str(literal).partition(" != ")
            sides.append((f"{first} != {second}", f"{second} != {first}") if sign else (first,))
    return {_normal_form(_parts(rule)[0], body) for body in itertools.product(*sides)}


@lru_cache(maxsize=_REMEMBERED)
def _normal_form(head: str | None, body: tuple[str, ...]) -> str:
    texts = [head or "", *dict.fromkeys(body)]
    variables = list(dict.fromkeys(name for name in _TOKEN.findall(" ".join(texts)) if name[0] != '"'))
    if len(variables) > _MOST_PERMUTED:
        return f"{texts[0]} :- {', '.join(sorted(texts[1:]))}."
    forms = []
    for order in itertools.permutations(range(len(variables))):
        names = {variable: f"V{i + 1}" for variable, i in zip(variables, order, strict=True)}
        first, *rest = (_renamed(text, names) for text in texts)
        forms.append((first, sorted(rest)))
    first, rest = min(forms)
    return f"{first} :- {', '.join(rest)}."


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _TOKEN.sub(lambda match: names.get(match.group(), match.group()), text)


def hypothesis_cost(task: LasTask, rules: Sequence[str]) -> int:
    """The cost of rules under the task's language bias, without type guards.

    A text may hold several rules, all of which count; equal ones count once. A rule that is given whole and
    that the modes allow as well costs what is less. Of the ways to read a rule by the modes, the cheapest
    counts; in a rule that they do not allow, what looks like a type guard is free.
    """
    return _cost(task, _distinct(rules, "the hypothesis"))


def _cost(task: LasTask, distinct: Mapping[str, Rule]) -> int:
    """`hypothesis_cost` of different rules by their text."""
    if not distinct and not task.bias.final:
        return 0
    domain = domains(task)
    given = _given_costs(task.bias)
    of_given = [given.get(normal_form(rule)) if given else None for rule in distinct.values()]
    options: list[list[RuleParts]] = []
    for rule, cost in zip(distinct.values(), of_given, strict=True):
        read = readings(task.bias, domain, rule, exact=cost is not None)
        parts = [(reading.head, reading.literals) for reading in read]
        options.append(parts if parts or cost is not None else [_without_guards(task.bias, domain, rule)])
    prices = iter(rule_costs(task.bias, [parts for group in options for parts in group]))
    total = 0
    chosen: list[RuleParts] = []
    for text, group, cost in zip(distinct, options, of_given, strict=True):
        priced = list(zip(itertools.islice(prices, len(group)), group, strict=True))
        costs = [each for each in (cost, *(price for price, _ in priced)) if each is not None]
        if not costs:
            raise ForbiddenRule(f"A constraint in #bias forbids the rule '{text}'.")
        total += min(costs)
        chosen += [parts for price, parts in priced if price == min(costs)][:1]
    if not task.bias.final:
        return total

    return total + final_cost(task.bias, frozenset[str]().union(*marks(task.bias, chosen)))


def _given_costs(bias: LanguageBias) -> dict[str, int]:
    """The least cost of each rule that is given whole, by its normal form."""
    result: dict[str, int] = {}
    for given in bias.given:
        form = normal_form(given.parsed)
        result[form] = min(given.cost, result.get(form, given.cost))
    return result


def _without_guards(bias: LanguageBias, type_domains: Domains, rule: Rule) -> RuleParts:
    """Head and body of a rule that the modes do not allow, without what looks like a guard.

    Inequalities are free where `#ground_without_replacement` asks for some and no mode declares any.
    """
    head, _ = _parts(rule)
    free = bias.ground_without_replacement and not any(
        isinstance(mode.literal, ModeComparison) and mode.literal.operator == "!=" for mode in bias.bodies
    )
    guards: list[tuple[str, str]] = []
    counted: list[str] = []
    used = set() if head is None else set(variables_in(rule.node.head))
    for literal in rule.node.body:
        guard = guard_of(literal)
        if guard is not None and guard[0] in type_domains.guarded:
            guards.append((str(literal), guard[1]))
        else:
            used |= variables_in(literal)
            if not (free and _is_inequality(literal)):
                counted.append(str(literal))
    return head, (*counted, *(text for text, variable in guards if variable not in used))


def _is_inequality(literal: ast.AST) -> bool:
    if literal.ast_type != ast.ASTType.Literal or literal.atom.ast_type != ast.ASTType.Comparison:
        return False
    return bool(literal.atom.guards[0].comparison == ast.ComparisonOperator.NotEqual)


def with_type_guards(task: LasTask, rule: str) -> str:
    """The rule with the guard ``type(V)`` of each variable whose type the mode declarations tell.

    Of a rule that they do not allow, each literal tells what it can.
    """
    type_domains = domains(task)
    read = _read(rule)
    reading: Reading | None = next(readings(task.bias, type_domains, read, exact=False), None)
    types = types_told(task.bias, type_domains, read) if reading is None else reading.types
    head, body = _parts(read)
    missing = [f"{kind}({name})" for name, kind in types.items() if kind in type_domains.guarded]
    parts = list(dict.fromkeys([*body, *missing]))
    return f"{head or ''} :- {', '.join(parts)}.".lstrip() if parts else f"{head}."


def without_type_guards(task: LasTask, rule: str) -> str:
    """The rule without the guards of variables that another literal binds."""
    guarded, read = domains(task).guarded, _read(rule)
    guards = {str(literal): guard_of(literal) for literal in read.node.body}
    own = {text: guard[1] for text, guard in guards.items() if guard is not None and guard[0] in guarded}
    positive = (each for each in read.node.body if each.sign == ast.Sign.NoSign and str(each) not in own)
    symbolic = (each for each in positive if each.atom.ast_type == ast.ASTType.SymbolicAtom)
    bound = {name for literal in symbolic for name in variables_in(literal)}
    head, body = _parts(read)
    parts = [text for text in body if own.get(text) not in bound]
    return f"{head or ''} :- {', '.join(parts)}.".lstrip() if parts else f"{head}."


def check_final(bias: LanguageBias) -> None:
    """Refuse a ``#final_bias`` that forbids or chooses, or that meets rules without an `intermediate(X)`."""
    program = _program(bias)
    if any(rule.head != "atom" for rule in program.rules) or not program.stratified:
        raise UserError("#final_bias must derive penalties alone, without constraints, choices and cycles.")
    guards = {f"{place.type}({place})" for atom in bias.atoms for place in atom.placeholders}
    if bias.rules or bias.meta_modes or guards & {str(atom) for atom in bias.atoms}:
        raise UserError(
            "#final_bias together with complete rules or a mode 'type(var(type))' is not supported."
        )


def _program(bias: LanguageBias) -> Program:
    return parse("\n".join(bias.final), "#final_bias")


def marks(
    bias: LanguageBias, rules: Iterable[RuleParts], budget: Budget | None = None
) -> list[frozenset[str]]:
    """What ``intermediate/1`` holds of each rule, as text."""
    nodes = tuple(bias_program(bias).program.nodes)
    result = []
    for head, body in rules:
        if budget is not None:
            budget.check()
        atoms = [*([] if head is None else [in_head(head)]), *map(in_body, body)]
        control = grounded("#bias", [*nodes, *atoms_as_rules(atoms)])
        atoms = []
        control.solve(on_model=lambda model, result=atoms: result.extend(model.symbols(atoms=True)))  # type: ignore[misc]
        held = [atom.arguments[0] for atom in atoms if atom.match("intermediate", 1)]
        if any(variables_of(term) for term in held):
            raise UserError("intermediate(X) in #bias must not name variables of a rule.")
        result.append(frozenset(map(str, held)))
    return result


def final_cost(bias: LanguageBias, held: Iterable[str]) -> int:
    """What ``#final_bias`` charges where these terms are intermediate."""
    text = "\n".join([*bias.final, *(f"intermediate({term})." for term in sorted(held))])
    control = grounded("#final_bias", tuple(parse(text, "#final_bias").nodes))
    weights = [atom.symbol.arguments[0] for atom in control.symbolic_atoms.by_signature("penalty", 2)]
    if any(weight.type != SymbolType.Number or weight.number < 0 for weight in weights):
        raise UserError(f"#final_bias: {NEGATIVE_PENALTY}")
    return sum(weight.number for weight in weights)


def final_lines(bias: LanguageBias, held: Sequence[frozenset[str]], chosen: str, prefix: str) -> list[str]:
    """The same as a program over chosen rules, with a weak constraint for each penalty.

    Args:
        held: what is intermediate for each rule (`marks`).
        chosen: the predicate that chooses a rule by its number.
        prefix: begins the names of its predicates.
    """
    apart = _Apart(prefix)
    lines = [str(apart.visit(node)) for node in _program(bias).nodes]
    lines += [
        f"{prefix}intermediate({term}) :- {chosen}({k})." for k, terms in enumerate(held) for term in terms
    ]
    return [*lines, f":~ {prefix}penalty(W,X). [W,{prefix}penalty(W,X)]"]


class _Apart(ast.Transformer):
    """Gives predicates names of their own."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        """Renames an atom's predicate; terms are left."""
        symbol = node.symbol
        if symbol.ast_type != ast.ASTType.Function:
            raise UserError(f"#final_bias: '{node}' is not a plain atom.")
        return node.update(symbol=symbol.update(name=self._prefix + symbol.name))
