"""Rules of a hypothesis: built from the modes, or given whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nsl_bench.logic.las.enumeration.building_blocks import Part
from nsl_bench.logic.las.enumeration.heads import HeadForm
from nsl_bench.logic.las.tables.body_literals import BodyLiteral
from nsl_bench.logic.las.tables.literals import Vocabulary
from nsl_bench.logic.las.thresholds import priced, spelled

if TYPE_CHECKING:
    from nsl_bench.logic.las.bias.costs import RuleParts


class Rule(NamedTuple):
    """A rule as a hypothesis may hold it.

    Attributes:
        cost: what it costs.
        head: its head; None if it is given whole.
        parts: its body; variables are numbers, the head's first.
        types: type of each variable.
        given: its text if it is given whole.
    """

    cost: int
    head: HeadForm | None = None
    parts: tuple[Part, ...] = ()
    types: tuple[str, ...] = ()
    given: str = ""


def rule_text(rule: Rule, literals: Sequence[BodyLiteral], vocabulary: Vocabulary) -> str:
    """The rule in ASP, with type guards and, without replacement, inequalities.

    Args:
        rule: a head and placed body literals, or a rule given whole.
    """
    if rule.given or rule.head is None:
        return rule.given
    head, texts, names = _written(rule, rule.head, literals)
    if vocabulary.without_replacement:
        from nsl_bench.logic.las.enumeration.without_replacement import inequalities

        texts += inequalities(rule.parts, names, literals)
    order = [v for v, name in sorted(enumerate(names), key=lambda each: int(each[1][1:] or 0)) if name]
    guards = [f"{rule.types[v]}({names[v]})" for v in order if vocabulary.domain(rule.types[v]).guarded]
    body = list(dict.fromkeys(spelled([*texts, *guards], head)))
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def priced_parts(rule: Rule, literals: Sequence[BodyLiteral]) -> RuleParts:
    """The head and the body literals of a rule from the modes, as `#bias` prices them."""
    assert rule.head is not None
    head, texts, _ = _written(rule, rule.head, literals)
    return head, tuple(priced(texts))


def _written(rule: Rule, form: HeadForm, literals: Sequence[BodyLiteral]) -> tuple[str, list[str], list[str]]:
    """Head, body literals, and the names of the variables by their numbers."""
    order = list(dict.fromkeys([*range(len(form.types)), *(v for _, vs in rule.parts for v in vs)]))
    names = [""] * (max(order, default=-1) + 1)
    for i, variable in enumerate(order):
        names[variable] = f"V{i + 1}"
    texts = [literals[i].text([names[v] for v in variables]) for i, variables in rule.parts]
    return form.text(names), texts, names
