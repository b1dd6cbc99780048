"""Learned rules as HTML: readable, coloured, and nothing in them is markup."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

__all__ = ["rule_html"]

# In time linear in the rule: words are tried at their beginning alone, and a string without an end is one.
_ASP = re.compile(
    r"(?P<s>\"(?:\\.|[^\"\\])*\"?)|(?P<k>\bnot\b|:-)|(?P<v>\b_*[A-Z]\w*|\b_\b)|(?P<n>\b\d+\b)"
    r"|(?P<p>\b[a-z_]\w*(?=\())|(?P<o>!=|<=|>=|[<>=+\-*/])"
)
_TREE = re.compile(r"(?P<k>\bif\b)|(?P<n>(?<= )-?\d[\d.e+-]*)")


def rule_html(rule: str, language: str | None = "asp") -> Markup:
    """A rule with its tokens in spans; long bodies break before each literal.

    Args:
        rule: its text.
        language: ``"asp"`` or ``"tree"``.
    """
    pattern = _TREE if language == "tree" else _ASP
    pieces: list[Markup] = []
    end = 0
    for match in pattern.finditer(rule):
        pieces.append(escape(rule[end : match.start()]))
        pieces.append(Markup('<span class="{}">{}</span>').format(match.lastgroup, match.group()))
        end = match.end()
    pieces.append(escape(rule[end:]))
    return Markup("").join(pieces)
