"""Base class of sources of real leaves and rooms: pictures from a user's folder, one subfolder per class.

The files are listed when the source is created and read when they are needed. Pictures are cropped to a
square and scaled. A held-out picture with the pixels of one in an earlier part of the pool is left out, with
a note. One that looks the same (resized, recompressed, turned or mirrored) is kept, with a note.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.pictures import in_bytes, opaque, opened, upright
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, PoolPart

from ..notices import say
from .copies import content, find_copies

Grey = Literal["refuse", "convert"]
"""What becomes of a picture without colours: an error, or a picture in shades of grey."""

_GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F")
_PARTS: tuple[PoolPart, ...] = ("network", "a", "b")

_SAMPLE = 32
"""Held-out pictures that are looked at for colours."""


class FolderPool(ImageSource):
    """Pictures of a folder.

    Attributes:
        wanted: the concepts of the task, if it uses some of them only; other folders are ignored.
        alike: held-out images that look like one in an earlier part of the pool, and that one.
    """

    version = "1"
    all_concepts: ClassVar[ConceptSpace]

    path: Path = option(REQUIRED, "the folder")
    concept_space: ConceptSpace = option(ALL, "the concepts to show; all in the folder if None")
    image_size: int = option(256, "height and width, pixels", least=32, most=1024, unit="pixels")
    grey: Grey = option("refuse", "``refuse`` or ``convert`` grey pictures")
    seed: int = option(0, "determines which pictures go to which part, if the folder does not", least=0)

    def __post_init__(self) -> None:
        """Find the files."""
        concept_space: ConceptSpace | None = self.concept_space
        self.shape = (self.image_size, self.image_size, 3)
        self.named_shifts = {}
        whole = concept_space is None or set(concept_space.concepts) >= set(self.all_concepts.concepts)
        self.wanted = None if concept_space is None or whole else frozenset(concept_space.concepts)
        files = self._without_copies(self.files())
        if concept_space is None:
            shown = {concept for of_part in files.values() for concept in of_part}
            names = tuple(c for c in self.all_concepts.concepts if c in shown)
            concept_space = ConceptSpace(self.all_concepts.name, names)
        self.concept_space = concept_space
        have = {concept for of_part in files.values() for concept in of_part}
        missing = [c for c in concept_space.concepts if c not in have and c != concept_space.background]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UserError(
                f"The folder {self.path} has no images of '{missing[0]}'{more}.{self.instead(sorted(have))}"
            )
        self._files: dict[PoolPart, list[Path]] = {part: [] for part in _PARTS}
        self._labels: dict[PoolPart, list[int]] = {part: [] for part in _PARTS}
        for part in _PARTS:
            for k, concept in enumerate(concept_space.concepts):
                of_class = files[part].get(concept, [])
                self._files[part] += of_class
                self._labels[part] += [k] * len(of_class)

    @abstractmethod
    def files(self) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        """The files of each part of the pool by concept."""

    def instead(self, found: Sequence[str]) -> str:
        """A sentence, after a space, that suggests another use of a folder with these concepts."""
        return ""

    def _without_copies(
        self, files: Mapping[PoolPart, Mapping[str, Sequence[Path]]]
    ) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        """The files of each part without those whose pixels are those of a file in an earlier part."""
        result = find_copies([[f for of_class in files[part].values() for f in of_class] for part in _PARTS])
        self._say(result.same, ("image is a copy", "images are copies"), "left out", "is")
        self.alike = result.alike
        self._say(
            result.alike,
            (
                "image looks like a resized, recompressed, turned or mirrored copy",
                "images look like resized, recompressed, turned or mirrored copies",
            ),
            "kept",
            "looks like",
        )
        return {
            part: {name: [f for f in of_class if f not in result.same] for name, of_class in classes.items()}
            for part, classes in files.items()
        }

    def _say(self, found: Mapping[Path, Path], what: tuple[str, str], fate: str, verb: str) -> None:
        """Say what becomes of held-out images that repeat others."""
        if found:
            (first, original), one = next(iter(found.items())), len(found) == 1
            say(
                f"{self.path}: {len(found)} held-out {what[not one]} of an image in another pool and "
                f"{'is' if one else 'are'} {fate} ({first} {verb} {original})."
            )

    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        return np.array(self._labels[part], np.int16)

    def check_images(self, *, progress: bool = False) -> None:
        """Read every held-out image once. A folder that was checked before is not read again."""
        from tqdm import tqdm

        done = cache.folder("checked") / f"{self.name}-{self.fingerprint()}"
        if done.is_file():
            return
        files = [*self._files["a"], *self._files["b"]]
        quiet = None if progress else True
        for file in tqdm(files, desc="checking held-out images", unit="image", disable=quiet, leave=False):
            self._read(file)
        done.touch()

    def grey_share(self) -> float:
        files = [*self._files["a"], *self._files["b"]] or self._files["network"]
        chosen = np.unique(np.linspace(0, len(files) - 1, min(_SAMPLE, len(files))).astype(np.int64))
        pictures = [self._read(files[k]) for k in chosen.tolist()]
        return float(np.mean([(picture == picture[..., :1]).all() for picture in pictures] or [False]))

    def render(
        self, part: PoolPart, indices: npt.NDArray[np.int64], variant: str = "standard"
    ) -> npt.NDArray[np.uint8]:
        """uint8 [m, height, width, 3]: the images."""
        self.check_variant(variant)
        files = self._files[part]
        pictures = np.empty((len(indices), *self.shape), np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            if not 0 <= index < len(files):
                raise IndexError(f"image {index} of a part of {len(files)} images")
            pictures[k] = self._read(files[index])
        return pictures

    def _read(self, file: Path) -> npt.NDArray[np.uint8]:
        height, width, _ = self.shape
        if not os.path.lexists(file):
            raise UserError(f"The image {file} no longer exists.")
        with opened(file) as picture:
            if self.grey == "refuse" and picture.mode in _GREY_MODES:
                raise UserError(
                    f"The image {file} is grey, but must be in colour; to accept grey images, use the option "
                    "grey=convert."
                )
            picture.draft("RGB", (2 * width, 2 * height))
            colours = opaque(in_bytes(upright(picture)))
        return np.asarray(ImageOps.fit(colours, (width, height), Image.Resampling.BILINEAR))

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        """Hashes of the options with the bytes of all files, and with those of the network's files."""
        options = [self.name, self.version, self.concept_space.concepts, self.shape, self.grey, self.seed]
        everything = hashlib.sha256(json.dumps(options).encode())
        network = everything.copy()
        for part in _PARTS:
            for file, label in zip(self._files[part], self._labels[part], strict=True):
                line = f"{part}/{label}/{content(file)}".encode()
                everything.update(line)
                if part == "network":
                    network.update(line)
        return everything.hexdigest()[:16], network.hexdigest()[:16]

    def fingerprint(self) -> str:
        """A short hash of version, options and all files."""
        return self._hashes[0]

    def network_fingerprint(self) -> str:
        """A short hash of version, options and the network's files."""
        return self._hashes[1]
