"""Images that EDL-GEN trains against: fakes around the train images, and strange images far from them.

Sensoy, Kaplan, Cerutti, Saleki: "Uncertainty-Aware Deep Classifiers using Generative Models", AAAI 2020,
section 3, and the published code. A variational auto-encoder maps an image to a code; a generator gives the
standard deviation of noise around the code; a decoded noisy code is a fake image. The generator learns to
make noise that a discriminator of codes takes for codes, yet whose images a discriminator of images tells
from real ones.

Strange images show no concept and are made from images that do, uint8 [m, height, width, channels]. They are
made in the same way for every source and are not a shift of any task, so what is chosen on them never uses
the shifts that a task measures. No network is trained on those of `halved`: confidence is scaled on
validation images, unchanged and halved. EDL-GEN trains against some of `KINDS` on colour images.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Floats, Ints16, UInts8

_LEAST_SIDE = 16
_NOISE_UNITS = 2
_HIDDEN = 32
_LEAST_DEVIATION = 1e-3
_PRIOR_WEIGHT = 0.1

_CUT = 0.87962566103423978
"""The standard deviation of a standard normal distribution that is cut off beyond 2, as TensorFlow has it."""


@dataclass(frozen=True)
class Shape:
    """The sizes of the generative half.

    Attributes:
        height, width, channels: shape of the generated images.
        filters: filters of the decoder's first layer; the second layer has half as many. 0 for a dense layer.
    """

    height: int
    width: int
    channels: int
    latent: int
    filters: int

    def __post_init__(self) -> None:
        if min(self.height, self.width) < _LEAST_SIDE:
            raise UserError(
                f"edl_gen: generated images of {self.height} x {self.width} pixels are too small; the "
                f"discriminator needs {_LEAST_SIDE} x {_LEAST_SIDE}. Change coarseness, height or width."
            )


class Generative:
    """Auto-encoder, generator and both discriminators, with an optimiser each.

    Images are float [m, channels, height, width]; those it makes lie in -1..1.

    Args:
        outputs: of the discriminator of images, each of which tells images from fakes.
    """

    def __init__(self, shape: Shape, device: Any, outputs: int = 1) -> None:
        import torch
        from torch import nn

        self.shape = shape
        self.encoder = _conv_net(shape, 2 * shape.latent).to(device)
        self.decoder = _decoder(shape).to(device)
        self.generator = _dense_net(shape.latent + _NOISE_UNITS, shape.latent, nn.Softplus()).to(device)
        self.code_critic = _dense_net(shape.latent, 1).to(device)
        self.image_critic = _conv_net(shape, outputs, dense=500).to(device)
        for convolutional in (self.encoder, self.decoder, self.image_critic):
            convolutional.to(memory_format=torch.channels_last)
        both = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.optimisers = {
            "auto_encoder": torch.optim.Adam(both, lr=1e-3),
            "generator": _rmsprop(self.generator),
            "code_critic": _rmsprop(self.code_critic),
            "image_critic": _rmsprop(self.image_critic),
        }

    def parts(self) -> dict[str, Any]:
        """All modules and optimisers by name."""
        modules = {
            "encoder": self.encoder,
            "decoder": self.decoder,
            "generator": self.generator,
            "code_critic": self.code_critic,
            "image_critic": self.image_critic,
        }
        return {**modules, **{f"{name}_optimiser": o for name, o in self.optimisers.items()}}

    def step(self, images: Any) -> Any:
        """Train on a batch of images; returns a fake image for each, without gradients."""
        import torch
        from torch.nn.functional import softplus

        located, spread = self.encoder(images).float().chunk(2, dim=1)
        spread = softplus(spread)
        code = located + spread * torch.randn_like(spread)
        noise = torch.randn(len(code), _NOISE_UNITS, device=code.device)
        deviation = self.generator(torch.cat([noise, code], dim=1)) + _LEAST_DEVIATION
        noisy = code + deviation * torch.randn_like(deviation)
        reconstruction, fake = self.decoder(code), self.decoder(noisy)

        noisy_logit = self.code_critic(noisy)
        fake_logit = self.image_critic(fake)
        squares = (reconstruction.float() - images).square().flatten(1).sum(1).mean()
        normal = 0.5 * (code.square().sum(1) + self.shape.latent * 1.8378770664093453).mean()
        losses = {
            "auto_encoder": squares + _PRIOR_WEIGHT * normal + softplus(noisy_logit).mean(),
            "generator": softplus(fake_logit).mean() + softplus(-noisy_logit).mean(),
            "code_critic": softplus(-self.code_critic(code.detach())).mean()
            + softplus(self.code_critic(noisy.detach())).mean(),
            "image_critic": softplus(-self.image_critic(images)).mean()
            + softplus(self.image_critic(fake.detach())).mean(),
        }
        grown = {name: self._gradients(name, loss) for name, loss in losses.items()}
        for name, gradients in grown.items():
            optimiser = self.optimisers[name]
            for parameter, gradient in zip(optimiser.param_groups[0]["params"], gradients, strict=True):
                parameter.grad = gradient
            optimiser.step()
        return fake.detach()

    def _gradients(self, name: str, loss: Any) -> Any:
        """Of a loss with respect to the parameters that it is for, and to no others."""
        import torch

        parameters = self.optimisers[name].param_groups[0]["params"]
        return torch.autograd.grad(loss, parameters, retain_graph=True)


def draw_as_tensorflow(generative: Generative, classifier: Any) -> None:
    """Draw first weights as the authors' code does in TensorFlow 1, with biases of 0."""
    from torch.nn import Conv2d, ConvTranspose2d, Linear, Module, init

    parts = {"classifier": classifier, **generative.parts()}
    for name, part in parts.items():
        for layer in part.modules() if isinstance(part, Module) else ():
            if not isinstance(layer, Conv2d | ConvTranspose2d | Linear):
                continue
            if layer.bias is not None:
                init.zeros_(layer.bias)
            if name in ("classifier", "image_critic", "decoder"):
                deviation = 0.02 if name == "decoder" else layer.weight[0].numel() ** -0.5 / _CUT
                init.trunc_normal_(layer.weight, 0, deviation, -2 * deviation, 2 * deviation)
            else:
                init.xavier_uniform_(layer.weight)


def _rmsprop(module: Any) -> Any:
    import torch

    return torch.optim.RMSprop(module.parameters(), lr=1e-4, alpha=0.9, eps=1e-10)


def _conv_net(shape: Shape, outputs: int, dense: int | None = None) -> Any:
    """Two blocks of 5 x 5 convolution and pooling, then one dense layer or two."""
    from torch import nn

    height, width = ((side - 4) // 2 for side in (shape.height, shape.width))
    height, width = ((side - 4) // 2 for side in (height, width))
    layers: list[nn.Module] = [nn.Conv2d(shape.channels, 20, 5), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    width = 50 * height * width
    if dense is not None:
        layers += [nn.Linear(width, dense), nn.ReLU()]
        width = dense
    return nn.Sequential(*layers, nn.Linear(width, outputs))


def _dense_net(inputs: int, outputs: int, *last: Any) -> Any:
    """Three dense layers of 32 units, then the outputs."""
    from torch import nn

    layers: list[nn.Module] = []
    for before in (inputs, _HIDDEN, _HIDDEN):
        layers += [nn.Linear(before, _HIDDEN), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(_HIDDEN, outputs), *last)


def _decoder(shape: Shape) -> Any:
    """Codes to images: transposed convolutions to a quarter, a half, the whole size, or a dense layer."""
    from torch import nn

    if not shape.filters:
        size = (shape.channels, shape.height, shape.width)
        return nn.Sequential(nn.Linear(shape.latent, math.prod(size)), nn.Tanh(), nn.Unflatten(1, size))
    small = (-(-shape.height // 4), -(-shape.width // 4))
    half = max(1, shape.filters // 2)
    return nn.Sequential(
        nn.Unflatten(1, (shape.latent, 1, 1)),
        nn.ConvTranspose2d(shape.latent, shape.filters, small),
        nn.BatchNorm2d(shape.filters),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(shape.filters, half, 5, stride=2, padding=2, output_padding=1),
        nn.BatchNorm2d(half),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(half, shape.channels, 5, stride=2, padding=2, output_padding=1),
        nn.Tanh(),
        _crop(shape.height, shape.width),
    )


def _crop(height: int, width: int) -> Any:
    from torch import nn

    class Crop(nn.Module):
        """The upper left part of images."""

        def forward(self, images: Any) -> Any:
            return images[:, :, :height, :width]

    return Crop()


_CELLS = (1, 2, 4, 8, 16)


def halved(images: UInts8, labels: Ints16, rng: np.random.Generator) -> UInts8:
    """Join the upper half of each image with the lower half of an image of another concept.

    Args:
        labels: int16 [m], the concept of each image; at least two different ones.
    """
    result = images.copy()
    middle = images.shape[1] // 2
    for k, label in enumerate(labels.tolist()):
        other = rng.choice(np.flatnonzero(labels != label))
        result[k, middle:] = images[other, middle:]
    return result


def fields(images: UInts8, rng: np.random.Generator) -> UInts8:
    """Replace each image by random colours: one for the whole image, or 2 x 2 to 16 x 16 that blend."""
    height, width, channels = images.shape[1:]
    result = np.empty_like(images)
    for k, cells in enumerate(rng.choice(_CELLS, len(images)).tolist()):
        colours = rng.uniform(0, 255, (cells, cells, channels))
        down, across = (_blend(side, cells) for side in (height, width))
        result[k] = np.rint(np.einsum("ya,xb,abc->yxc", down, across, colours, optimize=True))
    return result


def recoloured(images: UInts8, rng: np.random.Generator) -> UInts8:
    """Change the colours of each image: every corner of the colour cube gets a random colour.

    Colours between the corners blend. Inverted, darker and grey images and images with exchanged channels are
    all among these.
    """
    count, channels = len(images), images.shape[3]
    levels = images.astype(np.float32) / 255
    corners = rng.uniform(0, 255, (count, 2**channels, channels)).astype(np.float32)
    result = np.zeros(images.shape, np.float32)
    for corner in range(2**channels):
        share = np.ones(images.shape[:3], np.float32)
        for channel in range(channels):
            level = levels[..., channel]
            share *= level if corner >> channel & 1 else 1 - level
        result += share[..., None] * corners[:, None, None, corner]
    return np.rint(result).clip(0, 255).astype(np.uint8)


def shuffled(images: UInts8, rng: np.random.Generator) -> UInts8:
    """Exchange the four quarters of each image at random, so that none stays where it was."""
    height, width = (side // 2 for side in images.shape[1:3])
    places = [(slice(y, y + height), slice(x, x + width)) for y in (0, height) for x in (0, width)]
    result = images.copy()
    for k in range(len(images)):
        order = rng.permutation(4)
        while (order == np.arange(4)).any():
            order = rng.permutation(4)
        for place, source in zip(places, order.tolist(), strict=True):
            result[k][place] = images[k][places[source]]
    return result


KINDS: Mapping[str, Callable[[UInts8, np.random.Generator], UInts8]] = {
    "fields": fields,
    "recoloured": recoloured,
    "shuffled": shuffled,
}


def made_strange(images: UInts8, kinds: Sequence[str], rng: np.random.Generator) -> UInts8:
    """Make each image strange in one of several ways, each as likely as another."""
    result = np.empty_like(images)
    chosen = rng.integers(0, len(kinds), len(images))
    for k, kind in enumerate(kinds):
        some = chosen == k
        result[some] = KINDS[kind](images[some], rng)
    return result


def _blend(side: int, cells: int) -> Floats:
    """float64 [side, cells]: shares of each of `cells` points, evenly spaced, in each pixel of a line."""
    if cells == 1:
        return np.ones((side, 1))
    place = np.linspace(0, cells - 1, side)[:, None]
    return np.asarray(np.maximum(0, 1 - np.abs(place - np.arange(cells))), np.float64)
