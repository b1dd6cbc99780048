"""Writing learning tasks in the syntax that `nsl_bench.logic.las.syntax.reader` reads."""

from __future__ import annotations

from collections.abc import Iterable

from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.las.language_bias import LanguageBias


def print_example(example: WeightedExample) -> str:
    """`example` as a ``#pos`` or ``#neg`` statement."""
    penalty = "" if example.penalty is None else f"@{example.penalty}"
    # an id that is not a plain word is written as it is, for it is a term already
    name = f"eg({example.id})" if example.id.replace("_", "a").isalnum() else example.id
    context = "".join(f"\n\t{statement.rstrip('.')}." for statement in example.context)
    return (
        f"#{'pos' if example.positive else 'neg'}({name}{penalty}, "
        f"{{{', '.join(example.inclusions)}}}, {{{', '.join(example.exclusions)}}}, "
        f"{{{context}{chr(10) if context else ''}}})."
    )


def print_bias(bias: LanguageBias) -> str:
    """`bias` as statements, one a line."""
    lines = [] if bias.doubt else [f"% dialect: {bias.dialect}"]
    lines += [str(mode) for mode in (*bias.heads, *bias.bodies)]
    lines += map(str, bias.meta_rules)
    lines += map(str, bias.meta_modes)
    lines += map(str, bias.predicates)
    lines += map(str, bias.rules)
    lines += [f"#constant({kind}, {value})." for kind, value in bias.constants]
    lines.append(f"#maxv({bias.max_variables}).")
    if bias.max_body is not None:
        lines.append(f"#max_body({bias.max_body}).")
    if bias.max_cost is not None:
        lines.append(f"#max_penalty({bias.max_cost}).")
    written = [("bias", rule) for rule in bias.penalties or ()] + [
        ("final_bias", rule) for rule in bias.final
    ]
    for word, rule in written:
        escaped = rule.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'#{word}("{escaped}").')
    if bias.ground_without_replacement:
        lines.append("#ground_without_replacement.")
    return "\n".join(lines)


def print_task(examples: Iterable[WeightedExample], background: str, bias: LanguageBias) -> str:
    """A task as text.

    Returns:
        Text that `parse_task` reads.
    """
    # in a text, a penalty of 0 says that an example must be covered; as a value, that it asks for nothing
    shown = "\n".join(print_example(example) for example in examples if example.penalty != 0)
    return f"{shown}\n\n{background}\n\n{print_bias(bias)}\n"
