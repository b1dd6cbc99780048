"""Abductive learning of the package ablkit: concepts are revised until the known rule gives the label."""

import os
import tempfile

import numpy as np
import torch
from ablkit.bridge import SimpleBridge
from ablkit.learning import ABLModel, BasicNN
from ablkit.reasoning import KBBase, Reasoner

from nsl_bench.learners.networks import Passes, encoder, floats, pictures
from nsl_bench.learners.truth_tables import likeliest, truth_tables

TURNS = 5
"""Turns between two looks at how many examples have to be revised."""


class _Known(KBBase):
    """The known rule: concepts of an example's images to its labels, from a truth table."""

    def __init__(self, concepts, tables):
        self.tables = tables  # by the identity of an example's first image
        super().__init__(list(range(concepts)))

    def logic_forward(self, pseudo_label, x):
        return self.tables[id(x[0])].get(tuple(int(k) for k in pseudo_label))


class Abl:
    """A network of images, trained in turns on concepts that abduction makes consistent with the labels.

    Args:
        loops: turns of prediction, abduction and training, at most. They end when no example has to be
            revised, or no fewer than before.
        patience: times in turn that no fewer examples have to be revised, after five turns each.
        epochs: epochs of training in each turn.
        rate: learning rate of RMSprop.
        distance: how candidates are compared: ``confidence``, ``avg_confidence`` or ``hamming``.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3), "epochs": (1, 3), "distance": ("confidence", "avg_confidence")}

    def __init__(
        self,
        loops: int = 5000,
        epochs: int = 1,
        rate: float = 1e-3,
        distance: str = "confidence",
        patience: int = 10,
        seed: int = 0,
    ):
        self.loops, self.epochs, self.rate = loops, epochs, rate
        self.distance, self.patience, self.seed = distance, patience, seed

    def fit(self, train):
        os.chdir(tempfile.gettempdir())  # the package writes its log to the working folder
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        told, labels = truth_tables(train, blank), train.labels
        dicts = {id(table): _as_dict(table) for table in told.tables}
        examples, goals, tables = [], [], {}
        for number, rows in enumerate(told.rows):
            table = told.tables[told.which[number]]
            shown = list(floats(images[rows][torch.as_tensor(~blank[rows])]))
            if shown:
                examples.append(shown)
                goals.append(tuple(labels[rows].tolist()))
                tables[id(shown[0])] = dicts[id(table)]
        self.n, self.size = len(train.concept_space), images.shape[3:]
        net = encoder(images, self.n)
        optimiser = torch.optim.RMSprop(net.parameters(), lr=self.rate)
        self.base = BasicNN(net, torch.nn.CrossEntropyLoss(), optimiser, num_epochs=self.epochs)
        reasoner = Reasoner(_Known(self.n, tables), dist_func=self.distance)
        bridge = SimpleBridge(ABLModel(self.base), reasoner, [])
        passes = Passes(net, train, -(-self.loops // TURNS), self.patience)
        for _ in passes:
            bridge.train((examples, None, goals), loops=TURNS, eval_interval=TURNS + 1)
            seen = iter(self.base.predict(X=[image for shown in examples for image in shown]).tolist())
            found = [tables[id(shown[0])].get(tuple(next(seen) for _ in shown)) for shown in examples]
            passes.loss = sum(one != other for one, other in zip(found, goals, strict=True))
            if not passes.loss:
                break
        return self

    def predict_concepts(self, test):
        images, _ = pictures(test, self.size)
        flat = list(floats(images.flatten(0, 1)))
        found = self.base.predict_proba(X=flat) if flat else np.zeros((0, self.n))
        found = np.asarray(found, float).clip(0)
        return (found / found.sum(axis=1, keepdims=True)).reshape(*images.shape[:2], -1)

    def predict(self, test):
        _, blank = pictures(test, self.size)
        return likeliest(test, self.predict_concepts(test), blank)


def _as_dict(table):
    """The labels of each world, whose blank images are left out."""
    shown = [k for k, choice in enumerate(table.choices) if choice[0] >= 0]
    return {
        tuple(world): tuple(labels)
        for world, labels in zip(table.worlds[:, shown].tolist(), table.labels.tolist(), strict=True)
    }
