"""Logic Explained Networks of the package torch_explain: entropy-based, one formula for each class."""

import numpy as np
import torch
import torch_explain as te
from torch_explain.logic.nn import entropy
from torch_explain.nn.functional import entropy_logic_loss

from nsl_bench.learners.asp_rules import decision_list
from nsl_bench.learners.networks import Passes


class Len:
    """A network over the view's literals; its rules are the formulas that the package extracts.

    The network answers. Its formulas approximate it; they count as its rules only where they agree with it. A
    class's formula joins the explanations of all train examples that the network rightly puts into it.

    Args:
        hidden: units of the first layer.
        epochs: steps of AdamW on the whole train set, at most.
        patience: steps without a smaller loss of validation examples after which training ends.
        rate: learning rate.
        weight: weight of the entropy loss.
        terms: most literals of an explanation, those with most attention; bounds the time where there are
            thousands.
        seed: seed of torch.
    """

    search_space = {"hidden": (10, 30), "weight": (1e-5, 1e-4, 1e-3)}

    def __init__(
        self,
        hidden: int = 10,
        epochs: int = 5000,
        rate: float = 0.01,
        weight: float = 1e-5,
        terms: int = 100,
        patience: int = 500,
        seed: int = 0,
    ):
        self.hidden, self.epochs, self.rate = hidden, epochs, rate
        self.weight, self.terms, self.patience, self.seed = weight, terms, patience, seed

    def fit(self, train, validation=None):
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
        held_out = inputs, labels
        if validation is not None:
            shown = torch.as_tensor(validation.literals[:, self.varied], dtype=torch.float)
            held_out = shown, torch.as_tensor(validation.labels)
        passes = Passes(self.net, train, self.epochs, self.patience, share=0.4)  # formulas take time, too
        for _ in passes:
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.net(inputs).squeeze(-1), labels)
            (loss + self.weight * entropy_logic_loss(self.net)).backward()
            optimiser.step()
            with torch.no_grad():
                passes.loss = float(
                    torch.nn.functional.cross_entropy(self.net(held_out[0]).squeeze(-1), held_out[1])
                )
        self.counts = np.bincount(train.labels, minlength=train.n_labels)
        self.formulas = self._explained(inputs, labels, train.n_labels)
        self.bodies, self.space = train.literal_bodies, train.label_space
        return self

    def _explained(self, inputs, labels, n):
        """For each class a list of conjunctions of columns; the package's formulas are in this form."""
        told = torch.nn.functional.one_hot(labels, n).float()
        with torch.no_grad():
            answers = torch.nn.functional.one_hot(self.net(inputs).squeeze(-1).argmax(dim=1), n) - 0.5
        found = []
        for label in range(n):
            many = self.net[0].concept_mask[label].sum() > self.terms
            text, _ = entropy.explain_class(
                _Shown(self.net[0], answers),
                inputs,
                told,
                torch.arange(len(inputs)),
                torch.arange(len(inputs)),
                label,
                max_minterm_complexity=self.terms if many else None,
                try_all=False,
            )
            terms = dict.fromkeys(
                tuple(_conjunction(term).items()) for term in text.split("|") if "feature" in term
            )
            found.append([{int(self.varied[column]): value for column, value in term} for term in terms])
        return found

    def predict_proba(self, test):
        inputs = torch.as_tensor(test.literals[:, self.varied], dtype=torch.float)
        with torch.no_grad():
            return self.net(inputs).squeeze(-1).softmax(dim=1).double().numpy()

    def rules(self):
        default = int(self.counts.argmax())
        order = [int(k) for k in np.argsort(self.counts, kind="stable") if k != default]
        listed = [(body, label) for label in order for body in self.formulas[label]]
        return decision_list(listed, default, self.bodies, self.space)


class _Shown(torch.nn.Module):
    """A network as the package explains it: its first layer, and which label it answers with."""

    def __init__(self, layer, answers):
        super().__init__()
        self.layer, self.answers = layer, answers

    def forward(self, inputs):
        return self.answers


def _accuracy(formula, inputs, told, label, mask=None, threshold=0.5, material=False):
    """As the package's `test_explanation` of a conjunction, which takes a tenth of a second for each."""
    terms = _conjunction(formula)
    holds = ((inputs[:, list(terms)] > threshold) == torch.tensor(list(terms.values()))).all(dim=1)
    return (holds == told[:, label].bool())[mask].double().mean().item(), holds


entropy.test_explanation = _accuracy


def _conjunction(formula):
    """For each of its columns the value that a conjunction asks for."""
    words = [word.strip(" ()") for word in formula.split("&")]
    return {int(word.lstrip("~").removeprefix("feature")): word[0] != "~" for word in words}
