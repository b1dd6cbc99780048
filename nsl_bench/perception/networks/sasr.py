"""SASR, the FFNSL paper's network for indoor scenes: it recognises a scene by the objects in it.

López-Cifuentes et al.: "Semantic-Aware Scene Recognition", Pattern Recognition 2020. The torch module is in
`sasr_module`. It is trained on images with segmentation maps and predicts from images alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier, blank
from nsl_bench.perception.images import collect
from nsl_bench.perception.network import OptionValue, Renderer, Segmentation
from nsl_bench.perception.networks.backbone import read_tensors, take
from nsl_bench.perception.networks.sasr_module import Model, SceneSizes

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

    def check(
        self, shape: tuple[int, int, int], labels: npt.NDArray[np.int16], concepts: tuple[str, ...]
    ) -> None:
        start = _published(self.published)
        self._start_from(start, blank(self.design(shape, len(concepts))))

    def _start_from(self, start: Mapping[str, Any], module: Any) -> None:
        take(module, start, self.published, new=("segmenter.",), free=_FREE)

    def fit(
        self,
        render: Renderer,
        labels: npt.NDArray[np.int16],
        concepts: tuple[str, ...],
        *,
        device: str = "auto",
        progress: bool = False,
        segmentation: Segmentation | None = None,
    ) -> Self:
        if segmentation is None:
            raise UserError("sasr: training needs segmentation maps; none were given.")
        maps = segmentation
        shape = render(np.zeros(1, np.int64)).shape[1:]
        design = self.design(shape, len(concepts), len(maps.names))
        start = _published(self.published)
        rows = training.first_of_each(labels, self.images_per_concept or (120 if self.quick else None))
        size = (design.height, design.width)
        images = self._collect(render, rows, design, progress=progress)
        shown = collect(
            lambda some: _nearest(maps.render(rows[some]), size), len(rows), size, progress=progress
        )
        self._mean, self._deviation = training.statistics(images)
        settings = self._settings(
            min(max(round(40_000 / len(rows)), 3), 20) if self.quick else 40,
            batch=32,
            optimiser="adam",
            learning_rate=1e-3,
            anneal=True,
            jitter=0,
            device=device,
            progress=progress,
        )
        self._module = self._train(design, start, images, shown, labels[rows].astype(np.int64), settings)
        self._finish(design, concepts, settings, images=len(rows))
        self.details["segments"] = list(maps.names)
        return self

    def _train(
        self,
        design: SceneSizes,
        start: Mapping[str, Any],
        images: npt.NDArray[np.uint8],
        maps: npt.NDArray[np.uint8],
        labels: npt.NDArray[np.int64],
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

            def step(rows: npt.NDArray[np.int64], done: float) -> None:
                batch = training.tensor(images[rows], self._mean, self._deviation).to(device)
                target = torch.from_numpy(labels[rows]).to(device)
                shown = torch.from_numpy(maps[rows][..., 0].astype(np.int64)).to(device)
                with training.computing_in(settings.precision, device.type):
                    *scenes, pixels = module.heads(batch)
                optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
                total = cross_entropy(pixels.float(), shown)
                for scene in scenes:
                    total = total + cross_entropy(scene.float(), target)
                optimiser.zero_grad()
                total.backward()  # type: ignore[no-untyped-call]
                optimiser.step()

            parts = {"module": module, "optimiser": optimiser}
            training.epochs(parts, step, order, images, settings, self.checkpoint)
        return training.finished(module)


def _nearest(maps: npt.NDArray[np.uint8], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """uint8 [m, *size, 1]: maps [m, height, width] at another size, without mixing what pixels show."""
    rows = (np.arange(size[0]) + 0.5) * maps.shape[1] / size[0]
    columns = (np.arange(size[1]) + 0.5) * maps.shape[2] / size[1]
    return maps[:, rows.astype(np.int64)][:, :, columns.astype(np.int64), None]


def _published(path: Path | None) -> dict[str, Any]:
    """The tensors of a file of published weights, whose names a wrapper may have put a word before."""
    tensors = {} if path is None else read_tensors(path)
    return {name.removeprefix("module."): tensor for name, tensor in tensors.items()}
