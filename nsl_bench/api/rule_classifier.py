"""`RuleClassifier`: rules of a table at a proven optimum, in scikit-learn's interface."""

from collections.abc import Sequence
from math import comb
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from nsl_bench.api.learning import learn
from nsl_bench.api.tables import Column, Literal, TableError, cells_of, constant, predicates
from nsl_bench.core.types import Array, Bools, Floats, Floats32, WeightedExample
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import parse
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Solution, print_bias, print_example

_MOST_BODIES = 100_000
_LITERAL_SHARE = 0.005
"""A rule of one literal pays from 1 % of all weights on, as in CORELS."""
_FINE_THRESHOLDS, _SHOWN, _ROWS = 40, 3, 5


class Rules(str):
    """Rules in words, one a line, and what holds where none fires; and the same as ASP and in Markdown."""

    asp: str

    @property
    def markdown(self) -> str:
        """The rules as a list in Markdown."""
        return "\n".join(f"* {line}" for line in self.splitlines())


class RuleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of the rules with the lowest score: their cost and the weights of rows that they get wrong.

    Numbers are compared with thresholds, words with values of their column. A missing value makes all
    positive literals about it false. Where no rule fires, the most frequent class is predicted.

    Args:
        label: what rules call the label.
        literal_cost: cost of each head and each body literal, in units of `sample_weight`. None: 0.5 % of
            all weights, at least 1.
        max_body: most literals in a body. None: 3 if there are at most 100,000 bodies of three, else 2.
        thresholds: most thresholds of a column of numbers, at quantiles.
        background: background knowledge, ASP. Each atom that it derives is a literal.
        time_limit: seconds for the search, after which the best rules so far are kept. None: no limit.

    Attributes:
        rules_: the rules: print them, or take ``rules_.asp`` or ``rules_.markdown``.
        score_: cost of the rules and weights of rows that they get wrong, in units of `sample_weight`.
        bound_: no rules of the language have a lower score. It equals `score_` if the rules are optimal.
        is_optimal_: whether that is proven.
        task_: the text of the learning task, whose language bias can be changed by hand.
        solution_: the learner's answer to it.
    """

    def __init__(
        self, *, label: str = "label", literal_cost: float | None = None, max_body: int | None = None,
        thresholds: int = 9, background: str = "", time_limit: float | None = 60,
    ) -> None:  # fmt: skip
        self.label = label
        self.literal_cost = literal_cost
        self.max_body = max_body
        self.thresholds = thresholds
        self.background = background
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rules.

        Args:
            X: DataFrame or array [n, columns].
            y: [n], the classes.
            sample_weight: float [n]: what getting a row wrong costs, from 0. None: 1 each.
        """
        task = self.task(X, y, sample_weight)
        # what the background does may have no end
        return self.take((learn if self.background else solve)(task, time_limit=self.time_limit))

    def task(self, X: Any, y: Any, sample_weight: Any = None) -> LasTask:
        """The learning task of `fit`, whose solution `take` takes."""
        cells = self._cells(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._rows = np.flatnonzero(weights > 0)
        codes, weights = codes[self._rows], weights[self._rows]
        if len(np.unique(codes)) < 2:
            raise TableError("The rows with a weight must have two classes or more; got one class.")
        self._unit = 1.0 if (weights == np.rint(weights)).all() else 1000 / float(weights.mean())
        self._codes, self._weights = codes, np.maximum(1, np.rint(weights * self._unit)).astype(np.int64)
        cost = max(1.0, _LITERAL_SHARE * weights.sum()) if self.literal_cost is None else self.literal_cost
        self._cost = round(cost * self._unit)
        self._default = int(np.bincount(codes, weights).argmax())
        head, *own = predicates([self.label, *cells])
        self._heads = [f"{head}({constant(value)})" for value in self.classes_.tolist()]
        self._asked = [asked for code, asked in enumerate(self._heads) if code != self._default]
        self._train = {name: column[self._rows] for name, column in cells.items()}
        self._columns = [
            Column.of(name, word, self._train[name], self._weights, self.thresholds, 2 * self._cost + 1)
            for name, word in zip(cells, own, strict=True)
        ]
        self._literals = [literal for column in self._columns for literal in column.literals]
        self._program = "".join(column.background for column in self._columns) + self.background
        if self.background:
            self._literals += self._derivable()
        few = comb(len(self._literals), 3) <= _MOST_BODIES
        self._longest = self.max_body if self.max_body is not None else 2 + few
        penalty = f"penalty({self._cost}, head). penalty({self._cost}, body(X)) :- in_body(X)."
        bias = [f"#modeh({head})." for head in self._asked]
        bias += [f"#modeb({literal.text})." for literal in self._literals]
        bias += [f"#max_body({self._longest}).", f'#bias("{penalty}").']
        task = LasTask.build(self._examples(), self._program, "\n".join(bias), "the table")
        text = [f"% Where no rule fires: {self._said(self._default)}.", self._program, print_bias(task.bias)]
        self.task_ = "\n\n".join([*text, "\n".join(map(print_example, task.examples)), ""])
        return task

    def _derivable(self) -> list[Literal]:
        """Literals with the atoms that the background derives if any facts of the table hold together."""
        facts = sorted({fact for context in self._contexts(self._train) for fact in context})
        text = "\n".join([self.background, *(f"{{ {fact} }}." for fact in facts)])
        own = {(column.predicate, 1) for column in self._columns}
        new = parse(self.background, "the background knowledge").derived - own
        control = grounded("The background knowledge", text=text)  # which owns its atoms
        atoms = [str(a.symbol) for name, n in new for a in control.symbolic_atoms.by_signature(name, n)]
        if not atoms:
            names = ", ".join(sorted({fact.partition("(")[0] for fact in facts}))
            raise TableError(f"The background must derive atoms from the table's predicates: {names}.")
        return [Literal(no + atom, no + atom) for atom in sorted(atoms) for no in ("", "not ")]

    def _examples(self) -> list[WeightedExample]:
        """The rows; those alike are one example."""
        groups: dict[tuple[tuple[str, ...], int], list[int]] = {}
        columns = (self._codes.tolist(), self._weights.tolist(), self._rows.tolist())
        for context, code, weight, row in zip(self._contexts(self._train), *columns, strict=True):
            groups.setdefault((context, code), [row + 1, 0])[1] += weight
        result = []
        for (context, code), (row, weight) in groups.items():
            wanted = () if code == self._default else (self._heads[code],)
            others = tuple(head for head in self._asked if head not in wanted)
            result.append(WeightedExample(f"row_{row}", weight, wanted, others, context))
        return result

    def _contexts(self, cells: dict[str, Array]) -> list[tuple[str, ...]]:
        """The facts of each row, of columns that literals test or that the background may read."""
        used = [column for column in self._columns if column.values or self.background]
        facts = [column.facts(cells[column.name]) for column in used]
        n = len(next(iter(cells.values())))
        return [tuple(filter(None, row)) for row in zip(*facts, strict=True)] if facts else [()] * n

    def take(self, solution: Solution) -> Self:
        """Take a solution of `task`."""
        numbers = {literal.text: i for i, literal in enumerate(self._literals)}
        nodes = [parse(text, "the hypothesis").rules[0].node for text in solution.hypothesis]
        self._rules = [
            (self._heads.index(str(node.head)), [numbers[str(each)] for each in node.body]) for node in nodes
        ]
        words = [self._words(head, [self._literals[i] for i in body]) for head, body in self._rules]
        self.rules_ = Rules("\n".join([*words, f"otherwise {self._said(self._default)}"]))
        self.rules_.asp = "\n".join(solution.hypothesis)
        self.solution_, self.is_optimal_ = solution, solution.status == "optimal"
        empty = int(self._weights[self._codes != self._default].sum())  # where time was too short for rules
        score = empty if solution.score is None else solution.score
        self.score_, self.bound_ = score / self._unit, solution.bound / self._unit
        self._counts: dict[bytes, Floats] = {}
        outcomes = self._derived(self._fires(self._train))
        for outcome, code, weight in zip(outcomes, self._codes, self._weights, strict=True):
            nothing = np.zeros(len(self._heads))
            self._counts.setdefault(outcome.tobytes(), nothing)[code] += weight / self._unit
        return self

    def _said(self, head: int) -> str:
        return f"{self.label} = {self.classes_[head]}".replace("\n", "\\n")

    def _words(self, head: int, body: Sequence[Literal]) -> str:
        tests = " and ".join(literal.words for literal in body).replace("\n", "\\n")
        return f"{self._said(head)} if {tests or 'always'}"

    def _holds(self, cells: dict[str, Array], columns: Sequence[Column]) -> Bools:
        """bool [n, literals]: which literals of columns, and of the background, hold in each row."""
        terms = [(column, column.terms(cells[column.name])) for column in columns]
        result = [each.holds(values, each.value) for column, values in terms for each in column.literals]
        if self.background and columns is self._columns:
            from nsl_bench.logic.inference.crisp import derived

            texts = [literal.text for literal in self._literals]
            atoms = [text.removeprefix("not ") for text in texts]
            distinct, of = np.unique(atoms, return_inverse=True)
            found = derived([], self._program, self._contexts(cells), distinct.tolist())[0]
            return np.asarray(found[:, of] != np.not_equal(atoms, texts))
        return np.array(result, np.bool_).reshape(-1, len(next(iter(cells.values())))).T

    def _fires(self, cells: dict[str, Array]) -> Bools:
        """bool [n, rules]: which rules fire in each row."""
        holds = self._holds(cells, self._columns)
        fires = [holds[:, body].all(axis=1) for _, body in self._rules]
        return np.array(fires, np.bool_).reshape(-1, len(holds)).T

    def _derived(self, fires: Bools) -> Bools:
        """bool [n, classes]: which classes are derived in each row."""
        heads = np.array([head for head, _ in self._rules], np.int64)
        return np.asarray(fires.astype(np.int64) @ np.eye(len(self._heads), dtype=np.int64)[heads] > 0)

    def predict_proba(self, X: Any) -> Floats:
        """float64 [n, classes]: shares of the training rows where rules derived the same classes.

        Each class counts one row more. No class is more probable than the derived one, or than the default
        if none is derived.
        """
        check_is_fitted(self)
        outcomes = self._derived(self._fires(self._cells(X, reset=False)))
        result = np.ones(outcomes.shape)
        for row, outcome in zip(result, outcomes, strict=True):
            row += self._counts.get(outcome.tobytes(), 0)
            allowed = np.flatnonzero(outcome) if outcome.any() else np.array([self._default])
            best = allowed[row[allowed].argmax()]
            row[best] = max(row[best], row.max() * (1 + 1e-9))
        return np.asarray(result / result.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Array:
        """[n]: the class that the rules derive; of several, the most probable one."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def explain(self, X: Any) -> list[str]:
        """A sentence for each row: its class, and the rules that fire."""
        codes = self.predict_proba(X).argmax(axis=1).tolist()
        fires = self._fires(self._cells(X, reset=False))
        rules = self.rules_.splitlines()
        said = ["; ".join(rules[k] for k in np.flatnonzero(row)) for row in fires]
        pairs = zip(codes, said, strict=True)
        return [f"{self._said(code)}, because: {why or 'no rule fires'}." for code, why in pairs]

    def why_no_better(self) -> list[str]:
        """Sentences on why no rules have a lower score: rows in conflict, the next rule, missing literals."""
        check_is_fitted(self)
        holds, found = self._holds(self._train, self._columns), self._derived(self._fires(self._train))
        wanted = np.eye(len(self._heads), dtype=np.bool_)[self._codes]
        wanted[:, self._default] = False
        now = (found == wanted).all(axis=1)
        classes = np.arange(len(self._heads))
        gains = {
            head: (self._weights * (((found | (classes == head)) == wanted).all(axis=1) * 1.0 - now))
            for head in classes.tolist()
            if head != self._default
        }
        rows, _ = self._alike(self._contexts(self._train))
        _, lost = self._alike([row.tobytes() for row in holds])
        result = [f"Rows with the same facts have different classes: {rows}."] if rows else []
        result += [f"Any rules of this language get a weight of {round(lost, 2):g} wrong."] if lost else []
        gain, rule = self._next(gains, self._literals, holds, 3)
        said = f"The next rule would raise the score by {round(0 - gain, 2):g}: {rule}."
        result.append(said if rule else "Each other rule puts more weight wrong than right.")
        fine = [
            Column.of(c.name, c.predicate, self._train[c.name], self._weights, _FINE_THRESHOLDS, 1)
            for c in self._columns
        ]
        literals = [each for column in fine for each in column.literals]
        finer, rule = self._next(gains, literals, self._holds(self._train, fine), 2)
        if rule and finer > max(0, gain):
            result.append(f"More literals would lower the score by {round(finer, 2):g}: {rule}.")
        return result

    def _next(
        self, gains: dict[int, Floats], literals: Sequence[Literal], holds: Bools, longest: int
    ) -> tuple[float, str]:
        """What the best rule to add gains after its cost, and the rule in words."""
        longest = min(longest, self._longest)
        tried = ((*_best(gain, holds, longest, self._cost), head) for head, gain in gains.items())
        best, body, head = max(tried, key=lambda found: found[0])
        return best / self._unit, self._words(head, [literals[i] for i in body]) if body else ""

    def _alike(self, features: Sequence[Any]) -> tuple[str, float]:
        """Some rows of groups with several classes, and what the groups' minorities weigh."""
        ids: dict[Any, int] = {}
        group = np.array([ids.setdefault(each, len(ids)) for each in features])
        totals = np.zeros((len(ids), len(self._heads)), np.int64)
        np.add.at(totals, (group, self._codes), self._weights)
        mixed = np.flatnonzero((totals > 0).sum(axis=1) > 1)[:_SHOWN]
        rows = ["rows " + ", ".join(map(str, self._rows[group == each][:_ROWS] + 1)) for each in mixed]
        return "; ".join(rows), (totals.sum() - totals.max(axis=1).sum()) / self._unit

    def _cells(self, X: Any, y: Any = "no_validation", *, reset: bool) -> dict[str, Array]:
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
            frame = X
        else:
            checked = validate_data(self, X, y, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            frame = pd.DataFrame(checked[0] if isinstance(checked, tuple) else checked)
            frame = frame.infer_objects().add_prefix("x")
        if not frame.columns.is_unique:
            raise TableError("Each column must have its own name; two are alike.")
        cells = {str(name): cells_of(frame[name], f"The column '{name}'") for name in frame}
        for column in () if reset else self._columns:
            own = cells[column.name]
            if column.values and (own.dtype == object) == (column.digits is not None) and pd.notna(own).any():
                kind, other = ("words", "numbers") if column.digits is None else ("numbers", "words")
                raise TableError(f"The column '{column.name}' must have {kind}, as in `fit`; got {other}.")
        return cells


def _best(gain: Floats, holds: Bools, longest: int, cost: int) -> tuple[float, tuple[int, ...]]:
    """What the best rule gains after its costs, and its body of at most three literals.

    Args:
        gain: float32 [n]: what is gained in each row where the rule fires.
        holds: bool [n, literals]: which literals hold.
    """
    literals, gain = holds[gain != 0].astype(np.float32), gain[gain != 0].astype(np.float32)
    best: tuple[float, tuple[int, ...]] = (-np.inf, ())

    def offer(values: Floats32, fixed: tuple[int, ...], size: int) -> None:
        nonlocal best
        paying = np.where(values > 0, values - (1 + size) * cost, -np.inf)
        if paying.size and paying.max() > best[0]:
            best = float(paying.max()), (*fixed, *map(int, np.unravel_index(paying.argmax(), paying.shape)))

    offer(gain @ literals, (), 1)
    if longest > 1:
        offer(literals.T @ (gain[:, None] * literals), (), 2)
    ceiling = np.maximum(gain, 0) @ literals
    for i in np.argsort(-ceiling, kind="stable").tolist() if longest > 2 else ():
        if ceiling[i] - 4 * cost > best[0]:
            rows = literals[:, i] > 0
            offer(literals[rows].T @ (gain[rows, None] * literals[rows]), (i,), 3)
    return best
