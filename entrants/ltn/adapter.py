"""Logic Tensor Networks of the package LTNtorch: the known rule holds, in fuzzy logic, of every example."""

import ltn
import numpy as np
import torch

from nsl_bench.learners.networks import SHARE, Passes, encoder, floats, pictures
from nsl_bench.learners.truth_tables import likeliest, truth_tables


class Ltn:
    """Trains a network of images: for all examples there is a world that they show and that has their labels.

    A world is a row of the rule's truth table. An example shows it to the degree of the product of its
    concepts' probabilities. Answers are the labels of the likeliest world.

    Args:
        epochs: passes over the train set with each exponent, at most; each may take a third of the time.
        patience: passes after which they end if the loss has not become smaller.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        p: last exponent of the existential quantifier; before, it is 1 and 2.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3, 3e-3), "p": (2, 6), "batch": (8, 32)}

    def __init__(
        self,
        epochs: int = 1000,
        rate: float = 1e-3,
        batch: int = 32,
        p: int = 6,
        patience: int = 100,
        seed: int = 0,
    ):
        self.epochs, self.rate, self.batch, self.p = epochs, rate, batch, p
        self.patience, self.seed = patience, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        told, labels = truth_tables(train, blank), train.labels
        self.size, self.concepts = images.shape[3:], len(train.concept_space)
        self.net = encoder(images, self.concepts)
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        for stage, p in enumerate((1, 2, self.p), 1):
            passes = Passes(self.net, train, self.epochs, self.patience, SHARE * stage / 3)
            for _ in passes:
                total = 0.0
                for chosen in torch.split(torch.randperm(len(told.rows)), self.batch):
                    loss = self._loss(images, told, labels, chosen, p)
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
                    total += float(loss.detach()) * len(chosen)
                passes.loss = total
        return self

    def _loss(self, images, told, labels, chosen, p):
        """How far it is from holding that each example shows a world with its labels."""
        shows = ltn.Predicate(func=_shows)
        exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
        for_all = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
        formulas = []
        for table, mine in told.apart(chosen.numpy()):
            n = table.labels.shape[1]
            x = ltn.Variable("x", self._seen(images[told.rows[mine]]))
            y = ltn.Variable("y", torch.as_tensor(labels[told.rows[mine]]))
            w = ltn.Variable("w", torch.as_tensor(np.hstack([table.worlds, table.labels])))
            x, y = ltn.diag(x, y)
            formula = exists(
                w,
                shows(x, w),
                cond_vars=[w, y],
                cond_fn=lambda w, y, n=n: (w.value[:, -n:] == y.value.reshape(len(w.value), -1)).all(-1),
                p=p,
            )
            formulas.append(for_all([x, y], formula))
        return 1 - ltn.fuzzy_ops.SatAgg()(*formulas)

    def _seen(self, images):
        """Probabilities of concepts, [m, images, concepts], of images [m, steps, slots, ...]."""
        flat = floats(images.reshape(-1, *images.shape[-3:]))
        return self.net(flat).softmax(dim=1).reshape(len(images), -1, self.concepts)

    def predict_concepts(self, test):
        images, _ = pictures(test, self.size)
        with torch.no_grad():
            return torch.cat([self._seen(part).double() for part in images.split(256)]).numpy()

    def predict(self, test):
        _, blank = pictures(test, self.size)
        return likeliest(test, self.predict_concepts(test), blank)


def _shows(seen, rows):
    """The degree to which examples [m, images, concepts] show worlds, whose last columns are labels."""
    worlds = rows[:, : seen.shape[1]].long()
    own = torch.gather(seen, 2, worlds.clamp_min(0)[:, :, None])[:, :, 0]
    return torch.where(worlds < 0, torch.ones_like(own), own).prod(dim=1)
