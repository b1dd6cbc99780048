"""Perception trained through the known rule: the loss is the label's exact probability under the rule.

Xu, Zhang, Friedman, Liang, Van den Broeck: "A Semantic Loss Function for Deep Learning with Symbolic
Knowledge" (ICML 2018). The weighted models are counted in the rule's truth table, or a decision diagram.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK, Bools, Floats, Ints
from nsl_bench.learners.label_diagrams import Diagrams, label_tables, structures_of
from nsl_bench.learners.networks import Passes, encoder, floats, pictures
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.truth_tables import Tables, truth_tables
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.query import outcomes

LEAST = 1e-300
"""Probabilities below have no gradient. In single precision a network that is sure of one concept, for all
images alike, would stay so: a grid's correctness is then of a probability below its least number."""

_TOGETHER = 256


class LabelTrained(HasOptions):
    """One network for all images, trained by the probability of labels under rules."""

    _net: Any
    _size: tuple[int, int]
    _concepts: int

    learning_rate: float = option(1e-3, "learning rate of Adam", above=0)
    batch: int = option(16, "examples in a minibatch", least=1)
    seed: int = option(0, "seed of weights and of the order of examples")

    def predict_concepts(self, test: View) -> Floats:
        """float64 [n, slots, concepts]: what the network sees in each image."""
        import torch

        images, _ = pictures(test, self._size)
        with torch.inference_mode(), seeded(self.seed):
            parts = [self._net(floats(part.flatten(0, 1))).softmax(1) for part in images.split(_TOGETHER)]
        return np.asarray(torch.cat(parts), np.float64).reshape(len(test), len(test.slots), -1)

    def _seen(self, images: Any, rows: Ints) -> Any:
        """Tensor [examples, steps * slots, concepts]: probabilities of concepts."""
        pictures = images[rows.ravel()].flatten(0, 1)
        return self._net(floats(pictures)).double().softmax(dim=1).reshape(len(rows), -1, self._concepts)

    def _label_loss(self, diagrams: Diagrams, view: View, images: Any, rows: Ints) -> Any:
        """Sum over rows, int64 [m], of minus the logarithm of their labels' probability under rules."""
        import torch

        seen, loss = self._seen(images, rows[:, None]), torch.zeros(())
        for table, mine in diagrams.apart(rows):
            given = table.probabilities(seen[torch.as_tensor(mine)], outcomes(view.label_space))
            asked = torch.as_tensor(view.labels[rows[mine]])[:, None]
            loss = loss - given.gather(1, asked).clamp_min(LEAST).log().sum()
        return loss


class SemanticLoss(LabelTrained):
    """One network for all images, trained by the probability of the labels under the known rule.

    Steps of a sequence are taken together; their rules must have a small truth table: at most 20,000
    combinations of concepts for a sequence. Other rules may be larger if they have a small decision diagram.
    """

    name = "semantic_loss"
    version = "5"
    track: Track = "known_rules"
    fixed_size = False
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (3e-4, 1e-3, 3e-3), "batch": (8, 32)}
    )

    epochs: int = option(1000, "passes over the train set, at most", least=1)
    patience: int = option(
        100,
        "passes without a smaller loss of validation examples after which training stops, or near the time "
        "limit, with the weights of the best pass; 0 to make all passes",
        least=0,
    )

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Train the network on the labels."""
        import torch

        images, blank = pictures(train)
        self._size, self._concepts = images.shape[3:], len(train.concept_space)
        training_data = train, images, _known(train, blank)
        held_out = training_data
        if validation is not None:
            more, blank = pictures(validation, self._size)
            held_out = validation, more, _known(validation, blank)
        with seeded(self.seed):
            self._net = encoder(images, self._concepts)
            optimiser = torch.optim.Adam(self._net.parameters(), lr=self.learning_rate)
            passes = Passes(self._net, train, self.epochs, self.patience)
            for _ in passes:
                for chosen in torch.split(torch.randperm(len(training_data[2].rows)), self.batch):
                    optimiser.zero_grad()
                    (self._loss(*training_data, chosen) / len(chosen)).backward()
                    optimiser.step()
                with torch.inference_mode():
                    every = torch.split(torch.arange(len(held_out[2].rows)), _TOGETHER)
                    passes.loss = sum(float(self._loss(*held_out, rows)) for rows in every)
        self._net.eval()
        return self

    def _loss(self, view: View, images: Any, tables: Tables | Diagrams, chosen: Any) -> Any:
        """Sum over examples of minus the logarithm of their labels' probability under the rule."""
        import torch

        if isinstance(tables, Diagrams):
            return self._label_loss(tables, view, images, chosen.numpy())
        loss = torch.zeros(())
        for table, mine in tables.apart(chosen.numpy()):
            asked = view.labels[tables.rows[mine]]
            worlds = _worlds(self._seen(images, tables.rows[mine]), table.choices)
            agrees = (table.labels[None] == asked[:, None]).all(axis=2)
            loss = loss - (worlds * torch.as_tensor(agrees)).sum(dim=1).clamp_min(LEAST).log().sum()
        return loss

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: label probabilities under the rule, given that some label follows."""
        import torch

        result = np.zeros((len(test), test.n_labels))
        if not len(test):
            return result
        images, blank = pictures(test, self._size)
        tables = _known(test, blank)
        with torch.inference_mode(), seeded(self.seed):
            for start in range(0, len(tables.rows), _TOGETHER):
                chosen = np.arange(start, min(start + _TOGETHER, len(tables.rows)))
                if isinstance(tables, Diagrams):
                    seen = self._seen(images, chosen[:, None])
                    for diagram, mine in tables.apart(chosen):
                        found = diagram.probabilities(seen[torch.as_tensor(mine)], outcomes(test.label_space))
                        result[chosen[mine]] = np.asarray(found)[:, : test.n_labels]
                    continue
                for table, mine in tables.apart(chosen):
                    worlds = np.asarray(_worlds(self._seen(images, tables.rows[mine]), table.choices))
                    for step, own in enumerate(table.labels.T):
                        for label in np.unique(own[own >= 0]):
                            result[tables.rows[mine, step], label] = worlds[:, own == label].sum(axis=1)
        total = result.sum(axis=1, keepdims=True)
        return result / np.where(total > 0, total, 1)


def _known(view: View, blank: Bools) -> Tables | Diagrams:
    """The labels of all worlds under the known rule: truth tables, or diagrams where they are too large."""
    try:
        return truth_tables(view, blank)
    except NotApplicable:
        if view.sequential:
            raise
        structures = structures_of(view, ~blank)
        return Diagrams(structures, label_tables([view.true_rule.asp.text], view, structures))


def _worlds(seen: Any, choices: Sequence[Ints]) -> Any:
    """Tensor [examples, worlds]: the probability of each combination of concepts."""
    import torch

    result = torch.ones((len(seen), 1))
    for image, choice in enumerate(choices):
        if choice[0] != BLANK:
            own = seen[:, image, torch.as_tensor(choice)]
            result = (result[:, :, None] * own[:, None, :]).flatten(1)
    return result
