"""Why nothing was found: what examples ask for in vain, and what the hypothesis space lacks.

Nothing here is guessed. What no rule changes is computed for each example: it shows atoms that no rule can
derive or avoid, and examples that look the same to every rule. What the space lacks is found by adding it,
one thing at a time, and solving the task of the conflicting examples again.
"""

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import clingo

from nsl_bench.core.budget import Budget, Expired, Undecided
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.program import Signature, statement
from nsl_bench.logic.las.bias.types import domains
from nsl_bench.logic.las.clingo_tiers.alike import look_alike
from nsl_bench.logic.las.language_bias import (
    LanguageBias,
    ModeAtom,
    ModeBody,
    ModeComparison,
    ModeHead,
    ModeTerm,
    Placeholder,
)
from nsl_bench.logic.las.semantics.coverage import covered
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable, grounded, solved
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Solution

_SECONDS_A_TRY = 2.0
_MOST_NAMED = 3
_MOST_EXAMPLES = 200
_MOST_PREDICATES = 20
_BY_LENGTH = ("penalty(1, head).", "penalty(1, body(X)) :- in_body(X).")
"""Costs for a file without any, so that the rules that are shown are short."""


def diagnosed(task: LasTask, solution: Solution, budget: Budget) -> Solution:
    """The solution with `Solution.why`: why nothing was found, or why examples are uncovered."""
    search = _Search(task, budget)
    by_id = {example.id: example for example in task.examples}
    hard = [example for example in task.examples if example.penalty is None]
    sentences: Iterator[str]
    if solution.status == "unsatisfiable":
        sentences = search.conflict([by_id[name] for name in solution.conflict] or hard)
    elif solution.score is None:
        vain = (sentence for example in hard[:_MOST_EXAMPLES] for sentence in search.alone(example))
        sentences = itertools.islice(vain, _MOST_NAMED)
    else:
        dear = sorted(solution.uncovered, key=lambda pair: -pair[1])[:_MOST_NAMED]
        sentences = (sentence for name, _ in dear for sentence in search.uncovered(solution, by_id[name]))
    why: dict[str, None] = {}
    try:
        for each in sentences:
            why[each] = None
    except (Undecided, Unverifiable, UserError, RuntimeError, MemoryError):
        pass  # what is known by now is all that is said
    return replace(solution, why=tuple(why))


@dataclass(frozen=True)
class _Fixed:
    """What background and context of an example settle, whatever is learned."""

    possible: frozenset[str]
    certain: frozenset[str]
    consistent: bool


class _Search:
    """The search for reasons in one task."""

    def __init__(self, task: LasTask, budget: Budget) -> None:
        self._task = task
        self._budget = budget
        given = [rule.parsed for rule in task.bias.given]
        self._learned = task.bias.learned.union(*(rule.derives for rule in given))
        constraints = any(not rule.derives for rule in given) or not task.bias.heads
        self._constrains = task.bias.constraints or constraints
        self._open = task.program.dependents(self._learned) | self._learned

    def _stop(self) -> None:
        if self._budget.expired():
            raise Expired("time ran out")

    def _solve(self, task: LasTask) -> Solution:
        left = None if self._budget.deadline is None else self._budget.deadline - time.monotonic()
        return solve(task, time_limit=_SECONDS_A_TRY if left is None else max(0.0, min(_SECONDS_A_TRY, left)))

    def conflict(self, core: Sequence[WeightedExample]) -> Iterator[str]:
        """Why no hypothesis covers some examples together."""
        explained = False
        for example in core[:_MOST_EXAMPLES]:
            for sentence in self.alone(example):
                explained = True
                yield sentence
            if explained:
                return
        small = replace(self._task, examples=tuple(replace(e, penalty=None) for e in core))
        for first, second in itertools.combinations(core[: _MOST_NAMED + 1], 2):
            self._stop()
            yield from self._alike(small, first, second)
        if any(example.positive for example in core) and (small.bias.heads or small.bias.bodies):
            yield from self._lacking(small)

    def alone(self, example: WeightedExample) -> Iterator[str]:
        """Why no hypothesis covers an example, as far as that shows without a search."""
        name = f"Example '{example.id}'"
        for atom in sorted({*example.inclusions} & {*example.exclusions}) if example.positive else ():
            yield f"{name} asks for {atom} and excludes it."
        fixed = self._fixed(example)
        if fixed is None:
            return
        if not example.positive:
            if fixed.consistent and not self._constrains and self._holds(example, fixed):
                yield f"Example '{example.id}' must not hold, but background and context derive it."
            return
        if not fixed.consistent:
            yield (
                f"{name}: a constraint of the background knowledge excludes its context, whatever is learned."
            )
            return
        for atom in example.inclusions:
            if why := self._underivable(atom, fixed):
                yield f"{name} asks for {atom}, which cannot be derived: {why}."
        for atom in example.exclusions:
            if _plain(atom) in fixed.certain:
                yield f"{name} excludes {atom}, which background and context derive, whatever is learned."

    def _holds(self, example: WeightedExample, fixed: _Fixed) -> bool:
        """Whether all answer sets satisfy an example, whatever is learned."""
        settled = not any(
            (atom := read_atom(text)) is None or atom.signature in self._open
            for text in (*example.inclusions, *example.exclusions)
        )
        wanted, unwanted = ({_plain(a) for a in each} for each in (example.inclusions, example.exclusions))
        return settled and wanted <= fixed.certain and not unwanted & fixed.possible

    def _fixed(self, example: WeightedExample) -> _Fixed | None:
        """What no rule changes; None if a rule in the context may depend on what is learned."""
        self._stop()
        lines = []
        for text in example.context:
            atom = read_atom(text)
            if atom is None and statement(text).signatures & (self._open):
                return None
            lines.append(f"{text}.")
        program = self._task.program
        lines += [str(node) for node in program.constants]
        lines += [rule.text for rule in program.rules if not rule.signatures & self._open]
        sets: dict[str, frozenset[str]] = {}
        for mode in ("brave", "cautious"):
            control = grounded(lines, self._stop, ["0", f"--enum-mode={mode}"])
            models: list[Sequence[clingo.Symbol]] = []

            def keep(model: clingo.Model, models: list[Sequence[clingo.Symbol]] = models) -> None:
                models[:] = [model.symbols(atoms=True)]

            if not solved(control, keep, self._stop).satisfiable:
                return _Fixed(frozenset(), frozenset(), consistent=False)
            sets[mode] = frozenset(map(str, models[-1]))
        return _Fixed(sets["brave"], sets["cautious"], consistent=True)

    def _underivable(self, text: str, fixed: _Fixed) -> str:
        """Why no hypothesis derives an atom; empty if one may."""
        atom = read_atom(text)
        if atom is None or atom.classical or _plain(text) in fixed.possible:
            return ""
        name, arity = atom.signature
        if atom.signature not in self._open:
            return f"no #modeh names {name}/{arity}, and neither background nor context derives it"
        heads = [head.atom for head in self._task.bias.heads if head.atom.signature == atom.signature]
        given = (rule.parsed for rule in self._task.bias.given)
        if any(atom.signature in rule.derives for rule in (*self._task.program.rules, *given)):
            return ""
        reasons = {
            self._misfit(head, clingo.parse_term(_plain(text)).arguments, fixed): None for head in heads
        }
        return "" if "" in reasons else ", and ".join(reasons)

    def _misfit(self, head: ModeAtom, values: Sequence[clingo.Symbol], fixed: _Fixed) -> str:
        """Why no instance of a head declaration has these arguments; empty if one may."""
        type_domains = domains(self._task)
        for place, value in zip(head.arguments, map(str, values), strict=True):
            if isinstance(place, str) and place != value:
                return f"'#modeh({head}).' has {place}, not {value}"
            if not isinstance(place, Placeholder):
                continue
            open_ = place.type not in type_domains.guarded or (place.type, 1) in self._open
            if place.kind == "var" and (open_ or f"{place.type}({value})" in fixed.possible):
                continue
            if place.kind == "var" or value not in type_domains.constants[place.type]:
                return f"{value} is not a value of the type '{place.type}' of '#modeh({head}).'"
        return ""

    def _alike(self, small: LasTask, first: WeightedExample, second: WeightedExample) -> Iterator[str]:
        """Sentences, if two examples look the same to every rule, with the predicates that differ."""
        asked = _opposed(first, second) or _opposed(second, first)
        if asked is None or not look_alike(small, first.context, second.context, self._budget):
            return
        names = f"'{first.id}' and '{second.id}'"
        yield f"The examples {names} look the same to every rule of the space, but {asked}."
        differing = {
            atom.signature
            for text in {*first.context} ^ {*second.context}
            if (atom := read_atom(text)) is not None
        }
        predicates = " and ".join(f"{name}/{arity}" for name, arity in sorted(differing)[:_MOST_NAMED])
        if predicates:
            yield f"Their contexts differ in {predicates}, which no #modeb tells apart."
        elif first.context == second.context:
            yield "Their contexts are equal, so no rule can tell them apart."

    def _lacking(self, small: LasTask) -> Iterator[str]:
        """What has to be added to the space so that it covers all examples of a small task."""
        predicates: set[str] = set()
        for what, bias, added in _richer(small, self._observed(small)):
            self._stop()
            try:
                solution = self._solve(replace(small, bias=bias, places={}))
            except (UserError, Undecided):
                continue
            rules = " ".join(solution.hypothesis)
            if solution.score is not None and rules and rules not in predicates:
                predicates.add(rules)
                used = [mode for mode in added if _is_used(mode, rules)]
                what += " and ".join(f"'{mode}'" for mode in used)
                them = "them" if len(small.examples) > 1 else f"'{small.examples[0].id}'"
                yield f"{what}, these rules would cover {them}: {rules}"
                if len(predicates) == _MOST_NAMED:
                    return

    def _observed(self, small: LasTask) -> dict[Signature, list[set[str]]]:
        """The values of each argument of the predicates that hold in some context."""
        types = domains(small).guarded
        result: dict[Signature, list[set[str]]] = {}
        for example in small.examples:
            fixed = self._fixed(example)
            for text in fixed.possible if fixed is not None else ():
                symbol = clingo.parse_term(text)
                signature = (symbol.name, len(symbol.arguments))
                if not (signature[1] == 1 and signature[0] in types):
                    places = result.setdefault(signature, [set() for _ in symbol.arguments])
                    for values, argument in zip(places, symbol.arguments, strict=True):
                        values.add(str(argument))
        return result

    def uncovered(self, solution: Solution, example: WeightedExample) -> Iterator[str]:
        """Why the best hypothesis leaves an example uncovered."""
        self._stop()
        name = f"'{example.id}' (penalty {example.penalty})"
        small = replace(self._task, examples=(replace(example, penalty=None),))
        best = self._solve(small)
        if best.status == "unsatisfiable":
            yield f"No hypothesis covers example {name}."
            yield from self.conflict([example])
            return
        if best.score is None or not best.hypothesis:
            return
        rules = " ".join(best.hypothesis)
        if best.status == "optimal" and best.score >= (example.penalty or 0):
            yield f"Example {name} does not pay: the rules that cover it cost at least {best.score}: {rules}"
            return
        joint = tuple(dict.fromkeys((*solution.hypothesis, *best.hypothesis)))
        after = covered(self._task, joint, budget=self._budget)
        before = set(solution.covered)
        lost = [e for e, ok in zip(self._task.examples, after, strict=True) if e.id in before and not ok]
        if lost:
            examples_text = ", ".join(
                f"'{e.id}' ({e.penalty or 'must be covered'})" for e in lost[:_MOST_NAMED]
            )
            more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
            yield f"Rules that cover example {name} would leave {examples_text}{more} uncovered: {rules}"


def _plain(text: str) -> str:
    """A ground atom as clingo prints it."""
    try:
        return str(clingo.parse_term(text, logger=lambda *_: None))
    except RuntimeError:
        return text


def _opposed(first: WeightedExample, second: WeightedExample) -> str | None:
    """In which atom the answers that two examples ask for differ, if they do."""
    if not first.positive:
        return None
    if second.positive:
        both = sorted({*first.inclusions} & {*second.exclusions})
    else:
        both = list(second.inclusions) if {*second.inclusions} <= {*first.inclusions} else []
        both = [] if {*second.exclusions} - {*first.exclusions} else both
    return f"'{first.id}' needs {both[0]} and '{second.id}' must not have it" if both else None


def _richer(
    task: LasTask, observed: dict[Signature, list[set[str]]]
) -> Iterator[tuple[str, LanguageBias, list[ModeBody]]]:
    """Language biases that allow more, the smallest additions first, with words and modes that were added."""
    bias = task.bias
    if bias.penalties is None and bias.dialect == "fastlas":
        bias = replace(bias, penalties=_BY_LENGTH)
    if bias.penalties is not None and any(not rule.derives for rule in bias.scoring.rules):
        costs = tuple(rule.text for rule in bias.scoring.rules if rule.derives)
        yield "Without the constraints in #bias", replace(bias, penalties=costs), []
    if negated := _negated(bias):
        yield "With ", replace(bias, bodies=(*bias.bodies, *negated)), negated
    for kind, values in _unlisted(task, observed).items():
        values_text = ", ".join(values[:_MOST_NAMED]) + (", ..." if len(values) > _MOST_NAMED else "")
        constants = [(kind, value) for value in values]
        yield (
            f"With {values_text} in the type '{kind}'",
            replace(bias, constants=(*bias.constants, *constants)),
            [],
        )
    for mode, constants in _further_modes(task, observed):
        larger = replace(bias, bodies=(*bias.bodies, mode), constants=(*bias.constants, *constants))
        yield "With ", larger, [mode]
    for most in (bias.max_variables + 1, bias.max_variables + 2):
        yield f"With '#maxv({most}).'", replace(bias, max_variables=most), []
    if bias.body_limit is not None:
        most = bias.body_limit + 2
        loose = tuple(mode._replace(recall=None) for mode in bias.bodies)
        yield f"With '#max_body({most}).' and no recalls", replace(bias, max_body=most, bodies=loose), []
    kinds = sorted({kind for mode in bias.bodies for kind in mode.literal.variable_types})
    values_of = _values(task, kinds)
    for operator, kind in itertools.product(("!=", "<"), kinds):
        mode = ModeBody(ModeComparison(operator, *(2 * [Placeholder("var", kind)])))
        if mode not in bias.bodies and (operator == "!=" or _are_numbers(values_of[kind])):
            yield "With ", replace(bias, bodies=(*bias.bodies, mode)), [mode]


def _is_used(mode: ModeBody, rules: str) -> bool:
    """Whether rules have an instance of a mode, which its predicate tells."""
    literal = mode.literal
    if isinstance(literal, ModeComparison):
        return True
    sign = "not " if mode.negated else ""
    return re.search(rf"(?<![\w'-]){re.escape(sign + literal.predicate)}(?![\w'])", rules) is not None


def _negated(bias: LanguageBias) -> list[ModeBody]:
    """Negated declarations for the literals that the space has only without `not`."""
    signs: dict[str, set[bool]] = {}
    for literal in bias.literals:
        if isinstance(literal.literal, ModeAtom):
            signs.setdefault(str(literal.literal), set()).add(literal.negated)
    return [
        mode._replace(negated=True, options=())
        for mode in bias.bodies
        if isinstance(mode.literal, ModeAtom) and signs[str(mode.literal)] == {False}
    ]


def _unlisted(task: LasTask, observed: dict[Signature, list[set[str]]]) -> dict[str, list[str]]:
    """Values in the place of ``const(type)`` that are no constants of the type."""
    constants = domains(task).constants
    result: dict[str, set[str]] = {}
    for mode in task.bias.bodies:
        literal = mode.literal
        if isinstance(literal, ModeAtom) and not literal.is_classical and literal.signature in observed:
            for place, values in zip(literal.arguments, observed[literal.signature], strict=True):
                if isinstance(place, Placeholder) and place.kind == "const":
                    result.setdefault(place.type, set()).update(values - {*constants[place.type]})
    return {kind: sorted(values) for kind, values in result.items() if values}


def _further_modes(
    task: LasTask, observed: dict[Signature, list[set[str]]]
) -> Iterator[tuple[ModeBody, list[tuple[str, str]]]]:
    """Declarations of predicates that no mode names, and of thresholds, each with its constants."""
    types = dict.fromkeys(p.type for pattern in task.bias.patterns for p in pattern.placeholders)
    values_of = _values(task, list(types))
    modes = {m.literal.signature: m.literal for m in task.bias.bodies if isinstance(m.literal, ModeAtom)}
    for signature in sorted(observed, key=lambda each: (each in modes, each))[:_MOST_PREDICATES]:
        places = observed[signature]
        constants: list[tuple[str, str]] = []
        if signature in modes:
            atom = modes[signature]
        else:
            atom, constants = _atom(signature, places, values_of)
            yield ModeBody(atom), constants
        for i, place in enumerate(atom.arguments):
            if isinstance(place, Placeholder) and place.kind == "var" and _are_numbers(places[i]):
                arguments = [
                    *atom.arguments[:i],
                    Placeholder("num_var", place.type),
                    *atom.arguments[i + 1 :],
                ]
                yield ModeBody(replace(atom, arguments=tuple(arguments))), constants


def _are_numbers(values: set[str]) -> bool:
    """Whether there may be a threshold between two of some values."""
    return len(values) > 1 and all(re.fullmatch(r"-?\d+", value) for value in values)


def _atom(
    signature: Signature, places: Sequence[set[str]], values_of: dict[str, set[str]]
) -> tuple[ModeAtom, list[tuple[str, str]]]:
    """A declared atom: variables where a type holds all values, thresholds of numbers, else constants."""
    arguments: list[ModeTerm] = []
    constants: list[tuple[str, str]] = []
    for number, values in enumerate(places, start=1):
        kind = next((kind for kind, members in values_of.items() if values <= members), None)
        new = f"{signature[0]}_{number}"
        if kind is not None:
            arguments.append(Placeholder("var", kind))
        elif _are_numbers(values):
            arguments.append(Placeholder("num_var", new))
        else:
            arguments.append(Placeholder("const", new))
            constants += [(new, value) for value in sorted(values)]
    return ModeAtom(signature[0], tuple(arguments)), constants


def _values(task: LasTask, kinds: Sequence[str]) -> dict[str, set[str]]:
    """The values of each type: those of every example together."""
    heads = tuple(ModeHead(ModeAtom(kind, (Placeholder("const", kind),))) for kind in kinds)
    type_domains = domains(replace(task, bias=replace(task.bias, heads=heads, bodies=())))
    return {kind: set(type_domains.constants[kind]) for kind in kinds}
