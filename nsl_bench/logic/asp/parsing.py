"""ASP text to clingo's syntax trees, with errors that name line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from clingo import Control, Symbol, ast

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.text import check_text, directive

if TYPE_CHECKING:
    from clingo import Control
    from clingo.ast import AST


_REMEMBERED = 1 << 16

Value = TypeVar("Value")

_PLACE = re.compile(r"<[^>]*>:(\d+):(\d+)(?:-[\d:]+)?: (?:error: )?(.*)", re.DOTALL)
_UNSAFE = re.compile(r"'(\w+)' is unsafe")
_SCOPED = re.compile(r"[{\"|]|:(?!-)|(?<![\w'])_+(?![\w'])")
"""What may hide variables, or have some of its own."""
_BINDING = re.compile(r"(?::- |; )-?[_a-z]\w*\(([^()]*)\)(?=[;.])")
_VARIABLE = re.compile(r"(?<![\w'])_*[A-Z][\w']*")
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


def parse_text(text: str, what: str, place: tuple[int, int] = (1, 1)) -> list[ast.AST]:
    """The statements of a logic program.

    Args:
        text: ASP.
        what: its name in messages, e.g. ``"the hypothesis"`` or a file's name.
        place: line and column of the text in the file that it is from.
    """
    messages: list[str] = []
    nodes: list[ast.AST] = []
    check_text(text, what)
    if found := directive(text):
        meaning = "run code" if found == "script" else "read files"
        raise UserError(f"#{found} is not supported in {what}: programs must not {meaning}.")
    try:
        ast.parse_string(text, nodes.append, logger=lambda _, message: messages.append(message))
    except RuntimeError:
        raise UserError(_syntax_error(messages, text, what, place)) from None
    return nodes


def _syntax_error(messages: Sequence[str], text: str, what: str, place: tuple[int, int]) -> str:
    name = what[:1].upper() + what[1:] if what.startswith("the ") else what
    for message in messages:
        if match := _PLACE.match(message):
            line, column, reason = int(match[1]), int(match[2]), " ".join(match[3].split())
            lines = text.split("\n")
            if line > len(lines):  # what is missing is missing at the end
                line, column = len(lines), len(lines[-1]) + 1
            column += place[1] - 1 if line == 1 else 0
            sentence = f"{name}, line {line + place[0] - 1}, column {column}: {reason.rstrip('.')}."
            decimal = _DECIMAL.search(re.sub(r'"[^"]*"', "", lines[line - 1]))
            if decimal is None:
                return sentence
            return f"{sentence} Numbers must be whole; multiply values such as {decimal[0]} by 10 or 100."
    return f"{name}, line {place[0]}, column {place[1]}: syntax error."


class QuietControl(Control):
    """A control of clingo's whose complaints are one sentence, and nothing on the terminal.

    Args:
        arguments: clingo's options.
        what: how the sentence begins, e.g. ``"The hypothesis"``.
    """

    def __init__(self, arguments: Sequence[str] = (), what: str = "The program") -> None:
        messages: list[str] = []
        super().__init__(["--warn=none", *arguments], lambda _, message: messages.append(message), 5)
        self._messages, self._what = messages, what

    def ground(
        self, parts: Sequence[tuple[str, Sequence[Symbol]]] = (("base", ()),), context: object = None
    ) -> None:
        """Ground parts."""
        try:
            super().ground(parts, context)
        except RuntimeError:
            raise self._refusal() from None

    def add(self, *arguments: Any, **named: Any) -> None:
        """Add statements, as clingo's own control does."""
        try:
            super().add(*arguments, **named)
        except RuntimeError:
            raise self._refusal() from None

    def _refusal(self) -> UserError:
        return UserError(f"{self._what} cannot be grounded: {_grounding_message(self._messages)}.")


def complaint(nodes: Sequence[ast.AST]) -> str:
    """Why no program can hold these rules and constants, e.g. an unsafe variable; empty if one can.

    They are grounded under a condition that never holds, which takes no time.
    """
    nodes = [node for node in nodes if node.ast_type != ast.ASTType.Rule or not _binds_all(str(node))]
    if not nodes:
        return ""
    messages: list[str] = []
    control = Control(["--warn=none"], lambda _, message: messages.append(message), 5)
    try:
        with ast.ProgramBuilder(control) as builder:
            for node in nodes:
                never = ast.SymbolicAtom(ast.Function(node.location, "nsl_never", [], 0))
                literal = ast.Literal(node.location, ast.Sign.NoSign, never)
                is_rule = node.ast_type == ast.ASTType.Rule
                builder.add(node.update(body=[*node.body, literal]) if is_rule else node)
        control.ground()
    except RuntimeError:
        names = dict.fromkeys(_UNSAFE.findall("".join(messages)))
        unsafe = f"no positive literal of the body binds {', '.join(names)} (unsafe)"
        return unsafe if names else re.sub(r"^line \d+, column \d+: ", "", _grounding_message(messages))
    return ""


def _binds_all(rule: str) -> bool:
    """Whether atoms of the body bind all variables of a rule, where that is plain to see."""
    if _SCOPED.search(rule):
        return False
    bound = {name for arguments in _BINDING.findall(rule) for name in arguments.split(",")}
    return bound.issuperset(_VARIABLE.findall(rule))


def _grounding_message(messages: Sequence[str]) -> str:
    """clingo's first message as one line: ``line 1, column 5: unsafe variables in ...``."""
    text = " ".join(messages[0].split()) if messages else "clingo gives no reason"
    text = re.sub(r"^<[^>]*>:(\d+):(\d+)(?:-[\d:]+)?: ", r"line \1, column \2: ", text)
    text = re.sub(r"<[^>]*>:\d+:\d+(?:-[\d:]+)?: ", "", text)
    for inner in ("error: ", "note: ", "[#inc_base];", ":-[#inc_base]"):
        text = text.replace(inner, "")
    return text.rstrip(".")


def by_text(read: Callable[[ast.AST], Value]) -> Callable[[ast.AST], Value]:
    """The function, called once for equal parts of rules.

    Args:
        read: takes a part of a rule; its value follows from the part's kind and text, and nobody changes it.
    """
    values: dict[tuple[ast.ASTType, str], Value] = {}

    def remembered(node: ast.AST) -> Value:
        part = (node.ast_type, str(node))
        if part not in values:
            if len(values) >= _REMEMBERED:
                values.clear()
            values[part] = read(node)
        return values[part]

    return remembered


def nodes_in(node: ast.AST, *kinds: ast.ASTType) -> Iterator[ast.AST]:
    """A syntax tree's nodes, in any order.

    Args:
        node: its root.
        kinds: which nodes are asked for; all by default.
    """
    left = [node]
    while left:
        node = left.pop()
        if not kinds or node.ast_type in kinds:
            yield node
        for key in node.child_keys:
            child = getattr(node, key)
            left += [child] if isinstance(child, ast.AST) else child or ()


@by_text
def variables_in(node: ast.AST) -> frozenset[str]:
    """The names of a syntax tree's variables."""
    return frozenset(each.name for each in nodes_in(node, ast.ASTType.Variable))


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
