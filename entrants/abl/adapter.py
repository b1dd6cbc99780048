"""Abductive learning of the package ablkit: concepts are revised until the known rule gives the label."""

import os
import tempfile

import numpy as np
import torch
from ablkit.bridge import SimpleBridge
from ablkit.learning import ABLModel, BasicNN
from ablkit.reasoning import KBBase, Reasoner

from nsl_bench.learners.truth_tables import likeliest, pictures, truth_tables


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
        loops: turns of prediction, abduction and training, at most. They end when, after ten turns, no
            example has to be revised.
        epochs: epochs of training in each turn.
        rate: learning rate of RMSprop.
        distance: how candidates are compared: ``confidence``, ``avg_confidence`` or ``hamming``.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3), "epochs": (1, 3), "distance": ("confidence", "avg_confidence")}

    def __init__(
        self,
        loops: int = 50,
        epochs: int = 1,
        rate: float = 1e-3,
        distance: str = "confidence",
        seed: int = 0,
    ):
        self.loops, self.epochs, self.rate = loops, epochs, rate
        self.distance, self.seed = distance, seed

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
            shown = [torch.as_tensor(image) for image in images[rows][~blank[rows]]]
            if shown:
                examples.append(shown)
                goals.append(tuple(labels[rows].tolist()))
                tables[id(shown[0])] = dicts[id(table)]
        self.n = len(train.concept_space)
        net = _network(images.shape[2], self.n)
        optimiser = torch.optim.RMSprop(net.parameters(), lr=self.rate)
        self.base = BasicNN(net, torch.nn.CrossEntropyLoss(), optimiser, num_epochs=self.epochs)
        reasoner = Reasoner(_Known(self.n, tables), dist_func=self.distance)
        bridge = SimpleBridge(ABLModel(self.base), reasoner, [])
        for start in range(0, self.loops, 10):
            turns = min(10, self.loops - start)
            bridge.train((examples, None, goals), loops=turns, eval_interval=turns + 1)
            seen = iter(self.base.predict(X=[image for shown in examples for image in shown]).tolist())
            found = [tables[id(shown[0])].get(tuple(next(seen) for _ in shown)) for shown in examples]
            if found == goals:
                break
        return self

    def predict_concepts(self, test):
        images, _ = pictures(test)
        flat = [torch.as_tensor(image) for image in images.reshape(-1, *images.shape[2:])]
        found = self.base.predict_proba(X=flat) if flat else np.zeros((0, self.n))
        found = np.asarray(found, float).clip(0)
        return (found / found.sum(axis=1, keepdims=True)).reshape(*images.shape[:2], -1)

    def predict(self, test):
        _, blank = pictures(test)
        return likeliest(test, self.predict_concepts(test), blank)


def _as_dict(table):
    """The labels of each world, whose blank images are left out."""
    shown = [k for k, choice in enumerate(table.choices) if choice[0] >= 0]
    return {
        tuple(world): tuple(labels)
        for world, labels in zip(table.worlds[:, shown].tolist(), table.labels.tolist(), strict=True)
    }


def _network(channels, concepts):
    conv, linear, pool, relu = torch.nn.Conv2d, torch.nn.Linear, torch.nn.MaxPool2d, torch.nn.ReLU
    first = [conv(channels, 6, 5), pool(2), relu(), conv(6, 16, 5), pool(2), relu(), torch.nn.Flatten()]
    return torch.nn.Sequential(
        *first, linear(256, 120), relu(), linear(120, 84), relu(), linear(84, concepts)
    )
