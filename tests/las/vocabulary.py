"""What random learning tasks are made of: predicates, terms, background knowledge, biases, given rules.

Texts name predicates by role (`{a}`), which stands for the role's own name or for another one.
"""

import tomllib
from pathlib import Path

_TYPES = {
    **dict.fromkeys(("a", "b", "h", "d", "big", "g", "g2", "w1", "n", "over"), "n"),
    **dict.fromkeys(("l", "m"), "m"),
    **dict.fromkeys(("e", "k", "next", "path", "gt", "lt", "above", "le"), "nn"),
    **{"c": "nm", "d2": "nm", "o": "mn", "i": "mn", "t": "nnn", "mid": "nnn"},
    **dict.fromkeys(("r", "s", "p", "q", "many", "lots", "w", "u", "v", "z", "known"), ""),
}
ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    role: (f"{{{role}}}" + f"({','.join(['{{}}'] * len(types))})" * bool(types), tuple(types))
    for role, types in _TYPES.items()
} | {
    "x": ("{x}(f({{}}))", ("n",)),
    "y": ("{y}(g({{}},1),{{}})", ("n", "m")),
    "lab": ('{lab}({{}},"a. b")', ("n",)),
    "nz": ("-{z}", ()),
    "nh": ("-{h}({{}})", ("n",)),
    "a2": ("{a}({{}},{{}})", ("n", "n")),
    "h0": ("{h}", ()),
}
"""Each role's atom, with the types of its arguments."""

STATED = ("a", "b", "l", "e", "c", "d2", "o", "t", "x", "y", "r", "s")
"""The roles that contexts may state."""

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())

BACKGROUND: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    name: (text, tuple(used), tuple(asked)) for name, (text, used, asked) in _FILE["background"].items()
}
"""Pieces of background knowledge: text, the roles that bodies may use, those that examples may ask for."""

COMPARED = ("gt", "lt", "le", "mid", "above", "over")
"""The roles whose last arguments are mostly constants."""

OPEN = {
    *("choice", "bounded_choice", "choice_on_context", "choice_on_learned", "even_loop", "odd_loop"),
    *("loop_on_learned", "disjunction", "choice_aggregate"),
}
"""Pieces that give several answer sets, or none."""

FEEDING = ("feeding", "feeding_negated", "feeding_chain", "feeding_join")

OPTIONS = ["positive", "positive", "negative", "anti_reflexive", "symmetric", "positive, anti_reflexive"]
"""Options of ILASP's mode declarations."""

PLAIN_VARIABLES = ("X", "Y", "Z")
HOSTILE_NAMES: list[str] = _FILE["hostile_names"]
HOSTILE_VARIABLES: list[list[str]] = _FILE["hostile_variables"]
VALUES: list[list[str]] = _FILE["values"]
META: list[str] = _FILE["meta"]
BIASES: list[str] = _FILE["biases"]
FINAL: list[str] = _FILE["final"]
ILASP_BIASES: list[str] = _FILE["ilasp_biases"]
TIED = [f'{BIASES[0]}\n#bias("{more}").' for more in _FILE["tied"]]
PRICED: list[str] = _FILE["priced"]
GIVEN: list[str] = _FILE["given"]
