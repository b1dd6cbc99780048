"""Addition of two numbers whose digits are images: each digit of the sum is a label, or the sum is one.

Liu, Xu, Van den Broeck, Liang: "Out-of-Distribution Generalization by Neural-Symbolic Joint Training" (AAAI
2023), section 6; Manhaeve, Dumancic, Kimmig, Demeester, De Raedt: "DeepProbLog: Neural Probabilistic Logic
Programming" (NeurIPS 2018), section 5.1.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Family, Layout
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


_OF_MNIST: Mapping[Part, tuple[int, ...]] = MappingProxyType(
    {
        "train": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        "test": (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    }
)
"""How often MNIST's train and test images show each digit."""


class AdditionSum(Benchmark):
    """Predict the sum of two numbers from the images of their digits.

    Digits are those of MNIST's images in random order, so that on `mnist_train:FOLDER,whole=true` the largest
    train set and the test set show each image once. Train and test sets share numbers, but no image.
    """

    name = "addition_sum"
    version = "1.0.0"
    description = "What do two numbers in images of digits add up to? The sum is one label."
    concept_space = DIGITS
    bias = _PROGRAMS["sum_bias"]
    true_rule = _PROGRAMS["sum_rule"]
    repeats = 10
    sources = Addition.sources
    named_shifts = Addition.named_shifts
    family = Family("addition_sum", ("addition_sum", "addition_sum:digits=2"), "number of digits")

    digits: int = option(1, "digits of each number", least=1, most=2)

    def __post_init__(self) -> None:
        n = self.digits
        self.name = self.spec_with()
        self.slots = tuple(f"{which}_{place}" for which in ("first", "second") for place in range(n, 0, -1))
        sums = range(2 * 10**n - 1)
        self.labels = LabelSpace(tuple(map(str, sums)), tuple(f"sum({total})" for total in sums))
        self.sizes = {"small": 320, "large": 30_000 // n}
        self.test_size = 5_000 // n
        self.background = _PROGRAMS["sum_background"] + _PROGRAMS[f"sum_notation_{n}"]
        self.inputs = f"1 {{ digit(S,P,0..9) }} 1 :- S = (first;second), P = 1..{n}."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Numbers of the digits of MNIST's images; there are too few numbers to keep any from both parts."""
        n = self.test_size if part == "test" else self.size(size)
        images = np.repeat(np.arange(10, dtype=np.int16), _OF_MNIST["test" if part == "test" else "train"])
        rounds = -(-n * len(self.slots) // len(images))
        drawn = np.concatenate([rng.permutation(images) for _ in range(rounds)])
        concepts = drawn[: n * len(self.slots)].reshape(n, len(self.slots))
        return Split(part, self.concept_space, concepts, concepts @ self._values)

    @property
    def _values(self) -> Ints16:
        """int16 [slots]: what a 1 in a slot adds to the sum."""
        return np.tile(10 ** np.arange(self.digits - 1, -1, -1, dtype=np.int16), 2)

    def layout(self) -> Layout:
        """One number a row."""
        return Layout(2, self.digits)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"digit({self.slots[slot].replace('_', ',')},{concept})",)
