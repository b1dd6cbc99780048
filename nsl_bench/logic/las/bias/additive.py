"""Whether the costs of rules add up literal by literal, and what each head and literal then costs.

The fast path enumerates bodies by adding up costs. A bias that prices a rule as a whole (counts, constraints,
joins of literals) is left to what looks at every rule of the space.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from clingo import Function, Symbol

from nsl_bench.logic.las.bias.program import BiasProgram, bias_program, is_plain
from nsl_bench.logic.las.bias.reification import in_body, in_head, renamed, variables_of
from nsl_bench.logic.las.language_bias import LanguageBias
from nsl_bench.logic.las.terms import pattern_text, patterns

if TYPE_CHECKING:
    from nsl_bench.logic.las.bias.batch import GroundBias

Instances = dict[Symbol, str | None]
"""Atoms ``in_head(...)`` and ``in_body(...)``, each with its literal; None for a head."""


def all_heads(bias: LanguageBias, constants: Callable[[str], Iterable[str]]) -> list[str]:
    """All heads of rules up to names of variables, as text."""
    result: dict[str, None] = {}
    for mode in bias.heads:
        allowed = [list(constants(p.type)) for p in mode.atom.placeholders if p.kind == "const"]
        for pattern in patterns(mode.atom.variable_types, bias.max_variables):
            names = [f"V{variable + 1}" for variable in pattern]
            for values in itertools.product(*allowed):
                result[pattern_text(mode.atom, names, values)] = None
    return list(result)


def additive_costs(
    bias: LanguageBias, heads: Sequence[str], literals: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """Costs of the heads and of the body literals, whose sums are the costs of rules.

    Heads and literals stand for all that they become by other names for their variables, different names for
    different variables: a literal that may hold a variable twice is listed in that form too.

    Args:
        heads: all heads that rules may have (`all_heads`), as text, e.g. ``"move(V1,V2)"``.
        literals: all body literals that rules may hold, as text, e.g. ``"not row(V1,V2)"``.

    Returns:
        None where it is not proven that the bias prices rules that way.
    """
    program = bias_program(bias)
    uniform = program.uniform
    if uniform is not None and all(map(is_plain, literals)):
        return [uniform.rule + uniform.head] * len(heads), [uniform.literal] * len(literals)
    return _linear_costs(program, heads, literals) if program.is_linear else None


def _linear_costs(
    program: BiasProgram, heads: Sequence[str], literals: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """`additive_costs` of a linear program; None where it is not proven that costs of rules are sums."""
    from nsl_bench.logic.las.bias.batch import GroundBias

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


def _instances(heads: Sequence[str], literals: Sequence[str]) -> Instances | None:
    """The atoms of all heads and literals; None if two literals have the same one."""
    result: Instances = dict.fromkeys(map(in_head, heads))
    for literal in dict.fromkeys(literals):
        atom = in_body(literal)
        if atom in result:
            return None
        result[atom] = literal
    return result


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
