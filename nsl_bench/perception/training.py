"""Training and applying an image classifier in torch: batches, optimisers, seeds, devices.

Weights are rounded to half precision when training ends, so that a network is the same before it is saved
and after it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench.errors import UserError

__all__ = ["Settings", "first_of_each", "logits", "pick_device", "statistics", "train"]

_PREDICT_BATCH = 64


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: passes over the images.
        batch: images a step.
        optimiser: RMSprop as in Keras (decay 0.9, epsilon 1e-7), or Adadelta.
        learning_rate: of the optimiser.
        anneal: whether the learning rate falls to zero, in a straight line, or stays.
        jitter: each image is moved by up to so many pixels each time, black coming in from the edges.
        seed: of the first weights, the order of the images and dropout.
        device: ``"auto"`` or torch's name of a device.
        progress: show a bar on standard error, if that is a terminal.
    """

    epochs: int
    batch: int
    optimiser: Literal["rmsprop", "adadelta"]
    learning_rate: float
    anneal: bool
    jitter: int
    seed: int
    device: str = "auto"
    progress: bool = False

    def describe(self) -> dict[str, Any]:
        """The settings that decide the weights."""
        return {key: value for key, value in asdict(self).items() if key not in ("device", "progress")}


def first_of_each(labels: npt.NDArray[np.int16], limit: int | None) -> npt.NDArray[np.int64]:
    """int64: the rows of the first `limit` images of each concept, ascending; all if None."""
    if limit is None:
        return np.arange(len(labels), dtype=np.int64)
    kept = [np.flatnonzero(labels == concept)[:limit] for concept in np.unique(labels)]
    return np.sort(np.concatenate(kept)).astype(np.int64)


def statistics(
    images: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Mean and standard deviation of each channel of images, uint8 [n, height, width, channels]."""
    levels = np.arange(256.0)
    mean, deviation = [], []
    for channel in range(images.shape[3]):
        share = np.bincount(images[..., channel].ravel(), minlength=256) / images[..., channel].size
        mean.append(share @ levels)
        deviation.append(max(np.sqrt(share @ (levels - mean[-1]) ** 2), 1.0))
    return np.asarray(mean, np.float32), np.asarray(deviation, np.float32)


def pick_device(name: str) -> Any:
    """The torch device for a name; ``"auto"`` is CUDA where there is one.

    Raises:
        UserError: torch cannot use that device here.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"The device '{name}' cannot be used here ({reason}); auto picks one that can."
        ) from error
    return device


def train(
    build: Callable[[], Any],
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    mean: npt.NDArray[np.float32],
    deviation: npt.NDArray[np.float32],
    settings: Settings,
) -> Any:
    """A trained module in evaluation mode, on the CPU.

    Args:
        build: makes the module.
        images: uint8 [n, height, width, channels].
        labels: int64 [n].
        mean: float32 [channels].
        deviation: float32 [channels].
        settings: how.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from tqdm import tqdm

    device = pick_device(settings.device)
    shadow = [device] if device.type == "cuda" else []
    order = np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=shadow):
        torch.manual_seed(settings.seed)
        module = build().to(device, memory_format=torch.channels_last)
        optimiser = _optimiser(module, settings)
        module.train()
        steps = -(-len(images) // settings.batch)
        total = settings.epochs * steps
        bar = tqdm(
            total=total,
            desc="training",
            unit="batch",
            disable=None if settings.progress else True,
            leave=False,
        )
        with bar:
            for epoch in range(settings.epochs):
                bar.set_postfix(epoch=f"{epoch + 1}/{settings.epochs}")
                for step, rows in enumerate(np.array_split(order.permutation(len(images)), steps)):
                    chosen = _moved(images[rows], settings.jitter, order)
                    batch = _tensor(chosen, mean, deviation).to(device)
                    target = torch.from_numpy(labels[rows]).to(device)
                    with torch.autocast("cpu", torch.bfloat16, enabled=_is_fast_in_bfloat16(device)):
                        output = module(batch)
                    loss = cross_entropy(output.float(), target)
                    if settings.anneal:
                        done = (epoch * steps + step) / total
                        optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    bar.update()
    module = module.to("cpu", memory_format=torch.contiguous_format).eval()
    with torch.no_grad():
        for tensor in module.state_dict().values():
            tensor.copy_(tensor.half().float())
    return module


def logits(
    module: Any,
    images: npt.NDArray[np.uint8],
    mean: npt.NDArray[np.float32],
    deviation: npt.NDArray[np.float32],
    outputs: int,
) -> npt.NDArray[np.float64]:
    """float64 [m, outputs]: a module's outputs for images, uint8 [m, height, width, channels].

    All batches have one size, the last one filled up, so that an image's output does not depend on how
    many others are asked for with it.
    """
    import torch

    result = np.empty((len(images), outputs))
    with torch.inference_mode():
        for start in range(0, len(images), _PREDICT_BATCH):
            part = images[start : start + _PREDICT_BATCH]
            batch = np.zeros((_PREDICT_BATCH, *part.shape[1:]), np.uint8)
            batch[: len(part)] = part
            output = module(_tensor(batch, mean, deviation))
            result[start : start + len(part)] = output.numpy()[: len(part)]
    return result


def _moved(images: npt.NDArray[np.uint8], most: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Images, each moved by up to `most` pixels."""
    if most == 0:
        return images
    _, height, width, _ = images.shape
    wide = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    places = rng.integers(0, 2 * most + 1, (len(images), 2)).tolist()
    moved = [wide[i, y : y + height, x : x + width] for i, (y, x) in enumerate(places)]
    return np.stack(moved)


def _tensor(
    images: npt.NDArray[np.uint8], mean: npt.NDArray[np.float32], deviation: npt.NDArray[np.float32]
) -> Any:
    """Normalised float images as torch sees them: [m, channels, height, width], channels last in memory."""
    import torch

    return torch.from_numpy((images - mean) / deviation).permute(0, 3, 1, 2)


def _optimiser(module: Any, settings: Settings) -> Any:
    import torch

    if settings.optimiser == "adadelta":
        return torch.optim.Adadelta(module.parameters(), lr=settings.learning_rate)
    return torch.optim.RMSprop(module.parameters(), lr=settings.learning_rate, alpha=0.9, eps=1e-7)


def _is_fast_in_bfloat16(device: Any) -> bool:
    """Whether this processor computes in bfloat16 itself; where it does, training takes half the time."""
    import torch

    if device.type != "cpu":
        return False
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("bf16"))
