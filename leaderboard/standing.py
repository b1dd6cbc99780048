"""Who made the numbers of an entry: self-reported, or verified, and how.

An entry of a public contest is *self-reported*: its submitter made the predictions, with answers at hand that
anybody can make. It is *verified* if it was taken by a sealed round before that was revealed, or if the board
did a random sample of its runs again and found the same (`nsl_bench.leaderboard.rerun`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

from nsl_bench.declared import Is, Open, checked, parse_json
from nsl_bench.errors import UserError

from .rounds.model import Round
from .submission import Manifest

__all__ = ["AGAIN", "Again", "Standing", "standing_of"]

AGAIN = "rerun.json"
"""What doing an entry's runs again gave, beside its scores."""


@dataclass(frozen=True)
class Standing:
    """How far an entry can be trusted.

    Attributes:
        verified: whether it is verified.
        how: why, or why not, as a sentence ends.
    """

    verified: bool
    how: str

    @property
    def word(self) -> str:
        """``"verified"`` or ``"self-reported"``."""
        return "verified" if self.verified else "self-reported"

    def __str__(self) -> str:
        return f"{self.word.capitalize()}: {self.how}"


@dataclass(frozen=True)
class Again(Open):
    """What doing a sample of an entry's runs again gave.

    Attributes:
        files: SHA-256 of the submission's files that it is about.
        seed: of the sample.
        runs: the runs that were done again.
        of: how many the entry has.
        compared: how many runs ended well and were compared.
        tolerance: how far labels and numbers may differ.
        differing_labels: greatest share of labels that differ, in any run.
        differences: greatest difference of each number, in any run.
        same: whether all were compared and nothing differs by more than the tolerance.
        learner: what was run.
        date: when.
        nsl_bench: version that did it.
    """

    files: Mapping[str, str]
    seed: int
    runs: tuple[str, ...]
    of: Annotated[int, Is("a whole number of 1 or more", least=1)]
    compared: Annotated[int, Is("a whole number of 0 or more", least=0)]
    tolerance: Annotated[float, Is("a number between 0 and 1", least=0, most=1)]
    differing_labels: Annotated[float, Is("a number between 0 and 1", least=0, most=1)]
    differences: Mapping[str, float] = field(default_factory=dict)
    same: bool = False
    learner: Annotated[str, Is("a string of at most 400 characters", longest=400)] = ""
    date: Annotated[str, Is("a string of at most 30 characters", longest=30)] = ""
    nsl_bench: Annotated[str, Is("a string of at most 40 characters", longest=40)] = ""

    @property
    def largest(self) -> float:
        """The greatest difference of any number."""
        return max(self.differences.values(), default=0.0)

    def told(self) -> str:
        """What was found, as a sentence ends."""
        if self.compared < len(self.runs):
            return f"{len(self.runs) - self.compared} of {len(self.runs)} runs done again failed"
        return (
            f"{self.compared} of {self.of} runs were done again on {self.date}: at most "
            f"{100 * self.differing_labels:.3g} % of a run's labels differ, and no number by more than "
            f"{self.largest:.3g} (tolerance {self.tolerance:g})"
        )

    def to_plain(self) -> dict[str, object]:
        """The values of the file."""
        return asdict(self)


_SELF = Standing(False, "the submitter made the predictions, and the test set's answers are public")
_BY = {
    "predictions": "predictions sent before it was revealed",
    "code": "run by the board in the sandbox",
}


def standing_of(manifest: Manifest, rounds: Sequence[Round], folder: Path | None = None) -> Standing:
    """How far an entry can be trusted.

    Args:
        manifest: of the submission.
        rounds: the board's sealed rounds.
        folder: of the accepted submission, if it is one.

    Raises:
        UserError: what doing its runs again gave cannot be read.
    """
    sealed = next((found for found in rounds if found.name == manifest.round), None)
    entry = None if sealed is None else sealed.entry(manifest)
    first = _SELF
    if manifest.round:
        first = Standing(False, f"not taken by the sealed round {manifest.round}")
    if sealed is not None and entry is not None:
        first = Standing(False, f"taken by the sealed round {sealed.name}, which is not revealed yet")
        if sealed.is_revealed:
            first = Standing(True, f"sealed round {sealed.name}, {_BY[entry.by]}")
    if folder is None or not (folder / AGAIN).is_file():
        return first
    again = read_again(folder / AGAIN)
    if again.files != manifest.files:  # it is about what lay here before
        return first
    if first is _SELF:
        return Standing(again.same, again.told())
    return replace(first, how=f"{first.how}; {again.told()}")


def read_again(path: Path) -> Again:
    """What doing an entry's runs again gave.

    Raises:
        UserError: the file is damaged.
    """
    try:
        return checked(Again, parse_json(path.read_bytes()), f"{path}: ")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error
