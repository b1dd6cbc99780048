"""Base class of networks that are a single torch module, from normalised images to logits.

It has what these networks share: sizes derived from the images, normalisation, prediction in batches of a
fixed size, and saving and loading of parameters.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, ClassVar, Literal, Protocol, get_args, get_type_hints

import numpy as np
from PIL import Image

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Array, Floats, Floats32, Ints, Ints16, UInts8
from nsl_bench.data.content import chunks
from nsl_bench.perception import training
from nsl_bench.perception.network import How, Network, Renderer


class Design(Protocol):
    """The sizes of a network: a frozen dataclass that can build the torch module."""

    @property
    def height(self) -> int:
        """Of the images."""

    @property
    def width(self) -> int:
        """Of the images."""

    @property
    def channels(self) -> int:
        """Of the images."""

    @property
    def outputs(self) -> int:
        """Concepts."""

    def build(self) -> Any:
        """Build a torch module that maps float images [m, channels, height, width] to logits [m, outputs]."""


class ImageClassifier(Network):
    """A network that is one torch module.

    Attributes:
        sizes: dataclass of the sizes; a weights file has their values in its header.
        architecture: sizes of the trained network; None before training.
    """

    sizes: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.architecture: Design | None = None
        self._mean: Floats32 = np.zeros(0, np.float32)
        self._deviation: Floats32 = np.ones(0, np.float32)
        self._module: Any = None

    @property
    def header(self) -> dict[str, Any]:
        sizes: Any = self.architecture
        return {**super().header, "architecture": None if sizes is None else asdict(sizes)}

    @abstractmethod
    def design(self, shape: tuple[int, int, int], outputs: int) -> Design:
        """The sizes of the network for images of a shape."""

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        blank(self.design(shape, len(concepts)))

    def _finish(
        self, design: Design, concepts: Sequence[str], settings: training.Settings, **numbers: float
    ) -> None:
        """Note what a training that has ended was: the sizes, the concepts and how it was done."""
        self.architecture, self.concepts, self.device = design, tuple(concepts), settings.device
        self.details["training"] = {**numbers, **settings.describe()}

    def probabilities(self, logits: Floats) -> Floats:
        """float64 [m, concepts]: concept probabilities for logits [m, concepts]."""
        return softmax(logits)

    def logits(self, images: UInts8, wrapped: Callable[[Any], Any] = lambda module: module) -> Floats:
        """float64 [m, concepts]: the module's outputs for images, uint8 [m, height, width, channels].

        Args:
            images: images of any size; they are resized.
            wrapped: turns the trained module into the one to apply.

        Raises:
            UserError: the network is not trained, or the number of channels differs from the train images'.
        """
        if self.architecture is None:
            raise UserError(f"The network {self.name} is not trained; call fit, or load weights.")
        design = self.architecture
        if images.shape[3] != design.channels:
            raise UserError(
                f"The network {self.name} needs images with {design.channels} channel(s); got "
                f"{images.shape[3]}."
            )
        small = resize(images, (design.height, design.width))
        return training.logits(
            wrapped(self._module), small, self._mean, self._deviation, design.outputs, self.device
        )

    def predict_proba(self, images: UInts8) -> Floats32:
        return np.asarray(self.probabilities(self.logits(images)), np.float32)

    def parameters(self) -> Mapping[str, Array]:
        arrays = {
            name: tensor.cpu().numpy().astype(np.float16)
            for name, tensor in _floating(self._module.state_dict()).items()
        }
        return {**arrays, "mean": self._mean, "deviation": self._deviation}

    def restore(self, parameters: Mapping[str, Array], header: Mapping[str, Any]) -> None:
        import torch

        design = _sizes(self.sizes, header.get("architecture"))
        # On the device meta nothing is allocated; what runs there loads much of torch, so nothing does.
        with _fitting(design), torch.device("meta"):
            state = _floating(design.build().state_dict())
        expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
        expected |= {"mean": (design.channels,), "deviation": (design.channels,)}
        for name, shape in expected.items():
            if name not in parameters or parameters[name].shape != shape:
                shape_given = parameters[name].shape if name in parameters else "nothing"
                raise ValueError(f"'{name}' must have shape {shape}; got {shape_given}")
            if parameters[name].dtype.kind != "f":
                raise ValueError(f"'{name}' must be floats; got {parameters[name].dtype}")
        if not (parameters["deviation"] > 0).all():
            raise ValueError("'deviation' must be above 0")
        if design.outputs != len(header.get("concepts", ())):
            raise ValueError(f"it has {design.outputs} outputs for {len(header['concepts'])} concepts")
        module = design.build()
        module.load_state_dict(
            {name: torch.from_numpy(parameters[name].astype(np.float32)) for name in state}, strict=False
        )
        self._module = module.eval()
        _look(self._module, design, "cpu")
        self._mean = parameters["mean"].astype(np.float32)
        self._deviation = parameters["deviation"].astype(np.float32)
        self.architecture = design


class PresetClassifier(ImageClassifier):
    """A classifier whose preset decides what its other options leave open."""

    preset: Literal["quick", "paper"] = option("quick", "``quick`` or ``paper``: decides what is left open")
    epochs: int | None = option(None, "passes over the train images", least=1)
    images_per_concept: int | None = option(None, "most train images of a concept, the first ones", least=1)
    height: int | None = option(None, "height to which the network resizes images", least=1)
    width: int | None = option(None, "width to which the network resizes images", least=1)
    precision: training.Precision = option("float32", training.PRECISION, later=True, after="seed")

    @property
    def quick(self) -> bool:
        """Whether the preset is the quick one."""
        return self.preset == "quick"

    def _collect(self, render: Renderer, rows: Ints, design: Design, how: How) -> UInts8:
        """uint8 [m, height, width, channels]: images of these rows, in the size of the design."""
        size, progress = (design.height, design.width), how.get("progress", False)
        return collect(lambda some: render(rows[some]), len(rows), size, progress=progress)

    def _settings(self, epochs: int, **settings: Any) -> training.Settings:
        """The settings of a training: `epochs` unless the option says otherwise, and what the options say."""
        return training.Settings(
            epochs=self.epochs or epochs,
            seed=self.seed,
            threads=training.threads_of(self.preset),
            precision=self.precision,
            **settings,
        )

    def _train_module(
        self, build: Callable[[], Any], images: UInts8, labels: Ints16, settings: training.Settings
    ) -> Any:
        """A trained module; see `training.train`."""
        numbers = labels.astype(np.int64)
        return training.train(build, images, numbers, self._mean, self._deviation, settings, self.checkpoint)


def blank(design: Design) -> Any:
    """Build a network's torch module on torch's meta device, without weights, and check it on one image."""
    import torch

    with _fitting(design), torch.device("meta"):
        module = design.build().eval()
    _look(module, design, "meta")
    return module


def _look(module: Any, design: Design, device: str) -> None:
    """Have a module on a device see an image."""
    import torch

    with _fitting(design), torch.no_grad():
        module(torch.zeros(1, design.channels, design.height, design.width, device=device))


@contextmanager
def _fitting(design: Design) -> Iterator[None]:
    """Raise a UserError for what torch raises about sizes that do not fit."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError) as error:
        raise UserError(
            f"Images of {design.height} x {design.width} do not fit the network "
            f"({str(error).splitlines()[0].rstrip('.')}); resize them with the options height and width."
        ) from error


def _sizes(kind: type[Any], sizes: Any) -> Any:
    """The sizes of a kind that a header gives."""
    hints = get_type_hints(kind)
    if not isinstance(sizes, dict) or set(sizes) != set(hints):
        raise ValueError("its header contains no sizes")
    for name, hint in hints.items():
        choices = get_args(hint)
        if sizes[name] not in choices if choices else type(sizes[name]) is not hint:
            right = f"one of {', '.join(map(str, choices))}" if choices else f"of type {hint.__name__}"
            raise ValueError(f"the size '{name}' in its header must be {right}; got {sizes[name]!r:.80}")
    return kind(**sizes)


def softmax(logits: Floats) -> Floats:
    """float64 [m, concepts]: the softmax of logits [m, concepts]."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float64)


def _floating(state: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that matter once training is over: not batch normalisation's counts of batches."""
    return {name: tensor for name, tensor in state.items() if tensor.is_floating_point()}


def resize(images: UInts8, size: tuple[int, int]) -> UInts8:
    """uint8 [m, *size, channels]: resize images [m, height, width, channels].

    Pillow does it, bilinearly and with antialiasing. It uses integer arithmetic, so the result is the same on
    every machine.
    """
    if images.shape[1:3] == size:
        return images
    height, width = size
    result = np.empty((len(images), height, width, images.shape[3]), np.uint8)
    for i, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
        small = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
        result[i] = small.reshape(result.shape[1:])
    return result


def collect(render: Renderer, n: int, size: tuple[int, int] | None, *, progress: bool = False) -> UInts8:
    """uint8 [n, *size, channels]: render all images and resize them to a network's input size.

    Only the resized images are kept in memory. `progress` shows a bar on standard error if it is a terminal.
    """
    from tqdm import tqdm

    if n == 0:
        raise ValueError("no images given")
    result: UInts8 | None = None
    pieces = list(chunks(np.arange(n, dtype=np.int64)))
    for rows in tqdm(pieces, desc="rendering", unit="chunk", disable=None if progress else True, leave=False):
        images = render(rows)
        small = resize(images, size or images.shape[1:3])
        if result is None:
            result = np.empty((n, *small.shape[1:]), np.uint8)
        result[rows] = small
    assert result is not None
    return result
