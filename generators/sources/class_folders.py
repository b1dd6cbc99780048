"""Folders of classes: which images they have, and what to rename in folders that are laid out differently."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsl_bench.core import files
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import PoolPart

from ..keyed_random import permutation
from ..notices import say

ENDINGS = ".jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp"
"""How files of images end, in small or capital letters; torchvision's list."""

_TRAIN = ("train", "training")
_HELD_OUT = ("valid", "val", "test", "validation", "testing")
_SYSTEM = ("__macosx", "@eadir", "$recycle.bin", "system volume information", "lost+found")
"""Folders that operating systems and file servers leave in others, in small letters."""

_DEPTH, _MOST_FOLDERS = 4, 2000
"""How deep classes are looked for, and in how many folders, when they are not where they should be."""


@dataclass(frozen=True)
class Layout:
    """Naming scheme of the folders of a data set.

    Attributes:
        concept_of: maps a folder's name to its concept, or to None.
        stranger: makes the error for a folder with an unknown name.
    """

    what: str
    concept_of: Callable[[str], str | None]
    stranger: Callable[[Path], UserError]


def hidden(name: str) -> bool:
    """Whether a file or folder is none of the user's: ``.DS_Store``, ``._x.jpg``, ``__MACOSX``."""
    return name.startswith(".") or name.lower() in _SYSTEM


def subfolders(path: Path) -> list[Path]:
    """The subfolders of a folder that are not hidden, by name."""
    try:
        with os.scandir(path) as entries:
            return sorted(path / one.name for one in entries if not hidden(one.name) and one.is_dir())
    except OSError as error:
        raise UserError(f"The folder {path} cannot be read ({error.strerror}).") from error


def classes_in(
    path: Path, layout: Layout, wanted: frozenset[str] | None, *, given: bool = True
) -> dict[str, list[Path]]:
    """The image files of each concept in a folder of classes.

    Args:
        wanted: the concepts to look for, ignoring other folders; all if None.
        given: whether the user gave this folder, and could give another one.
    """
    if not path.is_dir():
        state = "is a file" if path.exists() else "does not exist"
        raise UserError(f"The folder {path} {state}; expected {layout.what}.")
    folders = subfolders(path)
    if not folders:
        raise UserError(f"The folder {path} has no subfolders; expected {layout.what}.")
    concepts = {folder: concept for folder in folders if (concept := layout.concept_of(folder.name))}
    if not concepts and (roots := class_roots(path, layout)):
        raise _too_high(path, layout, roots, given)
    seen = {_identity(path.stat()): path}
    classes: dict[str, list[Path]] = {}
    for folder in folders:
        concept = concepts.get(folder)
        if concept is None:
            _check_stranger(folder, layout, wanted, frozenset(concepts.values()))
            continue
        if wanted is not None and concept not in wanted:
            continue
        images = _images_in(folder, seen)
        if not images:
            raise UserError(
                f"The folder {folder} has no images; each class needs some (files that end in {ENDINGS})."
            )
        classes.setdefault(concept, []).extend(images)
    return classes


def _check_stranger(
    folder: Path, layout: Layout, wanted: frozenset[str] | None, concepts: frozenset[str]
) -> None:
    """Say what a folder is that stands beside classes and is none of them."""
    inner = [one for root in class_roots(folder, layout) for one in _classes(root, layout)]
    lacking = [
        one
        for one in inner
        if (concept := layout.concept_of(one.name)) not in concepts and (wanted is None or concept in wanted)
    ]
    if lacking:
        raise UserError(
            f"The class folder {lacking[0]} is one level too deep; move it up into {folder.parent}."
        )
    if inner:
        say(f"{folder} is left out: its classes, such as {inner[0].name}, are in {folder.parent}, too.")
    elif wanted is None:
        raise layout.stranger(folder)


def _classes(path: Path, layout: Layout) -> list[Path]:
    """The class folders in a folder, or in the parts of it, that have something in them."""
    return [
        one
        for place in (path, *(p for p in subfolders(path) if p.name.lower() in (*_TRAIN, *_HELD_OUT)))
        for one in subfolders(place)
        if layout.concept_of(one.name) and any(_looks_like_an_image(p.name) for p in one.rglob("*"))
    ]


def _looks_like_an_image(name: str) -> bool:
    return not hidden(name) and name.lower().endswith(tuple(ENDINGS.split(", ")))


def class_roots(path: Path, layout: Layout) -> list[Path]:
    """The folders below a folder that the user could give: they have classes, or parts with classes."""
    level, seen = [path], 0
    roots: list[Path] = []
    for _ in range(_DEPTH):
        deeper = []
        for folder in level:
            seen += 1
            if seen > _MOST_FOLDERS:
                return roots
            if _classes(folder, layout):
                roots.append(folder)
            else:
                deeper += subfolders(folder)
        level = deeper
    return roots


def _too_high(path: Path, layout: Layout, roots: Sequence[Path], given: bool) -> UserError:
    """The error for a folder whose classes are deeper in it."""
    if roots == [path]:  # one of train and test alone
        roots = list(dict.fromkeys(one.parent for one in _classes(path, layout)))
    first = _classes(roots[0], layout)[0].name
    if len(roots) == 1:
        levels = len(roots[0].relative_to(path).parts)
        high = "one level" if levels == 1 else f"{levels} levels"
        fix = "give that folder" if given else f"move them up into {path}"
        return UserError(
            f"The folder {path} is {high} too high: its classes, such as {first}, are in {roots[0]}; {fix}."
        )
    concepts = Counter(layout.concept_of(one.name) for root in roots for one in _classes(root, layout))
    if max(concepts.values()) > 1:
        return UserError(
            f"The folder {path} has the same classes, such as {first}, in {roots[0].relative_to(path)} and "
            f"{roots[1].relative_to(path)}; give one of these folders, or name them train and test."
        )
    return UserError(
        f"The classes of {path} are one level too deep, such as {first} in {roots[0]}; move them up into "
        f"{path}."
    )


def by_folders(
    path: Path, layout: Layout, wanted: frozenset[str] | None, seed: int
) -> dict[PoolPart, Mapping[str, Sequence[Path]]]:
    """The files of each part of the pool by concept.

    In a folder with ``train`` and ``valid`` (or ``val``, ``test``, ``validation``), the network's images are
    those of ``train``; otherwise they are 70 % of each class. Of the other images of each class, 70 % are in
    pool A and 30 % in pool B.
    """
    by_name = {folder.name.lower(): folder for folder in (subfolders(path) if path.is_dir() else ())}
    train = next((by_name[name] for name in _TRAIN if name in by_name), None)
    held_out = [by_name[name] for name in _HELD_OUT if name in by_name]
    network: Mapping[str, Sequence[Path]]
    if train and held_out:
        network = classes_in(train, layout, wanted, given=False)
        rest: dict[str, list[Path]] = {}
        for folder in held_out:
            for concept, images in classes_in(folder, layout, wanted, given=False).items():
                rest.setdefault(concept, []).extend(images)
    else:
        network, rest = divide(classes_in(path, layout, wanted), (70,), seed, 0)
    a, b = divide(rest, (70,), seed, 1)
    return {"network": network, "a": a, "b": b}


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _images_in(top: Path, seen: dict[tuple[int, int], Path]) -> list[Path]:
    """The image files of a folder and of its subfolders, in the order of torchvision's ImageFolder.

    Args:
        seen: files and folders by identity; those of this folder are added.
    """
    listed: list[tuple[str, list[Path]]] = []
    left = [top]
    while left:
        folder = left.pop()
        first = seen.setdefault(_identity(folder.stat()), folder)
        if first != folder:
            raise UserError(
                f"The images in {folder} and {first} are the same files; include each image once."
            )
        left += subfolders(folder)
        listed.append((str(folder), sorted(p for p in folder.iterdir() if _looks_like_an_image(p.name))))
    images = [file for _, entries in sorted(listed) for file in entries if not file.is_dir()]
    for file in images:
        try:
            status = file.stat()
        except OSError:
            raise files.missing(file, "The image") from None
        files.check_regular(file, status, "The image")
        first = seen.setdefault(_identity(status), file)
        if first != file:
            raise UserError(f"The images {file} and {first} are the same file; include each image once.")
    return images


def divide(
    images: Mapping[str, Sequence[Path]], shares: tuple[int, ...], *key: int
) -> list[dict[str, list[Path]]]:
    """Divide the files of each concept into disjoint pieces.

    Args:
        shares: for each piece, the percentage of the files left over by earlier pieces, rounded down, but at
            least one file.

    Returns:
        The files of each piece and, last, the remaining ones.
    """
    pieces: list[dict[str, list[Path]]] = [{} for _ in range(len(shares) + 1)]
    for k, concept in enumerate(sorted(images)):
        left = [images[concept][i] for i in permutation(len(images[concept]), *key, k).tolist()]
        for piece, share in zip(pieces, shares, strict=False):
            n = max(len(left) * share // 100, min(1, len(left)))
            piece[concept], left = sorted(left[:n]), left[n:]
        pieces[-1][concept] = sorted(left)
    return pieces
