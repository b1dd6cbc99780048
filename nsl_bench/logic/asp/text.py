"""The text of logic programs, as anybody may write it: what clingo cannot take is refused before it sees it.

clingo ends the process on a character outside of strings and comments that is not ASCII, and on statements
nested so deep that its parser runs out of stack; what follows a NUL it never reads.
"""

import os
import re
from pathlib import Path

from nsl_bench.core import files
from nsl_bench.core.errors import UserError

_STRING = r'"(?:\\["\\n]|[^"\\\n])*+"'
_UNCLOSED = r'(?P<unclosed>"(?:\\["\\n]|[^"\\\n%])*+)'
"""A quotation mark that begins no string, and what follows: no string begins in it, either."""
_STRINGS_AND_LINES = re.compile(rf"{_STRING}|{_UNCLOSED}|%[^\n]*")
_STRINGS_AND_COMMENTS = re.compile(rf"{_STRING}|{_UNCLOSED}|%\*.*?\*%|%[^\n]*", re.DOTALL)
_BLANKED = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"#\s*(script|include)\b")
_NUL, _STRAY = re.compile("\0"), re.compile(r"[^\x00-\x7f]")
_STOP = re.compile(r"(?<!\.)\.(?!\.)")
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{10,}(?!\w)")
_OPERATOR = re.compile(r"[-+*/\\&?^~|]|\.\.")
_BRACKET = re.compile(r"[(\[{]|[)\]}]")
_PART = re.compile(r"[,;:<>=!]")
_TOKEN = re.compile("|".join(one.pattern for one in (_BRACKET, _PART, _OPERATOR)))
_SHORT = 100
_MOST_BYTES = 1 << 30
_MOST_NESTED, _MOST_OPERATORS = 60, 120
"""Brackets and operators inside one another. A walk over a syntax tree takes up to five of Python's 1,000
calls a level."""
_MOST_PARTS, _MOST_IN_BRACES = 10_000, 100_000
"""Literals and arguments of a statement without its braces and of an element in braces, and all in braces.
clingo takes quadratic time for the former."""


def code_of(text: str) -> str:
    """A program without its strings and comments; every other character stays where it was."""
    pieces, at, last = [], 0, text.rfind("*%")
    # Comments that nothing closes are not followed to the end of the text again and again.
    while match := (_STRINGS_AND_COMMENTS if at <= last else _STRINGS_AND_LINES).search(text, at):
        hidden = match.lastgroup != "unclosed"
        pieces += [text[at : match.start()], _BLANKED.sub(" ", match[0]) if hidden else match[0]]
        at = match.end()
    return "".join((*pieces, text[at:]))


def directive(text: str) -> str | None:
    """``"script"`` or ``"include"``, if a program runs code or reads files."""
    result = _DIRECTIVE.search(code_of(text)) if "#" in text else None
    return result[1] if result else None


def stray(text: str) -> tuple[int, str] | None:
    """The offset of the first character that clingo cannot take, and the character as a sentence shows it.

    That is a NUL anywhere, or what is not ASCII outside of strings and comments.
    """
    if text.isascii() and "\0" not in text:
        return None
    result = _NUL.search(text) or _STRAY.search(code_of(text))
    if result is None:
        return None
    character = f"'{result[0]}'" if result[0].isprintable() else ascii(result[0])
    return result.start(), f"{character} (U+{ord(result[0]):04X})"


def check_characters(text: str, what: str) -> None:
    """Raise a UserError if a program has a `stray` character.

    Args:
        text: ASP.
        what: the program's name in the sentence, e.g. ``"the hypothesis"``.
    """
    if found := stray(text):
        offset, character = found
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        raise UserError(
            f"{_title(what)}, line {line}, column {column}: the character {character} is not allowed; only "
            "ASCII is, except in strings and comments."
        )


def check_text(text: str, what: str) -> None:
    """`check_characters`, and refuse statements that are nested too deep or are too long to be parsed.

    Args:
        text: ASP.
        what: the program's name in the sentence.
    """
    check_characters(text, what)
    if _LONG_NUMBER.search(text):
        _check_numbers(code_of(text), what)
    if len(text) <= _SHORT:
        return
    for statement in _STOP.split(code_of(text)):
        if len(statement) > _SHORT and _is_too_long(statement):
            raise UserError(
                f"{_title(what)}: the statement '{' '.join(statement.split())[:40]}...' is too long; at "
                f"most {_MOST_NESTED} nested brackets, {_MOST_OPERATORS} operators in one term, and "
                f"{_MOST_PARTS} literals or arguments are allowed, and {_MOST_IN_BRACES} in braces."
            )


def _check_numbers(code: str, what: str) -> None:
    """Refuse integers that clingo would take modulo 2^32."""
    for match in _LONG_NUMBER.finditer(code):
        digits = match.group().lstrip("0")
        least = digits == "2147483648" and code[: match.start()].rstrip().endswith("-")
        if len(digits) > 10 or (len(digits) == 10 and digits > "2147483647" and not least):
            number = digits if len(digits) <= 20 else f"{digits[:8]}... ({len(digits)} digits)"
            line = code.count("\n", 0, match.start()) + 1
            column = match.start() - code.rfind("\n", 0, match.start())
            raise UserError(
                f"{_title(what)}, line {line}, column {column}: integers must be between -2147483648 and "
                f"2147483647; got {number}."
            )


def _title(what: str) -> str:
    """A text's name as a sentence begins."""
    return what[:1].upper() + what[1:] if what.startswith("the ") else what


def _is_too_long(statement: str) -> bool:
    """Whether a statement goes beyond a limit."""
    if _depth(statement) > _MOST_NESTED:
        return True
    if len(_OPERATOR.findall(statement)) <= _MOST_OPERATORS and len(_PART.findall(statement)) <= _MOST_PARTS:
        return False
    return _operator_depth(statement) > _MOST_OPERATORS or _has_many_parts(statement)


def _operator_depth(statement: str) -> int:
    """How many operators are inside one another, at most: those of a term and of the brackets around it."""
    # of each open bracket: operators of the term, the most in its brackets, the most of earlier terms
    levels = [[0, 0, 0]]

    def end_term() -> None:
        operators, inside, most = levels[-1]
        levels[-1] = [0, 0, max(most, operators + inside)]

    def close() -> None:
        end_term()
        inside = levels.pop()[2]
        if not levels:
            levels.append([0, 0, 0])
        levels[-1][1] = max(levels[-1][1], inside)

    for token in _TOKEN.findall(statement):
        if token in "([{":
            levels.append([0, 0, 0])
        elif token in ")]}":
            close()
        elif token in ",;:":
            end_term()
        elif _OPERATOR.match(token):
            levels[-1][0] += 1
    while len(levels) > 1:
        close()
    end_term()
    return levels[0][2]


def _has_many_parts(statement: str) -> bool:
    """Whether a statement without its braces, one element in braces, or all of them have too many parts."""
    outside = inside = element = most = 0
    brackets: list[str] = []
    for token in _TOKEN.findall(statement):
        if token in "([{":
            brackets.append(token)
        elif token in ")]}":
            brackets = brackets[:-1]
        elif _PART.match(token) and "{" in brackets:
            inside += 1
            element = 0 if token == ";" and brackets[-1] == "{" else element + 1
            most = max(most, element)
        elif _PART.match(token):
            outside += 1
    return max(outside, most) > _MOST_PARTS or inside > _MOST_IN_BRACES


def _depth(statement: str) -> int:
    """How many brackets are open at once, at most."""
    depth = most = 0
    for bracket in _BRACKET.findall(statement):
        depth += 1 if bracket in "([{" else -1
        most = max(most, depth)
    return most


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without the mark that some editors begin it with."""
    with files.opened(path, empty=True) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise UserError(f"{path} must be at most {_MOST_BYTES >> 20} MiB; it is {size >> 20} MiB.")
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UserError(f"{path} must be UTF-8 text; it has other bytes.") from None
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.") from None
