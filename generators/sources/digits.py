"""The image sources ``sklearn_digits``, ``mnist``, ``mnist_train`` and ``mnist_like``: digits and the like.

The pool has only the digits of the task's concept space. MNIST's train images are the network's. Its test
images are divided into pools A and B, 70 to 30 for each digit. The FFNSL paper (section 5) gives 24,674
network images, and 2,910 and 1,249 in the pools, for digits 1-4; MNIST has 24,673 train images of them.
"""

import hashlib
import json
import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Literal

import numpy as np
from PIL import Image

from nsl_bench.core.declared import Declared, checked, read_toml
from nsl_bench.core.errors import UserError
from nsl_bench.core.files import opened, unpacked
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.source import ALL, ImageSource
from nsl_bench.core.types import ConceptSpace, Ints, Ints16, PoolPart, UInts8

from ..keyed_random import Dice, permutation
from .class_folders import subfolders
from .symbols.names import OPERATORS

_DIGITS = ConceptSpace("digit", tuple("0123456789"))

_SIDE = 28
"""Of an image of MNIST and EMNIST, in pixels."""

_MOST_IMAGES, _PIECE = 1_000_000, 1 << 24
"""Images in an idx file (EMNIST's largest has 697,932), and bytes that are read at a time."""

Digits = tuple[UInts8, UInts8]
"""Images, uint8 [n, 28, 28], and the digit of each, uint8 [n]."""


class DigitPool(ImageSource):
    """Images of digits in memory; the base class of the digit sources.

    Attributes:
        classes: how many classes have images of their own; larger numbers are shown by two digits.
    """

    classes = 10

    concept_space: ConceptSpace = option(ALL, "the digits to show, or numbers of two digits; 0 to 9 if None")
    seed: int = option(0, "determines which images go to which part of the pool", least=0)
    side: int = option(28, "height and width of an image, in pixels", least=8, most=512, unit="pixels")

    def __post_init__(self) -> None:
        self.concept_space = self.concept_space or _DIGITS
        others = [c for c in self.concept_space.concepts if c not in OPERATORS]
        strangers = [c for c in others if not (c.isdecimal() and len(c) <= 2)]
        if strangers:
            raise UserError(
                f"The image source {self.name} has no images of '{strangers[0]}'; it has the digits 0 "
                f"to 9, two-digit numbers and {', '.join(OPERATORS)}."
            )
        self.shape = (self.side, self.side, 1)
        self.named_shifts = {}

    @abstractmethod
    def _parts(self) -> dict[PoolPart, Digits]:
        """All digits of each part of the pool, whatever the concept space."""

    @cached_property
    def _pool(self) -> dict[PoolPart, Digits]:
        """Images and concepts of each part, in a fixed order, wanted digits only."""
        concept = np.full(self.classes, -1, np.int16)
        numbers = {}
        for i, name in enumerate(self.concept_space.concepts):
            if len(name) == 1 or (name.isdecimal() and 10 <= int(name) < self.classes):
                concept[int(name)] = i
            else:
                numbers[i] = name
        pool: dict[PoolPart, Digits] = {}
        for part, (images, digits) in self._parts().items():
            labels = concept[digits]
            parts, labels_of = [images[labels >= 0]], [labels[labels >= 0].astype(np.uint8)]
            for i, name in numbers.items():
                pairs = (
                    _drawn(name, part, len(images) // 10, self.seed)
                    if name in OPERATORS
                    else _pairs(images, digits, name, self.seed)
                )
                parts.append(pairs)
                labels_of.append(np.full(len(pairs), i, np.uint8))
            pool[part] = (_resize(np.concatenate(parts), self.shape[0]), np.concatenate(labels_of))
        return pool

    def labels(self, part: PoolPart) -> Ints16:
        return self._pool[part][1].astype(np.int16)

    def render(self, part: PoolPart, indices: Ints, variant: str = "standard") -> UInts8:
        self.check_variant(variant)
        images, _ = self._pool[part]
        numbers = np.asarray(indices, np.int64)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(images):
            raise IndexError(f"image {int(numbers.max())} of a part of {len(images)} images")
        return images[numbers][..., None]

    def _hash(self, parts: tuple[PoolPart, ...]) -> str:
        digest = hashlib.sha256(
            json.dumps([self.name, self.version, self.concept_space.concepts, self.seed]).encode()
        )
        for part in parts:
            images, labels = self._pool[part]
            digest.update(f"{part}:{len(labels)}".encode())
            digest.update(np.ascontiguousarray(images).data)
            digest.update(labels.astype(np.uint8).data)
        return digest.hexdigest()[:16]

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        """Hashes of version and options with all pixels, and with those of the network's part."""
        return self._hash(("network", "a", "b")), self._hash(("network",))

    def fingerprint(self) -> str:
        return self._hashes[0]

    def network_fingerprint(self) -> str:
        return self._hashes[1]


def divide(digits: UInts8, shares: tuple[int, ...], seed: int) -> list[Ints]:
    """Disjoint rows, alike for each digit.

    Args:
        shares: per cent of what the shares before have left, rounded down for each digit.

    Returns:
        The rows of each share and, last, those that remain.
    """
    chosen: list[list[Ints]] = [[] for _ in range(len(shares) + 1)]
    for digit in range(max(10, int(digits.max(initial=0)) + 1)):
        rows = np.flatnonzero(digits == digit)
        rows = rows[permutation(len(rows), seed, digit)]
        for k, share in enumerate(shares):
            piece, rows = np.split(rows, [len(rows) * share // 100])
            chosen[k].append(piece)
        chosen[-1].append(rows)
    return [np.sort(np.concatenate(pieces)) for pieces in chosen]


def _pairs(images: UInts8, digits: UInts8, number: str, seed: int) -> UInts8:
    """uint8 [m, 28, 28]: a number of two digits, each made narrow; m as many as the rarer one has images."""
    left, right = (np.flatnonzero(digits == int(digit)) for digit in number)
    m = min(len(left), len(right))
    left = left[permutation(len(left), seed, int(number), 1)[:m]]
    right = right[permutation(len(right), seed, int(number), 2)[:m]]
    result = np.empty((m, *images.shape[1:]), np.uint8)
    for row, pair in zip(result, zip(left, right, strict=True), strict=True):
        narrow = [Image.fromarray(images[k]).resize((14, 28), Image.Resampling.BILINEAR) for k in pair]
        row[:] = np.hstack([np.asarray(digit) for digit in narrow])
    return result


def _drawn(operator: str, part: PoolPart, n: int, seed: int) -> UInts8:
    """uint8 [n, 28, 28]: an operator of formulas, drawn as the letters of ``drawn_symbols`` are."""
    from .symbols.glyphs import draw_letter

    key = (seed, 10 + OPERATORS.index(operator), ("network", "a", "b").index(part))
    return np.stack([draw_letter(operator, Dice(*key, number)) for number in range(n)])


def _resize(images: UInts8, side: int) -> UInts8:
    """uint8 [n, side, side]; images of this side already are left as they are."""
    if images.shape[1] == side:
        return images
    result = np.empty((len(images), side, side), np.uint8)
    for row, image in zip(result, images, strict=True):
        row[:] = np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC))
    return result


class SklearnDigits(DigitPool):
    """The 1,797 digits, 8 x 8, that come with scikit-learn, scaled up to 28 x 28.

    60 % of the images of each digit are the network's; of the rest, 70 % are in pool A and 30 % in pool B.
    """

    name = "sklearn_digits"
    version = "1"
    licence = "CC BY 4.0"
    citation = (
        "E. Alpaydin and C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning "
        "Repository, 1998 (its test set, as scikit-learn's load_digits)."
    )

    def _parts(self) -> dict[PoolPart, Digits]:
        levels, digits = sklearn_digits()
        images = np.stack([scale_up(image) for image in (levels.astype(np.int64) * 255 + 8) // 16])
        network, a, b = divide(digits, (60, 70), self.seed)
        rows: dict[PoolPart, Ints] = {"network": network, "a": a, "b": b}
        return {part: (images[mine], digits[mine]) for part, mine in rows.items()}


def sklearn_digits() -> Digits:
    """Grey levels, 0 to 16, uint8 [1797, 8, 8], and digits; its file read without importing it."""
    package = find_spec("sklearn")
    for place in (package and package.submodule_search_locations) or ():
        table = Path(place) / "datasets" / "data" / "digits.csv.gz"
        if table.is_file():
            rows = np.loadtxt(table, np.uint8, delimiter=",")
            return rows[:, :-1].reshape(-1, 8, 8), rows[:, -1]
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images.astype(np.uint8), data.target.astype(np.uint8)


def scale_up(image: Ints) -> UInts8:
    """uint8 [28, 28] from [8, 8]; Pillow resizes 8-bit images in whole numbers."""
    small = Image.fromarray(image.astype(np.uint8))
    return np.asarray(small.resize((28, 28), Image.Resampling.BICUBIC))


_FILES = {
    ("train", "images"): "train-images-idx3-ubyte",
    ("train", "labels"): "train-labels-idx1-ubyte",
    ("test", "images"): "t10k-images-idx3-ubyte",
    ("test", "labels"): "t10k-labels-idx1-ubyte",
}


class Mnist(DigitPool):
    """MNIST, from torchvision's folder (``ROOT/MNIST/raw``) or a folder with the four files.

    Attributes:
        instead: the option that does without the folder, as messages name it.
        called: the data set.
        files: the names of its four files.
    """

    name = "mnist"
    version = "1"
    instead = "download=true"
    called = "MNIST"
    files: Mapping[tuple[str, str], str] = MappingProxyType(_FILES)
    licence = "CC BY-SA 3.0"
    citation = "Y. LeCun, C. Cortes and C. J. C. Burges: The MNIST database of handwritten digits, 1998."

    root: Path = option(REQUIRED, "the folder")
    download: bool = option(
        False, "whether to download missing files through torchvision", after="concept_space"
    )
    whole: bool = option(
        False,
        "whether pools A and B both have all test images, in the file's order, for splits that name images; "
        "in ``mnist_train`` pool A has all train images",
        after="concept_space",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.download and not any(self._complete(folder) for folder in self._folders()):
            _download(self.root)
        self._find()

    def _folders(self, root: Path | None = None) -> tuple[Path, ...]:
        top = root or self.root
        return (top / self.called / "raw", top / "raw", top)

    def _complete(self, folder: Path) -> bool:
        return all(idx_file(folder, name) for name in self.files.values())

    def digits(self, which: Literal["train", "test"]) -> Digits:
        """MNIST's train or test images of all digits, and the digit of each."""
        folder = self._find()
        image_file, label_file = (idx_file(folder, self.files[which, kind]) for kind in ("images", "labels"))
        if image_file is None or label_file is None:
            raise UserError(f"The {self.called} folder {folder} has changed: a file is missing.")
        images, labels = read_glyphs(image_file, label_file)
        return self._checked(images, labels, label_file)

    def _checked(self, images: UInts8, labels: UInts8, file: Path) -> Digits:
        """The images of classes that count, with the class of each."""
        if labels.size and labels.max() > 9:
            raise UserError(f"{file}: labels must be between 0 and 9; got {labels.max()}.")
        return images, labels

    def _find(self) -> Path:
        called, names = self.called, self.files.values()
        for folder in self._folders():
            if self._complete(folder):
                for name in names:
                    with opened(idx_file(folder, name) or folder / name):
                        pass
                return folder
        mnist = next((f for f in self._folders() if any(idx_file(f, name) for name in names)), None)
        if mnist:
            missing = [name for name in names if idx_file(mnist, name) is None]
            raise UserError(f"The {called} folder {mnist} lacks {missing[0]} (or its .gz form).")
        deeper = [
            folder
            for folder in (subfolders(self.root) if self.root.is_dir() else ())
            if any(self._complete(place) for place in self._folders(folder))
        ]
        if deeper:
            raise UserError(f"The {called} folder {self.root} is one level too high; give {deeper[0]}.")
        state = (
            "is empty" if self.root.is_dir() and not any(self.root.iterdir()) else f"has no {called} files"
        )
        if not self.root.is_dir():
            state = "is a file" if self.root.exists() else "does not exist"
        raise UserError(
            f"The {called} folder {self.root} {state}. Put {', '.join(names)} (or .gz) there or "
            f"in {Path(called) / 'raw'} below it, or use the option {self.instead}."
        )

    def _parts(self) -> dict[PoolPart, Digits]:
        network, test = self.digits("train"), self.digits("test")
        if self.whole:
            return {"network": network, "a": test, "b": test}
        a, b = divide(test[1], (70,), self.seed)
        return {"network": network, "a": (test[0][a], test[1][a]), "b": (test[0][b], test[1][b])}


def idx_file(folder: Path, name: str) -> Path | None:
    """An idx file of a folder, as it is or compressed; None where it is absent.

    Its name may have dots or underscores for hyphens, as in ``train-images.idx3-ubyte``, capital letters, and
    a folder of its own.
    """
    exact = next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
    if exact or not folder.is_dir():
        return exact
    entries = _spelled(folder, name)
    entries += [inner for one in entries if one.is_dir() for inner in _spelled(one, name)]
    files = [one for one in entries if not one.is_dir()]
    # What is no regular file, such as a link to nothing, is named when it is read.
    return next((one for one in files if one.is_file()), files[0] if files else None)


def _spelled(folder: Path, name: str) -> list[Path]:
    """What in a folder has this name in some spelling, or with ``.gz``."""
    plain = {one: re.sub("[._]", "-", one.name.lower()) for one in folder.iterdir()}
    return sorted(one for one in plain if plain[one] in (name, f"{name}-gz"))


def _download(root: Path) -> None:
    from torchvision.datasets import MNIST

    try:
        MNIST(str(root), download=True)
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"MNIST could not be downloaded to {root} ({error}); copy its four idx files there yourself."
        ) from error


def read_glyphs(image_file: Path, label_file: Path) -> Digits:
    """Images, uint8 [n, 28, 28], and labels, uint8 [n], from two idx files."""
    labels = _read_idx(label_file)
    with unpacked(image_file) as content:
        n, *sides = _idx_sizes(content, image_file, 3)
        if sides != [_SIDE, _SIDE]:
            raise UserError(
                f"{image_file} must have images of {_SIDE} x {_SIDE} pixels; got {sides[0]} x {sides[1]}."
            )
        if n != len(labels):
            raise UserError(f"{image_file} has {n} images, but {label_file} has {len(labels)} labels.")
        return _idx_data(content, image_file, (n, _SIDE, _SIDE)), labels


def _read_idx(file: Path) -> UInts8:
    """The bytes of an idx file of one dimension."""
    with unpacked(file) as content:
        return _idx_data(content, file, _idx_sizes(content, file, 1))


def _idx_sizes(content: BinaryIO, file: Path, dimensions: int) -> tuple[int, ...]:
    """The sizes that the header of an idx file announces: zero, zero, type 8, dimensions, sizes."""
    head = content.read(4 + 4 * dimensions)
    if len(head) < 4 + 4 * dimensions or head[:4] != bytes((0, 0, 8, dimensions)):
        raise UserError(f"{file} is not an idx file of bytes with {dimensions} dimension(s).")
    sizes = tuple(int(n) for n in np.frombuffer(head, ">u4", dimensions, 4))
    if sizes[0] > _MOST_IMAGES:
        raise UserError(
            f"{file} must have at most {_MOST_IMAGES:,} entries; its header announces {sizes[0]:,}."
        )
    return sizes


def _idx_data(content: BinaryIO, file: Path, sizes: tuple[int, ...]) -> UInts8:
    """The data of an idx file; no more of it is read than its header announces."""
    announced = math.prod(sizes)
    data = bytearray()
    while piece := content.read(min(_PIECE, announced + 1 - len(data))):
        data += piece
    if len(data) != announced:
        size = len(data) if len(data) < announced else f"more than {announced}"
        raise UserError(f"{file} has {size} bytes of data, but its header announces {announced}.")
    return np.frombuffer(bytes(data), np.uint8).reshape(sizes)


class MnistTrain(Mnist):
    """MNIST as papers divide it: its train images in pool A and its test images in pool B.

    It is for learners that train perception themselves, which see nearly all train images; ``mnist`` gives
    those to networks. The network's part has 10 % of the train images of each digit; pool A has the others,
    with ``whole`` all train images.
    """

    name = "mnist_train"

    def _parts(self) -> dict[PoolPart, Digits]:
        images, digits = self.digits("train")
        network, a = divide(digits, (10,), self.seed)
        return {
            "network": (images[network], digits[network]),
            "a": (images, digits) if self.whole else (images[a], digits[a]),
            "b": self.digits("test"),
        }


@dataclass(frozen=True)
class _Set(Declared):
    """What is known of a data set in MNIST's format."""

    called: str
    licence: str
    citation: str
    classes: tuple[str, ...]
    first: int = 0
    prefix: str = ""


class MnistLike(Mnist):
    """Another data set in MNIST's format, whose classes are the concepts 0, 1, 2 ...: clothes or letters.

    Pools are those of ``mnist``. Of EMNIST's split ``balanced`` it has the classes from the letter B on.
    """

    name = "mnist_like"
    instead = "which for another data set"

    which: Literal["fashion", "kmnist", "emnist"] = option(
        "fashion", "the data set: Fashion-MNIST, Kuzushiji-MNIST or EMNIST", after="concept_space"
    )

    def __post_init__(self) -> None:
        path = Path(__file__).with_name("mnist_like.toml")
        told = checked(_Set, read_toml(path, "The file of data sets")[self.which], f"{path}: ")
        if self.download:
            raise UserError("mnist_like: download must be false; put the files into the folder yourself.")
        names = ", ".join(f"{k} {name}" for k, name in enumerate(told.classes))
        self.called, self.licence = told.called, told.licence
        self.citation = f"{told.citation} Concepts: {names}."
        self._first, self.classes = told.first, len(told.classes)
        if told.prefix:
            self.files = {
                (which, kind): f"{told.prefix}-{which}-{kind}-idx{dimensions}-ubyte"
                for which in ("train", "test")
                for kind, dimensions in (("images", 3), ("labels", 1))
            }
        super().__post_init__()
        last = max(map(int, self.concept_space.concepts))
        if last >= self.classes:
            raise UserError(f"{self.called} has {self.classes} classes; got the concept {last}.")

    def _checked(self, images: UInts8, labels: UInts8, file: Path) -> Digits:
        """EMNIST's images are turned over; classes before the first one are left out."""
        wanted = (labels >= self._first) & (labels < self._first + self.classes)
        images, labels = images[wanted], labels[wanted] - np.uint8(self._first)
        return (images.swapaxes(1, 2) if self.which == "emnist" else images), labels
