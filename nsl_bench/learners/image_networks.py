"""Networks from an example's images to its label, trained on labels alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nsl_bench.core.options import option
from nsl_bench.core.tracks import Track
from nsl_bench.learners.images import SIDE, thumbnails
from nsl_bench.learners.neural import GradientLearner
from nsl_bench.learners.perceivers import two_convolutions
from nsl_bench.learners.view import View


class ImageNetwork(GradientLearner):
    """A network on all images of an example, reduced to 28 by 28 pixels."""

    track: Track = "end_to_end"

    @abstractmethod
    def _network(self, slots: int, channels: int, labels: int) -> Any:
        """A module from what `_scaled` gives to logits [m, labels]."""

    @staticmethod
    @abstractmethod
    def _scaled(images: Any) -> Any:
        """Float tensor, 0 to 1, of images, uint8 [m, slots, channels, 28, 28]."""

    def _start(self, train: View) -> tuple[Any, Any]:
        images = self._read(train)
        return self._network(images.shape[1], images.shape[2], train.n_labels), images

    def _read(self, view: View) -> Any:
        return thumbnails(view)

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        return net(self._scaled(seen[rows]))


class SlotCNN(ImageNetwork):
    """Encoders of each slot's image and a decoder, trained together on labels alone.

    The neural baseline of "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762), section 6.2: each encoder
    is a network for MNIST with three linear layers.
    """

    name = "slot_cnn"
    version = "1"
    _together = 512
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "hidden": (32, 64, 256), "outputs": (2, 8, 32)}
    )

    outputs: int = option(32, "outputs of each encoder", least=1)
    hidden: int = option(64, "units of the decoder's hidden layer", least=1)

    def _network(self, slots: int, channels: int, labels: int) -> Any:
        from torch import nn

        return nn.Sequential(
            *two_convolutions(channels, 6, 16, slots),
            # A linear layer for each slot is a convolution over the whole of its image.
            nn.Conv2d(slots * 16, slots * 120, 4, groups=slots),
            nn.ReLU(),
            nn.Conv2d(slots * 120, slots * 84, 1, groups=slots),
            nn.ReLU(),
            nn.Conv2d(slots * 84, slots * self.outputs, 1, groups=slots),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(slots * self.outputs, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, labels),
        )

    @staticmethod
    def _scaled(images: Any) -> Any:
        """float32 tensor [m, slots * channels, 28, 28], 0 to 1."""
        import torch

        return (images.flatten(1, 2).float() / 255).contiguous(memory_format=torch.channels_last)


_HEADS = 4
_PATCHES = 196
"""Most patches of an example where images can be cut so: those of ViT/16 for one of 224 by 224 pixels."""


class ViT(ImageNetwork):
    """A transformer over the patches of an example's images, trained from scratch on labels alone.

    Images are reduced to 28 by 28 pixels and cut into patches of 7 by 7 pixels; into those of 14 by 14, or
    not at all, where an example would otherwise have more than 196. Dosovitskiy et al.: "An Image is Worth
    16x16 Words" (ICLR 2021), with the patches of all slots as one sequence, to relate images to each other.
    """

    name = "vit"
    version = "1"
    _together = 256
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3), "layers": (2, 4), "width": (32, 64, 128)}
    )

    width: int = option(
        64,
        "numbers of a patch's vector, a multiple of 4",
        least=1,
        test=lambda width: width % _HEADS == 0,
        words=f"a multiple of {_HEADS}",
    )
    layers: int = option(4, "layers of the transformer, with 4 heads each", least=1)
    dropout: float = option(0.1, "dropout in the layers", least=0, below=1)
    learning_rate: float = option(
        3e-4, "learning rate of AdamW, after a warm-up over the first epoch", above=0
    )

    def _network(self, slots: int, channels: int, labels: int) -> Any:
        import torch
        from torch import nn

        options = self
        side = next((side for side in (7, 14) if slots * (SIDE // side) ** 2 <= _PATCHES), SIDE)
        patches = slots * (SIDE // side) ** 2

        class Transformer(nn.Module):
            """Patches, their places, and a token that gathers what decides the label."""

            def __init__(self) -> None:
                super().__init__()
                width = options.width
                self.patch = nn.Conv2d(channels, width, side, stride=side)
                self.place = nn.Parameter(torch.randn(1, patches + 1, width) * 0.02)
                self.token = nn.Parameter(torch.zeros(1, 1, width))
                layer = nn.TransformerEncoderLayer(
                    width, _HEADS, 2 * width, options.dropout, "gelu", batch_first=True, norm_first=True
                )
                self.layers = nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False)
                self.last = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, labels))

            def forward(self, images: Any) -> Any:
                m = len(images)
                seen = self.patch(images.flatten(0, 1)).flatten(2).transpose(1, 2).reshape(m, patches, -1)
                seen = torch.cat([self.token.expand(m, 1, -1), seen], dim=1) + self.place
                return self.last(self.layers(seen)[:, 0])

        return Transformer()

    def _step(self, net: Any, batches: int) -> Callable[[Any], None]:
        import torch

        optimiser = torch.optim.AdamW(net.parameters(), lr=self.learning_rate)
        pace = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / batches))

        def step(loss: Any) -> None:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            pace.step()

        return step

    @staticmethod
    def _scaled(images: Any) -> Any:
        """float32 tensor [m, slots, channels, 28, 28], 0 to 1."""
        return images.float() / 255
