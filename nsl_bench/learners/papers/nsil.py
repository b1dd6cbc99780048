"""NSIL: learns rules and perception together, from labels alone.

Cunnington, Law, Lobo, Russo: "Neuro-Symbolic Learning of Answer Set Programs from Raw Data" (IJCAI 2023),
with the weights and updates of their published code.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter  # as it is now: a learner here may replace it
from typing import Self

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable
from nsl_bench.core.options import option
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK, Floats, Hypothesis, Ints, WeightedExample
from nsl_bench.learners.label_diagrams import Diagrams, LabelTable, Structure, label_tables, structures_of
from nsl_bench.learners.networks import SHARE, encoder, pictures
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.queries import MOST_INPUTS
from nsl_bench.learners.semantic_loss import LabelTrained
from nsl_bench.learners.view import View
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.task import LasTask, Solution

_OTHER = "nsl_other_label"
"""The atom that some label holds; with more than two labels, an example that excludes one requires it."""

_TRIED = 100
"""Simple worlds of which those with the best rules are looked for."""


class NSIL(LabelTrained):
    """Learns rules and what images show together, from images and labels alone.

    Each iteration learns rules from weighted examples, and trains the network for some passes by the labels'
    exact probability under these rules (the semantic loss of NeurASP, by decision diagrams). Then pairs of
    corrective examples are weighed anew for the next rules: one requires that a world of concepts has a
    label, the other that it has another one. Worlds that would explain a label that is answered wrongly gain
    weight against the rules; worlds that the network sees gain its confidence for their label.

    It ends when an iteration leaves both the rules and the likeliest concepts of the train set as they were.
    The first rules allow each label that a structure (blank slots and metadata) has somewhere, as later rules
    must. This is demanded step by step, of the labels that the rules so far exclude; where a structure has
    too many worlds for the solver, simple worlds must have them. If it is known what is possible, only
    possible worlds count, and all those of a structure with one label must have it.

    Attributes:
        rules_: the rules.
        history_: the rules of each iteration.
    """

    name = "nsil"
    version = "3"
    track: Track = "label_only"

    iterations: int = option(20, "most times that rules are learned and the network is trained", least=1)
    epochs: int = option(10, "passes over the train set in each iteration; the paper makes 1", least=1)
    worlds: int = option(
        100,
        "worlds of a structure and a label that an iteration weighs at most; the paper weighs all",
        least=1,
    )
    possible: bool = option(False, "whether the possible inputs are known; on hitting sets the paper's are")
    rule_learner: str = option(
        "exact", "solver of the learning task; a name in the group ``nsl_bench.rule_learners``"
    )
    time_limit: float = option(
        30.0, "seconds for the rules of an iteration; the best so far are kept", above=0, unit="seconds"
    )

    def fit(self, train: View) -> Self:
        """Learn rules and train the network in turn.

        Raises:
            NotApplicable: rows are steps of sequences, or rules read too many images for a diagram.
            UserError: the task's possible inputs are asked for and cannot be listed.
        """
        import torch

        if train.sequential:
            raise NotApplicable("nsil: it takes single examples, and rows here are steps of sequences.")
        images, blank = pictures(train)
        self._size, self._concepts = images.shape[3:], len(train.concept_space)
        possible = train.possible_concepts.astype(np.int64) if self.possible else None
        structures = structures_of(train, ~blank, possible)
        rng = np.random.default_rng(self.seed)
        pairs = _Pairs(train, structures, rng)
        end = np.inf if train.time_limit is None else train.begun + SHARE * train.time_limit
        self.rules_, self.history_ = tuple[str, ...](), list[tuple[str, ...]]()
        tables: list[LabelTable] = []
        with seeded(self.seed):
            self._net = encoder(images, self._concepts)
            optimiser = torch.optim.Adam(self._net.parameters(), lr=self.learning_rate)
            longest = 0.0
            before: tuple[tuple[str, ...], Ints] = (), np.zeros(0, np.int64)
            while len(self.history_) < self.iterations and (clock := perf_counter()) + longest < end:
                self.rules_, tables = self._learn_rules(train, structures, pairs, tables, end)
                self.history_.append(self.rules_)
                train.report(self.rules_)
                diagrams = Diagrams(structures, tables)
                for _ in range(self.epochs):
                    for chosen in torch.split(torch.randperm(len(train)), self.batch):
                        optimiser.zero_grad()
                        loss = self._label_loss(diagrams, train, images, chosen.numpy())
                        if loss.requires_grad:
                            (loss / len(chosen)).backward()
                            optimiser.step()
                seen = self.predict_concepts(train)
                if self.rules_ == before[0] and np.array_equal(seen.argmax(axis=2), before[1]):
                    break
                before = self.rules_, seen.argmax(axis=2)
                pairs.weigh(tables, seen, self.worlds)
                longest = max(longest, perf_counter() - clock)
        self._net.eval()
        return self

    def _learn_rules(
        self,
        train: View,
        structures: Sequence[Structure],
        pairs: "_Pairs",
        before: list[LabelTable],
        end: float,
    ) -> tuple[tuple[str, ...], list[LabelTable]]:
        """Rules of least score that allow each structure its labels, as far as time goes, and their tables.

        The last rules, of the tables `before`, stay where none that are as good are found in time.
        """
        solve = registry.factory("rule_learner", self.rule_learner)
        until = min(end, perf_counter() + self.time_limit)
        rules, demanded = self.rules_, list[tuple[int, int]]()
        while True:
            least, role, proven = np.inf, None, False
            for simple, hard in pairs.demands(demanded):
                if role not in (None, simple):
                    continue
                task = pairs.task(hard)
                if not task.examples:
                    continue
                solution: Solution = solve(task, time_limit=max(until - perf_counter(), 0.5))
                if solution.score is not None and solution.score < least:
                    least, role = solution.score, simple
                    rules, proven = solution.hypothesis, simple is None and solution.status == "optimal"
                if perf_counter() >= until:
                    break
            tables = label_tables(rules, train, structures)
            excluded = [one for one in _excluded(structures, tables) if one not in demanded]
            if (demanded and least == np.inf) or not excluded or perf_counter() >= until:
                break
            demanded += {excluded[0], excluded[-1]}

        def score(rules: tuple[str, ...], tables: list[LabelTable]) -> tuple[int, float]:
            cost = hypothesis_cost(task, rules) + pairs.penalty(tables)
            return len(_excluded(structures, tables)), cost

        if before and not proven and score(self.rules_, before) < score(rules, tables):
            return self.rules_, before
        return rules, tables

    def rules(self) -> Hypothesis:
        """The learned rules."""
        return Hypothesis(self.rules_, 0)


def _excluded(structures: Sequence[Structure], tables: Sequence[LabelTable]) -> list[tuple[int, int]]:
    """Structures, by number, and labels that they have, and that no world of them gets; the smaller first."""
    none = np.random.default_rng(0)
    return [
        (k, label)
        for _, k, label in sorted(
            (int(one.shown.sum()), k, label)
            for k, (one, table) in enumerate(zip(structures, tables, strict=True))
            for label in one.labels
            if not len(table.worlds(label, 1, none))
        )
    ]


def _simple_worlds(slots: int, values: int) -> Ints:
    """int64 [n, slots]: values that follow from a slot's place, up to their names.

    With ``i`` the place and ``m``, ``n`` divisors of the number of slots, as of a grid's rows and bands, they
    are ``a i + b (i div m) + c (i div n)`` modulo the number of values.
    """
    place = np.arange(slots)
    parts = [m for m in range(2, slots) if slots % m == 0] or [slots]
    found = dict[tuple[int, ...], None]()
    for m, n in itertools.combinations_with_replacement(parts, 2):
        for a, b, c in itertools.product(range(values), repeat=3):
            world = (a * place + b * (place // m) + c * (place // n)) % values
            names = {value: name for name, value in enumerate(dict.fromkeys(world.tolist()))}
            found[tuple(names[value] for value in world.tolist())] = None
    return np.array([*found], np.int64)


class _Pairs:
    """Corrective examples: for a world of a structure and a label, weights for and against it."""

    def __init__(self, train: View, structures: Sequence[Structure], rng: np.random.Generator) -> None:
        self._train, self._structures = train, structures
        self._for: dict[tuple[int, tuple[int, ...], int], int] = {}
        self._against = dict(self._for)
        self._rng, names = rng, train.concept_space.concepts
        self._can = np.array(
            [[bool(train.facts(s, name)) for name in names] for s in range(len(train.slots))]
        )
        atoms = train.label_space.atoms if train.n_labels > 2 else ()
        self._background = "".join([train.background, *(f"\n{_OTHER} :- {atom}." for atom in atoms if atom)])

    def weigh(self, tables: Sequence[LabelTable], seen: Floats, most: int) -> None:
        """New weights, from errors of the labels (exploration) and confidences (exploitation)."""
        best, confidence, labels = seen.argmax(axis=2), seen.max(axis=2), self._train.labels
        told: dict[tuple[int, tuple[int, ...], int], list[float]] = {}
        for k, (table, one) in enumerate(zip(tables, self._structures, strict=True)):
            if one.settled:
                continue
            worlds = np.where(one.shown, best[one.rows], BLANK)
            wrong = table.labels(worlds) != labels[one.rows]
            for label in one.labels:
                possible = table.worlds(label, most, self._rng).tolist()
                error = 100 * wrong[labels[one.rows] == label].mean()
                for world in possible:
                    self._for[k, tuple(world), label] = 1
                    self._against[k, tuple(world), label] = round(error / len(possible)) + 1
            sure = np.where(one.shown, confidence[one.rows], 1.0).prod(axis=1)
            there = None if one.possible is None else set(map(tuple, one.possible.tolist()))
            for row, world, own in zip(one.rows.tolist(), worlds.tolist(), sure.tolist(), strict=True):
                if there is not None and tuple(world) not in there:
                    continue
                told.setdefault((k, tuple(world), int(labels[row])), []).append(own)
        for key, sures in told.items():
            gain = 100 * float(np.mean(sures))
            self._for[key] = min(max(round(self._for.get(key, 0) + gain), 1), 101)
            self._against[key] = min(max(round(self._against.get(key, 0) - gain), 1), 101)

    def penalty(self, tables: Sequence[LabelTable]) -> float:
        """What examples weigh that rules with these tables do not cover; infinite if one must be covered."""
        total = 0.0
        for k, (table, one) in enumerate(zip(tables, self._structures, strict=True)):
            settled = np.array(one.settled, np.int64).reshape(-1, len(one.shown))
            if (table.labels(settled) != one.labels[0]).any():
                return np.inf
            mine = [key for key in self._for if key[0] == k]
            if not mine:
                continue
            told = table.labels(np.array([world for _, world, _ in mine]))
            holds = told == [label for _, _, label in mine]
            gains = np.array([self._for[key] - self._against[key] for key in mine])
            total += float(np.abs(gains)[~np.where(gains > 0, holds, ~holds & (told >= 0))].sum())
        return total

    def demands(
        self, demanded: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int | None, list[WeightedExample]]]:
        """Examples of structures that must have labels in some world, and whose worlds are simple ones.

        Where there are few worlds, the solver chooses one. Elsewhere that takes too long, and one label
        has a simple world, in which a slot's concept follows from its place, the others any.
        """
        values, worlds = len(self._train.concept_space), [self._structures[k].shown for k, _ in demanded]
        if all(values ** int(shown.sum()) <= MOST_INPUTS for shown in worlds):
            yield None, [self._possible(k, label) for k, label in demanded]
            return
        own = dict.fromkeys(k for k, _ in demanded)
        wanted = [(k, label) for k in own for label in self._structures[k].labels]
        for simple in self._rng.permutation(_simple_worlds(len(self._train.slots), values))[:_TRIED]:
            for role in sorted({label for _, label in wanted}):
                named, hard = self._rng.permutation(values)[simple], []
                for k, label in wanted:
                    world = named if label == role else self._rng.integers(0, values, len(simple))
                    world = np.where(self._can[range(len(world)), world], world, self._can.argmax(axis=1))
                    world = np.where(self._structures[k].shown, world, BLANK)
                    context = self._context(k, world.tolist())
                    hard.append(
                        WeightedExample(f"some-{k}-{label}", None, *self._sides(label, True), context)
                    )
                yield role, hard

    def task(self, hard: Iterable[WeightedExample]) -> LasTask:
        """The learning task, with examples that must be covered.

        Of a pair, the example of more weight stands, with what it has more.
        """
        examples = [*hard]
        for k, one in enumerate(self._structures):
            for i, settled in enumerate(one.settled):
                sides = self._sides(one.labels[0], True)
                examples.append(WeightedExample(f"sure-{k}-{i}", None, *sides, self._context(k, settled)))
        for i, ((k, world, label), weight) in enumerate(self._for.items()):
            difference = weight - self._against[k, world, label]
            if difference:
                sides = self._sides(label, difference > 0)
                examples.append(
                    WeightedExample(f"world-{i}", abs(difference), *sides, self._context(k, world))
                )
        return LasTask.build(examples, self._background, self._train.bias, self._train.benchmark_name)

    def _context(self, k: int, world: Sequence[int]) -> tuple[str, ...]:
        """The facts of a world of a structure."""
        names = self._train.concept_space.concepts
        facts = [f for s, c in enumerate(world) if c != BLANK for f in self._train.facts(s, names[c])]
        return *facts, *self._structures[k].facts

    def _sides(self, label: int, holds: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The atoms that an example requires and forbids, so that a label holds, or another one."""
        space = self._train.label_space
        if not holds and len(space) > 2:
            return (_OTHER,), space.inclusions(label)
        asked = label if holds else 1 - label
        return space.inclusions(asked), space.exclusions(asked)

    def _possible(self, k: int, label: int) -> WeightedExample:
        """The example that some world of a structure has a label."""
        one, names = self._structures[k], self._train.concept_space.concepts
        choices = []
        for slot in np.flatnonzero(one.shown).tolist():
            facts = {f"nsl_pick({slot},{c})": self._train.facts(slot, name) for c, name in enumerate(names)}
            choices.append(f"1 {{ {'; '.join(pick for pick, own in facts.items() if own)} }} 1")
            choices += [f"{fact} :- {pick}" for pick, own in facts.items() for fact in own]
        return WeightedExample(f"some-{k}-{label}", None, *self._sides(label, True), (*choices, *one.facts))
