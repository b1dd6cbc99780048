"""The image source ``plants``: PlantVillage, or other leaves, from a user's folder.

The folder has one subfolder per class, in any of the published spellings of PlantVillage's classes
(``Apple___Apple_scab``, ``Tomato_healthy``, ``Pepper__bell___healthy``), or folders ``train`` and ``valid``
(or ``val``, ``test``) of such subfolders. Images end in .jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff or
.webp.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nsl_bench.core.errors import UserError, did_you_mean
from nsl_bench.core.types import PoolPart

from ..class_folders import Layout, by_folders
from ..image_folder import FolderPool
from .names import BACKGROUND, CROP_SPACE, CROPS, DISEASE_OF, SPECIES, SPECIES_OF, WORDS_OF

_WHAT = "one subfolder a class, such as Apple___Apple_scab or Tomato_healthy"


def crop_of(folder: str) -> str | None:
    """The crop that a folder's name stands for, e.g. ``"Pepper__bell___healthy"``; None if unknown."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", folder)
    words = re.findall(r"[a-z]+", spaced.lower())
    if not words:
        return None
    if words[0] == "background":
        return BACKGROUND
    first = {"maize": "corn", "bell": "pepper", "soy": "soybean"}.get(words[0], words[0])
    crops = [
        crop
        for crop in CROPS
        if SPECIES_OF[crop] == first
        and any(words_of_disease <= set(words[1:]) for words_of_disease in WORDS_OF[DISEASE_OF[crop]])
    ]
    return crops[0] if len(crops) == 1 else None


class PlantFolder(FolderPool):
    """Leaves from a folder: 70 % of each class for the network; of the rest, 70 % in pool A and 30 % in B.

    If the folder has ``train`` and ``valid``, the network's images are those of ``train``.
    """

    name = "plants"
    licence = "that of the user's images"
    citation = (
        "D. P. Hughes and M. Salathe: An open access repository of images on plant health to enable the "
        "development of mobile disease diagnostics, arXiv:1511.08060, 2015 (if the folder is PlantVillage)."
    )
    all_concepts = CROP_SPACE

    def files(self) -> Mapping[PoolPart, Mapping[str, Sequence[Path]]]:
        return by_folders(self.path, _LAYOUT, self.wanted, self.seed)

    def instead(self, concepts: Sequence[str]) -> str:
        from ...tasks.crop_yield import CropYield

        whole = [name for name in SPECIES if all(c in concepts for c in CROPS if SPECIES_OF[c] == name)]
        if sum(SPECIES_OF[crop] in whole for crop in CROPS) < 2:
            return ""
        try:
            CropYield(species="+".join(whole))
        except UserError:  # of one label
            return ""
        return f" What it has whole is the task crop_yield:species={'+'.join(whole)}."


def _stranger(folder: Path) -> UserError:
    meant = did_you_mean(folder.name, CROPS)
    return UserError(f"The folder {folder} is not a PlantVillage class.{meant} Expected {_WHAT}.")


_LAYOUT = Layout(_WHAT, crop_of, _stranger)
