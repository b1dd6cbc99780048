"""Costs of heads and body literals under a linear bias, and the proof that they add up."""

from __future__ import annotations

from collections.abc import Sequence

from clingo import Function, Symbol

from nsl_bench.logic.las.bias.batch import GroundBias
from nsl_bench.logic.las.bias.program import BiasProgram
from nsl_bench.logic.las.bias.reification import in_body, in_head, renamed, variables_of

__all__ = ["linear_costs"]


def linear_costs(
    program: BiasProgram, heads: Sequence[str], literals: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """Costs of the heads and of the body literals; see `nsl_bench.logic.las.bias.additive.additive_costs`.

    Args:
        program: a linear one.
        heads: all heads that rules may have, as text.
        literals: all body literals that rules may hold, as text.

    Returns:
        None where it is not proven that the costs of rules are their sums.
    """
    instances = _instances(heads, literals)
    if instances is None:
        return None
    try:
        ground = GroundBias(program, choices=instances)
    except MemoryError:
        return None
    weights = ground.weights()
    if weights is None or not _are_apart(ground, instances):
        return None
    constant, of_choice = weights
    cost = {atom: of_choice[choice] for atom, choice in zip(instances, ground.choices, strict=True)}
    of_heads = [constant + cost[in_head(head)] for head in heads]
    return of_heads, [cost[in_body(literal)] for literal in literals]


Instances = dict[Symbol, str | None]
"""Atoms ``in_head(...)`` and ``in_body(...)``, each with its literal; None for a head."""


def _instances(heads: Sequence[str], literals: Sequence[str]) -> Instances | None:
    """The atoms of all heads and literals; None if two literals have the same one."""
    found: Instances = dict.fromkeys(map(in_head, heads))
    for literal in dict.fromkeys(literals):
        atom = in_body(literal)
        if atom in found:
            return None
        found[atom] = literal
    return found


def _are_apart(ground: GroundBias, instances: Instances) -> bool:
    """Whether no two different literals of a rule derive the same penalty, nor its head and a literal.

    As the program is linear and knows no variable's name, a literal under other names derives the same
    penalties under these names. So it is enough that each penalty names all variables of its literal and
    that no two penalties are equal but for the names of variables.
    """
    atom_of = dict(zip(ground.choices, instances, strict=True))
    seen: dict[Symbol, bool] = {}
    for choice, penalty in ground.penalties_by_choice():
        atom = atom_of[choice]
        is_head = instances[atom] is None
        variables = variables_of(penalty)
        if not is_head and set(variables) != set(variables_of(atom)):
            return False
        shape = renamed(penalty, {name: Function(f"V{i}") for i, name in enumerate(variables)})
        if shape in seen and not (is_head and seen[shape]):
            return False
        seen[shape] = is_head
    return True
