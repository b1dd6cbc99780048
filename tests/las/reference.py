"""The least score of a learning task, straight from the definition: plain, nothing shared with the solvers
under test but the parsed task.

Large spaces, many examples and recursion seldom meet, so there are several methods:

* where no rule feeds another one, rules that derive the same are one (`las.reference_effects`); if moreover
  nothing else depends on what they derive, an example asks for some of their atoms and forbids others, and
  clingo chooses rules by these;
* else each example gets the whole program under names of its own, and clingo chooses rules for all copies;
* cautious examples are checked one hypothesis at a time.

`by_definition` needs none of these: it tries one hypothesis after the other on one example after the other.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import clingo
import clingo.ast
from las.reference_effects import Effects, NotObservational, effects, parsed, program_statements
from las.reference_space import (
    MOST_CONFLICTS,
    Predicates,
    Rule,
    Steps,
    TooLarge,
    answer_sets,
    atom_symbol,
    constant_definitions,
    grounded,
    head_predicates,
    is_satisfiable,
    predicates,
    program,
    space,
    statements,
)

from nsl_bench.las.task import LasTask
from nsl_bench.types import WeightedExample

__all__ = ["Rule", "TooLarge", "by_definition", "is_brave", "least_score", "score_of", "space"]

MOST_CALLS = 3_000
"""Pairs of a hypothesis and an example that are tried one by one."""
MOST_TEXTS = 15_000
"""Rules in all copies of the program, one for each example."""
_LARGEST = (1 << 31) - 1
"""What clingo can sum up."""


def least_score(task: LasTask, rules: Sequence[Rule] | None = None) -> int | None:
    """The least score; None if no hypothesis covers every example that must be covered.

    Args:
        task: the task.
        rules: its hypothesis space, where it is known.

    Raises:
        TooLarge: none of the methods can tell.
    """
    rules = space(task) if rules is None else rules
    large = sum(e.penalty or 0 for e in task.examples) + sum(rule.cost for rule in rules) > _LARGEST
    try:
        known = effects(task, rules)
        if _is_plain(task, known) and not large:
            return _by_cells(task, known)
        choices = _effect_choices(known)
    except NotObservational:
        choices = _rule_choices(rules)
    if all(example.positive for example in task.examples) and not large:
        return _by_copies(task, choices)
    return _by_subsets(task, choices)


# One hypothesis and one example


def is_brave(task: LasTask, hypothesis: Sequence[str], example: WeightedExample) -> bool:
    """Whether some answer set holds the example's inclusions and none of its exclusions."""
    control = grounded("\n".join([program(task, example.context), *hypothesis]), "0")
    definitions = constant_definitions(task)
    included = {atom_symbol(atom, definitions) for atom in example.inclusions}
    excluded = {atom_symbol(atom, definitions) for atom in example.exclusions}
    return any(
        _fits(task, set(model.symbols(atoms=True)), included, excluded) for model in answer_sets(control)
    )


def _fits(
    task: LasTask, model: set[clingo.Symbol], included: set[clingo.Symbol], excluded: set[clingo.Symbol]
) -> bool:
    """Whether an answer set extends the example, and what it derives as `inclusion` and `exclusion`."""
    if task.bias.dialect == "fastlas":
        included = included | {s.arguments[0] for s in model if s.match("inclusion", 1)}
        excluded = excluded | {s.arguments[0] for s in model if s.match("exclusion", 1)}
    return included <= model and not excluded & model


def score_of(task: LasTask, hypothesis: Sequence[str]) -> tuple[int, bool]:
    """Summed penalties of the uncovered examples; whether all that must be covered are."""
    known: dict[object, bool] = {}
    missed = []
    for example in task.examples:
        key = _content(example)
        if key not in known:
            known[key] = is_brave(task, hypothesis, example)
        if known[key] != example.positive:
            missed.append(example)
    return sum(e.penalty or 0 for e in missed), all(e.penalty is not None for e in missed)


def by_definition(task: LasTask, rules: Sequence[Rule] | None = None) -> int | None:
    """`least_score` by trying every hypothesis that is cheap enough, one clingo call for each example."""
    rules = space(task) if rules is None else rules

    def missed(chosen: Sequence[int]) -> int | None:
        penalties, whole = score_of(task, [rules[k].text for k in chosen])
        return penalties if whole else None

    return _tried([rule.cost for rule in rules], missed, MOST_CALLS // len(task.examples))


def _tried(costs: Sequence[int], missed: Callable[[Sequence[int]], int | None], most: int) -> int | None:
    """The least cost and penalties among all choices, `most` at most; `missed` gives a choice's penalties."""
    best: int | None = None
    tried = 0
    for size in range(len(costs) + 1):
        some = False
        for chosen in itertools.combinations(range(len(costs)), size):
            cost = sum(costs[k] for k in chosen)
            if best is not None and cost >= best:
                continue
            some = True
            tried += 1
            if tried > most:
                raise TooLarge(f"more than {most} hypotheses")
            penalties = missed(chosen)
            if penalties is not None and (best is None or cost + penalties < best):
                best = cost + penalties
        if not some:
            break
    return best


def _content(example: WeightedExample) -> tuple[tuple[str, ...], ...]:
    return example.inclusions, example.exclusions, example.context


@dataclass(frozen=True)
class Choice:
    """Something to choose: what it costs, and the rules that it adds in a context (None: in all others)."""

    cost: int
    rules: dict[tuple[str, ...] | None, tuple[str, ...]]

    def within(self, context: tuple[str, ...]) -> tuple[str, ...]:
        """The rules that it adds to a program with this context."""
        return self.rules.get(context, self.rules.get(None, ()))


def _check_size(task: LasTask, choices: Sequence[Choice]) -> None:
    """Raises `TooLarge` where the programs of all examples hold too many rules."""
    texts = Steps(MOST_TEXTS, "rules in all copies of the program")
    for content in {_content(example) for example in task.examples}:
        for choice in choices:
            texts.take(len(choice.within(content[2])))


def _rule_choices(rules: Sequence[Rule]) -> list[Choice]:
    return [Choice(rule.cost, {None: (rule.text,)}) for rule in rules]


def _effect_choices(known: Effects) -> list[Choice]:
    """A choice of facts for each kind of rule."""
    found = []
    for cost, derived in zip(known.costs, known.derived, strict=True):
        facts = {
            context: tuple(f"{atom}." for atom, mask in derived if mask >> i & 1)
            for i, context in enumerate(known.contexts)
        }
        found.append(Choice(cost, dict(facts)))
    return found


# Cautious examples: every hypothesis, with one control for each example


def _by_subsets(task: LasTask, choices: Sequence[Choice]) -> int | None:
    _check_size(task, choices)
    controls = {_content(e): _control(task, choices, e) for e in task.examples}
    atoms = [clingo.Function("oracle__in", [clingo.Number(k)]) for k in range(len(choices))]

    def missed(chosen: Sequence[int]) -> int | None:
        fixed = [(atom, k in chosen) for k, atom in enumerate(atoms)]
        brave = {key: is_satisfiable(c, fixed) for key, c in controls.items()}
        uncovered = [e for e in task.examples if brave[_content(e)] != e.positive]
        return None if any(e.penalty is None for e in uncovered) else sum(e.penalty or 0 for e in uncovered)

    return _tried([choice.cost for choice in choices], missed, MOST_CALLS // max(1, len(controls)))


def _control(task: LasTask, choices: Sequence[Choice], example: WeightedExample) -> clingo.Control:
    """The program of one example over the choices, which has an answer set where the example is brave."""
    lines = [program(task, example.context)]
    if choices:
        lines.append(f"{{ oracle__in(0..{len(choices) - 1}) }}.")
    rules = [(k, text) for k, choice in enumerate(choices) for text in choice.within(example.context)]
    lines += [str(_with(parsed(text)[0], f"oracle__in({k})")) for k, text in rules]
    lines += [f":- not {atom}." for atom in example.inclusions] + [f":- {a}." for a in example.exclusions]
    lines += _extension(task, [text for _, text in rules], "")
    return grounded("\n".join(lines))


def _extension(task: LasTask, rules: Sequence[str], prefix: str) -> list[str]:
    """What an answer set must hold beside the example's own atoms: what it derives as inclusions."""
    signatures = _all_predicates(task, tuple(sorted(set(rules))))
    if task.bias.dialect != "fastlas" or not signatures & {("inclusion", 1), ("exclusion", 1)}:
        return []
    lines = [
        f":- {prefix}inclusion(A), not {prefix}oracle__has(A).",
        f":- {prefix}exclusion(A), {prefix}oracle__has(A).",
    ]
    for name, arity in sorted(signatures):
        inner = f"({','.join(f'X{i}' for i in range(arity))})" if arity else ""
        for sign in ("", "-"):
            lines.append(f"{prefix}oracle__has({sign}{name}{inner}) :- {sign}{prefix}{name}{inner}.")
    return lines


@lru_cache(maxsize=256)
def _all_predicates(task: LasTask, rules: Sequence[str]) -> set[tuple[str, int]]:
    atoms = {f"{a}." for e in task.examples for a in (*e.inclusions, *e.exclusions)}
    more = [statement for text in (*rules, *sorted(atoms)) for statement in parsed(text)]
    return predicates([*program_statements(task), *more])


# One copy of the program for each example

_COPY = "c0opy_"


class _Copied(Predicates):
    """Puts the marker of a copy before the name of each predicate."""

    def visit_SymbolicAtom(self, node: clingo.ast.AST) -> clingo.ast.AST:
        return node.update(symbol=self._changed(node.symbol))

    def _changed(self, term: clingo.ast.AST) -> clingo.ast.AST:
        kind = clingo.ast.ASTType
        if term.ast_type == kind.UnaryOperation:
            return term.update(argument=self._changed(term.argument))
        if term.ast_type == kind.Pool:
            return term.update(arguments=[self._changed(each) for each in term.arguments])
        assert term.ast_type == kind.Function
        return term.update(name=_COPY + term.name)


@lru_cache(maxsize=256)
def _guard(condition: str) -> tuple[clingo.ast.AST, ...]:
    return tuple(statements(f":- {condition}.")[0].body)


def _with(statement: clingo.ast.AST, condition: str) -> clingo.ast.AST:
    """The rule with one more body literal."""
    return statement.update(body=[*statement.body, *_guard(condition)])


@lru_cache(maxsize=1 << 14)
def _template(text: str, condition: str) -> str:
    """The rules of a text as a copy has them, under a condition."""
    rules = [s for s in parsed(text) if s.ast_type == clingo.ast.ASTType.Rule]
    return "\n".join(str(_with(_Copied().visit(rule), condition)) for rule in rules)


def _by_copies(task: LasTask, choices: Sequence[Choice]) -> int | None:
    """The optimum of one program: rules are chosen, and each example has its answer set or is paid for."""
    _check_size(task, choices)
    weights: Counter[tuple[tuple[str, ...], ...]] = Counter()
    hard = {_content(e) for e in task.examples if e.penalty is None}
    for example in task.examples:
        weights[_content(example)] += example.penalty or 0
    all_rules = [text for choice in choices for texts in choice.rules.values() for text in texts]
    common = [_template(task.background, f"cov({_COPY})"), *_extension(task, all_rules, _COPY)]
    lines = [constant_definitions(task)]
    for k, choice in enumerate(choices):
        lines += [f"{{ in({k}) }}.", _weak(f"in({k})", choice.cost, f"r({k})")]
    for i, (content, weight) in enumerate(weights.items()):
        inclusions, exclusions, context = content
        parts = [*common, *(_template(f"{s}.", f"cov({_COPY})") for s in context)]
        for k, choice in enumerate(choices):
            parts += [
                _template(text, f"cov({_COPY}), in(r0ule)").replace("r0ule", str(k))
                for text in choice.within(context)
            ]
        parts += [_template(f":- not {atom}.", f"cov({_COPY})") for atom in inclusions]
        parts += [_template(f":- {atom}.", f"cov({_COPY})") for atom in exclusions]
        lines.append("\n".join(parts).replace(f"({_COPY})", f"({i})").replace(_COPY, f"u{i}_"))
        lines.append(f":- not cov({i})." if content in hard else _weak(f"not cov({i})", weight, f"e({i})"))
        lines.append(f"{{ cov({i}) }}.")
    return _optimum("\n".join(lines))


def _weak(body: str, weight: int, name: str) -> str:
    """What costs `weight` where `body` holds."""
    return f":~ {body}. [{weight},{name}]"


def _optimum(text: str) -> int | None:
    """The least cost of an answer set; None if there is none."""
    control = grounded(text, "--opt-strategy=usc,stratify")
    found: list[list[int]] = []
    result = control.solve(on_model=lambda model: found.append(list(model.cost)))
    if not result.exhausted and not (found and not found[-1]):
        raise TooLarge(f"not optimised within {MOST_CONFLICTS} conflicts")
    return sum(found[-1]) if found else None


# Examples that ask for some atoms of rules and forbid others

Cell = tuple[int, clingo.Symbol]
"""A learned atom in one context, by its number."""
Condition = tuple[frozenset[Cell], frozenset[Cell]]
"""Cells that must be derived, and cells that must not."""


def _is_plain(task: LasTask, known: Effects) -> bool:
    """Whether nothing but examples depends on what rules derive, and all else has one answer set."""
    special = {("inclusion", 1), ("exclusion", 1)}
    if special & known.learned:
        return False
    for statement in program_statements(task):
        if statement.ast_type == clingo.ast.ASTType.Rule:
            heads = head_predicates(statement)
            if (
                not heads
                or "-" in str(statement).replace(":-", "")
                or known.learned & predicates(list(statement.body))
            ):
                return False
            if statement.head.ast_type != clingo.ast.ASTType.Literal:
                return False
    return all(_base(task, context) is not None for context in known.contexts)


@lru_cache(maxsize=1 << 9)
def _base(task: LasTask, context: tuple[str, ...]) -> frozenset[clingo.Symbol] | None:
    """The only answer set of background and context; None if there are others, or none."""
    models = answer_sets(grounded(program(task, context), "2"), 2)
    found = [frozenset(model.symbols(atoms=True)) for model in models]
    return found[0] if len(found) == 1 else None


def _by_cells(task: LasTask, known: Effects) -> int | None:
    """The optimum over what rules derive of the atoms that examples ask for."""
    conditions = _conditions(task, known)
    wanted: dict[clingo.Symbol, int] = {}
    for needs, bans in conditions:
        for number, atom in needs | bans:
            wanted[atom] = wanted.get(atom, 0) | 1 << number
    cheapest: dict[frozenset[tuple[clingo.Symbol, int]], int] = {}
    for derived, cost in zip(known.derived, known.costs, strict=True):
        cells = frozenset((a, m & wanted[a]) for a, m in derived if m & wanted.get(a, 0))
        if cells:
            cheapest[cells] = min(cost, cheapest.get(cells, cost))
    by_cell: dict[Cell, set[int]] = {}
    for k, cells in enumerate(cheapest):
        for atom, mask in cells:
            for number in range(len(known.contexts)):
                if mask >> number & 1:
                    by_cell.setdefault((number, atom), set()).add(k)
    return _chosen(list(cheapest.values()), by_cell, conditions)


def _conditions(task: LasTask, known: Effects) -> dict[Condition, list[WeightedExample]]:
    """The examples by what they ask of learned rules; an impossible condition contradicts itself."""
    numbers = {context: i for i, context in enumerate(known.contexts)}
    definitions = constant_definitions(task)
    found: dict[Condition, list[WeightedExample]] = {}
    for example in task.examples:
        base, number = _base(task, example.context), numbers[example.context]
        assert base is not None
        included = {atom_symbol(atom, definitions) for atom in example.inclusions}
        excluded = {atom_symbol(atom, definitions) for atom in example.exclusions}
        if task.bias.dialect == "fastlas":
            included |= {s.arguments[0] for s in base if s.match("inclusion", 1)}
            excluded |= {s.arguments[0] for s in base if s.match("exclusion", 1)}
        if excluded & base:
            impossible = frozenset({(number, clingo.Function("oracle__never"))})
            condition: Condition = (impossible, impossible)
        else:
            needs = frozenset((number, atom) for atom in included - base)
            condition = (needs, frozenset((number, atom) for atom in excluded))
        found.setdefault(condition, []).append(example)
    return found


def _chosen(
    costs: Sequence[int], by_cell: dict[Cell, set[int]], conditions: dict[Condition, list[WeightedExample]]
) -> int | None:
    """The optimum of choosing rules by the cells that they derive."""
    groups: dict[frozenset[int], int] = {frozenset(): 0}
    lines = [f"{{ in({k}) }}." for k in range(len(costs))]
    for k, cost in enumerate(costs):
        lines.append(_weak(f"in({k})", cost, f"r({k})"))
    for i, ((needs, bans), examples) in enumerate(conditions.items()):
        body = []
        for cells, sign in ((needs, ""), (bans, "not ")):
            owners = {frozenset(by_cell.get(cell, ())) for cell in cells}
            for owner in owners:
                number = groups.setdefault(owner, len(groups))
                body.append(f"{sign}derived({number})")
        lines.append(f"ok({i}) :- {', '.join(sorted(body))}." if body else f"ok({i}).")
        for positive, sign in ((True, "not "), (False, "")):
            penalties = [e.penalty for e in examples if e.positive is positive]
            if None in penalties:
                lines.append(f":- {sign}ok({i}).")
            elif penalties:
                lines.append(
                    _weak(f"{sign}ok({i})", sum(p or 0 for p in penalties), f"e({i},{int(positive)})")
                )
    for owner, number in groups.items():
        lines += [f"derived({number}) :- in({k})." for k in sorted(owner)]
    return _optimum("\n".join(lines))
