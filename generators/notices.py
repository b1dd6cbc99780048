"""Sentences about images that the user should know, on standard error: each once."""

import multiprocessing
import sys

_notices: set[str] = set()


def say(sentence: str) -> None:
    """Say a sentence, unless it was said before or this is a process that works for another one."""
    if sentence not in _notices and multiprocessing.parent_process() is None:
        _notices.add(sentence)
        print(sentence, file=sys.stderr)
