"""Rules over literals as ASP: decision lists, DNF, sums of trees, and additive scores.

A literal is a column of a view's `literals` and has an ASP body (`nsl_bench.learners.literals`). What is
written here derives, for every context, the label that the rules over columns give; nothing is approximated.
The module needs only numpy, so adapters with an interpreter of their own can import it.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Bools, Floats, Ints, LabelSpace

Conjunction = Mapping[int, bool]
"""Columns of a view's literals, each with the value that it must have; empty: always true."""

_TOKEN = re.compile(r'"[^"]*"|\b[VW]\b')
_MOST_WEIGHT = 1 << 20
"""Greatest sum of absolute weights of an additive rule; clingo's sums are 32-bit."""
_CLINGO_LIMIT = (1 << 31) - 1
"""Greatest sum of weights and bound of a comparison in clingo; half of it is left for each."""


@dataclass(frozen=True)
class FeatureTest:
    """A test on a feature, from a view's `feature_test`.

    Attributes:
        atom: holds exactly where the feature is greater than the threshold.
        rules: ASP rules that derive it.
    """

    atom: str
    rules: tuple[str, ...]


class _Writer:
    """Writes conjunctions of literals as bodies, with auxiliary predicates where ASP needs them."""

    def __init__(self, bodies: Sequence[Sequence[str]]) -> None:
        self._bodies = bodies
        self._named: dict[int, str] = {}
        self.rules: list[str] = []
        self.more: list[str] = []

    def atom(self, column: int) -> str:
        """A ground atom that holds exactly where a literal is true."""
        body = self._bodies[column]
        if len(body) == 1 and not _variables(body[0]):
            return body[0]
        if column not in self._named:
            self._named[column] = f"literal_{column}"
            self.more.append(f"literal_{column} :- {', '.join(_apart(body, 0))}.")
        return self._named[column]

    def body(self, conjunction: Conjunction) -> str:
        """The body of a rule; empty for the empty conjunction."""
        words: list[str] = []
        for number, (column, holds) in enumerate(sorted(conjunction.items())):
            words += _apart(self._bodies[column], number) if holds else [f"not {self.atom(column)}"]
        return ", ".join(dict.fromkeys(words))

    def written(self) -> list[str]:
        """All rules, those of auxiliary predicates last."""
        return [*self.rules, *self.more]


def _variables(atom: str) -> bool:
    return any(token[0] != '"' for token in _TOKEN.findall(atom))


def _apart(body: Sequence[str], number: int) -> list[str]:
    """A literal's body with variables of its own."""
    named = f"{number + 1}"
    return [_TOKEN.sub(lambda t: t[0] if t[0][0] == '"' else f"{t[0]}{named}", atom) for atom in body]


def matches(conjunction: Conjunction, literals: Bools) -> Bools:
    """bool [n]: where a conjunction holds, for literals [n, columns]."""
    result = np.ones(len(literals), np.bool_)
    for column, holds in conjunction.items():
        result &= literals[:, column] == holds
    return result


def deciding(rules: Sequence[tuple[Conjunction, int]], literals: Bools) -> Ints:
    """int [n]: the number of the first rule that holds for each row of literals; their count if none does."""
    result = np.full(len(literals), len(rules), np.int64)
    for k in reversed(range(len(rules))):
        result[matches(rules[k][0], literals)] = k
    return result


def decision_list(
    rules: Sequence[tuple[Conjunction, int]],
    default: int,
    bodies: Sequence[Sequence[str]],
    labels: LabelSpace,
) -> list[str]:
    """ASP for a decision list: the first rule that holds gives the label, and the default where none does.

    Args:
        rules: conjunctions with the index of their label, in order. Neighbours with one label are a DNF.
        default: label where no rule holds.
        bodies: a view's `literal_bodies`.
        labels: a view's `label_space`.

    Returns:
        ASP rules, one a text. A label without an atom gets no rule of its own.
    """
    writer = _Writer(bodies)
    groups = [
        (label, [r for r, _ in same]) for label, same in itertools.groupby(rules, key=lambda rule: rule[1])
    ]
    while groups and groups[-1][0] == default:
        groups.pop()
    groups.append((default, [{}]))
    atoms = [labels.atoms[label] for label, _ in groups]
    while atoms and atoms[-1] is None:  # the label without an atom holds where nothing is derived
        atoms.pop()
    for k, ((_, conjunctions), atom) in enumerate(zip(groups, atoms, strict=False)):
        before = "".join(f", not group_{j + 1}" for j in range(k))
        last = k + 1 == len(atoms)
        for conjunction in conjunctions:
            body = (writer.body(conjunction) + (before if last else "")).removeprefix(", ")
            head = atom if last else f"group_{k + 1}"
            writer.rules.append(f"{head} :- {body}." if body else f"{head}.")
        if atom is not None and not last:
            writer.more.append(f"{atom} :- group_{k + 1}{before}.")
    return writer.written()


def tree_leaves(
    left: Sequence[int], right: Sequence[int], columns: Sequence[int], values: npt.ArrayLike
) -> list[tuple[dict[int, bool], Floats]]:
    """The branches of a binary tree over literals: what each requires, and the leaf's value.

    Args:
        left, right: for each node the child where its literal is false, and where it is true; -1 in a leaf.
        columns: for each node its literal.
        values: [nodes, ...], what each node would answer.
    """
    array = np.asarray(values, np.float64)
    result: list[tuple[dict[int, bool], Floats]] = []
    open_: list[tuple[int, dict[int, bool]]] = [(0, {})]
    while open_:
        node, path = open_.pop()
        if left[node] < 0:
            result.append((path, np.atleast_1d(array[node])))
            continue
        for child, holds in ((right[node], True), (left[node], False)):
            if path.get(columns[node], holds) == holds:
                open_.append((child, {**path, columns[node]: holds}))
    return result


def sum_of_trees(
    trees: Sequence[Sequence[tuple[Conjunction, Floats]]], decide: Callable[[Floats], int], most: int = 2000
) -> list[tuple[dict[int, bool], int]] | None:
    """The decision list of a sum of trees: one rule for each combination of leaves that can occur.

    Args:
        trees: the branches of each tree, from `tree_leaves`.
        decide: function from the sum of the leaves' values to a label.
        most: most combinations.

    Returns:
        Conjunctions with labels, of which exactly one holds; None if there are more than `most`.
    """
    result: list[tuple[dict[int, bool], Floats]] = [({}, np.zeros(1))]
    for leaves in trees:
        result = [
            ({**path, **more}, total + value)
            for path, total in result
            for more, value in leaves
            if all(path.get(column, holds) == holds for column, holds in more.items())
        ]
        if len(result) > most:
            return None
    return [(path, int(decide(total))) for path, total in result]


def binarised(weights: npt.ArrayLike, scale: int = 1000) -> Ints:
    """Whole numbers in proportion to weights, small enough for clingo's sums.

    An adapter that answers with these whole numbers answers exactly as the rules of `additive`.
    """
    given = np.asarray(weights, np.float64)
    total = float(np.abs(given).sum()) * scale
    factor = scale if total <= _MOST_WEIGHT else scale * _MOST_WEIGHT / total
    return np.rint(given * factor).astype(np.int64)


def _whole(given: npt.ArrayLike) -> Ints:
    """Weights or constants of `additive`, refused where clingo's sums of them would not be exact."""
    numbers = np.asarray(given)
    if not np.array_equal(numbers, np.rint(numbers)):
        fault = "whole numbers"
    elif 2 * float(np.abs(numbers.astype(np.float64)).sum()) > _CLINGO_LIMIT:
        fault = f"smaller numbers: the sum of their absolute values may be {_CLINGO_LIMIT // 2:,} at most"
    else:
        return numbers.astype(np.int64)
    raise UserError(
        f"additive needs {fault}. Round weights and constants together with asp_rules.binarised, and answer "
        "with the rounded ones."
    )


def additive(
    weights: Ints, constants: Ints, bodies: Sequence[Sequence[str]], labels: LabelSpace
) -> list[str]:
    """ASP for the label with the greatest score; of equal scores the first label's wins.

    Args:
        weights: int [columns, labels], added to a label's score where a literal is true.
        constants: int [labels], added everywhere.
        bodies: a view's `literal_bodies`.
        labels: a view's `label_space`.

    Raises:
        UserError: a weight is no whole number, or the weights are too large for clingo's sums.
    """
    weights, constants = (_whole(given) for given in (weights, constants))
    writer = _Writer(bodies)
    n = len(constants)
    for first, second in itertools.combinations(range(n), 2):
        gain = weights[:, second] - weights[:, first]
        need = int(constants[first] - constants[second])
        terms = "; ".join(f"{int(gain[c])},{c} : {writer.atom(c)}" for c in np.flatnonzero(gain).tolist())
        writer.rules.append(f"ahead({second},{first}) :- #sum {{ {terms} }} > {need}.")
    for label, atom in enumerate(labels.atoms):
        if atom is not None:
            beaten = [f"ahead({label},{k})" for k in range(label)]
            beaten += [f"not ahead({k},{label})" for k in range(label + 1, n)]
            writer.more.append(f"{atom} :- {', '.join(beaten)}." if beaten else f"{atom}.")
    return writer.written()


def voting(
    rules: Sequence[tuple[Conjunction, int]],
    weights: Ints,
    constants: Ints,
    bodies: Sequence[Sequence[str]],
    labels: LabelSpace,
) -> list[str]:
    """ASP for rules with weights: each that holds adds its weight to its label's score, as in `additive`.

    Args:
        weights: int [rules].
        constants: int [labels], added everywhere.
    """
    writer = _Writer(bodies)
    gains = np.zeros((len(rules), len(constants)), np.int64)
    for k, ((conjunction, label), weight) in enumerate(zip(rules, weights, strict=True)):
        gains[k, label] = weight
        body = writer.body(conjunction)
        writer.rules.append(f"votes_{k} :- {body}." if body else f"votes_{k}.")
    votes = [(f"votes_{k}",) for k in range(len(rules))]
    return [*writer.written(), *additive(gains, constants, votes, labels)]
