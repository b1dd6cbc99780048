"""Addition of two numbers whose digits are images, from the least significant digit on.

Liu, Xu, Van den Broeck, Liang: "Out-of-Distribution Generalization by Neural-Symbolic Joint Training" (AAAI
2023), section 6.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Family
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import AnyInts, ConceptSpace, Ints16, LabelSpace, Part, Split

from . import programs

_PROGRAMS = programs(__file__)

DIGITS = ConceptSpace("digit", tuple("0123456789"))

_DEFAULT, _FEWEST, _MOST = 3, 2, 50

_TEST = 1000

_MOST_TRIES = 1000
"""Draws in a row that may bring no sequence that the other part does not hold."""


def sums(digits: AnyInts) -> Ints16:
    """int16 [n, steps]: the digits of each sum, the last carry dropped.

    Args:
        digits: int [n, steps, 2], the least significant digits first.
    """
    result = np.empty(digits.shape[:2], np.int16)
    carry = np.zeros(len(digits), np.int64)
    for step in range(digits.shape[1]):
        total = digits[:, step].sum(axis=1) + carry
        result[:, step], carry = total % 10, total // 10
    return result


class Addition(Benchmark):
    """Predict each digit of a sum from the images of the two digits above it and of those before.

    A sequence has one step for each digit of the numbers, the least significant one first. Digits are drawn
    uniformly and independently; the carry of the last step is dropped. Sizes count sequences.
    """

    name = "addition"
    version = "1.0.0"
    description = "Digit by digit, what do two numbers in images of digits add up to?"
    labels = LabelSpace(DIGITS.concepts, tuple(f"sum({digit})" for digit in DIGITS.concepts))
    slots = ("first", "second")
    concept_space = DIGITS
    background = _PROGRAMS["background"]
    bias = _PROGRAMS["bias"]
    true_rule = _PROGRAMS["rule"]
    sizes: Mapping[str, int] = MappingProxyType({"small": 320, "large": 10_000})
    repeats = 10
    sources = ("sklearn_digits", "mnist", "mnist_train")
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})
    sequential = True
    test_presets: Mapping[str, tuple[str, ...]] = MappingProxyType(
        {
            "longer": tuple(f"addition:digits={n}" for n in (5, 10, 20)),
            "longer-seen-images": tuple(f"addition:digits={n},images=train" for n in (5, 10, 20)),
        }
    )
    family = Family(
        "addition", ("addition", *(f"addition:digits={n}" for n in (5, 10, 20))), "number of digits"
    )

    digits: int = option(
        _DEFAULT,
        "digits of each number, 2 to 50. The paper trains on 3 and tests on 5, 10 and 20",
        least=_FEWEST,
        most=_MOST,
    )
    test: int = option(_TEST, "number of test sequences; 6,000 in the paper's code", least=1)
    images: Literal["test", "train"] = option(
        "test",
        "``test``: test sequences show images that no train sequence shows; ``train``: they show images of "
        "the train sequences' pool, so that their errors are errors of rules more than of perception",
    )

    def __post_init__(self) -> None:
        digits, self.test_size = self.digits, self.test
        self.name = self.spec_with()
        self.inputs = (
            f"1 {{ digit(T,S,0..9) }} 1 :- T = 1..{digits}, S = (first;second).\n"
            f"1 {{ now(1..{digits}) }} 1.\n"
        )

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Sequences of random digits, none of which the excluded part holds."""
        n = self.test_size if part == "test" else self.size(size)
        other = np.empty(0, np.int16) if exclude is None else exclude.concepts
        taken = {one.tobytes() for one in np.asarray(other, np.int16).reshape(-1, self.digits, 2)}
        examples: list[Ints16] = []
        tries = 0
        while len(examples) < n:
            drawn = rng.integers(0, 10, (n, self.digits, 2)).astype(np.int16)
            new = [one for one in drawn if one.tobytes() not in taken]
            tries = 0 if new else tries + 1
            if tries == _MOST_TRIES:
                raise UserError(
                    f"{self.name}: the test set uses every pair of numbers, which leaves none for training; "
                    "use fewer test sequences or more digits."
                )
            examples += new
        digits = np.stack(examples[:n])
        return Split(
            part,
            self.concept_space,
            digits.reshape(-1, 2),
            sums(digits).reshape(-1),
            sequences=np.repeat(np.arange(n, dtype=np.int32), self.digits),
            steps=np.tile(np.arange(1, self.digits + 1, dtype=np.int32), n),
            shows="a" if self.images == "train" else None,
        )

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"digit({self.slots[slot]},{concept})",)
