"""DeepProbLog of the package deepproblog with a limit of time, for sequences with large programs."""

import contextlib
import signal
import time

import numpy as np
import torch
from deepproblog.engines import ExactEngine
from deepproblog.model import Model
from deepproblog.network import Network
from deepproblog.query import Query
from problog.logic import Constant, Term

from nsl_bench.learners.networks import encoder, floats, pictures


class _TimeUp(Exception):
    """The seconds have passed."""


class _Probabilities(torch.nn.Module):
    """Softmax in double precision: what is improbable keeps a gradient."""

    def forward(self, found):
        return found.double().softmax(1)


@contextlib.contextmanager
def _until(end):
    """End the block by an exception when the clock of `time.perf_counter` is at `end`."""

    def stop(*_):
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(end - time.perf_counter(), 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class DeepProbLogTimed:
    """One network for all images, trained by the label's exact probability under the rule, for some seconds.

    Programs of early steps are compiled and learned first, as they are short. Each further step of sequences
    comes when its share of the time has passed, or when the loss falls no more. When the time is up, what was
    learned stays. Answers are what the rule derives from the most probable concepts, since the programs of
    longer sequences may take gigabytes.

    Args:
        seconds: of training; at most 0.7 of the time limit.
        patience: passes without a smaller loss after which the next step comes, or training ends.
        rate: learning rate of Adam.
        batch: examples in a minibatch.
        seed: seed of torch.
    """

    fixed_size = False

    def __init__(
        self, seconds: int = 3600, patience: int = 20, rate: float = 1e-3, batch: int = 2, seed: int = 0
    ):
        self.seconds, self.patience, self.rate = seconds, patience, rate
        self.batch, self.seed = batch, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        images, blank = pictures(train)
        self.size, self.classes = images.shape[3:], len(train.concept_space)
        self.net = torch.nn.Sequential(encoder(images, self.classes), _Probabilities())
        self.network = Network(self.net, "net", batching=True)
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.rate)
        asked = _Asked(train, images, blank, self.network)
        seconds = np.inf if train.time_limit is None else 0.7 * train.time_limit
        end, longest = train.begun + min(self.seconds, seconds), int(train.steps.max())
        begin = time.perf_counter()
        with contextlib.suppress(_TimeUp), _until(end):
            for step in range(1, longest + 1):
                rows, best, since = torch.as_tensor(np.flatnonzero(train.steps <= step)), np.inf, 0
                until = begin + (end - begin) * step / longest
                while since < self.patience and time.perf_counter() < until:
                    total = 0.0
                    for chosen in torch.split(rows[torch.randperm(len(rows))], self.batch):
                        optimiser.zero_grad()
                        for row in chosen.tolist():
                            loss = -asked.solve(row, int(train.labels[row])).clamp_min(1e-300).log()
                            total += float(loss.detach())
                            if loss.requires_grad:
                                (loss / len(chosen)).backward()
                        optimiser.step()
                    best, since = (total, 0) if total < best else (best, since + 1)
        return self

    def predict_proba(self, test):
        _, blank = pictures(test, self.size)
        concepts = self.predict_concepts(test).argmax(axis=2)
        labels = test.true_rule.labels(np.where(blank, -1, concepts))
        return np.eye(test.n_labels)[labels] * (labels >= 0)[:, None]

    def predict_concepts(self, test):
        images = pictures(test, self.size)[0].flatten(0, 1)
        with torch.no_grad():
            found = torch.cat([self.net(floats(part)) for part in images.split(256)])
        return found.numpy().reshape(len(test), len(test.slots), -1)


class _Asked:
    """A view's programs, each written and compiled when it is first asked, and the images of each example."""

    def __init__(self, view, images, blank, network):
        self.view, self.blank, self.network = view, blank, network
        self.rule, self.images, self.programs = view.true_rule.problog, images.flatten(0, 1), {}
        self.text = "\n".join(k for k in self.rule.text.splitlines() if not k.startswith("query("))

    def __getitem__(self, item):  # DeepProbLog asks for images by their number
        return floats(self.images[int(item[0])])

    def solve(self, row, label):
        """The probability of a label, a tensor; 0 where it cannot follow."""
        slots, past = len(self.view.slots), int(self.view.steps[row]) if self.view.sequential else 1
        rows = range(row - past + 1, row + 1)
        seen = [(k * slots + slot, r * slots + slot) for k, r in enumerate(rows) for slot in range(slots)]
        seen = [(place, image) for place, image in seen if not self.blank[image // slots, image % slots]]
        key = (self.rule.contexts[row], tuple(place for place, _ in seen))
        if key not in self.programs:
            self.programs[key] = self._program(*key)
        model = self.network.model = self.programs[key]
        images = {Term(f"image{p}"): Term("tensor", Term("shown", Constant(image))) for p, image in seen}
        found = model.solve([Query(Term("nsl_label", Constant(label)), images)])[0].result
        return sum((torch.as_tensor(p) for p in found.values()), torch.zeros((), dtype=torch.float64))

    def _program(self, context, places):
        lines = [self.text, *(f"{fact}." for fact in context)]
        for place in places:
            values = list(range(len(self.view.concept_space)))
            lines.append(f"nn(net,[image{place}],Y,{values}) :: nsl_shows({place},Y).")
            for concept, facts in enumerate(self.rule.facts[place]):
                lines += [f"{fact} :- nsl_shows({place},{concept})." for fact in facts]
        model = Model("\n".join(lines), [self.network], load=False)
        model.set_engine(ExactEngine(model), cache=True)
        model.add_tensor_source("shown", self)
        return model
