"""Whether the costs of rules add up literal by literal, and what each head and literal then costs.

The fast path enumerates bodies by adding up costs. A bias that prices a rule as a whole (counts, constraints,
joins of literals) is left to what looks at every rule of the space.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from nsl_bench.logic.las.bias.program import bias_program, is_plain
from nsl_bench.logic.las.language_bias import LanguageBias
from nsl_bench.logic.las.terms import atom_text

__all__ = ["additive_costs", "all_heads", "sharings"]


def all_heads(bias: LanguageBias, constants: Callable[[str], Iterable[str]]) -> list[str]:
    """All heads of rules up to names of variables, as text.

    Args:
        bias: its heads are written down.
        constants: gives the values of ``const(type)``.
    """
    found: dict[str, None] = {}
    for mode in bias.heads:
        slots = mode.atom.placeholders
        kinds = [slot.type for slot in slots if slot.kind == "var"]
        allowed = [list(constants(slot.type)) for slot in slots if slot.kind == "const"]
        for blocks in sharings(kinds, bias.max_variables):
            if max(blocks, default=-1) < bias.max_variables:
                names = [f"V{block + 1}" for block in blocks]
                for values in itertools.product(*allowed):
                    found[atom_text(mode.atom, iter(names), iter(values))] = None
    return list(found)


def sharings(kinds: Sequence[str], most: int | None = None) -> Iterator[tuple[int, ...]]:
    """The ways in which places of these types may share variables: the variable of each place.

    Args:
        kinds: types of the places.
        most: the most variables; None: no limit.
    """
    if not kinds:
        yield ()
        return
    for rest in sharings(kinds[:-1], most):
        known = max(rest, default=-1) + 2
        for variable in range(known if most is None else min(known, most)):
            if variable not in rest or kinds[rest.index(variable)] == kinds[-1]:
                yield (*rest, variable)


def additive_costs(
    bias: LanguageBias, heads: Sequence[str], literals: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """Costs of the heads and of the body literals, whose sums are the costs of rules.

    Heads and literals stand for all that they become by other names for their variables, different names for
    different variables: a literal that may hold a variable twice is listed in that form too.

    Args:
        bias: its ``penalties`` are looked into.
        heads: all heads that rules may have (`all_heads`), as text, e.g. ``"move(V1,V2)"``.
        literals: all body literals that rules may hold, as text, e.g. ``"not row(V1,V2)"``.

    Returns:
        None where it is not proven that the bias prices rules that way.

    Raises:
        UserError: `#bias` is refused, or a penalty is no natural number.
    """
    program = bias_program(bias)
    uniform = program.uniform
    if uniform is not None and all(map(is_plain, literals)):
        return [uniform.rule + uniform.head] * len(heads), [uniform.literal] * len(literals)
    if not program.is_linear:
        return None
    from nsl_bench.logic.las.bias.linear import linear_costs

    return linear_costs(program, heads, literals)
