"""The Softmax CNN of the FFNSL paper, for digits and for cards.

Cunnington et al. 2023, appendix, and the published code. Digits: two convolutions and a dense layer,
Adadelta. Cards: four blocks of convolution and pooling, two dense layers, RMSprop with learning rate 0.001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError
from nsl_bench.perception import training
from nsl_bench.perception.images import collect, resize
from nsl_bench.perception.network import Network, Option, Renderer

__all__ = ["Architecture", "SoftmaxCNN"]

Kind = Literal["digits", "cards"]


@dataclass(frozen=True)
class Architecture:
    """The sizes of a network.

    Attributes:
        kind: which of the two.
        height, width, channels: of its input images.
        dense: units of the hidden dense layer.
        outputs: concepts.
    """

    kind: Kind
    height: int
    width: int
    channels: int
    dense: int
    outputs: int

    def build(self) -> Any:
        """A new torch module: float images [m, channels, height, width] to logits [m, outputs]."""
        from torch import nn

        height, width = self.height, self.width
        layers: list[nn.Module] = []
        if self.kind == "digits":
            layers += [nn.Conv2d(self.channels, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU()]
            layers += [nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten()]
            height, width = (height - 4) // 2, (width - 4) // 2
            last = [nn.Linear(64 * height * width, self.dense), nn.ReLU(), nn.Dropout(0.5)]
        else:
            before = self.channels
            for after in (64, 64, 128, 128):
                layers += [nn.Conv2d(before, after, 3), nn.ReLU(), nn.MaxPool2d(2)]
                height, width, before = (height - 2) // 2, (width - 2) // 2, after
            layers += [nn.Flatten(), nn.Dropout(0.5)]
            last = [nn.Linear(128 * height * width, self.dense)]
        if height < 1 or width < 1:
            raise UserError(
                f"Images of {self.height} x {self.width} are too small for the {self.kind} network; the "
                "option height or width makes them larger."
            )
        return nn.Sequential(*layers, *last, nn.Linear(self.dense, self.outputs))


class SoftmaxCNN(Network):
    """A convolutional network whose confidence is its softmax.

    Two presets. ``quick``, the default and what the shipped weights were trained with, is sized for two
    processor cores: images of cards at 96 x 64 and 120 of each card, 96 units in the dense layer of the
    digits network, and so many epochs (5 to 40) that about 62,400 cards or 320,000 digits are seen; for
    digits the learning rate falls to zero meanwhile, which makes up for the epochs that are missing, and
    where there are fewer than 10,000 they are moved at random by up to two pixels.
    ``paper`` has the published sizes: all images in full, 512 and 128 units, 20 epochs.

    Args:
        preset: ``"quick"`` or ``"paper"``; what the options below leave open.
        kind: ``"digits"`` or ``"cards"``; by default digits for grey images of at most 32 x 32.
        epochs: passes over the train images.
        images_per_concept: at most so many train images of each concept, the first ones.
        dense: units of the hidden dense layer.
        anneal: whether the learning rate falls to zero, in a straight line, or stays.
        height: the network resizes images to this height.
        width: and to this width.
        seed: of the first weights, the order of the images and dropout.
    """

    name = "softmax"

    def __init__(
        self,
        preset: Literal["quick", "paper"] = "quick",
        kind: Literal["auto", "digits", "cards"] = "auto",
        epochs: int | None = None,
        images_per_concept: int | None = None,
        dense: int | None = None,
        anneal: bool | None = None,
        height: int | None = None,
        width: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        counts = {
            "epochs": epochs,
            "images_per_concept": images_per_concept,
            "dense": dense,
            "height": height,
            "width": width,
        }
        for option, value in counts.items():
            if value is not None and value < 1:
                raise UserError(f"The option {option} of the network softmax is {value}, but is at least 1.")
        self.preset = preset
        self.kind = kind
        self.epochs = epochs
        self.images_per_concept = images_per_concept
        self.dense = dense
        self.anneal = anneal
        self.height = height
        self.width = width
        self.seed = seed
        self.architecture: Architecture | None = None
        self._mean: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        self._deviation: npt.NDArray[np.float32] = np.ones(0, np.float32)
        self._module: Any = None

    @property
    def options(self) -> Mapping[str, Option]:
        return {
            "preset": self.preset,
            "kind": self.kind,
            "epochs": self.epochs,
            "images_per_concept": self.images_per_concept,
            "dense": self.dense,
            "anneal": self.anneal,
            "height": self.height,
            "width": self.width,
            "seed": self.seed,
        }

    @property
    def header(self) -> dict[str, Any]:
        architecture = None if self.architecture is None else asdict(self.architecture)
        return {**super().header, "architecture": architecture}

    def design(self, shape: tuple[int, int, int], outputs: int) -> Architecture:
        """The sizes of the network for images of a shape."""
        height, width, channels = shape
        small = channels == 1 and max(height, width) <= 32
        kind: Kind = ("digits" if small else "cards") if self.kind == "auto" else self.kind
        quick = self.preset == "quick"
        if quick and kind == "cards" and height * width > 96 * 64:
            height, width = 96, 64
        dense = {"digits": 96 if quick else 128, "cards": 512}[kind]
        return Architecture(
            kind, self.height or height, self.width or width, channels, self.dense or dense, outputs
        )

    def fit(
        self,
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
        *,
        device: str = "auto",
        progress: bool = False,
    ) -> Self:
        rows = np.arange(len(labels), dtype=np.int64)
        design = self.design(render(rows[:1]).shape[1:], len(concepts))
        limit = self.images_per_concept or (
            120 if self.preset == "quick" and design.kind == "cards" else None
        )
        rows = training.first_of_each(labels, limit)
        images = collect(
            lambda some: render(rows[some]), len(rows), (design.height, design.width), progress=progress
        )
        self._mean, self._deviation = training.statistics(images)
        quick_digits = self.preset == "quick" and design.kind == "digits"
        settings = training.Settings(
            epochs=self.epochs or self._epochs(design.kind, len(rows)),
            batch=64 if design.kind == "digits" else 32,
            optimiser="adadelta" if design.kind == "digits" else "rmsprop",
            learning_rate=1.0 if design.kind == "digits" else 0.001,
            anneal=quick_digits if self.anneal is None else self.anneal,
            jitter=2 if quick_digits and len(rows) < 10_000 else 0,
            seed=self.seed,
            device=device,
            progress=progress,
        )
        self.architecture, self.concepts = design, tuple(concepts)
        self._module = training.train(
            design.build, images, labels[rows].astype(np.int64), self._mean, self._deviation, settings
        )
        self.details["training"] = {"images": len(rows), **settings.describe()}
        return self

    def _epochs(self, kind: Kind, images: int) -> int:
        if self.preset == "paper":
            return 20
        wanted = {"digits": 320_000, "cards": 62_400}[kind]
        return min(max(round(wanted / images), 5), 40)

    def predict_proba(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        if self.architecture is None:
            raise UserError("The network softmax is not trained yet; fit it or load its weights.")
        design = self.architecture
        if images.shape[3] != design.channels:
            raise UserError(
                f"The network softmax was trained on images of {design.channels} channel(s), "
                f"found {images.shape[3]}."
            )
        small = resize(images, (design.height, design.width))
        logits = training.logits(self._module, small, self._mean, self._deviation, design.outputs)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float32)

    def parameters(self) -> Mapping[str, npt.NDArray[Any]]:
        arrays = {
            name: tensor.numpy().astype(np.float16) for name, tensor in self._module.state_dict().items()
        }
        return {**arrays, "mean": self._mean, "deviation": self._deviation}

    def restore(self, parameters: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> None:
        import torch

        try:
            design = Architecture(**header["architecture"])
        except (KeyError, TypeError):
            raise ValueError("its header names no sizes") from None
        module = design.build()
        expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
        expected |= {"mean": (design.channels,), "deviation": (design.channels,)}
        for name, shape in expected.items():
            if name not in parameters or parameters[name].shape != shape:
                found = parameters[name].shape if name in parameters else "nothing"
                raise ValueError(f"'{name}' should be of shape {shape}, found {found}")
        if design.outputs != len(header.get("concepts", ())):
            raise ValueError(f"it has {design.outputs} outputs for {len(header['concepts'])} concepts")
        module.load_state_dict(
            {
                name: torch.from_numpy(parameters[name].astype(np.float32))
                for name in expected
                if name not in ("mean", "deviation")
            }
        )
        self._module = module.eval()
        self._mean = parameters["mean"].astype(np.float32)
        self._deviation = parameters["deviation"].astype(np.float32)
        self.architecture = design
