"""Grounding by clingo, with its complaints as one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.parsing import QuietControl

if TYPE_CHECKING:
    from clingo import Control
    from clingo.ast import AST


def grounded(
    what: str,
    nodes: Iterable[AST] = (),
    text: str = "",
    *,
    arguments: Sequence[str] = (),
    observer: GroundProgram | None = None,
    check: Callable[[], None] | None = None,
) -> Control:
    """A clingo control that has grounded a program.

    Args:
        what: how the sentence begins that says why it cannot be grounded, e.g. ``"The hypothesis"``.
        nodes: statements as syntax trees.
        text: further statements.
        arguments: clingo's options.
        observer: collects the ground rules.
        check: is called now and then, and may raise what ends grounding.

    Raises:
        UserError: a variable is unsafe, or clingo cannot ground it for another reason.
        MemoryError: the observer allows no more rules.
    """
    from clingo.ast import ProgramBuilder

    control = QuietControl(arguments, what)
    watching = observer or GroundProgram(keep=False)
    if observer is not None or check is not None:
        control.register_observer(watching)  # type: ignore[arg-type]
    with ProgramBuilder(control) as builder:
        for node in nodes:
            builder.add(node)
    control.add("base", [], text)
    watching.ground(control, check or (lambda: None))
    return control
