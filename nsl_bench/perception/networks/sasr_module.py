"""The torch module of SASR: an RGB branch and a semantic branch joined by attention, and a segmenter.

López-Cifuentes, Escudero-Viñolo, Bescós, García-Martín: "Semantic-Aware Scene Recognition", Pattern
Recognition 2020, section 3. The semantic branch gets the segment of each pixel. A sigmoid of its features
weights the features of the RGB branch. The published network gets segmentations that a large network made
beforehand. Here a small U-Net makes them from the image, so a shifted image has a shifted segmentation.
Parameters have the published names; those of the segmenter begin with ``segmenter.``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Model = Literal["small", "resnet18", "resnet50"]
"""RGB branches: a thin ResNet-10, and the published ones."""


@dataclass(frozen=True)
class SceneSizes:
    """The sizes of a network.

    Attributes:
        model: the RGB branch.
        height, width, channels: shape of the input images.
        segments: number of segments that a pixel can belong to.
        outputs: number of concepts.
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

        def forward(self, found: Any) -> Any:
            mean, most = found.mean((2, 3), keepdim=True), found.amax((2, 3), keepdim=True)
            return torch.sigmoid(sum(self.fc2(self.fc1(pooled).relu()) for pooled in (mean, most)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(after)
            self.ca = Weights()

        def forward(self, found: Any) -> Any:
            found = self.bn(self.conv(found))
            return (self.ca(found) * found).relu()

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
