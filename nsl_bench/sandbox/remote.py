"""What a learner sees in its own process: a view whose content is requested from the harness.

`nsl_bench.sandbox.answering` is the other side.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.types import ConceptSpace, LabelSpace, Predictions
from nsl_bench.learners.asp_rules import FeatureTest
from nsl_bench.learners.known_rule import KnownRule
from nsl_bench.learners.view import Images, LabelledImages, Slots, TrackError, View
from nsl_bench.logic.guarded import wire

__all__ = ["BATCH", "Channel", "RemoteView"]

_MOST = 1 << 40
BATCH = 64
"""Most examples whose images are requested at once."""


class Channel:
    """Questions to the harness; learners may ask from several threads and processes.

    Processes of a learner take turns by the system's own lock and not by `nsl_bench.core.cache.lock`, which
    polls: a question would wait for the next poll. This runs only where processes can be forked, so `fcntl`
        exists.
    """

    def __init__(self, descriptor: int, scratch: Path) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.decoder = wire.Decoder(_MOST)
        self._threads = threading.RLock()
        self._turn = scratch / ".turn"

    def ask(self, what: str, **given: Any) -> Any:
        import fcntl

        with self._threads, self._turn.open("w") as turn:
            fcntl.lockf(turn, fcntl.LOCK_EX)
            wire.send(self.socket, {"ask": what, **given})
            reply = wire.receive(self.socket, self.decoder)
        if "error" in reply:
            kinds = {"track": TrackError, "user": UserError, "not_applicable": NotApplicable}
            raise kinds.get(reply["kind"], RuntimeError)(reply["error"])
        return reply["answer"]


class _RemoteBenchmark:
    """What a learner may know of a benchmark."""

    def __init__(self, card: dict[str, Any], channel: Channel) -> None:
        self._channel = channel
        self.name = card["name"]
        self.labels = LabelSpace(tuple(card["label_names"]), tuple(card["label_atoms"]))
        self.slots = tuple(card["slots"])
        self.sequential = bool(card["sequential"])
        self._view = card["view"]
        self._step_atoms: dict[tuple[str, int], str] = {}

    def _ask(self, what: str, **given: Any) -> Any:
        return self._channel.ask(what, view=self._view, **given)

    @cached_property
    def concept_space(self) -> ConceptSpace:
        told = self._ask("concept_space")
        return ConceptSpace(told["name"], tuple(told["concepts"]), told["background"])

    @cached_property
    def background(self) -> str:
        return str(self._ask("background"))

    @cached_property
    def bias(self) -> str:
        return str(self._ask("bias"))

    @cached_property
    def _facts(self) -> list[list[list[str]]]:
        return cast("list[list[list[str]]]", self._ask("facts"))

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return tuple(self._facts[slot][self.concept_space.ids[concept]])

    def symbols(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(values) for values in self._ask("symbols"))

    def memory(self) -> tuple[str, ...]:
        return tuple(self._ask("memory"))

    def features(self, concepts: Any, metadata: Any) -> Any:
        return self._ask("features")

    def knowledge_features(self, concepts: Any, metadata: Any) -> Any:
        return self._ask("knowledge_features")

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        return tuple(self._ask("feature_names", knowledge=knowledge))

    def contexts(self, concepts: Any, metadata: Any, steps: Any = None) -> list[tuple[str, ...]]:
        return [tuple(facts) for facts in self._ask("contexts")]

    def sequence_contexts(self, concepts: Any, metadata: Any, steps: Any) -> list[tuple[str, ...]]:
        return [tuple(facts) for facts in self._ask("sequence_contexts")]

    def step_atom(self, atom: str, step: int) -> str:
        known = (atom, int(step))
        if known not in self._step_atoms:
            self._step_atoms[known] = str(self._ask("step_atom", atom=atom, step=int(step)))
        return self._step_atoms[known]


class _RemoteImages(Images):
    """Images that the harness renders when asked for."""

    def __init__(self, view: int, count: int, channel: Channel) -> None:
        self._view, self._count, self._channel = view, count, channel

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            rows = range(*i.indices(self._count))
            return [slots for k in range(0, len(rows), BATCH) for slots in self._rows(rows[k : k + BATCH])]
        if not -self._count <= i < self._count:
            raise IndexError(f"example {i} of {self._count}")
        return self._rows([i])[0]

    def __iter__(self) -> Iterator[Slots]:
        for start in range(0, self._count, BATCH):
            yield from self._rows(range(start, min(start + BATCH, self._count)))

    def _rows(self, rows: Sequence[int]) -> list[Slots]:
        told = self._channel.ask("images", view=self._view, rows=[int(i) % self._count for i in rows])
        images = iter(told["images"])
        return [[next(images) if there else None for there in row] for row in told["present"].tolist()]


class RemoteView(View):
    """A view whose content is requested from the harness.

    Args:
        card: content that the harness sent at the start.
        channel: channel for requests.
    """

    def __init__(self, card: dict[str, Any], channel: Channel) -> None:
        self.track = card["track"]
        self.part = card["part"]
        self.time_limit = card["time_limit"]
        self.device = card["device"]
        self._n = card["n"]
        self._benchmark = cast(Benchmark, _RemoteBenchmark(card, channel))
        self._metadata: dict[str, npt.NDArray[Any]] = card["metadata"]
        self._sequences, self._steps = card["sequences"], card["steps"]
        self._labels = card["labels"]
        self._images = _RemoteImages(card["view"], self._n, channel) if card["images"] else None
        self._channel, self._id = channel, card["view"]

    @cached_property
    def _predictions(self) -> Predictions | None:  # type: ignore[override]
        told = self._channel.ask("predictions", view=self._id)
        return None if told is None else Predictions(told["probabilities"], told["blank"])

    @property
    def few_labels(self) -> LabelledImages:
        """Images that are not in any example, with their symbols."""
        told = self._channel.ask("few_labels", view=self._id)
        return LabelledImages(told["images"], told["targets"], tuple(told["values"]))

    @cached_property
    def true_rule(self) -> KnownRule:
        """The rule that labels the data, each form of which the harness sends when asked."""
        self._may_know_the_rule()
        return KnownRule(self._ask_the_rule, self._n)

    def _ask_the_rule(self, form: str, *given: Any) -> Any:
        told = {"concepts": given[0], "rows": given[1]} if given else {}
        return self._channel.ask("true_rule", view=self._id, form=form, **told)

    def feature_test(self, column: int, threshold: float, *, knowledge: bool = False) -> FeatureTest:
        """As the harness writes it."""
        asked = {"column": int(column), "threshold": float(threshold), "knowledge": bool(knowledge)}
        told = self._channel.ask("feature_test", view=self._id, **asked)
        return FeatureTest(told["atom"], tuple(told["rules"]))

    @cached_property
    def literals(self) -> npt.NDArray[np.bool_]:
        """As the harness computes them."""
        return cast("npt.NDArray[np.bool_]", self._channel.ask("literals", view=self._id))

    @cached_property
    def literal_names(self) -> tuple[str, ...]:
        """As the harness names them."""
        return tuple(self._channel.ask("literal_names", view=self._id))

    @cached_property
    def literal_bodies(self) -> tuple[tuple[str, ...], ...]:
        """As the harness writes them."""
        return tuple(map(tuple, self._channel.ask("literal_bodies", view=self._id)))

    def report(self, rules: Sequence[str]) -> None:
        """Report the best hypothesis so far. It is used if the time limit ends `fit`."""
        self._channel.ask("report", view=self._id, rules=[str(rule) for rule in rules])
