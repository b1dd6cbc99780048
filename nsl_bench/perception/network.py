"""Base class of perception networks, which map an image to a probability for each concept.

Networks are found by name through the entry-point group ``nsl_bench.networks``. A network's options and its
train images determine its weights. A trained network is saved as a safetensors file: the parameters, and a
JSON header that identifies the network, so that weights of another network are refused.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypedDict, Unpack

import numpy as np

from nsl_bench.core import cache, registry
from nsl_bench.core.declared import Is, Open, checked
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import HasOptions, option, options_of
from nsl_bench.core.registry import Spec
from nsl_bench.core.types import Array, Floats32, Ints, Ints16, UInts8

OptionValue = bool | int | float | str | None
"""The value of a network's option."""

Renderer = Callable[[Ints], UInts8]
"""Gives images on demand: rows, int64 [m], to uint8 [m, height, width, channels]. A train set of images
too large for memory is handed over in this form."""

_FORMAT = "1"


class How(TypedDict, total=False):
    """How `Network.fit` trains, beside its images."""

    device: str
    progress: bool


@dataclass(frozen=True)
class Segmentation:
    """Segmentation maps of the train images.

    Attributes:
        names: names of the segments that a pixel can belong to.
        render: maps rows, int64 [m], to segmentation maps, uint8 [m, height, width], of indices into `names`.
    """

    names: tuple[str, ...]
    render: Renderer


@dataclass(frozen=True)
class Validation:
    """Validation images: not used for training, but for choices that follow it, such as calibration.

    Attributes:
        render: renders images by row.
        labels: int16 [n], the concept of each image.
    """

    render: Renderer
    labels: Ints16


class Network(HasOptions, ABC):
    """A network, trained or not.

    Attributes:
        name: the registered name, e.g. ``"softmax"``.
        version: changes whenever the same options and images would give different weights.
        concepts: concepts of the outputs, in order; empty before training.
        details: further information for the weights file: training settings, image source, accuracy.
        device: device for prediction: ``"auto"`` (CUDA if available), ``"cpu"``, ``"cuda"`` ...
        checkpoint: file in which `fit` saves its state after each epoch and from which it resumes; None to
            save none. The weights do not depend on it.
        start: the trained network that `basis` asks for; None if it was not provided.
        validates: whether `fit` uses `validation`: a tenth of the network's images, not used for training.
        validation: the validation images; None if they were not provided.
        needs_segmentation: whether `fit` takes the train images' segmentation maps, as the keyword argument
            ``segmentation``, a `Segmentation`.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    concepts: tuple[str, ...] = ()
    device: str = "auto"
    checkpoint: Path | None = None
    needs_segmentation: ClassVar[bool] = False
    start: Network | None = None
    validates: bool = False
    validation: Validation | None = None

    seed: int = option(0, "random seed of the training", least=0, most=2**63 - 1)  # torch takes no larger one

    def __post_init__(self) -> None:
        self.details: dict[str, Any] = {}

    def basis(self, shape: tuple[int, int, int]) -> Network | None:
        """The network whose trained weights `fit` starts from, untrained; None to start from scratch.

        Args:
            shape: height, width and channels of the train images.
        """
        return None

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        """Check that the network can be trained, before any image is rendered.

        Args:
            shape: height, width and channels of the train images.
            labels: int16 [n], the concept of each image.
            concepts: names of all concepts.

        Raises:
            UserError: the network cannot be trained on these images.
        """

    @property
    def options(self) -> Mapping[str, OptionValue]:
        """All options that, together with the train images, determine the weights, as JSON values.

        Raises:
            UserError: the class has a constructor of its own, but does not state its options.
        """
        if options_of(type(self)) is None:
            raise UserError(f"The class of the network {self.name} must have a property options.")
        return self.option_values()

    @abstractmethod
    def fit(
        self,
        render: Renderer,
        labels: Ints16,
        concepts: tuple[str, ...],
        *,
        device: str = "auto",
        progress: bool = False,
    ) -> Self:
        """Train from scratch.

        Args:
            render: renders train images by row.
            labels: int16 [n], the concept of each image.
            concepts: names of all concepts.
            device: ``"auto"`` (CUDA if available), ``"cpu"``, ``"cuda"`` ...
            progress: show a bar on standard error if it is a terminal.
        """

    @abstractmethod
    def predict_proba(self, images: UInts8) -> Floats32:
        """float32 [m, concepts]: concept probabilities of images, uint8 [m, height, width, channels].

        The probabilities of an image must not depend on the other images of the batch.
        """

    @abstractmethod
    def parameters(self) -> Mapping[str, Array]:
        """The trained network's arrays by name, in the precision in which they are saved."""

    @abstractmethod
    def restore(self, parameters: Mapping[str, Array], header: Mapping[str, Any]) -> None:
        """Restore the trained network from its arrays and header.

        Raises:
            ValueError: they do not fit this network; the message gives the reason, as part of a sentence.
        """

    @classmethod
    def version_for(cls, shape: tuple[int, int, int]) -> str:
        """The version for train images of a shape, `version` unless other images' weights changed later.

        Args:
            shape: height, width and channels of the train images.
        """
        return cls.version

    @property
    def spec(self) -> str:
        """Name and options, e.g. ``"softmax:epochs=3"``. It identifies the network before training."""
        return self._spec(self.version)

    def spec_for(self, shape: tuple[int, int, int]) -> str:
        """As `spec`, with the version for train images of a shape."""
        return self._spec(self.version_for(shape))

    def _spec(self, version: str) -> str:
        text = ",".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        return f"{self.name}@{version}:{text}"

    @property
    def header(self) -> dict[str, Any]:
        """The header of the weights file. Subclasses add to it."""
        return {
            "network": self.name,
            "version": self.version,
            "options": dict(self.options),
            "concepts": list(self.concepts),
        }

    def fingerprint(self) -> str:
        """A short hash of the trained network. Equal hashes mean equal predictions."""
        digest = hashlib.blake2b(json.dumps(self.header, sort_keys=True).encode(), digest_size=10)
        for name, array in sorted(self.parameters().items()):
            digest.update(f"{name}:{array.dtype}:{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write the trained network to a safetensors file."""
        from safetensors.numpy import save

        arrays = {name: np.ascontiguousarray(array) for name, array in self.parameters().items()}
        header = {**self.header, "details": self.details, "format": _FORMAT}
        data = save(arrays, metadata={"nsl_bench": json.dumps(header, sort_keys=True)})
        with cache.replacing(path) as temporary:
            temporary.write_bytes(data)

    def load(self, path: Path, concepts: tuple[str, ...] | None = None) -> Self:
        """Read the trained network from a safetensors file.

        Args:
            path: a file written by `save` of the same kind of network.
            concepts: the concepts that the outputs must have; None to take those of the file.

        Raises:
            UserError: the file does not exist, is not a weights file, or has the weights of another network
                or for other concepts.
        """
        header, arrays = _read(path)
        if header.get("network") != self.name or header.get("version") != self.version:
            raise UserError(
                f"{path} has weights of the network {header.get('network')} version "
                f"{header.get('version')}; {self.name} version {self.version} cannot use them."
            )
        concepts_given = tuple(header.get("concepts", ()))
        if concepts is not None and concepts_given != tuple(concepts):
            raise UserError(
                f"{path} has weights for {len(concepts_given)} other concepts ({_some(concepts_given)}); "
                f"this task has {len(concepts)} ({_some(concepts)})."
            )
        self.concepts = concepts_given
        try:
            self.restore(arrays, header)
        except (ValueError, UserError) as error:
            reason = str(error).removesuffix(".")
            raise UserError(f"{path} has weights of another architecture: {reason}.") from error
        self.details = dict(header.get("details", {}))
        return self


_Single = Annotated[
    Any, Is("a single value", test=lambda value: value is None or isinstance(value, bool | int | float | str))
]


@dataclass(frozen=True)
class _Header(Open):
    """What the header of a weights file says of its network, as `Network.header` writes it."""

    network: str
    version: str
    options: Mapping[str, _Single]
    concepts: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


def check_header(header: Any) -> None:
    """Raise a ValueError if a header lacks an entry of `Network.header`; its text is part of a sentence."""
    try:
        checked(_Header, header, "in its header, ")
    except UserError as error:
        raise ValueError(str(error).rstrip(".")) from None


def header_of(path: Path) -> dict[str, Any]:
    """The header of a weights file."""
    return _read(path)[0]


def is_ours(path: Path) -> bool:
    """Whether a file was written by `Network.save`."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            return "nsl_bench" in (file.metadata() or {})
    except (SafetensorError, OSError):
        return False


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise UserError(f"The weights file {path} does not exist.")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("nsl_bench", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is not a complete safetensors file: {error}.") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise UserError(f"{path} is a safetensors file, but was not written by nsl-bench.")
    try:
        check_header(header)
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}.") from error
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError(f"{path} has weights that are NaN or infinite: '{name}'.")
    return header, arrays


def _some(concepts: tuple[str, ...]) -> str:
    return ", ".join(concepts[:3]) + (", ..." if len(concepts) > 3 else "")


class MetaNetwork(Network):
    """A network that consists of other networks, which are trained, shipped and cached separately.

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
        self, parts: Sequence[Network], render: Renderer, labels: Ints16, concepts: tuple[str, ...]
    ) -> Self:
        """Combine trained networks into this one; returns itself."""
        self.parts, self.concepts = tuple(parts), tuple(concepts)
        self.details["parts"] = [part.fingerprint() for part in parts]
        return self

    def fit(self, render: Renderer, labels: Ints16, concepts: tuple[str, ...], **how: Unpack[How]) -> Self:
        self.device = how.get("device", "auto")
        parts = []
        for k, member in enumerate(self.members()):
            if self.checkpoint is not None:
                member.checkpoint = self.checkpoint.with_name(f"{k}-{self.checkpoint.name}")
            parts.append(member.fit(render, labels, concepts, **how))
        return self.combine(parts, render, labels, concepts)

    @property
    def header(self) -> dict[str, Any]:
        return {**super().header, "parts": [part.header for part in self.parts]}

    def parameters(self) -> Mapping[str, Array]:
        return {
            f"{k}/{name}": array
            for k, part in enumerate(self.parts)
            for name, array in part.parameters().items()
        }

    def restore(self, parameters: Mapping[str, Array], header: Mapping[str, Any]) -> None:
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
        names, wanted = ([part.name for part in some] for some in (parts, self.members()))
        if names != wanted:
            raise ValueError(f"its members must be {' and '.join(wanted)}; got {' and '.join(names)}")
        self.parts = tuple(parts)

    def trained_parts(self) -> tuple[Network, ...]:
        """The trained networks."""
        if not self.parts:
            raise UserError(f"The network {self.name} is not trained; call fit, or load weights.")
        return self.parts
