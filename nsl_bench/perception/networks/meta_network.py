"""Base class of networks that consist of other networks, which are trained, shipped and cached separately."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.registry import Spec
from nsl_bench.perception.network import Network, Renderer, check_header


class MetaNetwork(Network):
    """A network that consists of other networks.

    Attributes:
        parts: the trained networks; empty before training.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.parts: tuple[Network, ...] = ()

    @abstractmethod
    def members(self) -> tuple[Network, ...]:
        """The networks that it consists of, untrained."""

    def combine(
        self,
        parts: Sequence[Network],
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
    ) -> Self:
        """Combine trained networks into this one; returns itself."""
        self.parts, self.concepts = tuple(parts), tuple(concepts)
        self.details["parts"] = [part.fingerprint() for part in parts]
        return self

    def fit(
        self,
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
        *,
        device: str = "auto",
        progress: bool = False,
    ) -> Self:
        self.device = device
        parts = []
        for k, member in enumerate(self.members()):
            if self.checkpoint is not None:
                member.checkpoint = self.checkpoint.with_name(f"{k}-{self.checkpoint.name}")
            parts.append(member.fit(render, labels, concepts, device=device, progress=progress))
        return self.combine(parts, render, labels, concepts)

    @property
    def header(self) -> dict[str, Any]:
        return {**super().header, "parts": [part.header for part in self.parts]}

    def parameters(self) -> Mapping[str, npt.NDArray[Any]]:
        return {
            f"{k}/{name}": array
            for k, part in enumerate(self.parts)
            for name, array in part.parameters().items()
        }

    def restore(self, parameters: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> None:
        described_parts = header.get("parts")
        if not isinstance(described_parts, list) or not described_parts:
            raise ValueError("its header names no member networks")
        parts = []
        for k, described in enumerate(described_parts):
            check_header(described)
            if described["concepts"] != header["concepts"]:
                raise ValueError("its members are for other concepts")
            options = {key: str(value) for key, value in described["options"].items()}
            part: Network = registry.create("network", Spec(described["network"], (), options))
            own = {
                name.removeprefix(f"{k}/"): array
                for name, array in parameters.items()
                if name.startswith(f"{k}/")
            }
            part.restore(own, described)
            part.concepts, part.device = tuple(described["concepts"]), self.device
            parts.append(part)
        found, wanted = ([part.name for part in some] for some in (parts, self.members()))
        if found != wanted:
            raise ValueError(f"its members must be {' and '.join(wanted)}; got {' and '.join(found)}")
        self.parts = tuple(parts)

    def trained_parts(self) -> tuple[Network, ...]:
        """The trained networks."""
        if not self.parts:
            raise UserError(f"The network {self.name} is not trained; call fit, or load weights.")
        return self.parts
