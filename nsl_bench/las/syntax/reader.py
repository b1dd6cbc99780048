"""Reading learning tasks in FastLAS's and ILASP's syntax.

What is ASP is parsed by clingo (`clingo.ast`), in place, so that errors carry line and column; the
directives of learning tasks are read here. ``#script`` and ``#include`` are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nsl_bench.asp import program as asp
from nsl_bench.asp.program import parse
from nsl_bench.asp.text import check_characters, read_text, stray
from nsl_bench.errors import UserError, unknown
from nsl_bench.las.language_bias import (
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
from nsl_bench.las.syntax.modes import parse_mode_body, parse_mode_head
from nsl_bench.las.syntax.scanner import Source, Statement, split_arguments
from nsl_bench.types import WeightedExample

__all__ = ["TaskText", "build_task", "parse_task", "read_task"]

_WRAPPED = re.compile(r"eg\(\s*(\w+)\s*\)")
_DIRECTIVE = re.compile(r"#([a-z_]+)")
_META_RULE = re.compile(r"[A-Z]\w*\s*\(")
_WEIGHTED_RULE = re.compile(r"(-?\d+)\s*~")
_CONSTANT = re.compile(r"#constant\s*\(\s*([a-z_]\w*)\s*,\s*(.+?)\s*\)$", re.DOTALL)
_PREDICATE = re.compile(r"#predicate\s*\(\s*([a-z_]\w*)\s*,\s*([a-z_]\w*)\s*/\s*(\d+)\s*\)$")
_META_MODE = re.compile(r"#modem\s*\(\s*(?:(\d+)\s*,\s*)?([a-z_]\w*)\s*\((.*)\)\s*\)$", re.DOTALL)
_NUMBER = re.compile(r"#\w+\s*\(\s*(\d+)\s*\)$")
_NEGATIVE = re.compile(r"penalty\(\s*-\s*\d")
_VARIABLE = re.compile(r"\b_*[A-Z]\w*|\b_\b")
_BIAS = re.compile(r"#bias\s*\(\s*(.*?)\s*\)$", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TERM = r"(?:-?\d+|_*[a-z][\w']*|\"[^\"\\\n]*\")"
_PLAIN_FACT = re.compile(rf"_*[a-z][\w']*(?:\(\s*{_TERM}(?:\s*,\s*{_TERM})*\s*\))?$")
_SIMPLE_CONTEXT = re.compile(r"(?:[\w\s.,()'-]|\"[^\"\\\n]*\")*")
_STATEMENT = re.compile(r"(?:[^.\"]|\"[^\"]*\")*[^.\"\s](?:[^.\"]|\"[^\"]*\")*|\"[^\"]*\"")

_ASP_DIRECTIVES = frozenset(
    {"const", "external", "true", "false", "count", "sum", "min", "max", "inf", "sup"}
)
_DROPPED = frozenset({"show", "project", "heuristic", "predict", "max_penalty"})
_REFUSED = {
    "script": "scripts are refused: a task file must not run code.",
    "include": "includes are refused: a task file must be whole.",
    "program": "program parts are not supported in a task.",
    "theory": "theories are not supported in a task.",
    "edge": "edge directives are not supported in a task.",
    "defined": "'#defined' is not supported in a task.",
    "minimize": "a task's score is its own; remove '#minimize'.",
    "maximize": "a task's score is its own; remove '#maximize'.",
    "final_bias": "penalties of whole hypotheses ('#final_bias') are not supported.",
    "modeha": "choice rules in hypotheses ('#modeha') are not supported.",
    "brave_ordering": "ordering examples are not supported.",
    "cautious_ordering": "ordering examples are not supported.",
}
_OWN = (
    *("pos", "neg", "modeh", "modeb", "modem", "predicate", "constant", "maxv", "max_body", "bias"),
    "ground_without_replacement",
)


@dataclass(frozen=True)
class TaskText:
    """What the text of a task says.

    Attributes:
        examples: its examples, with distinct ids.
        background: everything that is ASP, a statement a line.
        program: the same, parsed.
        bias: the directives of the language bias.
        name: what messages call the text.
        warnings: what the user should be told.
        places: line and column of mode declarations and lines of the background, by their text.
    """

    examples: tuple[WeightedExample, ...]
    background: str
    program: asp.Program
    bias: LanguageBias
    name: str
    warnings: tuple[str, ...]
    places: dict[str, tuple[int, int]]


def read_task(path: Path, dialect: Dialect | None = None) -> TaskText:
    """The task in the file at `path`; see `LasTask.read`."""
    return parse_task(read_text(path), path.name, dialect)


def parse_task(text: str, name: str, dialect: Dialect | None = None) -> TaskText:
    """The task that `text` states; see `LasTask.parse`."""
    return _Reader(Source(text, name), dialect).task()


def build_task(
    examples: tuple[WeightedExample, ...], background: str, language_bias: str, name: str
) -> TaskText:
    """A task of `examples` and the two texts; see `LasTask.build`."""
    task = _Reader(Source(f"{background}\n{language_bias}", name)).task()
    contexts = {text: None for example in examples for text in example.context}
    for text in {t: None for e in examples for t in (*e.context, *e.inclusions, *e.exclusions)}:
        check_characters(text, f"{name}, '{text[:60]}'")
    for text in contexts:
        if not _PLAIN_FACT.match(text):
            asp.statement(text.rstrip("."))
    for example in examples:
        _check_penalty(example, name)
    examples, repeated = _unique_ids((*task.examples, *examples))
    return replace(task, examples=examples, warnings=(*task.warnings, *repeated))


def _check_penalty(example: WeightedExample, name: str) -> None:
    penalty = example.penalty
    if penalty is not None and not 0 < penalty <= LARGEST:
        raise UserError(
            f"{name}: the penalty of example '{example.id}' must be between 1 and {LARGEST}; got {penalty}."
        )


def _unique_ids(
    examples: Sequence[WeightedExample],
) -> tuple[tuple[WeightedExample, ...], tuple[str, ...]]:
    """The examples with distinct ids, and a warning if some were not."""
    seen = {example.id for example in examples}
    if len(seen) == len(examples):
        return tuple(examples), ()
    used: set[str] = set()
    unique: list[WeightedExample] = []
    renamed = 0
    for example in examples:
        new, number = example.id, 1
        while new in used or (number > 1 and new in seen):
            number += 1
            new = f"{example.id}_{number}"
        renamed += new != example.id
        used.add(new)
        unique.append(example if new == example.id else replace(example, id=new))
    return tuple(unique), (f"{renamed} examples repeat another one's id and were given ids of their own.",)


@dataclass
class _Reader:
    """Collects the statements of one source."""

    source: Source
    dialect: Dialect | None = None
    examples: list[WeightedExample] = field(default_factory=list)
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
    max_variables: int | None = None
    max_body: int | None = None
    without_replacement: bool = False
    first_places: dict[str, int] = field(default_factory=dict)
    atom_places: dict[str, int] = field(default_factory=dict)
    read_contexts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    read_atoms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def task(self) -> TaskText:
        if found := stray(self.source.text):
            offset, shown = found
            raise self.source.error(
                offset, f"the character {shown} is not ASCII, as all is outside of strings and comments."
            )
        spans: list[tuple[int, int]] = []
        for statement in self.source.statements():
            if self._directive(statement):
                stop = statement.offset + len(statement.text)
                spans.append((statement.offset, stop if statement.example else stop + 1))
        background = self.source.blanked(spans)
        program = parse(background, self.source.name)
        self._check_contexts()
        lines: list[str] = []
        for number, line in enumerate(background.split("\n"), start=1):
            stripped = line.strip()
            if stripped:
                lines.append(stripped)
                self.places.setdefault(stripped, (number, line.index(stripped) + 1))
        examples, repeated = _unique_ids(self.examples)
        text = "\n".join(lines)
        warnings = (*self._ignored_directives(), *repeated)
        return TaskText(examples, text, program, self._bias(), self.source.name, warnings, self.places)

    def _ignored_directives(self) -> tuple[str, ...]:
        words = ", ".join(f"#{word}" for word in self.ignored)
        return (f"{words} says nothing of the score and is ignored.",) if words else ()

    def _bias(self) -> LanguageBias:
        options = any("positive" in mode.options for mode in self.bodies)
        ilasp = bool(self.meta_modes or self.predicates or options)
        guessed: Dialect = "ilasp" if ilasp else "fastlas"
        return LanguageBias(
            heads=tuple(dict.fromkeys(self.heads)),
            bodies=tuple(self.bodies),
            meta_modes=tuple(self.meta_modes),
            meta_rules=tuple(self.meta_rules),
            predicates=tuple(dict.fromkeys(self.predicates)),
            rules=tuple(self.rules),
            constants=tuple(self.constants),
            max_variables=DEFAULT_MAX_VARIABLES if self.max_variables is None else self.max_variables,
            max_body=self.max_body,
            penalties=None if self.penalties is None else tuple(self.penalties),
            ground_without_replacement=self.without_replacement,
            dialect=self.dialect or guessed,
        )

    def _directive(self, statement: Statement) -> bool:
        """Takes in a statement that is not ASP; False if it is ASP."""
        text, offset = statement.text, statement.offset
        if statement.example:
            self._simple_example(statement)
            return True
        if text.startswith("#"):
            return self._hash(statement)
        if _META_RULE.match(text):
            self._meta_rule(text, offset)
            return True
        weighted = _WEIGHTED_RULE.match(text)
        if weighted:
            cost = self._number(weighted.group(1), "the cost of a rule", offset)
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
            self._example(statement)
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
            number = self._number(arity, "the arity of a predicate", offset)
            self.predicates.append(PredicateDeclaration(kind, name, number))
        elif word == "constant":
            kind, value = self._match(_CONSTANT, statement, "#constant(type, value)").groups()
            self.constants[(kind, value)] = None
        elif word in ("maxv", "max_body"):
            digits = self._match(_NUMBER, statement, f"#{word}(number)").group(1)
            number = self._number(digits, f"'#{word}'", offset, MOST_VARIABLES if word == "maxv" else LARGEST)
            if word == "maxv":
                self.max_variables = number
            else:
                self.max_body = number
        else:
            self._penalty(statement)
        return True

    def _number(self, digits: str, what: str, offset: int, most: int = LARGEST) -> int:
        """A natural number; many digits are refused before they are read."""
        if digits.startswith("-") or len(digits.lstrip("0")) > len(str(most)) or int(digits) > most:
            shown = digits if len(digits) <= 20 else f"{digits[:8]}... ({len(digits)} digits)"
            raise self.source.error(offset, f"{what} must be between 0 and {most}; got {shown}.")
        return int(digits)

    def _match(self, pattern: re.Pattern[str], statement: Statement, shape: str) -> re.Match[str]:
        match = pattern.match(statement.text.strip())
        if match is None:
            found = " ".join(statement.text.split())[:60]
            raise self.source.error(statement.offset, f"'{found}' should have the form '{shape}.'.")
        return match

    def _penalty(self, statement: Statement) -> None:
        quoted = self._match(_BIAS, statement, '#bias("penalty(1, head).")').group(1)
        strings = _QUOTED.findall(quoted)
        if not strings or _QUOTED.sub("", quoted).strip():
            raise self.source.error(statement.offset, "the argument of '#bias' has to be a string.")
        rule = "".join(strings).replace('\\"', '"').replace("\\\\", "\\").strip()
        rule = rule if rule.endswith(".") else rule + "."
        parse(rule, f"{self.source.name}, #bias", self.source.place(statement.offset))
        if _NEGATIVE.match(rule):
            raise self.source.error(statement.offset, NEGATIVE_PENALTY)
        self.penalties = [*(self.penalties or []), rule]

    def _meta_mode(self, text: str, offset: int) -> None:
        shape = "#modem(cost, name(kind/arity, ...))"
        match = self._match(_META_MODE, Statement(text, offset), shape)
        kinds: list[tuple[str, int]] = []
        for part, _ in split_arguments(match.group(3)):
            pair = re.fullmatch(r"([a-z_]\w*)\s*/\s*(\d+)", part)
            if pair is None:
                raise self.source.error(offset, f"'{part}' should have the form 'kind/arity' in '{shape}.'.")
            kinds.append((pair.group(1), self._number(pair.group(2), "the arity of a predicate", offset)))
        cost = self._number(match.group(1) or "1", "the cost of a meta-rule", offset)
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
            "a meta-rule needs an atom that binds its predicates, e.g. 'P(X) :- Q(X), identity(P, Q).'.",
        )

    def _simple_example(self, statement: Statement) -> None:
        match = statement.example
        assert match is not None
        context = match.group("context") or ""
        known = self.read_contexts.get(context)
        statements: tuple[str, ...]
        if known is not None:
            statements = known
        elif not _SIMPLE_CONTEXT.fullmatch(context) or ".." in context:
            statements = self._context(context, match.start("context"))
        else:
            if '"' in context:
                pieces = [piece.strip() for piece in _STATEMENT.findall(context)]
                ended = context.rstrip()[-1:] == "."
            else:
                pieces = [piece.strip() for piece in context.split(".")]
                ended = not pieces[-1]
            if not ended:
                raise self.source.error(
                    match.start("context") + context.rindex(pieces[-1]),
                    f"the context's statement '{pieces[-1][:60]}' has no full stop.",
                )
            statements = tuple(filter(None, pieces))
            for piece in statements:
                if piece not in self.first_places:
                    self.first_places[piece] = match.start("context")
        self.read_contexts[context] = statements
        self._add(
            statement.offset,
            match.group("kind"),
            match.group("id"),
            match.group("penalty"),
            self._atoms(match.group("inclusions"), match.start("inclusions")),
            self._atoms(match.group("exclusions"), match.start("exclusions")),
            statements,
        )

    def _example(self, statement: Statement) -> None:
        text, offset = statement.text, statement.offset
        inner = text[text.find("(") + 1 : text.rfind(")")]
        start = offset + text.find("(") + 1
        parts = split_arguments(inner)
        name: str | None = None
        penalty: str | None = None
        if parts and not parts[0][0].startswith("{"):
            name, at, number = parts.pop(0)[0].partition("@")
            penalty = number.strip() if at else None
            if penalty is not None and not re.fullmatch(r"-?\d+", penalty):
                raise self.source.error(offset, f"the penalty '{penalty}' of an example is not an integer.")
        sets = [(p[1:-1], start + o + 1) for p, o in parts if p.startswith("{") and p.endswith("}")]
        if len(sets) != len(parts) or len(sets) not in (2, 3):
            raise self.source.error(
                offset, "an example has the form '#pos(id@penalty, {inclusions}, {exclusions}, {context}).'."
            )
        context = self._context(*sets[2]) if len(sets) == 3 else ()
        self._add(offset, text[1:4], name, penalty, self._atoms(*sets[0]), self._atoms(*sets[1]), context)

    def _context(self, text: str, offset: int) -> tuple[str, ...]:
        parse(text, self.source.name, self.source.place(offset))
        inner = Source(text, self.source.name)
        return tuple(" ".join(statement.text.split()) for statement in inner.statements())

    def _atoms(self, text: str, offset: int) -> tuple[str, ...]:
        known = self.read_atoms.get(text)
        if known is None:
            atoms = split_arguments(text)
            for atom, at in atoms:
                self.atom_places.setdefault(atom, offset + at)
            known = self.read_atoms[text] = tuple(atom for atom, _ in atoms)
        return known

    def _add(
        self,
        offset: int,
        kind: str,
        name: str | None,
        penalty: str | None,
        inclusions: tuple[str, ...],
        exclusions: tuple[str, ...],
        context: tuple[str, ...],
    ) -> None:
        name = (name or "").strip() or f"example_{len(self.examples) + 1}"
        wrapped = _WRAPPED.fullmatch(name)
        weight = 0
        if penalty is not None:
            weight = self._number(penalty, f"the penalty of example '{name}'", offset)
        self.examples.append(
            WeightedExample(
                id=wrapped.group(1) if wrapped else name,
                penalty=weight or None,
                inclusions=inclusions,
                exclusions=exclusions,
                context=context,
                positive=kind == "pos",
            )
        )

    def _check_contexts(self) -> None:
        """Parses each distinct statement of the simple contexts, and each atom, once."""
        for piece, offset in self.first_places.items():
            if not _PLAIN_FACT.match(piece):
                position = max(self.source.text.find(piece, offset), offset)
                parse(piece + ".", self.source.name, self.source.place(position))
                if ":-" not in piece and _VARIABLE.search(_QUOTED.sub("", piece)):
                    raise self.source.error(position, f"the context's fact '{piece[:60]}' has a variable.")
        for atom, offset in self.atom_places.items():
            if not _PLAIN_FACT.match(atom):
                self._check_ground(atom, offset)

    def _check_ground(self, atom: str, offset: int) -> None:
        from clingo import MessageCode, parse_term

        parse(atom + ".", self.source.name, self.source.place(offset))

        def silent(code: MessageCode, message: str) -> None:
            """The sentence below says it better."""

        try:
            parse_term(atom, silent)
        except RuntimeError as error:
            sentence = f"'{atom}' is not a ground atom, as inclusions and exclusions must be."
            raise self.source.error(offset, sentence) from error
