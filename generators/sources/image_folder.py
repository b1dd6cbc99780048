"""Base class of sources of real leaves and rooms: pictures from a user's folder, one subfolder per class.

The files are listed when the source is created and read when they are needed. Pictures are cropped to a
square and scaled. A held-out picture with the pixels of one in an earlier part of the pool is left out, with
a note. One that looks the same (resized, recompressed, turned or mirrored) is kept, with a note.
"""

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image, ImageOps

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.pictures import in_bytes, opaque, opened, upright
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

from ..notices import say

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
            concepts = {concept for of_part in files.values() for concept in of_part}
            names = tuple(c for c in self.all_concepts.concepts if c in concepts)
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

    def instead(self, concepts: Sequence[str]) -> str:
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

    def _say(self, copies: Mapping[Path, Path], what: tuple[str, str], fate: str, verb: str) -> None:
        """Say what becomes of held-out images that repeat others."""
        if copies:
            (first, original), one = next(iter(copies.items())), len(copies) == 1
            say(
                f"{self.path}: {len(copies)} held-out {what[not one]} of an image in another pool and "
                f"{'is' if one else 'are'} {fate} ({first} {verb} {original})."
            )

    def labels(self, part: PoolPart) -> Ints16:
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

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        """uint8 [m, height, width, 3]: the images."""
        self.check_variant(variant)
        files = self._files[part]
        pictures = np.empty((len(indices), *self.shape), np.uint8)
        for k, index in enumerate(np.asarray(indices).tolist()):
            if not 0 <= index < len(files):
                raise IndexError(f"image {index} of a part of {len(files)} images")
            pictures[k] = self._read(files[index])
        return pictures

    def _read(self, file: Path) -> UInts8:
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


_VERSION = 1
"""Of what is found; other ones are not taken from the cache."""

_SIDE = 8
_DECODED = 128
"""Least side of the picture that is decoded for the grid; JPEG files can be decoded smaller than they are."""

_ALIKE = 0.12
"""Greatest difference of two grids that look alike, in standard deviations of the flatter one.

PlantVillage's images at a half or a third of their size, mirrored, turned, or compressed at quality 10 to 60
differ from the originals by up to 0.1. Of 1,380 different ones, no two differ by less than 0.25.
"""

_EQUAL = 0.5
"""Greatest difference, in levels of grey, of images without contrast whose pixels are compared."""

_NEAREST = 8
"""Images of earlier parts that are compared with one; the nearest ones."""

_ROWS = 512
"""Images compared at a time."""

Grids = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Copies:
    """Held-out files, each with the file of an earlier part that it repeats.

    Attributes:
        same: the pixels are the same.
        alike: the images look alike: resized, recompressed, turned or mirrored.
    """

    same: dict[Path, Path]
    alike: dict[Path, Path]


def content(file: Path) -> str:
    """A hash of a file's bytes."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise UserError(f"The image {file} cannot be read ({error.strerror}).") from error


def find_copies(parts: Sequence[Sequence[Path]]) -> Copies:
    """The copies in later parts of files in earlier ones; kept in the cache until a file changes.

    Copies have the same bytes or the same pixels, whatever their format and their tags. Images look alike if
    their grey values on a grid of 8 x 8 do, in one of eight positions (turned and mirrored): a perceptual
    hash with levels instead of bits.

    Args:
        parts: image files of each part, in order. Damaged ones, which are reported when they are used, are
            copies of nothing.
    """
    files = [file for part in parts for file in part]
    status = [file.stat() for file in files]
    stated = [
        (str(file), one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino)
        for file, one in zip(files, status, strict=True)
    ]
    lengths = [len(part) for part in parts]
    cache_file = cache.folder("copies") / f"{cache.key(_VERSION, PIL.__version__, lengths, stated)}.json"
    try:
        same, alike = json.loads(cache_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        part_of = np.repeat(np.arange(len(parts)), lengths)
        same, alike = _copies_by_content(files, part_of, np.array([one.st_size for one in status]))
        with cache.replacing(cache_file) as temporary:
            temporary.write_text(json.dumps([list(same.items()), list(alike.items())]), encoding="ascii")
    pairs = [
        {files[later]: files[earlier] for later, earlier in dict(copies).items()} for copies in (same, alike)
    ]
    return Copies(*pairs)


def _copies_by_content(
    files: Sequence[Path], part_of: Ints, sizes: Ints
) -> tuple[dict[int, int], dict[int, int]]:
    """Numbers of files in later parts with those in earlier ones: the same, and alike."""
    same = _same_bytes(files, part_of, sizes)
    alike: dict[int, int] = {}
    grids = _grids(files)
    digest = lru_cache(maxsize=None)(lambda k: _pixels(files[k]))
    for later, earlier, near in _neighbours(grids, part_of):
        if later in same:
            continue
        if (own_digest := digest(later)) and own_digest == digest(earlier):
            same[later] = earlier
            alike.pop(later, None)
        elif near:
            alike.setdefault(later, earlier)
    return same, alike


def _same_bytes(files: Sequence[Path], part_of: Ints, sizes: Ints) -> dict[int, int]:
    """Files with the bytes of a file in an earlier part; only files of one size are read."""
    of_size: dict[int, list[int]] = {}
    for k, size in enumerate(sizes.tolist()):
        of_size.setdefault(size, []).append(k)
    same: dict[int, int] = {}
    for group in of_size.values():
        if len({part_of[k] for k in group}) < 2:
            continue
        first: dict[str, int] = {}
        for k in group:
            original = first.setdefault(content(files[k]), k)
            if part_of[original] < part_of[k]:
                same[k] = original
    return same


def _grids(files: Sequence[Path]) -> Grids:
    """float32 [n, 8, 8]: mean levels of grey of each image's cells; NaN for those that cannot be read."""
    from tqdm import tqdm

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        drawn = threads.map(_grid, files)
        grids = tqdm(drawn, "comparing images", len(files), unit="image", disable=None, leave=False)
        return np.array(list(grids), np.float32).reshape(-1, _SIDE, _SIDE)


def _grid(file: Path) -> Grids:
    """float32 [8, 8]: mean levels of grey of an image's cells."""
    try:
        with opened(file) as picture:
            picture.draft("RGB", (_DECODED, _DECODED))
            grey = opaque(in_bytes(upright(picture))).convert("L")
    except UserError:
        return np.full((_SIDE, _SIDE), np.nan, np.float32)
    return np.asarray(grey.resize((_SIDE, _SIDE), Image.Resampling.BOX), np.float32)


def _pixels(file: Path) -> bytes:
    """A hash of an image's size and pixels; nothing if it cannot be read."""
    try:
        with opened(file) as picture:
            colours = np.asarray(opaque(in_bytes(upright(picture))))
    except UserError:
        return b""
    return hashlib.blake2b(
        np.ascontiguousarray(colours).data, person=f"{colours.shape}".encode()[:16]
    ).digest()


def _neighbours(grids: Grids, part_of: Ints) -> list[tuple[int, int, bool]]:
    """Pairs of a file and one of an earlier part, nearest first, and whether they look alike."""
    turned = [np.rot90(grids, k, axes=(-2, -1)) for k in range(4)]
    positions = np.stack([*turned, *(np.flip(one, -1) for one in turned)])
    # The mean of all positions is the same for all of them, and never farther apart than the images.
    means = positions.mean(0).reshape(len(grids), -1)
    contrast = grids.reshape(len(grids), -1).std(1)
    reach = np.maximum(_ALIKE * contrast, _EQUAL)
    result = []
    for part in range(1, int(part_of.max(initial=0)) + 1):
        earlier = np.flatnonzero((part_of < part) & np.isfinite(contrast))
        later = np.flatnonzero((part_of == part) & np.isfinite(contrast))
        for rows in np.array_split(later, len(later) // _ROWS + 1):
            apart = _apart(means[rows], means[earlier])
            for row, distances in zip(rows.tolist(), apart, strict=True):
                near = np.flatnonzero(distances <= reach[row])
                for k in earlier[near[np.argsort(distances[near], kind="stable")[:_NEAREST]]].tolist():
                    difference = np.sqrt(((positions[:, row] - grids[k]) ** 2).mean((1, 2))).min()
                    alike = bool(difference <= _ALIKE * min(contrast[row], contrast[k]))
                    if alike or difference <= _EQUAL:
                        result.append((row, k, alike))
    return result


def _apart(one: Grids, other: Grids) -> Grids:
    """float32 [n, m]: root mean square differences of the rows of two arrays."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1)[None] - 2 * one @ other.T
    return np.asarray(np.sqrt(np.maximum(squares, 0) / one.shape[1]), np.float32)
