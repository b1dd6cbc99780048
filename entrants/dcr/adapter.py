"""Deep Concept Reasoner of the package torch_explain: a concept bottleneck whose answer is a fuzzy rule."""

import numpy as np
import torch
import torch_explain as te
from torch_explain.nn.concepts import ConceptReasoningLayer

from nsl_bench.learners.networks import Passes, encoder, floats, pictures

WIDTH, BATCH = 84, 32


class Dcr:
    """Concepts of each slot's image with their embeddings, and for each example a rule over them.

    One network sees all slots. An embedding is made of its slot's image and of a summary of all images, so
    that the rule, which is chosen by the embeddings, may depend on the whole example. Such rules are one for
    each example, so none is reported. Where true concepts are given in place of images, each is seen as the
    train images that show it are on average.

    Args:
        embedding: length of a concept's embedding.
        epochs: passes over the train set, at most.
        rate: learning rate of AdamW.
        weight: weight of the labels' loss; that of the concepts' has 1.
        patience: passes without a smaller loss of validation examples after which training ends.
        seed: seed of torch.
    """

    search_space = {"rate": (1e-3, 3e-3, 1e-2), "weight": (0.5, 1.0), "embedding": (8, 16, 32)}

    def __init__(
        self,
        embedding: int = 16,
        epochs: int = 1000,
        rate: float = 1e-3,
        weight: float = 0.5,
        patience: int = 100,
        seed: int = 0,
    ):
        self.embedding, self.epochs, self.rate = embedding, epochs, rate
        self.weight, self.patience, self.seed = weight, patience, seed

    def fit(self, train, validation=None):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        self.given = {name: np.unique(column) for name, column in train.metadata.items()}
        self.size = ()
        images, seen, given, shown = self._read(train)
        self.size, labels = images.shape[3:], _one_hot(train.labels, train.n_labels)
        self.net = Net(images, shown.shape[2], given.shape[1], train.n_labels, self.embedding)
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate)
        held_out = train if validation is None else validation
        read, goals = self._read(held_out), _one_hot(held_out.labels, train.n_labels)
        passes = Passes(self.net, train, self.epochs, self.patience)
        for _ in passes:
            self.net.train()
            for rows in torch.split(torch.randperm(len(images)), BATCH):
                features = self.net.features(floats(images[rows]))
                found = self.net(features, seen[rows], given[rows], shown[rows])
                optimiser.zero_grad()
                self._loss(*found, shown[rows], seen[rows], labels[rows]).backward()
                optimiser.step()
            self.net.eval()
            passes.loss = float(self._loss(*self._answered(*read[:3]), read[3], read[1], goals))
        total, count = torch.zeros(shown.shape[2], WIDTH), shown.sum(dim=(0, 1)).clamp_min(1)
        with torch.no_grad():  # [concepts, width]: mean features of the train images that show a concept
            for rows in torch.split(torch.arange(len(images)), 256):
                total += torch.einsum("nsc,nsw->cw", shown[rows], self.net.features(floats(images[rows])))
        self.usual = total / count[:, None]
        return self

    def _loss(self, concepts, answers, shown, seen, labels):
        loss_of = torch.nn.BCELoss()
        return loss_of(concepts[seen], shown[seen]) + self.weight * loss_of(answers, labels)

    def _read(self, view):
        """Images or None, which slots are seen, what else is known (columns), true concepts or None."""
        columns = [np.asarray(view.metadata[k])[:, None] == values for k, values in self.given.items()]
        given = torch.as_tensor(np.hstack([np.zeros((len(view), 0)), *columns])).float()
        images, blank = pictures(view, self.size) if view.has_images else (None, None)
        told = hasattr(view, "concept_ids")
        shown = _one_hot(view.concept_ids, len(view.concept_space)) if told else None
        seen = shown.bool().any(dim=2) if images is None else torch.as_tensor(~blank)
        return images, seen, given, shown

    def _answered(self, images, seen, given, shown=None):
        """Concepts and labels of examples, from images or else from true concepts."""
        parts = []
        with torch.no_grad():
            for rows in torch.split(torch.arange(len(seen)), 256):
                told = None if images is not None else shown[rows]
                features = told @ self.usual if images is None else self.net.features(floats(images[rows]))
                parts.append(self.net(features, seen[rows], given[rows], told))
        return [torch.cat(part) for part in zip(*parts, strict=True)]

    def predict_concepts(self, test):
        """The truth of each concept, normalised in each slot."""
        concepts = self._answered(*self._read(test))[0].double().numpy()
        return concepts / np.maximum(concepts.sum(axis=2, keepdims=True), 1e-9)

    def predict_proba(self, test):
        answers = self._answered(*self._read(test))[1].double().numpy()
        return answers / np.maximum(answers.sum(axis=1, keepdims=True), 1e-9)


def _one_hot(ids, count):
    """float32 [..., count]: zeros for -1, a blank."""
    ids = torch.as_tensor(ids.astype(np.int64))
    return (torch.nn.functional.one_hot(ids.clamp_min(0), count) * (ids >= 0)[..., None]).float()


class Net(torch.nn.Module):
    """From images [m, slots, channels, height, width] to concepts [m, slots, concepts] and labels."""

    def __init__(self, images, concepts, given, labels, embedding):
        super().__init__()
        slots = images.shape[1]
        self.seen = torch.nn.Sequential(encoder(images, WIDTH), torch.nn.ReLU())
        whole = torch.nn.Linear(slots * WIDTH + given, WIDTH)
        self.whole = torch.nn.Sequential(whole, torch.nn.LeakyReLU())
        self.slots = torch.nn.ModuleList(
            te.nn.ConceptEmbedding(2 * WIDTH, concepts, embedding) for _ in range(slots)
        )
        self.given = torch.nn.Parameter(torch.randn(given, embedding) * 0.1)
        self.rule = ConceptReasoningLayer(embedding, labels)

    def features(self, images):
        """[m, slots, width] of images [m, slots, channels, height, width]."""
        return self.seen(images.flatten(0, 1)).reshape(*images.shape[:2], WIDTH)

    def forward(self, features, seen, given, shown=None):
        """Truth of concepts and labels; `shown` sets some concepts in training, and all when it answers."""
        m = len(features)
        features = features * seen[:, :, None]
        whole = self.whole(torch.cat([features.flatten(1), given], dim=1))
        parts = []
        for k, embed in enumerate(self.slots):
            mine = torch.cat([features[:, k], whole], dim=1)
            told = None if shown is None else shown[:, k]
            all_of_them = None if shown is None or self.training else range(shown.shape[2])
            parts.append(embed(mine, intervention_idxs=all_of_them, c=told, train=self.training))
        embeddings = [part[0] for part in parts]
        concepts = torch.stack([part[1] for part in parts], dim=1) * seen[:, :, None]
        if shown is not None and not self.training:
            concepts = shown
        embeddings.append(self.given.expand(m, *self.given.shape))
        truth = torch.cat([concepts.flatten(1), given], dim=1)
        return concepts, self.rule(torch.cat(embeddings, dim=1), truth).clamp(0, 1)
