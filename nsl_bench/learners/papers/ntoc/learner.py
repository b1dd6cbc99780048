"""The learner ``ntoc``: a perceiver and a table circuit, trained together on sequences of images and labels.

Liu, Xu, Van den Broeck, Liang: "Out-of-Distribution Generalization by Neural-Symbolic Joint Training" (AAAI
2023), with the settings of their published code.
"""

import copy
import math
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import NotApplicable, refusing
from nsl_bench.core.options import HasOptions, option
from nsl_bench.core.seeding import stable_hash
from nsl_bench.core.sequences import grid
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Floats, Hypothesis, Ints16, one_hot
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.papers.ntoc.circuit import TableCircuit, Traces, ends, literals, program
from nsl_bench.learners.papers.ntoc.search import SearchedCircuit, facts_of, search_epochs, some_of
from nsl_bench.learners.perceivers import Pictures, SlotPerceiver, perceiver_for, pretrain, read
from nsl_bench.learners.view import View
from nsl_bench.perception.checkpoint import Checkpoint
from nsl_bench.perception.training import PRECISION, Precision

_MOST_WEIGHTS = 20_000_000

_TOGETHER = 256
"""Sequences that are answered at once."""


@dataclass(frozen=True)
class _Joint:
    """Joint training: passes over the sequences, sequences in a minibatch, and the two learning rates."""

    epochs: int
    batch: int
    learning_rate: float
    weight_rate: float


_OF_SLOTS, _OF_ROWS = _Joint(70, 256, 1e-3, 0.02), _Joint(30, 64, 1e-4, 0.01)
"""As the published code trains on addition, where symbols are what slots show, and on the Tower of Hanoi."""


class _Best(dict[str, Any]):
    """The state after the pass of the least validation loss, for a checkpoint."""

    load_state_dict = dict.update

    def state_dict(self) -> dict[str, Any]:
        """As that of a module."""
        return dict(self)


class NTOC(HasOptions):
    """Learns symbols of images and a circuit over them together, from labels and a few labelled images.

    A step's symbols and memory decide its answer and the memory of the next step. The circuit's weights
    follow expectation maximisation, the memory between the steps of each train sequence is latent, and the
    circuit's gradient trains the perceiver. Where symbols are properties of whole rows, all goes as in the
    published code for the Tower of Hanoi: steps that look alike share their memory, it follows the answers
    alone, and answer and memory out are independent in each product of the circuit.

    Attributes:
        circuit_: the circuit, a `SearchedCircuit` with ``search=True``.
        epochs_: passes that were made.
    """

    version = "6"
    answers_alike = True
    fixed_size = ("labels",)

    name = "ntoc"
    perceiver: Literal["own", "given"] = option(
        "own",
        "``own``: trained on the few labelled images, then together with the circuit; ``given``: the concept "
        "probabilities of a pre-trained network, which stay as they are",
    )
    memory: int = option(
        0,
        "values of the memory; 0 for 2, or the number of labels where sequences are told the label before "
        "their first step",
        least=0,
    )
    epochs: int = option(
        0, "passes over the sequences; 0 for 70, or 30 where symbols are properties of whole rows", least=0
    )
    batch: int = option(
        0, "sequences in a minibatch; 0 for 256, or 64 where symbols are properties of rows", least=0
    )
    learning_rate: float = option(
        0.0, "Adam's, of the perceiver; 0 for 0.001, or 0.0001 where symbols are properties of rows", least=0
    )
    weight_rate: float = option(
        0.0,
        "of expectation maximisation; 0 for 0.02, or 0.01 where symbols are properties of rows",
        least=0,
        most=1,
    )
    memory_rate: float = option(0.01, "learning rate of Adam for the latent memory", above=0, most=1)
    pretraining: int = option(
        0,
        "passes over the few labelled images; 0 for 30, or 200 where symbols are properties of rows",
        least=0,
    )
    search: bool = option(
        False,
        "False: the table of all worlds, as the published code. True: Algorithm 1 of the paper, which "
        "searches the worlds that the circuit allows, in rounds with joint training",
    )
    rounds: int = option(3, "searches of ``search=True``; the epochs are shared out among them", least=1)
    checkpoint: Path | None = option(
        None,
        "folder for a file with the state after each epoch, from which an interrupted training goes on; "
        "none if not given",
    )
    seed: int = option(0, "seed of first weights and of the order of sequences")
    precision: Precision = option("float32", PRECISION)
    pass_size: int = option(0, "sequences of a pass, the next of a larger train set; 0 for all", least=0)
    patience: int = option(0, "passes without likelier validation answers before it stops; 0: never", least=0)
    starts: int = option(1, "first weights to train from; the likeliest validation answers decide", least=1)

    def __post_init__(self) -> None:
        self.track: Track = "few_labels" if self.perceiver == "own" else "pretrained"

    @property
    def takes_validation(self) -> bool:
        """Whether a validation set decides when training stops, or which start is kept."""
        return self.patience > 0 or self.starts > 1

    def fit(self, train: View, validation: View | None = None) -> Self:
        """Train from one or several first weights; without a validation set, the train set judges them."""
        judge, least = validation or train, math.inf
        for start in range(self.starts):
            one = copy.copy(self)
            one.seed = stable_hash("ntoc", self.seed, start) % 2**31 if start else self.seed
            one._fit(train, judge)
            loss = one._loss(judge) if self.starts > 1 else 0.0
            if loss < least or not start:
                best, least = one, loss
        self.__dict__.update(best.__dict__, seed=self.seed)
        return self

    def _fit(self, train: View, judge: View) -> None:
        """Pre-train the perceiver, then train it with the circuit."""
        import torch

        places = torch.as_tensor(grid(train.steps))
        labels = torch.as_tensor(train.labels)[places]
        with seeded(self.seed):
            self._net, values = self._perceiver(train, places.shape[1])
            memory = self.memory or (len(train.memory) if train.memory else 2)
            if math.prod(values) * memory**2 * train.n_labels > _MOST_WEIGHTS:
                raise NotApplicable(
                    f"ntoc: the table of {train.benchmark_name} would have more than {_MOST_WEIGHTS:,} "
                    f"weights ({len(values)} symbols of {max(values)} values); use a task with fewer images."
                )
            sizes = (values, train.n_labels, memory, self.seed)
            self.circuit_: TableCircuit = (
                SearchedCircuit(*sizes) if self.search else TableCircuit(*sizes, apart=not self._of_slots)
            )
            seen = self._seen(train)
            shared = self._shared(train, seen, places)
            start = None if self.circuit_.apart else self.seed
            self._traces = Traces(shared, memory, self.memory_rate, start)
            self._train(train, judge, seen, places, labels)
        self._rules = program(self.circuit_.theta.numpy(), values, train)

    def _perceiver(self, train: View, steps: int) -> tuple[Any, tuple[int, ...]]:
        """The pre-trained perceiver, None if it is given, and the number of values of each symbol."""
        if self.perceiver == "given":
            if any(len(symbol) != len(train.concept_space) for symbol in train.symbols):
                raise NotApplicable(
                    f"ntoc: perceiver=given requires a task whose symbols are the concepts of its images; "
                    f"{train.benchmark_name} has others. Use perceiver=own."
                )
            return None, (len(train.concept_space),) * len(train.slots)
        few = train.few_labels
        net = perceiver_for(few, self.precision)
        pretrain(net, few, self.pretraining)
        return net, few.values * (len(train.slots) if isinstance(net, SlotPerceiver) else 1)

    @property
    def _of_slots(self) -> bool:
        """Whether a symbol is what a slot shows."""
        return self._net is None or isinstance(self._net, SlotPerceiver)

    def _shared(self, train: View, seen: Any, places: Any) -> Any:
        """int64 tensor [sequences, steps - 1]: which memory enters each step but the first.

        Where symbols are properties of whole rows, steps share it that have the same blank slots, label, and
        label before. There are few such states, and the published code keeps a memory for each.
        """
        import torch

        behind, before = places[:, 1:], places[:, :-1]
        if self._of_slots or not behind.numel():
            return torch.arange(behind.numel()).reshape(behind.shape)
        labels = np.asarray(train.labels, np.int64)[:, None]
        rows, last = behind.flatten().numpy(), before.flatten().numpy()
        looks = np.hstack([seen.which.numpy()[rows] >= 0, labels[rows], labels[last]])
        numbers = np.unique(looks, axis=0, return_inverse=True)[1]
        return torch.as_tensor(numbers).reshape(behind.shape)

    def _train(self, train: View, judge: View, seen: Any, places: Any, labels: Any) -> None:
        """Joint training."""
        import torch
        from tqdm import tqdm

        how = self._joint()
        first = self._first(train, places)
        parts: dict[str, Any] = {"circuit": self.circuit_, "traces": self._traces}
        optimiser = None
        if self._net is not None:
            optimiser = torch.optim.Adam(self._net.net.parameters(), lr=how.learning_rate)
            parts |= {"perceiver": self._net.net, "optimiser": optimiser}
        judged, best = {**parts}, _Best(loss=math.inf, passes=0, states={})
        judged.pop("traces"), judged.pop("optimiser", None)
        if self.patience:
            parts["best"] = best
        order = np.random.default_rng(self.seed)
        n = min(self.pass_size or len(places), len(places))
        checkpoint = self._checkpoint(train, how)
        start = checkpoint.read(parts, order)
        for epoch in tqdm(range(start, how.epochs), "ntoc", initial=start, total=how.epochs, disable=None):
            if isinstance(self.circuit_, SearchedCircuit) and epoch in search_epochs(how.epochs, self.rounds):
                self._search(self.circuit_, places, labels, first, seen)
            now = (epoch * n + order.permutation(n)) % len(places)
            for rows in np.array_split(now, math.ceil(n / how.batch)):
                some = (places[rows], labels[rows], first[rows], torch.as_tensor(rows))
                self._learn(*some, seen, optimiser, how.weight_rate)
            self.epochs_ = epoch + 1
            if self.patience and (loss := self._loss(judge)) < best["loss"]:
                states = {name: copy.deepcopy(part.state_dict()) for name, part in judged.items()}
                best.update(loss=loss, passes=epoch + 1, states=states)
            checkpoint.write(epoch + 1, parts, order)
            if self.patience and epoch + 1 - best["passes"] >= self.patience:
                break
        for name, state in best["states"].items():
            judged[name].load_state_dict(state)
        checkpoint.remove()

    def _loss(self, view: View) -> float:
        """The mean negative log-probability of the labels of a view."""
        given = self.predict_proba(view)[np.arange(len(view)), view.labels]
        return float(-np.log(np.maximum(given, 1e-12)).mean())

    def _joint(self) -> _Joint:
        """How joint training goes."""
        usual = _OF_SLOTS if self._of_slots else _OF_ROWS
        return _Joint(
            self.epochs or usual.epochs,
            self.batch or usual.batch,
            self.learning_rate or usual.learning_rate,
            self.weight_rate or usual.weight_rate,
        )

    def _checkpoint(self, train: View, how: _Joint) -> Checkpoint:
        """The file of this training, if there is to be one."""
        if self.checkpoint is None:
            return Checkpoint(None, "")
        parts = (train.benchmark_name, cache.key(train.labels.tolist()), *astuple(how))
        searched = (self.rounds,) if self.search else ()
        parts = (*parts, self.memory_rate, self.perceiver, self.seed, self.precision, *searched)
        parts += (self.pass_size, self.patience) if self.pass_size or self.patience else ()
        identity = cache.key(self.version, *parts)
        with refusing(f"ntoc: the folder {self.checkpoint} cannot be created"):
            self.checkpoint.mkdir(parents=True, exist_ok=True)
        return Checkpoint(self.checkpoint / f"ntoc-{identity}.safetensors", identity)

    def _learn(
        self, places: Any, labels: Any, first: Any, rows: Any, seen: Any, optimiser: Any, weight_rate: float
    ) -> None:
        """One minibatch: weights, latent memory and perceiver each take a step."""
        import torch

        steps = places.shape[1]
        worlds = self._worlds(seen, places.reshape(-1))
        latent = self._traces.take(rows)
        came, went = ends(first, latent)
        apart = self.circuit_.apart
        if apart:  # a memory follows what the step that it enters answers, and nothing else
            went = went.detach()
        passed = self.circuit_.explain(worlds, came, labels.reshape(-1), went, flow=True)
        loss = (passed.symbols - passed.joint).mean()
        if steps > 1 and apart:
            objective = (passed.unanswered - passed.joint).mean()
            moved = torch.autograd.grad(objective, latent, retain_graph=True)[0]
        if optimiser is not None:
            optimiser.zero_grad()
        loss.backward()
        if optimiser is not None:
            optimiser.step()
        if steps > 1:
            self._traces.move(rows, moved if apart else latent.grad)
        self.circuit_.learn(passed.flow, weight_rate)

    def _search(self, circuit: SearchedCircuit, places: Any, labels: Any, first: Any, seen: Any) -> None:
        """One symbolic rule search, on a sample of sequences as the perceiver sees them now."""
        import torch

        rows = torch.as_tensor(some_of(places.shape[0], places.shape[1], circuit.worlds, self.seed))
        with torch.no_grad():
            worlds = [self._worlds(seen, some.reshape(-1)) for some in places[rows].split(_TOGETHER)]
            came, went = ends(first[rows], self._traces.take(rows))
        circuit.search(facts_of(torch.cat(worlds), came, labels[rows].reshape(-1), went))

    def _seen(self, view: View) -> Any:
        """What the perceiver sees of a view: pictures, or given probabilities as a tensor."""
        import torch

        return torch.as_tensor(view.probabilities) if self._net is None else read(view)

    def _symbols(self, seen: Any, rows: Any) -> list[Any]:
        """For each symbol, its probabilities [rows, values]."""
        if isinstance(seen, Pictures):
            return [one.softmax(dim=1) for one in self._net.logits(seen.take(rows))]
        return list(seen[rows].unbind(dim=1))

    def _worlds(self, seen: Any, rows: Any) -> Any:
        """Tensor [rows, worlds], as `TableCircuit.worlds_of`."""
        return self.circuit_.worlds_of([literals(one) for one in self._symbols(seen, rows)])

    def _first(self, view: View, places: Any) -> Any:
        """float32 tensor [sequences, memory]: what is remembered before the first step."""
        import torch

        if view.memory and "previous" in view.metadata:
            values = torch.as_tensor(np.asarray(view.metadata["previous"], np.int64))[places[:, 0]]
        else:
            values = torch.zeros(len(places), dtype=torch.int64)
        return torch.nn.functional.one_hot(values, self.circuit_.memory).float()

    def predict_proba(self, test: View) -> Floats:
        """float64 [n, n_labels]: the circuit's answers, its memory passed on.

        Where true concepts are shown in place of images, and symbols are not concepts, the rules answer.
        """
        import torch

        result = np.zeros((len(test), test.n_labels))
        if not len(test):
            return result
        net = self._net
        if net is not None and not test.has_images:
            if not self._of_slots:
                return one_hot(self._by_rules(test), test.n_labels)
            seen: Any = torch.as_tensor(test.probabilities)
        else:
            seen = self._seen(test)
        places = torch.as_tensor(grid(test.steps))
        first = self._first(test, places)
        with torch.inference_mode(), seeded(self.seed):
            for some in torch.split(torch.arange(len(places)), _TOGETHER):
                rows = places[some]
                worlds = self._worlds(seen, rows.reshape(-1)).reshape(*rows.shape, -1)
                result[rows.reshape(-1)] = self.circuit_.run(worlds, first[some]).flatten(0, 1).numpy()
        return result

    def predict_concepts(self, test: View) -> Floats | None:
        """float64 [n, slots, concepts]: what each slot shows; None if symbols are no concepts."""
        import torch

        if not self._of_slots:
            return None
        seen = self._seen(test)
        with torch.inference_mode(), seeded(self.seed):
            parts = [
                torch.stack(self._symbols(seen, rows), dim=1)
                for rows in torch.split(torch.arange(len(test)), _TOGETHER)
            ]
        return np.asarray(torch.cat(parts), np.float64)

    def _by_rules(self, test: View) -> Ints16:
        from nsl_bench.logic.guarded.rules import crisp

        return crisp(
            self._rules, test.background, test.contexts, test.label_space, what="the circuit's rules"
        )

    def rules(self) -> Hypothesis:
        """The circuit as ASP: an entry for each product whose weights are nearly certain."""
        return Hypothesis(self._rules, 0)
