"""Logic Explained Networks of the package torch_explain: entropy-based, one formula for each class."""

import numpy as np
import torch
import torch_explain as te
from torch_explain.logic.nn import entropy
from torch_explain.nn.functional import entropy_logic_loss

from nsl_bench.learners.asp_rules import decision_list


class Len:
    """A network over the view's literals; its rules are the formulas that the package extracts.

    The network answers. Its formulas approximate it; they count as its rules only where they agree with it.

    Args:
        hidden: units of the first layer.
        epochs: steps of AdamW on the whole train set.
        rate: learning rate.
        weight: weight of the entropy loss.
        explained: train examples of each class whose explanations its formula joins.
        terms: most literals of such an explanation. Each takes the package a tenth of a second.
        seed: seed of torch.
    """

    search_space = {"hidden": (10, 30), "weight": (1e-5, 1e-4, 1e-3), "explained": (3, 10)}

    def __init__(
        self,
        hidden: int = 10,
        epochs: int = 1001,
        rate: float = 0.01,
        weight: float = 1e-5,
        explained: int = 5,
        terms: int = 10,
        seed: int = 0,
    ):
        self.hidden, self.epochs, self.rate = hidden, epochs, rate
        self.weight, self.seed = weight, seed
        self.explained, self.terms = explained, terms

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        literals = train.literals
        self.varied = np.flatnonzero(literals.any(axis=0) & ~literals.all(axis=0))
        inputs = torch.as_tensor(literals[:, self.varied], dtype=torch.float)
        labels = torch.as_tensor(train.labels)
        self.net = torch.nn.Sequential(
            te.nn.EntropyLinear(inputs.shape[1], self.hidden, n_classes=train.n_labels),
            torch.nn.LeakyReLU(),
            torch.nn.Linear(self.hidden, 4),
            torch.nn.LeakyReLU(),
            torch.nn.Linear(4, 1),
        )
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate)
        for _ in range(self.epochs):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.net(inputs).squeeze(-1), labels)
            (loss + self.weight * entropy_logic_loss(self.net)).backward()
            optimiser.step()
        self.counts = np.bincount(train.labels, minlength=train.n_labels)
        self.formulas = self._explained(inputs, labels, train.n_labels)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _explained(self, inputs, labels, n):
        """For each class a list of conjunctions of columns; the package's formulas are in this form."""
        every, told = torch.arange(len(inputs)), torch.nn.functional.one_hot(labels, n).float()
        found = []
        for label in range(n):
            text = ""
            own = torch.nonzero(labels == label)[:, 0][: self.explained]
            if len(own):
                # The mask of train examples keeps those that are explained; all of them score a formula.
                text, _ = entropy.explain_class(
                    self.net,
                    inputs,
                    told,
                    own,
                    every,
                    label,
                    max_minterm_complexity=self.terms,
                    try_all=False,
                )
            terms = [part.strip(" ()") for part in (text or "").split("|")]
            found.append([self._conjunction(term) for term in terms if "feature" in term])
        return found

    def _conjunction(self, term):
        words = [word.strip(" ()") for word in term.split("&")]
        return {int(self.varied[int(w.lstrip("~").removeprefix("feature"))]): w[0] != "~" for w in words}

    def predict_proba(self, test):
        inputs = torch.as_tensor(test.literals[:, self.varied], dtype=torch.float)
        with torch.no_grad():
            return self.net(inputs).squeeze(-1).softmax(dim=1).double().numpy()

    def rules(self):
        default = int(self.counts.argmax())
        order = [int(k) for k in np.argsort(self.counts, kind="stable") if k != default]
        listed = [(body, label) for label in order for body in self.formulas[label]]
        return decision_list(listed, default, self.bodies, self.space)
