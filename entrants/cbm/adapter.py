"""Concept bottleneck models of the package pytorch-concepts, trained jointly."""

import numpy as np
import torch
from torch_concepts.nn import LinearEmbeddingToConcept, MLPConceptToConcept

from nsl_bench.learners.networks import Passes, encoder, floats, pictures

WIDTH, BATCH = 84, 32


class Cbm:
    """One network sees the concept of each slot; another gives the label from all concepts and the metadata.

    Both are trained together, with the true concepts of train images. Where true concepts are given in place
    of images, the label is that of them.

    Args:
        hidden: units of the network from concepts to labels.
        epochs: passes over the train set, at most.
        rate: learning rate of AdamW.
        weight: weight of the labels' loss; that of the concepts' has 1.
        patience: passes without a smaller loss of validation examples after which training ends.
        seed: seed of torch.
    """

    search_space = {"rate": (1e-3, 3e-3), "weight": (0.1, 0.5, 1.0), "hidden": (32, 128)}

    def __init__(
        self,
        hidden: int = 64,
        epochs: int = 1000,
        rate: float = 1e-3,
        weight: float = 0.5,
        patience: int = 50,
        seed: int = 0,
    ):
        self.hidden, self.epochs, self.rate = hidden, epochs, rate
        self.weight, self.patience, self.seed = weight, patience, seed

    def fit(self, train, validation=None):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        self.known = {name: np.unique(column) for name, column in train.metadata.items()}
        self.size, labels = (), torch.as_tensor(train.labels)
        images, seen, known, shown = self._read(train)
        self.size, count = images.shape[3:], len(train.concept_space)
        self.net = torch.nn.ModuleDict(
            {
                "seen": torch.nn.Sequential(encoder(images, WIDTH), torch.nn.ReLU()),
                "concepts": LinearEmbeddingToConcept(WIDTH, count),
                "labels": MLPConceptToConcept(
                    len(train.slots) * count + known.shape[1], train.n_labels, self.hidden
                ),
            }
        )
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate)
        held_out = train if validation is None else validation
        read, goals = self._read(held_out), torch.as_tensor(held_out.labels)
        passes = Passes(self.net, train, self.epochs, self.patience)
        for _ in passes:
            self.net.train()
            for rows in torch.split(torch.randperm(len(images)), BATCH):
                found = self._found(images[rows], seen[rows], known[rows])
                optimiser.zero_grad()
                self._loss(*found, seen[rows], shown[rows], labels[rows]).backward()
                optimiser.step()
            passes.loss = float(self._loss(*self._answered(*read[:3]), read[1], read[3], goals))
        return self

    def _loss(self, concepts, answers, seen, shown, labels):
        loss_of = torch.nn.functional.cross_entropy
        return loss_of(concepts[seen], shown[seen]) + self.weight * loss_of(answers, labels)

    def _read(self, view):
        """Images or None, which slots are seen, what else is known (columns), true concepts or None."""
        columns = [np.asarray(view.metadata[k])[:, None] == values for k, values in self.known.items()]
        known = torch.as_tensor(np.hstack([np.zeros((len(view), 0)), *columns])).float()
        shown = torch.as_tensor(view.concept_ids.astype(np.int64)) if hasattr(view, "concept_ids") else None
        if not view.has_images:
            return None, shown >= 0, known, shown
        images, blank = pictures(view, self.size)
        return images, torch.as_tensor(~blank), known, shown

    def _found(self, images, seen, known, shown=None):
        """Scores of concepts [n, slots, concepts] and of labels [n, labels]."""
        if images is None:
            count = self.net["concepts"].out_concepts_shape
            concepts = torch.nn.functional.one_hot(shown.clamp_min(0), count) * 20.0
        else:
            features = self.net["seen"](floats(images.flatten(0, 1)))
            concepts = self.net["concepts"](features).reshape(*seen.shape, -1)
        bottleneck = (concepts.softmax(dim=2) * seen[:, :, None]).flatten(1)
        return concepts, self.net["labels"](torch.cat([bottleneck, known], dim=1))

    def _answered(self, images, seen, known, shown=None):
        self.net.eval()
        parts = []
        with torch.no_grad():
            for rows in torch.split(torch.arange(len(seen)), 256):
                given = [None if one is None else one[rows] for one in (images, seen, known, shown)]
                parts.append(self._found(*given))
        return [torch.cat(part) for part in zip(*parts, strict=True)]

    def predict_concepts(self, test):
        """Probabilities of concepts; zero in blank slots."""
        read = self._read(test)
        concepts = self._answered(*read)[0].softmax(dim=2) * read[1][:, :, None]
        return concepts.double().numpy()

    def predict_proba(self, test):
        return self._answered(*self._read(test))[1].softmax(dim=1).double().numpy()
