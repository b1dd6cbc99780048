"""The image source ``mit67``: MIT Indoor 67, or other rooms, from a user's folder.

The folder, or ``Images`` in it, has one subfolder per scene, or folders ``train`` and ``test`` (or ``valid``,
``val``) of such subfolders. Images end in .jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff or .webp. The
lists ``TrainImages.txt`` and ``TestImages.txt`` (lines such as ``kitchen/int474.jpg``), beside the subfolders
or in the folder above, determine which images train the network. Those of the test list go to pools A and B.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from nsl_bench.core.errors import UserError, did_you_mean, unknown
from nsl_bench.core.files import read
from nsl_bench.core.types import PoolPart

from ..class_folders import Layout, by_folders, class_roots, classes_in, divide, subfolders
from ..image_folder import FolderPool
from .names import SCENE_SPACE, SCENES, SUPER_CLASS_OF

_LISTS = ("TrainImages.txt", "TestImages.txt")
_MOST_BYTES = 1 << 26
_WHAT = "one subfolder a scene, such as airport_inside"


class Mit67(FolderPool):
    """Rooms from a folder. Without lists, 70 % of each scene are for the network.

    Of the other images of each scene, 70 % are in pool A and 30 % in pool B.
    """

    name = "mit67"
    licence = "that of the user's images"
    citation = "A. Quattoni and A. Torralba: Recognizing Indoor Scenes, CVPR 2009 (if it is MIT Indoor 67)."
    all_concepts = SCENE_SPACE

    image_size = 224

    def files(self) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        root = self._root()
        lists = [_named(name, (root, root.parent, self.path)) for name in _LISTS]
        if all(listed is None for listed in lists):
            return by_folders(root, _LAYOUT, self.wanted, self.seed)
        for listed, name in zip(lists, _LISTS, strict=True):
            if listed is None:
                raise UserError(f"The folder {self.path} lacks {name}; give both lists or neither.")
        scenes = classes_in(root, _LAYOUT, self.wanted)
        network, rest = (_listed(listed, root, scenes, self.wanted) for listed in lists if listed is not None)
        _check_disjoint(network, rest, lists)
        a, b = divide(rest, (70,), self.seed, 1)
        return {"network": network, "a": a, "b": b}

    def _root(self) -> Path:
        """The folder of scenes: the user's, ``Images`` in it, or one deeper in it if lists are beside it."""
        if not self.path.is_dir():
            return self.path
        inside = next((p for p in subfolders(self.path) if p.name.lower() == "images"), None)
        if inside is None and all(_named(name, (self.path,)) for name in _LISTS):
            roots = class_roots(self.path, _LAYOUT)
            inside = roots[0] if len(roots) == 1 else None
        return inside or self.path

    def instead(self, concepts: Sequence[str]) -> str:
        if len({SUPER_CLASS_OF[scene] for scene in concepts}) < 2:
            return ""
        return f" What it has is the task indoor_scene:scenes={'+'.join(concepts)}."


def _stranger(folder: Path) -> UserError:
    problem = unknown("scene", folder.name, SCENES)
    return UserError(f"The folder {folder} is not a scene of MIT Indoor 67: {problem}")


_SCENE_OF = {scene.replace("_", ""): scene for scene in SCENES}


def _scene_of(folder: str) -> str | None:
    """The scene that a folder's name stands for, e.g. ``"Children Room"``; None if unknown."""
    return _SCENE_OF.get(folder.lower().translate(str.maketrans("", "", " _-")))


_LAYOUT = Layout(_WHAT, _scene_of, _stranger)


def _named(name: str, places: Sequence[Path]) -> Path | None:
    """The file of this name, in any case, in the first of some folders that has it."""
    for place in places:
        if (place / name).is_file():
            return place / name
        result = [p for p in place.iterdir() if p.name.lower() == name.lower() and p.is_file()]
        if result:
            return min(result)
    return None


def _listed(
    path: Path, root: Path, scenes: Mapping[str, Sequence[Path]], wanted: frozenset[str] | None
) -> dict[str, list[Path]]:
    """The files that a list names, by scene; those of the wanted scenes only."""
    file_of = {
        "/".join((scene, *file.relative_to(root).parts[1:])): file
        for scene, images in scenes.items()
        for file in images
    }
    listed: dict[str, list[Path]] = {}
    lines_of: dict[Path, int] = {}
    try:
        lines = read(path, _MOST_BYTES, "The list").decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"The list {path} cannot be read: {error}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where, (folder, _, name) = f"{path}, line {number}", line.strip().partition("/")
        scene = _scene_of(folder)
        if scene is None or not name:
            hint = did_you_mean(folder, SCENES) if name else ""
            raise UserError(
                f"{where}: the line must be SCENE/FILE, such as kitchen/int474.jpg; got "
                f"'{line.strip()}'.{hint}"
            )
        if wanted is not None and scene not in wanted:
            continue
        file = file_of.get(f"{scene}/{name}")
        if file is None:
            raise UserError(f"{where}: the image {root / scene / name} does not exist.")
        if lines_of.setdefault(file, number) != number:
            raise UserError(f"{where}: the image {scene}/{name} is also in line {lines_of[file]}.")
        listed.setdefault(scene, []).append(file)
    return listed


def _check_disjoint(
    train: Mapping[str, Sequence[Path]], test: Mapping[str, Sequence[Path]], lists: Sequence[Path | None]
) -> None:
    both = {file for files in train.values() for file in files} & {
        f for files in test.values() for f in files
    }
    if both:
        raise UserError(f"The image {min(both)} is in both lists, {lists[0]} and {lists[1]}.")
