"""The least score of a learning task, straight from the definition: slow, plain, nothing shared with
the solvers under test but the parsed task.

The space is every subset of every literal over every variable; each example gets the whole program under
names of its own; cautious examples are checked one hypothesis and one clingo call at a time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import clingo
import clingo.ast

from nsl_bench.las.task import Compound, LasTask, ModeAtom, ModeComparison, ModeTerm, Placeholder
from nsl_bench.types import WeightedExample

_WORD = re.compile(r"\b[a-z]\w*")


def least_score(task: LasTask) -> int | None:
    """The least score; None if no hypothesis covers every example that must be covered."""
    rules = sorted(space(task).items())
    positive = [e for e in task.examples if e.positive]
    negative = [e for e in task.examples if not e.positive]
    predicates = _predicates(task)
    lines = ["#show.", "#show K : in(K)."]
    for k, (_, cost) in enumerate(rules):
        lines.append(f"{{ in({k}) }}. :~ in({k}). [{cost},r({k})]")
    for i, example in enumerate(positive):
        lines.append(f"{{ cov({i}) }}.")
        program = task.background + "\n" + "".join(f"{s}.\n" for s in example.context)
        lines += [_guarded(rule, i, predicates, "") for rule in _statements(program)]
        lines += [_guarded(rule, i, predicates, f", in({k})") for k, (rule, _) in enumerate(rules)]
        for atom in example.inclusions:
            lines.append(f":- cov({i}), not {_renamed(atom, i, predicates)}.")
        for atom in example.exclusions:
            lines.append(f":- cov({i}), {_renamed(atom, i, predicates)}.")
        price = f":~ not cov({i}). [{example.penalty},e({i})]"
        lines.append(f":- not cov({i})." if example.penalty is None else price)
    control = clingo.Control(["--warn=none"])
    control.add("\n".join(lines))
    control.ground()
    best: int | None = None
    while True:
        control.configuration.solve.opt_mode = "opt" if best is None else f"opt,{best - 1}"
        control.configuration.solve.models = 0
        found: tuple[int, list[int]] | None = None
        with control.solve(yield_=True) as handle:
            for model in handle:
                found = sum(model.cost), sorted(s.number for s in model.symbols(shown=True))
        if found is None:
            return best
        cost, chosen = found
        hypothesis = [rules[k][0] for k in chosen]
        violated = [e for e in negative if is_brave(task, hypothesis, e)]
        if all(e.penalty is not None for e in violated):
            total = cost + sum(e.penalty or 0 for e in violated)
            best = total if best is None else min(best, total)
        if not negative:
            return best
        literals = [f"in({k})" if k in chosen else f"not in({k})" for k in range(len(rules))]
        seen = ", ".join(literals)
        name = f"seen{next(_COUNTER)}"
        control.add(name, [], f":- {seen}." if seen else ":- #true.")
        control.ground([(name, [])])


_COUNTER = itertools.count()


def is_brave(task: LasTask, hypothesis: Sequence[str], example: WeightedExample) -> bool:
    """Whether some answer set holds the example's inclusions and none of its exclusions."""
    control = clingo.Control(["--warn=none"])
    program = [task.background, *hypothesis, *(f"{s}." for s in example.context)]
    program += [f":- not {atom}." for atom in example.inclusions]
    program += [f":- {atom}." for atom in example.exclusions]
    control.add("\n".join(program))
    control.ground()
    return bool(control.solve().satisfiable)


def score_of(task: LasTask, hypothesis: Sequence[str]) -> tuple[int, bool]:
    """Summed penalties of the uncovered examples; whether all that must be covered are."""
    missed = [e for e in task.examples if is_brave(task, hypothesis, e) != e.positive]
    return sum(e.penalty or 0 for e in missed), all(e.penalty is not None for e in missed)


def _statements(program: str) -> list[str]:
    found: list[str] = []
    clingo.ast.parse_string(program, lambda statement: found.append(str(statement)))
    return [text for text in found if not text.startswith(("#program", "%"))]


def _predicates(task: LasTask) -> frozenset[str]:
    """The names of all predicates of a task."""
    found = {mode.atom.predicate for mode in task.bias.heads}
    found |= {p.name for p in task.bias.predicates}
    found |= {m.literal.predicate for m in task.bias.bodies if isinstance(m.literal, ModeAtom)}

    def collect(statement: clingo.ast.AST) -> None:
        class Names(clingo.ast.Transformer):
            def visit_SymbolicAtom(self, node: clingo.ast.AST) -> clingo.ast.AST:
                found.add(str(node.symbol).lstrip("-").partition("(")[0])
                return node

        Names().visit(statement)

    texts = [task.background]
    for example in task.examples:
        texts += [f"{s}." for s in (*example.context, *example.inclusions, *example.exclusions)]
    for text in texts:
        clingo.ast.parse_string(text, collect)
    return frozenset(found)


def _renamed(text: str, copy: int, predicates: frozenset[str]) -> str:
    return _WORD.sub(lambda m: f"{m.group()}_in_{copy}" if m.group() in predicates else m.group(), text)


def _guarded(rule: str, copy: int, predicates: frozenset[str], condition: str) -> str:
    text = _renamed(rule.strip().removesuffix("."), copy, predicates)
    joint = "; " if ":-" in text and not text.endswith(":-") else " " if ":-" in text else " :- "
    return f"{text}{joint}cov({copy}){condition}."


def space(task: LasTask) -> dict[str, int]:
    """Every rule with its cost."""
    bias = task.bias
    types = sorted({p.type for term in _mode_terms(task) for p in term.placeholders})
    constants = {kind: _constants(task, kind) for kind in types}
    guarded = {kind for kind in types if _is_derived(task, kind)}
    rules: dict[str, int] = {}
    priced: set[str] = set()

    def offer(text: str, cost: int | None) -> None:
        if cost is not None:
            rules[text] = min(cost, rules.get(text, cost))

    for whole in (*bias.rules, *bias.instances()):
        offer(whole.rule, whole.cost)
    for typing in itertools.product(types or ["none"], repeat=bias.max_variables):
        variables = {kind: [f"V{i + 1}" for i, k in enumerate(typing) if k == kind] for kind in types}
        heads: list[str | None] = [
            text for mode in bias.heads for text in _instances(mode.atom, variables, constants)
        ]
        if not bias.heads and not bias.meta_modes:
            heads = [None]
        literals = [
            (literal.mode, literal.recall, ("not " if literal.negated else "") + text, literal)
            for literal in bias.literals
            for text in _instances(literal.literal, variables, constants)
        ]
        most = len(literals) if bias.body_limit is None else bias.body_limit
        for head in heads:
            for size in range(min(most, len(literals)) + 1):
                for body in itertools.combinations(literals, size):
                    texts = [text for _, _, text, _ in body]
                    if len(set(texts)) < size or (head is None and not texts):
                        continue
                    modes = [mode for mode, _, _, _ in body]
                    if any(r is not None and modes.count(m) > r for m, r, _, _ in body):
                        continue
                    used = sorted(set(re.findall(r"\bV\d+\b", " ".join([head or "", *texts]))))
                    kinds = {f"V{i + 1}": k for i, k in enumerate(typing)}
                    bound = {v for v in used if kinds[v] in guarded}
                    for _, _, text, literal in body:
                        if not literal.negated and isinstance(literal.literal, ModeAtom):
                            bound |= set(re.findall(r"\bV\d+\b", text))
                    if set(used) - bound:
                        continue
                    guards = [f"{kinds[v]}({v})" for v in used if kinds[v] in guarded]
                    unequal = _replacement(texts) if bias.ground_without_replacement else []
                    parts = [*texts, *guards, *unequal]
                    text = f"{head or ''} :- {', '.join(parts)}." if parts else f"{head}."
                    if text not in priced:
                        priced.add(text)
                        offer(text, cost(task, head, texts))
    return rules


def _mode_terms(task: LasTask) -> list[ModeAtom | ModeComparison]:
    return [m.atom for m in task.bias.heads] + [m.literal for m in task.bias.bodies]


def _instances(
    term: ModeAtom | ModeComparison, variables: dict[str, list[str]], constants: dict[str, list[str]]
) -> Iterator[str]:
    choices = [variables[p.type] if p.kind == "var" else constants[p.type] for p in term.placeholders]
    for values in itertools.product(*choices):
        filling = iter(values)
        if isinstance(term, ModeComparison):
            left = _fill(term.left, filling)
            yield f"{left} {term.operator} {_fill(term.right, filling)}"
        elif term.arguments:
            yield f"{term.predicate}({','.join(_fill(t, filling) for t in term.arguments)})"
        else:
            yield term.predicate


def _fill(term: ModeTerm, filling: Iterator[str]) -> str:
    if isinstance(term, Placeholder):
        return next(filling)
    if isinstance(term, Compound):
        return f"{term.name}({','.join(_fill(t, filling) for t in term.arguments)})"
    return term


def _replacement(body: list[str]) -> list[str]:
    """Inequalities of all arguments of two atoms of one predicate and sign."""
    found = []
    for one, two in itertools.combinations(body, 2):
        first, second = re.fullmatch(r"(.*?)\((.*)\)", one), re.fullmatch(r"(.*?)\((.*)\)", two)
        same = first and second and first.group(1) == second.group(1)
        if same and first.group(2).count(",") == second.group(2).count(","):
            found.append(f"tuple({first.group(2)}) != tuple({second.group(2)})")
    return found


def _is_derived(task: LasTask, kind: str) -> bool:
    if (kind, 1) in task.bias.learned:
        return True
    pattern = re.compile(rf"(?:^|[.{{;\n]|\n)\s*{kind}\(")
    return bool(pattern.search(task.background)) or any(
        re.match(rf"\s*{kind}\(", s) for e in task.examples for s in e.context
    )


def _constants(task: LasTask, kind: str) -> list[str]:
    found = {value for k, value in task.bias.constants if k == kind}
    for context in {(), *(e.context for e in task.examples)}:
        control = clingo.Control(["--warn=none"])
        control.add("\n".join([task.background, *(f"{s}." for s in context)]))
        control.ground()
        found |= {str(a.symbol.arguments[0]) for a in control.symbolic_atoms.by_signature(kind, 1)}
    return sorted(found)


def cost(task: LasTask, head: str | None, body: Sequence[str]) -> int | None:
    """A rule's cost by the definition of FastLAS's scoring; None where the bias forbids it."""
    statements = task.bias.penalties
    plain = int(task.bias.dialect == "ilasp") * (len(body) + (head is not None))
    if statements is None:
        return plain
    control = clingo.Control(["--warn=none"])
    ground = [re.sub(r"\bV(\d+)\b", r"v\1", text) for text in body]
    lines = [*statements, "#show penalty/2.", "#show invert/1."]
    if head is not None:
        lines.append(f"in_head({re.sub(r'V', 'v', head)}).")
    for text in ground:
        comparison = re.fullmatch(r"(\w+) (\S+) (\w+)", text) if not text.startswith("not ") else None
        if comparison:
            text = f'binop("{comparison.group(2)}",{comparison.group(1)},{comparison.group(3)})'
        elif text.startswith("not "):
            text = f"neg({text[4:]})"
        lines.append(f"in_body({text}).")
    control.add("\n".join(lines))
    control.ground()
    with control.solve(yield_=True) as handle:
        for model in handle:
            shown = model.symbols(shown=True)
            weights = [s.arguments[0].number for s in shown if s.name == "penalty"]
            inverted = [s.arguments[0].number for s in shown if s.name == "invert"]
            if inverted:
                return inverted[0] // sum(weights) if sum(weights) else None
            return sum(weights) if "penalty" in "".join(statements) else plain
    return None
