"""Names on the board: normalised, in one script, with visible characters only, and not confusable.

`normalised` gives the stored form of a name, or the reason why a name is invalid. Names with the same
`skeleton` look alike, and the board accepts only one of them.
"""

import re
import unicodedata
from itertools import pairwise
from string import digits

_LONGEST = 80
_PUNCTUATION = frozenset(" .,:;+()-&'*=_")
_MOST_MARKS = 2
"""Accents on one letter; more of them run over the lines above and below."""

_TOGETHER = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"CJK", "HANGUL"}),
    frozenset({"CJK", "BOPOMOFO"}),
)
"""Scripts that one language is written in."""

_FILLERS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""What takes room or changes the direction and is not seen (Default_Ignorable_Code_Point, empty Braille)."""

_ALIKE = str.maketrans(
    {
        # Cyrillic
        **dict(zip("авекмнорстухіјѕԁԛԝьпгшӏѵһґ", "abekmhopctyxijsdqwbnrwlvhr", strict=True)),
        # Greek
        **dict(zip("αβγεζηικμνορτυχωσϲϳ", "abyezhikmvoptyxwocj", strict=True)),
        # Armenian, and letters of phonetics
        **dict(zip("օսհոցզյքԁɑɡıȷʏ", "ouhngqjpdagijy", strict=True)),
        # digits
        **dict(zip("01i", "oll", strict=True)),
    }
)
"""Letters and digits, in lower case, and what they are taken for."""


def invisible(text: str) -> bool:
    """Whether a text has invisible characters, or characters that change the direction of writing."""
    return bool(_FILLERS.search(text)) or not text.isprintable()


def normalised(name: str) -> str:
    """The stored form of a name: NFKC, single spaces."""
    if invisible(name):
        raise ValueError("has invisible characters; remove them")
    text = " ".join(unicodedata.normalize("NFKC", name).split())
    if len(text) > _LONGEST or invisible(text):
        raise ValueError(f"must have at most {_LONGEST} visible characters")
    for character in text:
        if not (_kind(character) in "LM" or character in digits or character in _PUNCTUATION):
            raise ValueError(
                f"has the character {character!r}; use letters, digits, spaces and .,:;+()-&'*=_"
            )
    if not any(_kind(character) == "L" or character in digits for character in text):
        raise ValueError("must have a letter or a digit")
    words = (unicodedata.name(c, "UNNAMED") for c in text if _kind(c) == "L")
    scripts = {re.split("[ -]", name_of_letter)[0] for name_of_letter in words}
    if len(scripts) > 1 and not any(scripts <= several for several in _TOGETHER):
        raise ValueError(f"has letters of {' and '.join(sorted(scripts))}; write it in one script")
    if _piled(text):
        raise ValueError(f"has an accent without a letter, or more than {_MOST_MARKS} accents on one letter")
    return text


def skeleton(name: str) -> str:
    """The visual form of a name. Names with the same visual form can be confused."""
    text = unicodedata.normalize("NFKC", name).casefold()
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if _kind(c) != "M")
    folded = "".join(_plain(character) for character in bare).translate(_ALIKE).translate(_ALIKE)
    letters = "".join(c for c in folded if c.isalnum() or c in "+*=")
    return letters.replace("rn", "m").replace("vv", "w")


def _plain(letter: str) -> str:
    """The letter that a Latin letter with a stroke or a small capital is taken for."""
    if letter.isascii():
        return letter
    named = unicodedata.name(letter, "")
    result = re.fullmatch(r"LATIN (?:SMALL LETTER|LETTER SMALL CAPITAL) ([A-Z])(?: WITH .*)?", named)
    return result[1].lower() if result else letter


def _kind(character: str) -> str:
    return unicodedata.category(character)[0]


def _piled(text: str) -> bool:
    """Whether marks stand on no letter, or on top of each other."""
    marks = "".join("m" if _kind(c) == "M" else "l" if _kind(c) == "L" else " " for c in text)
    return any((a, b) == (" ", "m") for a, b in pairwise(f" {marks}")) or "m" * (_MOST_MARKS + 1) in marks
