"""SASR, the FFNSL paper's network for indoor scenes: it recognises a scene by the objects in it.

López-Cifuentes, Escudero-Viñolo, Bescós, García-Martín: "Semantic-Aware Scene Recognition", Pattern
Recognition 2020, section 3. An RGB branch and a semantic branch, which gets the segment of each pixel, are
joined by attention: a sigmoid of its features weights those of the RGB branch. The published network gets
segmentations that a large network made beforehand. Here a small U-Net makes them from the image, so a shifted
image has a shifted segmentation. It is trained on images with segmentation maps and predicts from images
alone. Parameters have the published names; those of the segmenter begin with ``segmenter.``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Ints, Ints16, UInts8
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier, blank, collect
from nsl_bench.perception.network import How, OptionValue, Renderer, Segmentation
from nsl_bench.perception.networks.backbone import read_tensors, take

Model = Literal["small", "resnet18", "resnet50"]
"""RGB branches: a thin ResNet-10, and the published ones."""


@dataclass(frozen=True)
class SceneSizes:
    """The sizes of a network.

    Attributes:
        height, width, channels: shape of the input images.
        segments: number of segments that a pixel can belong to.
    """

    model: Model
    height: int
    width: int
    channels: int
    segments: int
    outputs: int

    def build(self) -> Any:
        """Build a torch module that maps float images [m, 3, height, width] to logits [m, outputs].

        Its method `heads` also returns the logits of both branches and of the segmentation.
        """
        return _scene_net(self)


def _scene_net(sizes: SceneSizes) -> Any:
    import torch
    from torch import nn
    from torchvision.models import resnet

    thin = sizes.model == "small"
    if thin:
        base = resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1])
    else:
        base = {"resnet18": resnet.resnet18, "resnet50": resnet.resnet50}[sizes.model](weights=None)
    deep = sizes.model == "resnet50"
    features = 2048 if deep else 512
    middle = 1024 if deep else (256 if thin else 512)
    joint = 256 if thin else 1024
    steps = (32, 64, 128, 256) if thin else (64, 128, 256, 512)

    def last(before: int, after: int) -> Any:
        # Unpadded as published; padded where images are so small that nothing would be left.
        padding = 0 if min(sizes.height, sizes.width) >= 160 else 1
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=padding, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        )

    class SceneNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.in_block = nn.Sequential(
                nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
                nn.BatchNorm2d(64),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(3, stride=2, padding=1),
            )
            self.encoder1, self.encoder2 = base.layer1, base.layer2
            self.encoder3, self.encoder4 = base.layer3, base.layer4
            self.in_block_sem = nn.Sequential(
                nn.Conv2d(sizes.segments, steps[0], 7, stride=2, padding=3, bias=False),
                nn.BatchNorm2d(steps[0]),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(3, stride=2, padding=1),
            )
            self.in_block_sem_1 = _semantic_block(steps[0], steps[1])
            self.in_block_sem_2 = _semantic_block(steps[1], steps[2])
            self.in_block_sem_3 = _semantic_block(steps[2], steps[3])
            self.fc_SEM = nn.Linear(steps[3], sizes.outputs)
            self.fc_RGB = nn.Linear(features, sizes.outputs)
            self.lastConvRGB1, self.lastConvRGB2 = last(features, middle), last(middle, joint)
            self.lastConvSEM1, self.lastConvSEM2 = last(steps[3], steps[3]), last(steps[3], joint)
            self.dropout = nn.Dropout(0.3)
            self.fc = nn.Linear(joint, sizes.outputs)
            self.segmenter = _u_net(sizes.segments)

        def heads(self, images: Any) -> tuple[Any, Any, Any, Any]:
            """Logits of the whole, of the RGB and of the semantic branch, [m, outputs], and of the pixels."""
            pixels = self.segmenter(images)
            scores = pixels.softmax(dim=1, dtype=torch.promote_types(pixels.dtype, torch.float32)).detach()
            rgb = self.in_block(images)
            for encoder in (self.encoder1, self.encoder2, self.encoder3, self.encoder4):
                rgb = encoder(rgb)
            semantic = self.in_block_sem(scores)
            for block in (self.in_block_sem_1, self.in_block_sem_2, self.in_block_sem_3):
                semantic = block(semantic)
            joined = self.lastConvRGB2(self.lastConvRGB1(rgb))
            attention = self.lastConvSEM2(self.lastConvSEM1(semantic))
            joined = joined * torch.sigmoid(attention)
            whole, from_rgb, from_semantic = (
                layer(self.dropout(found.mean(dim=(2, 3))))
                for layer, found in ((self.fc, joined), (self.fc_RGB, rgb), (self.fc_SEM, semantic))
            )
            return whole, from_rgb, from_semantic, pixels

        def forward(self, images: Any) -> Any:
            return self.heads(images)[0]

    return SceneNet()


def _semantic_block(before: int, after: int) -> Any:
    """A convolution of stride 2 whose channels are weighed by what is in the whole image."""
    import torch
    from torch import nn

    class Weights(nn.Module):
        """Channel attention: a number in 0..1 for each channel, from its mean and its maximum."""

        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Conv2d(after, max(1, after // 16), 1, bias=False)
            self.fc2 = nn.Conv2d(max(1, after // 16), after, 1, bias=False)

        def forward(self, features: Any) -> Any:
            mean, most = features.mean((2, 3), keepdim=True), features.amax((2, 3), keepdim=True)
            return torch.sigmoid(sum(self.fc2(self.fc1(pooled).relu()) for pooled in (mean, most)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(after)
            self.ca = Weights()

        def forward(self, features: Any) -> Any:
            features = self.bn(self.conv(features))
            return (self.ca(features) * features).relu()

    return Block()


def _u_net(segments: int) -> Any:
    """What each pixel shows: float [m, 3, height, width] to logits [m, segments, height, width].

    Ronneberger, Fischer, Brox: "U-Net", MICCAI 2015, with 16, 32 and 64 channels.
    """
    import torch
    from torch import nn
    from torch.nn.functional import interpolate

    def block(before: int, after: int, stride: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        )

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2, self.down3 = block(3, 16), block(16, 32, 2), block(32, 64, 2)
            self.up2, self.up1 = block(64 + 32, 32), block(32 + 16, 16)
            self.pixels = nn.Conv2d(16, segments, 1)

        def forward(self, images: Any) -> Any:
            fine = self.down1(images)
            half = self.down2(fine)
            result = self.down3(half)
            for finer, up in ((half, self.up2), (fine, self.up1)):
                wide = interpolate(result, size=finer.shape[2:], mode="nearest")
                result = up(torch.cat([wide, finer], dim=1))
            return self.pixels(result)

    return UNet()


_FREE = ("in_block_sem.0.weight", "fc.", "fc_RGB.", "fc_SEM.")
"""Parameters whose shapes depend on the segments or the concepts: new where they differ."""


class SASR(PresetClassifier):
    """Semantic-aware scene recognition.

    The published method trains the branches one after the other. Here both branches, the whole network and
    the segmenter are trained together, with the sum of their cross-entropies as loss. As in prediction, the
    semantic branch gets the segmenter's output instead of exact maps.

    ``quick``, the default preset: images of at most 64 x 64 pixels, 120 of each concept, and so many epochs
    (3 to 20) that about 40,000 images are seen. ``paper``: 224 x 224, all images, 40 epochs.
    """

    name = "sasr"
    version = "2"
    sizes: ClassVar[type[SceneSizes]] = SceneSizes
    needs_segmentation = True

    model: Literal["auto", "small", "resnet18", "resnet50"] = option(
        "auto", "the RGB branch; by default ``small`` in the quick preset, ``resnet18`` in the paper's"
    )
    published: Path | None = option(
        None,
        "a safetensors file of the published weights (ResNet-18 or ResNet-50, as in `model`) to start from. "
        "Layers whose sizes depend on the concepts or the segments start from scratch if they differ",
    )

    @property
    def options(self) -> Mapping[str, OptionValue]:
        published: str | None = None
        if self.published is not None:
            # The file's content decides, not where it lies.
            there = self.published.is_file()
            published = cache.content_key(self.published) if there else str(self.published)
        return {**super().options, "published": published}

    def design(self, shape: tuple[int, int, int], outputs: int, segments: int = 2) -> SceneSizes:
        """The sizes of the network for images of a shape."""
        if shape[2] != 3:
            raise UserError(f"sasr: images must be in colour (3 channels); got {shape[2]} channel(s).")
        height, width = (min(64, n) for n in shape[:2]) if self.quick else (224, 224)
        fitting: Model = "small" if self.quick and self.published is None else "resnet18"
        model = fitting if self.model == "auto" else self.model
        return SceneSizes(model, self.height or height, self.width or width, 3, segments, outputs)

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        start = _published(self.published)
        self._start_from(start, blank(self.design(shape, len(concepts))))

    def _start_from(self, start: Mapping[str, Any], module: Any) -> None:
        take(module, start, self.published, new=("segmenter.",), free=_FREE)

    def fit(
        self,
        render: Renderer,
        labels: Ints16,
        concepts: tuple[str, ...],
        *,
        segmentation: Segmentation | None = None,
        **how: Unpack[How],
    ) -> Self:
        if segmentation is None:
            raise UserError("sasr: training needs segmentation maps; none were given.")
        maps = segmentation
        shape = render(np.zeros(1, np.int64)).shape[1:]
        design = self.design(shape, len(concepts), len(maps.names))
        start = _published(self.published)
        rows = training.first_of_each(labels, self.images_per_concept or (120 if self.quick else None))
        size = (design.height, design.width)
        images, progress = self._collect(render, rows, design, how), how.get("progress", False)
        targets = collect(
            lambda some: _nearest(maps.render(rows[some]), size), len(rows), size, progress=progress
        )
        self._mean, self._deviation = training.statistics(images)
        settings = self._settings(
            min(max(round(40_000 / len(rows)), 3), 20) if self.quick else 40,
            learning_rate=1e-3,
            anneal=True,
            **how,
        )
        self._module = self._train(design, start, images, targets, labels[rows].astype(np.int64), settings)
        self._finish(design, concepts, settings, images=len(rows))
        self.details["segments"] = list(maps.names)
        return self

    def _train(
        self,
        design: SceneSizes,
        start: Mapping[str, Any],
        images: UInts8,
        maps: UInts8,
        labels: Ints,
        settings: training.Settings,
    ) -> Any:
        import torch
        from torch.nn.functional import cross_entropy

        device = training.pick_device(settings.device)
        order = np.random.default_rng(settings.seed)
        with training.seeded(device, settings.seed):
            module = design.build()
            self._start_from(start, module)
            module = module.to(device, memory_format=torch.channels_last)
            optimiser = torch.optim.Adam(module.parameters(), lr=settings.learning_rate)
            module.train()

            def step(rows: Ints, done: float) -> None:
                batch = training.tensor(images[rows], self._mean, self._deviation).to(device)
                target = torch.from_numpy(labels[rows]).to(device)
                classes = torch.from_numpy(maps[rows][..., 0].astype(np.int64)).to(device)
                with training.computing_in(settings.precision, device.type):
                    *scenes, pixels = module.heads(batch)
                optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
                total = cross_entropy(pixels.float(), classes)
                for scene in scenes:
                    total = total + cross_entropy(scene.float(), target)
                optimiser.zero_grad()
                total.backward()  # type: ignore[no-untyped-call]
                optimiser.step()

            parts = {"module": module, "optimiser": optimiser}
            training.epochs(parts, step, order, images, settings, self.checkpoint)
        return training.finished(module)


def _nearest(maps: UInts8, size: tuple[int, int]) -> UInts8:
    """uint8 [m, *size, 1]: maps [m, height, width] at another size, without mixing what pixels show."""
    rows = (np.arange(size[0]) + 0.5) * maps.shape[1] / size[0]
    columns = (np.arange(size[1]) + 0.5) * maps.shape[2] / size[1]
    return maps[:, rows.astype(np.int64)][:, :, columns.astype(np.int64), None]


def _published(path: Path | None) -> dict[str, Any]:
    """The tensors of a file of published weights, whose names a wrapper may have put a word before."""
    tensors = {} if path is None else read_tensors(path)
    return {name.removeprefix("module."): tensor for name, tensor in tensors.items()}
