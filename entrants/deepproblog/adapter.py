"""DeepProbLog of the package deepproblog: perception as neural predicates of the known rule's program."""

import numpy as np
import torch
from deepproblog.engines import ExactEngine
from deepproblog.model import Model
from deepproblog.network import Network
from deepproblog.query import Query
from problog.logic import Constant, Term

from nsl_bench.learners.networks import Passes, encoder, floats, pictures


class _Shown:
    """Images of a view by their number, as DeepProbLog asks for them."""

    def __init__(self, images):
        self.images = images.flatten(0, 1)

    def __getitem__(self, item):
        return floats(self.images[int(item[0])])


class DeepProbLog:
    """One network for all images; the label's probability under the rule is computed exactly.

    Examples with the same metadata, blank slots and step share a program, whose circuits are compiled once.

    Args:
        epochs: passes over the train set, at most.
        patience: passes without a smaller loss after which training ends.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        seed: seed of torch.
    """

    fixed_size = False
    search_space = {"rate": (3e-4, 1e-3, 3e-3), "batch": (2, 16)}

    def __init__(
        self, epochs: int = 1000, rate: float = 1e-3, batch: int = 2, patience: int = 100, seed: int = 0
    ):
        self.epochs, self.rate, self.batch = epochs, rate, batch
        self.patience, self.seed = patience, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        self.size = images.shape[3:]
        self.net = torch.nn.Sequential(encoder(images, len(train.concept_space)), torch.nn.Softmax(1))
        self.network = Network(self.net, "net", batching=True)
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        programs, asked = self._asked(train, images, blank)
        labels = train.labels
        passes = Passes(self.net, train, self.epochs, self.patience)
        for _ in passes:
            total = 0.0
            for chosen in torch.split(torch.randperm(len(train)), self.batch):
                optimiser.zero_grad()
                for row in chosen.tolist():
                    found = self._solve(programs, asked[row], int(labels[row]))
                    loss = -found.clamp_min(1e-12).log()
                    total += float(loss.detach())
                    if found.requires_grad:
                        (loss / len(chosen)).backward()
                optimiser.step()
            passes.loss = total
        return self

    def predict_proba(self, test):
        images, blank = pictures(test, self.size)
        programs, asked = self._asked(test, images, blank)
        found = np.zeros((len(test), test.n_labels))
        with torch.no_grad():
            for row in range(len(test)):
                for label in range(test.n_labels):
                    found[row, label] = float(self._solve(programs, asked[row], label))
        total = found.sum(axis=1, keepdims=True)  # given that some label follows
        return found / np.where(total > 0, total, 1)

    def predict_concepts(self, test):
        images, _ = pictures(test, self.size)
        with torch.no_grad():
            found = torch.cat([self.net(floats(part)) for part in images.flatten(0, 1).split(256)])
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
