"""DeepLog of the package pydeeplog: the known rule as a DeepProbLog program, compiled to a torch module."""

import re

import numpy as np
import torch
from deeplog import Compiler
from deeplog.grounding.prolog import SimpleGrounder, str_to_rule
from deeplog.systems.deepproblog import Solver, compile_to_module

from nsl_bench.core.errors import NotApplicable
from nsl_bench.learners.networks import Passes, encoder, floats, pictures

MOST = 100_000
"""Combinations of concepts that an expectation enumerates, at most."""


class DeepLog:
    """One network for all images; the label's probability under the rule is computed exactly, in batches.

    Examples with the same metadata and blank slots share a module, which is compiled once.

    Args:
        epochs: passes over the train set, at most.
        patience: passes without a smaller loss after which training ends.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        seed: seed of torch.
    """

    search_space = {"rate": (3e-4, 1e-3, 3e-3), "batch": (2, 16)}

    def __init__(
        self, epochs: int = 1000, rate: float = 1e-3, batch: int = 8, patience: int = 50, seed: int = 0
    ):
        self.epochs, self.rate, self.batch = epochs, rate, batch
        self.patience, self.seed = patience, seed

    def fit(self, train):
        if train.sequential or len(train.concept_space) ** len(train.slots) > MOST:
            raise NotApplicable(
                "DeepLog enumerates the concepts of all slots, so it takes no sequences and at most "
                f"{MOST:,} combinations."
            )
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        self.size, self.modules = images.shape[3:], {}
        self.net = torch.nn.Sequential(encoder(images, len(train.concept_space)), torch.nn.Softmax(1))
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        labels = torch.as_tensor(train.labels)
        passes = Passes(self.net, train, self.epochs, self.patience)
        for _ in passes:
            total = 0.0
            for rows in torch.split(torch.randperm(len(train)), self.batch):
                found = self._labels(train, images, blank, rows)
                loss = -found[torch.arange(len(rows)), labels[rows]].clamp_min(1e-12).log()
                optimiser.zero_grad()
                loss.mean().backward()
                optimiser.step()
                total += float(loss.detach().sum())
            passes.loss = total
        return self

    def predict_proba(self, test):
        images, blank = pictures(test, self.size)
        with torch.no_grad():
            parts = torch.split(torch.arange(len(test)), 256)
            found = torch.cat([self._labels(test, images, blank, rows) for rows in parts]).double().numpy()
        return found / np.where(found.sum(axis=1, keepdims=True) > 0, found.sum(axis=1, keepdims=True), 1)

    def predict_concepts(self, test):
        images, _ = pictures(test, self.size)
        with torch.no_grad():
            found = torch.cat([self.net(floats(part)) for part in images.flatten(0, 1).split(256)])
        return found.double().numpy().reshape(*images.shape[:2], -1)

    def _labels(self, view, images, blank, rows):
        """The probabilities of labels of some rows, a tensor [rows, labels]."""
        rule, slots = view.true_rule.problog, len(view.slots)
        seen = self.net(floats(images[rows].flatten(0, 1))).reshape(len(rows), slots, -1)
        keys = [(rule.contexts[row], tuple(np.flatnonzero(~blank[row]).tolist())) for row in rows.tolist()]
        result = torch.zeros(len(rows), view.n_labels)
        for key in dict.fromkeys(keys):
            if key not in self.modules:
                self.modules[key] = _compiled(rule, *key, view)
            mine = [k for k, other in enumerate(keys) if other == key]
            module, (places, concepts), answers = self.modules[key]
            columns = module(*seen[mine][:, places, concepts].split(1, dim=1))
            result = result.index_put(
                (torch.tensor(mine)[:, None], torch.tensor(answers)), columns.to(result.dtype)
            )
        return result


def _compiled(rule, context, places, view):
    """A module from the probabilities of concepts to those of labels, its columns, and its labels."""
    lines = [line for line in rule.text.splitlines() if not line.startswith(("query(", "nsl_none"))]
    lines += [f"{fact}." for fact in context]
    for place in places:
        concepts = range(len(view.concept_space))
        lines.append("; ".join(f"seen({place},{c})::shows({place},{c})" for c in concepts) + ".")
        for concept, facts in enumerate(rule.facts[place]):
            lines += [f"{fact} :- shows({place},{concept})." for fact in facts]
    lines += [f"?- nsl_label({label})." for label in range(view.n_labels)]
    result = Solver(SimpleGrounder()).get_query_result(tuple(str_to_rule(_written(line)) for line in lines))
    module = compile_to_module(result, Compiler())
    asked = re.findall(r"seen\((\d+), ?(\d+)\)", str(module.get_input_shape()))
    answers = re.findall(r"nsl_label\((\d+)\)", str(module.get_output_shape()))
    return module, np.array(asked, int).T.tolist(), [int(label) for label in answers]


def _written(line):
    """A line of ProbLog in DeepLog's syntax."""
    line = re.sub(r"\\\+\s*([a-z]\w*(?:\([^()]*\))?)", r"not(\1)", line)
    line = re.sub(r"(\w+) (<|>|=<|>=) (\w+)", r"\2(\1,\3)", line)
    return re.sub(r"\bfail\b", "between(1,0,1)", line)
