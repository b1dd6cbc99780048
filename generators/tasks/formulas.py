"""Handwritten formulas (HWF): what is the value of a formula whose digits and operators are images?

Li, Huang, Hong, Chen, Wu, Zhu: "Closed Loop Neural-Symbolic Learning via Integrating Neural Perception,
Grammar Parsing, and Symbolic Reasoning" (ICML 2020), section 4.
"""

import itertools
import json
import math
import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np

from nsl_bench.core.errors import UserError, named
from nsl_bench.core.files import read
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints16, LabelSpace, Part, Split

from ..sources.symbols.names import FORMULA_SYMBOLS, OPERATORS
from . import programs
from .drawn import Drawn

_PROGRAMS = programs(__file__)

_DIGITS = tuple("123456789")
_SIGNS = "+-*/"
_DIGIT_IDS, _SIGN_IDS = (0, len(_DIGITS)), (len(_DIGITS), len(FORMULA_SYMBOLS))

_MOST_BYTES = 1 << 28


def value_of(symbols: tuple[int, ...]) -> Fraction:
    """The value of a formula: products and quotients first, each from left to right."""
    total, term = Fraction(0), Fraction(symbols[0] + 1)
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        sign, number = _SIGNS[operator - len(_DIGITS)], digit + 1
        if sign in "+-":
            total, term = total + term, Fraction(number if sign == "+" else -number)
        else:
            term = term * number if sign == "*" else term / number
    return total + term


@lru_cache(maxsize=4)
def _values(length: int) -> dict[Fraction, int]:
    """The label of each value of formulas of `length` symbols."""
    every = itertools.product(*(range(*(_SIGN_IDS if k % 2 else _DIGIT_IDS)) for k in range(length)))
    return {value: label for label, value in enumerate(sorted({value_of(formula) for formula in every}))}


class Formulas(Drawn):
    """Predict the value of a formula of digits 1 to 9 and the operators +, -, * and /.

    A label is an exact fraction. The paper's longest formulas, of 7 symbols, are left out: they have more
    values than a task can have labels.
    """

    name = "hwf"
    version = "1.0.0"
    description = "What is the value of a formula, given images of its digits and operators?"
    concept_space = FORMULA_SYMBOLS
    bias = _PROGRAMS["bias"]
    true_rule = _PROGRAMS["rule"]
    sources = ("sklearn_digits", "mnist", "mnist_train", "math_symbols")

    length: int = option(3, "number of symbols", test=lambda n: n in (1, 3, 5), words="1, 3 or 5")

    def __post_init__(self) -> None:
        self.name = self.spec_with()
        self.few = self.length < 5
        self._labels = _values(self.length)
        self.slots = tuple(f"symbol_{k + 1}" for k in range(self.length))
        atoms = tuple(f"value({v.numerator},{v.denominator})" for v in self._labels)
        self.labels = LabelSpace(tuple(map(str, self._labels)), atoms)
        fractions = " ".join(f"fraction({v.numerator},{v.denominator})." for v in self._labels)
        self.background = _PROGRAMS["background"].format(fractions=fractions)
        self.inputs = _PROGRAMS["inputs"].format(length=self.length, operators=";".join(OPERATORS))

    def draw(self, part: Part, n: int, rng: np.random.Generator) -> Ints16:
        sides = [len(OPERATORS) if k % 2 else len(_DIGITS) for k in range(self.length)]
        every = math.prod(sides)  # each formula once before any comes twice
        codes = np.concatenate([rng.permutation(every) for _ in range(-(-n // every))])[:n]
        symbols = np.stack(np.unravel_index(codes, sides), axis=1)
        return (symbols + np.arange(self.length) % 2 * len(_DIGITS)).astype(np.int16)

    def labelled(self, concepts: Ints16) -> Ints16:
        return np.array([self._labels[value_of(tuple(row))] for row in concepts.tolist()], np.int16)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"{'sign' if concept in OPERATORS else 'digit'}({slot + 1},{concept})",)

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        """Formulas of ``expr_train.json`` or ``expr_test.json`` of its length."""
        path = folder / ("expr_test.json" if part == "test" else "expr_train.json")
        try:
            texts = [one["expr"] for one in json.loads(read(path, _MOST_BYTES))]
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path} must be a list of entries with 'expr' ({named(error)}).") from error
        odd = [text for text in texts if not re.fullmatch(r"[1-9]([-+*/][1-9])*", str(text))]
        if odd:
            raise UserError(f"{path}: formulas must look like 7/9*3; got '{odd[0]}'.")
        ids = {sign: k for k, sign in enumerate((*_DIGITS, *_SIGNS))}
        rows = [[ids[symbol] for symbol in text] for text in texts if len(text) == self.length]
        concepts = np.array(rows, np.int16).reshape(len(rows), self.length)
        return self.chosen(concepts, part, size, repeat)
