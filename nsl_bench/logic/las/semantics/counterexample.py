"""Search for an input on which two hypotheses differ, preferably with few facts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from clingo import Control, HeuristicType, Model, Symbol

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.names import Names
from nsl_bench.logic.asp.program import Signature

_FIRST_CONFLICTS = "2000"
"""How long a difference is looked for by clingo's own heuristic, which is good at finding one."""

_SECONDS_TO_SHRINK = 0.5
"""How long a counterexample with fewer facts is looked for."""

_POLL = 0.05


@dataclass(frozen=True)
class Counterexample:
    """An input on which two hypotheses differ.

    Attributes:
        inputs: facts of the input.
        first: compared atoms that the first hypothesis derives.
        second: compared atoms that the second hypothesis derives.
    """

    inputs: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]

    def __str__(self) -> str:
        shown = [" ".join(f"{fact}." for fact in self.inputs) or "no facts"]
        for name, atoms in (("first", self.first), ("second", self.second)):
            shown.append(f"{name}: {', '.join(atoms) or 'none'}")
        return "\n".join(shown)


def find_counterexample(
    control: Control, inputs: Collection[Signature], names: Names, budget: Budget
) -> Counterexample | None:
    """An answer set of a ground comparison as a counterexample; None if there is none.

    Args:
        control: has grounded a program whose answer sets are inputs on which two hypotheses differ. It shows
            ``says(side, atom)`` and has ``holds(...)`` for the bodies that hold, by the names of `names`.
        names: the comparison's own names.
    """
    solving = control.configuration.solve
    solving.solve_limit = _FIRST_CONFLICTS  # type: ignore[union-attr]
    found = _answer(control, inputs, names, budget)
    if found is False and not budget.expired():
        holds = names("holds")
        with control.backend() as backend:
            for atom in control.symbolic_atoms:
                if atom.symbol.name == holds and not atom.is_fact:
                    backend.add_heuristic(atom.literal, HeuristicType.True_, 1, 1, [])
        solving.solve_limit = "umax"  # type: ignore[union-attr]
        found = _answer(control, inputs, names, budget)
    if isinstance(found, bool):
        raise UserError("The comparison is undecided: the time limit was reached.")
    if found is None:
        return None
    for name, arity in sorted(inputs):
        text = f"{name}({','.join(f'X{i}' for i in range(arity))})" if arity else name
        control.add("fewer", [], f":~ {text}. [1,{text}]")
    control.ground([("fewer", [])])
    solving.models, solving.solve_limit = "0", "umax"  # type: ignore[union-attr]
    smaller = _answer(control, inputs, names, Budget.of(_SECONDS_TO_SHRINK, None))
    return smaller if isinstance(smaller, Counterexample) else found


def _answer(
    control: Control, inputs: Collection[Signature], names: Names, budget: Budget
) -> Counterexample | Literal[False] | None:
    """The last answer set found in time; None if there is none, False if it is not known."""
    found: list[Counterexample] = []

    def keep(model: Model) -> None:
        atoms = [s for s in model.symbols(atoms=True) if (s.name, len(s.arguments)) in inputs]
        facts = tuple(str(s) for s in sorted(atoms) if not s.name.startswith(names.prefix))
        says = sorted(model.symbols(shown=True))
        found.append(Counterexample(facts, _said(says, 0), _said(says, 1)))

    with control.solve(on_model=keep, async_=True) as handle:
        while not handle.wait(_POLL):
            if budget.expired():
                handle.cancel()
                break
        finished = handle.get().exhausted
    if found:
        return found[-1]
    return None if finished else False


def _said(symbols: Sequence[Symbol], side: int) -> tuple[str, ...]:
    return tuple(str(s.arguments[1]) for s in symbols if s.arguments[0].number == side)
