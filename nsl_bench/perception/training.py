"""Training and applying an image classifier in torch: batches, optimisers, seeds, devices.

Weights are rounded to half precision when training ends, so that a network is the same before it is saved
and after it is loaded.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nsl_bench import cache
from nsl_bench.errors import UserError
from nsl_bench.perception.checkpoint import Checkpoint
from nsl_bench.perception.memory import kept_memory

__all__ = [
    "Settings",
    "epochs",
    "finished",
    "first_of_each",
    "is_fast_in_bfloat16",
    "last_of_each",
    "logits",
    "moved",
    "on_threads",
    "pick_device",
    "seeded",
    "statistics",
    "tensor",
    "train",
]

_PREDICT_BATCH = 64
_DEVICES = ("cpu", "cuda", "mps", "xpu")


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: passes over the images.
        batch: images a step.
        optimiser: RMSprop as in Keras (decay 0.9, epsilon 1e-7), Adadelta, or Adam.
        learning_rate: of the optimiser.
        anneal: whether the learning rate falls to zero, in a straight line, or stays.
        jitter: each image is moved by up to so many pixels each time, black coming in from the edges.
        seed: of the first weights, the order of the images and dropout.
        device: ``"auto"`` or torch's name of a device.
        progress: show a bar on standard error, if that is a terminal.
        threads: of the processor; None leaves that to torch, which takes all.
    """

    epochs: int
    batch: int
    optimiser: Literal["rmsprop", "adadelta", "adam"]
    learning_rate: float
    anneal: bool
    jitter: int
    seed: int
    device: str = "auto"
    progress: bool = False
    threads: int | None = None

    def describe(self) -> dict[str, Any]:
        """The settings that decide the weights."""
        silent = ("device", "progress", "threads")
        return {key: value for key, value in asdict(self).items() if key not in silent}


def first_of_each(labels: npt.NDArray[np.int16], limit: int | None) -> npt.NDArray[np.int64]:
    """int64: the rows of the first `limit` images of each concept, ascending; all if None."""
    if limit is None:
        return np.arange(len(labels), dtype=np.int64)
    kept = [np.flatnonzero(labels == concept)[:limit] for concept in np.unique(labels)]
    return np.sort(np.concatenate(kept)).astype(np.int64)


def last_of_each(labels: npt.NDArray[np.int16], share: float) -> npt.NDArray[np.bool_]:
    """bool [n]: the last `share` of the rows of each concept, rounded down."""
    last = np.zeros(len(labels), bool)
    for concept in np.unique(labels):
        rows = np.flatnonzero(labels == concept)
        last[rows[len(rows) - int(share * len(rows) + 1e-9) :]] = True
    return last


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
        if device.type not in _DEVICES:
            raise RuntimeError(f"RuntimeError: it must be one of {', '.join(_DEVICES)}")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"The device '{name}' cannot be used on this machine ({reason}); use auto to pick one."
        ) from error
    return device


def epochs(
    parts: Mapping[str, Any],
    step: Callable[[npt.NDArray[np.int64], float], None],
    order: np.random.Generator,
    images: npt.NDArray[np.uint8],
    settings: Settings,
    checkpoint: Path | None,
) -> None:
    """Go through images in random order, epoch after epoch, from where an interrupted training stopped.

    Args:
        parts: modules and optimisers, all that `step` changes.
        step: does a batch: its rows, int64 [m], and the share of the training that is done, in 0..1.
        order: orders the images.
        images: uint8 [n, height, width, channels].
        settings: how.
        checkpoint: the file that keeps the state between epochs; None keeps none.
    """
    from tqdm import tqdm

    steps = -(-len(images) // settings.batch)
    total = settings.epochs * steps
    seen = cache.key(settings.describe(), images.shape, zlib.crc32(np.ascontiguousarray(images).data))
    kept = Checkpoint(checkpoint, seen)
    first = kept.read(parts, order)
    quiet = None if settings.progress else True
    bar = tqdm(total=total, initial=first * steps, desc="training", unit="batch", disable=quiet, leave=False)
    with bar, kept_memory(), on_threads(settings.threads):
        for epoch in range(first, settings.epochs):
            bar.set_postfix(epoch=f"{epoch + 1}/{settings.epochs}")
            for k, rows in enumerate(np.array_split(order.permutation(len(images)), steps)):
                step(rows, (epoch * steps + k) / total)
                bar.update()
            if epoch + 1 < settings.epochs:
                kept.write(epoch + 1, parts, order)
    kept.remove()


def train(
    build: Callable[[], Any],
    images: npt.NDArray[np.uint8],
    labels: npt.NDArray[np.int64],
    mean: npt.NDArray[np.float32],
    deviation: npt.NDArray[np.float32],
    settings: Settings,
    checkpoint: Path | None = None,
) -> Any:
    """A trained module in evaluation mode, on the CPU.

    Args:
        build: makes the module.
        images: uint8 [n, height, width, channels].
        labels: int64 [n].
        mean: float32 [channels].
        deviation: float32 [channels].
        settings: how.
        checkpoint: the file that keeps the state between epochs; None keeps none.
    """
    import torch
    from torch.nn.functional import cross_entropy

    device = pick_device(settings.device)
    order = np.random.default_rng(settings.seed)
    with seeded(device, settings.seed):
        module = build().to(device, memory_format=torch.channels_last)
        optimiser = _optimiser(module, settings)
        module.train()

        def step(rows: npt.NDArray[np.int64], done: float) -> None:
            chosen = moved(images[rows], settings.jitter, order)
            batch = tensor(chosen, mean, deviation).to(device)
            target = torch.from_numpy(labels[rows]).to(device)
            with torch.autocast("cpu", torch.bfloat16, enabled=is_fast_in_bfloat16(device)):
                output = module(batch)
            loss = cross_entropy(output.float(), target)
            if settings.anneal:
                optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()

        parts = {"module": module, "optimiser": optimiser}
        epochs(parts, step, order, images, settings, checkpoint)
    return finished(module)


@contextlib.contextmanager
def on_threads(threads: int | None) -> Iterator[None]:
    """Torch computes on so many threads in the block; on as many as before if None.

    Small networks are trained faster on one: threads that wait for each other after every layer cost more
    than they do, the more so where other processes use the cores.
    """
    import torch

    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def seeded(device: Any, seed: int) -> Iterator[None]:
    """Torch draws from a seed in the block, and goes on afterwards as if it had not been there."""
    import torch

    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def finished(module: Any) -> Any:
    """A module as it is kept: on the CPU, in evaluation mode, weights rounded to half precision.

    Raises:
        UserError: some weights are no finite numbers.
    """
    import torch

    module = module.to("cpu", memory_format=torch.contiguous_format).eval()
    with torch.no_grad():
        for array in module.state_dict().values():
            if array.is_floating_point():
                array.copy_(array.half().float())
                if not array.isfinite().all():
                    raise UserError(
                        "The training ended with NaN or infinite weights, so nothing is saved; try "
                        "another seed or fewer epochs."
                    )
    return module


def logits(
    module: Any,
    images: npt.NDArray[np.uint8],
    mean: npt.NDArray[np.float32],
    deviation: npt.NDArray[np.float32],
    outputs: int,
    device: str = "cpu",
) -> npt.NDArray[np.float64]:
    """float64 [m, outputs]: a module's outputs for images, uint8 [m, height, width, channels].

    All batches have one size, the last one filled up, so that an image's output does not depend on how
    many others are asked for with it.
    """
    import torch

    result = np.empty((len(images), outputs))
    place = pick_device(device)
    module = module.to(place)
    with torch.inference_mode():
        for start in range(0, len(images), _PREDICT_BATCH):
            part = images[start : start + _PREDICT_BATCH]
            batch = np.zeros((_PREDICT_BATCH, *part.shape[1:]), np.uint8)
            batch[: len(part)] = part
            output = module(tensor(batch, mean, deviation).to(place))
            result[start : start + len(part)] = output.float().cpu().numpy()[: len(part)]
    return result


def moved(images: npt.NDArray[np.uint8], most: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Images, each moved by up to `most` pixels."""
    if most == 0:
        return images
    _, height, width, _ = images.shape
    wide = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    places = rng.integers(0, 2 * most + 1, (len(images), 2)).tolist()
    moved = [wide[i, y : y + height, x : x + width] for i, (y, x) in enumerate(places)]
    return np.stack(moved)


def tensor(
    images: npt.NDArray[np.uint8], mean: npt.NDArray[np.float32], deviation: npt.NDArray[np.float32]
) -> Any:
    """Normalised float images as torch sees them: [m, channels, height, width], channels last in memory."""
    import torch

    return torch.from_numpy((images - mean) / deviation).permute(0, 3, 1, 2)


def _optimiser(module: Any, settings: Settings) -> Any:
    import torch

    if settings.optimiser == "adadelta":
        return torch.optim.Adadelta(module.parameters(), lr=settings.learning_rate)
    if settings.optimiser == "adam":
        return torch.optim.Adam(module.parameters(), lr=settings.learning_rate)
    return torch.optim.RMSprop(module.parameters(), lr=settings.learning_rate, alpha=0.9, eps=1e-7)


def is_fast_in_bfloat16(device: Any) -> bool:
    """Whether this processor computes in bfloat16 itself; where it does, training takes half the time."""
    import torch

    if device.type != "cpu":
        return False
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("bf16"))
