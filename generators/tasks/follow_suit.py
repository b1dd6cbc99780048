"""Follow Suit Winner: each player plays a card; the highest card of player 1's suit wins.

FFNSL paper (Cunnington et al. 2023), section 5 and appendix.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nsl_bench.core.benchmark import Benchmark, Family
from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import BLANK, Array, Bools, ConceptSpace, Floats32, Ints16, LabelSpace, Part, Split

from . import programs

_PROGRAMS = programs(__file__)

SUITS = ("h", "s", "d", "c")
RANKS = ("a", "2", "3", "4", "5", "6", "7", "8", "9", "10", "j", "q", "k")
RANK_VALUES = {"a": 14, "j": 11, "q": 12, "k": 13, **{str(v): v for v in range(2, 11)}}
CARDS = ConceptSpace("card", tuple(rank + suit for suit in SUITS for rank in RANKS))

_SUIT = np.array([SUITS.index(card[-1]) for card in CARDS.concepts], np.int16)
_VALUE = np.array([RANK_VALUES[card[:-1]] for card in CARDS.concepts], np.int16)

_MOST_GAMES = 1000
"""Games in a row that may bring no trick that the other part does not hold."""


class FollowSuit(Benchmark):
    """Predict which player wins a trick, from one card image per player."""

    name = "follow_suit"
    version = "1.0.0"
    description = "Each player plays a card; the highest card of the first player's suit wins."
    sources = ("drawn_decks", "decks")

    players: int = option(
        4,
        "2 to 13. A game deals out the deck; it has as many tricks as each player has cards",
        least=2,
        most=13,
    )
    suits: int = option(
        4, "1 to 4, of 13 cards each, in the order hearts, spades, diamonds, clubs", least=1, most=len(SUITS)
    )

    def __post_init__(self) -> None:
        players, suits = self.players, self.suits
        self.name = self.spec_with()
        members = tuple(self.spec_with(players=n) for n in (3, 4, 5, 6))
        self.family = Family(self.spec_with(players=4), members, "number of players")
        cards = CARDS.concepts[: len(RANKS) * suits]
        self.concept_space = CARDS if suits == 4 else ConceptSpace(CARDS.name, cards)
        self.tricks = len(cards) // players
        seats = range(1, players + 1)
        self.labels = LabelSpace(tuple(f"player_{p}" for p in seats), tuple(f"winner({p})" for p in seats))
        self.slots = tuple(f"player_{p}" for p in seats)
        self.sizes = {"small": 8 * self.tricks, "large": 800 * self.tricks}
        self.test_size = 77 * self.tricks
        self.background = _PROGRAMS["background"].format(
            suits=" ".join(f"suit({s})." for s in SUITS[:suits]),
            ranks=" ".join(f"rank({r})." for r in RANKS),
            values=" ".join(f"rank_value({r}, {v})." for r, v in RANK_VALUES.items()),
            players=players,
        )
        self.bias = _PROGRAMS["bias"].format(constants="\n".join(f"#constant(player, {p})." for p in seats))
        self.true_rule = _PROGRAMS["rule"]
        self.inputs = "1 { card(P, R, S) : rank(R), suit(S) } 1 :- player(P)."

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        n = self.test_size if part == "test" else self.size(size)
        forbidden = set() if exclude is None else {row.tobytes() for row in exclude.concepts}
        tricks: list[Ints16] = []
        games = 0
        while len(tricks) < n:
            new = [trick for trick in self._game(rng) if trick.tobytes() not in forbidden]
            tricks += new
            games = 0 if new else games + 1
            if games == _MOST_GAMES:
                raise UserError(
                    f"{self.name}: the test set uses every trick, which leaves none for training; use "
                    "fewer test examples, or more players or suits."
                )
        concepts = np.array(tricks[:n])
        return Split(part, self.concept_space, concepts, self.winners(concepts))

    def _game(self, rng: np.random.Generator) -> Ints16:
        """int16 [tricks, players]: player 1 leads any card, the others follow suit where they can."""
        dealt = rng.permutation(len(self.concept_space))[: self.players * self.tricks]
        hands = dealt.reshape(self.players, self.tricks).tolist()
        game = np.empty((self.tricks, self.players), np.int16)
        for trick in game:
            for player, hand in enumerate(hands):
                following = [card for card in hand if player and _SUIT[card] == _SUIT[trick[0]]]
                trick[player] = rng.choice(following or hand)
                hand.remove(trick[player])
        return game

    @staticmethod
    def winners(concepts: Ints16) -> Ints16:
        """int16 [n]: the label of each trick, from its cards [n, players]."""
        suits, values = _SUIT[concepts], _VALUE[concepts]
        following = suits == suits[:, :1]
        winner: Ints16 = np.where(following, values, 0).argmax(axis=1).astype(np.int16)
        return winner

    def marked(self, concepts: Ints16, label: int) -> tuple[int, ...]:
        """The winner's card."""
        return (label,)

    def recognised(self, concepts: Ints16, predicted: Ints16, labels: Ints16) -> Mapping[str, Bools]:
        """Ranks, suits, and whether the winner's predicted rank is above all others (workshop, section 5)."""
        values = _VALUE[predicted]
        others = values.copy()
        rows = np.arange(len(labels))
        others[rows, labels] = 0
        return {
            "rank": _VALUE[concepts] == values,
            "suit": _SUIT[concepts] == _SUIT[predicted],
            "winner's rank highest": values[rows, labels] > others.max(axis=1),
        }

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        return (f"card({slot + 1},{concept[:-1]},{concept[-1]})",)

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, 5 x players]: for each player the rank's value, then the suit's one-hot code.

        The order is that of the published code, because random forests depend on the order of their inputs.
        """
        mask = concepts != BLANK
        cards = np.where(mask, concepts, 0)
        codes = np.concatenate([_VALUE[cards][..., None], np.eye(4)[_SUIT[cards]]], axis=2) * mask[..., None]
        inputs: Floats32 = codes.reshape(len(concepts), -1).astype(np.float32)
        return inputs

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        columns = ("value", *(f"suit={s}" for s in SUITS))
        return () if knowledge else tuple(f"{slot}_{column}" for slot in self.slots for column in columns)

    def read(self, folder: Path, part: Part, size: str, repeat: int) -> Split:
        path = folder / "test.csv" if part == "test" else folder / size / f"train_{repeat}.csv"
        columns = [*self.slots, "winner"]
        concepts, labels = [], []
        for line, row in read_csv(path, columns):
            unknown = [row[slot] for slot in self.slots if row[slot] not in self.concept_space.ids]
            if unknown:
                raise UserError(
                    f"{path}, line {line}: '{unknown[0]}' is not a card; cards look like 10h or as."
                )
            if row["winner"] not in self.labels.names:
                raise UserError(
                    f"{path}, line {line}: winner must look like player_1; got '{row['winner']}'."
                )
            concepts.append([CARDS.ids[row[slot]] for slot in self.slots])
            labels.append(self.labels.names.index(row["winner"]))
        return Split(part, self.concept_space, np.array(concepts, np.int16), np.array(labels, np.int16))


def read_csv(
    path: Path, columns: list[str], optional: Sequence[str] = ()
) -> list[tuple[int, dict[str, str]]]:
    """Read the rows of a split's CSV file with their line numbers; an optional column may be absent."""
    if not path.is_file():
        raise UserError(f"The split file {path} does not exist.{_others(path)}")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [c for c in columns if c not in (reader.fieldnames or [])]
            if missing:
                raise UserError(
                    f"{path} lacks the column '{missing[0]}'; the header must be {','.join(columns)}."
                )
            rows = [
                (line, {c: (row.get(c) or "").strip() for c in (*columns, *optional)})
                for line, row in enumerate(reader, start=2)
            ]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} must be a CSV file in UTF-8 ({error}).") from error
    if not rows:
        raise UserError(f"{path} contains no examples.")
    return rows


def _others(path: Path) -> str:
    """A sentence, with a space before it, that says which train sets there are where one is missing."""
    if not path.name.startswith("train_"):
        return ""
    names = [file.stem.removeprefix("train_") for file in path.parent.glob("train_*.csv")]
    there = sorted(int(name) for name in names if name.isdecimal())
    if not there:
        return ""
    if there == list(range(there[0], there[-1] + 1)):
        return f" The folder has train sets {there[0]} to {there[-1]}."
    return f" The folder has train sets {', '.join(map(str, there))}."
