"""Reading learning tasks in FastLAS's and ILASP's syntax.

What is ASP is parsed by clingo (`clingo.ast`), in place, so that errors carry line and column; the
directives of learning tasks are read here. ``#script`` and ``#include`` are refused.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp import program as asp
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.asp.text import check_characters, read_text, stray
from nsl_bench.logic.las.language_bias import (
    DEFAULT_MAX_VARIABLES,
    LARGEST,
    MOST_VARIABLES,
    NEGATIVE_PENALTY,
    Dialect,
    LanguageBias,
    MetaMode,
    MetaRule,
    ModeBody,
    ModeHead,
    PredicateDeclaration,
    WeightedRule,
)
from nsl_bench.logic.las.syntax.examples import PLAIN_FACT, ExampleReader, unique_ids
from nsl_bench.logic.las.syntax.meta_bias import in_own_words, quoted_program, spoken, unheard, untold
from nsl_bench.logic.las.syntax.modes import constants_in, parse_mode_body, parse_mode_head
from nsl_bench.logic.las.syntax.scanner import Source, Statement, split_arguments

_DIRECTIVE = re.compile(r"#([a-z_]+)")
_META_RULE = re.compile(r"[A-Z]\w*\s*\(")
_WEIGHTED_RULE = re.compile(r"(-?\d+)\s*~")
_CONSTANT = re.compile(r"#constant\s*+\(\s*+([a-z_]\w*+)\s*+,\s*+(.+)\)$", re.DOTALL)
_PREDICATE = re.compile(r"#predicate\s*\(\s*([a-z_]\w*)\s*,\s*([a-z_]\w*)\s*/\s*(\d+)\s*\)$")
_META_MODE = re.compile(r"#modem\s*\(\s*(?:(\d+)\s*,\s*)?([a-z_]\w*)\s*\((.*)\)\s*\)$", re.DOTALL)
_NUMBER = re.compile(r"#\w+\s*\(\s*(\d+)\s*\)$")
_STATED = re.compile(r"^[ \t]*%[ \t]*dialect:[ \t]*(ilasp|fastlas)\b", re.MULTILINE)
_EXTENDED = re.compile(r"\b(?:in|ex)clusion\(")
_BIAS = re.compile(r"#(?:final_)?bias\s*+\(\s*+(.*)\)$", re.DOTALL)
_LINES_OF_A_TABLE = 5

_ASP_DIRECTIVES = frozenset(
    {"const", "external", "true", "false", "count", "sum", "min", "max", "inf", "sup"}
)
_DROPPED = frozenset({"show", "project", "heuristic", "predict", "minhl", "maxhl"})
_WEAK = "weak constraints, which nsl-bench does not learn."
_REFUSED = {
    "script": "#script is not supported: a task file must not run code.",
    "include": "#include is not supported: put everything in one task file.",
    "program": "program parts are not supported in a task.",
    "theory": "theories are not supported in a task.",
    "edge": "edge directives are not supported in a task.",
    "defined": "'#defined' is not supported in a task.",
    "minimize": "a task's score is its own; remove '#minimize'.",
    "maximize": "a task's score is its own; remove '#maximize'.",
    "modeha": "'#modeha' declares heads of choice rules, which nsl-bench only learns where they are given "
    "whole, e.g. '2 ~ {p} :- q.'.",
    "modec": "'#modec' declares conditions of literals, which nsl-bench does not learn.",
    "modeo": f"'#modeo' declares bodies of {_WEAK}",
    "weight": f"'#weight' declares weights of {_WEAK}",
    "maxp": f"'#maxp' bounds the priorities of {_WEAK}",
    "brave_ordering": f"'#brave_ordering' orders examples by {_WEAK}",
    "cautious_ordering": f"'#cautious_ordering' orders examples by {_WEAK}",
    "inject": "'#inject' adds to the encoding of another system, which nsl-bench does not have.",
    "disallow_multiple_head_variables": "'#disallow_multiple_head_variables' is not supported; forbid such "
    "heads in #bias, e.g. ':- head(p(X,Y)), X != Y.'.",
}
_OWN = (
    *("pos", "neg", "modeh", "modeb", "modem", "predicate", "constant", "maxv", "max_body", "bias"),
    "final_bias",
    *("max_penalty", "ground_without_replacement"),
)


class TaskText(NamedTuple):
    """What the text of a task says.

    Attributes:
        background: everything that is ASP, a statement a line.
        places: line and column of mode declarations and lines of the background, by their text.
        stated: the text itself, the dialect that was asked for, and whether ILASP's space holds constraints;
            None for a task that no single text states.
    """

    examples: tuple[WeightedExample, ...]
    background: str
    program: asp.Program
    bias: LanguageBias
    name: str
    warnings: tuple[str, ...]
    places: dict[str, tuple[int, int]]
    stated: tuple[str, Dialect | None, bool] | None = None


def read_task(path: Path, dialect: Dialect | None = None, constraints: bool = True) -> TaskText:
    """The task in the file at `path`; see `LasTask.read`."""
    text = read_text(path)
    try:
        return parse_task(text, path.name, dialect, constraints)
    except UserError as error:
        if _DIRECTIVE.search(text):
            raise
        what = "it is a table" if _is_table(text) else "it has no statements such as '#modeh' and '#pos'"
        raise UserError(
            f"{path.name} is not a task file: {what}. In a task file, each example is a statement such as "
            "'#pos(e1, {ok}, {}, {weight(3). colour(red).}).'."
        ) from error


def _is_table(text: str) -> bool:
    """Whether the first lines have the same number of separators, as tables of values have."""
    lines = [line.strip() for line in text.splitlines() if line.strip()][:_LINES_OF_A_TABLE]
    counts = [{line.count(separator) for line in lines} for separator in ",;\t|"]
    return len(lines) > 1 and any(len(count) == 1 and 0 not in count for count in counts)


def parse_task(text: str, name: str, dialect: Dialect | None = None, constraints: bool = True) -> TaskText:
    """The task that `text` states; see `LasTask.parse`."""
    task = _Reader(Source(text, name), dialect, constraints).task()
    return task._replace(stated=(text, dialect, constraints))


def build_task(
    examples: tuple[WeightedExample, ...], background: str, language_bias: str, name: str
) -> TaskText:
    """A task of `examples` and the two texts; see `LasTask.build`.

    Args:
        background: background knowledge in ASP.
        language_bias: mode declarations and other statements of the bias.
        name: what messages call the task.
    """
    task = _Reader(Source(f"{background}\n{language_bias}", name), silent="fastlas").task()
    contexts = {text: None for example in examples for text in example.context}
    for text in {t: None for e in examples for t in (*e.context, *e.inclusions, *e.exclusions)}:
        check_characters(text, f"{name}, '{text[:60]}'")
    for text in contexts:
        if not PLAIN_FACT.match(text):
            asp.statement(text.rstrip("."))
    for example in examples:
        _check_penalty(example, name)
    examples, repeated = unique_ids((*task.examples, *examples))
    return task._replace(examples=examples, warnings=(*task.warnings, *repeated))


def _check_penalty(example: WeightedExample, name: str) -> None:
    penalty = example.penalty
    if penalty is not None and not 0 < penalty <= LARGEST:
        raise UserError(
            f"{name}: the penalty of example '{example.id}' must be between 1 and {LARGEST}; got {penalty}."
        )


@dataclass(eq=False, repr=False)
class _Reader:
    """Collects the statements of one source."""

    source: Source
    dialect: Dialect | None = None
    constraints: bool = True
    silent: Dialect | None = None
    heads: list[ModeHead] = field(default_factory=list)
    bodies: list[ModeBody] = field(default_factory=list)
    meta_modes: list[MetaMode] = field(default_factory=list)
    meta_rules: list[MetaRule] = field(default_factory=list)
    predicates: list[PredicateDeclaration] = field(default_factory=list)
    rules: list[WeightedRule] = field(default_factory=list)
    constants: dict[tuple[str, str], None] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    ignored: dict[str, None] = field(default_factory=dict)
    penalties: list[str] | None = None
    final: list[str] = field(default_factory=list)
    scoring: list[asp.Program] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    without_replacement: bool = False
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.examples = ExampleReader(self.source)

    def task(self) -> TaskText:
        if found := stray(self.source.text):
            offset, character = found
            raise self.source.error(
                offset,
                f"the character {character} is not allowed; only ASCII is, except in strings and comments.",
            )
        spans: list[tuple[int, int]] = []
        for statement in self.source.statements():
            if self._directive(statement):
                stop = statement.offset + len(statement.text)
                spans.append((statement.offset, stop if statement.example else stop + 1))
        background = self.source.blanked(spans)
        program = parse(background, self.source.name)
        self.examples.check()
        lines: list[str] = []
        for number, line in enumerate(background.split("\n"), start=1):
            stripped = line.strip()
            if stripped and not _STATED.match(stripped):
                lines.append(stripped)
                self.places.setdefault(stripped, (number, line.index(stripped) + 1))
        examples, repeated = unique_ids(self.examples.examples)
        text = "\n".join(lines)
        bias = self._bias()
        ignored = [f"#{word} says nothing of the score and is ignored." for word in self.ignored]
        warnings = (*ignored, *self.notes, *repeated)
        return TaskText(examples, text, program, bias, self.source.name, warnings, self.places)

    def _bias(self) -> LanguageBias:
        dialect = self.dialect or self._told_dialect()
        doubt = "" if dialect is not None else self._doubt()
        dialect = dialect or "fastlas"
        rules = (rule for program in self.scoring for rule in program.rules)
        constants = (node for program in self.scoring for node in program.constants)
        scoring = asp.Program(tuple(rules), tuple(constants))
        penalties = None if self.penalties is None else tuple(self.penalties)
        try:
            if dialect == "ilasp" and (own := in_own_words(scoring)) is not scoring:
                scoring, penalties = own, tuple(str(node) for node in own.nodes)
            final = parse("\n".join(self.final), "#final_bias")
            self.notes += unheard(scoring, final, dialect, self.heads, self.bodies)
        except UserError as error:
            raise UserError(f"{self.source.name}: {error}") from None
        bias = LanguageBias(
            heads=tuple(dict.fromkeys(self.heads)),
            bodies=tuple(self.bodies),
            meta_modes=tuple(self.meta_modes),
            meta_rules=tuple(self.meta_rules),
            predicates=tuple(dict.fromkeys(self.predicates)),
            rules=tuple(self.rules),
            constants=tuple(self.constants),
            max_variables=self.numbers.get("maxv", DEFAULT_MAX_VARIABLES),
            max_body=self.numbers.get("max_body"),
            penalties=penalties,
            ground_without_replacement=self.without_replacement,
            dialect=dialect,
            constraints=self.constraints and dialect == "ilasp",
            max_cost=self.numbers.get("max_penalty"),
            final=tuple(self.final),
            doubt=doubt,
        )
        bias.__dict__["scoring"] = scoring
        return bias

    def _told_dialect(self) -> Dialect | None:
        """Whose dialect the statements tell; None if they do not, and the two systems answer differently."""
        if stated := _STATED.search(self.source.text):
            return "ilasp" if stated[1] == "ilasp" else "fastlas"
        options = [*(mode.options for mode in self.heads), *(mode.options for mode in self.bodies)]
        if self.meta_modes or self.predicates or any(options):
            return "ilasp"
        words = {spoken(program) for program in self.scoring}
        only_there = self.without_replacement or self.final or "predict" in self.ignored or "fastlas" in words
        if only_there or _EXTENDED.search(self.source.text):
            return "fastlas"
        only_here = self.constants or self.rules or "max_penalty" in self.numbers or "ilasp" in words
        if only_here or not (self.heads or self.bodies):
            return "ilasp"
        return self.silent

    def _doubt(self) -> str:
        negative = not all(example.positive for example in self.examples.examples)
        return untold(self.bodies, limited="max_body" in self.numbers, negative=negative)

    def _directive(self, statement: Statement) -> bool:
        """Takes in a statement that is not ASP; False if it is ASP."""
        text, offset = statement.text, statement.offset
        if statement.example:
            self.examples.take_simple(statement)
            return True
        if text.startswith("#"):
            return self._hash(statement)
        if _META_RULE.match(text):
            self._meta_rule(text, offset)
            return True
        weighted = _WEIGHTED_RULE.match(text)
        if weighted:
            cost = self.source.number(weighted.group(1), "the cost of a rule", offset)
            rule = text[weighted.end() :].strip() + "."
            parse(rule, self.source.name, self.source.place(offset + weighted.end()))
            self.rules.append(WeightedRule(cost, rule))
            return True
        return False

    def _hash(self, statement: Statement) -> bool:
        text, offset = statement.text, statement.offset
        match = _DIRECTIVE.match(text)
        word = match.group(1) if match else text[1:10]
        if word in _ASP_DIRECTIVES:
            return False
        if word in _DROPPED:
            if word != "show":
                self.ignored.setdefault(word)
            return True
        if word in _REFUSED:
            raise self.source.error(offset, _REFUSED[word])
        if word not in _OWN:
            raise self.source.error(offset, str(unknown("directive", f"#{word}", [f"#{w}" for w in _OWN])))
        if word in ("pos", "neg"):
            self.examples.take(statement)
        elif word == "ground_without_replacement":
            self.without_replacement = True
        elif word == "modeh":
            self.heads.append(parse_mode_head(self.source, text, offset))
            self.places.setdefault(str(self.heads[-1]), self.source.place(offset))
        elif word == "modeb":
            self.bodies.append(parse_mode_body(self.source, text, offset))
            self.places.setdefault(str(self.bodies[-1]), self.source.place(offset))
        elif word == "modem":
            self._meta_mode(text, offset)
        elif word == "predicate":
            declared = self._match(_PREDICATE, statement, "#predicate(kind, name/arity)")
            kind, name, arity = declared.groups()
            number = self.source.number(arity, "the arity of a predicate", offset)
            self.predicates.append(PredicateDeclaration(kind, name, number))
        elif word == "constant":
            kind, value = self._match(_CONSTANT, statement, "#constant(type, value)").groups()
            rules = parse(f"{kind}({value}).", self.source.name, self.source.place(offset), safe=False).rules
            if len(rules) != 1 or rules[0].node.body or rules[0].derives != {(kind, 1)}:
                raise self.source.error(offset, f"'{value.strip()}' is not one value in '#constant'.")
            for each in constants_in(self.source, value.strip(), offset):
                self.constants[(kind, each)] = None
        elif word in ("maxv", "max_body", "max_penalty"):
            digits = self._match(_NUMBER, statement, f"#{word}(number)").group(1)
            most = MOST_VARIABLES if word == "maxv" else LARGEST
            self.numbers[word] = self.source.number(digits, f"'#{word}'", offset, most)
        else:
            self._penalty(statement)
        return True

    def _match(self, pattern: re.Pattern[str], statement: Statement, shape: str) -> re.Match[str]:
        match = pattern.match(statement.text.strip())
        if match is None:
            excerpt = " ".join(statement.text.split())[:60]
            raise self.source.error(statement.offset, f"'{excerpt}' must have the form '{shape}.'.")
        return match

    def _penalty(self, statement: Statement) -> None:
        word = "#final_bias" if statement.text.startswith("#final_bias") else "#bias"
        quoted = self._match(_BIAS, statement, f'{word}("penalty(1, head).")').group(1)
        rule = quoted_program(quoted.strip())
        if rule is None:
            raise self.source.error(statement.offset, f"the argument of '{word}' must be a string.")
        program = parse(rule, f"{self.source.name}, {word}", self.source.place(statement.offset))
        if any(map(_is_negative_penalty, program.rules)):
            raise self.source.error(statement.offset, NEGATIVE_PENALTY)
        if word == "#final_bias":
            self.final.append(rule)
            return
        self.scoring.append(program)
        self.penalties = [*(self.penalties or []), rule]

    def _meta_mode(self, text: str, offset: int) -> None:
        shape = "#modem(cost, name(kind/arity, ...))"
        match = self._match(_META_MODE, Statement(text, offset), shape)
        kinds: list[tuple[str, int]] = []
        for part, _ in split_arguments(match.group(3)):
            pair = re.fullmatch(r"([a-z_]\w*)\s*/\s*(\d+)", part)
            if pair is None:
                raise self.source.error(offset, f"'{part}' must have the form 'kind/arity' in '{shape}.'.")
            kinds.append(
                (pair.group(1), self.source.number(pair.group(2), "the arity of a predicate", offset))
            )
        cost = self.source.number(match.group(1) or "1", "the cost of a meta-rule", offset)
        self.meta_modes.append(MetaMode(cost, match.group(2), tuple(kinds)))

    def _meta_rule(self, text: str, offset: int) -> None:
        """Takes the atom whose arguments are exactly the predicate variables as the binding one."""
        used = set(re.findall(r"\b([A-Z]\w*)\s*\(", text))
        head, _, body = text.partition(":-")
        literals = split_arguments(body)
        for i, (literal, _) in enumerate(literals):
            match = re.fullmatch(r"([a-z_]\w*)\s*\(([\w\s,]*)\)", literal)
            if match is None:
                continue
            variables = tuple(part for part, _ in split_arguments(match.group(2)))
            if used <= set(variables):
                rest = ", ".join(" ".join(part.split()) for j, (part, _) in enumerate(literals) if j != i)
                rule = head.strip() + (f" :- {rest}" if rest else "")
                meta = MetaRule(rule, match.group(1), variables)
                parse(
                    meta.instance(dict.fromkeys(variables, "p")), self.source.name, self.source.place(offset)
                )
                self.meta_rules.append(meta)
                return
        raise self.source.error(
            offset,
            "a meta-rule must have an atom that binds its predicates, e.g. 'P(X) :- Q(X), identity(P, Q).'.",
        )


def _is_negative_penalty(rule: asp.Rule) -> bool:
    """Whether a rule of ``#bias`` derives ``penalty(-n, ...)`` for a number that it states."""
    if rule.head != "atom" or ("penalty", 2) not in rule.derives:
        return False
    weights = [term.arguments[0] for term, _ in asp.atom_terms(rule.node.head.atom.symbol)]
    return any(re.fullmatch(r"-\s*[1-9]\d*", str(weight)) for weight in weights)
