"""Networks from an example's images to its label, trained on labels alone."""

import itertools
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nsl_bench.core.options import option
from nsl_bench.core.tracks import Track
from nsl_bench.learners.networks import encoder, floats, pictures
from nsl_bench.learners.neural import GradientLearner
from nsl_bench.learners.view import View


class ImageNetwork(GradientLearner):
    """A network on all images of an example, in their own size, of at most 128 by 128 pixels."""

    track: Track = "end_to_end"
    epochs = 1000
    patience = 100

    @abstractmethod
    def _network(self, images: Any, labels: int) -> Any:
        """A module from float tensors like images [m, slots, channels, height, width] to [m, labels]."""

    def _start(self, train: View) -> tuple[Any, Any]:
        images, _ = pictures(train)
        self._size = images.shape[3:]
        return self._network(images, train.n_labels), images

    def _read(self, view: View) -> Any:
        return pictures(view, self._size)[0]

    def _logits(self, net: Any, seen: Any, rows: Any) -> Any:
        return net(floats(seen[rows]))


class SlotCNN(ImageNetwork):
    """Encoders of each slot's image and a decoder, trained together on labels alone.

    The neural baseline of "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762), section 6.2: each encoder
    is a network for MNIST with three linear layers.
    """

    name = "slot_cnn"
    version = "2"
    _together = 512
    search_space: Mapping[str, Sequence[float]] = MappingProxyType(
        {"learning_rate": (1e-4, 3e-4, 1e-3, 3e-3), "hidden": (32, 64, 256), "outputs": (2, 8, 32)}
    )

    outputs: int = option(32, "outputs of each encoder", least=1)
    hidden: int = option(64, "units of each hidden layer of the decoder", least=1)
    layers: int = option(1, "hidden layers of the decoder", least=1, after="patience")
    softmax: bool = option(
        False,
        "whether each encoder ends in a softmax, as DeepProbLog's classifier of digits does",
        after="layers",
    )

    def _network(self, images: Any, labels: int) -> Any:
        import torch
        from torch import nn

        slots = images.shape[1]
        encoders = encoder(images, self.outputs, slots).to(memory_format=torch.channels_last)
        classify = nn.Unflatten(1, (slots, self.outputs)), nn.Softmax(2), nn.Flatten()
        sizes = [slots * self.outputs, *[self.hidden] * self.layers]
        decoder = [part for pair in itertools.pairwise(sizes) for part in (nn.Linear(*pair), nn.ReLU())]
        return nn.Sequential(
            nn.Flatten(1, 2),
            encoders,
            *(classify if self.softmax else [nn.ReLU()]),
            *decoder,
            nn.Linear(self.hidden, labels),
        )


_HEADS = 4
_PATCHES = 196
"""Most patches of an example where images can be cut so: those of ViT/16 for one of 224 by 224 pixels."""


class ViT(ImageNetwork):
    """A transformer over the patches of an example's images, trained from scratch on labels alone.

    Images are cut into patches of 7 by 7 pixels; into those of 14 by 14, 28 by 28 ..., or not at all, where
    an example would otherwise have more than 196. Dosovitskiy et al.: "An Image is Worth
    16x16 Words" (ICLR 2021), with the patches of all slots as one sequence, to relate images to each other.
    """

    name = "vit"
    version = "2"
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

    def _network(self, images: Any, labels: int) -> Any:
        import torch
        from torch import nn

        options = self
        slots, channels, height, width = images.shape[1:]
        side = 7
        while slots * -(-height // side) * -(-width // side) > _PATCHES and side < max(height, width):
            side *= 2
        margin = (0, -width % side, 0, -height % side)
        patches = slots * -(-height // side) * -(-width // side)

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
                whole = nn.functional.pad(images.flatten(0, 1), margin)
                seen = self.patch(whole).flatten(2).transpose(1, 2).reshape(m, patches, -1)
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
