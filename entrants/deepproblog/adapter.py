"""DeepProbLog of the package deepproblog: perception as neural predicates of the known rule's program."""

import numpy as np
import torch
from deepproblog.engines import ExactEngine
from deepproblog.model import Model
from deepproblog.network import Network
from deepproblog.query import Query
from problog.logic import Constant, Term

from nsl_bench.learners.truth_tables import pictures


class _Shown:
    """Images of a view by their number, as DeepProbLog asks for them."""

    def __init__(self, images):
        self.images = torch.as_tensor(images.reshape(-1, *images.shape[2:]))

    def __getitem__(self, item):
        return self.images[int(item[0])]


class DeepProbLog:
    """One network for all images; the label's probability under the rule is computed exactly.

    Examples with the same metadata, blank slots and step share a program, whose circuits are compiled once.

    Args:
        epochs: passes over the train set; the default takes 80 seconds with the examples of Crop Yield,
            whose mean loss is then 0.5.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3, 3e-3), "batch": (2, 16)}

    def __init__(self, epochs: int = 60, rate: float = 1e-3, batch: int = 2, seed: int = 0):
        self.epochs, self.rate, self.batch, self.seed = epochs, rate, batch, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        self.net = _network(images.shape[2], len(train.concept_space))
        self.network = Network(self.net, "net", batching=True)
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        programs, asked = self._asked(train, images, blank)
        labels = train.labels
        for _ in range(self.epochs):
            for chosen in torch.split(torch.randperm(len(train)), self.batch):
                optimiser.zero_grad()
                for row in chosen.tolist():
                    found = self._solve(programs, asked[row], int(labels[row]))
                    if found.requires_grad:
                        (-found.clamp_min(1e-12).log() / len(chosen)).backward()
                optimiser.step()
        return self

    def predict_proba(self, test):
        images, blank = pictures(test)
        programs, asked = self._asked(test, images, blank)
        found = np.zeros((len(test), test.n_labels))
        with torch.no_grad():
            for row in range(len(test)):
                for label in range(test.n_labels):
                    found[row, label] = float(self._solve(programs, asked[row], label))
        total = found.sum(axis=1, keepdims=True)  # given that some label follows
        return found / np.where(total > 0, total, 1)

    def predict_concepts(self, test):
        images, _ = pictures(test)
        with torch.no_grad():
            flat = torch.as_tensor(images.reshape(-1, *images.shape[2:]))
            found = torch.cat([self.net(part) for part in flat.split(256)])
        return found.double().numpy().reshape(*images.shape[:2], -1)

    def _asked(self, view, images, blank):
        """The programs, and for each row its program and the numbers of its images."""
        rule, slots, n = view.true_rule.problog, len(view.slots), len(view.concept_space)
        text = "\n".join(line for line in rule.text.splitlines() if not line.startswith("query("))
        programs, asked, shown = {}, [], _Shown(images)
        for row in range(len(view)):
            past = int(view.steps[row]) if view.sequential else 1
            rows = range(row - past + 1, row + 1)
            seen = [(k * slots + slot, r * slots + slot) for k, r in enumerate(rows) for slot in range(slots)]
            seen = [(place, image) for place, image in seen if not blank[image // slots, image % slots]]
            key = (rule.contexts[row], tuple(place for place, _ in seen))
            if key not in programs:
                lines = [text, *(f"{fact}." for fact in rule.contexts[row])]
                for place, _ in seen:
                    lines.append(f"nn(net,[image{place}],Y,{list(range(n))}) :: nsl_shows({place},Y).")
                    for concept, facts in enumerate(rule.facts[place]):
                        lines += [f"{fact} :- nsl_shows({place},{concept})." for fact in facts]
                programs[key] = Model("\n".join(lines), [self.network], load=False)
                programs[key].set_engine(ExactEngine(programs[key]), cache=True)
                programs[key].add_tensor_source("shown", shown)
            asked.append((key, seen))
        return programs, asked

    def _solve(self, programs, asked, label):
        """The probability of a label, a tensor; 0 where it cannot follow."""
        key, seen = asked
        model = self.network.model = programs[key]
        images = {
            Term(f"image{place}"): Term("tensor", Term("shown", Constant(image))) for place, image in seen
        }
        found = model.solve([Query(Term("nsl_label", Constant(label)), images)])[0].result
        return sum((torch.as_tensor(p) for p in found.values()), torch.zeros(()))


def _network(channels, concepts):
    conv, linear, pool, relu = torch.nn.Conv2d, torch.nn.Linear, torch.nn.MaxPool2d, torch.nn.ReLU
    first = [conv(channels, 6, 5), pool(2), relu(), conv(6, 16, 5), pool(2), relu(), torch.nn.Flatten()]
    last = [linear(256, 120), relu(), linear(120, 84), relu(), linear(84, concepts), torch.nn.Softmax(1)]
    return torch.nn.Sequential(*first, *last)
