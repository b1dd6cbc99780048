"""A pool of pictures from a folder of the user's, one subfolder a class, read through torchvision.

The base of the sources of real leaves and real rooms. Files are found when the source is made, and read
when they are needed; pictures are cut to a square and scaled.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from nsl_bench.errors import UserError
from nsl_bench.pictures import in_bytes, opaque, upright
from nsl_bench.source import ImageSource
from nsl_bench.types import ConceptSpace, PoolPart

from .chance import permutation

__all__ = ["FolderPool", "Grey", "divide", "found_in"]

Grey = Literal["refuse", "convert"]
"""What becomes of a picture without colours: an error, or a picture in shades of grey."""

_GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F")
_PARTS: tuple[PoolPart, ...] = ("network", "a", "b")


class FolderPool(ImageSource):
    """Pictures of a folder.

    Attributes:
        path: the folder.
    """

    version = "1"
    all_concepts: ClassVar[ConceptSpace]

    def __init__(
        self, path: Path, concept_space: ConceptSpace | None, image_size: int, grey: Grey, seed: int
    ) -> None:
        """Find the files.

        Args:
            path: the folder.
            concept_space: what to show; all that the folder has if None.
            image_size: height and width, pixels.
            grey: whether pictures without colours are refused.
            seed: decides which pictures go to which part, where the folder leaves that open.

        Raises:
            UserError: no such folder, a class that is unknown, empty or missing, or an option out of range.
        """
        if not 32 <= image_size <= 1024:
            raise UserError(f"image_size is {image_size}, but lies between 32 and 1024 pixels.")
        if seed < 0:
            raise UserError(f"seed is {seed}, but is a whole number from 0.")
        self.path = Path(path)
        self.grey = grey
        self.seed = seed
        self.shape = (image_size, image_size, 3)
        self.named_shifts = {}
        files = self.files()
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
        """A sentence, with a space before it, that says what a folder with these concepts is good for."""
        return ""

    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        return np.array(self._labels[part], np.int16)

    def render(
        self, part: PoolPart, indices: npt.NDArray[np.int64], variant: str = "standard"
    ) -> npt.NDArray[np.uint8]:
        """uint8 [m, height, width, 3].

        Raises:
            UserError: a file is not there any more, is broken, or has no colours.
        """
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
        try:
            with Image.open(file) as picture:
                if self.grey == "refuse" and picture.mode in _GREY_MODES:
                    raise UserError(
                        f"The image {file} is grey, but colours are expected; the option grey=convert takes "
                        "grey images as they are."
                    )
                picture.draft("RGB", (2 * width, 2 * height))
                colours = opaque(in_bytes(upright(picture)))
        except FileNotFoundError:
            raise UserError(f"The image {file} is not there any more.") from None
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(
                f"The image {file} cannot be read ({error}); it may be cut off or no image."
            ) from error
        return np.asarray(ImageOps.fit(colours, (width, height), Image.Resampling.BILINEAR))

    @cached_property
    def _hash(self) -> str:
        """A hash of the options and of the bytes of all files."""
        digest = hashlib.sha256()
        options = [self.name, self.version, self.concept_space.concepts, self.shape, self.grey, self.seed]
        digest.update(json.dumps(options).encode())
        for part in _PARTS:
            for file, label in zip(self._files[part], self._labels[part], strict=True):
                try:
                    content = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
                except OSError as error:
                    raise UserError(f"The image {file} cannot be read ({error.strerror}).") from error
                digest.update(f"{part}/{label}/{content}".encode())
        return digest.hexdigest()[:16]

    def fingerprint(self) -> str:
        """A short hash of version, options and all files."""
        return self._hash


def found_in(path: Path, what: str) -> dict[str, list[Path]]:
    """The image files of each subfolder, sorted, as torchvision's ImageFolder finds them.

    Args:
        path: the folder.
        what: what it should hold, for messages.

    Raises:
        UserError: no such folder, no subfolder, or links by which a file is there twice.
    """
    from torchvision.datasets import ImageFolder

    if not path.is_dir():
        state = "is a file" if path.exists() else "does not exist"
        raise UserError(f"The folder {path} {state}; expected {what}.")
    try:
        folder = ImageFolder(str(path), allow_empty=True)
    except FileNotFoundError:
        raise UserError(f"The folder {path} has no subfolders; expected {what}.") from None
    files: dict[str, list[Path]] = {
        name: [] for name in folder.classes if not name.startswith((".", "__MACOSX"))
    }
    seen: dict[tuple[int, int], Path] = {}
    for place, label in folder.samples:
        name, file = folder.classes[label], Path(place)
        if name not in files:
            continue
        status = file.stat()
        first = seen.setdefault((status.st_dev, status.st_ino), file)
        if first != file:
            raise UserError(f"The image {file} is the same file as {first}; each image is to be there once.")
        files[name].append(file)
    return files


def divide(
    files: Mapping[str, Sequence[Path]], shares: tuple[int, ...], *key: int
) -> list[dict[str, list[Path]]]:
    """Disjoint pieces, alike for each concept.

    Args:
        files: of each concept.
        shares: per cent of what the shares before have left, rounded down, but at least one file.
        key: decides which file goes where.

    Returns:
        The files of each share and, last, those that remain.
    """
    pieces: list[dict[str, list[Path]]] = [{} for _ in range(len(shares) + 1)]
    for k, concept in enumerate(sorted(files)):
        left = [files[concept][i] for i in permutation(len(files[concept]), *key, k).tolist()]
        for piece, share in zip(pieces, shares, strict=False):
            n = max(len(left) * share // 100, min(1, len(left)))
            piece[concept], left = sorted(left[:n]), left[n:]
        pieces[-1][concept] = sorted(left)
    return pieces
