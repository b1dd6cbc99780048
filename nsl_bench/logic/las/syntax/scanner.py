"""Splitting a task file into statements, with the place of each.

Only what clingo's parser cannot read is told apart here: directives of learning tasks, examples,
meta-rules and weighted rules. Everything else is left in the text, for clingo to parse in place.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.language_bias import LARGEST

_EXAMPLE = re.compile(
    r"#(?P<kind>pos|neg)\s*+\(\s*+(?:(?P<id>[^{}\"%@,]*+)(?:@\s*+(?P<penalty>-?\d+)\s*+)?,\s*+)?"
    r"\{(?P<inclusions>[^{}\"%]*+)\}\s*+,\s*+\{(?P<exclusions>[^{}\"%]*+)\}\s*+"
    r"(?:,\s*+\{(?P<context>[^{}\"%]*+(?:\"[^\"\\\n{}%]*+\"[^{}\"%]*+)*+)\}\s*+)?\)\s*+\."
)
_SKIP = re.compile(r"(?:\s+|%\*.*?\*%|%[^\n]*)+", re.DOTALL)
_SPECIAL = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|%\*.*?\*%|%[^\n]*|\.\.|[.(){}\[\]\"]|#end\b", re.DOTALL)
_SPECIAL_IN_BIAS = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|%\*.*?\*%|%[^\n]*|\.\.|[.(){}\[\]\"]", re.DOTALL
)
"""The same where strings may have several lines and single quotes."""
_OPEN, _CLOSE = "({[", ")}]"
_MOST_UNCLOSED = 100
"""Comments of several lines that nothing closes."""


class Statement(NamedTuple):
    """One statement and where it starts.

    Attributes:
        text: without its full stop.
        offset: of its first character in the source.
        example: the match of `#pos` or `#neg` in simple form, where it is one.
    """

    text: str
    offset: int
    example: re.Match[str] | None = None


class Source:
    """A text with a name, which knows line and column of each offset."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    @cached_property
    def _ends(self) -> list[int]:
        """Offsets of the ends of lines."""
        return [match.start() for match in re.finditer("\n", self.text)]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_left(self._ends, offset)
        return line + 1, offset - (self._ends[line - 1] if line else -1)

    def error(self, offset: int, message: str) -> UserError:
        """The error that `message` is, at `offset`.

        Args:
            offset: place in the text, in characters; the message gets its line.
        """
        line, column = self.place(offset)
        return UserError(f"{self.name}, line {line}, column {column}: {message}")

    def number(self, digits: str, what: str, offset: int, most: int = LARGEST) -> int:
        """A natural number; many digits are refused before they are read.

        Args:
            what: what it is, as the error begins.
            most: the greatest that is allowed.
        """
        if digits.startswith("-") or len(digits.lstrip("0")) > len(str(most)) or int(digits) > most:
            number = digits if len(digits) <= 20 else f"{digits[:8]}... ({len(digits)} digits)"
            raise self.error(offset, f"{what} must be between 0 and {most}; got {number}.")
        return int(digits)

    def statements(self) -> Iterator[Statement]:
        """All statements, from first to last."""
        text, position, end = self.text, 0, len(self.text)
        unclosed = max(text.rfind("*%"), 0)
        if text.count("%*", unclosed) > _MOST_UNCLOSED:  # each would be followed to the end of the text
            raise self.error(text.index("%*", unclosed), "this comment and many others are never closed.")
        while True:
            skipped = _SKIP.match(text, position)
            position = skipped.end() if skipped else position
            if position >= end:
                return
            if text.startswith(("#pos", "#neg"), position):
                example = _EXAMPLE.match(text, position)
                if example:
                    yield Statement(example.group(), position, example)
                    position = example.end()
                    continue
            stop = self._stop(position)
            yield Statement(text[position : stop - 1], position)
            position = self._options(stop)

    def _stop(self, start: int) -> int:
        """Offset after the full stop that ends the statement at `start`."""
        opened: list[tuple[str, int]] = []
        in_bias = self.text.startswith(("#bias", "#final_bias"), start)
        for match in (_SPECIAL_IN_BIAS if in_bias else _SPECIAL).finditer(self.text, start):
            token = match.group()
            if token in _OPEN:
                opened.append((token, match.start()))
            elif token in _CLOSE:
                if not opened or _OPEN.index(opened[-1][0]) != _CLOSE.index(token):
                    raise self.error(match.start(), f"'{token}' has no matching opening bracket.")
                opened.pop()
            elif token == '"':
                raise self.error(match.start(), "this string is not closed on its line.")
            elif token == "." and not opened:
                return match.end()
            elif token == "#end" and self.text.startswith("#script", start):
                return match.end() + 1
        if opened:
            token, offset = opened[-1]
            raise self.error(offset, f"'{token}' is never closed.")
        raise self.error(start, "the statement that starts here has no full stop.")

    def _options(self, position: int) -> int:
        """Offset after the ``[weight@level]`` that follows a weak constraint's full stop."""
        match = re.compile(r"[ \t]*\[[^\]\n]*\]").match(self.text, position)
        return match.end() if match else position

    def blanked(self, spans: list[tuple[int, int]]) -> str:
        """The text with `spans` replaced by spaces, so that every place stays where it was."""
        pieces, position = [], 0
        for start, stop in spans:
            pieces.append(self.text[position:start])
            pieces.append(_blank(self.text, start, stop))
            position = stop
        pieces.append(self.text[position:])
        return "".join(pieces)


def _blank(text: str, start: int, stop: int) -> str:
    lines = text.count("\n", start, stop)
    if not lines:
        return " " * (stop - start)
    return "\n" * lines + " " * (stop - text.rfind("\n", start, stop) - 1)


def split_arguments(text: str, separator: str = ",") -> list[tuple[str, int]]:
    """The parts of `text` between separators outside of brackets and strings, with their offsets.

    Parts are stripped; an empty or blank `text` has none.

    Returns:
        Each part with the offset in `text` at which it begins.
    """
    parts: list[tuple[str, int]] = []
    depth, start = 0, 0
    for match in re.finditer(
        rf"\"(?:[^\"\\\n]|\\.)*\"|%[^\n]*|\.\.|[(){{}}\[\]]|{re.escape(separator)}", text
    ):
        token = match.group()
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif token == separator and depth == 0:
            parts.append((text[start : match.start()], start))
            start = match.end()
    parts.append((text[start:], start))
    result = [(part.strip(), offset + len(part) - len(part.lstrip())) for part, offset in parts]
    return [(part, offset) for part, offset in result if part]
