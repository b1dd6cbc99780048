"""Decision trees as rules: one rule a branch, each test on it an atom.

As the FFNSL paper's code counts them: for a random forest its first tree, for a neural learner a surrogate
tree that is fitted to the learner's predictions on its train set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core.options import HasOptions
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Hypothesis
from nsl_bench.learners.asp_rules import decision_list, tree_leaves

if TYPE_CHECKING:
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

    def _inputs(self, view: View) -> npt.NDArray[np.float32]:
        if self.inputs == "probabilities":
            return view.probability_features
        return view.knowledge_features if self.knowledge else view.features

    def predict_proba(self, test: View) -> npt.NDArray[np.float64]:
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
    told = [train.feature_test(column, threshold, knowledge=knowledge) for column, threshold in tests]
    written = decision_list(branches, default, [(test.atom,) for test in told], train.label_space)
    return [*written, *(rule for test in told for rule in test.rules)]


def surrogate(
    inputs: npt.NDArray[np.float32],
    predicted: npt.NDArray[np.integer[Any]],
    feature_names: Sequence[str],
    label_names: Sequence[str],
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
