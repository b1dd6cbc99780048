"""Grounding by clingo, with its complaints as one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nsl_bench.asp.ground_program import GroundProgram
from nsl_bench.asp.parsing import grounding_message
from nsl_bench.errors import UserError

if TYPE_CHECKING:
    from clingo import Control
    from clingo.ast import AST

    from nsl_bench.asp.program import Program

__all__ = ["check_safety", "grounded"]


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
    from clingo import Control
    from clingo.ast import ProgramBuilder

    messages: list[str] = []
    control = Control(
        ["--warn=none", *arguments], logger=lambda _, message: messages.append(message), message_limit=5
    )
    watching = observer or GroundProgram(keep=False)
    if observer is not None or check is not None:
        control.register_observer(watching)  # type: ignore[arg-type]
    try:
        with ProgramBuilder(control) as builder:
            for node in nodes:
                builder.add(node)
        control.add("base", [], text)
        watching.ground(control, check or (lambda: None))
    except RuntimeError:
        raise UserError(f"{what} cannot be grounded: {grounding_message(messages)}.") from None
    return control


def check_safety(program: Program, what: str) -> None:
    """Ground a program for no example at all, which finds what is unsafe and names it as written.

    Args:
        program: the program.
        what: as for `grounded`.

    Raises:
        UserError: a variable is unsafe.
    """
    grounded(what, program.nodes)
