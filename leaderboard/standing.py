"""The standing of an entry: self-reported or verified.

An entry of a public contest is *self-reported*: its submitter made the predictions, and anyone can generate
the test labels. It is *verified* if a sealed round accepted it before the round was revealed, or if the board
repeated a random sample of its runs with the same results (`nsl_bench.leaderboard.rerun`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from nsl_bench.core.declared import Is, Open, read_json

from .rounds.model import Round
from .submission import Manifest

AGAIN = "rerun.json"
"""What doing an entry's runs again gave, beside its scores."""


@dataclass(frozen=True)
class Standing:
    """The standing of an entry.

    Attributes:
        how: the reason, as the end of a sentence.
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
    """The result of repeating a sample of an entry's runs.

    Attributes:
        files: SHA-256 of the submission's files.
        of: number of runs of the entry that did not fail.
        compared: number of repeated runs that succeeded and were compared.
        tolerance: greatest permitted difference of labels (a share) and metrics.
        differing_labels: greatest share of differing labels in any run.
        differences: greatest difference of each metric in any run.
        same: whether all runs were compared and no difference exceeds the tolerance.
        nsl_bench: version that repeated the runs.
        slower: how many times as long as the submission says a repeated run took at most.
        most_slower: how many times as long it may take.
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
    slower: Annotated[float, Is("a number of 0 or more", least=0)] = 0.0
    most_slower: Annotated[float, Is("a number of 0 or more", least=0)] = 0.0

    @property
    def largest(self) -> float:
        """The greatest difference of any metric."""
        return max(self.differences.values(), default=0.0)

    def sentence(self) -> str:
        """The result, as the end of a sentence."""
        if self.compared < len(self.runs):
            return f"{len(self.runs) - self.compared} of {len(self.runs)} runs done again failed"
        hurried = self.slower > 0
        return (
            f"{self.compared} of {self.of} runs were done again on {self.date}: at most "
            f"{100 * self.differing_labels:.3g} % of a run's labels differ, and no number by more than "
            f"{self.largest:.3g} (tolerance {self.tolerance:g})"
            + (
                f"; they took at most {self.slower:.3g} times as long (allowed: {self.most_slower:g})"
                * hurried
            )
        )


_SELF = Standing(False, "the submitter made the predictions, and the test set's answers are public")
_BY = {"predictions": "predictions sent before it was revealed", "code": "run by the board in the sandbox"}


def standing_of(manifest: Manifest, rounds: Sequence[Round], folder: Path | None = None) -> Standing:
    """The standing of a submission."""
    sealed = next((round_ for round_ in rounds if round_.name == manifest.round), None)
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
    again = read_json(Again, folder / AGAIN)
    if again.files != manifest.files:  # it is about what lay here before
        return first
    if first is _SELF:
        return Standing(again.same, again.sentence())
    return replace(first, how=f"{first.how}; {again.sentence()}")
