"""The image source ``decks``: decks of cards from a user's folder.

The folder has one subfolder per deck with one picture ``<rank><suit>.png`` of each card (ranks a, 2..10, j,
q, k; suits c, d, h, s), e.g. ``byron/10h.png``. Other common names (``10H.jpg``, ``TH``, ``h10``,
``ten_of_hearts``) are read, too. The option ``standard`` names the standard deck. By default it is the deck
named "standard", or else the first deck by name.
"""

import hashlib
import os
import re
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError, did_you_mean, unknown
from nsl_bench.core.options import REQUIRED, option
from nsl_bench.core.pictures import in_bytes, opened, upright
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import UInts8

from ..class_folders import ENDINGS, hidden, subfolders
from .glyphs import ADVERSARIAL, CARDS, RANKS, SUITS
from .pool import CardPool

_ENDINGS = frozenset(ENDINGS.split(", "))

_SUITS = {
    spelling: suit
    for suit, words in zip(SUITS, ("club", "diamond", "heart", "spade"), strict=True)
    for spelling in (suit, words, f"{words}s")
}
_RANKS = {
    **{rank: rank for rank in RANKS},
    **{f"0{n}": str(n) for n in range(2, 10)},
    **{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"},
    **{"nine": "9", "ten": "10"},
    **{"1": "a", "01": "a", "ace": "a", "t": "10", "jack": "j", "11": "j", "queen": "q", "12": "q"},
    **{"king": "k", "13": "k"},
}
"""Spellings of suits and ranks, in small letters."""

_FILLERS = ("of", "card", "cards")


class DeckFolder(CardPool):
    """Decks of cards from a folder, augmented in the same way as the drawn decks."""

    name = "decks"
    version = "1"
    licence = "that of the user's images"
    citation = "A folder of card images of the user's."

    path: Path = option(REQUIRED, "folder of decks")
    standard: str | None = option(
        None,
        'name of the standard deck; by default "standard" if there is such a deck, else the first by name',
    )

    def __post_init__(self) -> None:
        self._cards = _find_decks(self.path)
        standard = self.standard
        decks = list(self._cards)
        if standard is not None and standard not in decks:
            raise unknown(f"deck in {self.path}", standard, decks)
        first = standard or (STANDARD if STANDARD in decks else decks[0])
        if STANDARD in decks and first != STANDARD:
            raise UserError(
                f"The deck {self.path / STANDARD} has a reserved name: '{STANDARD}' stands for the "
                f"standard deck, {first}. Rename the folder."
            )
        self.decks = (first, *(deck for deck in decks if deck != first))
        super().__post_init__()

    def face(self, deck: str, card: str, width: int, height: int) -> tuple[UInts8, UInts8]:
        picture = _read(self._cards[deck][card])
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
                picture = _read(self._cards[deck][card])
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
        """Read every card of every deck."""
        assert self._files_hash


def _find_decks(path: Path) -> dict[str, dict[str, Path]]:
    """The cards of each of a folder's decks, by the deck's name."""
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise UserError(f"The folder of decks {path} {what}; give a folder with one subfolder per deck.")
    decks = [folder.name for folder in subfolders(path)]
    if not decks:
        alone = any(card_of(file.stem) for file in path.iterdir())
        raise UserError(
            f"The folder of decks {path} has no subfolders; give one per deck, each with 52 images named "
            f"<rank><suit>.png, such as 10h.png.{f' It is a deck; give {path.parent}.' if alone else ''}"
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
    return {deck: _cards_of(path / deck) for deck in decks}


def card_of(name: str) -> str | None:
    """The card that a file's name without its ending stands for, e.g. ``"Ace of Spades"``; or None."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    words = [word for word in re.findall("[a-z]+|[0-9]+", spaced) if word not in _FILLERS]
    joined = "".join(words)
    for suits, ranks in ((words[:1], words[1:]), (words[-1:], words[:-1])):
        if suits and suits[0] in _SUITS and "".join(ranks) in _RANKS:
            return _RANKS["".join(ranks)] + _SUITS[suits[0]]
    for suit in (joined[-1:], joined[:1]):  # in one word, the rank mostly comes first: jc, 10h
        rank = joined[:-1] if suit == joined[-1:] else joined[1:]
        if suit in SUITS and rank in _RANKS:
            return _RANKS[rank] + suit
    return None


def _cards_of(deck: Path) -> dict[str, Path]:
    """The file of each card of a deck, which is complete."""
    files = sorted(p for p in deck.iterdir() if not hidden(p.name) and not p.is_dir())
    cards = {p.stem: p for p in files if p.suffix == ".png" and p.stem in CARDS}
    strangers = []
    for file in files:
        card = card_of(file.stem) if file.suffix.lower() in _ENDINGS else None
        if card is None:
            strangers.append(file.name)
        elif cards.setdefault(card, file) != file and cards[card].name != f"{card}.png":
            raise UserError(
                f"The files {cards[card]} and {file.name} are the same card, {card}; remove one of them."
            )
    missing = [card for card in CARDS if card not in cards]
    if missing:
        raise _incomplete(deck, missing, strangers)
    return cards


def _incomplete(deck: Path, missing: list[str], strangers: list[str]) -> UserError:
    """The error for a deck that lacks cards."""
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    hint = f" '{strangers[0]}' is not a card name." if strangers else ""
    if strangers and len(missing) < len(CARDS):
        hint += did_you_mean(Path(strangers[0]).stem.lower(), missing)
    inner = [p for p in subfolders(deck) if any(card_of(file.stem) for file in p.iterdir())]
    if inner and len(missing) == len(CARDS):
        hint = f" The folder {inner[0]} has cards; move them up into {deck}, or give the folder {deck}."
    elif strangers and len(missing) == len(CARDS):
        hint += " Name the images <rank><suit>.png, such as 10h.png or as.png."
    return UserError(f"The deck {deck} lacks {missing[0]}.png{more}; all 52 cards are needed.{hint}")


def _read(file: Path) -> Image.Image:
    """A picture as RGBA, whatever its mode."""
    if not os.path.lexists(file):
        raise UserError(f"The card image {file} no longer exists.")
    with opened(file, "The card image") as picture:
        return in_bytes(upright(picture)).convert("RGBA")
