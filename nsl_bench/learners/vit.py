"""A small vision transformer from images to labels.

Dosovitskiy et al.: "An Image is Worth 16x16 Words" (ICLR 2021), with the patches of all slots of an
example as one sequence, so that the transformer relates images to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nsl_bench.core.options import option
from nsl_bench.learners.image_network import ImageNetwork
from nsl_bench.learners.images import SIDE

_HEADS = 4
_PATCHES = 196
"""Most patches of an example where images can be cut so: those of ViT/16 for one of 224 by 224 pixels."""


class ViT(ImageNetwork):
    """A transformer over the patches of an example's images, trained from scratch on labels alone.

    Images are reduced to 28 by 28 pixels and cut into patches of 7 by 7 pixels; into those of 14 by 14, or
    not at all, where an example would otherwise have more than 196.
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
        return _network(slots, channels, labels, self)

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


def _network(slots: int, channels: int, labels: int, options: ViT) -> Any:
    """A network from images [m, slots, channels, 28, 28] to logits [m, labels]."""
    import torch
    from torch import nn

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
