"""The image source ``decks``: decks of cards from a user's folder.

The folder has one subfolder per deck with one picture ``<rank><suit>.png`` of each card (ranks a, 2..10, j,
q, k; suits c, d, h, s), e.g. ``byron/10h.png``. The option ``standard`` names the standard deck. By default
it is the deck named "standard", or else the first deck by name.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from nsl_bench import registry
from nsl_bench.errors import UserError, did_you_mean, unknown
from nsl_bench.pictures import in_bytes, upright
from nsl_bench.shift import STANDARD
from nsl_bench.types import ConceptSpace

from .names import ADVERSARIAL, CARDS
from .pool import CardPool

__all__ = ["DeckFolder"]


class DeckFolder(CardPool):
    """Decks of cards from a folder, augmented in the same way as the drawn decks."""

    name = "decks"
    version = "1"
    licence = "that of the user's images"
    citation = "A folder of card images of the user's."

    def __init__(
        self,
        path: Path,
        standard: str | None = None,
        concept_space: ConceptSpace | None = None,
        images_per_card: int = 750,
        image_height: int = 274,
        image_width: int = 174,
        seed: int = 0,
    ) -> None:
        """Find the decks; the pictures are read when they are needed.

        Args:
            path: folder of decks.
            standard: name of the standard deck; by default "standard" if there is such a deck, else the
                first by name.
            concept_space: the cards to show; all 52 if None.
            images_per_card: augmented images of each card, at least 4.
            image_height: pixels.
            image_width: pixels.
            seed: another seed gives other augmentations.

        Raises:
            UserError: the folder or the standard deck does not exist, a card is missing, or an option is out
                of range.
        """
        self.path = Path(path)
        decks = _find_decks(self.path)
        if standard is not None and standard not in decks:
            raise unknown(f"deck in {self.path}", standard, decks)
        first = standard or (STANDARD if STANDARD in decks else decks[0])
        if STANDARD in decks and first != STANDARD:
            raise UserError(
                f"The deck {self.path / STANDARD} has a reserved name: '{STANDARD}' stands for the "
                f"standard deck, {first}. Rename the folder."
            )
        super().__init__(
            [first, *(deck for deck in decks if deck != first)],
            concept_space,
            images_per_card=images_per_card,
            image_height=image_height,
            image_width=image_width,
            seed=seed,
        )

    def face(
        self, deck: str, card: str, width: int, height: int
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        picture = _read(self.path / deck / f"{card}.png")
        scale = min(width / picture.width, height / picture.height)
        size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        pixels = np.asarray(picture.resize(size, Image.Resampling.LANCZOS))
        return pixels[..., :3], pixels[..., 3]

    @cached_property
    def _files_hash(self) -> str:
        """A hash of the decoded pixels of all cards of all decks."""
        return self._pixels(self.decks)

    def _pixels(self, decks: tuple[str, ...]) -> str:
        """A hash of the decoded pixels of all cards of some decks."""
        digest = hashlib.sha256()
        for deck in decks:
            for card in CARDS:
                picture = _read(self.path / deck / f"{card}.png")
                digest.update(f"{deck}/{card}:{picture.width}x{picture.height}".encode())
                digest.update(picture.tobytes())
        return digest.hexdigest()

    def _options(self) -> dict[str, object]:
        return {**super()._options(), "files": self._files_hash}

    def network_fingerprint(self) -> str:
        """A short hash of version, options and the pictures of the standard deck."""
        standard = self.decks[:1]
        return self.hash_of({**super()._options(), "decks": standard, "files": self._pixels(standard)})

    def check_images(self, *, progress: bool = False) -> None:
        """Read every card of every deck.

        Raises:
            UserError: a picture was removed or is damaged.
        """
        assert self._files_hash


def _find_decks(path: Path) -> list[str]:
    """The names of a folder's decks, each checked to be complete."""
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise UserError(f"The folder of decks {path} {what}; give a folder with one subfolder per deck.")
    decks = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not decks:
        raise UserError(
            f"The folder of decks {path} has no subfolders; give one per deck, each with 52 PNG images "
            "named <rank><suit>.png, such as 10h.png."
        )
    for deck in decks:
        if deck.startswith(ADVERSARIAL):
            raise UserError(
                f"The deck {path / deck} has a reserved name: '{ADVERSARIAL}' marks the adversarial "
                "version of a deck. Rename the folder."
            )
        if deck in registry.names("shift") or deck != deck.strip() or set(deck) & set("+,=:"):
            raise UserError(
                f"The deck {path / deck} has an invalid name. It must not be the name of a shift, start "
                "or end with a space, or contain '+', ',', '=' or ':'. Rename the folder."
            )
        _check_complete(path / deck)
    return decks


def _check_complete(deck: Path) -> None:
    files = sorted(p.name for p in deck.iterdir() if p.is_file() and not p.name.startswith("."))
    missing = [card for card in CARDS if f"{card}.png" not in files]
    if not missing:
        return
    strangers = [name for name in files if name.removesuffix(".png") not in CARDS]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    hint = f" '{strangers[0]}' is not a card name." if strangers else ""
    if strangers and len(missing) < len(CARDS):
        hint += did_you_mean(strangers[0].removesuffix(".png").lower(), missing)
    raise UserError(f"The deck {deck} lacks {missing[0]}.png{more}; all 52 cards are needed.{hint}")


def _read(file: Path) -> Image.Image:
    """A picture as RGBA, whatever its mode."""
    try:
        with Image.open(file) as picture:
            return in_bytes(upright(picture)).convert("RGBA")
    except FileNotFoundError:
        raise UserError(f"The card image {file} no longer exists.") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"The card image {file} is not a complete PNG file ({error}).") from error
