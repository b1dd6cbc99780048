"""The image source ``mit67``: MIT Indoor 67, or other rooms, from a user's folder.

The folder, or ``Images`` in it, has one subfolder per scene, or folders ``train`` and ``test`` (or ``valid``,
``val``) of such subfolders. Images end in .jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff or .webp. The
lists ``TrainImages.txt`` and ``TestImages.txt`` (lines such as ``kitchen/int474.jpg``), beside the subfolders
or in the folder above, determine which images train the network. Those of the test list go to pools A and B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nsl_bench.errors import UserError, did_you_mean, unknown
from nsl_bench.types import ConceptSpace, PoolPart

from ..image_folder import FolderPool, Grey, Layout, by_folders, classes_in, divide
from .names import SCENE_SPACE, SCENES, SUPER_CLASS_OF

__all__ = ["Mit67"]

_LISTS = ("TrainImages.txt", "TestImages.txt")
_WHAT = "one subfolder a scene, such as airport_inside"


class Mit67(FolderPool):
    """Rooms from a folder. Without lists, 70 % of each scene are for the network.

    Of the other images of each scene, 70 % are in pool A and 30 % in pool B.
    """

    name = "mit67"
    licence = "that of the user's images"
    citation = "A. Quattoni and A. Torralba: Recognizing Indoor Scenes, CVPR 2009 (if it is MIT Indoor 67)."
    all_concepts = SCENE_SPACE

    def __init__(
        self,
        path: Path,
        concept_space: ConceptSpace | None = None,
        image_size: int = 224,
        grey: Grey = "refuse",
        seed: int = 0,
    ) -> None:
        """Find the files; see `FolderPool`.

        Args:
            path: the folder.
            concept_space: the scenes to show; all in the folder if None.
            image_size: height and width, pixels.
            grey: ``"refuse"`` or ``"convert"`` grey pictures.
            seed: determines which pictures go to which part.

        Raises:
            UserError: the folder does not exist, a scene is unknown, empty or missing, a list does not match,
                or an option is out of range.
        """
        super().__init__(path, concept_space, image_size, grey, seed)

    def files(self) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        root = self.path / "Images" if (self.path / "Images").is_dir() else self.path
        lists = [next((p for p in (root / name, root.parent / name) if p.is_file()), None) for name in _LISTS]
        if all(found is None for found in lists):
            return by_folders(root, _LAYOUT, self.wanted, self.seed)
        for found, name in zip(lists, _LISTS, strict=True):
            if found is None:
                raise UserError(f"The folder {self.path} lacks {name}; give both lists or neither.")
        scenes = classes_in(root, _LAYOUT, self.wanted)
        network, rest = (_listed(found, root, scenes, self.wanted) for found in lists if found is not None)
        _check_disjoint(network, rest, lists)
        a, b = divide(rest, (70,), self.seed, 1)
        return {"network": network, "a": a, "b": b}

    def instead(self, found: Sequence[str]) -> str:
        if len({SUPER_CLASS_OF[scene] for scene in found}) < 2:
            return ""
        return f" What it has is the task indoor_scene:scenes={'+'.join(found)}."


def _stranger(folder: Path) -> UserError:
    problem = unknown("scene", folder.name, SCENES)
    return UserError(f"The folder {folder} is not a scene of MIT Indoor 67: {problem}")


_LAYOUT = Layout(_WHAT, lambda name: name if name in SCENES else None, _stranger)


def _listed(
    path: Path, root: Path, scenes: Mapping[str, Sequence[Path]], wanted: frozenset[str] | None
) -> dict[str, list[Path]]:
    """The files that a list names, by scene; those of the wanted scenes only."""
    known = {
        f"{scene}/{file.relative_to(root / scene).as_posix()}": file
        for scene, files in scenes.items()
        for file in files
    }
    listed: dict[str, list[Path]] = {}
    lines_of: dict[Path, int] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The list {path} cannot be read: {error}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where, (scene, _, name) = f"{path}, line {number}", line.strip().partition("/")
        if scene not in SCENES or not name:
            hint = did_you_mean(scene, SCENES) if name else ""
            raise UserError(
                f"{where}: the line must be SCENE/FILE, such as kitchen/int474.jpg; got "
                f"'{line.strip()}'.{hint}"
            )
        if wanted is not None and scene not in wanted:
            continue
        file = known.get(line.strip())
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
