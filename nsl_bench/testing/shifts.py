"""`ShiftTests`, tests that every shift must pass."""

import pickle
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.testing import Tests


class ShiftTests(Tests, ABC):
    """Tests of a shift, which must have an entry point::

        class TestNegative(ShiftTests):
            spec = "negative"

            def source(self):
                return SklearnDigits()

    Attributes:
        spec: of the shift, written as the shift itself writes it.
    """

    __test__ = False

    spec: ClassVar[str]

    @abstractmethod
    def source(self) -> ImageSource:
        """A small source to which the shift can be applied."""

    @pytest.fixture
    def shift(self) -> Shift:
        shift: Shift = registry.create("shift", self.spec)
        return shift

    def test_its_spec_makes_it_again(self, shift: Shift) -> None:
        assert shift.spec == self.spec
        assert registry.create("shift", shift.spec).spec == self.spec

    def test_it_fits(self, shift: Shift) -> None:
        shift.check(self.source())

    def test_it_changes_pixels_only(self, shift: Shift) -> None:
        source, rows = self.source(), np.array([3, 0, 5])
        images = shift.render(source, "a", rows)
        assert images.dtype == np.uint8
        assert images.shape == (3, *source.shape)
        standard = source.render("a", rows)
        assert all(not np.array_equal(a, b) for a, b in zip(images, standard, strict=True))

    def test_images_are_shifted_one_by_one(self, shift: Shift) -> None:
        source, rows = self.source(), np.array([3, 0, 5])
        together = shift.render(source, "a", rows)
        for k, row in enumerate(rows):
            assert np.array_equal(shift.render(source, "a", np.array([row]))[0], together[k])

    def test_no_images(self, shift: Shift) -> None:
        source = self.source()
        assert shift.render(source, "a", np.empty(0, np.int64)).shape == (0, *source.shape)

    def test_it_can_be_pickled(self, shift: Shift) -> None:
        source, rows = self.source(), np.arange(2)
        again = pickle.loads(pickle.dumps(shift))
        assert np.array_equal(again.render(source, "b", rows), shift.render(source, "b", rows))
