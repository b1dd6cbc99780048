"""Names for the predicates of our own encodings, apart from all names of a user's program by construction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple


class Names(NamedTuple):
    """A prefix that occurs nowhere in some texts, in lower or upper case.

    Attributes:
        prefix: begins every predicate, constant and function of our own, e.g. ``"nsl_"``.
    """

    prefix: str = "nsl_"

    @classmethod
    def apart_from(cls, texts: Iterable[str]) -> Names:
        """The first of ``nsl_``, ``nsl1_``, ``nsl2_`` ... that occurs in none of the texts.

        Args:
            texts: everything that will stand in one program with the names.
        """
        found = [text for text in texts if "nsl" in text or "NSL" in text]
        for number in itertools.count():
            prefix = f"nsl{number or ''}_"
            if not any(prefix in text or prefix.upper() in text for text in found):
                return cls(prefix)
        raise AssertionError("there are endlessly many numbers")

    def __call__(self, name: str) -> str:
        """The predicate, constant or function of this name."""
        return f"{self.prefix}{name}"

    def variable(self, name: str) -> str:
        """The variable of this name."""
        return f"{self.prefix}{name}".upper()
