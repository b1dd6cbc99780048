"""Check tasks that parse: modes that no rule can use, and examples that are not ground."""

from collections.abc import Iterable

from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.program import Signature, statement
from nsl_bench.logic.las.language_bias import ModeAtom, ModeBody, ModeHead
from nsl_bench.logic.las.task import LasTask


def check_task(task: LasTask) -> str:
    """Refuse a task whose language bias cannot mean what it says.

    In ILASP's dialect a type may be a mere label of variables that positive literals bind.
    Propositions (predicates without arguments) may be unknown: that they hold nowhere is no sign of a
    mistake. The contexts are only looked at until everything that the modes name has been found.

    Returns:
        What the user should know: body modes of predicates that nothing derives. Empty if there are none.
    """
    notes: dict[str, None] = {}
    bias = task.bias
    modes: list[ModeHead | ModeBody] = [*bias.heads, *bias.bodies]
    terms = bias.patterns
    types = {place.type for term in terms for place in term.placeholders if place.kind != "num_var"}
    wanted = {(kind, 1) for kind in types}
    wanted |= {t.signature for t in terms if isinstance(t, ModeAtom) and t.arguments}
    derived = set(task.program.derived | bias.learned)
    mentioned = task.program.signatures
    missing = _not_in_contexts(task, wanted - derived)
    guarded = {kind for kind in types if (kind, 1) not in missing}
    constants = {kind for kind, _ in bias.constants}
    binding = {
        kind
        for body in bias.literals
        if not body.negated and isinstance(body.literal, ModeAtom)
        for kind in body.literal.variable_types
    }
    for mode, term in zip(modes, terms, strict=True):
        for place in term.placeholders:
            label = bias.dialect == "ilasp" and place.kind == "var" and place.type in binding
            if place.kind != "num_var" and place.type not in guarded | constants and not label:
                raise _at(
                    task,
                    mode,
                    f"'{term}' has the type '{place.type}', which no fact, rule or #constant gives a value."
                    f"{_close(place.type, guarded | constants)}",
                )
        if isinstance(term, ModeAtom) and term.signature in missing - mentioned and term.arguments:
            name, arity = term.signature
            names = {n for n, _ in derived | (wanted - missing)} - {name}
            notes[f"Nothing derives {name}/{arity}, so that it holds nowhere.{_close(name, names)}"] = None
    for mode in bias.bodies:
        if mode.literal.has_thresholds and bias.ground_without_replacement:
            raise _at(task, mode, "num_var(type) and #ground_without_replacement do not go together.")
    for head in bias.heads:
        for kind in head.atom.variable_types:
            if kind not in guarded | binding:
                raise _at(
                    task,
                    head,
                    f"a variable of the type '{kind}' cannot be made safe: no fact or rule derives {kind}/1, "
                    "and no positive body literal has such a variable.",
                )
    if bias.doubt:
        raise UserError(f"{task.name}: {bias.doubt}")
    return " ".join(notes)


def _at(task: LasTask, mode: ModeHead | ModeBody, what: str) -> UserError:
    place = task.places.get(str(mode))
    where = f"{task.name}, line {place[0]}, column {place[1]}" if place else f"{task.name}, {mode}"
    return UserError(f"{where}: {what}")


def _close(name: str, names: Iterable[str]) -> str:
    suggestion = did_you_mean(name, names)
    return suggestion if "Did you mean" in suggestion else ""


def _not_in_contexts(task: LasTask, wanted: set[Signature]) -> set[Signature]:
    """Those of `wanted` that no context derives."""
    left = set(wanted)
    for context in task.contexts:
        if not left:
            break
        for text in context:
            atom = read_atom(text)
            left -= {atom.signature} if atom is not None else statement(text).derived
    return left


def without_constant(kind: str) -> UserError:
    """The error that a type has no constant, although a mode declaration asks for one."""
    return UserError(
        f"The type '{kind}' of const({kind}) has no constant; add #constant({kind}, value). or facts "
        f"{kind}(value)."
    )
