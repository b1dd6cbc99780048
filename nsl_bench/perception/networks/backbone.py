"""Networks of torchvision, such as ResNet-18, with a new last layer for a task's concepts.

Training starts from ImageNet's weights if the machine can load them, from a safetensors file, or from
scratch. All layers are trained.
"""

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints16
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier, blank
from nsl_bench.perception.network import How, OptionValue, Renderer

Model = Literal[
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "convnext_tiny",
    "efficientnet_b0",
    "mobilenet_v3_large",
    "squeezenet1_1",
]

_IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
_IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32) * 255


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network.

    Attributes:
        height, width, channels: shape of the input images; grey images are repeated in all three channels.
    """

    model: Model
    height: int
    width: int
    channels: int
    outputs: int

    def build(self) -> Any:
        """Build a torch module that maps float images [m, channels, height, width] to logits [m, outputs]."""
        from torch import nn
        from torchvision.models import get_model

        model = get_model(self.model, weights=None, num_classes=self.outputs)
        if self.channels == 3:
            return model

        class Grey(nn.Module):
            """Grey images in three channels."""

            def __init__(self) -> None:
                super().__init__()
                self.colour = model

            def forward(self, batch: Any) -> Any:
                return self.colour(batch.expand(-1, 3, -1, -1))

        return Grey()


class Backbone(PresetClassifier):
    """A network of torchvision, fine-tuned.

    ``quick``, the default preset: images of at most 64 x 64 pixels, 120 of each concept, and so many epochs
    (3 to 20) that about 30,000 images are seen. ``paper``: 224 x 224, all images, 20 epochs.
    """

    name = "backbone"
    version = "2"
    sizes: ClassVar[type[Sizes]] = Sizes

    model: Model = option("resnet18", "torchvision's name of the network")
    weights: str = option(
        "imagenet",
        "``imagenet`` for torchvision's weights, from its cache or downloaded; ``none`` to train from "
        "scratch; or a safetensors file of the parameters under torchvision's names",
    )

    @property
    def options(self) -> Mapping[str, OptionValue]:
        weights = self.weights
        if weights not in ("imagenet", "none") and Path(weights).is_file():
            # The file's content decides, not where it lies.
            weights = "file-" + cache.content_key(Path(weights))
        return {**super().options, "weights": weights}

    def design(self, shape: tuple[int, int, int], outputs: int) -> Sizes:
        """The sizes of the network for images of a shape."""
        height, width = (min(64, n) for n in shape[:2]) if self.quick else (224, 224)
        return Sizes(self.model, self.height or height, self.width or width, shape[2], outputs)

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        start = load_start(self.model, self.weights)
        self._start_from(start, blank(self.design(shape, len(concepts))))

    def _start_from(self, start: Mapping[str, Any], module: Any) -> Any:
        """The module, with the tensors that training starts from in all but its last layer."""
        inner = getattr(module, "colour", module)
        last = [name for name in inner.state_dict() if "." in name][-1].rpartition(".")[0] + "."
        take(inner, start, self.weights, new=(last,))
        return module

    def fit(self, render: Renderer, labels: Ints16, concepts: tuple[str, ...], **how: Unpack[How]) -> Self:
        design = self.design(render(np.zeros(1, np.int64)).shape[1:], len(concepts))
        start = load_start(self.model, self.weights)
        rows = training.first_of_each(labels, self.images_per_concept or (120 if self.quick else None))
        images = self._collect(render, rows, design, how)
        if start and design.channels == 3:
            self._mean, self._deviation = _IMAGENET_MEAN, _IMAGENET_DEVIATION
        else:
            self._mean, self._deviation = training.statistics(images)
        settings = self._settings(
            min(max(round(30_000 / len(rows)), 3), 20) if self.quick else 20,
            learning_rate=3e-4 if start else 1e-3,
            anneal=True,
            **how,
        )
        self._module = self._train_module(
            lambda: self._start_from(start, design.build()), images, labels[rows], settings
        )
        self._finish(design, concepts, settings, images=len(rows))
        return self


def load_start(model: str, weights: str) -> dict[str, Any]:
    """The initial tensors of a torchvision model, by name; empty for ``"none"``."""
    from torchvision.models import get_model

    if weights == "none":
        return {}
    if weights == "imagenet":
        try:
            # Where torch says "Downloading", even if it cannot; its bar is on standard error.
            with contextlib.redirect_stdout(io.StringIO()):
                return dict(get_model(model, weights="DEFAULT").state_dict())
        except (OSError, RuntimeError) as error:
            reason = str(error).splitlines()[0].strip("<>")
            raise UserError(
                f"The ImageNet weights of {model} cannot be loaded on this machine ({reason}). Give "
                "weights=FILE, a safetensors file with torchvision's names, or weights=none to train "
                "from scratch."
            ) from error
    return read_tensors(Path(weights))


def read_tensors(path: Path) -> dict[str, Any]:
    """The tensors of a safetensors file, by name."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise UserError(f"The weights file {path} does not exist.")
    try:
        tensors = dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path} is not a complete safetensors file ({error}); to convert a .pth file, see "
            "docs/networks.md."
        ) from error
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise UserError(f"{path} has weights that are NaN or infinite: '{name}'.")
    return tensors


def take(
    module: Any,
    start: Mapping[str, Any],
    path: str | Path | None,
    new: tuple[str, ...],
    free: tuple[str, ...] = (),
) -> None:
    """Load initial tensors into a module.

    Args:
        start: the tensors by name; if empty, nothing changes.
        new: prefixes of names of layers that are not loaded.
        free: prefixes of names of layers that are not loaded if they are missing or have another shape.
    """
    if not start:
        return
    state = module.state_dict()
    other = [name for name in start if name not in state and not name.startswith(new)]
    if other:
        raise UserError(
            f"{path} has weights of another architecture: '{other[0]}' is not part of the network."
        )
    for name, tensor in state.items():
        if name.startswith(new) or not tensor.is_floating_point():
            continue
        own = start.get(name)
        if own is not None and own.shape == tensor.shape and own.is_floating_point():
            tensor.copy_(own)
        elif not name.startswith(free):
            what = "nothing" if own is None else f"{tuple(own.shape)} of {own.dtype}"
            raise UserError(
                f"{path} has weights of another architecture: '{name}' must have shape "
                f"{tuple(tensor.shape)}; got {what}."
            )
