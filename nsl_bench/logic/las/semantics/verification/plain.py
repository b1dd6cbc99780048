"""A task as its text says it, read by a small reader that shares nothing with the one that the search uses.

It knows the plain statements of FastLAS and ILASP. What it does not know it says, and then nothing is called
verified.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from nsl_bench.logic.las.semantics.verification.solving import Unverifiable, literal_of

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|%\*.*?\*%|%[^\n]*|\.\.|[(){}\[\].,;]|[^"%(){}\[\].,;]+|.', re.DOTALL)
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_IN_BIAS = re.compile(rf"{_QUOTED.pattern}|'((?:\\.|[^'\\])*)'", re.DOTALL)
_CALL = re.compile(r"#(\w+)\s*(?:\((.*)\))?$", re.DOTALL)
_PREFIX = re.compile(r"(not\s+)?(!=|<=|>=|==|<|>|=)\s*\((.*)\)$", re.DOTALL)
_PLACE = re.compile(r'"(?:\\.|[^"\\])*"|\b(var|const|num_var)\((\w+)\)')
_META = re.compile(r"[A-Z]\w*\s*\(")
_SILENT = ("show", "project", "heuristic", "predict", "minhl", "maxhl")
_ASP = ("const", "true", "false", "count", "sum", "min", "max", "inf", "sup")
_SWITCHES = ("positive", "negative", "anti_reflexive", "symmetric")

Dialect = Literal["ilasp", "fastlas"]


@dataclass(frozen=True)
class Example:
    """An example as the text states it; without a penalty it must be covered."""

    id: str
    penalty: int | None
    inclusions: tuple[str, ...]
    exclusions: tuple[str, ...]
    context: tuple[str, ...]
    positive: bool


@dataclass(frozen=True)
class Mode:
    """A form of literal that rules may have.

    Attributes:
        declaration: its number; all forms of one declaration share its recall.
        literal: an atom or comparison with ``var(type)``, ``const(type)`` and ``num_var(type)``, as clingo
            prints it.
    """

    declaration: int
    literal: str
    negated: bool = False
    recall: int | None = None
    distinct: bool = False

    @property
    def is_comparison(self) -> bool:
        """Whether it compares terms; only comparisons have blanks outside of strings."""
        return " " in _QUOTED.sub("", self.literal)


@dataclass(frozen=True)
class PlainTask:
    """What the text of a task says.

    Attributes:
        heads, bodies: the forms of heads and of body literals.
        rules: rules given whole, and instances of meta-rules, each with its cost.
        learned: predicates (name, arity) that meta-rules derive.
        constants: type and value of each `#constant`.
        max_body: the most body literals of a rule; None for any number.
        max_cost: the most that a hypothesis may cost; None for any cost.
        bias: the program of `#bias`; None if there is none.
        final: the program of `#final_bias`; empty if there is none.
        without_replacement: whether two body literals must not ground to the same atom.
        constraints: whether rules without a head are in the space.
    """

    examples: tuple[Example, ...]
    background: str
    heads: tuple[Mode, ...]
    bodies: tuple[Mode, ...]
    rules: tuple[tuple[int, str], ...]
    learned: frozenset[tuple[str, int]]
    constants: tuple[tuple[str, str], ...]
    max_variables: int
    max_body: int | None
    max_cost: int | None
    bias: str | None
    final: str
    without_replacement: bool
    dialect: Dialect
    constraints: bool

    def of(self, *, positive: bool) -> Self:
        """The same task with its positive or its negative examples alone."""
        return replace(self, examples=tuple(e for e in self.examples if e.positive is positive))


def places(literal: str) -> list[tuple[str, str]]:
    """Kind (``var``, ``const`` or ``num_var``) and type of each place of a mode, from left to right."""
    return [(kind, of) for kind, of in _PLACE.findall(literal) if kind]


def filled(literal: str, values: Sequence[str]) -> str:
    """A mode with its places filled."""
    filling = iter(values)
    return _PLACE.sub(lambda match: next(filling) if match[1] else match[0], literal)


def read_plain(text: str, dialect: Dialect | None, *, constraints: bool = True) -> PlainTask:
    """The task that a text states.

    Args:
        dialect: whose defaults apply; None: what its statements tell.
        constraints: whether ILASP's spaces hold constraints.
    """
    return _Reader().read(text, dialect, constraints)


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators outside of brackets and strings, without comments."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.findall(text):
        depth += (token in ("(", "{", "[")) - (token in (")", "}", "]"))
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(" " if token[0] == "%" else token)
    return ["".join(part).strip() for part in parts]


def _arguments(text: str) -> list[str]:
    return [part for part in _split(text, ",") if part]


@dataclass
class _Reader:
    """What has been read so far."""

    examples: list[Example] = field(default_factory=list)
    background: list[str] = field(default_factory=list)
    heads: list[Mode] = field(default_factory=list)
    declared: list[tuple[Mode, frozenset[str]]] = field(default_factory=list)
    given: list[tuple[int, str]] = field(default_factory=list)
    metas: list[str] = field(default_factory=list)
    meta_modes: list[tuple[int, str, list[str]]] = field(default_factory=list)
    predicates: list[tuple[str, str]] = field(default_factory=list)
    constants: list[tuple[str, str]] = field(default_factory=list)
    bias: list[str] = field(default_factory=list)
    final: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    without_replacement: bool = False

    def read(self, text: str, dialect: Dialect | None, constraints: bool) -> PlainTask:
        *statements, rest = _split(text, ".")
        if rest:
            raise Unverifiable(f"'{rest[:40]}' has no full stop")
        for statement in statements:
            self._take(statement)
        spoken = dialect or self._dialect(text)
        limit = self.numbers.get("max_body", 3 if spoken == "ilasp" else None)
        names = {tuple(name.split("/")) for _, name in self.predicates} if self.meta_modes else set()
        return PlainTask(
            examples=tuple(self.examples),
            background="\n".join(f"{statement}." for statement in self.background),
            heads=tuple(self.heads),
            bodies=tuple(self._forms(spoken)),
            rules=(*self.given, *self._instances()),
            learned=frozenset((name, int(arity)) for name, arity in names),
            constants=tuple(self.constants),
            max_variables=self.numbers.get("maxv", 3),
            max_body=limit,
            max_cost=self.numbers.get("max_penalty"),
            bias="\n".join(self.bias) if self.bias else None,
            final="\n".join(self.final),
            without_replacement=self.without_replacement,
            dialect=spoken,
            constraints=spoken == "ilasp" and constraints,
        )

    def _take(self, statement: str) -> None:
        weighted = re.match(r"(\d+)\s*~\s*", statement)
        if weighted:
            self.given.append((int(weighted[1]), statement[weighted.end() :] + "."))
        elif _META.match(statement):
            self.metas.append(statement)
        elif statement.startswith("#") and (match := _CALL.match(statement)) and match[1] not in _ASP:
            self._directive(match[1], match[2] or "")
        elif statement:
            self.background.append(statement)

    def _directive(self, word: str, inner: str) -> None:
        parts = _arguments(inner) if "bias" not in word else []
        if word in ("pos", "neg"):
            self._example(word == "pos", parts)
        elif word in ("modeh", "modeb"):
            self._mode(word, parts)
        elif word in ("maxv", "max_body", "max_penalty"):
            self.numbers[word] = int(inner)
        elif word in ("bias", "final_bias") and inner and not _IN_BIAS.sub("", inner).strip():
            program = "".join(one or other for one, other in _IN_BIAS.findall(inner))
            program = program.replace('\\"', '"').replace("\\\\", "\\").strip()
            programs = self.bias if word == "bias" else self.final
            programs.append(program if program.endswith(".") else program + ".")
        elif word == "constant" and len(parts) == 2:
            ends = re.fullmatch(r"(-?\d+)\s*\.\.\s*(-?\d+)", parts[1])
            values = map(str, range(int(ends[1]), int(ends[2]) + 1)) if ends else [parts[1]]
            self.constants += [(parts[0], value) for value in values]
        elif word == "predicate" and len(parts) == 2:
            self.predicates.append((parts[0], re.sub(r"\s", "", parts[1])))
        elif word == "modem" and (match := re.fullmatch(r"(?:(\d+),\s*)?(\w+)\s*\((.*)\)", inner.strip())):
            kinds = [re.sub(r"\s", "", kind) for kind in _arguments(match[3])]
            self.meta_modes.append((int(match[1] or 1), match[2], kinds))
        elif word == "ground_without_replacement":
            self.without_replacement = True
        elif word not in _SILENT:
            raise Unverifiable(f"the check's own reader does not know '#{word}'")

    def _example(self, positive: bool, parts: list[str]) -> None:
        named = parts.pop(0) if parts and not parts[0].startswith("{") else ""
        name, _, penalty = named.partition("@")
        if len(parts) not in (2, 3) or not all(part[0] == "{" and part[-1] == "}" for part in parts):
            raise Unverifiable("an example has a form that the check's own reader does not know")
        inclusions, exclusions = (tuple(_arguments(part[1:-1])) for part in parts[:2])
        *context, rest = _split(parts[2][1:-1] if parts[2:] else "", ".")
        if rest or penalty.strip().startswith("-"):
            raise Unverifiable("an example has a form that the check's own reader does not know")
        context = [" ".join(statement.split()) for statement in context]
        weight = int(penalty) if penalty.strip() else 0
        name = re.sub(r"^eg\(\s*(\w+)\s*\)$", r"\1", name.strip())
        self.examples.append(
            Example(name, weight or None, inclusions, exclusions, tuple(filter(None, context)), positive)
        )

    def _mode(self, word: str, parts: list[str]) -> None:
        recall = parts.pop(0) if len(parts) > 1 and re.fullmatch(r"\d+|\*", parts[0]) else "*"
        options = frozenset(_arguments(parts.pop()[1:-1]) if len(parts) == 2 else ())
        if len(parts) != 1 or options - set(_SWITCHES) or (word == "modeh" and options - {"positive"}):
            raise Unverifiable(f"a '#{word}' has a form that the check's own reader does not know")
        text = parts[0]
        if prefix := _PREFIX.match(text):
            one, other = _arguments(prefix[3])
            text = f"{prefix[1] or ''}{one} {prefix[2]} {other}"
        negated, literal = literal_of(text)
        if re.search(r"\b(?!num_)\w+_var\(", literal):
            raise Unverifiable(f"the check's own reader does not know the mode '{text[:60]}'")
        number = None if recall == "*" else int(recall)
        mode = Mode(len(self.declared), literal, negated, number, "anti_reflexive" in options)
        if word == "modeh":
            self.heads.append(mode)
        else:
            self.declared.append((mode, options))

    def _forms(self, dialect: Dialect) -> Iterator[Mode]:
        """The forms of body literals: ILASP's declarations without an option allow negation too."""
        for mode, options in self.declared:
            both = dialect == "ilasp" and not options & {"positive", "negative"} and not mode.negated
            both = both and not mode.is_comparison and "num_var(" not in mode.literal
            negated = mode.negated or "negative" in options
            for sign in (False, True) if both else (negated,):
                yield replace(mode, negated=sign, recall=mode.recall if dialect == "ilasp" else None)

    def _dialect(self, text: str) -> Dialect:
        """What the text says, or whose statements it has."""
        if stated := re.search(r"^\s*%\s*dialect:\s*(ilasp|fastlas)\b", text, re.MULTILINE):
            return "ilasp" if stated[1] == "ilasp" else "fastlas"
        program = " ".join(self.bias)
        if self.meta_modes or self.predicates or any(options for _, options in self.declared):
            return "ilasp"
        if self.without_replacement or re.search(r"\b(penalty|in_head|in_body|invert)\(", program):
            return "fastlas"
        if self.final or "#predict" in text or re.search(r"\b(in|ex)clusion\(", text):
            return "fastlas"
        only_given = not self.heads and not self.declared
        only_here = re.search(r"\b(head|body|naf)\(", program) or self.constants or self.given
        if only_here or "max_penalty" in self.numbers or only_given:
            return "ilasp"
        if not self.examples:
            return "fastlas"  # the answers are the same
        raise Unverifiable("nothing in the text tells FastLAS's dialect from ILASP's")

    def _instances(self) -> Iterator[tuple[int, str]]:
        """The instances of meta-rules, each with the cost that its `#modem` states."""
        for cost, name, kinds in self.meta_modes:
            for meta in self.metas:
                head, _, body = meta.partition(":-")
                literals = _arguments(body)
                binding = re.compile(rf"{name}\s*\(\s*([A-Z]\w*(?:\s*,\s*[A-Z]\w*)*)\s*\)")
                bound = [match for each in literals if (match := binding.fullmatch(each))]
                if len(bound) != 1:
                    continue
                variables = [each.strip() for each in bound[0][1].split(",")]
                if len(variables) != len(kinds):
                    continue
                rest = ", ".join(each for each in literals if each != bound[0][0])
                options = [
                    [p.split("/")[0] for kind, p in self.predicates if f"{kind}/{p.split('/')[1]}" == wanted]
                    for wanted in kinds
                ]
                for names in itertools.product(*options):
                    chosen = dict(zip(variables, names, strict=True))
                    rule = f"{head.strip()} :- {rest}." if rest else f"{head.strip()}."
                    yield cost, re.sub(r"\b[A-Z]\w*\b", lambda m, c=chosen: c.get(m[0], m[0]), rule)  # type: ignore[misc]
