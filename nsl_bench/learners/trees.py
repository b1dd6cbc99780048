"""Tabular baselines, and decision trees as rules: one rule a branch, each test on it an atom.

As the FFNSL paper's code counts them: for a random forest its first tree, for a neural learner a surrogate
tree that is fitted to the learner's predictions on its train set. Section 5: 100 trees, seed 0.
"""

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import AnyInts, Floats, Floats32, Hypothesis
from nsl_bench.learners.asp_rules import decision_list, tree_leaves
from nsl_bench.learners.view import Inputs, View, Weights


class TreeLearner(HasOptions):
    """A learner whose model is scikit-learn's, on the features of a task."""

    track: Track = "pretrained"
    knowledge: bool = False
    """Whether it learns from `knowledge_features`."""

    inputs: Inputs = "concepts"
    weights: Weights = "equal"

    def _fitted(self, model: Any, train: View) -> Self:
        """This learner, with a model fitted to the train set."""
        weights = train.weights if self.weights == "confidence" else None
        self._model = model.fit(self._inputs(train), train.labels, sample_weight=weights)
        self._features, self._labels = train.feature_names(knowledge=self.knowledge), train.label_names
        return self

    def _inputs(self, view: View) -> Floats32:
        return view.inputs(self.inputs, view.knowledge_features if self.knowledge else view.features)

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: the leaves' shares of labels, mean of all trees; 0 for labels never seen."""
        result = np.zeros((len(test), test.n_labels))
        if len(test):
            result[:, self._model.classes_] = self._model.predict_proba(self._inputs(test))
        return result

    def _rules_of(self, tree: Any) -> Hypothesis:
        classes = [self._labels[int(c)] for c in self._model.classes_]
        return tree_rules(tree, self._features, classes)


def tree_rules(
    tree: Any, feature_names: Sequence[str], classes: Sequence[str], fidelity: float | None = None
) -> Hypothesis:
    """The branches of a fitted scikit-learn decision tree.

    Args:
        tree: a `DecisionTreeClassifier`.
        feature_names: one for each column of its inputs.
        classes: the names of its classes, in its order.

    Returns:
        A hypothesis in the language ``"tree"``. A tree of one leaf is a rule without tests, which counts
        as one atom.
    """
    nodes = tree.tree_
    left, right = nodes.children_left.tolist(), nodes.children_right.tolist()
    features, thresholds = nodes.feature.tolist(), nodes.threshold.tolist()
    best = nodes.value[:, 0, :].argmax(axis=1).tolist()
    rules: list[str] = []
    atoms = 0
    open_: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while open_:
        node, tests = open_.pop()
        if left[node] == -1:
            body = " and ".join(tests)
            rules.append(f"{classes[best[node]]} if {body}" if tests else classes[best[node]])
            atoms += len(tests)
            continue
        name, threshold = feature_names[features[node]], f"{thresholds[node]:.6g}"
        open_.append((right[node], (*tests, f"{name} > {threshold}")))
        open_.append((left[node], (*tests, f"{name} <= {threshold}")))
    return Hypothesis(tuple(rules), max(atoms, 1), language="tree", fidelity=fidelity)


def tree_as_asp(tree: Any, train: View, *, knowledge: bool = False) -> list[str]:
    """The branches of a fitted scikit-learn decision tree as ASP rules, without loss.

    Args:
        tree: a `DecisionTreeClassifier` on the view's `features`; its classes are numbers of labels.
        train: the view that it was fitted to.
        knowledge: it was fitted to `knowledge_features`.
    """
    nodes = tree.tree_
    left, right = nodes.children_left.tolist(), nodes.children_right.tolist()
    asked = list(zip(nodes.feature.tolist(), nodes.threshold.tolist(), strict=True))
    tests = list(dict.fromkeys(test for test, child in zip(asked, left, strict=True) if child >= 0))
    number = {test: k for k, test in enumerate(tests)}
    leaves = tree_leaves(left, right, [number.get(test, 0) for test in asked], nodes.value[:, 0, :])
    branches = [(path, int(tree.classes_[shares.argmax()])) for path, shares in leaves]
    default = int(tree.classes_[nodes.value[0, 0].argmax()])
    literals = [train.feature_test(column, threshold, knowledge=knowledge) for column, threshold in tests]
    written = decision_list(branches, default, [(test.atom,) for test in literals], train.label_space)
    return [*written, *(rule for test in literals for rule in test.rules)]


def surrogate(
    inputs: Floats32, predicted: AnyInts, feature_names: Sequence[str], label_names: Sequence[str]
) -> Hypothesis:
    """The rules of an unrestricted decision tree fitted to a learner's predictions.

    Args:
        inputs: float32 [n, features].
        predicted: int [n], the learner's labels for them.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0).fit(inputs, predicted)
    classes = [label_names[int(c)] for c in tree.classes_]
    return tree_rules(tree, feature_names, classes, fidelity=float(tree.score(inputs, predicted)))


class Cart(TreeLearner):
    """A decision tree on the benchmark's features of the concepts."""

    name = "cart"
    version = "1"
    search_space: Mapping[str, Sequence[int]] = MappingProxyType(
        {"depth": (0, 2, 4, 6, 8), "leaf": (1, 2, 5, 10)}
    )

    depth: int = option(0, "maximum depth; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed that breaks ties between features")
    knowledge: bool = option(False, "learn from `knowledge_features`")
    asp: bool = option(
        False,
        "give the tree's branches as ASP, which is judged like other learners' rules, where ASP says them "
        "exactly",
    )

    def fit(self, train: View) -> Self:
        """Fit the tree."""
        from sklearn.tree import DecisionTreeClassifier

        self._train = train if self.asp else None
        tree = DecisionTreeClassifier(
            max_depth=self.depth or None, min_samples_leaf=self.leaf, random_state=self.seed
        )
        return self._fitted(tree, train)

    def rules(self) -> Hypothesis | list[str]:
        """The tree's branches, as ASP where that was asked for and is exact."""
        if self._train is not None:
            with contextlib.suppress(UserError):
                return tree_as_asp(self._model, self._train, knowledge=self.knowledge)
        return self._rules_of(self._model)


class RandomForest(TreeLearner):
    """A random forest on the benchmark's features of the concepts."""

    name = "random_forest"
    version = "1"
    answers_alike = True
    search_space: Mapping[str, Sequence[Any]] = MappingProxyType(
        {
            "trees": (50, 100, 300),
            "depth": (0, 4, 8, 16),
            "leaf": (1, 2, 5),
            "inputs": get_args(Inputs),
            "weights": get_args(Weights),
        }
    )

    trees: int = option(100, "number of trees", least=1)
    depth: int = option(0, "maximum depth of each tree; 0 for no limit", least=0)
    leaf: int = option(1, "minimum number of train examples in a leaf", least=1)
    seed: int = option(0, "seed of the bootstrap samples and of the features tried at each split")
    inputs: Inputs = option(
        "concepts", "the task's features of the most probable concepts, probabilities, or both"
    )
    weights: Weights = option(
        "equal", "how much train examples count: all alike, or by ``confidence``, as FFNSL weighs them"
    )

    def fit(self, train: View) -> Self:
        """Fit the trees."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            self.trees,
            max_depth=self.depth or None,
            min_samples_leaf=self.leaf,
            random_state=self.seed,
            n_jobs=1,
        )
        return self._fitted(forest, train)

    def rules(self) -> Hypothesis | None:
        """The rules of the first tree, one per branch; None for tests on probabilities."""
        return None if self.inputs != "concepts" else self._rules_of(self._model.estimators_[0])


class RandomForestWithKnowledge(RandomForest):
    """A random forest on knowledge features, such as whether a digit repeats in a row."""

    fixed_size = ("labels",)
    knowledge = True
    offered = ("trees", "depth", "leaf", "seed", "weights")
    search_space = MappingProxyType({k: v for k, v in RandomForest.search_space.items() if k != "inputs"})


class Majority:
    """Predicts the label frequencies of the train set for every example."""

    version = "1"
    track: Track = "pretrained"
    fixed_size = False

    def fit(self, train: View) -> Self:
        """Count the labels."""
        counts = np.bincount(train.labels, minlength=train.n_labels)
        self._frequencies = dict(zip(train.label_names, (counts / counts.sum()).tolist(), strict=True))
        self._name = train.label_names[int(counts.argmax())]
        return self

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]; where the test task has other labels, those of the train set share 1."""
        frequencies = np.array([self._frequencies.get(name, 0.0) for name in test.label_names])
        if len(self._frequencies) != test.n_labels:
            total = frequencies.sum()
            frequencies = frequencies / total if total else np.full(test.n_labels, 1 / test.n_labels)
        return np.tile(frequencies, (len(test), 1))

    def rules(self) -> Hypothesis:
        """One rule without a body; it counts as one atom."""
        return Hypothesis((self._name,), atoms=1, language="tree")
