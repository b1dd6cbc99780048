"""Reading the examples of learning tasks: ids, penalties, inclusions, exclusions and contexts.

Thousands of examples share few statements and atoms: each distinct text is read once.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.las.syntax.scanner import Source, Statement, split_arguments

_WRAPPED = re.compile(r"eg\(\s*(\w+)\s*\)")
_VARIABLE = re.compile(r"\b_*[A-Z]\w*|\b_\b")
_TERM = r"(?:-?\d{1,9}|_*[a-z][\w']*|\"[^\"\\\n]*\")"
PLAIN_FACT = re.compile(rf"_*[a-z][\w']*(?:\(\s*{_TERM}(?:\s*,\s*{_TERM})*\s*\))?$")
_SIMPLE_CONTEXT = re.compile(r"(?:[\w\s.,()'-]|\"[^\"\\\n]*\")*+")
_DOTTED = re.compile(r"\.\.|^[^\"]*?\d\.\d")
"""A range, or a decimal number, which is an error that has to be told with its place."""
_STATEMENT = re.compile(r"(?:[^.\"]|\"[^\"]*\")++")
_SHORT = 10
"""A number of fewer digits is no larger than any bound."""
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ExampleReader:
    """Collects the ``#pos`` and ``#neg`` statements of one source."""

    def __init__(self, source: Source) -> None:
        self.examples: list[WeightedExample] = []
        self._source = source
        self._first_places: dict[str, int] = {}
        self._atom_places: dict[str, int] = {}
        self._contexts: dict[str, tuple[str, ...]] = {}
        self._read: dict[str, tuple[str, ...]] = {}

    def take_simple(self, statement: Statement) -> None:
        """Take in an example that the scanner has matched whole."""
        match = statement.example
        assert match is not None
        context = match.group("context") or ""
        parsed = self._contexts.get(context)
        statements: tuple[str, ...]
        if parsed is not None:
            statements = parsed
        elif not _SIMPLE_CONTEXT.fullmatch(context) or _DOTTED.search(context):
            statements = self._context(context, match.start("context"))
        else:
            if '"' in context:
                pieces = [piece.strip() for piece in _STATEMENT.findall(context)]
                ended = context.rstrip()[-1:] == "."
            else:
                pieces = [piece.strip() for piece in context.split(".")]
                ended = not pieces[-1]
            if not ended:
                raise self._source.error(
                    match.start("context") + context.rindex(pieces[-1]),
                    f"the context's statement '{pieces[-1][:60]}' has no full stop.",
                )
            statements = tuple(filter(None, pieces))
            for piece in statements:
                if piece not in self._first_places:
                    self._first_places[piece] = match.start("context")
        self._contexts[context] = statements
        self._add(
            statement.offset,
            match.group("kind"),
            (match["id"] or "").strip() or match["id"],
            match.group("penalty"),
            self._atoms(match.group("inclusions"), match.start("inclusions")),
            self._atoms(match.group("exclusions"), match.start("exclusions")),
            statements,
        )

    def take(self, statement: Statement) -> None:
        """Take in any example."""
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
                raise self._source.error(offset, f"an example's penalty must be an integer; got '{penalty}'.")
        sets = [(p[1:-1], start + o + 1) for p, o in parts if p.startswith("{") and p.endswith("}")]
        if len(sets) != len(parts) or len(sets) not in (2, 3):
            raise self._source.error(
                offset,
                "an example must have the form '#pos(id@penalty, {inclusions}, {exclusions}, {context}).'.",
            )
        context = self._context(*sets[2]) if len(sets) == 3 else ()
        self._add(offset, text[1:4], name, penalty, self._atoms(*sets[0]), self._atoms(*sets[1]), context)

    def _context(self, text: str, offset: int) -> tuple[str, ...]:
        parse(text, self._source.name, self._source.place(offset))
        inner = Source(text, self._source.name)
        return tuple(" ".join(statement.text.split()) for statement in inner.statements())

    def _atoms(self, text: str, offset: int) -> tuple[str, ...]:
        result = self._read.get(text)
        if result is None:
            atoms = split_arguments(text)
            for atom, at in atoms:
                self._atom_places.setdefault(atom, offset + at)
            result = self._read[text] = tuple(atom for atom, _ in atoms)
        return result

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
        wrapped = _WRAPPED.fullmatch(name) if name.startswith("eg(") else None
        weight = 0
        if penalty is not None:
            if len(penalty) < _SHORT and penalty.isdecimal():
                weight = int(penalty)
            else:
                weight = self._source.number(penalty, f"the penalty of example '{name}'", offset)
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

    def check(self) -> None:
        """Parses each distinct statement of the simple contexts, and each atom, once."""
        for piece, offset in self._first_places.items():
            if not PLAIN_FACT.match(piece):
                position = max(self._source.text.find(piece, offset), offset)
                parse(piece + ".", self._source.name, self._source.place(position), safe=":-" in piece)
                if ":-" not in piece and _VARIABLE.search(_STRING.sub("", piece)):
                    raise self._source.error(position, f"the context's fact '{piece[:60]}' has a variable.")
        for atom, offset in self._atom_places.items():
            if not PLAIN_FACT.match(atom):
                self._check_ground(atom, offset)

    def _check_ground(self, atom: str, offset: int) -> None:
        from clingo import MessageCode, parse_term

        parse(atom + ".", self._source.name, self._source.place(offset), safe=False)

        def silent(code: MessageCode, message: str) -> None:
            """The sentence below says it better."""

        try:
            parse_term(atom, silent)
        except RuntimeError as error:
            sentence = f"Inclusions and exclusions must be ground atoms; got '{atom}'."
            raise self._source.error(offset, sentence) from error


def unique_ids(examples: Sequence[WeightedExample]) -> tuple[tuple[WeightedExample, ...], tuple[str, ...]]:
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
