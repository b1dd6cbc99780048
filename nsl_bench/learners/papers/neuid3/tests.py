"""The tests that a tree may ask of an example: neural rules and facts on its images.

A test looks at two slots (or at one, twice) through networks of its own. A neural rule is a relation between
the two networks' values, ``P(test) = sum over a, b of p0(a) R(a, b) p1(b)``; a neural fact on two images has
a small network in place of the relation. Since each test owns its networks, tests on a path are independent.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import Floats32, LabelSpace
from nsl_bench.learners.view import View
from nsl_bench.logic.asp.text import read_text
from nsl_bench.logic.guarded.rules import crisp

CLASSES = ("nf", "union", "optimal", "bad")

TestClass = str
"""One of `CLASSES`."""

_MOST_IN_A_KIND = 4
"""Slots of one kind, such as two ranks, of which pairs are compared; more slots are looked at singly."""

_OPTIMAL = {
    "hidden_order": ("smaller_rank", "smaller_suit"),
    "hidden_modulo": ("modulo_rank", "modulo_suit"),
    "color_parity": ("eq_attrs_rank",),
    "alternating_faces": ("alternate_attr_rank",),
    "alternating_parity": ("alternate_attr_rank",),
    "increase_suits": ("modulo_suit",),
    "suit_order": ("smaller_suit",),
    "rank_order": ("smaller_rank",),
}
"""The rules by which each concept of Eleusis can be written (appendix C); the formulas are in appendix A."""


@dataclass(frozen=True, eq=False)
class NeuralTest:
    """A test on one or two slots.

    Attributes:
        name: e.g. ``"smaller_rank"``.
        slots: indices of the two slots; the same one twice for a fact on one image.
        values: number of values of each network.
        relation: float32 [values, values], 1 where the test holds; None: a network decides (a neural fact on
            two images).
        shared: whether both slots are seen by one network.
        words: e.g. ``"rank_0 < rank_1"``.
    """

    name: str
    slots: tuple[int, int]
    values: int
    relation: Floats32 | None
    shared: bool
    words: str = field(default="")

    @property
    def single(self) -> bool:
        """Whether it looks at one image only."""
        return self.slots[0] == self.slots[1]


def neural_tests(view: View, chosen: TestClass) -> list[NeuralTest]:
    """The tests of a class on the images of a task.

    Args:
        view: examples of the task; slots whose names differ in numbers only (``rank_0``, ``rank_1``) are of
            one kind.
        chosen: ``"nf"``: neural facts; ``"union"``: neural rules for every pair of slots of a kind;
            ``"optimal"``: the rules by which the hidden concept of Eleusis can be written; ``"bad"``: facts
            and rules without those.
    """
    best = _optimal(view.benchmark_name) if chosen in ("optimal", "bad") else ()
    facts, rules = [], []
    kinds: dict[str, list[int]] = {}
    for slot, name in enumerate(view.slots):
        kinds.setdefault(re.sub(r"[\d_]+$", "", name), []).append(slot)
    for kind, slots in kinds.items():
        if not 2 <= len(slots) <= _MOST_IN_A_KIND:
            facts += [_single(view.slots[slot], slot) for slot in slots]
            continue
        for pair in itertools.combinations(slots, 2):
            names = tuple(view.slots[slot] for slot in pair)
            suffix = kind if len(slots) == 2 else "_".join(names)
            words = f"rel({', '.join(names)})"
            facts.append(NeuralTest(f"rel_{suffix}", pair, FEATURES, None, False, words))
            rules += _rules(suffix, pair, names, _values(view, pair[0]))
    if chosen == "nf" or not rules:
        return facts
    if chosen == "optimal":
        return [rule for rule in rules if rule.name in best]
    if chosen == "bad":
        return [test for test in (*rules, *facts) if test.name not in best]
    return rules


FEATURES = 16
"""Outputs of each network of a neural fact on two images, on which its head decides."""

_ATTRIBUTE = 2


def _single(name: str, slot: int) -> NeuralTest:
    """A neural fact on one image: value 1 of a network with two."""
    holds = np.array([[0, 0], [1, 1]], np.float32)
    return NeuralTest(f"nn_{name}", (slot, slot), _ATTRIBUTE, holds, True, f"nn({name})")


def _rules(suffix: str, pair: tuple[int, int], names: Sequence[str], n: int) -> list[NeuralTest]:
    """The six rules on two slots of a kind with n values (appendix C)."""
    first, second = names
    same, step = np.eye(n, dtype=np.float32), np.eye(n, k=1, dtype=np.float32)
    attribute = np.eye(_ATTRIBUTE, dtype=np.float32)
    later = np.triu(np.ones((n, n), np.float32), 1)
    cases = (
        ("alternate_attr", _ATTRIBUTE, 1 - attribute, True, f"attr({first}) != attr({second})"),
        ("equal", n, same, True, f"{first} = {second}"),
        ("modulo", n, np.roll(same, 1, axis=1), True, f"{first} + 1 = {second} modulo {n}"),
        ("increment", n, step, True, f"{first} + 1 = {second}"),
        ("smaller", n, later, True, f"{first} < {second}"),
        ("eq_attrs", _ATTRIBUTE, attribute, False, f"attr_0({first}) = attr_1({second})"),
    )
    return [
        NeuralTest(f"{name}_{suffix}", pair, values, relation, shared, words)
        for name, values, relation, shared, words in cases
    ]


_GIVEN = re.compile(r"^\s*test\((\w+),\s*(\w+),\s*(\w+),\s*(\d+)\)\.", re.M)


def given_tests(file: Path, slots: Sequence[str]) -> list[NeuralTest]:
    """The tests of a file: facts ``test(NAME,SLOT,SLOT,VALUES)``, and rules by which ``NAME`` follows.

    One network sees both slots; its values are ``value(SLOT,0..VALUES-1)``.
    """
    program, result = read_text(file), list[NeuralTest]()
    for name, one, other, values in _GIVEN.findall(program):
        n = int(values)
        if not {one, other} <= {*slots} or not 1 < n <= 64:
            raise UserError(
                f"neuid3: {file}: test({name},{one},{other},{n}) must have two of the slots "
                f"{', '.join(slots)} and 2 to 64 values."
            )
        pairs = [(f"value({one},{a})", f"value({other},{b})") for a in range(n) for b in range(n)]
        holds = crisp([program], "", pairs, LabelSpace(("no", name), (None, name)), what=str(file))
        places, relation = (slots.index(one), slots.index(other)), holds.reshape(n, n).astype(np.float32)
        result.append(NeuralTest(name, places, n, relation, True, f"{name}({one}, {other})"))
    if not result:
        raise UserError(f"neuid3: {file} has no test; add e.g. test(next,{slots[0]},{slots[-1]},4).")
    return result


def _values(view: View, slot: int) -> int:
    """Number of values that a slot's images can show: what the first fact about it can say."""
    facts_of_concepts = (view.facts(slot, concept) for concept in view.concept_space.concepts)
    return len({facts[0] for facts in facts_of_concepts if facts})


def _optimal(benchmark: str) -> tuple[str, ...]:
    spec = Spec.parse(benchmark)
    if spec.name != "eleusis":
        raise NotApplicable(
            f"neuid3: the tests 'optimal' and 'bad' require the task eleusis, whose concepts are known; got "
            f"{benchmark}."
        )
    return _OPTIMAL[spec.kwargs.get("concept", "rank_order")]
