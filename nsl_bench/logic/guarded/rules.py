"""Evaluate untrusted rules in a separate process (`nsl_bench.logic.guarded.call`).

These functions do more than call one function in the child; others are called by
`nsl_bench.logic.guarded.call.guarded` itself. All raise what the function in the child raises, or
`nsl_bench.logic.guarded.call.Ended`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from nsl_bench.core.processes.messages import restored
from nsl_bench.logic.guarded.call import guarded
from nsl_bench.logic.guarded.child import GROUNDING_SECONDS, Allowance
from nsl_bench.logic.guarded.worker import stage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nsl_bench.core.types import LabelSpace
    from nsl_bench.logic.inference.engines import Engine
    from nsl_bench.logic.inference.query import Answer, Query
    from nsl_bench.logic.las.bias.hypothesis import Task

UNDERIVABLE = "nsl_bench.logic.inference.program.ground:underivable"
"""For `guarded`: the warning about a query if no rule has a label's atom in its head; None otherwise."""

_THE_HYPOTHESIS = "the hypothesis"


def one_by_one(text: str, what: str = _THE_HYPOTHESIS) -> tuple[str, ...]:
    """The constants and rules of a program, as a list of texts.

    Args:
        text: the ASP program.
        what: name of the program in messages.
    """
    return tuple(guarded("nsl_bench.logic.asp.program:statements", text, what, doing=f"Reading {what}"))


def counted(
    rules: Sequence[str], task: Task | None, what: str = _THE_HYPOTHESIS
) -> tuple[tuple[str, ...], int]:
    """Split texts into single rules and count their atoms.

    Args:
        rules: ASP rules; a text may have several.
        task: its language bias counts the atoms (`nsl_bench.logic.las.bias.hypothesis.count_atoms`); None to
            count one atom for each head and each body literal.
        what: name of the rules in messages.

    Returns:
        The rules, one text each, and their number of atoms.
    """
    bias = None if task is None else (task.name, task.background, task.bias)
    reply = guarded(_counted, tuple(rules), bias, what, doing=f"Counting the atoms of {what}")
    return tuple(reply["rules"]), int(reply["atoms"])


def _counted(rules: tuple[str, ...], bias: tuple[str, str, str] | None, what: str) -> dict[str, Any]:
    from nsl_bench.logic.asp.program import parse

    program = parse("\n".join(rules), what)
    if len(rules) != len(program.rules) + len(program.constants):
        rules = tuple(str(node) for node in program.nodes)
    if bias is None:
        atoms = sum(len(rule.node.body) + bool(rule.derives) for rule in program.rules)
    else:
        from nsl_bench.logic.las.bias.hypothesis import count_atoms

        name, background, language = bias
        task = SimpleNamespace(name=name, background=background, bias=language)
        atoms = count_atoms(task, rules, what)
    return {"rules": rules, "atoms": atoms}


def crisp(
    rules: Sequence[str],
    background: str,
    contexts: Sequence[tuple[str, ...]],
    labels: LabelSpace,
    *,
    what: str = _THE_HYPOTHESIS,
    allowance: Allowance | None = None,
) -> npt.NDArray[np.int16]:
    """int16 [n]: the label of each example (`nsl_bench.logic.inference.crisp.crisp_labels`).

    Args:
        rules: the hypothesis.
        background: background knowledge, ASP.
        contexts: facts of each example.
        labels: the labels and their atoms.
        what: name of the hypothesis in messages.
        allowance: resource limits.
    """
    import numpy as np

    from nsl_bench.logic.inference.answered import known_labels

    label_of = known_labels(rules, background, labels)
    asked = [context for context in dict.fromkeys(contexts) if context not in label_of]
    if asked or not contexts:  # rules that are wrong are refused even if there is no example
        doing = f"Answering with {what}"
        given = (tuple(rules), background, asked, labels)
        labels_asked = guarded(
            "nsl_bench.logic.inference.crisp:crisp_labels", *given, doing=doing, allowance=allowance
        )
        label_of.update(zip(asked, labels_asked.tolist(), strict=True))
    return np.array([label_of[context] for context in contexts], np.int16)


def inferred(
    engine: Callable[[], Engine],
    query: Query,
    probabilities: npt.ArrayLike,
    facts: Sequence[tuple[str, ...]] | None = None,
    *,
    what: str = _THE_HYPOTHESIS,
    allowance: Allowance | None = None,
    grounding: float | None = None,
) -> Answer:
    """An engine's answer (`nsl_bench.logic.inference.engines.Engine`).

    Args:
        engine: makes the engine, in the child; can be pickled.
        query: what the engine is asked.
        probabilities: [n, slots, concepts], concept probabilities of each slot; zeros for a blank slot.
        facts: other facts of each example, without full stops; None for none.
        what: name of the hypothesis in messages.
        allowance: resource limits; its time limit applies after grounding.
        grounding: time limit for grounding in seconds, at most that of inference; None for
            `GROUNDING_SECONDS`.
    """
    from nsl_bench.logic.inference.query import Answer

    allowance = allowance or Allowance(None)
    seconds = allowance.seconds
    grounding = grounding or GROUNDING_SECONDS
    grounding = grounding if seconds is None else min(grounding, seconds)
    reply = guarded(
        _inferred,
        engine,
        query,
        probabilities,
        facts,
        f"Inference with {what}",
        seconds,
        doing=f"Grounding {what}",
        allowance=Allowance(grounding, allowance.memory),
    )
    answer: Answer = restored(Answer, reply)
    return answer


def _inferred(
    engine: Callable[[], Engine],
    query: Query,
    probabilities: npt.ArrayLike,
    facts: Sequence[tuple[str, ...]] | None,
    doing: str,
    seconds: float | None,
) -> Answer:
    from nsl_bench.logic.inference.engines import Exact, Sampling, compiled
    from nsl_bench.logic.inference.query import checked_vectors

    inference = engine()
    checked_vectors(query, probabilities)  # wrong ones are refused before anything is compiled
    if isinstance(inference, Exact | Sampling):
        # They keep it: what they begin with is known then, and the time of grounding is over.
        given = [tuple(dict.fromkeys(own)) for own in facts or ()]
        compiled(query, given[0] if given else (), tuple(sorted({fact for own in given for fact in own})))
    stage(doing, seconds)
    return inference(query, probabilities, facts)
