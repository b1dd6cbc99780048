"""Reading and solving the programs of a check, which something may end at any time."""

from collections.abc import Callable, Iterable, Sequence

import clingo
from clingo import ast

MOST_CONFLICTS = "umax"
"""Conflicts of a search beyond which it is given up; tests set it, so that machines agree on it."""
_EVERY = 512
_POLL = 0.05


class Unverifiable(Exception):
    """An answer cannot be checked; the text says why, in words that follow a colon."""


def parse(text: str) -> list[ast.AST]:
    """The rules and ``#const`` statements of a program."""
    result: list[ast.AST] = []
    try:
        ast.parse_string(text, result.append, logger=lambda *_: None)
    except RuntimeError:
        raise Unverifiable(f"'{text[:60]}' does not parse") from None
    kinds = (ast.ASTType.Rule, ast.ASTType.Definition)
    silent = (
        *(ast.ASTType.Program, ast.ASTType.Comment, ast.ASTType.Defined),
        *(ast.ASTType.ShowSignature, ast.ASTType.ShowTerm),
    )
    for statement in result:
        if statement.ast_type not in (*kinds, *silent):
            raise Unverifiable(f"'{statement}' is not a rule")
    return [statement for statement in result if statement.ast_type in kinds]


def literal_of(text: str) -> tuple[bool, str]:
    """Whether a body literal is under ``not``, and its atom or comparison as clingo prints it."""
    result = [literal for rule in parse(f":- {text}.") for literal in rule.body]
    if len(result) != 1 or result[0].ast_type != ast.ASTType.Literal:
        raise Unverifiable(f"'{text[:60]}' is not one literal")
    if result[0].sign == ast.Sign.DoubleNegation:
        raise Unverifiable(f"'{text[:60]}' is negated twice")
    return result[0].sign == ast.Sign.Negation, str(result[0].atom)


def grounded(lines: Iterable[str], stop: Callable[[], None], options: Sequence[str] = ()) -> clingo.Control:
    """A control with a ground program."""

    class Watch(clingo.Observer):
        seen = 0
        grounding = True  # clingo makes a RuntimeError of what is raised while it does anything else

        def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
            self.seen += 1
            if self.grounding and self.seen % _EVERY == 0:
                stop()

    control = clingo.Control(["--warn=none", *options], logger=lambda *_: None)
    watch = Watch()
    control.register_observer(watch)
    control.configuration.solve.solve_limit = MOST_CONFLICTS  # type: ignore[union-attr]
    try:
        control.add("\n".join(lines))
        control.ground()
        watch.grounding = False
    except RuntimeError as error:
        raise Unverifiable(f"clingo cannot ground it ({error})") from None
    return control


def solved(
    control: clingo.Control, keep: Callable[[clingo.Model], None], stop: Callable[[], None]
) -> clingo.SolveResult:
    """Search, with `stop` called all the while, which may raise what ends the search."""
    with control.solve(on_model=keep, async_=True) as handle:
        while not handle.wait(_POLL):
            stop()
        result: clingo.SolveResult = handle.get()
        return result


def answer_sets(lines: Iterable[str], most: int, stop: Callable[[], None]) -> list[list[clingo.Symbol]]:
    """The shown atoms of at most so many answer sets; 0: of all."""
    answers: list[list[clingo.Symbol]] = []
    control = grounded(lines, stop, [str(most)])
    result = solved(control, lambda model: answers.append(list(model.symbols(shown=True))), stop)
    if not result.exhausted and not 0 < most <= len(answers):
        raise Unverifiable("clingo gave up")
    return answers
