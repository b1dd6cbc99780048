"""Shifts of a run's train and test set: for each, a shift and a share of shifted examples.

A *curve* is a set of runs that differ in one share. If both sets have the same shift and share, the curve has
the shift's name, as in the FFNSL paper. ``"test: noir"`` means standard train images and shifted test images,
as in WILDS; ``"train: noir"`` is the reverse.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD
from nsl_bench.data.splits import check_percent

__all__ = ["Dials", "combinations"]


@dataclass(frozen=True, order=True)
class Dials:
    """Shifts of a run's train and test set.

    Attributes:
        train_shift: name or spec of the train set's shift; ``"standard"`` at 0 %.
        train_percent: share of shifted train examples, 0..100.
        test_shift: name or spec of the test set's shift; ``"standard"`` at 0 %.
        test_percent: share of shifted test examples, 0..100.
    """

    train_shift: str = STANDARD
    train_percent: float = 0.0
    test_shift: str = STANDARD
    test_percent: float = 0.0

    @classmethod
    def of(cls, train_shift: str, train_percent: float, test_shift: str, test_percent: float) -> Dials:
        """Make the dials for two shifts and shares; a set with share 0 gets the shift ``"standard"``.

        Raises:
            UserError: a share outside 0..100.
        """
        train, test = (
            (shift, float(percent)) if check_percent(percent) and shift != STANDARD else (STANDARD, 0.0)
            for shift, percent in ((train_shift, train_percent), (test_shift, test_percent))
        )
        return cls(*train, *test)

    @property
    def curve(self) -> str:
        """The name of the curve that these dials belong to."""
        train, test = (self.train_shift, self.train_percent), (self.test_shift, self.test_percent)
        if train == test:
            return self.train_shift
        if not self.train_percent:
            return f"test: {self.test_shift}"
        if not self.test_percent:
            return f"train: {self.train_shift}"
        if self.train_percent == self.test_percent:
            return f"{self.train_shift} -> {self.test_shift}"
        return f"{self.train_shift} {self.train_percent:g} % -> {self.test_shift}"

    @property
    def percent(self) -> float:
        """The share that varies along the curve."""
        return self.test_percent or self.train_percent

    def __str__(self) -> str:
        if self.train_percent == self.test_percent == 0:
            return STANDARD
        if (self.train_shift, self.train_percent) == (self.test_shift, self.test_percent):
            return f"{self.train_shift} {self.train_percent:g} %"
        return f"{_said(self.train_shift, self.train_percent)} -> {_said(self.test_shift, self.test_percent)}"


def _said(shift: str, percent: float) -> str:
    return f"{shift} {percent:g} %" if percent else STANDARD


def combinations(
    shifts: Sequence[str] = (STANDARD,),
    percents: Sequence[float] = (0,),
    *,
    train_shifts: Sequence[str] = (),
    train_percents: Sequence[float] = (),
    test_shifts: Sequence[str] = (),
    test_percents: Sequence[float] = (),
) -> list[Dials]:
    """All combinations of lists of shifts and shares, each once.

    By default, train and test set have the same share. If one of them has shares of its own, every share of
    the train set is combined with every share of the test set. Shifts are combined in the same way.

    Args:
        shifts: shifts of both sets.
        percents: shares of shifted examples in both sets, 0..100.
        train_shifts: shifts of the train set, instead of `shifts`.
        train_percents: shares of shifted train examples, 0..100.
        test_shifts: shifts of the test set, instead of `shifts`.
        test_percents: shares of shifted test examples, 0..100.

    Raises:
        UserError: shares without a shift, or `percents` together with the shares of one set.
    """
    apart = bool(train_percents or test_percents)
    if apart and tuple(percents) not in ((), (0,), (0.0,)):
        raise UserError(
            "--shares cannot be combined with --train-shares or --test-shares; give --train-shares and "
            "--test-shares."
        )
    shares = (
        list(itertools.product(train_percents or (0,), test_percents or (0,)))
        if apart
        else [(percent, percent) for percent in percents]
    )
    kinds = (
        list(itertools.product(train_shifts or shifts, test_shifts or shifts))
        if train_shifts or test_shifts
        else [(shift, shift) for shift in shifts]
    )
    _check_shifts("train", train_percents, [kind[0] for kind in kinds])
    _check_shifts("test", test_percents, [kind[1] for kind in kinds])
    _check_shifts("", percents, [shift for kind in kinds for shift in kind])
    found = dict.fromkeys(
        Dials.of(kind[0], share[0], kind[1], share[1])
        for share, kind in itertools.product(shares, kinds)
        if not _half_standard(kind, share, apart or bool(train_shifts or test_shifts))
    )
    return list(found)


def _check_shifts(part: str, percents: Sequence[float], shifts: Sequence[str]) -> None:
    """Refuse shares of shifted examples without a shift."""
    if any(map(check_percent, percents)) and all(shift == STANDARD for shift in shifts):
        own = f" or --{part}-shift" if part else ""
        raise UserError(f"Shares above 0 require a shift; name one with --shift{own}.")


def _half_standard(kind: tuple[str, str], share: tuple[float, float], apart: bool) -> bool:
    """Whether a share meets no shift, in a list of shifts with the standard one."""
    return not apart and kind == (STANDARD, STANDARD) and share != (0, 0)
