"""Train and apply image classifiers in torch: batches, optimisers, seeds, devices.

Weights are rounded to half precision at the end of training, so saving and loading does not change a network.
"""

import contextlib
import ctypes
import platform
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Bools, Floats, Floats32, Ints, Ints16, UInts8
from nsl_bench.perception.checkpoint import Checkpoint

_PREDICT_BATCH = 16
"""Few enough that what is between two layers stays in a processor's cache."""

_DEVICES = ("cpu", "cuda", "mps", "xpu")

Precision = Literal["float32", "bfloat16"]
"""What layers compute in during training. It changes the weights, so it is chosen and never detected."""

PRECISION = "what layers compute in during training; ``bfloat16`` is faster on processors that have it"
"""The meaning of an option for it."""

_PAPER_THREADS = 2
"""Whatever the number of cores: sums over several threads depend on how many there are.

On two cores a step of EDL-GEN takes 0.12 s on two threads, 0.19 s on four and 0.22 s on one."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Training settings.

    Attributes:
        optimiser: RMSprop as in Keras (decay 0.9, epsilon 1e-7), Adadelta, or Adam.
        anneal: whether the learning rate falls linearly to zero; otherwise it is constant.
        decay: weight of half the squared weights of dense layers in the loss.
        jitter: maximum random translation of each image at each step, in pixels; edges are filled with black.
        shuffled: whether images come in random order.
        seed: seed of the initial weights, the order of the images and dropout.
        device: ``"auto"`` or torch's name of a device.
        threads: number of CPU threads. The weights depend on it.
        precision: of the layers' outputs and gradients; weights, losses and optimisers are float32.
    """

    epochs: int
    batch: int = 32
    optimiser: Literal["rmsprop", "adadelta", "adam"] = "adam"
    learning_rate: float
    anneal: bool
    decay: float = 0.0
    jitter: int = 0
    shuffled: bool = True
    seed: int
    device: str = "auto"
    progress: bool = False
    threads: int = 1
    precision: Precision = "float32"

    def describe(self) -> dict[str, Any]:
        """The settings that determine the weights."""
        silent = {"device", "progress", *(["shuffled"] * self.shuffled), *([] if self.decay else ["decay"])}
        return {key: value for key, value in asdict(self).items() if key not in silent}


def first_of_each(labels: Ints16, limit: int | None) -> Ints:
    """int64 [m]: the rows of the first `limit` images of each concept, ascending; all rows if None."""
    if limit is None:
        return np.arange(len(labels), dtype=np.int64)
    limited = [np.flatnonzero(labels == concept)[:limit] for concept in np.unique(labels)]
    return np.sort(np.concatenate(limited)).astype(np.int64)


def last_of_each(labels: Ints16, share: float) -> Bools:
    """bool [n]: whether a row is in the last `share` of the rows of its concept, rounded down."""
    last = np.zeros(len(labels), bool)
    for concept in np.unique(labels):
        rows = np.flatnonzero(labels == concept)
        last[rows[len(rows) - int(share * len(rows) + 1e-9) :]] = True
    return last


def statistics(images: UInts8) -> tuple[Floats32, Floats32]:
    """Mean and standard deviation, float32 [channels] each, of images, uint8 [n, height, width, channels]."""
    levels = np.arange(256.0)
    mean, deviation = [], []
    for channel in range(images.shape[3]):
        share = np.bincount(images[..., channel].ravel(), minlength=256) / images[..., channel].size
        mean.append(share @ levels)
        deviation.append(max(np.sqrt(share @ (levels - mean[-1]) ** 2), 1.0))
    return np.asarray(mean, np.float32), np.asarray(deviation, np.float32)


def pick_device(name: str) -> Any:
    """The torch device for a name; ``"auto"`` is CUDA if it is available, else the CPU."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        if name.partition(":")[0] not in _DEVICES:
            raise RuntimeError(f"it must be auto, {' or '.join(_DEVICES)}")
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"The device '{name}' cannot be used on this machine ({reason}); use auto to pick one."
        ) from error
    return device


def epochs(
    parts: Mapping[str, Any],
    step: Callable[[Ints, float], None],
    order: np.random.Generator,
    images: UInts8,
    settings: Settings,
    checkpoint: Path | None,
) -> None:
    """Run the epochs of a training over images; an interrupted training is resumed.

    Args:
        parts: all modules and optimisers that `step` changes, by name.
        step: called for each batch with its rows, int64 [m], and the finished share of the training, 0..1.
        order: random generator that orders the images.
        checkpoint: file for the state between epochs; None to save none.
    """
    from tqdm import tqdm

    steps = -(-len(images) // settings.batch)
    total = settings.epochs * steps
    identity = cache.key(settings.describe(), images.shape, zlib.crc32(np.ascontiguousarray(images).data))
    saved = Checkpoint(checkpoint, identity)
    first = saved.read(parts, order)
    quiet = None if settings.progress else True
    bar = tqdm(total=total, initial=first * steps, desc="training", unit="batch", disable=quiet, leave=False)
    with bar, kept_memory(), on_threads(settings.threads):
        for epoch in range(first, settings.epochs):
            bar.set_postfix(epoch=f"{epoch + 1}/{settings.epochs}")
            rows_of_all = order.permutation(len(images)) if settings.shuffled else np.arange(len(images))
            for k, rows in enumerate(np.array_split(rows_of_all, steps)):
                step(rows, (epoch * steps + k) / total)
                bar.update()
            if epoch + 1 < settings.epochs:
                saved.write(epoch + 1, parts, order)
    saved.remove()


def train(
    build: Callable[[], Any],
    images: UInts8,
    labels: Ints,
    mean: Floats32,
    deviation: Floats32,
    settings: Settings,
    checkpoint: Path | None = None,
) -> Any:
    """Train a module; returns it in evaluation mode, on the CPU.

    Args:
        images: uint8 [n, height, width, channels].
        labels: int64 [n], the concept of each image.
        mean: float32 [channels], subtracted from the images.
        deviation: float32 [channels], divides the images.
        checkpoint: file for the state between epochs; None to save none.
    """
    import torch
    from torch.nn.functional import cross_entropy

    device = pick_device(settings.device)
    order = np.random.default_rng(settings.seed)
    with seeded(device, settings.seed):
        module = build().to(device, memory_format=torch.channels_last)
        optimiser = _optimiser(module, settings)
        module.train()

        def step(rows: Ints, done: float) -> None:
            chosen = moved(images[rows], settings.jitter, order)
            batch = tensor(chosen, mean, deviation).to(device)
            target = torch.from_numpy(labels[rows]).to(device)
            with computing_in(settings.precision, device.type):
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


def threads_of(preset: Literal["quick", "paper"]) -> int:
    """The number of CPU threads that a preset trains on, the same on every machine."""
    return 1 if preset == "quick" else _PAPER_THREADS


def computing_in(precision: Precision, device: str) -> Any:
    """A context in which layers compute in a precision on a kind of device."""
    import torch

    return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16")


@contextlib.contextmanager
def on_threads(threads: int) -> Iterator[None]:
    """Set torch's number of CPU threads within the block.

    Small networks train faster on one thread, because threads wait for each other after every layer, even
    longer if other processes use the cores.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def seeded(device: Any, seed: int) -> Iterator[None]:
    """Seed torch's random generators within the block and restore their state afterwards."""
    import torch

    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def finished(module: Any) -> Any:
    """Make a module ready to save: on the CPU, in evaluation mode, weights rounded to half precision."""
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
    module: Any, images: UInts8, mean: Floats32, deviation: Floats32, outputs: int, device: str = "cpu"
) -> Floats:
    """float64 [m, outputs]: a module's outputs for images, uint8 [m, height, width, channels].

    All batches have the same size; the last one is padded. The output for an image therefore does not depend
    on the number of images. A processor computes in float64, which the module is left in: its results differ
    between processors by about 1e-14, so that confidences in float32 are equal on all of them.
    """
    import torch

    result = np.empty((len(images), outputs))
    place = pick_device(device)
    kind = torch.float64 if place.type == "cpu" else torch.float32
    module = module.to(place, kind)
    with torch.inference_mode():
        for start in range(0, len(images), _PREDICT_BATCH):
            part = images[start : start + _PREDICT_BATCH]
            batch = np.zeros((_PREDICT_BATCH, *part.shape[1:]), np.uint8)
            batch[: len(part)] = part
            output = module(tensor(batch, mean, deviation).to(place, kind))
            result[start : start + len(part)] = output.double().cpu().numpy()[: len(part)]
    return result


def moved(images: UInts8, most: int, rng: np.random.Generator) -> UInts8:
    """Translate each image by up to `most` pixels in each direction, at random."""
    if most == 0:
        return images
    _, height, width, _ = images.shape
    wide = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    places = rng.integers(0, 2 * most + 1, (len(images), 2)).tolist()
    moved = [wide[i, y : y + height, x : x + width] for i, (y, x) in enumerate(places)]
    return np.stack(moved)


def tensor(images: UInts8, mean: Floats32, deviation: Floats32) -> Any:
    """A float tensor of normalised images, [m, channels, height, width], with channels last in memory."""
    import torch

    return torch.from_numpy((images - mean) / deviation).permute(0, 3, 1, 2)


def _optimiser(module: Any, settings: Settings) -> Any:
    import torch

    if settings.optimiser == "rmsprop":
        return torch.optim.RMSprop(module.parameters(), lr=settings.learning_rate, alpha=0.9, eps=1e-7)
    make = torch.optim.Adam if settings.optimiser == "adam" else torch.optim.Adadelta
    if not settings.decay:
        return make(module.parameters(), lr=settings.learning_rate)
    dense = [part.weight for part in module.modules() if isinstance(part, torch.nn.Linear)]
    others = [p for p in module.parameters() if all(p is not weight for weight in dense)]
    groups: list[dict[str, Any]] = [{"params": dense, "weight_decay": settings.decay}, {"params": others}]
    return make(groups, lr=settings.learning_rate)


_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
"""glibc's names for what mallopt changes (malloc.h)."""

_USUAL = {_MMAP_MAX: 65536, _MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 64 << 20, _TOP_PAD: 128 << 10}
"""What is set again afterwards: glibc's own values, and the highest thresholds that it comes to by itself."""

_KEEPING = {_MMAP_MAX: 0, _TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 64 << 20}


_blocks, _lock = 0, threading.Lock()


@contextlib.contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory within the block. After the outermost block, free memory goes back to the system.

    Every step of training and predicting allocates and frees the same large tensors, and glibc's malloc
    returns large blocks to the system each time: over a million page faults in half a minute. With freed
    memory kept, training takes less than half the time and gives the same weights. Other C libraries are not
    changed.
    """
    global _blocks
    library = _glibc()
    if library is None:
        yield
        return
    with _lock:
        _blocks += 1
        _set(library, _KEEPING)
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                _set(library, _USUAL)
                library.malloc_trim(0)


def _set(library: Any, values: dict[int, int]) -> None:
    for parameter, value in values.items():
        library.mallopt(parameter, value)


@lru_cache(maxsize=1)
def _glibc() -> Any:
    """The C library of this process if it is glibc, else None."""
    if platform.system() != "Linux":
        return None
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - other libraries for Linux lack it
        library.mallopt.argtypes = (ctypes.c_int, ctypes.c_int)
        library.malloc_trim.argtypes = (ctypes.c_size_t,)
    except (OSError, AttributeError):
        return None
    return library
