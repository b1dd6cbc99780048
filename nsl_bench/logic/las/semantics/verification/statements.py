"""A task's statements as one logic program with a plain copy for each example.

Every predicate of the user's gets another name (``p_NAME``, ``n_NAME`` where it is negated classically). A
predicate of which each example has a copy is called ``pe_NAME`` or ``ne_NAME`` and has the example's number
as its first argument. Every variable begins with ``V_``, and each copied rule holds while ``copy(E)`` does.
So the names of this encoding, which begin with none of these, are apart from the user's by construction.
Nothing here is shared with the encodings that search for hypotheses.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import clingo
from clingo import ast

from nsl_bench.logic.las.semantics.verification.plain import Example, PlainTask
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable, answer_sets, parse

Signature = tuple[str, int]
Asked = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""What an example asks: inclusions, exclusions and context."""

_FACT = re.compile(r'([a-z]\w*)(?:\(((?:[\w\s,+-]|\.\.|"[^"\\]*")+)\))?')
_DERIVED_SETS = ("inclusion", "exclusion")


def asked_by(example: Example) -> Asked:
    """The atoms that an example wants in or out, and its context."""
    return example.inclusions, example.exclusions, example.context


class Signatures(ast.Transformer):
    """Collects the predicates of a syntax tree.

    Attributes:
        negated: those that are negated classically somewhere.
    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.mentioned: set[Signature] = set()
        self.negated: set[Signature] = set()
        for node in nodes:
            self.visit(node)

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        left = [(node.symbol, False)]
        while left:
            term, negated = left.pop()
            if term.ast_type == ast.ASTType.UnaryOperation:
                left.append((term.argument, not negated))
            elif term.ast_type == ast.ASTType.Pool:
                left += [(each, negated) for each in term.arguments]
            elif term.ast_type == ast.ASTType.Function:
                self.mentioned.add((term.name, len(term.arguments)))
                if negated:
                    self.negated.add((term.name, len(term.arguments)))
        return node


def derived_by(rules: Iterable[ast.AST]) -> set[Signature]:
    """The predicates that rules derive, by choices and disjunctions too."""
    heads: list[ast.AST] = []
    for rule in rules:
        if rule.ast_type != ast.ASTType.Rule:
            continue
        kind = rule.head.ast_type
        if kind in (ast.ASTType.Disjunction, ast.ASTType.Aggregate):
            heads += [element.literal for element in rule.head.elements]
        elif kind == ast.ASTType.HeadAggregate:
            heads += [element.condition.literal for element in rule.head.elements]
        else:
            heads.append(rule.head)
    return Signatures(heads).mentioned


def copy_name(name: str, *, copied: bool, negative: bool = False) -> str:
    """The name of a predicate in these statements.

    A copied predicate has the example as one more argument. A letter in its name tells it from the predicate
    of the same name that has as many arguments without.
    """
    return f"{'n' if negative else 'p'}{'e' if copied else ''}_{name}"


class _Apart(ast.Transformer):
    """Renames predicates and variables apart; the atoms of some predicates get the example ``E``."""

    def __init__(self, copied: Callable[[Signature], bool]) -> None:
        self._copied = copied

    def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
        return node.update(symbol=self._atom(self.visit(node.symbol), False))

    def _atom(self, term: ast.AST, negative: bool) -> ast.AST:
        if term.ast_type == ast.ASTType.UnaryOperation:
            return self._atom(term.argument, not negative)
        if term.ast_type == ast.ASTType.Pool:
            return term.update(arguments=[self._atom(each, negative) for each in term.arguments])
        if term.ast_type != ast.ASTType.Function or term.external:
            raise Unverifiable(f"'{term}' is not an atom")
        arguments = list(term.arguments)
        copied = self._copied((term.name, len(arguments)))
        if copied:
            arguments.insert(0, ast.Variable(term.location, "E"))
        return term.update(name=copy_name(term.name, copied=copied, negative=negative), arguments=arguments)

    def visit_Variable(self, node: ast.AST) -> ast.AST:
        return node if node.name == "_" else node.update(name=f"V_{node.name}")

    def visit_Function(self, node: ast.AST) -> ast.AST:
        if node.external:
            raise Unverifiable(f"'{node}' calls a function")
        return node.update(**self.visit_children(node))

    def visit_TheoryAtom(self, node: ast.AST) -> ast.AST:
        raise Unverifiable(f"'{node}' is a theory atom")


def apart(rule: ast.AST, prefix: str) -> str:
    """A rule whose predicates' names begin with a prefix."""

    class Named(ast.Transformer):
        def visit_SymbolicAtom(self, node: ast.AST) -> ast.AST:
            if node.symbol.ast_type != ast.ASTType.Function:
                raise Unverifiable(f"'{node}' is not a plain atom")
            return node.update(symbol=node.symbol.update(name=prefix + node.symbol.name))

    return str(Named().visit(rule))


def _is_plain(rule: ast.AST) -> bool:
    """Whether a rule is a constraint, or has one atom as its head."""
    head = rule.head
    if head.ast_type != ast.ASTType.Literal or head.sign != ast.Sign.NoSign:
        return False
    if head.atom.ast_type == ast.ASTType.BooleanConstant:
        return bool(head.atom.value == 0)
    return bool(head.atom.ast_type == ast.ASTType.SymbolicAtom)


def _is_constraint(rule: ast.AST) -> bool:
    return bool(_is_plain(rule) and rule.head.atom.ast_type == ast.ASTType.BooleanConstant)


class Statements:
    """The statements of a task, with rules that may be learned.

    Args:
        learned: the texts of rules that may be learned.
        copy_all: nothing is shared by the examples, although neither context nor hypothesis touches it.
    """

    def __init__(self, task: PlainTask, learned: Iterable[str] = (), *, copy_all: bool = False) -> None:
        self.background = parse(task.background)
        self.learned = [parse(text) for text in learned]
        texts = dict.fromkeys(text for e in task.examples for text in e.context)
        self._contexts = {text: parse(f"{text}.") for text in texts if not _FACT.fullmatch(text)}
        facts = {(m[1], _arity(m[2])) for text in texts if (m := _FACT.fullmatch(text))}
        rules = [*self.background, *(rule for each in self.learned for rule in each)]
        in_contexts = [rule for each in self._contexts.values() for rule in each]
        everything = [s for s in (*rules, *in_contexts) if s.ast_type == ast.ASTType.Rule]
        signatures = Signatures(everything)
        texts = dict.fromkeys(text for e in task.examples for text in (*e.inclusions, *e.exclusions))
        asked = {_read_atom(text) for text in texts}
        self._signatures = signatures.mentioned | facts | {(name, len(each)) for _, name, each in asked}
        self._negated = signatures.negated | {
            (name, len(arguments)) for negative, name, arguments in asked if negative
        }
        self._extended = task.dialect == "fastlas" and any(
            (name, 1) in self._signatures for name in _DERIVED_SETS
        )
        self._copied: frozenset[Signature] | None = None
        if not copy_all and all(map(_is_plain, everything)):
            touched = derived_by([*in_contexts, *(rule for each in self.learned for rule in each)])
            self._copied = _closure(everything, facts | touched | {(name, 1) for name in _DERIVED_SETS})

    def is_copied(self, signature: Signature) -> bool:
        """Whether each example has a copy of a predicate."""
        return self._copied is None or signature in self._copied

    def _text(self, rule: ast.AST, *conditions: str, violation: bool) -> str:
        """A rule's copy, for every example that meets the conditions."""
        if rule.ast_type == ast.ASTType.Definition:
            return str(rule)
        copied = _is_constraint(rule) or self._copied is None
        copied = copied or any(map(self.is_copied, Signatures([rule.head]).mentioned))
        apart = _Apart(self.is_copied).visit(rule)
        body = [*map(str, apart.body), *(("copy(E)",) if copied else ()), *conditions]
        head = "violated(E)" if violation and _is_constraint(rule) else str(apart.head)
        return f"{head} :- {'; '.join(body)}." if body else f"{head}."

    def common(self, *, violation: bool = False) -> list[str]:
        """What all examples share: the background's copies.

        Args:
            violation: constraints derive ``violated(E)`` in place of forbidding an answer set.
        """
        lines = [self._text(rule, violation=violation) for rule in self.background]
        bad = "violated(E)" if violation else ""
        for name, arity in sorted(self._negated):
            both = ", ".join(self._open_atom(name, arity, negative) for negative in (False, True))
            lines.append(f"{bad} :- {both}, copy(E).")
        if self._extended:
            for name, arity in sorted(self._signatures):
                for negative in (False, True) if (name, arity) in self._negated else (False,):
                    xs = ",".join(f"X{i}" for i in range(arity))
                    term = f"{'-' if negative else ''}{name}{f'({xs})' if arity else ''}"
                    for asked in _DERIVED_SETS:
                        sets = copy_name(asked, copied=True)
                        body = f"{sets}(E,{term}), {self._open_atom(name, arity, negative)}, copy(E)"
                        lines.append(f"holds(E,{term}) :- {body}.")
            for asked, missed in zip(_DERIVED_SETS, ("not ", ""), strict=True):
                sets = copy_name(asked, copied=True)
                lines.append(f"{bad} :- {sets}(E,A), {missed}holds(E,A), copy(E).")
        return lines

    def _open_atom(self, name: str, arity: int, negative: bool) -> str:
        copied = self.is_copied((name, arity))
        arguments = [*(("E",) if copied else ()), *(f"X{i}" for i in range(arity))]
        return f"{copy_name(name, copied=copied, negative=negative)}{_listed(arguments)}"

    def hypothesis(self, *, violation: bool = False, numbered: bool = False) -> list[str]:
        """The learned rules' copies; where they are `numbered`, rule k holds while ``chosen(k)`` does."""
        lines = []
        for k, rules in enumerate(self.learned):
            conditions = (f"chosen({k})",) if numbered else ()
            lines += [self._text(rule, *conditions, violation=violation) for rule in rules]
        return lines

    def derivations(self) -> list[str]:
        """What each learned rule derives by itself: ``derived(k, atom)``; a constraint, ``violated(E)``."""
        lines = []
        for k, rules in enumerate(self.learned):
            for rule in rules:
                if not _is_plain(rule):
                    raise Unverifiable(f"'{rule}' may derive other than one atom")
                apart = _Apart(self.is_copied).visit(rule)
                head = "violated(E)" if _is_constraint(rule) else str(apart.head)
                lines.append(f"derived({k},{head}) :- {'; '.join([*map(str, apart.body), 'copy(E)'])}.")
        return lines

    def dependence(self) -> tuple[bool, bool]:
        """Whether learned rules depend on what they derive, and whether anything at all does."""
        given = [*self.background, *(rule for each in self._contexts.values() for rule in each)]
        given = [rule for rule in given if rule.ast_type == ast.ASTType.Rule]
        own = [rule for rules in self.learned for rule in rules]
        learned = derived_by(own)
        read = Signatures(node for rule in own for node in rule.body).mentioned
        others = Signatures(node for rule in given for node in rule.body).mentioned
        feeds = bool(read & _closure([*given, *own], learned))
        return feeds, feeds or bool(learned & (others | self._negated)) or self._extended

    def context(self, number: int, statements: Sequence[str], *, violation: bool = False) -> list[str]:
        """The copy of one example's context."""
        lines = []
        for text in statements:
            fact = _FACT.fullmatch(text)
            if fact is None:
                lines += [
                    self._text(rule, f"E = {number}", violation=violation) for rule in self._contexts[text]
                ]
            else:
                copied = self.is_copied((fact[1], _arity(fact[2])))
                arguments = [*((str(number),) if copied else ()), *((fact[2],) if fact[2] else ())]
                lines.append(f"{copy_name(fact[1], copied=copied)}{_listed(arguments)} :- copy({number}).")
        return lines

    def atom(self, number: int, text: str) -> str:
        """The copy of a ground atom."""
        negative, name, terms = _read_atom(text)
        copied = self.is_copied((name, len(terms)))
        arguments = [*((str(number),) if copied else ()), *terms]
        return f"{copy_name(name, copied=copied, negative=negative)}{_listed(arguments)}"

    def satisfied(self, number: int, asked: Asked) -> list[str]:
        """The literals that hold where an example's inclusions are there and its exclusions are not."""
        inclusions, exclusions, _ = asked
        held = [self.atom(number, text) for text in inclusions]
        return [*held, *(f"not {self.atom(number, text)}" for text in exclusions)]


@lru_cache(maxsize=1 << 16)
def _read_atom(text: str) -> tuple[bool, str, tuple[str, ...]]:
    """Whether a ground atom is negated classically, its predicate and its arguments."""
    try:
        symbol = clingo.parse_term(text, logger=lambda *_: None)
    except RuntimeError:
        raise Unverifiable(f"'{text}' is not a ground atom") from None
    if symbol.type != clingo.SymbolType.Function or not symbol.name:
        raise Unverifiable(f"'{text}' is not a ground atom")
    return symbol.negative, symbol.name, tuple(map(str, symbol.arguments))


def _listed(arguments: Sequence[str]) -> str:
    return f"({','.join(arguments)})" if arguments else ""


def _arity(arguments: str | None) -> int:
    if not arguments:
        return 0
    return re.sub(r'"[^"]*"', "_", arguments).count(",") + 1


def _closure(rules: Sequence[ast.AST], given: set[Signature]) -> frozenset[Signature]:
    """The predicates in `given` and those that are derived from them."""
    parts = [(Signatures([rule.head]).mentioned, Signatures(rule.body).mentioned) for rule in rules]
    result = set(given)
    while more := {s for heads, body in parts if body & result for s in heads} - result:
        result |= more
    return frozenset(result)


_TOGETHER = 20_000
"""Statements of contexts in one program, which bounds its memory."""


def covered_examples(task: PlainTask, hypothesis: Sequence[str], stop: Callable[[], None]) -> list[bool]:
    """Whether the hypothesis covers each example: the definition, by clingo.

    A positive example is covered if some answer set of background, hypothesis and its context holds its
    inclusions and none of its exclusions, a negative one if none does. Where the copies of many examples have
    one answer set together, each copy has one, and it says which are covered.
    """
    statements = Statements(task, hypothesis)
    satisfied: dict[Asked, bool] = {}
    shared: list[str] | None = None
    for group in _groups(list(dict.fromkeys(map(asked_by, task.examples)))):
        covered = _together(statements, group, stop)
        if covered is None:
            shared = shared or [*statements.common(), *statements.hypothesis()]
            covered = [_alone(statements, shared, asked, stop) for asked in group]
        satisfied.update(zip(group, covered, strict=True))
    return [satisfied[asked_by(example)] == example.positive for example in task.examples]


def _groups(contents: Sequence[Asked]) -> Iterator[list[Asked]]:
    group: list[Asked] = []
    held = 0
    for asked in contents:
        if group and held + len(asked[2]) > _TOGETHER:
            yield group
            group, held = [], 0
        group.append(asked)
        held += len(asked[2]) + 1
    if group:
        yield group


def _together(statements: Statements, group: Sequence[Asked], stop: Callable[[], None]) -> list[bool] | None:
    """Whether each example is satisfied, if their copies have exactly one answer set; else None."""
    lines = [f"copy(0..{len(group) - 1}).", "#show satisfied/1."]
    lines += statements.common(violation=True)
    lines += statements.hypothesis(violation=True)
    for i, asked in enumerate(group):
        lines += statements.context(i, asked[2], violation=True)
        literals = [f"copy({i})", *statements.satisfied(i, asked), f"not violated({i})"]
        lines.append(f"satisfied({i}) :- {', '.join(literals)}.")
    models = answer_sets(lines, 2, stop)
    if len(models) != 1:
        return None
    result = {symbol.arguments[0].number for symbol in models[0]}
    return [i in result for i in range(len(group))]


def _alone(statements: Statements, shared: Sequence[str], asked: Asked, stop: Callable[[], None]) -> bool:
    """Whether some answer set of one example's program satisfies it."""
    stop()
    lines = ["copy(0).", *shared, *statements.context(0, asked[2])]
    lines += [f":- not {literal}." for literal in statements.satisfied(0, asked)]
    return bool(answer_sets([*lines, "#show."], 1, stop))
