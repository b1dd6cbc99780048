"""Deep Concept Reasoner of the package torch_explain: a concept bottleneck whose answer is a fuzzy rule."""

import numpy as np
import torch
import torch_explain as te
from torch_explain.nn.concepts import ConceptReasoningLayer

from nsl_bench.learners.truth_tables import pictures

WIDTH, BATCH = 84, 32


class Dcr:
    """Concepts of each slot's image with their embeddings, and for each example a rule over them.

    One network sees all slots. An embedding is made of its slot's image and of a summary of all images, so
    that the rule, which is chosen by the embeddings, may depend on the whole example. Such rules are one for
    each example, so none is reported. Where true concepts are given in place of images, each is seen as the
    train images that show it are on average.

    Args:
        embedding: length of a concept's embedding.
        epochs: passes over the train set.
        rate: learning rate of AdamW.
        weight: weight of the labels' loss; that of the concepts' has 1.
        seed: seed of torch.
    """

    search_space = {"rate": (1e-3, 3e-3, 1e-2), "epochs": (50, 200), "weight": (0.5, 1.0)}

    def __init__(
        self, embedding: int = 16, epochs: int = 50, rate: float = 1e-3, weight: float = 0.5, seed=0
    ):
        self.embedding, self.epochs, self.rate = embedding, epochs, rate
        self.weight, self.seed = weight, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        self.given = {name: np.unique(column) for name, column in train.metadata.items()}
        given = self._given(train)
        shown = _one_hot(train)
        labels = torch.nn.functional.one_hot(torch.as_tensor(train.labels), train.n_labels).float()
        self.net = Net(images.shape[1:], shown.shape[2], given.shape[1], train.n_labels, self.embedding)
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate)
        loss_of = torch.nn.BCELoss()
        seen = torch.as_tensor(~blank)
        for _ in range(self.epochs):
            for rows in torch.split(torch.randperm(len(images)), BATCH):
                features = self.net.features(torch.as_tensor(images[rows.numpy()]))
                concepts, answers = self.net(features, seen[rows], given[rows], shown[rows])
                loss = loss_of(concepts[seen[rows]], shown[rows][seen[rows]])
                loss = loss + self.weight * loss_of(answers, labels[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        self.net.eval()
        self.usual = self._usual(images, shown)
        return self

    def _usual(self, images, shown):
        """[concepts, width]: mean features of the train images that show a concept."""
        total, count = torch.zeros(shown.shape[2], WIDTH), shown.sum(dim=(0, 1)).clamp_min(1)
        with torch.no_grad():
            for rows in torch.split(torch.arange(len(images)), 256):
                features = self.net.features(torch.as_tensor(images[rows.numpy()]))
                total += torch.einsum("nsc,nsw->cw", shown[rows], features)
        return total / count[:, None]

    def _given(self, view):
        """What is known of each example besides images: a column for each value in the train set."""
        columns = [np.asarray(view.metadata[k])[:, None] == values for k, values in self.given.items()]
        return torch.as_tensor(np.hstack([np.zeros((len(view), 0)), *columns])).float()

    def _answered(self, view):
        """Concepts and labels of a view's examples."""
        given, shown = self._given(view), None if view.has_images else _one_hot(view)
        images, blank = pictures(view) if view.has_images else (None, ~shown.any(dim=2).numpy())
        seen = torch.as_tensor(~blank)
        parts = []
        with torch.no_grad():
            for rows in torch.split(torch.arange(len(view)), 256):
                told = None if shown is None else shown[rows]
                if told is None:
                    features = self.net.features(torch.as_tensor(images[rows.numpy()]))
                else:
                    features = told @ self.usual
                parts.append(self.net(features, seen[rows], given[rows], told))
        return [torch.cat(part).double().numpy() for part in zip(*parts, strict=True)]

    def predict_concepts(self, test):
        """The truth of each concept, normalised in each slot."""
        concepts, _ = self._answered(test)
        return concepts / np.maximum(concepts.sum(axis=2, keepdims=True), 1e-9)

    def predict_proba(self, test):
        _, answers = self._answered(test)
        return answers / np.maximum(answers.sum(axis=1, keepdims=True), 1e-9)


def _one_hot(view):
    """float32 [n, slots, concepts]: what each slot shows; zeros for a blank."""
    ids = torch.as_tensor(view.concept_ids.astype(np.int64))
    shown = torch.nn.functional.one_hot(ids.clamp_min(0), len(view.concept_space))
    return (shown * (ids >= 0)[:, :, None]).float()


class Net(torch.nn.Module):
    """From images [m, slots, channels, 28, 28] to truth of concepts [m, slots, concepts] and labels."""

    def __init__(self, shape, concepts, given, labels, embedding):
        super().__init__()
        conv, linear, pool = torch.nn.Conv2d, torch.nn.Linear, torch.nn.MaxPool2d
        relu, flatten = torch.nn.ReLU, torch.nn.Flatten
        first = [conv(shape[1], 6, 5), pool(2), relu(), conv(6, 16, 5), pool(2), relu(), flatten()]
        self.seen = torch.nn.Sequential(*first, linear(256, 120), relu(), linear(120, WIDTH), relu())
        self.whole = torch.nn.Sequential(linear(shape[0] * WIDTH + given, WIDTH), torch.nn.LeakyReLU())
        self.slots = torch.nn.ModuleList(
            te.nn.ConceptEmbedding(2 * WIDTH, concepts, embedding) for _ in range(shape[0])
        )
        self.given = torch.nn.Parameter(torch.randn(given, embedding) * 0.1)
        self.rule = ConceptReasoningLayer(embedding, labels)

    def features(self, images):
        """[m, slots, width] of images [m, slots, channels, 28, 28]."""
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
