"""Logic Tensor Networks of the package LTNtorch: the known rule holds, in fuzzy logic, of every example."""

import ltn
import numpy as np
import torch

from nsl_bench.learners.truth_tables import likeliest, pictures, truth_tables

Net = torch.nn.Sequential


class Ltn:
    """Trains a network of images: for all examples there is a world that they show and that has their labels.

    A world is a row of the rule's truth table. An example shows it to the degree of the product of its
    concepts' probabilities. Answers are the labels of the likeliest world.

    Args:
        epochs: passes over the train set; the default takes 75 seconds with the examples of Indoor Scene,
            whose loss still falls.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        p: exponent of the existential quantifier in the last third of the epochs; before, 1 and 2.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3, 3e-3), "p": (2, 6), "batch": (8, 32)}

    def __init__(self, epochs: int = 250, rate: float = 1e-3, batch: int = 32, p: int = 6, seed: int = 0):
        self.epochs, self.rate, self.batch, self.p, self.seed = epochs, rate, batch, p, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        told, labels = truth_tables(train, blank), train.labels
        self.net = _network(images.shape[2], len(train.concept_space))
        shows = ltn.Predicate(func=_shows)
        exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
        for_all = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
        satisfied = ltn.fuzzy_ops.SatAgg()
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        for epoch in range(self.epochs):
            p = (1, 2, self.p)[3 * epoch // self.epochs]
            for chosen in torch.split(torch.randperm(len(told.rows)), self.batch):
                formulas = []
                for table, mine in told.apart(chosen.numpy()):
                    wanted = labels[told.rows[mine]]
                    seen = self._seen(images[told.rows[mine]])
                    n = table.labels.shape[1]
                    rows = np.hstack([table.worlds, table.labels])
                    x = ltn.Variable("x", seen)
                    y = ltn.Variable("y", torch.as_tensor(wanted))
                    w = ltn.Variable("w", torch.as_tensor(rows))
                    x, y = ltn.diag(x, y)
                    formula = exists(
                        w,
                        shows(x, w),
                        cond_vars=[w, y],
                        cond_fn=lambda w, y, n=n: (w.value[:, -n:] == y.value.reshape(len(w.value), -1)).all(
                            -1
                        ),
                        p=p,
                    )
                    formulas.append(for_all([x, y], formula))
                loss = 1 - satisfied(*formulas)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return self

    def _seen(self, images):
        """Probabilities of concepts, [m, images, concepts], of images [m, steps, slots, ...]."""
        flat = torch.as_tensor(images.reshape(-1, *images.shape[-3:]))
        return self.net(flat).softmax(dim=1).reshape(len(images), -1, self.net[-1].out_features)

    def predict_concepts(self, test):
        images, _ = pictures(test)
        with torch.no_grad():
            return np.concatenate([self._seen(part).double().numpy() for part in _parts(images)])

    def predict(self, test):
        _, blank = pictures(test)
        return likeliest(test, self.predict_concepts(test), blank)


def _parts(images, size=256):
    return [images[k : k + size] for k in range(0, max(1, len(images)), size)]


def _shows(seen, rows):
    """The degree to which examples [m, images, concepts] show worlds, whose last columns are labels."""
    worlds = rows[:, : seen.shape[1]].long()
    own = torch.gather(seen, 2, worlds.clamp_min(0)[:, :, None])[:, :, 0]
    return torch.where(worlds < 0, torch.ones_like(own), own).prod(dim=1)


def _network(channels, concepts):
    conv, linear, pool, relu = torch.nn.Conv2d, torch.nn.Linear, torch.nn.MaxPool2d, torch.nn.ReLU
    first = [conv(channels, 6, 5), pool(2), relu(), conv(6, 16, 5), pool(2), relu(), torch.nn.Flatten()]
    return Net(*first, linear(256, 120), relu(), linear(120, 84), relu(), linear(84, concepts))
