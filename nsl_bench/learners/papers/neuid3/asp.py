"""A tree as a DeepProbLog program, or as an answer set program: what its networks see is named by facts.

A neural test says nothing about concepts until its networks are named. `tables` asks a test about images of
known concepts, which gives the pairs of concepts for which it holds; the program states them.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.core.types import AnyInts, Bools
from nsl_bench.learners.papers.neuid3.questions import Data, Question, Trained
from nsl_bench.learners.papers.neuid3.tree import Node, branches, nodes
from nsl_bench.learners.view import View

_SHOWN = 4
"""Images of a concept that a test is asked about."""

Table = npt.NDArray[np.float64]
"""float64 [concepts, concepts]: P(test) for what its two slots show; NaN for concepts they never show."""


def tables(root: Node, data: Data, concepts: AnyInts, n: int) -> dict[int, Table]:
    """What the neural tests of a tree say of each pair of concepts, by the test's ``id``.

    Args:
        concepts: int [examples, slots], what the images show (BLANK: nothing).
    """
    return {
        id(node.question): _table(node.question, data, concepts, n)
        for node in nodes(root)
        if isinstance(node.question, Trained)
    }


def _table(question: Trained, data: Data, concepts: AnyInts, n: int) -> Table:
    import torch

    slots = question.test.slots
    images_of = [
        {
            c: np.flatnonzero(concepts[:, slot] == c)[:_SHOWN]
            for c in range(n)
            if (concepts[:, slot] == c).any()
        }
        for slot in slots
    ]
    pairs = [(c, d) for c in images_of[0] for d in images_of[1] if not question.test.single or c == d]
    left = np.concatenate([np.resize(images_of[0][c], _SHOWN) for c, _ in pairs])
    right = np.concatenate([np.resize(images_of[1][d], _SHOWN) for _, d in pairs])
    images = data.images[left].clone()
    images[:, slots[1]] = data.images[right][:, slots[1]]
    answers = question.networks.ask(images, torch.arange(len(images))).reshape(len(pairs), _SHOWN)
    table = np.full((n, n), np.nan)
    for (c, d), value in zip(pairs, answers.mean(dim=1).tolist(), strict=True):
        table[c, d] = value
    return table


def program(roots: Mapping[str, Node], named: Mapping[int, Table], view: View) -> tuple[str, ...]:
    """Rules that derive the atom of each tree where its leaf says so with at least even odds.

    Args:
        roots: trees by the atom that they derive.
        named: `tables` of all neural tests.
    """
    names: dict[int, str] = {}
    rules: list[str] = []
    for root in roots.values():
        for node in nodes(root):
            question = node.question
            if isinstance(question, Trained) and id(question) not in names:
                names[id(question)] = name = _free(question.name, names.values())
                rules += _definition(name, question, named[id(question)] >= 0.5, view)
            elif question is not None:
                names.setdefault(id(question), question.name)
    for atom, root in roots.items():
        for leaf, path in branches(root):
            if leaf.share < 0.5:
                continue
            tests = ((names[id(question)], holds) for question, holds in path)
            body = ", ".join(name if holds else f"not {name}" for name, holds in tests)
            rules.append(f"{atom} :- {body}." if body else f"{atom}.")
    return tuple(rules)


def deepproblog(roots: Mapping[str, Node], slots: Sequence[str]) -> str:
    """A DeepProbLog program in which each atom has the probability of its tree.

    Slots are constants that a query replaces by images. Facts that a perceiver or the metadata tells must be
    added for each example.
    """
    names: dict[int, str] = {}
    lines: list[str] = []
    for atom, root in roots.items():
        for leaf, path in branches(root):
            body = []
            for question, holds in path:
                if id(question) not in names:
                    names[id(question)] = name = f"test{len(names) + 1}"
                    lines += [f"% {name}: {question.words}", *_predicates(name, question)]
                seen = question.test.slots if isinstance(question, Trained) else ()
                told = f"({','.join(slots[slot] for slot in seen)})" if seen else ""
                body.append(("" if holds else "\\+ ") + names[id(question)] + told)
            lines.append(f"{leaf.share:.6f}::{atom}" + (f" :- {', '.join(body)}." if body else "."))
    return "\n".join(lines) + "\n"


def _predicates(name: str, question: Question) -> list[str]:
    """The neural predicates and rules of a test."""
    if not isinstance(question, Trained):
        return [f"{name} :- {question.name}."]
    test = question.test
    if test.relation is None:
        return [f"nn({name},[X,Y],V,[0,1]) :: {name}_says(X,Y,V).", f"{name}(X,Y) :- {name}_says(X,Y,1)."]
    networks = [f"{name}_of"] if test.shared else [f"{name}_first", f"{name}_second"]
    lines = [f"nn({one},[X],V,{list(range(test.values))}) :: {one}(X,V)." for one in networks]
    lines.append(f"{name}(X,Y) :- {networks[0]}(X,A), {networks[-1]}(Y,B), {name}_holds(A,B).")
    return lines + [f"{name}_holds({a},{b})." for a, b in np.argwhere(test.relation)]


def _free(name: str, taken: Any) -> str:
    """A name of a predicate that no other test has."""
    wanted = re.sub(r"\W", "_", name)
    names = itertools.chain([wanted], (f"{wanted}_{number}" for number in itertools.count(2)))
    return next(one for one in names if one not in taken)


def _definition(name: str, question: Trained, holds: Bools, view: View) -> list[str]:
    """Rules for one test: concepts that it cannot tell apart are one value of a slot."""
    slots = question.test.slots
    if question.test.single:
        return _values(name, slots[0], np.diag(holds)[:, None], view, single=True)[1]
    left, of_left = _values(f"{name}_first", slots[0], holds, view)
    right, of_right = _values(f"{name}_second", slots[1], holds.T, view)
    pairs = [
        f"{name} :- {name}_first({k}), {name}_second({m})."
        for (k, c), (m, d) in itertools.product(enumerate(left), enumerate(right))
        if holds[c, d]
    ]
    return [*of_left, *of_right, *pairs]


def _values(
    name: str, slot: int, rows: Bools, view: View, *, single: bool = False
) -> tuple[list[int], list[str]]:
    """One concept for each value that a test gives a slot, and rules that state the slot's value.

    A rule mentions as few facts of a concept as decide its value.
    """
    facts_of = {c: view.facts(slot, name) for c, name in enumerate(view.concept_space.concepts)}
    facts_of = {c: facts for c, facts in facts_of.items() if facts}
    classes: dict[bytes, list[int]] = {}
    for c in facts_of:
        classes.setdefault(rows[c].tobytes(), []).append(c)
    value_of = {c: k for k, members in enumerate(classes.values()) for c in members}
    places = _deciding(facts_of, value_of)
    heads: dict[str, None] = {}
    for c, facts in facts_of.items():
        body = ", ".join(facts[k] for k in places if k < len(facts))
        if single and not rows[c].any():
            continue
        heads[f"{name} :- {body}." if single else f"{name}({value_of[c]}) :- {body}."] = None
    return [members[0] for members in classes.values()], list(heads)


def _deciding(facts_of: Mapping[int, tuple[str, ...]], value_of: Mapping[int, int]) -> Sequence[int]:
    """Positions of the fewest facts that decide the value of every concept."""
    most = max(map(len, facts_of.values()), default=0)
    for size in range(1, most + 1):
        for places in itertools.combinations(range(most), size):
            seen: dict[tuple[str, ...], int] = {}
            keys = {c: tuple(facts[k] for k in places if k < len(facts)) for c, facts in facts_of.items()}
            if all(seen.setdefault(key, value_of[c]) == value_of[c] for c, key in keys.items()):
                return places
    return range(most)
