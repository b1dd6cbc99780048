"""Base class of sources of real leaves and rooms: pictures from a user's folder, one subfolder per class.

The files are listed when the source is created and read when they are needed. Pictures are cropped to a
square and scaled. A held-out picture whose file is a copy of one in an earlier part of the pool is left out,
with a note.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from nsl_bench import cache
from nsl_bench.errors import UserError
from nsl_bench.pictures import in_bytes, opaque, upright
from nsl_bench.source import ImageSource
from nsl_bench.types import ConceptSpace, PoolPart

from ..keyed_random import permutation
from ..notices import say

__all__ = ["ENDINGS", "FolderPool", "Grey", "Layout", "by_folders", "classes_in", "divide", "found_in"]

ENDINGS = ".jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp"
"""How files of images end, in small or capital letters; torchvision's list."""

Grey = Literal["refuse", "convert"]
"""What becomes of a picture without colours: an error, or a picture in shades of grey."""

_GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F")
_PARTS: tuple[PoolPart, ...] = ("network", "a", "b")
_HELD_OUT = ("valid", "val", "test")

_SAMPLE = 32
"""Held-out pictures that are looked at for colours."""


class FolderPool(ImageSource):
    """Pictures of a folder.

    Attributes:
        path: the folder.
        wanted: the concepts of the task, if it uses some of them only; other folders are ignored.
    """

    version = "1"
    all_concepts: ClassVar[ConceptSpace]

    def __init__(
        self, path: Path, concept_space: ConceptSpace | None, image_size: int, grey: Grey, seed: int
    ) -> None:
        """Find the files.

        Args:
            path: the folder.
            concept_space: the concepts to show; all in the folder if None.
            image_size: height and width, pixels.
            grey: ``"refuse"`` or ``"convert"`` grey pictures.
            seed: determines which pictures go to which part, if the folder does not.

        Raises:
            UserError: the folder does not exist, a class is unknown, empty or missing, or an option is out of
                range.
        """
        if not 32 <= image_size <= 1024:
            raise UserError(f"image_size must be between 32 and 1024 pixels; got {image_size}.")
        if seed < 0:
            raise UserError(f"seed must be 0 or more; got {seed}.")
        self.path = Path(path)
        self.grey = grey
        self.seed = seed
        self.shape = (image_size, image_size, 3)
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
        """The files of each part without those whose bytes are those of a file in an earlier part."""
        copies = _copies([[f for of_class in files[part].values() for f in of_class] for part in _PARTS])
        if not copies:
            return files
        first, original = next(iter(copies.items()))
        one = len(copies) == 1
        what = "image is a copy" if one else "images are copies"
        say(
            f"{self.path}: {len(copies)} held-out {what} of an image in another pool and "
            f"{'is' if one else 'are'} left out ({first} is {original})."
        )
        return {
            part: {name: [f for f in of_class if f not in copies] for name, of_class in classes.items()}
            for part, classes in files.items()
        }

    def labels(self, part: PoolPart) -> npt.NDArray[np.int16]:
        return np.array(self._labels[part], np.int16)

    def check_images(self, *, progress: bool = False) -> None:
        """Read every held-out image once. A folder that was checked before is not read again.

        Raises:
            UserError: a file was removed, is damaged, or is grey.
        """
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
        """uint8 [m, height, width, 3]: the images.

        Raises:
            UserError: a file was removed, is damaged, or is grey.
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
                        f"The image {file} is grey, but must be in colour; to accept grey images, use "
                        "the option grey=convert."
                    )
                picture.draft("RGB", (2 * width, 2 * height))
                colours = opaque(in_bytes(upright(picture)))
        except FileNotFoundError:
            raise UserError(f"The image {file} no longer exists.") from None
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise UserError(
                f"The image {file} cannot be read ({error}); it may be incomplete or not an image."
            ) from error
        return np.asarray(ImageOps.fit(colours, (width, height), Image.Resampling.BILINEAR))

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        """Hashes of the options with the bytes of all files, and with those of the network's files."""
        options = [self.name, self.version, self.concept_space.concepts, self.shape, self.grey, self.seed]
        everything = hashlib.sha256(json.dumps(options).encode())
        network = everything.copy()
        for part in _PARTS:
            for file, label in zip(self._files[part], self._labels[part], strict=True):
                line = f"{part}/{label}/{_content(file)}".encode()
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


def _content(file: Path) -> str:
    """A hash of a file's bytes."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise UserError(f"The image {file} cannot be read ({error.strerror}).") from error


def _copies(parts: Sequence[Sequence[Path]]) -> dict[Path, Path]:
    """Files with the bytes of a file in an earlier part, and that file; only files of one size are read."""
    of_size: dict[int, list[tuple[int, Path]]] = {}
    for k, files in enumerate(parts):
        for file in files:
            of_size.setdefault(file.stat().st_size, []).append((k, file))
    copies: dict[Path, Path] = {}
    for alike in of_size.values():
        if len({k for k, _ in alike}) < 2:
            continue
        first: dict[str, tuple[int, Path]] = {}
        for k, file in alike:
            earlier, original = first.setdefault(_content(file), (k, file))
            if earlier < k:
                copies[file] = original
    return copies


@dataclass(frozen=True)
class Layout:
    """Naming scheme of the folders of a data set.

    Attributes:
        what: description of the expected folder, for messages.
        concept_of: maps a folder's name to its concept, or to None.
        stranger: makes the error for a folder with an unknown name.
    """

    what: str
    concept_of: Callable[[str], str | None]
    stranger: Callable[[Path], UserError]


def classes_in(path: Path, layout: Layout, wanted: frozenset[str] | None) -> dict[str, list[Path]]:
    """The image files of each concept in a folder of classes.

    Args:
        path: the folder.
        layout: naming scheme of its subfolders.
        wanted: the concepts to look for, ignoring other folders; all if None.

    Raises:
        UserError: the folder does not exist, a class is unknown or empty, or classes are one level deeper.
    """
    found = found_in(path, layout.what)
    concepts = {name: layout.concept_of(name) for name in found}
    classes: dict[str, list[Path]] = {}
    for name, files in found.items():
        concept = concepts[name]
        if concept is None:
            inner = sorted(
                p.name for p in (path / name).iterdir() if p.is_dir() and layout.concept_of(p.name)
            )
            if inner and not any(concepts.values()):
                raise UserError(
                    f"The folder {path} is one level too high: its classes, such as {inner[0]}, are in "
                    f"{path / name}; give that folder."
                )
            if wanted is None:
                raise layout.stranger(path / name)
        elif wanted is None or concept in wanted:
            if not files:
                raise UserError(
                    f"The folder {path / name} has no images; each class needs some (files that end in "
                    f"{ENDINGS})."
                )
            classes.setdefault(concept, []).extend(files)
    return classes


def by_folders(
    path: Path, layout: Layout, wanted: frozenset[str] | None, seed: int
) -> dict[PoolPart, Mapping[str, Sequence[Path]]]:
    """The files of each part of the pool by concept.

    In a folder with ``train`` and ``valid`` (or ``val``, ``test``), the network's images are those of
    ``train``; otherwise they are 70 % of each class. Of the other images of each class, 70 % are in pool A
    and 30 % in pool B.
    """
    held_out = [path / name for name in _HELD_OUT if (path / name).is_dir()]
    network: Mapping[str, Sequence[Path]]
    if (path / "train").is_dir() and held_out:
        network = classes_in(path / "train", layout, wanted)
        rest: dict[str, list[Path]] = {}
        for folder in held_out:
            for concept, files in classes_in(folder, layout, wanted).items():
                rest.setdefault(concept, []).extend(files)
    else:
        network, rest = divide(classes_in(path, layout, wanted), (70,), seed, 0)
    a, b = divide(rest, (70,), seed, 1)
    return {"network": network, "a": a, "b": b}


def found_in(path: Path, what: str) -> dict[str, list[Path]]:
    """The image files of each subfolder, sorted, as torchvision's ImageFolder finds them.

    Args:
        path: the folder.
        what: description of the expected content, for messages.

    Raises:
        UserError: the folder does not exist or has no subfolders, or a link makes a file appear twice.
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
        # Hidden files, such as the "._x.jpg" that macOS leaves, are no images.
        if name not in files or any(part.startswith(".") for part in file.relative_to(path).parts):
            continue
        status = file.stat()
        first = seen.setdefault((status.st_dev, status.st_ino), file)
        if first != file:
            raise UserError(f"The images {file} and {first} are the same file; include each image once.")
        files[name].append(file)
    return files


def divide(
    files: Mapping[str, Sequence[Path]], shares: tuple[int, ...], *key: int
) -> list[dict[str, list[Path]]]:
    """Divide the files of each concept into disjoint pieces.

    Args:
        files: files of each concept.
        shares: for each piece, the percentage of the files left over by earlier pieces, rounded down, but at
            least one file.
        key: determines which file goes to which piece.

    Returns:
        The files of each piece and, last, the remaining ones.
    """
    pieces: list[dict[str, list[Path]]] = [{} for _ in range(len(shares) + 1)]
    for k, concept in enumerate(sorted(files)):
        left = [files[concept][i] for i in permutation(len(files[concept]), *key, k).tolist()]
        for piece, share in zip(pieces, shares, strict=False):
            n = max(len(left) * share // 100, min(1, len(left)))
            piece[concept], left = sorted(left[:n]), left[n:]
        pieces[-1][concept] = sorted(left)
    return pieces
