"""A small task of sequences: is the number of ones so far odd?"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark, Family
from nsl_bench.core.types import ConceptSpace, LabelSpace, Part, Split


def installed(patched: pytest.MonkeyPatch) -> None:
    """Have the task found by name, as if another package had it."""
    found = registry._found
    point = EntryPoint("parity", "parity:Parity", registry.KINDS["benchmark"])

    def with_parity(kind: registry.Kind) -> dict[str, EntryPoint]:
        return {**found(kind), **({"parity": point} if kind == "benchmark" else {})}

    patched.setattr(registry, "_found", with_parity)


class Parity(Benchmark):
    """Bits, one image a step.

    Args:
        length: steps of a sequence.
    """

    version = "1.0.0"
    description = "Is the number of ones so far odd?"
    labels = LabelSpace(("even", "odd"), ("parity(0)", "parity(1)"))
    slots = ("bit",)
    concept_space = ConceptSpace("digit", ("0", "1"))
    metadata: Mapping[str, str] = MappingProxyType({"start": "0 or 1 at the first step, else 2"})
    background = (
        "step(T) :- bit(T,_).\nnext(S,S+1) :- step(S), step(S+1).\nother(0,1). other(1,0).\n"
        "one(T) :- bit(T,1).\nzero(T) :- bit(T,0).\n"
        "before(T,P) :- next(S,T), parity(S,P).\nbefore(1,P) :- start(1,P).\n"
        "parity(P) :- now(T), parity(T,P).\n"
    )
    bias = (
        "#modeh(parity(var(step),var(bit))).\n#modeb(1,one(var(step)),(positive)).\n"
        "#modeb(1,zero(var(step)),(positive)).\n#modeb(1,before(var(step),var(bit)),(positive)).\n"
        "#modeb(1,other(var(bit),var(bit)),(positive)).\n#maxv(3).\n"
        '#bias("penalty(1, head).").\n#bias("penalty(1, body(X)) :- in_body(X).").\n'
    )
    true_rule = "parity(T,P) :- zero(T), before(T,P).\nparity(T,Q) :- one(T), before(T,P), other(P,Q).\n"
    sizes: Mapping[str, int] = MappingProxyType({"small": 16})
    test_size = 20
    repeats = 2
    sources = ("sklearn_digits",)
    named_shifts: Mapping[str, str] = MappingProxyType({"rotate90": "rotate:90"})
    sequential = True

    def __init__(self, length: int = 3) -> None:
        self.length = length
        self.name = "parity" if length == 3 else f"parity:length={length}"
        self.inputs = (
            f"1 {{ bit(T,0..1) }} 1 :- T = 1..{length}.\n{{ start(1,1) }}.\n1 {{ now(1..{length}) }} 1.\n"
        )
        self.family = Family("parity", ("parity",), "length")

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        bits, start = rng.integers(0, 2, (n, self.length)), rng.integers(0, 2, (n, 1))
        steps = np.tile(np.arange(1, self.length + 1, dtype=np.int32), n)
        return Split(
            part,
            self.concept_space,
            bits.reshape(-1, 1).astype(np.int16),
            ((bits.cumsum(axis=1) + start) % 2).reshape(-1).astype(np.int16),
            {"start": np.where(steps == 1, np.repeat(start[:, 0], self.length), 2)},
            sequences=np.repeat(np.arange(n, dtype=np.int32), self.length),
            steps=steps,
        )

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"bit({concept})",)

    def metadata_facts(self, metadata: Any) -> tuple[str, ...]:
        return (f"start({metadata['start']})",) if metadata["start"] < 2 else ()
