"""The harness's answers to what a learner's process asks about a view.

The view refuses what its track does not allow.

`nsl_bench.sandbox.remote` is the other side.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import numpy as np

from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.learners.view import TrackError, View
from nsl_bench.sandbox.remote import BATCH

__all__ = ["LONGEST_RULES", "answer", "card_of"]

LONGEST_RULES = 1 << 22
"""Characters of the rules that a learner may have."""


def card_of(view: View) -> dict[str, Any]:
    """The content of a view that a learner's process gets at the start."""
    try:
        images = view.images is not None
    except TrackError:
        images = False
    try:
        labels = view.labels
    except TrackError:
        labels = None
    space = view.label_space
    return {
        "view": id(view),
        "name": view.benchmark_name,
        "track": view.track,
        "part": view.part,
        "n": len(view),
        "time_limit": view.time_limit,
        "device": view.device,
        "label_names": space.names,
        "label_atoms": space.atoms,
        "slots": view.slots,
        "sequential": view.sequential,
        "sequences": view.sequences,
        "steps": view.steps,
        "metadata": {name: _fixed(column) for name, column in view.metadata.items()},
        "labels": labels,
        "images": images,
    }


def _fixed(column: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(column)
    return array.astype(str) if array.dtype.kind == "O" else array


_ASKED = frozenset(
    (
        *("symbols", "memory", "background", "bias", "features", "knowledge_features"),
        *("contexts", "sequence_contexts", "literals", "literal_bodies", "literal_names"),
    )
)
"""Attributes of a view that a learner's process may ask for as they are."""


def answer(view: View, question: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of a learner's process about a view, or refuse it."""
    try:
        return {"answer": _answer(view, question)}
    except TrackError as error:
        return {"error": str(error), "kind": "track"}
    except NotApplicable as error:
        return {"error": str(error), "kind": "not_applicable"}
    except UserError as error:
        return {"error": str(error), "kind": "user"}
    except Exception as error:  # the question may be anything
        return {"error": f"{type(error).__name__}: {error}", "kind": "other"}


def _answer(view: View, question: dict[str, Any]) -> Any:
    what = question["ask"]
    if what == "predictions":
        try:
            seen = view.predictions
        except TrackError:
            return None
        return {"probabilities": seen.probabilities, "blank": seen.blank}
    if what == "concept_space":
        space = view.concept_space
        return {"name": space.name, "concepts": space.concepts, "background": space.background}
    if what == "facts":
        concepts = view.concept_space.concepts
        return [[view.facts(slot, concept) for concept in concepts] for slot in range(len(view.slots))]
    if what == "feature_names":
        return view.feature_names(knowledge=bool(question["knowledge"]))
    if what == "feature_test":
        column, threshold = int(question["column"]), float(question["threshold"])
        return asdict(view.feature_test(column, threshold, knowledge=bool(question["knowledge"])))
    if what == "images":
        return _images(view, [int(row) for row in question["rows"]])
    if what == "report":
        rules = [str(rule) for rule in question["rules"]]
        if sum(map(len, rules)) <= LONGEST_RULES:
            view.report(rules)
        return None
    if what == "few_labels":
        few = view.few_labels
        return {"images": few.images, "targets": few.targets, "values": few.values}
    if what == "true_rule":
        return _form(view, str(question["form"]), question)
    if what == "step_atom":
        return view.step_atom(str(question["atom"]), int(question["step"]))
    if what in _ASKED:
        return getattr(view, what)
    raise UserError(f"A view has no '{str(what)[:50]}'.")


def _form(view: View, form: str, question: dict[str, Any]) -> Any:
    """A form of the true rule, which the view refuses outside its track."""
    rule = view.true_rule
    if form == "labels":
        concepts, rows = (np.asarray(question[name]) for name in ("concepts", "rows"))
        if {concepts.dtype.kind, rows.dtype.kind} != {"i"}:
            raise UserError("The concepts and rows of the true rule must be whole numbers.")
        return rule.labels(concepts, rows)
    if form in ("asp", "problog"):
        return asdict(rule.asp if form == "asp" else rule.problog)
    raise UserError(f"The true rule has no form '{form[:50]}'.")


def _images(view: View, rows: list[int]) -> dict[str, Any]:
    if len(rows) > BATCH:
        raise UserError(f"Images of at most {BATCH} examples can be requested at once; got {len(rows)}.")
    examples = [view.images[row] for row in rows]
    shown = [image for slots in examples for image in slots if image is not None]
    present = np.array([[image is not None for image in slots] for slots in examples], np.bool_)
    return {
        "images": np.stack(cast(Any, shown)) if shown else np.empty((0, 1, 1, 1), np.uint8),
        "present": present,
    }
