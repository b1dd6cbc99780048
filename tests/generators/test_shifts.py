from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nsl_bench.generators.shifts.decks import Adversarial, DeckSwap
from nsl_bench.generators.shifts.pixels import Rotate
from nsl_bench.generators.sources.cards.drawn import DrawnDecks
from nsl_bench.generators.sources.digits import SklearnDigits
from PIL import Image

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.testing import ShiftTests


def decks() -> DrawnDecks:
    return DrawnDecks(images_per_card=4, image_height=56, image_width=36)


SPECS: dict[str, Callable[[], ImageSource]] = {
    "deck_swap:noir": decks,
    "adversarial:standard": decks,
    "rotate:90": SklearnDigits,
    "rotate:30": SklearnDigits,
    "rotate:270": decks,
}
for _spec, _source in SPECS.items():
    _own = {"spec": _spec, "source": staticmethod(_source)}
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (ShiftTests,), _own)


def test_a_swapped_deck_is_shown() -> None:
    source, rows = decks(), np.arange(4)
    assert np.array_equal(DeckSwap("comic").render(source, "a", rows), source.render("a", rows, "comic"))


@pytest.mark.parametrize(
    ("shift", "source", "what"),
    [
        (DeckSwap("nior"), decks, r"Unknown deck .* 'nior'. Did you mean 'noir'\?"),
        (DeckSwap("standard"), decks, "has no effect: standard is the standard deck"),
        (DeckSwap("adversarial_noir"), decks, "Unknown deck"),
        (DeckSwap("noir"), SklearnDigits, "needs a second deck"),
        (Adversarial("comics"), decks, r"Unknown deck .* 'comics'. Did you mean 'comic'\?"),
        (Adversarial("standard"), SklearnDigits, "needs adversarial images"),
    ],
)
def test_decks_that_do_not_fit(shift: Shift, source: Callable[[], ImageSource], what: str) -> None:
    with pytest.raises(UserError, match=what):
        shift.check(source())


def test_a_turn_is_clockwise() -> None:
    image = np.zeros((1, 28, 28, 1), np.uint8)
    image[0, 2, 5] = 200
    turned = Rotate(90).apply(image, np.arange(1))
    assert turned[0, 5, 25, 0] == 200
    assert turned.sum() == 200


class TestAngles:
    @pytest.mark.parametrize(
        ("text", "spec"),
        [
            ("rotate:90", "rotate:90"),
            ("rotate:90.0", "rotate:90"),
            ("rotate:degrees=450", "rotate:90"),
            ("rotate:-90", "rotate:270"),
            ("rotate:22.5", "rotate:22.5"),
        ],
    )
    def test_canonical_spec(self, text: str, spec: str) -> None:
        assert registry.create("shift", text).spec == spec

    @pytest.mark.parametrize("degrees", [0.0, 360.0, -720.0])
    def test_no_turn(self, degrees: float) -> None:
        with pytest.raises(UserError, match="must be a number of degrees, not a multiple of 360"):
            Rotate(degrees)

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("quarter", [1, 2, 3])
    def test_quarter_turns_are_exact(self, channels: int, quarter: int) -> None:
        images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, channels), dtype=np.uint8)
        turned = Rotate(90.0 * quarter).apply(images, np.arange(3))
        assert np.array_equal(turned, np.rot90(images, -quarter, (1, 2)))

    def test_half_turns_of_any_shape_are_exact(self) -> None:
        images = np.random.default_rng(0).integers(0, 256, (2, 9, 6, 3), dtype=np.uint8)
        assert np.array_equal(Rotate(180).apply(images, np.arange(2)), images[:, ::-1, ::-1])

    def test_quarter_turns_of_an_oblong_keep_its_size(self) -> None:
        images = np.zeros((1, 40, 20, 3), np.uint8)
        images[0, 12, 10] = 250  # above the middle
        turned = Rotate(90).apply(images, np.arange(1))
        assert turned.shape == images.shape
        assert turned[0, :, 13:].sum() > 0.9 * turned.sum() > 0  # now to the right of it

    @given(degrees=st.floats(-360, 720).filter(lambda d: d % 360 != 0))
    def test_close_to_pillow(self, degrees: float) -> None:
        image = np.asarray(Image.linear_gradient("L").resize((28, 28)))[None, ..., None]
        ours = Rotate(degrees).apply(image, np.arange(1))[0, ..., 0].astype(int)
        theirs = np.asarray(Image.fromarray(image[0, ..., 0]).rotate(-degrees, Image.Resampling.BILINEAR))
        # Only the middle: the two differ in how they fill the corners.
        assert abs(ours - theirs)[9:19, 9:19].max() <= 2
