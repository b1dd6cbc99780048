"""Errors that the user can fix: one clear sentence, exit code 2, no traceback."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Bad input. Its text is one sentence that names what was given, what is allowed, and the fix."""

    def __init__(self, text: str) -> None:
        # What is quoted last, such as another program's error, may end in a mark of its own.
        super().__init__(re.sub(r"(?<!\.)(?:([?!])|[.:;,])\.$", lambda mark: mark[1] or ".", text))


class NotApplicable(UserError):
    """A learner cannot take a task, whatever the data. Its text says what it lacks."""


class Interrupted(Exception):
    """Ctrl-C during work that is kept. Its text says what is kept and how to resume."""


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise a `UserError` where the system refuses something: `what` as a sentence, with the reason."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {error.strerror}.") from error


_SURE = 0.8
"""How alike a name is that was certainly meant."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion with a leading space (`" Did you mean 'noir'?"`), or the known names, or ``""``."""
    import difflib  # every start would pay for it, and few make mistakes

    def likeness(other: str) -> tuple[float, bool]:
        return difflib.SequenceMatcher(None, other, name).ratio(), sorted(other) == sorted(name)

    names = sorted(set(known))
    close = {other: likeness(other) for other in difflib.get_close_matches(name, names, n=3, cutoff=0.6)}
    if max(close.values(), default=(0, False)) < (_SURE, False):  # else a word of a name will do
        words = {other: max(map(likeness, other.split("_"))) for other in names if "_" in other}
        close |= {other: alike for other, alike in words.items() if alike >= (_SURE, False)}
    if close:
        *others, last = [f"'{other}'" for other, alike in close.items() if alike == max(close.values())]
        return f" Did you mean {', '.join(others)}{' or ' * bool(others)}{last}?"
    return f" Known: {', '.join(names)}." if names else ""


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: ``"1 run"``, ``"2,000 runs"``; `several` if the plural has no s more."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def named(error: BaseException) -> str:
    """The kind of an exception that is not ours, and the first line of what it says."""
    try:
        text = str(error)
    except Exception:  # one of a stranger's class may have no text
        text = ""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}".removesuffix(": ")


def unknown(kind: str, name: str, names: Iterable[str]) -> UserError:
    """The error for an unknown name, e.g. ``unknown("shift", "nior", shifts)``."""
    return UserError(f"Unknown {kind} '{name}'.{did_you_mean(name, names)}")
