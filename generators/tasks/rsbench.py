"""MNLogic and MNMath: formulas over bits, and systems of equations over digits, in images of digits.

Bortolotti et al.: "A Neuro-Symbolic Benchmark Suite for Concept Quality and Reasoning Shortcuts" (NeurIPS
2024), whose generator of data, rssgen, has these formulas, digits and combinations as options.
"""

import ast
import itertools

import numpy as np

from nsl_bench.core.benchmark import Family, Layout
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, LabelSpace, Part

from . import programs
from .drawn import RssgenTask

_PROGRAMS = programs(__file__)

_LETTERS = "abcdefgh"
_MOST_INPUTS, _MOST_LABELS = 100_000, 200

_SHAPES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Load, ast.Constant)
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert)
_MATH = (ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Eq)


def values(text: str, operations: tuple[type[ast.AST], ...], columns: Ints) -> Ints:
    """int64 [n]: the values of a formula over letters, whose values are columns [letters, n].

    Raises:
        UserError: it is not a formula of these operations, letters and numbers up to 99.
    """
    letters = dict(zip(_LETTERS, columns, strict=False))
    try:
        tree = ast.parse(text, mode="eval")
        for node in ast.walk(tree):
            number = isinstance(node, ast.Constant) and not (type(node.value) is int and node.value < 100)
            if not isinstance(node, (*_SHAPES, *operations)) or number:
                raise SyntaxError(f"{type(node).__name__} is not an operation of it")
        found = eval(compile(tree, "formula", "eval"), {"__builtins__": {}}, letters)
    except (SyntaxError, ValueError, NameError, RecursionError) as error:
        raise UserError(
            f"A formula must have the letters a to {_LETTERS[len(columns) - 1]} and the operations of its "
            f"task; got '{text}' ({error})."
        ) from error
    result: Ints = np.zeros(columns.shape[1], np.int64) + found
    return result


class _Combinations(RssgenTask):
    """A task over digits whose train sets may show some combinations of digits only."""

    sources = ("sklearn_digits", "mnist", "mnist_train")

    seen: str = option("", 'combinations that examples show, joined by "+" (``001+010``); all by default')
    unseen: bool = option(False, "whether test examples show the other combinations")

    def _set_up(self, highest: int) -> None:
        """Set name, concepts, family and combinations; the slots are known."""
        self.name = self.spec_with()
        self.concept_space = ConceptSpace("digit", tuple(map(str, range(highest + 1))))
        n, digits = len(self.slots), self.concept_space.concepts
        given = self.seen.split("+") if self.seen else []
        wrong = [one for one in given if len(one) != n or set(one) - set(digits)]
        if wrong or (self.unseen and not given):
            raise UserError(
                f"{self.name}: seen must be combinations of {n} digits from 0 to {highest}, joined by '+'; "
                f"got '{wrong[0] if wrong else ''}'."
            )
        if given:
            members = (self.spec_with(unseen=False), self.spec_with(unseen=True))
            self.family = Family(members[0], members, "the combinations that test examples show")
        self._seen = np.array([[int(digit) for digit in one] for one in given], np.int16).reshape(-1, n)
        self.few = bool(given) or len(digits) ** n <= _MOST_INPUTS

    def draw(self, part: Part, n: int, rng: np.random.Generator) -> Ints16:
        if len(self._seen) and not (part == "test" and self.unseen):
            labels = self.labelled(self._seen)
            rare = 1 / np.bincount(labels)[labels]  # each label equally often
            chosen: Ints16 = self._seen[rng.choice(len(labels), n, p=rare / rare.sum())]
            return chosen
        drawn = rng.integers(0, len(self.concept_space), (n, len(self.slots))).astype(np.int16)
        others: Ints16 = drawn[~(drawn[:, None] == self._seen).all(axis=2).any(axis=1)]
        return others


class MNLogic(_Combinations):
    """Predict whether a formula holds for bits, which are images of 0 and 1.

    The labels of train sets are balanced, as rssgen's are, unless the combinations have one label only.
    """

    name = "mnlogic"
    version = "1.0.0"
    description = "Does a logic formula hold for bits in images of the digits 0 and 1?"
    labels = LabelSpace(("false", "true"), (None, "holds"))
    told = ("0", "1")
    background = _PROGRAMS["logic_background"]
    bias = _PROGRAMS["logic_bias"]

    formula: str = option("xor", "``xor``, ``and`` or ``or`` of all bits, or a formula such as ``(a&b)|~c``")
    bits: int = option(4, "number of bits; their names are a, b, c ...", least=2, most=len(_LETTERS))

    def __post_init__(self) -> None:
        self.slots = tuple(f"bit_{letter}" for letter in _LETTERS[: self.bits])
        self._set_up(1)
        every = np.array(list(itertools.product((0, 1), repeat=self.bits)), np.int16)
        if not len(self._seen):
            self._seen = every
        true = {tuple(row) for row in every[self.labelled(every) == 1].tolist()}
        if len(true) in (0, len(every)):
            raise UserError(f"mnlogic: formula must hold for some bits but not all; got '{self.formula}'.")
        ways = (
            ", ".join(f"{('zero', 'one')[bit]}({k + 1})" for k, bit in enumerate(one) if bit is not None)
            for one in sorted(_prime_implicants(true), key=str)
        )
        self.true_rule = "".join(f"holds :- {way}.\n" for way in ways)
        self.inputs = f"1 {{ bit(I,(0;1)) }} 1 :- I = 1..{self.bits}."

    def labelled(self, concepts: Ints16) -> Ints16:
        sign = {"xor": "^", "and": "&", "or": "|"}.get(self.formula)
        text = sign.join(_LETTERS[: self.bits]) if sign else self.formula
        return (values(text, _LOGIC, concepts.T.astype(np.int64)) & 1).astype(np.int16)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"bit({slot + 1},{concept})",)


def _prime_implicants(rows: set[tuple[int | None, ...]]) -> set[tuple[int | None, ...]]:
    """The shortest conjunctions that imply a formula that is true for these bits; None for a bit left out."""
    merged, used = set(), set()
    for one, other in itertools.combinations(rows, 2):
        differ = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        if len(differ) == 1 and None not in (one[differ[0]], other[differ[0]]):
            merged.add((*one[: differ[0]], None, *one[differ[0] + 1 :]))
            used |= {one, other}
    return (rows - used) | (_prime_implicants(merged) if merged else set())


class MNMath(_Combinations):
    """Predict the values of equations over digits: 1 or 0 for one with ``==``, else a number.

    Each equation has digits of its own. All labels are equally frequent.
    """

    name = "mnmath"
    version = "1.0.0"
    description = "Which equations of a system hold for digits in images, or what are their values?"

    equations: str = option(
        "a+b==c+d;a*b==c*d", "equations joined by ``;``; rssgen's own example is ``2*a+b;a+b`` with highest=2"
    )
    highest: int = option(9, "highest digit", least=1, most=9)

    def __post_init__(self) -> None:
        texts = self.equations.split(";")
        width = max((_LETTERS.find(letter) + 1 for letter in self.equations), default=0)
        every = list(itertools.product(range(self.highest + 1), repeat=width)) if width <= 5 else []
        self._letters = np.array(every, np.int64).T
        self.slots = tuple(
            f"equation_{e + 1}_{letter}" for e in range(len(texts)) for letter in _LETTERS[:width]
        )
        if not self.slots or not every or len(every) > _MOST_INPUTS:
            raise UserError(
                f"mnmath: equations must have 1 to 5 of the letters a to e; got '{self.equations}'."
            )
        self._set_up(self.highest)
        self._values = [np.unique(values(text, _MATH, self._letters)) for text in texts]
        tuples = list(itertools.product(*(found.tolist() for found in self._values)))
        if not 2 <= len(tuples) <= _MOST_LABELS:
            raise UserError(
                f"{self.name}: equations must have 2 to {_MOST_LABELS} values together; got {len(tuples)}."
            )
        self.told = tuple("_".join(map(str, each)) for each in tuples)
        self.labels = LabelSpace(self.told, tuple(f"result({','.join(map(str, each))})" for each in tuples))
        self.balanced = not len(self._seen) or self.unseen
        comparing = ["==" in text for text in texts]
        values_of = ", ".join(f"value({e},V{e})" for e in range(1, len(texts) + 1))
        result = f"result({','.join(f'V{e + 1}' for e in range(len(texts)))}) :- {values_of}."
        compared = "".join(f"compared({e + 1}).\n" for e, one in enumerate(comparing) if one)
        self.background = _PROGRAMS["math_background"] + compared + result + "\n"
        heads = {
            "holds(const(equation))" if one else "value(const(equation), var(number))" for one in comparing
        }
        lines = [f"#modeh({head})." for head in sorted(heads)]
        lines += [f"#constant(equation, {e + 1})." for e in range(len(texts))]
        lines += [f"#constant(place, {k + 1})." for k in range(width)]
        self.bias = _PROGRAMS["math_bias"] + "\n".join(lines) + "\n"
        self.true_rule = ""
        for e, text in enumerate(texts, 1):
            digits = "".join(f"digit({e},{k + 1},{_LETTERS[k].upper()}), " for k in range(width))
            left, equals, right = text.upper().partition("==")
            head = f"holds({e})" if equals else f"value({e},V)"
            self.true_rule += f"{head} :- {digits}{left} = {right or 'V'}.\n"
        self.inputs = f"1 {{ digit(E,I,0..{self.highest}) }} 1 :- E = 1..{len(texts)}, I = 1..{width}.\n"

    def labelled(self, concepts: Ints16) -> Ints16:
        texts = self.equations.split(";")
        digits = concepts.reshape(len(concepts), len(texts), -1).astype(np.int64)
        places = [
            np.searchsorted(found, values(text, _MATH, digits[:, e].T))
            for e, (text, found) in enumerate(zip(texts, self._values, strict=True))
        ]
        return np.ravel_multi_index(places, [len(found) for found in self._values]).astype(np.int16)

    def layout(self) -> Layout:
        """One equation a row."""
        n = len(self.equations.split(";"))
        return Layout(n, len(self.slots) // n)

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        equation, place = divmod(slot, len(self._letters))
        return (f"digit({equation + 1},{place + 1},{concept})",)
