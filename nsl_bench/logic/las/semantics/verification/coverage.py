"""Which examples a hypothesis covers: the definition, by clingo, one program for one hypothesis.

A positive example is covered if some answer set of background, hypothesis and its context holds its
inclusions and none of its exclusions, a negative one if none does. Where the copies of many examples have
one answer set together, each copy has one, and it says which are covered. Else each is asked by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nsl_bench.logic.las.semantics.verification.plain import PlainTask
from nsl_bench.logic.las.semantics.verification.solving import answer_sets
from nsl_bench.logic.las.semantics.verification.statements import Asked, Statements, asked_by

_TOGETHER = 20_000
"""Statements of contexts in one program, which bounds its memory."""


def covered_examples(task: PlainTask, hypothesis: Sequence[str], stop: Callable[[], None]) -> list[bool]:
    """Whether the hypothesis covers each example."""
    statements = Statements(task, hypothesis)
    satisfied: dict[Asked, bool] = {}
    shared: list[str] | None = None
    for group in _groups(list(dict.fromkeys(map(asked_by, task.examples)))):
        known = _together(statements, group, stop)
        if known is None:
            shared = shared or [*statements.common(), *statements.hypothesis()]
            known = [_alone(statements, shared, asked, stop) for asked in group]
        satisfied.update(zip(group, known, strict=True))
    return [satisfied[asked_by(example)] == example.positive for example in task.examples]


def _groups(contents: Sequence[Asked]) -> Iterator[list[Asked]]:
    group: list[Asked] = []
    held = 0
    for asked in contents:
        if group and held + len(asked[2]) > _TOGETHER:
            yield group
            group, held = [], 0
        group.append(asked)
        held += len(asked[2]) + 1
    if group:
        yield group


def _together(statements: Statements, group: Sequence[Asked], stop: Callable[[], None]) -> list[bool] | None:
    """Whether each example is satisfied, if their copies have exactly one answer set; else None."""
    lines = [f"copy(0..{len(group) - 1}).", "#show satisfied/1."]
    lines += statements.common(violation=True)
    lines += statements.hypothesis(violation=True)
    for i, asked in enumerate(group):
        lines += statements.context(i, asked[2], violation=True)
        literals = [f"copy({i})", *statements.satisfied(i, asked), f"not violated({i})"]
        lines.append(f"satisfied({i}) :- {', '.join(literals)}.")
    models = answer_sets(lines, 2, stop)
    if len(models) != 1:
        return None
    found = {symbol.arguments[0].number for symbol in models[0]}
    return [i in found for i in range(len(group))]


def _alone(statements: Statements, shared: Sequence[str], asked: Asked, stop: Callable[[], None]) -> bool:
    """Whether some answer set of one example's program satisfies it."""
    stop()
    lines = ["copy(0).", *shared, *statements.context(0, asked[2])]
    lines += [f":- not {literal}." for literal in statements.satisfied(0, asked)]
    return bool(answer_sets([*lines, "#show."], 1, stop))
