"""A table circuit as an answer set program: a fact for each entry, and the memory as a recursion over steps.

An entry ``entry(3,9,1,3,1)`` says: where the symbols of a step are 3 and 9 and the memory that comes in is
1, the answer is label 3 and the memory that goes out is 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nsl_bench.learners.view import View

LEAST = 0.5
"""Weight that the likeliest answer and memory of a product must have to become an entry."""


def program(theta: npt.NDArray[np.float64], values: tuple[int, ...], view: View) -> tuple[str, ...]:
    """The rules of a circuit.

    Args:
        theta: float64 [worlds, memory in, answers, memory out], `TableCircuit.theta`.
        values: number of values of each symbol.
    """
    rules = list(_entries(theta, values))
    sequential = view.sequential
    step = "T" if sequential else "1"
    for number, symbol in enumerate(view.symbols):
        rules += [f"symbol({step},{number},{value}) :- {said}." for value, said in enumerate(symbol)]
    told = view.memory
    rules += [f"memory(T,{value}) :- {said}." for value, said in enumerate(told)] or ["memory(1,0)."]
    names = [f"X{k}" for k in range(len(values))]
    shown = ", ".join(f"symbol(T,{k},{name})" for k, name in enumerate(names))
    body = f"{shown}, memory(T,M)"
    key = ",".join(names)
    rules.append(f"answer(T,Y) :- {body}, entry({key},M,Y,N).")
    if sequential:
        rules.append(f"memory(T+1,N) :- {body}, entry({key},M,Y,N).")
    for label, atom in enumerate(view.label_space.atoms):
        if atom is not None:
            rules.append(f"{_at(atom) if sequential else atom} :- answer({step},{label}).")
    return tuple(rules)


def _entries(theta: npt.NDArray[np.float64], values: tuple[int, ...]) -> list[str]:
    """A fact for each product whose weights have become nearly certain."""
    worlds, memory, answers, out = theta.shape
    flat = theta.reshape(worlds, memory, answers * out)
    best, weight = flat.argmax(axis=2), flat.max(axis=2)
    result = []
    for world, came in zip(*np.nonzero(weight >= LEAST), strict=True):
        answer, went = divmod(int(best[world, came]), out)
        symbols: tuple[Any, ...] = np.unravel_index(int(world), values)
        told = ",".join(str(int(value)) for value in (*symbols, came, answer, went))
        result.append(f"entry({told}).")
    return result


def _at(atom: str) -> str:
    """An atom with the variable ``T`` as its step."""
    name, bracket, arguments = atom.partition("(")
    return f"{name}(T,{arguments}" if bracket else f"{name}(T)"
